//! Which of several databases a point is of.

use plimsoll_measurement::units;

/// A database among others, by the volume that its points tell it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Size {
    /// Its volume on a full target.
    pub bytes: u64,
    /// What is moved along with it, if that is more.
    pub along: Option<u64>,
}

impl Size {
    /// What people read: the size, if there are several, and the part.
    pub fn label(size: Option<&Self>, part: &str) -> String {
        let Some(Self { bytes, along }) = size else { return part.to_owned() };
        let along = along.map_or_else(String::new, |bytes| format!(" of {}", units::format_bytes(bytes)));
        format!("{}{along}: {part}", units::format_bytes(*bytes))
    }
}
