//! Tables of ours that are written as TOML.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

/// The rows of the only table in a text; none if it can't be read, which tests rule out.
pub fn rows<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let tables = toml::from_str::<BTreeMap<String, Vec<T>>>(text);
    tables.map(|tables| tables.into_values().flatten().collect()).unwrap_or_default()
}
