//! Thousands of points on hundreds of pixels: what is drawn keeps the lowest and highest value of every pixel column, so
//! that no extreme is lost. (Averaging or taking every n-th point would hide just those.)

/// Indices of the points to draw, in order. `places` are points in the drawing, sorted by their first coordinate.
pub fn kept(places: &[(f64, f64)]) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < places.len() {
        let column = places[start].0.floor();
        let end = start + places[start..].iter().take_while(|(x, _)| x.floor() <= column).count().max(1);
        let height = |at: &usize, other: &usize| places[*at].1.total_cmp(&places[*other].1);
        kept.extend((start..end).min_by(height));
        kept.extend((start..end).max_by(height));
        start = end;
    }
    kept.extend(places.len().checked_sub(1));
    if !places.is_empty() {
        kept.push(0);
    }
    kept.sort_unstable();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_and_ends_survive() {
        let mut places: Vec<(f64, f64)> =
            (0..50_000).map(|at| (f64::from(at) / 100.0, 50.0 + f64::from(at * 7919 % 101) / 10.0)).collect();
        places[31_337].1 = -400.0;
        places[31_338].1 = 900.0;
        let kept = kept(&places);
        assert!(kept.len() <= 2 * 500 + 2, "{}", kept.len());
        assert!(kept.contains(&31_337) && kept.contains(&31_338) && kept.contains(&0) && kept.contains(&49_999));
        assert!(kept.is_sorted());
    }

    #[test]
    fn few_points_are_all_drawn() {
        assert_eq!(kept(&[(0.0, 1.0), (5.0, 1.0), (10.0, 3.0)]), [0, 1, 2]);
        assert!(kept(&[]).is_empty());
    }
}
