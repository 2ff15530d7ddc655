//! Reads the TOML of a suite, and says what is wrong in it with its line.

mod cell;

use plimsoll_measurement::units;
use serde::Deserialize;
use toml::Spanned;

use self::cell::{CellText, MOST_THREADS, count, plan, wrong_label};
use crate::plan::{CellPlan, Suite};
use crate::sweep::{CLASS, Sweep};

/// A sweep goes so far unless it says otherwise.
const USUAL_THREADS: u32 = 64;
const USUAL_DEPTH: u32 = 512;
/// Cells of a suite at most.
pub(super) const MOST_CELLS: usize = 400;
/// The warm-up of a suite may be repeated so often.
const MOST_TIMES: u32 = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteText {
    name: Spanned<String>,
    title: String,
    #[serde(default)]
    about: String,
    repetitions: Option<Spanned<u32>>,
    file: Spanned<String>,
    #[serde(default)]
    shrinks: bool,
    #[serde(default)]
    verify: bool,
    #[serde(default)]
    left_out: Vec<String>,
    warm_up_times: Option<Spanned<u32>>,
    #[serde(default)]
    warm_up: Vec<Spanned<CellText>>,
    #[serde(default)]
    every: CellText,
    sweep: Option<Spanned<SweepText>>,
    cell: Vec<Spanned<CellText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepText {
    most_threads: Option<u32>,
    most_queue_depth: Option<u32>,
}

/// `most_bytes` is the memory that operations under way may need.
pub(super) fn suite(file: &str, text: &str, most_bytes: u64) -> Result<Suite, String> {
    let at = |start: usize, problem: &str| {
        let line = 1 + text.get(..start.min(text.len())).unwrap_or_default().matches('\n').count();
        format!("{file}:{line}: {problem}")
    };
    let read: SuiteText =
        toml::from_str(text).map_err(|error| at(error.span().map_or(0, |span| span.start), error.message()))?;
    let wrong = |spanned: std::ops::Range<usize>, problem: &str| at(spanned.start, problem);
    let name = read.name.get_ref().clone();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Err(wrong(read.name.span(), "'name' has lower-case letters, digits and hyphens only"));
    }
    let file_bytes = units::parse_bytes(read.file.get_ref())
        .map_err(|error| wrong(read.file.span(), &format!("file = {}: {error}", read.file.get_ref())))?;
    let within = |value: &Option<Spanned<u32>>, name: &str, usual: u32, most: u32| match value {
        None => Ok(usual),
        Some(value) if (1..=most).contains(value.get_ref()) => Ok(*value.get_ref()),
        Some(value) => Err(wrong(value.span(), &format!("'{name}' must be a whole number from 1 to {most}"))),
    };
    let repetitions = within(&read.repetitions, "repetitions", 3, 26)?;
    let times = within(&read.warm_up_times, "warm_up_times", 1, MOST_TIMES)?;
    let plans = |texts: &[Spanned<CellText>]| -> Result<Vec<CellPlan>, String> {
        let plan = |text: &Spanned<CellText>| {
            plan(&text.get_ref().over(&read.every)).map_err(|problem| wrong(text.span(), &problem))
        };
        let mut plans: Vec<CellPlan> = Vec::with_capacity(texts.len());
        for text in texts {
            let mut plan = plan(text)?;
            for beside in &text.get_ref().beside {
                let read = cell::beside(beside.get_ref(), &plan).map_err(|problem| wrong(beside.span(), &problem))?;
                plan.beside.push(read);
            }
            if let Some((label, problem)) = wrong_label(&plan, &plans) {
                return Err(wrong(text.span(), &format!("rate_of = '{label}': {problem}")));
            }
            if plan.buffer_bytes() > most_bytes {
                let [needed, most] = [plan.buffer_bytes(), most_bytes].map(units::format_bytes);
                let problem = format!(
                    "{} operations under way need {needed} of memory, more than {most}: choose a smaller block, or fewer threads or \
                     a smaller queue_depth",
                    plan.under_way()
                );
                return Err(wrong(text.span(), &problem));
            }
            plans.push(plan);
        }
        Ok(plans)
    };
    if !read.every.beside.is_empty() {
        return Err(at(0, "[every] has no 'beside': each cell says what runs beside it"));
    }
    let (cells, once) = (plans(&read.cell)?, plans(&read.warm_up)?);
    if cells.is_empty() || cells.len() > MOST_CELLS {
        return Err(at(0, &format!("a suite has 1 to {MOST_CELLS} tables [[cell]]")));
    }
    let limits = (1, MOST_THREADS);
    let sweep = |text: &Spanned<SweepText>| -> Result<Sweep, String> {
        let SweepText { most_threads, most_queue_depth } = text.get_ref();
        let most_threads = count("most_threads", *most_threads, USUAL_THREADS, limits);
        let most_queue_depth = count("most_queue_depth", *most_queue_depth, USUAL_DEPTH, limits);
        let sweep =
            most_threads.and_then(|most_threads| Ok(Sweep { most_threads, most_queue_depth: most_queue_depth? }));
        sweep.map_err(|problem| wrong(text.span(), &problem))
    };
    let sweep = read.sweep.as_ref().map(sweep).transpose()?;
    let mut cells = cells;
    if sweep.is_some() {
        let [only] = cells.as_mut_slice() else { return Err(at(0, "a suite with [sweep] has one table [[cell]]")) };
        if !only.beside.is_empty() {
            return Err(at(0, "a cell that is swept has no [[cell.beside]]"));
        }
        CLASS.clone_into(&mut only.cell.label);
    } else if let Some((cell, _)) = read.cell.iter().zip(&cells).find(|(_, plan)| plan.cell.label == CLASS) {
        return Err(wrong(cell.span(), &format!("the class '{CLASS}' is that of a suite with [sweep]")));
    }
    Ok(Suite {
        name,
        sweep,
        title: read.title,
        about: read.about.trim().to_owned(),
        repetitions,
        file_bytes,
        shrinks: read.shrinks,
        verify: read.verify,
        left_out: read.left_out,
        warm_up: (0..times).flat_map(|_| once.clone()).collect(),
        cells,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::suite::parse;

    const GOOD: &str = "name = 'mine'\ntitle = 'Mine'\nfile = '1GiB'\n[every]\nthreads = 2\n[[cell]]\noperation = 'read'\nblock = \
                        '8KiB'\n";

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            (
                "operation = 'read'",
                "operation = 'raed'",
                "my.toml:6: operation = 'raed': it must be one of read, write, mixed",
            ),
            ("block = '8KiB'", "block = '0'", "my.toml:6: block = '0': it must lie between 1 byte and 64 MiB"),
            ("block = '8KiB'", "blocks = '8KiB'", "my.toml:8: unknown field `blocks`"),
            ("block = '8KiB'", "", "my.toml:6: a cell needs 'block'"),
            ("file = '1GiB'", "file = 'much'", "my.toml:3: file = much: "),
            ("threads = 2", "threads = 0", "my.toml:6: threads = 0: it must lie between 1 and 1024"),
            ("name = 'mine'", "name = 'My Own'", "my.toml:1: 'name' has lower-case letters"),
            ("[[cell]]", "[[cell]]\nsync = 'fsync'", "my.toml:6: sync = 'fsync': reads have nothing to make durable"),
            ("[[cell]]", "[[cell]]\nthreads = 64\nqueue_depth = 512", "my.toml:6: 32768 operations under way need"),
            ("[[cell]]", "[[cell]]\nlabel = 'sweep'", "my.toml:6: the class 'sweep' is that of a suite with [sweep]"),
            ("[[cell]]", "[sweep]\nmost_threads = 0\n[[cell]]", "my.toml:6: most_threads = 0: it must lie between"),
            ("[[cell]]", "[[cell]]\nread_percent = 70", "my.toml:6: read_percent is a share of operation = 'mixed'"),
            ("[[cell]]", "[[cell]]\nrate = 0", "my.toml:6: 'rate' must be a number"),
            ("title = 'Mine'", "title = 'Mine'\nrepetitions = 27", "my.toml:3: 'repetitions' must be a whole number"),
            ("[[cell]]", "[[cell", "my.toml:6: "),
            (
                "[[cell]]",
                "[[cell]]\nwrites_per_sync = 2",
                "my.toml:6: writes_per_sync = 2: it needs writes with a sync",
            ),
            ("[[cell]]", "[[cell]]\nrate_percent = 50", "my.toml:6: 'rate_percent' and 'rate_of' belong together"),
            ("[[cell]]", "[[cell]]\nrate_percent = 50\nrate_of = 'x'", "my.toml:6: rate_of = 'x': no cell before"),
            ("[every]", "[[every.beside]]\n[every]", "my.toml:"),
        ];
        for (from, to, expected) in cases {
            let problem = parse("my.toml", &GOOD.replace(from, to)).unwrap_err();
            assert!(problem.starts_with(expected), "{problem}\nexpected {expected}");
        }
    }

    #[test]
    fn what_is_beside_a_cell_has_its_times_and_a_rate_by_what_another_made() {
        let beside = "[[cell]]\noperation = 'write'\nblock = '4KiB'\naccess = 'sequential'\nsync = 'o_dsync'\nduration = '3s'\n\
                      [[cell.beside]]\nlabel = 'reads'\noperation = 'read'\nblock = '8KiB'\nqueue_depth = 64\nrate_percent = 50\n\
                      rate_of = 'random read 8 KiB'\n";
        let all = parse("my.toml", &format!("{GOOD}{beside}")).unwrap().cells;
        let [_, log] = all.as_slice() else { panic!("{all:?}") };
        let reads = &log.beside[0];
        assert_eq!((reads.duration, reads.warm_up, reads.rate_per_s), (log.duration, log.warm_up, None));
        assert_eq!((reads.cell.threads, reads.cell.beside.as_ref()), (1, Some(&log.cell.label)), "it says all itself");
        let rated = log.with_rates(&|label| (label == "random read 8 KiB").then_some(3000.0)).unwrap();
        assert_eq!((rated.rate_per_s, rated.beside[0].rate_per_s), (None, Some(1500.0)));
        assert_eq!(rated.beside[0].key(), "reads_random_read_8k_t1_q64_beside_sequential_write_4_kib_o_dsync");
        assert_eq!(log.with_rates(&|_| None).unwrap_err(), "random read 8 KiB");
        let problem =
            |from: &str, to: &str| parse("my.toml", &format!("{GOOD}{}", beside.replace(from, to))).unwrap_err();
        assert!(problem("queue_depth = 64", "duration = '1s'").starts_with("my.toml:15: 'duration', 'warm_up' and"));
        assert!(problem("rate_of = 'random read 8 KiB'", "rate_of = 'log'").starts_with("my.toml:9: rate_of = 'log'"));
        let group = parse("my.toml", &GOOD.replace("'read'", "'write'\nsync = 'fsync'\nwrites_per_sync = 8")).unwrap();
        assert_eq!(group.cells[0].key(), "random_write_8x8k_fsync_t2_q1");
    }

    #[test]
    fn a_cell_takes_from_every_what_it_does_not_say() {
        let plan = parse("my.toml", GOOD).unwrap().cells.remove(0);
        assert_eq!((plan.cell.threads, plan.cell.queue_depth, plan.cell.read_percent), (2, 1, 100));
        assert_eq!((plan.cell.label.as_str(), plan.warm_up), ("random read 8 KiB", Duration::ZERO));
        let every = GOOD.replace("[every]", "[every]\nread_percent = 70");
        assert_eq!(parse("my.toml", &every).unwrap().cells[0].cell.read_percent, 100, "it is for mixed ones");
        let sequential = parse("my.toml", &format!("{GOOD}access = 'sequential'\nthreads = 4\nrate = 50\n")).unwrap();
        let plan = &sequential.cells[0];
        assert_eq!((plan.cell.threads, plan.rate_per_s), (4, Some(50.0)));
        assert_eq!((plan.cell.offsets.as_str(), plan.key().as_str()), ("own", "sequential_read_8k_t4_q1_at_50"));
    }
}
