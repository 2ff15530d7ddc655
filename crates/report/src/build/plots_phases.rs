//! Charts of phases: what came of more sessions, higher rates or larger batches. A point is the mean of the repetitions,
//! its whisker goes from the least to the greatest of them. Where two of these were varied there is a line for each value
//! of the second.

use plimsoll_measurement::{Phase, RunRecord};

use super::kinds::percentile_ms;
use super::order::{distinct, grouped};
use super::plots;
use crate::model::format::{count, number, plain};
use crate::model::{Axis, Kind, Line, LineChart, Look, Mark, Picture, Spot};

/// More sessions than this times the fewest stand on a logarithmic axis.
const WIDE: f64 = 40.0;

/// More values than this have round ticks instead of their own.
const MOST_TICKS: usize = 12;

/// What can be varied from phase to phase.
struct Varied {
    value: fn(&Phase) -> Option<f64>,
    /// What there are so many of, and what their number is called.
    noun: &'static str,
    name: &'static str,
    charts: fn(&Grid<'_>) -> Vec<Picture>,
}

/// The first that was varied is the horizontal axis.
const VARIED: [Varied; 3] = [
    Varied { value: |phase| phase.rate_asked, noun: "request", name: "rate asked for", charts: by_rate },
    Varied {
        value: |phase| phase.batch_rows.map(|rows| rows as f64),
        noun: "row",
        name: "size of batches",
        charts: by_batch,
    },
    Varied {
        value: |phase| Some(f64::from(phase.sessions)),
        noun: "session",
        name: "number of sessions",
        charts: by_sessions,
    },
];

/// The charts of what was varied from phase to phase; none where nothing was.
pub fn charts(record: &RunRecord) -> Vec<Picture> {
    let phases: Vec<&Phase> = record.repetitions.iter().flat_map(|repetition| &repetition.phases).collect();
    let differs =
        |one: &&Varied| distinct(phases.iter().filter_map(|phase| (one.value)(phase)).map(f64::to_bits)).len() > 1;
    let mut varied = VARIED.iter().filter(differs);
    let Some(axis) = varied.next() else { return Vec::new() };
    let second = varied.next();
    let member = |phase: &&Phase| {
        let value = second.and_then(|second| Some((second.noun, (second.value)(phase)?)));
        value.map_or_else(String::new, |(noun, value)| format!(", {}", count(value as usize, noun)))
    };
    let members = grouped(phases.iter().map(|phase| (member(phase), *phase)));
    let members = members.into_iter().map(|(name, phases)| (name, steps(&phases, axis.value)));
    (axis.charts)(&Grid { all: steps(&phases, axis.value), members: members.collect(), second })
}

/// One value of what was varied, and the phases of all repetitions that had it.
type Step<'a> = (f64, Vec<&'a Phase>);

/// The phases by a value of theirs, rising.
fn steps<'a>(phases: &[&'a Phase], value: fn(&Phase) -> Option<f64>) -> Vec<Step<'a>> {
    let known = |phase: &&'a Phase| Some((value(phase).filter(|value| value.is_finite())?.to_bits(), *phase));
    let steps = grouped(phases.iter().filter_map(known)).into_iter();
    let mut steps: Vec<Step<'a>> = steps.map(|(bits, phases)| (f64::from_bits(bits), phases)).collect();
    steps.sort_by(|one, other| one.0.total_cmp(&other.0));
    steps
}

/// The phases by what was varied.
struct Grid<'a> {
    all: Vec<Step<'a>>,
    /// Those of each value of the second thing that was varied, by its name; where there is none all, without a name.
    members: Vec<(String, Vec<Step<'a>>)>,
    second: Option<&'static Varied>,
}

impl Grid<'_> {
    /// Mean and range of what the phases of each step say, a line for each member; a step about which they say nothing has
    /// no point. Several figures in one chart tell themselves apart by colour.
    fn lines(&self, name: &str, colour: Option<usize>, part: impl Fn(&Phase) -> Option<f64>) -> Vec<Line> {
        let spot = |(x, phases): &Step<'_>| {
            let values: Vec<f64> = phases.iter().filter_map(|phase| part(phase)).filter(|v| v.is_finite()).collect();
            let missed = phases.iter().any(|phase| phase.holds == Some(false));
            let flags = if missed { vec!["goal-missed".to_owned()] } else { Vec::new() };
            Some(Spot { flags, ..plots::mean(*x, &values, plain(&phases[0].label))? })
        };
        let line = |(at, (member, steps)): (usize, &(String, Vec<Step<'_>>))| {
            let dash = if self.members.len() > 1 { at } else { colour.unwrap_or(at) };
            let spots = steps.iter().filter_map(spot).collect();
            Line { name: format!("{name}{member}"), look: Look::Member(colour.unwrap_or(at), dash), spots }
        };
        self.members.iter().enumerate().map(line).collect()
    }

    /// A line that was not measured, from the lowest to the highest step.
    fn guide(&self, name: &str, y: impl Fn(f64) -> f64, most: f64) -> Option<Line> {
        let at = |x: f64| Spot { x, y: y(x), ..Spot::default() };
        let spots = vec![at(self.all.first()?.0), at(self.all.last()?.0.min(most))];
        Some(Line { name: name.to_owned(), look: Look::Guide, spots })
    }

    /// The axis of what was varied, with ticks at the values themselves where they are few.
    fn axis(&self, title: &str, kind: Kind) -> Axis {
        let own = if self.all.len() > MOST_TICKS { &[] } else { self.all.as_slice() };
        Axis { ticks: own.iter().map(|(value, _)| *value).collect(), ..Axis::new(title, kind) }
    }

    /// A chart's title, with what each line is of.
    fn titled(&self, title: &str) -> String {
        self.second.map_or_else(|| title.to_owned(), |second| format!("{title}, a line for each {}", second.name))
    }

    /// The same, with what the circles in it mean.
    fn circled(&self, title: &str) -> String {
        let missed = self.all.iter().flat_map(|(_, phases)| phases).any(|phase| phase.holds == Some(false));
        format!("{}{}", self.titled(title), if missed { " (circled: the goal was missed)" } else { "" })
    }

    /// The highest rate at which all phases met the goal of a search, below the lowest at which one did not.
    fn mark(&self) -> Option<Mark> {
        let holds = |(_, phases): &&Step<'_>| phases.iter().all(|phase| phase.holds == Some(true));
        let (rate, _) = self.all.iter().take_while(holds).last()?;
        Some(Mark { x: *rate, band: None, label: format!("{}/s holds", number(*rate)?) })
    }
}

/// Answers a second over the number of sessions, and how they would grow with these.
fn by_sessions(grid: &Grid<'_>) -> Vec<Picture> {
    let (Some((fewest, _)), Some((most, _))) = (grid.all.first(), grid.all.last()) else { return Vec::new() };
    let wide = *most > WIDE * fewest;
    let mut lines = grid.lines("answered", None, |phase| Some(phase.rate));
    let spots = lines.iter().flat_map(|line| &line.spots);
    let highest = spots.clone().map(|spot| spot.range.map_or(spot.y, |(_, high)| high)).fold(0.0, f64::max);
    let per_session = spots.clone().next().map(|spot| spot.y / spot.x).filter(|rate| !wide && *rate > 0.0);
    // The line of growth with the sessions ends where the chart does.
    let growth =
        per_session.and_then(|rate| grid.guide("growth with the sessions", |sessions| sessions * rate, highest / rate));
    lines.extend(growth);
    let x = grid.axis("Sessions", if wide { Kind::Log } else { Kind::FromZero });
    let title = "Answers a second over the number of sessions";
    vec![Picture::lines(title, x, Axis::new("Answers a second", Kind::FromZero), lines)]
}

/// MB a minute over the size of batches.
fn by_batch(grid: &Grid<'_>) -> Vec<Picture> {
    let has_volume = grid.all.iter().flat_map(|(_, phases)| phases).any(|phase| phase.mb_per_minute.is_some());
    let part = |phase: &Phase| if has_volume { phase.mb_per_minute } else { Some(phase.rate) };
    let unit = if has_volume { "MB/min" } else { "Batches a second" };
    let x = grid.axis("Rows of a batch (logarithmic)", Kind::Log);
    let title = grid.titled(&format!("{unit} over the size of batches"));
    vec![Picture::lines(title, x, Axis::new(unit, Kind::FromZero), grid.lines(unit, None, part))]
}

/// Answers a second, response times and what was left over the rate that was asked for.
fn by_rate(grid: &Grid<'_>) -> Vec<Picture> {
    let x = || Axis::new("Requests asked for, a second", Kind::FromZero);
    let mut answered: Vec<Line> = grid.guide("asked", |rate| rate, f64::INFINITY).into_iter().collect();
    answered.extend(grid.lines("answered", None, |phase| Some(phase.rate)));
    let mut times = grid.lines("p99", Some(1), |phase| percentile_ms(&phase.times, 99.0));
    times.extend(grid.lines("p50", Some(0), |phase| percentile_ms(&phase.times, 50.0)));
    times
        .extend(grid.lines("p99, real start", Some(2), |phase| percentile_ms(phase.times_uncorrected.as_ref()?, 99.0)));
    times.retain(|line| !line.spots.is_empty());
    let marked = |title: &str, y: Axis, lines: Vec<Line>| {
        Picture::Lines(LineChart { title: grid.circled(title), x: x(), y, lines, mark: grid.mark() })
    };
    let y = Axis::new("Answers a second", Kind::FromZero);
    let mut charts = vec![marked("Answers a second over the rate asked for", y, answered)];
    let y = Axis::new("Milliseconds (logarithmic)", Kind::Log);
    charts.push(marked("Response times over the rate asked for", y, times));
    // Nothing if none were left.
    if grid.all.iter().flat_map(|(_, phases)| phases).any(|phase| phase.backlog.unwrap_or(0) > 0) {
        let left = grid.lines("backlog", None, |phase| phase.backlog.map(|count| count as f64));
        let title = grid.titled("Requests that were due and not begun at the end of a phase");
        charts.push(Picture::lines(title, x(), Axis::new("Requests", Kind::FromZero), left));
    }
    charts
}
