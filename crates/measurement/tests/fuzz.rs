//! Sizes, times and counts out of anything.

use plimsoll_fuzz::Target;
use plimsoll_measurement::units;

#[test]
fn sizes() {
    let target = Target::new("sizes", 20_000).lines(include_str!("../../fuzz/corpus/sizes.txt"));
    target.words(["KiB", "TiB", "ns", "h", "min", "k", "_", "."]).texts(|text| {
        for whole in [units::parse_bytes(text), units::parse_count(text)].into_iter().flatten() {
            assert!(i64::try_from(whole).is_ok(), "{whole}");
            assert!(!units::format_bytes(whole).is_empty());
            assert!(units::mb_per_minute(whole, 1e-9).is_none_or(|rate| rate >= 0.0));
        }
        if let Ok(time) = units::parse_duration(text) {
            assert!(!units::format_seconds(time.as_secs_f64()).is_empty());
        }
        if let Ok(number) = text.parse::<f64>() {
            for text in [units::format_significant(number), units::format_seconds(number)] {
                assert!(!text.is_empty());
            }
        }
    });
}
