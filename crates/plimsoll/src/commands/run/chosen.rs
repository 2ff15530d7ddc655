//! A test with what this call sets of it.

use plimsoll_bench::{Definition, Parameters};

use crate::failure::Failure;

/// A test with the parameters of this call.
pub struct Chosen {
    pub definition: Definition,
    pub short: bool,
    pub sets: Vec<(String, String)>,
}

impl Chosen {
    /// Its parameters for a target of this scale, with what was set in place of the definition's.
    pub fn parameters(&self, scale: u64) -> Result<Parameters, Failure> {
        let mut parameters = self.definition.parameters_at(self.short, scale);
        for (key, value) in &self.sets {
            parameters
                .set_by_hand(key, value, &self.definition.steps)
                .map_err(|error| Failure::usage(format!("--set {error}")))?;
        }
        Ok(parameters)
    }
}
