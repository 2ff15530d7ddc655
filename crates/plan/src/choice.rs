//! How each database goes on: as it is, with larger files, with further ones as is advised, or with other files. What carries it with room to
//! spare and takes the least space while it is made is the answer, unless that saves too little for rows to be moved.

use crate::advice::{ABOVE_PERCENT, AT_LIMIT_PERCENT, Advice, Finding};
use crate::file::{DatabaseFile, FileKind};
use crate::gain::{Bound, Brings, all_of, brings_all};
use crate::judgement::Judgement;
use crate::layout::{Layout, Need, Rules};
use crate::limits::{FileLimits, Next, of_file};
use crate::rules::{is_full, used};
use crate::storage::{LimitOf, Storage};

/// To move rows among files is work: what saves it may take so many times the space.
pub(crate) const WORTH: f64 = 1.1;

/// A database whose files are enlarged, or get further ones beside them.
#[derive(Debug, Clone, PartialEq)]
pub struct Enlarged {
    /// The database.
    pub database: String,
    /// The files that grow, by their places in the list, and their sizes then, in GB; the log first.
    pub files: Vec<(usize, f64)>,
    /// What is advised of further files, or of rows that are spread over those that are there, by its places in the advice.
    pub further: Vec<usize>,
    /// All its files together then, in GB.
    pub space_gb: f64,
}

/// What a database is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// Nothing: it carries its load with room to spare, or nothing is known of that.
    AsItIs,
    /// Nothing, as no larger file would do more.
    NoUse,
    /// Some of its files grow, or get further ones beside them.
    Enlarge(Enlarged),
    /// It gets other files.
    Layout,
    /// It would need other files, and has several filegroups, of which each has rows of its own: nothing is said of them.
    Groups,
    /// It would need other files, and the rates of some of its data files are not known: they may be anything, and no layout is made of that.
    Unknown,
}

/// The way of a database whose layouts are these, the one with the least space first. What was judged holds here, too: a file that no size
/// helps keeps its own, and one that is to grow grows.
pub fn choose(
    database: &str,
    (files, judged): (&[DatabaseFile], &Judgement),
    front: &[Layout],
    storage: &Storage<'_>,
    rules: &Rules,
) -> Choice {
    let is_own = |at: &usize| files[*at].database.eq_ignore_ascii_case(database);
    let own: Vec<usize> = (0..files.len()).filter(is_own).collect();
    let is_tight =
        |at: &usize| !has_room(&files[*at], &of_file(&files[*at], storage), rules) || judged.size_gb(*at).is_some();
    let (held, mut tight): (Vec<usize>, Vec<usize>) =
        own.iter().copied().filter(is_tight).partition(|at| judged.held(*at).is_some());
    if tight.is_empty() {
        return if held.is_empty() { Choice::AsItIs } else { Choice::NoUse };
    }
    tight.sort_by_key(|at| files[*at].kind == FileKind::Data);
    let unlaid = unlaid(&own, files);
    // Further files are advised with so much to spare, and no more.
    let is_enough = rules.headroom_percent <= Rules::default().headroom_percent;
    let further: Vec<usize> = added(judged, |at| own.contains(&at), false).filter(|_| is_enough).collect();
    let adds = |way: &Enlarged| way.further.iter().any(|place| added_gb(&judged.advice[*place]) > 0.0);
    let case = Case { own: &own, tight: &tight, further: &further, files, judged, storage, rules };
    let (larger, further) = (case.way(false), (!further.is_empty()).then(|| case.way(true)).flatten());
    let way = match (larger, further) {
        (Some(larger), Some(further)) if larger.space_gb <= further.space_gb => larger,
        // Where no size has enough all layouts are shown, unless further files take less.
        (None, Some(further))
            if unlaid.is_none() && adds(&further) && front.iter().any(|one| one.space_gb <= further.space_gb) =>
        {
            return Choice::Layout;
        }
        (_, Some(way)) | (Some(way), None) => way,
        (None, None) => return unlaid.unwrap_or(Choice::Layout),
    };
    let space_gb = way.space_gb;
    // A layout goes by rates, which do not say why a file is slow.
    let is_slow = own.iter().any(|at| judged.is_slow(*at));
    let least_gb = front.iter().map(|layout| taken_gb(&own, files, layout)).reduce(f64::min);
    let others_gb: f64 = (0..files.len()).filter(|at| !own.contains(at)).map(|at| files[at].size_gb).sum();
    // What saves little of the instance's space is not worth it either, where there is room.
    let little_gb = (WORTH - 1.0) * storage.space_gb().unwrap_or(0.0);
    let has_room = space_gb + others_gb <= storage.space_gb().unwrap_or(f64::INFINITY);
    let moves_rows = !way.further.is_empty();
    // To spread rows over the files that are there takes nothing.
    let is_spread = moves_rows && !adds(&way);
    let is_worth = |least_gb: f64| {
        least_gb < space_gb
            && (moves_rows || (least_gb * WORTH < space_gb && (space_gb - least_gb > little_gb || !has_room)))
    };
    let is_cheaper = least_gb.is_some_and(is_worth);
    // Where larger files have no room at all, others may have it once these gave back what they don't need.
    let most_gb = storage.most_gb().or(storage.space_gb()).unwrap_or(f64::INFINITY) - others_gb;
    let fits_alone = space_gb > most_gb && front.iter().any(|layout| layout.space_gb <= most_gb);
    if unlaid.is_none() && !is_slow && !is_spread && (is_cheaper || fits_alone) {
        return Choice::Layout;
    }
    Choice::Enlarge(Enlarged { database: database.to_owned(), ..way })
}

/// Why a database can have no layout: that is for one filegroup, and for files of which it is known what they do.
fn unlaid(own: &[usize], files: &[DatabaseFile]) -> Option<Choice> {
    let groups = || own.iter().filter_map(|at| files[*at].filegroup.as_ref());
    if groups().any(|group| Some(group) != groups().next()) {
        return Some(Choice::Groups);
    }
    let data: Vec<&DatabaseFile> =
        own.iter().map(|at| &files[*at]).filter(|file| file.kind == FileKind::Data).collect();
    (!DatabaseFile::have_rates_alike(&data)).then_some(Choice::Unknown)
}

/// The advice of further files of these files that fits, or of all, by its places.
fn added(judged: &Judgement, is_own: impl Fn(usize) -> bool, takes_all: bool) -> impl Iterator<Item = usize> {
    let is_added = move |one: &Advice| {
        let is_one = matches!(one.finding, Finding::Add { fits, .. } if fits || takes_all);
        is_one && one.files.iter().all(|at| is_own(*at))
    };
    judged.advice.iter().enumerate().filter(move |(_, one)| is_added(one)).map(|(place, _)| place)
}

/// What is advised of a database: what has room beside all as it is, or all of it, for which others may leave room. `None` where that is nothing.
pub fn advised(database: &str, (files, judged): (&[DatabaseFile], &Judgement), takes_all: bool) -> Option<Enlarged> {
    let is_own = |at: usize| files[at].database.eq_ignore_ascii_case(database);
    let mut grown: Vec<(usize, f64)> = Vec::new();
    for one in &judged.advice {
        // What grows beside further files is of use only with these, and they with that.
        if let Finding::Grow { size_gb, fits, .. } = &one.finding
            && (*fits || takes_all)
        {
            grown.extend(one.files.iter().filter(|at| is_own(**at)).map(|at| (*at, *size_gb)));
        }
    }
    let further: Vec<usize> = added(judged, is_own, takes_all).collect();
    let is_nothing = grown.is_empty() && further.is_empty();
    let own = (0..files.len()).filter(|at| files[*at].database.eq_ignore_ascii_case(database));
    let space_gb = space_gb(&own.collect::<Vec<_>>(), &grown, &further, (files, judged));
    (!is_nothing).then(|| Enlarged { database: database.to_owned(), files: grown, further, space_gb })
}

/// What files of a database take where some grow and further ones are added, in GB.
fn space_gb(
    own: &[usize],
    grown: &[(usize, f64)],
    further: &[usize],
    (files, judged): (&[DatabaseFile], &Judgement),
) -> f64 {
    let size_gb = |at: &usize| {
        let larger = grown.iter().find(|(grown, _)| grown == at).map(|(_, size_gb)| *size_gb);
        larger.unwrap_or(files[*at].size_gb)
    };
    own.iter().map(size_gb).sum::<f64>() + further.iter().map(|place| added_gb(&judged.advice[*place])).sum::<f64>()
}

/// What further files that are advised take, in GB.
pub fn added_gb(advice: &Advice) -> f64 {
    match &advice.finding {
        Finding::Add { added, size_gb, .. } => *added as f64 * size_gb,
        _ => 0.0,
    }
}

/// What a way is chosen from.
struct Case<'a> {
    own: &'a [usize],
    tight: &'a [usize],
    further: &'a [usize],
    files: &'a [DatabaseFile],
    judged: &'a Judgement,
    storage: &'a Storage<'a>,
    rules: &'a Rules,
}

impl Case<'_> {
    /// Whether further files are advised for the filegroup of a file.
    fn has_further(&self, at: usize) -> bool {
        let group = |at: usize| (self.files[at].kind, &self.files[at].filegroup);
        self.further.iter().any(|place| group(self.judged.advice[*place].files[0]) == group(at))
    }

    /// The files with the sizes with which they have room to spare; or, where further ones are advised, those that are advised with them. `None`
    /// where no size has enough.
    fn way(&self, takes_further: bool) -> Option<Enlarged> {
        let Self { own, files, judged, storage, rules, .. } = *self;
        let has_room = |at: usize| has_room(&files[at], &of_file(&files[at], storage), rules);
        // What is advised with further files holds with these alone.
        let advised_gb = |at: usize| judged.size_gb(at).filter(|_| takes_further || !self.has_further(at));
        let is_served = |at: usize| has_room(at) || (takes_further && self.has_further(at));
        let size_gb = |at: usize| {
            if is_served(at) {
                advised_gb(at)
            } else {
                Some(enough_gb(&files[at], storage, rules)?.max(advised_gb(at).unwrap_or(0.0)))
            }
        };
        let grows = self.tight.iter().filter(|at| !is_served(**at) || advised_gb(**at).is_some());
        let grown = grows.map(|at| Some((*at, size_gb(*at)?))).collect::<Option<Vec<_>>>()?;
        let is_alike = |at: usize| !(takes_further && self.has_further(at));
        let (beside, grown): (Vec<_>, Vec<_>) = grown.into_iter().partition(|(at, _)| !is_alike(*at));
        let others: Vec<usize> = own.iter().copied().filter(|at| is_alike(*at)).collect();
        let mut grown = alike(&grown, &others, files, storage);
        grown.extend(beside);
        let further = if takes_further { self.further.to_vec() } else { Vec::new() };
        let space_gb = space_gb(own, &grown, &further, (files, judged));
        Some(Enlarged { database: String::new(), files: grown, further, space_gb })
    }
}

/// Data files of a filegroup that have the same limits stay of one size, as rows are spread over all.
fn alike(grown: &[(usize, f64)], own: &[usize], files: &[DatabaseFile], storage: &Storage<'_>) -> Vec<(usize, f64)> {
    let is_like = |a: usize, b: usize| {
        let (a, b) = (&files[a], &files[b]);
        let are_data = a.kind == FileKind::Data && b.kind == FileKind::Data;
        are_data && a.filegroup == b.filegroup && storage.step(a.size_gb) == storage.step(b.size_gb)
    };
    // Into one that is full no rows go.
    let takes_rows = |at: usize| {
        let percent = || used(&files[at], &of_file(&files[at], storage)).map_or(0.0, |(percent, _)| percent);
        !is_full(&files[at]) || percent() >= AT_LIMIT_PERCENT
    };
    let size_gb = |at: usize| {
        let is_along = |other: usize| other == at || (is_like(other, at) && takes_rows(at));
        let like = grown.iter().filter(|(other, _)| is_along(*other)).map(|(_, size_gb)| *size_gb);
        like.reduce(f64::max).filter(|size_gb| *size_gb > files[at].size_gb)
    };
    let rest = own.iter().copied().filter(|at| grown.iter().all(|(other, _)| other != at));
    let order = grown.iter().map(|(at, _)| *at).chain(rest);
    order.filter_map(|at| Some((at, size_gb(at)?))).collect()
}

/// What a layout brings its database, where files of it stand at a limit: of the data files together, and of the log.
pub fn gains(
    need: &Need,
    layout: &Layout,
    (files, judged): (&[DatabaseFile], &Judgement),
    storage: &Storage<'_>,
) -> Vec<Gain> {
    let kinds = [FileKind::Log, FileKind::Data];
    kinds.into_iter().filter_map(|kind| gain(kind, (need, layout), (files, judged), storage)).collect()
}

fn gain(
    kind: FileKind,
    (need, layout): (&Need, &Layout),
    (files, judged): (&[DatabaseFile], &Judgement),
    storage: &Storage<'_>,
) -> Option<Gain> {
    let is_own = |at: &usize| files[*at].kind == kind && files[*at].database.eq_ignore_ascii_case(&need.database);
    let own: Vec<usize> = (0..files.len()).filter(is_own).collect();
    let used = |at: usize| Some((at, used(&files[at], &of_file(&files[at], storage))?));
    let most = own.iter().filter_map(|at| used(*at)).max_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let (file, (used_percent, of)) =
        most.filter(|(_, (percent, _))| (AT_LIMIT_PERCENT..ABOVE_PERCENT).contains(percent))?;
    let most_times = judged.most_times.get(file).copied().unwrap_or((f64::INFINITY, Bound::Limit));
    let all: Vec<&DatabaseFile> = own.iter().map(|at| &files[*at]).collect();
    let step = match kind {
        FileKind::Log => layout.log_step.clone(),
        _ => all_of(&layout.data_step, layout.data_files as usize, Rules::default().imbalance),
    };
    let brings = brings_all(&all, of, &step, judged.unthrottled_ms, most_times)?;
    Some(Gain { file, used_percent, of, brings })
}

/// What other files bring a database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// The file that uses most of its limits, by its place in the list.
    pub file: usize,
    /// How much of its limit it uses, in percent.
    pub used_percent: f64,
    /// Of which.
    pub of: LimitOf,
    /// What the log, or all data files would do.
    pub brings: Brings,
}

/// The space that the files of a database take once its layout is made and before anything is given back, in GB.
fn taken_gb(own: &[usize], files: &[DatabaseFile], layout: &Layout) -> f64 {
    let of = |kind: FileKind| own.iter().filter(move |at| files[**at].kind == kind).map(|at| files[*at].size_gb);
    let count = layout.data_files as usize;
    let data: f64 =
        of(FileKind::Data).enumerate().map(|(at, gb)| if at < count { gb.max(layout.data_gb) } else { gb }).sum();
    let added = count.saturating_sub(of(FileKind::Data).count()) as f64 * layout.data_gb;
    let logs: f64 = of(FileKind::Log).sum();
    data + added + logs.max(layout.log_gb)
}

/// Whether a file does what was seen with room to spare; so it is where nothing was seen.
fn has_room(file: &DatabaseFile, limits: &FileLimits, rules: &Rules) -> bool {
    used(file, limits).is_none_or(|(percent, _)| percent * (1.0 + rules.headroom_percent / 100.0) <= 100.0)
}

/// The smallest larger size in whole GB with which a file has room to spare.
fn enough_gb(file: &DatabaseFile, storage: &Storage<'_>, rules: &Rules) -> Option<f64> {
    let mut next = of_file(file, storage).next;
    while let Some(Next { size_gb, .. }) = next {
        let grown = DatabaseFile { size_gb, ..file.clone() };
        let limits = of_file(&grown, storage);
        if has_room(&grown, &limits, rules) {
            return Some(size_gb);
        }
        next = limits.next;
    }
    None
}
