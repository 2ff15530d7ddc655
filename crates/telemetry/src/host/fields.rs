//! Fields of a line that are set apart by blanks, as the kernel's texts have them.

use std::str::SplitAsciiWhitespace;

/// The rest of a line, field by field.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'t>(SplitAsciiWhitespace<'t>);

impl<'t> Fields<'t> {
    pub(crate) fn of(line: &'t str) -> Self {
        Self(line.split_ascii_whitespace())
    }

    /// What comes behind a first field of that name; `None` if it has another.
    pub(crate) fn after(mut self, name: &str) -> Option<Self> {
        (self.0.next()? == name).then_some(self)
    }

    pub(crate) fn word(&mut self) -> Option<&'t str> {
        self.0.next()
    }

    /// The next field as a number; `None` also where it is none.
    pub(crate) fn number(&mut self) -> Option<u64> {
        self.0.next()?.parse().ok()
    }

    /// All further fields as numbers; `None` for each that is none.
    pub(crate) fn numbers(self) -> impl Iterator<Item = Option<u64>> {
        self.0.map(|field| field.parse().ok())
    }
}

/// The number behind `name`, in a text with a line for each name: `MemTotal:  16 kB`, `nr_periods 12`.
pub(crate) fn named(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| Fields::of(line).after(name))?.number()
}
