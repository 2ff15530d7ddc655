//! Which files a database should have: all layouts of equal data files and a log that carry what it needs, as far as none is better than
//! another in everything; and one for each of several databases on an instance.
//!
//! Exact, without a solver: a database has some hundred layouts, which are all tried. Those of several databases are put together one after
//! the other (dynamic programming): of two beginnings the one that needs more space and more blobs is forgotten.

use crate::file::{DatabaseFile, FileKind};
use crate::judgement::Judgement;
use crate::storage::{GB_OF_TB, Step, Storage};

/// Which part of the data is left free for it to grow, where it is not known to grow by more.
pub const ROOM_PART: f64 = 0.1;

/// How layouts are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// By how much a limit must be above what is needed, in percent.
    pub headroom_percent: f64,
    /// How much more the busiest of several data files does than their mean.
    pub imbalance: f64,
    /// The most data files of a database. Each of many small ones stands at its limit sooner.
    pub most_files: u32,
    /// The longest time in ms that an I/O may wait for its turn at a file on average: at the same use, small files let it wait longer.
    pub most_wait_ms: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { headroom_percent: 25.0, imbalance: 1.1, most_files: 8, most_wait_ms: 1.0 }
    }
}

/// What a database needs at its busiest time.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// The database.
    pub database: String,
    /// GB of its data.
    pub data_gb: f64,
    /// Reads and writes a second of all data files, and MB.
    pub data: [f64; 2],
    /// GB of its log.
    pub log_gb: f64,
    /// Reads and writes a second of the log, and MB.
    pub log: [f64; 2],
    /// Whether no size of the log lets it do more: what it does is then no reason for another.
    pub is_log_held: bool,
}

/// Files of a database: equal data files and a log.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// How many data files.
    pub data_files: u32,
    /// The size of each, in GB.
    pub data_gb: f64,
    /// What each has.
    pub data_step: Step,
    /// The size of the log, in GB.
    pub log_gb: f64,
    /// What it has.
    pub log_step: Step,
    /// All files together, in GB.
    pub space_gb: f64,
    /// All blobs together, in GB.
    pub blob_gb: f64,
    /// The limit that is used most, in percent.
    pub used_percent: f64,
    /// How long an I/O waits for its turn at a file on average, in ms: that of a queue with one server and a fixed time of service (M/D/1), at
    /// the data files or at the log, whichever is longer.
    pub wait_ms: f64,
}

impl Layout {
    /// How much of its limits of IOPS and of MB/s the busiest data file uses, and how much the log, in percent.
    pub fn used(&self, need: &Need, rules: &Rules) -> Option<[[f64; 2]; 2]> {
        let data = shares(busiest(need, self.data_files, rules), &self.data_step)?;
        let log = shares(need.log, &self.log_step)?;
        Some([data, log].map(|of| of.map(|share| 100.0 * share)))
    }
}

/// What each database of a list needs, as far as the list says it: of the data what is used, with room to grow, or else the size; of the log
/// the size that it has, or that is advised. tempdb's files are elsewhere, and the system's databases need no layout.
pub fn needs(files: &[DatabaseFile], judged: &Judgement) -> Vec<Need> {
    let mut all: Vec<Need> = Vec::new();
    let is_of_user = |file: &DatabaseFile| !file.is_of_tempdb() && !file.is_of_system();
    for (place, file) in files.iter().enumerate().filter(|(_, file)| is_of_user(file)) {
        let at = all.iter().position(|need| need.database.eq_ignore_ascii_case(&file.database)).unwrap_or_else(|| {
            let database = file.database.clone();
            all.push(Need { database, data_gb: 0.0, data: [0.0; 2], log_gb: 0.0, log: [0.0; 2], is_log_held: false });
            all.len() - 1
        });
        let need = &mut all[at];
        let (gb, rates) = match file.kind {
            FileKind::Data => (&mut need.data_gb, &mut need.data),
            FileKind::Log => {
                need.is_log_held |= judged.held(place).is_some();
                (&mut need.log_gb, &mut need.log)
            }
            FileKind::Container => continue,
        };
        *gb += match (file.kind, file.used_gb) {
            // Full files grow by steps while others wait.
            (FileKind::Data, Some(used)) => used + (ROOM_PART * used).max(file.growth_gb.unwrap_or(0.0)),
            // How much of a log is used now says little of what it needs.
            (FileKind::Log, _) => judged.size_gb(place).unwrap_or(file.size_gb),
            _ => file.size_gb,
        };
        rates[0] += file.iops.unwrap_or(0.0);
        rates[1] += file.mb_per_s.unwrap_or(0.0);
    }
    all
}

/// The layouts that carry what a database needs, of which none is better in everything; the one with the least space first. None if nothing
/// carries it.
pub fn front(need: &Need, storage: &Storage<'_>, rules: &Rules) -> Vec<Layout> {
    let logs: Vec<Option<Part>> =
        (0..storage.steps.len()).map(|step| part(need.log_gb, 1, step, FileKind::Log, storage)).collect();
    let mut all = Vec::new();
    for count in 1..=rules.most_files.max(1) {
        for step in 0..storage.steps.len() {
            let Some(data) = part(need.data_gb, count, step, FileKind::Data, storage) else { continue };
            all.extend(logs.iter().flatten().filter_map(|log| layout(need, (&data, count), log, rules)));
        }
    }
    let mut best: Vec<Layout> = Vec::new();
    for one in all {
        if best.iter().any(|other| is_no_worse(other, &one)) {
            continue;
        }
        best.retain(|other| !is_no_worse(&one, other));
        best.push(one);
    }
    best.sort_by(|a, b| {
        let by_space = a.space_gb.total_cmp(&b.space_gb).then(a.blob_gb.total_cmp(&b.blob_gb));
        by_space.then(a.data_files.cmp(&b.data_files)).then(a.used_percent.total_cmp(&b.used_percent))
    });
    best
}

/// Files of one kind on a step.
struct Part {
    size_gb: f64,
    blob_gb: f64,
    step: Step,
}

/// So many files that hold so much and have the limits of a step; `None` if such files can't be, or nobody knows the limits.
fn part(all_gb: f64, count: u32, at: usize, kind: FileKind, storage: &Storage<'_>) -> Option<Part> {
    let step = storage.steps.get(at).filter(|step| step.iops.is_some() && step.mb_per_s.is_some())?;
    let above_gb = at.checked_sub(1).map_or(0.0, |below| storage.steps[below].blob_gb.floor());
    // What arithmetic leaves makes no GB.
    let size_gb = (all_gb / f64::from(count) - 1e-6).ceil().max(above_gb + 1.0);
    let most_tib = match kind {
        FileKind::Data => storage.tier.data_file_tib,
        FileKind::Log => storage.tier.log_file_tib,
        FileKind::Container => None,
    };
    let fits = size_gb <= step.blob_gb && most_tib.is_none_or(|tib| size_gb <= tib * GB_OF_TB);
    let blob_gb = storage.blob_gb(size_gb).filter(|_| fits)?;
    Some(Part { size_gb, blob_gb, step: step.clone() })
}

fn layout(need: &Need, (data, count): (&Part, u32), log: &Part, rules: &Rules) -> Option<Layout> {
    let files = f64::from(count);
    let (used_data, wait_data) = load(busiest(need, count, rules), &data.step)?;
    let (used_log, wait_log) = if need.is_log_held { (0.0, 0.0) } else { load(need.log, &log.step)? };
    let (used_percent, wait_ms) = (used_data.max(used_log), wait_data.max(wait_log));
    let has_room = used_percent * (1.0 + rules.headroom_percent / 100.0) <= 100.0 && wait_ms <= rules.most_wait_ms;
    has_room.then(|| Layout {
        data_files: count,
        data_gb: data.size_gb,
        data_step: data.step.clone(),
        log_gb: log.size_gb,
        log_step: log.step.clone(),
        space_gb: files * data.size_gb + log.size_gb,
        blob_gb: files * data.blob_gb + log.blob_gb,
        used_percent,
        wait_ms,
    })
}

/// What the busiest of so many data files does.
fn busiest(need: &Need, count: u32, rules: &Rules) -> [f64; 2] {
    let imbalance = if count > 1 { rules.imbalance } else { 1.0 };
    need.data.map(|rate| imbalance * rate / f64::from(count))
}

/// Which parts of its limits a file uses with these rates.
fn shares([iops, mb_per_s]: [f64; 2], step: &Step) -> Option<[f64; 2]> {
    Some([iops / step.iops?, mb_per_s / step.mb_per_s?])
}

/// How much of its limits a file uses with these rates, in percent, and how long an I/O waits there, in ms.
fn load(rates: [f64; 2], step: &Step) -> Option<(f64, f64)> {
    let [of_iops, of_rate] = shares(rates, step)?;
    let used = of_iops.max(of_rate);
    // An I/O has the turn for as long as the limit that binds takes for one of its size.
    let service_ms = 1e3 / step.iops? * if of_iops > 0.0 { (of_rate / of_iops).max(1.0) } else { 1.0 };
    // Pollaczek and Khinchine, for a fixed time of service.
    let wait_ms = if used < 1.0 { service_ms * used / (2.0 * (1.0 - used)) } else { f64::INFINITY };
    Some((100.0 * used, wait_ms))
}

fn is_no_worse(one: &Layout, other: &Layout) -> bool {
    one.space_gb <= other.space_gb
        && one.blob_gb <= other.blob_gb
        && one.data_files <= other.data_files
        && one.used_percent <= other.used_percent
        && one.wait_ms <= other.wait_ms
}

/// A beginning of databases with a layout each.
#[derive(Clone)]
struct Beginning {
    space_gb: f64,
    blob_gb: f64,
    files: u32,
    /// The beginning without the last database, and the layout of that.
    before: usize,
    chosen: usize,
}

/// One layout for each database, with the least space of all, of those the least blobs, and of those the fewest files; `None` if they do not
/// fit together into so much space, so many GB of blobs and so many files.
pub fn together(fronts: &[impl AsRef<[Layout]>], space_gb: f64, blobs_gb: f64, most_files: u32) -> Option<Vec<usize>> {
    let fronts = || fronts.iter().map(AsRef::as_ref);
    let most = |front: &[Layout]| front.iter().map(|layout| layout.data_files + 1).max().unwrap_or(0);
    // Where all fit anyway, their number makes no beginning better.
    let counts_files = fronts().map(most).sum::<u32>() > most_files;
    let mut stages: Vec<Vec<Beginning>> =
        vec![vec![Beginning { space_gb: 0.0, blob_gb: 0.0, files: 0, before: 0, chosen: 0 }]];
    for front in fronts() {
        let mut next: Vec<Beginning> = Vec::new();
        for (before, begun) in stages.last()?.iter().enumerate() {
            for (chosen, layout) in front.iter().enumerate() {
                let one = Beginning {
                    space_gb: begun.space_gb + layout.space_gb,
                    blob_gb: begun.blob_gb + layout.blob_gb,
                    files: begun.files + layout.data_files + 1,
                    before,
                    chosen,
                };
                if one.space_gb <= space_gb && one.blob_gb <= blobs_gb && one.files <= most_files {
                    next.push(one);
                }
            }
        }
        stages.push(best_of(next, counts_files));
    }
    let mut at = stages.last()?.iter().enumerate().min_by(|a, b| in_order(a.1, b.1))?.0;
    let mut chosen = Vec::new();
    for stage in stages[1..].iter().rev() {
        chosen.push(stage[at].chosen);
        at = stage[at].before;
    }
    chosen.reverse();
    Some(chosen)
}

fn in_order(a: &Beginning, b: &Beginning) -> std::cmp::Ordering {
    a.space_gb.total_cmp(&b.space_gb).then(a.blob_gb.total_cmp(&b.blob_gb)).then(a.files.cmp(&b.files))
}

/// The beginnings that no other one beats in space and blobs, and in files where these count.
fn best_of(mut all: Vec<Beginning>, counts_files: bool) -> Vec<Beginning> {
    all.sort_by(in_order);
    let mut best: Vec<Beginning> = Vec::new();
    for one in all {
        let is_beaten = |other: &Beginning| {
            // Those before it have no more space.
            other.blob_gb <= one.blob_gb && (!counts_files || other.files <= one.files)
        };
        // Without files the last one has the least blobs of all before.
        let beaten = if counts_files { best.iter().any(is_beaten) } else { best.last().is_some_and(is_beaten) };
        if !beaten {
            best.push(one);
        }
    }
    best
}
