//! Names beside the ends of lines: as near to their line as they can be without covering each other.

/// Room that a name needs, from one to the next.
pub const APART: f64 = 16.0;

/// More names than this can't stand beside their lines; they stand in a legend then.
pub const MOST: usize = 9;

/// Heights at which names stand that are wanted at `wanted`: in the same order, within `top` and `bottom`, at least
/// [`APART`] apart where there is room for all.
pub fn spread(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    // Names that would touch become a block around the middle of what they want; blocks that touch become one.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    let within = |(middle, names): (f64, usize)| {
        let edge = reach(names) - APART / 2.0;
        (middle.min(bottom - edge).max(top + edge), names)
    };
    for at in &order {
        let mut block = within((wanted[*at], 1));
        while let Some((middle, names)) = blocks.last().copied() {
            if middle + reach(names) + reach(block.1) <= block.0 {
                break;
            }
            let all = names + block.1;
            block = within(((middle * names as f64 + block.0 * block.1 as f64) / all as f64, all));
            blocks.pop();
        }
        blocks.push(block);
    }
    let mut places = vec![0.0; wanted.len()];
    let heights = blocks
        .iter()
        .flat_map(|(middle, names)| (0..*names).map(move |at| middle - reach(*names) + APART * (at as f64 + 0.5)));
    order.iter().zip(heights).for_each(|(at, height)| places[*at] = height);
    places
}

/// Half the height of a block of names.
fn reach(names: usize) -> f64 {
    APART * names as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_with_room_stand_where_their_lines_end() {
        assert_eq!(spread(&[200.0, 50.0, 100.0], 0.0, 300.0), [200.0, 50.0, 100.0]);
        assert_eq!(spread(&[100.0, 100.0], 0.0, 300.0), [92.0, 108.0]);
    }

    proptest! {
        #[test]
        fn names_never_cover_each_other(wanted in prop::collection::vec(0.0_f64..300.0, 1..=MOST)) {
            let places = spread(&wanted, 0.0, 300.0);
            let mut sorted = places.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] > APART - 1e-6), "{sorted:?}");
            prop_assert!(sorted[0] >= -1e-6 && sorted[sorted.len() - 1] <= 300.0 + 1e-6, "{sorted:?}");
        }
    }
}
