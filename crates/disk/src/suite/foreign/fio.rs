//! fio's job files: the common keys. Jobs run one after another.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_engine::target::mask_name;

use super::super::read::MOST_CELLS;
use super::cells::{CellText, Translated, suite};
use crate::import::{SYNCHRONOUS, fio_block_bytes, fio_seconds, fio_size};

/// Keys that change nothing of what is measured here, or that are always so.
const WITHOUT_EFFECT: &[&str] = &[
    "group_reporting",
    "norandommap",
    "randrepeat",
    "thread",
    "time_based",
    "invalidate",
    "refill_buffers",
    "buffer_compress_percentage",
    "gtod_reduce",
    "registerfiles",
    "fixedbufs",
    "hipri",
    "cpus_allowed",
    "name",
    "description",
    "filename",
    "directory",
    "write_lat_log",
    "write_iops_log",
    "write_bw_log",
    "log_avg_msec",
    "per_job_logs",
    "percentile_list",
    "stonewall",
    "overwrite",
    "create_on_open",
    "end_fsync",
    "unlink",
    "exitall",
    "eta_newline",
];

/// How long a job lasts here that says no time.
const SECONDS: u64 = 60;

/// Keys of a section: fio has some 300. Each job has those of `[global]` once more.
const MOST_KEYS: usize = 500;

type Problem = (usize, String);
type Options = BTreeMap<String, (String, usize)>;

pub(super) fn translate(stem: &str, text: &str) -> Result<Translated, Problem> {
    let (jobs, mut left_out) = sections(text)?;
    let mut cells = Vec::new();
    let mut largest = 0;
    let mut together = false;
    for (name, options, line) in &jobs {
        let (cell, file_bytes) = cell(name, options, *line, &mut left_out)?;
        largest = largest.max(file_bytes);
        together |= !cells.is_empty() && !options.contains_key("stonewall");
        cells.push(cell);
    }
    if cells.is_empty() {
        return Err((1, "there is no job in this file: a section such as [reads]".to_owned()));
    }
    if together {
        left_out.push("jobs without 'stonewall' run one after another here, and together in fio".to_owned());
    }
    Ok(Translated::of(&suite(stem, &format!("{stem}, a job file of fio"), "fio", largest, &cells), left_out))
}

type Job = (String, Options, usize);

/// The jobs, each with the keys of `[global]` that it does not give itself.
fn sections(text: &str) -> Result<(Vec<Job>, Vec<String>), Problem> {
    let (mut global, mut jobs) = (Options::new(), Vec::<Job>::new());
    let mut in_global = false;
    let mut left_out = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            let name = name
                .strip_suffix(']')
                .ok_or((number, format!("'{}' is no name of a section", mask_name(line))))?
                .trim();
            in_global = name.eq_ignore_ascii_case("global");
            if !in_global {
                if jobs.len() == MOST_CELLS {
                    return Err((number, format!("more than {MOST_CELLS} jobs are more than a suite may have")));
                }
                jobs.push((mask_name(name), global.clone(), number));
            }
            continue;
        }
        if line.starts_with("include ") {
            left_out.push(format!("line {number}: '{}' is not followed", mask_name(line)));
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "1"));
        let value = value.split([';', '#']).next().unwrap_or_default().trim();
        let (key, value) = (key.trim().to_lowercase(), (value.to_owned(), number));
        let keys = match jobs.last_mut() {
            _ if in_global => &mut global,
            Some((_, options, _)) => options,
            None => return Err((number, format!("'{}' stands in front of the first section", mask_name(line)))),
        };
        let key = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, name)| (*name).to_owned());
        keys.insert(key, value);
        if keys.len() > MOST_KEYS {
            return Err((number, format!("a section has more than {MOST_KEYS} keys")));
        }
    }
    Ok((jobs, left_out))
}

fn cell(name: &str, options: &Options, line: usize, left_out: &mut Vec<String>) -> Result<(CellText, u64), Problem> {
    let get =
        |keys: &[&str]| keys.iter().find_map(|key| options.get(*key)).map(|(value, line)| (value.as_str(), *line));
    let whole = |keys: &[&str]| match get(keys) {
        None => Ok(None),
        Some((value, line)) => {
            value.parse::<u64>().map(Some).map_err(|_| (line, format!("{} = {value} is no whole number", keys[0])))
        }
    };
    let sized = |keys: &[&str]| match get(keys) {
        None => Ok(None),
        Some((value, line)) => {
            fio_size(value).map(Some).ok_or_else(|| (line, format!("{} = {value} is no size", keys[0])))
        }
    };
    let timed = |keys: &[&str]| match get(keys) {
        None => Ok(None),
        Some((value, line)) => {
            fio_seconds(value).map(Some).ok_or_else(|| (line, format!("{} = {value} is no time", keys[0])))
        }
    };
    let (pattern, at) = get(&["rw"]).unwrap_or(("read", line));
    let mix = whole(&["rwmixread"])?.or(whole(&["rwmixwrite"])?.map(|writes| 100_u64.saturating_sub(writes)));
    let read_percent = match pattern {
        "read" | "randread" => 100,
        "write" | "randwrite" => 0,
        "rw" | "readwrite" | "randrw" => mix.unwrap_or(50).min(100) as u32,
        _ => return Err((at, format!("rw = {pattern} is none of read, write, randread, randwrite, rw, randrw"))),
    };
    let seconds = timed(&["runtime"])?;
    if seconds.is_none() {
        left_out.push(format!(
            "job '{name}' has no runtime: it lasts {SECONDS} s here, however much it is told to read or write"
        ));
    }
    let file_bytes = sized(&["size", "filesize"])?.ok_or((line, format!("job '{name}' has no size")))?;
    let threads = whole(&["numjobs"])?.unwrap_or(1).clamp(1, 1 << 20) as u32;
    let engine = get(&["ioengine"]).map_or(SYNCHRONOUS[0], |(value, _)| value);
    let queue_depth = match whole(&["iodepth"])?.unwrap_or(1).clamp(1, 1 << 20) as u32 {
        depth if depth > 1 && SYNCHRONOUS.contains(&engine) => {
            left_out.push(format!(
                "job '{name}' has one operation under way, as in fio with ioengine={engine}, whatever its iodepth: ioengine=libaio has more"
            ));
            1
        }
        depth => depth,
    };
    let own_files = get(&["filename"]).is_none();
    if get(&["filename", "directory"]).is_some() {
        left_out.push(
            "filename and directory are not used: the test has a file of its own in the folder that is named"
                .to_owned(),
        );
    }
    if get(&["direct"]).is_none_or(|(value, _)| value == "0")
        && get(&["buffered"]).is_none_or(|(value, _)| value != "0")
    {
        left_out.push(format!("job '{name}' goes through the page cache in fio: --buffered does so here"));
    }
    let flag = |key: &str| get(&[key]).map(|(value, _)| value).filter(|value| !matches!(*value, "0" | "none"));
    let sync = match (flag("sync"), flag("fsync"), flag("fdatasync")) {
        (Some(_), ..) => Some("o_dsync"),
        (_, Some(every), _) | (_, _, Some(every)) => {
            if every != "1" {
                left_out.push(format!("job '{name}' syncs after {every} writes in fio, and after each one here"));
            }
            Some(if flag("fsync").is_some() { "fsync" } else { "fdatasync" })
        }
        _ => None,
    };
    for (key, (_, line)) in options {
        if !KNOWN.contains(&key.as_str()) && !WITHOUT_EFFECT.contains(&key.as_str()) {
            left_out.push(format!("line {line}: {key} is not understood"));
        }
    }
    let rate = get(&["rate_iops"]).map(|(value, line)| {
        rates(value, read_percent).ok_or_else(|| (line, format!("rate_iops = {value} is no whole number")))
    });
    let rate = rate.transpose()?;
    // With rates of their own, these decide how many are reads.
    let read_percent = rate.map_or(read_percent, |[reads, writes]| (100 * reads / (reads + writes).max(1)) as u32);
    let block = get(&["bs"]);
    let block_bytes = fio_block_bytes(block.map(|(value, _)| value), read_percent)
        .map_err(|problem| (block.map_or(line, |(_, line)| line), problem))?;
    let cell = CellText {
        label: name.to_owned(),
        read_percent,
        is_random: pattern.starts_with("rand"),
        // Copies of a job have a file each, unless they are given one.
        own_offsets: own_files,
        sync: sync.filter(|_| read_percent < 100),
        block_bytes,
        threads,
        queue_depth,
        duration: seconds.unwrap_or(Duration::from_secs(SECONDS)),
        warm_up: timed(&["ramp_time"])?.unwrap_or_default(),
        // The rate of a job is that of each of its copies.
        rate: rate.map(|[reads, writes]| (reads + writes).saturating_mul(u64::from(threads)) as f64),
        is_poisson: get(&["rate_process"]).is_some_and(|(value, _)| value == "poisson"),
        is_beside: false,
    };
    // Each copy has so much.
    Ok((cell, if own_files { file_bytes.saturating_mul(threads.into()) } else { file_bytes }))
}

/// Keys that are read.
const KNOWN: &[&str] = &[
    "rw",
    "rwmixread",
    "rwmixwrite",
    "runtime",
    "size",
    "filesize",
    "numjobs",
    "direct",
    "buffered",
    "sync",
    "fsync",
    "fdatasync",
    "rate_iops",
    "rate_process",
    "bs",
    "iodepth",
    "ioengine",
    "ramp_time",
];

/// Other names of keys: of those that are given twice the last one counts, whatever it is called.
const ALIASES: &[(&str, &str)] = &[("readwrite", "rw"), ("blocksize", "bs"), ("timeout", "runtime")];

/// Reads and writes a second of a copy of a job. fio has a rate for each, and one that is given alone is that of both.
fn rates(text: &str, read_percent: u32) -> Option<[u64; 2]> {
    const MOST: u64 = 1 << 40;
    let mut parts = text.split(',').map(str::trim);
    let of = |text: &str| text.parse::<u64>().ok().filter(|rate| *rate <= MOST);
    let reads = of(parts.next()?)?;
    let writes = parts.next().filter(|text| !text.is_empty()).map_or(Some(reads), of)?;
    Some([if read_percent > 0 { reads } else { 0 }, if read_percent < 100 { writes } else { 0 }])
}
