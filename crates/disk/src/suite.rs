//! Suites: which cells a disk test has, as TOML. The built-in ones are embedded; a user's own file is read by the same code.

pub mod foreign;
mod read;

use crate::plan::{MOST_BUFFER_BYTES, Suite};

/// The built-in suites: the name on the command line, and the text.
const BUILT_IN: &[(&str, &str)] = &[
    ("quick", include_str!("../suites/quick.toml")),
    ("sqlio", include_str!("../suites/sqlio.toml")),
    ("sqlio-32k", include_str!("../suites/sqlio-32k.toml")),
    ("database", include_str!("../suites/database.toml")),
    ("log-write", include_str!("../suites/log-write.toml")),
    ("sweep", include_str!("../suites/sweep.toml")),
];

/// Reads a suite. `file` is only used in errors.
///
/// # Errors
/// A sentence that says what is wrong, with file and line.
pub fn parse(file: &str, text: &str) -> Result<Suite, String> {
    read::suite(file, text, MOST_BUFFER_BYTES)
}

/// Reads a suite that says what another tool did: nobody needs memory for that here.
///
/// # Errors
/// As [`parse`].
pub(crate) fn of_results(text: &str) -> Result<Suite, String> {
    read::suite("the results", text, u64::MAX)
}

/// The built-in suite of that name.
pub fn built_in(name: &str) -> Option<Suite> {
    let (name, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    // A test reads all of them.
    parse(&format!("{name}.toml"), text).ok()
}

/// Names of the built-in suites.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// A cell by its keys, for tests.
#[cfg(test)]
pub(crate) fn cell_of(keys: &str) -> plimsoll_measurement::Cell {
    let text = format!("name = 'test'\ntitle = 'A test'\nabout = 'Of cells.'\nfile = '1GiB'\n[[cell]]\n{keys}\n");
    parse("test.toml", &text).unwrap().cells.remove(0).cell
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plimsoll_measurement::{Offsets, Operation, SyncMode};

    use super::*;
    use crate::plan::CellPlan;

    #[test]
    fn the_built_in_suites_are_right() {
        for (name, text) in BUILT_IN {
            let suite = parse(name, text).unwrap();
            assert_eq!(suite.name, format!("disk-{name}"));
            let keys: BTreeSet<String> = suite.cells.iter().map(CellPlan::key).collect();
            assert_eq!(keys.len(), suite.cells.len(), "{name} measures something twice");
        }
    }

    #[test]
    fn quick_takes_two_minutes_and_sqlio_what_the_reference_took() {
        let lasts = |name: &str| {
            let suite = built_in(name).unwrap();
            (suite.repetitions * suite.repetition_lasts(None, 1).as_secs() as u32, suite)
        };
        let (seconds, quick) = lasts("quick");
        // The file is laid out in the rest of the two minutes.
        assert!((90..=100).contains(&seconds), "{seconds}");
        assert_eq!((quick.file_bytes, quick.shrinks), (2 << 30, true));
        // The knee is told of cells with four and more numbers under way.
        let reads = quick.cells.iter().filter(|plan| plan.key().starts_with("random_read_8k_t"));
        assert_eq!(reads.map(CellPlan::under_way).collect::<Vec<u64>>(), [64, 1, 4, 16, 256]);
        for (name, seconds) in ["database", "log-write"].map(|name| (name, lasts(name).0)) {
            assert!((60..=150).contains(&seconds), "{name}: {seconds}");
        }
        let (seconds, sqlio) = lasts("sqlio");
        // 2 x 300 s and 13 x 180 s.
        assert_eq!((seconds, sqlio.cells.len(), sqlio.file_bytes, sqlio.shrinks), (2940, 15, 64 << 30, false));
        let labels: Vec<&str> = sqlio.cells.iter().map(|plan| plan.cell.label.as_str()).collect();
        assert_eq!(labels.join(" "), "OW OR SW SW SW SW SW LR LR LR LR LW LW LW LW");
        let kilobytes: Vec<u64> = sqlio.cells.iter().map(|plan| plan.cell.block_bytes >> 10).collect();
        assert_eq!(kilobytes, [8, 8, 4, 8, 16, 32, 64, 8, 64, 128, 256, 8, 64, 128, 256]);
        for (number, plan) in sqlio.cells.iter().enumerate() {
            let cell = &plan.cell;
            assert_eq!((cell.threads, cell.queue_depth), (32, if number < 2 { 32 } else { 8 }));
            let writes = cell.operation == Operation::Write;
            assert_eq!(writes, cell.label.ends_with('W'), "{cell}");
            // Unbuffered and write-through, as a database writes (A27); regions of their own (A26).
            assert_eq!(cell.sync == SyncMode::ODsync, writes, "{cell}");
            assert_eq!(cell.offsets == Offsets::Own, number >= 2, "{cell}");
        }
        // The commented-out class (A5) has the warm-up of the others, and their threads and depth.
        let (_, random) = lasts("sqlio-32k");
        assert_eq!(random.warm_up, sqlio.warm_up);
        for (other, plan) in random.cells.iter().zip(&sqlio.cells) {
            let cell = plimsoll_measurement::Cell { block_bytes: 32 << 10, ..plan.cell.clone() };
            assert_eq!(*other, CellPlan { cell, ..plan.clone() });
        }
        // Four times a write and a read of 300 s.
        assert_eq!((sqlio.warm_up.len(), sqlio.warm_up[7].duration.as_secs()), (8, 300));
        assert_eq!(sqlio.warm_up[0].cell.operation, Operation::Write);
    }
}
