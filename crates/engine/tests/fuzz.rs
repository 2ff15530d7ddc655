//! Targets out of anything.

use plimsoll_engine::Target;
use plimsoll_engine::target::mask_urls;

#[test]
fn targets() {
    let corpus = include_str!("../../fuzz/corpus/targets.txt");
    let words = ["://", "password=", "pwd=", "user:pass@", "mssql:", ";", "%40"];
    plimsoll_fuzz::Target::new("targets", 10_000).lines(corpus).words(words).texts(|text| {
        assert!(mask_urls(text).len() <= 16 * text.len() + 16);
        if let Ok(target) = Target::parse(text) {
            assert!(!target.display().is_empty());
            // What is shown has nothing more to be masked.
            assert_eq!(mask_urls(target.display()), target.display());
        }
    });
}
