//! What the options of a job of fio say: how much is read or written at a time and for how long, at which rate, and whether the system's cache is used.

use std::time::Duration;

use plimsoll_engine::target::mask_name;
/// Whether reads and writes are those that `rw` asks for.
pub(super) fn check_work(pattern: &str, verify: Option<&str>, [reads, operations]: [f64; 2]) -> Result<(), String> {
    let is_other = match pattern {
        "read" | "randread" => reads < operations,
        "write" | "randwrite" => reads > 0.0,
        _ => false,
    };
    if is_other {
        let why = match verify {
            Some(kind) => format!(": with verify={kind} it reads what it wrote, so leave that out"),
            None => String::new(),
        };
        return Err(format!("rw={pattern}, and {reads:.0} of its {operations:.0} I/Os were reads{why}"));
    }
    Ok(())
}

/// What part of the operations a job makes reads, in percent: what it was asked for, where what it made is that up to chance.
pub(super) fn read_percent(pattern: &str, mix: [Option<&str>; 2], [reads, operations]: [f64; 2]) -> u32 {
    let made = reads / operations;
    let percent = |text: Option<&str>| text?.trim().parse::<f64>().ok().map(|percent| percent / 100.0);
    let [of_reads, of_writes] = mix.map(percent);
    let asked = match pattern.split(':').next() {
        Some("rw" | "readwrite" | "randrw") => of_reads.or(of_writes.map(|writes| 1.0 - writes)).unwrap_or(0.5),
        _ => made,
    };
    let chance = SIGMAS * (asked * (1.0 - asked) / operations).max(0.0).sqrt() + 0.01;
    (100.0 * if (made - asked).abs() <= chance { asked } else { made }).round() as u32
}

/// What was drawn differs by less than so many standard deviations.
const SIGMAS: f64 = 4.0;

/// Whether the system's cache was left out. fio's default is that cache, and mapped memory is a part of it.
pub(super) fn is_direct<'o>(option: impl Fn(&str) -> Option<&'o str>) -> bool {
    option("ioengine") != Some("mmap")
        && option("buffered") != Some("1")
        && (option("direct") == Some("1") || option("buffered") == Some("0"))
}

/// Options with which a job makes fewer operations than it could (fio's documentation, "I/O rate" and "I/O latency").
pub(super) const HOLD_BACK: [&str; 3] = ["thinktime", "latency_target", "flow"];

/// Options with which a job works otherwise than its `rw` says.
const OTHER_WORK: [&str; 9] = [
    "percentage_random",
    "random_distribution",
    "sync_file_range",
    "zonemode",
    "rw_sequencer",
    // Data that a disk may write as less than they are.
    "zero_buffers",
    "buffer_pattern",
    "dedupe_percentage",
    "buffer_compress_percentage",
];

/// What a job does beside what its cell says. `pattern` may have more than a word: `read:1m` leaves out as much each time.
pub(super) fn unsaid<'o>(pattern: &str, option: impl Fn(&str) -> Option<&'o str>) -> Vec<String> {
    let is_usual = |name: &str, value: &str| {
        let usual = match name {
            "percentage_random" => ["100", "100"],
            "random_distribution" => ["random", "random"],
            _ => ["0", "none"],
        };
        usual.contains(&value)
    };
    let others = OTHER_WORK.into_iter().filter_map(|name| {
        let value = option(name).filter(|value| !is_usual(name, value))?;
        Some(format!("{name}={value}"))
    });
    pattern
        .contains(':')
        .then(|| format!("rw={pattern}"))
        .into_iter()
        .chain(others)
        .map(|text| mask_name(&text))
        .collect()
}

/// Engines of fio that move no data to or from a disk (fio's documentation, "I/O engine").
pub(super) const NO_DISK: [&str; 11] = [
    "null",
    "cpuio",
    "net",
    "netsplice",
    "rdma",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
];

/// Engines of fio that have one operation under way, whatever `iodepth` says (fio's documentation, "I/O engine"). The first one is used on Linux
/// where none is named.
pub const SYNCHRONOUS: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Reads and writes a second that a copy of a job was asked for, in I/Os or in bytes a second. Both say one for reads and one for writes, and
/// one that is given alone is that of each.
pub(super) fn rates(iops: Option<&str>, bytes: Option<&str>, block_bytes: u64) -> Result<[Option<f64>; 2], String> {
    let Some((text, each)) = iops.map(|text| (text, 1)).or_else(|| Some((bytes?, block_bytes))) else {
        return Ok([None; 2]);
    };
    let part = |text: &str| match text.trim() {
        "" | "0" => Ok(None),
        text => size(text).map(|amount| Some(amount as f64 / each as f64)).ok_or(format!("a rate of {text} is none")),
    };
    let mut parts = text.split(',').map(part);
    let reads = parts.next().transpose()?.flatten();
    let writes = parts.next().transpose()?.unwrap_or(reads);
    Ok([reads, writes])
}

/// Fio's block size where none is given.
const BLOCK_BYTES: u64 = 4096;

/// Bytes of an operation of a job with such a share of reads. `bs` has a size for reads, one for writes and one for trims: the last that
/// is given is that of the others, and one that is left empty is fio's default.
pub fn block_bytes(text: Option<&str>, read_percent: u32) -> Result<u64, String> {
    let Some(text) = text else { return Ok(BLOCK_BYTES) };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    let of = |place: usize| match parts.get(place).or(parts.last()) {
        Some(&"") if parts.len() > 1 => Some(BLOCK_BYTES),
        part => size(part?),
    };
    match (of(0), of(1), parts.len()) {
        (Some(reads), Some(writes), 1..=3) => match read_percent {
            100 => Ok(reads),
            0 => Ok(writes),
            _ if reads == writes => Ok(reads),
            _ => Err(format!("bs = {text}: reads and writes of one job have one size here, so make a job of each")),
        },
        _ => Err(format!("bs = {text} is no size")),
    }
}

/// `8k`, `1M`, `4096`, `64KiB`: fio's sizes are powers of 1024.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let text = text.strip_suffix("ib").or_else(|| text.strip_suffix('b')).unwrap_or(&text);
    let digits = text.trim_end_matches(['k', 'm', 'g', 't']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_shl(shift).filter(|size| *size > 0)
}

/// `60`, `60s`, `2m`, `1h`, `500ms`: seconds without a unit.
pub fn seconds(text: &str) -> Option<Duration> {
    let text = text.trim().to_lowercase();
    let digits = text.trim_end_matches(char::is_alphabetic);
    let number = digits.parse::<u64>().ok()?;
    match &text[digits.len()..] {
        "" | "s" | "sec" => Some(Duration::from_secs(number)),
        "m" | "min" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        "ms" => Some(Duration::from_millis(number)),
        _ => None,
    }
}
