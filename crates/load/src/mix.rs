//! Kinds of operations and how often each is drawn.

use std::fmt::Display;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::keys::unit;

/// Kinds with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Mix<K>(Vec<(K, f64)>);

impl<K> Default for Mix<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + Display> Mix<K> {
    /// A mix of these weights.
    ///
    /// # Errors
    /// A sentence if there is no kind with a weight above 0.
    pub fn new(weights: Vec<(K, f64)>) -> Result<Self, String> {
        if let Some((kind, weight)) = weights.iter().find(|(_, weight)| !(*weight >= 0.0 && weight.is_finite())) {
            return Err(format!("the weight {weight} of {kind} is not a number from 0 on"));
        }
        if weights.iter().all(|(_, weight)| *weight <= 0.0) {
            return Err("a mix needs a kind of request with a weight above 0".to_owned());
        }
        Ok(Self(weights))
    }

    /// The kinds, in the order of the definition.
    pub fn kinds(&self) -> Vec<K> {
        self.0.iter().map(|(kind, _)| *kind).collect()
    }

    /// The index of the kind of the next operation.
    pub fn draw(&self, random: &mut Xoshiro256PlusPlus) -> usize {
        let sum: f64 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut draw = unit(random) * sum;
        for (index, (_, weight)) in self.0.iter().enumerate() {
            draw -= weight;
            if draw < 0.0 {
                return index;
            }
        }
        self.0.iter().rposition(|(_, weight)| *weight > 0.0).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng as _;

    use super::*;

    #[test]
    fn kinds_come_by_their_weights() {
        let mix = Mix::new(vec![("insert", 20.0), ("update", 0.0), ("select", 60.0)]).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut seen = [0_u32; 3];
        (0..100_000).for_each(|_| seen[mix.draw(&mut random)] += 1);
        assert!((24_500..25_500).contains(&seen[0]) && seen[1] == 0, "{seen:?}");
        for bad in [vec![], vec![("insert", 0.0)], vec![("insert", -1.0)], vec![("insert", f64::NAN)]] {
            assert!(Mix::new(bad).is_err());
        }
    }
}
