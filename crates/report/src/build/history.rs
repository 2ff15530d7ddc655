//! "Has it got slower?": a figure over all runs of a test on a target, the levels that were found in it, and what else changed
//! when it did. The method is `plimsoll_analysis::history`; here is how it is said and drawn.

use plimsoll_analysis::compare::Verdict;
use plimsoll_analysis::history::{self, Segment, Shift};

use crate::model::format::{count, minute, plain, quantity, signed_percent, title};
use crate::model::{Axis, Cell, Kind, Line, Look, Part, Picture, Rank, Report, Spot, Table, Tone, Value, number, text};

/// Fewer runs can't have two levels.
pub const FEWEST_RUNS: usize = 6;

/// A figure over the runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// Name of the test.
    pub test: String,
    /// The target's URL without secrets.
    pub target: String,
    /// What the figure is: `read_rate`, ...
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The runs in the order of their dates.
    pub runs: Vec<Run>,
    /// What was found; absent with fewer than [`FEWEST_RUNS`].
    pub found: Option<history::History>,
    /// For each change of level: what else differs between the last run before it and the first one after it.
    pub beside: Vec<Option<String>>,
    /// Sentences about runs that take no part.
    pub left_out: Vec<String>,
}

/// A run of the history.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// Enough of its id to find it.
    pub run_id: String,
    /// When it was, RFC 3339 in UTC.
    pub at: String,
    /// The figure.
    pub value: f64,
    /// Its interval; absent with a single repetition.
    pub interval: Option<(f64, f64)>,
    /// Complete repetitions behind it.
    pub repetitions: usize,
    /// The version that the server stated.
    pub version: Option<String>,
}

impl History {
    /// True if the last level is worse than the first or than the one before it.
    pub fn is_worse(&self) -> bool {
        let found = self.found.iter();
        let mut shifts = found.flat_map(|found| found.overall.iter().chain(found.shifts.last()));
        shifts.any(|shift| shift.verdict == Verdict::Worse)
    }

    /// `better`, `worse` or `undecided` from the first level to the last, `unchanged` where there is one level, and
    /// `undecided` with too few runs.
    pub fn verdict(&self) -> &'static str {
        match &self.found {
            None => Verdict::Undecided.name(),
            Some(found) => found.overall.map_or("unchanged", |overall| overall.verdict.name()),
        }
    }

    /// The answer in a sentence.
    pub fn answer(&self) -> String {
        let runs = count(self.runs.len(), "run");
        let Some(found) = &self.found else {
            return format!("{runs}: at least {FEWEST_RUNS} are needed to tell a change from noise.");
        };
        let level = |segment: Option<&Segment>| segment.map_or_else(String::new, |one| quantity(one.value, &self.unit));
        let Some(overall) = &found.overall else {
            let level = level(found.segments.first());
            return format!(
                "No change was found in {runs}: the level is {level}. A small one, or one in the last two runs, would not show."
            );
        };
        let way = match overall.verdict {
            Verdict::Better => "It has got better",
            Verdict::Worse => "It has got worse",
            Verdict::Equivalent | Verdict::Undecided => "It is about where it was",
        };
        let changes = count(found.shifts.len(), "change");
        format!(
            "{way}: {} from the first level to the last ({} to {}), in {changes} over {runs}.",
            change(overall),
            level(found.segments.first()),
            level(found.segments.last())
        )
    }

    /// The report: the answer, the figure over dates, its levels, the runs.
    pub fn report(&self) -> Report {
        let what = format!("{} of {} on {}", title(&self.metric), plain(&self.test), plain(&self.target));
        let mut report = Report::new(what);
        let (mut answer, mut picture, mut table, mut runs) =
            (Part::of(Rank::Answer), Part::of(Rank::Picture), Part::of(Rank::Table), Part::detail("Runs"));
        answer.say(Tone::Headline, self.answer());
        for remark in self.remarks() {
            answer.say(Tone::Plain, remark);
        }
        self.left_out.iter().for_each(|sentence| answer.say(Tone::Warning, format!("Left out: {sentence}")));
        picture.pictures([self.chart()]);
        match self.levels() {
            Some(levels) => {
                table.table("Levels", Some(levels));
                runs.table("", self.table());
            }
            None => table.table("Runs", self.table()),
        }
        for sentence in HOW_TO_READ {
            runs.say(Tone::Quiet, sentence.to_owned());
        }
        report.add_all([answer, picture, table, runs]);
        report
    }

    /// Rows: the levels, from which run on, and what else changed there.
    fn levels(&self) -> Option<Table> {
        let found = self.found.as_ref()?;
        let shift = |at: usize| found.shifts.get(at.checked_sub(1)?);
        let date = |run: usize| -> Cell { self.runs.get(run).map(|run| Cell::time(&run.at)).into() };
        Table::of(
            found.segments.iter().enumerate(),
            &[
                (text("From (UTC)"), &|(_, one)| date(one.from)),
                (text("To (UTC)"), &|(_, one)| date(one.to.saturating_sub(1))),
                (number("Runs", ""), &|(_, one)| one.to.saturating_sub(one.from).into()),
                (number("Level", plain(&self.unit)), &|(_, one)| one.value.into()),
                (text("Change, 95 % interval"), &|(at, _)| shift(*at).map(change).into()),
                (text("Verdict"), &|(at, _)| shift(*at).map(|shift| shift.verdict.name()).into()),
            ],
        )
    }

    /// A sentence for each change of level: when, and what else changed then. Odd runs are named.
    pub fn remarks(&self) -> Vec<String> {
        let Some(found) = &self.found else { return Vec::new() };
        let shifts = found.shifts.iter().zip(self.beside.iter().chain(std::iter::repeat(&None)));
        let remark = |(shift, beside): (&Shift, &Option<String>)| {
            let at = self.runs.get(shift.index).map(|run| minute(&run.at)).unwrap_or_default();
            let beside = beside.as_ref().map(|beside| format!("Changes at the same time: {beside}."));
            let beside = beside.unwrap_or_else(|| "No other recorded property changed at that time.".to_owned());
            format!("With the run of {at} UTC the level changed by {}. {beside}", change(shift))
        };
        let odd: Vec<&str> = found.outliers.iter().filter_map(|at| Some(self.runs.get(*at)?.run_id.as_str())).collect();
        let odd = (!odd.is_empty())
            .then(|| format!("Left out, because they are far from their neighbours: {}.", odd.join(", ")));
        shifts.map(remark).chain(odd).collect()
    }

    /// Rows: the runs.
    fn table(&self) -> Option<Table> {
        let value = |run: &Run| {
            let (low, high) = run.interval.unzip();
            Value { value: run.value, low, high, ..Value::default() }
        };
        let of_two = self.runs.iter().filter(|run| run.repetitions == 2).count();
        let ends = match of_two {
            0 => "95 % interval",
            _ if of_two == self.runs.len() => "range",
            _ => "95 % interval or range",
        };
        let heading = number(format!("{}, {ends}", title(&self.metric)), plain(&self.unit));
        Table::of(
            self.runs.iter().enumerate(),
            &[
                (text("Date (UTC)"), &|(_, run)| Cell::time(&run.at)),
                (text("Run"), &|(_, run)| plain(&run.run_id).into()),
                (heading, &|(_, run)| value(run).into()),
                (number("Repetitions", "").spare(15), &|(_, run)| run.repetitions.into()),
                (text("Version").spare(14), &|(_, run)| run.version.as_deref().map(plain).into()),
                (number("Level", ""), &|(at, _)| self.level_of(*at)),
            ],
        )
    }

    /// Number of a run's level from 1, or that it is an odd one.
    fn level_of(&self, run: usize) -> Cell {
        let Some(found) = &self.found else { return Cell::default() };
        if found.outliers.contains(&run) {
            return "odd".into();
        }
        let level = found.segments.iter().position(|segment| (segment.from..segment.to).contains(&run));
        level.map(|level| level + 1).into()
    }

    /// The figure over dates with its intervals, and the levels.
    fn chart(&self) -> Picture {
        let days: Vec<Option<f64>> = self.runs.iter().map(|run| days(&run.at)).collect();
        let is_odd = |at: usize| self.found.as_ref().is_some_and(|found| found.outliers.contains(&at));
        let spot = |(at, run): (usize, &Run)| {
            let flags = if is_odd(at) { vec!["far from its neighbours".to_owned()] } else { Vec::new() };
            let label = format!("{} of {}", plain(&run.run_id), minute(&run.at));
            Some(Spot { x: days[at]?, y: run.value, range: run.interval, label, flags })
        };
        let spots = self.runs.iter().enumerate().filter_map(spot).collect();
        let mut lines = vec![Line { name: "runs".to_owned(), look: Look::Measured(0), spots }];
        let segments = self.found.iter().flat_map(|found| &found.segments);
        for (at, segment) in segments.enumerate() {
            let end = |run: usize| Some(Spot { x: (*days.get(run)?)?, y: segment.value, ..Spot::default() });
            let spots = [end(segment.from), end(segment.to.saturating_sub(1))].into_iter().flatten().collect();
            let name = format!("level {}", at + 1);
            lines.push(Line { name, look: Look::Smooth(1), spots });
        }
        let (x, y) = (Axis::new("Date (UTC)", Kind::Date), Axis::new(plain(&self.unit), Kind::FromZero));
        Picture::lines(format!("{} of {} over its runs", title(&self.metric), plain(&self.test)), x, y, lines)
    }
}

/// What the chart and the levels mean.
const HOW_TO_READ: [&str; 3] = [
    "Whiskers are the intervals of the runs, from their repetitions; of two repetitions they are the range.",
    "A level has at least three runs. Of a hundred histories without a change, about one would show a change this clear.",
    "A change at the same time is not proven to be the cause.",
];

/// `-10.2 % (-11.0 % to -9.40 %)`.
fn change(shift: &Shift) -> String {
    let percent = |ratio: f64| signed_percent(100.0 * (ratio - 1.0)).unwrap_or_default();
    format!("{} ({} to {})", percent(shift.ratio), percent(shift.low), percent(shift.high))
}

/// Days since 1970.
fn days(at: &str) -> Option<f64> {
    let moment: jiff::Timestamp = at.parse().ok()?;
    Some(moment.as_millisecond() as f64 / 86_400_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_analysis::history::{Terms, history};

    fn example(values: &[f64]) -> History {
        let run = |(at, value): (usize, &f64)| Run {
            run_id: format!("run{at}"),
            at: format!("2026-03-{:02}T10:00:00Z", at + 1),
            value: *value,
            interval: Some((value * 0.98, value * 1.02)),
            repetitions: 3,
            version: Some("15.3".into()),
        };
        let judged: Vec<history::Run> =
            values.iter().map(|value| history::Run { value: *value, log_error: None }).collect();
        History {
            test: "read-scan".into(),
            target: "postgres://db/sales".into(),
            metric: "read_rate".into(),
            unit: "MB/min".into(),
            runs: values.iter().enumerate().map(run).collect(),
            found: history(&judged, Terms::new(true)),
            beside: vec![Some("engine version (15.3 against 15.4)".into())],
            left_out: Vec::new(),
        }
    }

    const SLOWER: [f64; 12] = [500.0, 502.0, 497.0, 501.0, 499.0, 503.0, 500.0, 450.0, 448.0, 452.0, 451.0, 449.0];

    #[test]
    fn a_change_is_said_with_its_date_its_size_and_what_came_with_it() {
        let slower = example(&SLOWER);
        assert!(slower.is_worse() && slower.verdict() == "worse");
        let answer = slower.answer();
        assert!(
            answer.starts_with("It has got worse: -10.1 %") && answer.contains("1 change over 12 runs"),
            "{answer}"
        );
        let remarks = slower.remarks().join(" ");
        assert!(remarks.contains("2026-03-08 10:00") && remarks.contains("15.3 against 15.4"), "{remarks}");
        assert_eq!(slower.levels().unwrap().rows.len(), 2);
        let Picture::Lines(chart) = slower.chart() else { panic!("a chart") };
        assert_eq!(chart.lines[1].name, "level 1");
    }

    #[test]
    fn noise_few_runs_and_odd_ones_are_no_alarm() {
        let mut values = SLOWER;
        values[7..].copy_from_slice(&[500.0, 498.0, 300.0, 501.0, 499.0]);
        let steady = example(&values);
        assert!(!steady.is_worse() && steady.verdict() == "unchanged", "{steady:?}");
        assert!(steady.answer().starts_with("No change was found in 12 runs: the level is 500 MB/min"));
        assert_eq!(steady.remarks(), ["Left out, because they are far from their neighbours: run9."]);
        assert_eq!(steady.table().unwrap().rows[9].last().unwrap(), &Cell::from("odd"));
        let few = example(&SLOWER[..5]);
        assert_eq!((few.verdict(), few.is_worse(), few.found.as_ref()), ("undecided", false, None));
        assert!(few.answer().contains("at least 6"));
        assert!(!few.chart().is_empty());
        let none = History::default();
        assert!(none.table().is_none());
        assert!(none.report().parts.iter().all(|part| part.rank != Rank::Picture));
    }

    #[test]
    fn dates_that_are_none_have_no_place() {
        let mut broken = example(&SLOWER);
        for run in &mut broken.runs {
            run.at = "once".into();
        }
        assert!(broken.chart().is_empty());
        assert!((days("1970-01-02T12:00:00Z").unwrap() - 1.5).abs() < 1e-9);
    }
}
