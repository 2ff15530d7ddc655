//! Scripts that call SQLIO, and its parameter files. A script's lines name what is done; threads and the file's size stand in the
//! parameter file (`path threads mask megabytes`), which lies beside it.

use std::time::Duration;

use plimsoll_engine::target::mask_name;

use super::super::read::MOST_CELLS;
use super::cells::{CellText, Translated, suite};

/// What SQLIO does where a command says nothing else.
const SECONDS: u64 = 30;
const BLOCK_KB: u64 = 2;
const THREADS: u32 = 1;
const FILE_MB: u64 = 8;

type Problem = (usize, String);

/// Threads, and the size of the file in MB where it is given.
#[derive(Clone, Copy)]
struct Parameters {
    threads: u32,
    file_mb: Option<u64>,
}

pub(super) fn translate(
    stem: &str,
    text: &str,
    beside: &dyn Fn(&str) -> Option<String>,
) -> Result<Translated, Problem> {
    let mut left_out = Vec::new();
    let mut cells: Vec<CellText> = Vec::new();
    let mut file_mb = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(words) = command(line) else { continue };
        if cells.len() == MOST_CELLS {
            return Err((number, format!("more than {MOST_CELLS} calls are more than a suite may have")));
        }
        let (cell, megabytes) = cell(&words, number, beside, &mut left_out)?;
        file_mb = file_mb.max(megabytes);
        cells.push(cell);
    }
    if cells.is_empty() {
        return Err((
            1,
            "no line of this file calls sqlio: name the script, and keep its parameter file beside it".to_owned(),
        ));
    }
    label(&mut cells);
    Ok(Translated::of(&suite(stem, &format!("{stem}, a script of SQLIO"), "SQLIO", file_mb << 20, &cells), left_out))
}

/// The words behind `sqlio` of a line that calls it and is not switched off.
fn command(line: &str) -> Option<Vec<String>> {
    let mut words = line.split_whitespace();
    let first = words.next()?.trim_start_matches('@').trim_matches('"').to_lowercase();
    let program = first.rsplit(['\\', '/']).next().unwrap_or_default();
    // What follows `>` is where its output goes.
    let is_call = matches!(program, "sqlio" | "sqlio.exe");
    is_call.then(|| words.take_while(|word| !word.starts_with('>')).map(str::to_owned).collect())
}

fn cell(
    words: &[String],
    line: usize,
    beside: &dyn Fn(&str) -> Option<String>,
    left_out: &mut Vec<String>,
) -> Result<(CellText, u64), Problem> {
    let mut parameters = Parameters { threads: THREADS, file_mb: None };
    let (mut is_read, mut seconds, mut queue_depth, mut block_kb) = (None, SECONDS, 1, BLOCK_KB);
    // Without -B neither the system's cache nor the disk's is used.
    let (mut is_random, mut is_durable) = (false, true);
    for word in words {
        let Some(switch) = word.strip_prefix(['-', '/']) else {
            left_out
                .push(format!("line {line}: the file {} is not used: the test has one of its own", mask_name(word)));
            continue;
        };
        let (letter, value) = switch.split_at(switch.chars().next().map_or(0, char::len_utf8));
        let whole = |what: &str| value.parse::<u32>().map_err(|_| (line, format!("'{word}' has no {what}")));
        match (letter, value) {
            ("k", "R" | "r") => is_read = Some(true),
            ("k", "W" | "w") => is_read = Some(false),
            ("s", _) => seconds = whole("seconds")?.into(),
            ("f", "random" | "rand") => is_random = true,
            ("f", "sequential" | "seq") => is_random = false,
            ("o", _) => queue_depth = whole("number of I/Os")?.max(1),
            ("b", _) => block_kb = whole("size in KB")?.into(),
            ("t", _) => parameters.threads = whole("number of threads")?.max(1),
            ("F", name) => {
                let text = beside(name).ok_or_else(|| (line, format!("the parameter file {name} can't be read")))?;
                parameters = of_file(name, &text, left_out)?;
            }
            // Latencies are always timed.
            ("L", _) => {}
            // Of both caches none, the disk's, the system's, or both: without the disk's a write is durable when it ends.
            ("B", "N" | "H" | "S" | "Y") => {
                is_durable = matches!(value, "N" | "S");
                if matches!(value, "S" | "Y") {
                    left_out.push(format!("line {line}: {word} takes the system's cache: --buffered does so here"));
                }
            }
            // What follows the letter may be anything.
            _ => left_out.push(format!("line {line}: -{letter} is not understood")),
        }
    }
    let is_read = is_read.ok_or((line, "this call says neither -kR nor -kW".to_owned()))?;
    let file_mb = parameters.file_mb.unwrap_or(FILE_MB);
    let cell = CellText {
        label: String::new(),
        read_percent: if is_read { 100 } else { 0 },
        is_random,
        own_offsets: !is_random,
        sync: (!is_read && is_durable).then_some("o_dsync"),
        block_bytes: block_kb << 10,
        threads: parameters.threads,
        queue_depth,
        duration: Duration::from_secs(seconds),
        warm_up: Duration::ZERO,
        rate: None,
        is_poisson: false,
        is_beside: false,
    };
    Ok((cell, file_mb))
}

/// The first active line of a parameter file: `path threads mask megabytes`.
fn of_file(name: &str, text: &str, left_out: &mut Vec<String>) -> Result<Parameters, Problem> {
    let mut active = (1..).zip(text.lines()).map(|(line, text)| (line, text.trim()));
    let mut active = active.by_ref().filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
    let (line, first) = active.next().ok_or_else(|| (1, format!("{name} has no line that is not switched off")))?;
    if active.next().is_some() {
        left_out.push(format!("{name} has several files: the first is taken"));
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    let wrong = |what: &str| (line, format!("{name}: '{first}' has no {what}: it is path, threads, mask, megabytes"));
    let [_, threads, _, megabytes, ..] = words.as_slice() else { return Err(wrong("four parts")) };
    let threads = threads.parse().ok().filter(|threads| *threads > 0).ok_or_else(|| wrong("number of threads"))?;
    let file_mb = megabytes.parse::<u32>().ok().filter(|size| *size > 0).ok_or_else(|| wrong("size"))?;
    Ok(Parameters { threads, file_mb: Some(file_mb.into()) })
}

/// The classes of the matrix. Sequential writes are small ones before the first sequential read, and large ones behind it.
fn label(cells: &mut [CellText]) {
    let first_read = cells.iter().position(|cell| !cell.is_random && cell.read_percent == 100);
    for (at, cell) in cells.iter_mut().enumerate() {
        let is_behind = first_read.is_some_and(|first| at > first);
        crate::import::class_of(cell.is_random, cell.read_percent == 100, is_behind).clone_into(&mut cell.label);
    }
}
