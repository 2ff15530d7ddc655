//! What reads texts of users, with anything for a text.

use plimsoll_engine::target::Target;

use crate::url::Location;

#[test]
fn urls() {
    let corpus = include_str!("../../../fuzz/corpus/targets.txt");
    let words = ["postgres://", "sslmode=", "host=", ",", "options="];
    plimsoll_fuzz::Target::new("postgres-urls", 10_000).lines(corpus).words(words).texts(|text| {
        if let Ok(target) = Target::parse(text) {
            // It may be refused, in words that can be shown.
            assert!(Location::parse(&target).err().is_none_or(|error| !error.to_string().is_empty()));
        }
    });
}
