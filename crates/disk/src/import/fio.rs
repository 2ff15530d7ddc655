//! fio's JSON, of versions 2 and 3. Jobs of one name and group are the copies that `numjobs` makes, and one run.

use plimsoll_engine::target::mask_name;
use serde_json::{Map, Value};

mod options;

pub use self::options::{SYNCHRONOUS, block_bytes, seconds, size};

use self::options::{HOLD_BACK, NO_DISK, check_work, is_direct, rates, read_percent, unsaid};
use super::check::check_parts;
use super::company::{self, Job};
use super::result::{Beside, ImportError, Imported, Latency, is_amount};

type Object = Map<String, Value>;

/// Reads all jobs. fio may have said something before its JSON.
pub(super) fn read(text: &str) -> Result<Vec<Imported>, ImportError> {
    let start = text.find("\n{").map_or(0, |at| at + 1);
    let start = if text.trim_start().starts_with('{') { 0 } else { start };
    let before = text[..start].lines().count();
    check_parts(text, b"{[,")?;
    let root: Value = serde_json::from_str(&text[start..]).map_err(|error| {
        let what = if error.is_eof() { "the file breaks off" } else { "this is no JSON" };
        ImportError::at(before + error.line(), format!("{what} ({error})"))
    })?;
    let global = options(&root, "global options");
    let jobs = root.get("jobs").and_then(Value::as_array).ok_or_else(|| problem("there is no list 'jobs'"))?;
    let mut found: Vec<(Job, Vec<Imported>)> = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("?").to_owned();
        let named = |error: String| problem(format!("job {} ('{name}'): {error}", at + 1));
        if let Some(error) = job.get("error").and_then(Value::as_i64).filter(|error| *error != 0) {
            return Err(named(format!("it failed with error {error}, so its rates say nothing")));
        }
        let run = one(job, global).map_err(named)?;
        let is_set = |name: &str| option(job, global, name).is_some_and(|text| text != "0");
        let own = Job {
            group: job.get("groupid").and_then(Value::as_i64).unwrap_or(at as i64),
            waits: is_set("stonewall") || is_set("wait_for_previous"),
            waits_for: option(job, global, "wait_for").map(str::to_owned),
            has_new_group: is_set("new_group"),
            began_ms: job.get("job_start").and_then(Value::as_f64).filter(|ms| is_amount(*ms)),
            seconds: run.seconds,
            delay_seconds: option(job, global, "startdelay").and_then(seconds).map_or(0.0, |delay| delay.as_secs_f64()),
            ramp_seconds: option(job, global, "ramp_time").and_then(seconds).map_or(0.0, |ramp| ramp.as_secs_f64()),
            name,
        };
        match found.iter_mut().find(|(known, _)| known.group == own.group && known.name == own.name) {
            Some((known, runs)) => {
                known.seconds = known.seconds.max(own.seconds);
                runs.push(run);
            }
            None => found.push((own, vec![run])),
        }
    }
    company::in_order(&mut found);
    let (known, runs): (Vec<Job>, Vec<Vec<Imported>>) = found.into_iter().unzip();
    // The same in each job: that of fio itself.
    let elapsed = jobs.first().and_then(|job| job.get("elapsed")).and_then(Value::as_f64);
    let beside = company::beside(&known, elapsed);
    let run = |(runs, beside)| Some(Imported { beside, ..together(runs)? });
    Ok(runs.into_iter().zip(beside).filter_map(run).collect())
}

fn problem(text: impl Into<String>) -> ImportError {
    ImportError { line: None, problem: text.into() }
}

fn options<'a>(of: &'a Value, name: &str) -> Option<&'a Object> {
    of.get(name).and_then(Value::as_object)
}

/// An option of a job, or of all of them.
fn option<'a>(job: &'a Value, global: Option<&'a Object>, name: &str) -> Option<&'a str> {
    let own = options(job, "job options");
    let found = own.and_then(|own| own.get(name)).or_else(|| global.and_then(|global| global.get(name)));
    found.and_then(Value::as_str)
}

/// A job, or a copy of one.
fn one(job: &Value, global: Option<&Object>) -> Result<Imported, String> {
    let option = |name: &str| option(job, global, name);
    check_kind(job, &option)?;
    let pattern = option("rw").or_else(|| option("readwrite")).unwrap_or("read");
    let sides = ["read", "write"].into_iter().filter_map(|name| Side::of(job, name));
    let sides: Vec<Side> = sides.collect::<Result<_, _>>()?;
    let sides: Vec<Side> = sides.into_iter().filter(|side| side.count > 0.0).collect();
    let operations: f64 = sides.iter().map(|side| side.count).sum();
    if sides.is_empty() {
        return Err("it made no I/O".to_owned());
    }
    let reads: f64 = sides.iter().filter(|side| side.is_read).map(|side| side.count).sum();
    let read_percent = read_percent(pattern, [option("rwmixread"), option("rwmixwrite")], [reads, operations]);
    // A few writes among reads are writes.
    let kinds = if reads <= 0.0 {
        0
    } else if reads >= operations {
        100
    } else {
        50
    };
    let block_bytes = block_bytes(option("bs").or_else(|| option("blocksize")), kinds)?;
    let count = |name: &str| match option(name) {
        Some(text) => {
            text.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(|| format!("{name}={text} is no count"))
        }
        None => Ok(1),
    };
    let iops: f64 = sides.iter().map(|side| side.iops).sum();
    let bytes_per_second: f64 = sides.iter().map(|side| side.bytes_per_second).sum();
    let expected = iops * block_bytes as f64;
    if (bytes_per_second - expected).abs() > 0.02 * expected + 1024.0 {
        return Err(format!(
            "{bytes_per_second:.0} bytes a second are not {iops:.1} I/Os a second of {block_bytes} bytes"
        ));
    }
    // What was verified was read as well, which is no second job's.
    if option("verify").is_some() {
        check_work(pattern, option("verify"), [reads, operations])?;
    }
    let threads = count("numjobs")?;
    let seconds = sides.iter().map(|side| side.seconds).fold(0.0, f64::max);
    // All copies together ran for so long, where fio reports them as one.
    let most_ms = 1e3 * seconds * (f64::from(threads) + 0.5) + LEAST_TOLD_MS;
    if job.get("job_runtime").and_then(Value::as_f64).is_some_and(|ms| ms > most_ms) {
        return Err(
            "it has the I/Os of several jobs (group_reporting), and a cell is of one: leave that out".to_owned()
        );
    }
    check_work(pattern, option("verify"), [reads, operations])?;
    let [reads_asked, writes_asked] = rates(option("rate_iops"), option("rate"), block_bytes)?;
    let of = |side: &Side| if side.is_read { reads_asked } else { writes_asked };
    let asked: Vec<f64> = sides.iter().filter_map(of).collect();
    let rate_per_s = (!asked.is_empty()).then(|| asked.iter().sum::<f64>());
    let free = sides.iter().find(|side| rate_per_s.is_some() && of(side).is_none());
    // A side that was not asked for any made what it made.
    let asked_iops: f64 = sides.iter().filter(|side| of(side).is_some()).map(|side| side.iops).sum();
    check_asked(rate_per_s.map(|rate| rate * f64::from(threads)), asked_iops)?;
    let is_synchronous = SYNCHRONOUS.contains(&option("ioengine").unwrap_or(SYNCHRONOUS[0]));
    let flag = |name: &str| option(name).filter(|text| !matches!(*text, "0" | "none"));
    let (sync, every) = match (flag("sync"), flag("fsync"), flag("fdatasync")) {
        _ if reads >= operations => (None, "1"),
        (Some(_), ..) => (Some("o_dsync"), "1"),
        (None, Some(every), _) => (Some("fsync"), every),
        (None, None, Some(every)) => (Some("fdatasync"), every),
        (None, None, None) => (None, "1"),
    };
    let writes_per_sync = every.parse::<u64>().ok().filter(|every| *every > 1);
    let is_separate = matches!(sync, Some("fsync" | "fdatasync"));
    // Percentiles of reads and of writes can't be put together.
    let latency = match sides.as_slice() {
        // fio times a write without the sync that follows it.
        _ if is_separate => Latency::default(),
        [only] => only.latency.clone(),
        _ => merged(&sides.iter().map(|side| (&side.latency, side.count)).collect::<Vec<_>>()),
    };
    Ok(Imported {
        label: mask_name(job.get("jobname").and_then(Value::as_str).unwrap_or_default()),
        line: None,
        read_percent,
        is_random: pattern.starts_with("rand"),
        block_bytes,
        threads,
        queue_depth: if is_synchronous { 1 } else { count("iodepth")? },
        seconds,
        path: option("filename").or_else(|| option("directory")).map(str::to_owned),
        file_bytes: option("size").or_else(|| option("filesize")).and_then(size),
        is_direct: Some(is_direct(option)),
        sync: sync.filter(|_| writes_per_sync.is_none()),
        writes_per_sync,
        rate_per_s: rate_per_s.map(|rate| rate * f64::from(threads)),
        free_side: free.map(|side| if side.is_read { "reads" } else { "writes" }),
        held_back_by: HOLD_BACK.into_iter().find(|name| {
            option(name).is_some_and(|text| text.trim_start().starts_with(|first| matches!(first, '1'..='9')))
        }),
        unsaid: unsaid(pattern, option),
        beside: Beside::No,
        // Absent unless fio went on behind an error (`continue_on_error`).
        errors: match job.get("total_err") {
            Some(errors) => errors.as_u64().ok_or_else(|| format!("total_err = {errors} is no count"))?,
            None => 0,
        },
        iops,
        bytes_per_second,
        latency,
    })
}

/// So many times the rate that was asked for is made at most: rates are held for some milliseconds at a time.
const MOST_OF_ASKED: f64 = 1.5;

/// Whether no more was made than was asked for.
fn check_asked(asked: Option<f64>, iops: f64) -> Result<(), String> {
    match asked.filter(|asked| iops > MOST_OF_ASKED * asked) {
        Some(asked) => Err(format!("a rate of {asked:.0} a second was asked for, and {iops:.0} were made")),
        None => Ok(()),
    }
}

/// What no cell says: an engine without a disk, reads and writes that are told as one, and I/Os of several sizes.
fn check_kind<'o>(job: &Value, option: &impl Fn(&str) -> Option<&'o str>) -> Result<(), String> {
    if let Some(engine) = option("ioengine").filter(|engine| NO_DISK.contains(engine)) {
        return Err(format!("with ioengine={engine} it read or wrote no data on a disk"));
    }
    if options(job, "mixed").is_some() {
        return Err("its reads and writes are told as one (unified_rw_reporting): leave that out".to_owned());
    }
    if let Some(name) = ["bssplit", "bsrange", "blocksize_range"].into_iter().find(|name| option(name).is_some()) {
        return Err(format!("with {name} its I/Os are of several sizes, and a cell is of one"));
    }
    Ok(())
}

/// fio's times are in whole milliseconds, and jobs of a few of them take some more to begin and to end.
const LEAST_TOLD_MS: f64 = 10.0;

/// Copies of a job, each of which was reported by itself.
fn together(runs: Vec<Imported>) -> Option<Imported> {
    let latency = merged(&runs.iter().map(|run| (&run.latency, run.iops)).collect::<Vec<_>>());
    let (iops, bytes) = runs.iter().fold((0.0, 0.0), |sum, run| (sum.0 + run.iops, sum.1 + run.bytes_per_second));
    let copies = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let errors = runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.errors));
    let first = runs.into_iter().next()?;
    if copies == 1 {
        return Some(first);
    }
    // Each has the rate of the job.
    let rate_per_s = first.rate_per_s.map(|rate| rate / f64::from(first.threads) * f64::from(copies));
    Some(Imported { threads: copies, rate_per_s, iops, errors, bytes_per_second: bytes, latency, ..first })
}

/// What can be said of several together, each with its weight: percentiles can't.
fn merged(parts: &[(&Latency, f64)]) -> Latency {
    let all =
        |get: fn(&Latency) -> Option<f64>| parts.iter().map(|(latency, _)| get(latency)).collect::<Option<Vec<f64>>>();
    let weights: f64 = parts.iter().map(|(_, weight)| weight).sum();
    let means = all(|latency| latency.mean_us).filter(|_| weights > 0.0);
    Latency {
        min_us: all(|latency| latency.min_us).and_then(|all| all.into_iter().reduce(f64::min)),
        mean_us: means
            .map(|means| means.iter().zip(parts).map(|(mean, (_, weight))| mean * weight).sum::<f64>() / weights),
        max_us: all(|latency| latency.max_us).and_then(|all| all.into_iter().reduce(f64::max)),
        ..Latency::default()
    }
}

/// The reads or the writes of a job.
#[derive(Debug, Clone)]
struct Side {
    is_read: bool,
    count: f64,
    iops: f64,
    bytes_per_second: f64,
    seconds: f64,
    latency: Latency,
}

impl Side {
    fn of(job: &Value, name: &str) -> Option<Result<Self, String>> {
        let side = options(job, name)?;
        Some(Self::read(side, name == "read").map_err(|error| format!("{name}: {error}")))
    }

    fn read(side: &Object, is_read: bool) -> Result<Self, String> {
        let amount = |name: &str| {
            let number = side.get(name).and_then(Value::as_f64);
            number
                .map(|number| if is_amount(number) { Ok(number) } else { Err(format!("{name} can't be {number}")) })
                .transpose()
        };
        let needed = |name: &str| amount(name)?.ok_or_else(|| format!("there is no '{name}'"));
        let iops = needed("iops")?;
        // `bw` is in KiB a second in all versions.
        let bytes_per_second = match amount("bw_bytes")? {
            Some(rate) => rate,
            None => needed("bw")? * 1024.0,
        };
        let seconds = needed("runtime")? / 1e3;
        let counted = amount("total_ios")?;
        // The time is in whole milliseconds.
        let expected = iops * seconds;
        if let Some(count) =
            counted.filter(|count| *count > 0.0 && (count - expected).abs() > 0.05 * expected + iops / 500.0 + 2.0)
        {
            return Err(format!("{count} I/Os are not {iops} a second for {seconds} s"));
        }
        check_counts(side, counted)?;
        let latency = latency(side)?;
        let ends = [latency.min_us, latency.mean_us, latency.max_us];
        if !ends.into_iter().flatten().is_sorted() {
            return Err("the times' minimum, mean and maximum are not in this order".to_owned());
        }
        if let Some(most) = latency.max_us.map(|us| us / 1e6).filter(|most| *most > LONGEST_OF_RUN * (seconds + 1.0)) {
            return Err(format!("an I/O took {most} s in a job of {seconds} s"));
        }
        Ok(Self { is_read, count: counted.unwrap_or(expected), iops, bytes_per_second, seconds, latency })
    }
}

/// An operation may take longer than its job, whose time ends when the last one begins: so many times as long.
const LONGEST_OF_RUN: f64 = 60.0;

/// As many operations as a job may have had under way.
const MOST_UNDER_WAY: f64 = 1024.0;

/// Timed operations are some of all, and what a part of an operation takes is no more than the whole takes. Of short ones nothing is known: fio
/// counts syncs among those of reads.
fn check_counts(side: &Object, total: Option<f64>) -> Result<(), String> {
    let number = |of: &Object, name: &str| of.get(name).and_then(Value::as_f64);
    let of_times = |name: &str| side.get(name).and_then(Value::as_object);
    if let Some(total) = total {
        let timed = ["lat_ns", "clat_ns", "slat_ns"].map(|name| (name, of_times(name).and_then(|of| number(of, "N"))));
        // What was under way at the end of `ramp_time` is timed and is none of all.
        let most = 1.01 * total + MOST_UNDER_WAY;
        if let Some((name, Some(count))) =
            timed.into_iter().find(|(_, count)| count.is_some_and(|count| count > most || count < 0.0))
        {
            return Err(format!("{name} has {count} of {total} I/Os"));
        }
    }
    for (whole, parts) in [("lat_ns", ["clat_ns", "slat_ns"]), ("lat", ["clat", "slat"])] {
        let mean = |name: &str| of_times(name).and_then(|of| number(of, "mean"));
        let Some(all) = mean(whole).filter(|mean| *mean > 0.0) else { continue };
        if let Some(part) = parts.into_iter().find(|part| mean(part).is_some_and(|mean| mean > 1.01 * all + 1.0)) {
            return Err(format!("the mean of {part} is more than that of {whole}, of which it is a part"));
        }
    }
    Ok(())
}

/// Version 3 has nanoseconds, version 2 microseconds. Times begin at the submission (`lat`), as ours do, or at its end (`clat`), from which
/// fio takes percentiles unless it is told otherwise.
fn latency(side: &Object) -> Result<Latency, String> {
    let kinds = [("lat_ns", 1e-3), ("clat_ns", 1e-3), ("lat", 1.0), ("clat", 1.0)];
    // Without an operation of its kind fio prints zeros.
    let is_known = |of: &&Object| of.get("mean").and_then(Value::as_f64).is_some_and(|mean| mean > 0.0);
    let known = || {
        kinds.into_iter().filter_map(|(name, factor)| {
            Some((name, side.get(name).and_then(Value::as_object).filter(is_known)?, factor))
        })
    };
    let mut latency = Latency::default();
    if let Some((_, times, factor)) = known().next() {
        let number = |name: &str| Some(times.get(name)?.as_f64()? * factor);
        (latency.min_us, latency.mean_us, latency.max_us) = (number("min"), number("mean"), number("max"));
    }
    let percentiles =
        |times: &Object| times.get("percentile").and_then(Value::as_object).filter(|list| !list.is_empty()).cloned();
    let found = known().find_map(|(name, times, factor)| Some((name, times, factor, percentiles(times)?)));
    let Some((name, times, factor, list)) = found else { return Ok(latency) };
    for (percent, value) in list.iter().take(64) {
        let pair = percent.parse::<f64>().ok().zip(value.as_f64()).filter(|(_, value)| is_amount(*value));
        let (percent, value) = pair.ok_or_else(|| format!("'{percent}' of {name} is no percentile"))?;
        latency.percentiles_us.push((percent, value * factor));
    }
    latency.percentiles_us.sort_by(|a, b| a.0.total_cmp(&b.0));
    if !latency.percentiles_us.is_sorted_by(|a, b| a.1 <= b.1) {
        return Err("its percentiles do not rise".to_owned());
    }
    let end = |name: &str| Some(times.get(name)?.as_f64()? * factor);
    latency.check_percentiles(end("min"), end("max"))?;
    latency.check_mean()?;
    latency.check_most_mean(end("mean"), end("max"))?;
    Ok(latency)
}
