//! What became of each cause: kept line by line, so that a later call goes on, and judged.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::causes::{Cause, Causes, Product};
use super::watch::Compared;

/// A gain of the control from which the limit bound, in percent.
const BINDS_PERCENT: f64 = 5.0;
/// A gain below which it did not.
const FREE_PERCENT: f64 = 2.0;

/// A cause that was tried.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tried {
    /// Its name.
    pub cause: String,
    /// The server.
    pub product: Product,
    /// The seed, from 1.
    pub seed: usize,
    /// Whether others used the machine's CPUs.
    pub busy: bool,
    /// What it found, or why it was not run.
    pub found: Result<Found, String>,
}

/// What was found.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    /// Limits that the verdict named, the first one first. Empty without enough evidence.
    pub named: Vec<String>,
    /// Its sentences.
    pub evidence: Vec<String>,
    /// What it promised of the first, in percent.
    pub promised_percent: Option<f64>,
    /// Figures of the record against what the kernel counted.
    #[serde(default)]
    pub compared: Vec<Compared>,
    /// Requests a second.
    pub rate: f64,
    /// The same with the limit lifted.
    pub lifted_rate: f64,
}

/// How a verdict is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// It named what bound.
    Right,
    /// It named nothing.
    Abstained,
    /// It named something else, or what did not bind.
    Wrong,
    /// Whether the limit bound is open.
    Unclear,
    /// There is no verdict.
    NotRun,
}

impl Judged {
    const fn words(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Abstained => "abstained",
            Self::Wrong => "wrong",
            Self::Unclear => "unclear",
            Self::NotRun => "not run",
        }
    }
}

impl Found {
    /// What lifting the limit really gained, in percent.
    pub fn real_percent(&self) -> f64 {
        100.0 * (self.lifted_rate / self.rate - 1.0)
    }

    fn names(&self) -> String {
        if self.named.is_empty() { "not enough evidence".to_owned() } else { self.named.join(", ") }
    }
}

impl Tried {
    /// The judgement, by the cause as it stands in the file.
    pub fn judged(&self, cause: &Cause) -> Judged {
        let Ok(found) = &self.found else { return Judged::NotRun };
        let real = found.real_percent();
        let is_unclear = !real.is_finite() || (FREE_PERCENT..BINDS_PERCENT).contains(&real);
        let Some(first) = found.named.first() else {
            let is_said = cause.says.as_ref().is_some_and(|text| found.evidence.iter().any(|told| told.contains(text)));
            return if is_said { Judged::Right } else { Judged::Abstained };
        };
        if is_unclear {
            return Judged::Unclear;
        }
        let fits = cause.right.contains(first)
            && found.named.iter().all(|name| cause.right.contains(name) || cause.also.contains(name));
        match (fits, real >= BINDS_PERCENT) {
            (true, true) => Judged::Right,
            // What it names may have bound instead: nobody lifted that.
            (false, false) => Judged::Unclear,
            (true, false) | (false, true) => Judged::Wrong,
        }
    }
}

/// The results of one version of the program.
pub struct Results {
    file: PathBuf,
    /// All of them.
    pub tried: Vec<Tried>,
}

impl Results {
    /// Those that are there. A line that a kill cut off is left out.
    pub fn open(file: PathBuf) -> Result<Self, String> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut results = Self { file, tried: Vec::new() };
        for one in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            results.take(one);
        }
        Ok(results)
    }

    /// Whether a cause has been tried so.
    pub fn has(&self, cause: &Cause, seed: usize, busy: bool) -> bool {
        self.tried
            .iter()
            .any(|one| one.cause == cause.name && (one.seed, one.busy) == (seed, busy) && one.found.is_ok())
    }

    /// What was tried again counts once.
    fn take(&mut self, one: Tried) {
        self.tried.retain(|earlier| (&earlier.cause, earlier.seed, earlier.busy) != (&one.cause, one.seed, one.busy));
        self.tried.push(one);
    }

    /// Keeps one.
    pub fn keep(&mut self, one: Tried) -> Result<(), String> {
        let said = |error: std::io::Error| format!("{}: {error}", self.file.display());
        let line = serde_json::to_string(&one).map_err(|error| error.to_string())?;
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file).map_err(said)?;
        writeln!(file, "{line}").map_err(said)?;
        self.take(one);
        Ok(())
    }

    /// Those of causes that are still in the file, each with its judgement.
    fn judged<'a>(&'a self, causes: &'a Causes, busy: bool) -> Vec<(&'a Tried, &'a Cause, Judged)> {
        let of = |one: &'a Tried| {
            let cause = causes.cause.iter().find(|cause| cause.name == one.cause)?;
            Some((one, cause, one.judged(cause)))
        };
        self.tried.iter().filter(|one| one.busy == busy).filter_map(of).collect()
    }

    /// Whether a verdict was wrong.
    pub fn has_wrong(&self, causes: &Causes) -> bool {
        [false, true].iter().any(|busy| self.judged(causes, *busy).iter().any(|one| one.2 == Judged::Wrong))
    }

    /// What became of all, alone or beside builds.
    pub fn outcomes(&self, causes: &Causes, busy: bool) -> Outcomes {
        Outcomes::of(&self.judged(causes, busy))
    }

    /// How far the figures of records are from what the kernel counted, alone and beside builds: their number, and 9 of 10 within so many percent.
    pub fn apart_percent(&self) -> Option<(usize, f64)> {
        let found = self.tried.iter().filter_map(|one| one.found.as_ref().ok());
        let mut percents: Vec<f64> = found.flat_map(|found| &found.compared).map(Compared::apart_percent).collect();
        percents.sort_by(f64::total_cmp);
        let last = percents.len().checked_sub(1)?;
        Some((percents.len(), percents[(last as f64 * 0.9).ceil() as usize]))
    }

    /// Tables for a document.
    pub fn tables(&self, causes: &Causes) -> String {
        let mut text = String::new();
        for (busy, words) in [(false, "Alone"), (true, "With builds beside it")] {
            let judged = self.judged(causes, busy);
            if judged.is_empty() {
                continue;
            }
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "### {words}\n\n{}\n\n{}\n\n{}\n\n{}\n",
                summary(&judged),
                matrix(&judged),
                list(&judged),
                apart(&judged)
            );
        }
        text
    }
}

/// How far figures of records are from what the kernel counted meanwhile, by column.
fn apart(judged: &[(&Tried, &Cause, Judged)]) -> String {
    let mut columns: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for held in judged.iter().filter_map(|(one, ..)| one.found.as_ref().ok()).flat_map(|found| &found.compared) {
        columns.entry(&held.column).or_default().push(held.apart_percent());
    }
    let mut text =
        String::from("| figure | runs | apart in the median | 9 of 10 within | most |\n|---|---|---|---|---|");
    for (column, mut percents) in columns {
        percents.sort_by(f64::total_cmp);
        let at = |part: f64| percents[((percents.len() - 1) as f64 * part).ceil() as usize];
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "\n| {column} | {} | {:.2} % | {:.2} % | {:.2} % |",
            percents.len(),
            at(0.5),
            at(0.9),
            at(1.0)
        );
    }
    text
}

/// What became of all that were judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcomes {
    /// Causes with a seed.
    pub cases: usize,
    /// Seeds with cases.
    pub seeds: usize,
    counts: [usize; 5],
    /// Points between promised and real gain in the median, and of how many.
    pub gains_apart: Option<(f64, usize)>,
}

impl Outcomes {
    fn of(judged: &[(&Tried, &Cause, Judged)]) -> Self {
        let mut counts = [0; 5];
        for (.., outcome) in judged {
            counts[*outcome as usize] += 1;
        }
        let mut errors: Vec<f64> = judged
            .iter()
            .filter(|(_, cause, outcome)| cause.is_scaled() && *outcome == Judged::Right)
            .filter_map(|(one, ..)| {
                let found = one.found.as_ref().ok()?;
                Some((found.promised_percent? - found.real_percent()).abs())
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        let seeds: BTreeSet<usize> = judged.iter().map(|(one, ..)| one.seed).collect();
        Self {
            cases: judged.len(),
            seeds: seeds.len(),
            counts,
            gains_apart: errors.get(errors.len() / 2).map(|median| (*median, errors.len())),
        }
    }

    const fn count(&self, what: Judged) -> usize {
        self.counts[what as usize]
    }

    /// The part of those that are decided, in percent.
    pub fn percent(&self, what: Judged) -> f64 {
        let decided = self.count(Judged::Right) + self.count(Judged::Abstained) + self.count(Judged::Wrong);
        if decided == 0 { 0.0 } else { 100.0 * self.count(what) as f64 / decided as f64 }
    }
}

fn summary(judged: &[(&Tried, &Cause, Judged)]) -> String {
    let outcomes = Outcomes::of(judged);
    let median = outcomes.gains_apart.map_or_else(String::new, |(median, cases)| {
        format!(
            " Between the gain that was promised and the real one lie {median:.1} points in the median of {cases} cases."
        )
    });
    format!(
        "{} cases: {} right ({:.1} % of those that are decided), {} abstained ({:.1} %), {} wrong ({:.1} %), {} unclear, {} not run.{median}",
        outcomes.cases,
        outcomes.count(Judged::Right),
        outcomes.percent(Judged::Right),
        outcomes.count(Judged::Abstained),
        outcomes.percent(Judged::Abstained),
        outcomes.count(Judged::Wrong),
        outcomes.percent(Judged::Wrong),
        outcomes.count(Judged::Unclear),
        outcomes.count(Judged::NotRun),
    )
}

/// How often a limit that bound got which name.
fn matrix(judged: &[(&Tried, &Cause, Judged)]) -> String {
    let mut cells: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (one, cause, outcome) in judged {
        if let (Ok(found), Judged::Right | Judged::Abstained | Judged::Wrong) = (&one.found, outcome) {
            let truth = cause.says.as_ref().map_or_else(|| cause.right.join(" or "), |text| format!("\"{text}\""));
            let bound = if found.real_percent() >= BINDS_PERCENT { truth } else { format!("not {truth}") };
            *cells.entry((bound, format!("{}, {}", found.names(), outcome.words()))).or_default() += 1;
        }
    }
    let mut text = String::from("| what bound | verdict | cases |\n|---|---|---|");
    for ((bound, verdict), count) in cells {
        // Writing to a String can't fail.
        let _ = write!(text, "\n| {bound} | {verdict} | {count} |");
    }
    text
}

fn list(judged: &[(&Tried, &Cause, Judged)]) -> String {
    let mut text = String::from(
        "| cause | server | seed | verdict | promised | lifting it gained | |\n|---|---|---|---|---|---|---|",
    );
    let mut rows: Vec<_> = judged.iter().collect();
    rows.sort_by(|a, b| (&a.0.cause, a.0.seed).cmp(&(&b.0.cause, b.0.seed)));
    for (one, cause, outcome) in rows {
        let (verdict, promised, real) = match &one.found {
            Ok(found) => (
                found.names(),
                found
                    .promised_percent
                    .filter(|_| cause.is_scaled())
                    .map_or_else(String::new, |gain| format!("{gain:.1} %")),
                format!("{:.1} %", found.real_percent()),
            ),
            Err(reason) => (reason.lines().next().unwrap_or_default().to_owned(), String::new(), String::new()),
        };
        // Writing to a String can't fail.
        let _ = write!(
            text,
            "\n| {} | {} | {} | {verdict} | {promised} | {real} | {} |",
            one.cause,
            one.product.name(),
            one.seed,
            outcome.words()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(named: &[&str], rate: f64, lifted_rate: f64) -> Tried {
        let named = named.iter().map(|name| (*name).to_owned()).collect();
        let found = Found {
            named,
            evidence: vec!["it was stopped".to_owned()],
            promised_percent: None,
            compared: Vec::new(),
            rate,
            lifted_rate,
        };
        Tried { cause: "one".to_owned(), product: Product::MySql, seed: 1, busy: false, found: Ok(found) }
    }

    #[test]
    fn a_verdict_is_right_if_lifting_what_it_names_helps() {
        let causes = Causes::read().unwrap();
        let cause = causes.cause.iter().find(|cause| cause.right == ["log_write"] && cause.also.is_empty()).unwrap();
        let judge = |named: &[&str], lifted| tried(named, 100.0, lifted).judged(cause);
        assert_eq!(judge(&["log_write"], 110.0), Judged::Right);
        assert_eq!(judge(&["log_write"], 101.0), Judged::Wrong);
        assert_eq!(judge(&["cpu"], 110.0), Judged::Wrong);
        assert_eq!(judge(&["log_write", "cpu"], 110.0), Judged::Wrong);
        assert_eq!(judge(&["log_write"], 103.0), Judged::Unclear);
        assert_eq!(judge(&["cpu"], 101.0), Judged::Unclear);
        assert_eq!(judge(&[], 110.0), Judged::Abstained);
        let stopped = causes.cause.iter().find(|cause| cause.says.is_some()).unwrap();
        assert_eq!(tried(&[], 100.0, 150.0).judged(stopped), Judged::Right);
        assert_eq!(tried(&["cpu"], 100.0, 150.0).judged(stopped), Judged::Wrong);
    }

    #[test]
    fn all_are_counted_by_what_became_of_them() {
        let causes = Causes::read().unwrap();
        let cause = causes.cause.iter().find(|cause| cause.right == ["log_write"] && cause.also.is_empty()).unwrap();
        let all = [("log_write", 110.0, 1), ("cpu", 110.0, 2), ("log_write", 103.0, 2)];
        let all: Vec<Tried> =
            all.iter().map(|(name, lifted, seed)| Tried { seed: *seed, ..tried(&[name], 100.0, *lifted) }).collect();
        let judged: Vec<_> = all.iter().map(|one| (one, cause, one.judged(cause))).collect();
        let outcomes = Outcomes::of(&judged);
        assert_eq!((outcomes.cases, outcomes.seeds, outcomes.count(Judged::Unclear)), (3, 2, 1));
        assert_eq!((outcomes.percent(Judged::Right), outcomes.percent(Judged::Wrong)), (50.0, 50.0));
    }

    #[test]
    fn results_are_kept_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/results");
        let mut results = Results::open(file.clone()).unwrap();
        results.keep(tried(&["cpu"], 100.0, 110.0)).unwrap();
        fs::write(&file, format!("{}{{\"cause\":", fs::read_to_string(&file).unwrap())).unwrap();
        assert_eq!(Results::open(file).unwrap().tried.len(), 1);
    }
}
