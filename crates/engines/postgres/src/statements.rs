//! What the driver sends to a server, as data (`data/statements`), and the editions of the manual that it is written by.

use std::sync::LazyLock;

use plimsoll_engine::{Quoting, Statements};

/// All of them, in the order in which a self-test sends them.
pub(super) static STATEMENTS: LazyLock<Statements> = LazyLock::new(|| {
    Statements::parse(&[include_str!("../data/statements/counters.toml")], Quoting { name: ('"', '"') })
});

/// Major versions with a manual that was read, oldest first.
const EDITIONS: [(u32, &str); 7] = [
    (120_000, "12"),
    (130_000, "13"),
    (140_000, "14"),
    (150_000, "15"),
    (160_000, "16"),
    (170_000, "17"),
    (180_000, "18"),
];

/// The edition of a server; of a newer one than any of them the newest.
pub(super) fn edition(version: u32) -> &'static str {
    EDITIONS.iter().rfind(|(first, _)| version >= *first).unwrap_or(&EDITIONS[0]).1
}
