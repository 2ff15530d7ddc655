//! One strip of a panel: lines beside each other, or what adds up to a whole as areas on top of each other.

use maud::{Markup, html};

use super::time::Time;
use crate::html::svg::scale::Scale;
use crate::html::svg::{class, coordinate, labels};
use crate::model::{Gap, Kind, Series, Shape, Strip};

const HEIGHT: f64 = 92.0;
/// Longer names are cut; the tooltip has all of them.
const LONGEST_NAME: usize = 24;
/// What is narrower could not be seen.
const NARROWEST: f64 = 2.0;
/// Steps that are not further apart are drawn as one course.
const TOGETHER: f64 = 1.5;
/// From one line of a hatched gap to the next.
const HATCH: f64 = 7.0;

impl Series {
    /// The same with a name that fits beside the strip.
    fn short_name(&self) -> String {
        if self.name.chars().count() <= LONGEST_NAME {
            return self.name.clone();
        }
        self.name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
    }
}

/// A strip with a known axis.
pub struct Drawn<'a> {
    shown: Vec<&'a Series>,
    /// Of a stack: the sums of each series and those below it, the lowest first.
    sums: Vec<Vec<(f64, f64, f64)>>,
    scale: Scale,
    ticks: Vec<(f64, f64, String)>,
    height: f64,
}

impl Strip {
    /// What is to be drawn, in a place of its own that begins at 0; `None` if nothing is known.
    pub fn prepared(&self) -> Option<Drawn<'_>> {
        let is_stack = self.shape == Shape::Stack;
        let drawable = |series: &&Series| series.summary().is_some_and(|(_, _, high)| !is_stack || high > 0.0);
        let shown: Vec<&Series> = self.series.iter().filter(drawable).collect();
        let sums = if is_stack { sums(&shown) } else { Vec::new() };
        let height = HEIGHT.max(shown.len() as f64 * labels::APART);
        let courses = || shown.iter().map(|series| &series.steps).filter(|_| !is_stack).chain(&sums);
        let values = courses().flatten().map(|(_, _, value)| *value).chain(self.mark);
        let scale = Scale::covering(self.axis.kind, values, (height, 0.0)).filter(|_| !shown.is_empty())?;
        let ticks = readable(&scale, self.axis.kind);
        Some(Drawn { shown, sums, scale, ticks, height })
    }
}

/// Each series and all below it, at each step; not a number where one of them is not known.
fn sums(shown: &[&Series]) -> Vec<Vec<(f64, f64, f64)>> {
    let count = shown.iter().map(|series| series.steps.len()).min().unwrap_or(0);
    let known = |at: usize| shown.iter().all(|series| series.steps[at].2.is_finite());
    let known: Vec<bool> = (0..count).map(known).collect();
    let mut below = vec![0.0; count];
    let layer = |series: &&Series| {
        let step = |(at, (from, to, value)): (usize, &(f64, f64, f64))| {
            below[at] += value.max(0.0);
            (*from, *to, if known[at] { below[at] } else { f64::NAN })
        };
        series.steps.iter().take(count).enumerate().map(step).collect()
    };
    shown.iter().map(layer).collect()
}

impl Drawn<'_> {
    /// Characters of the longest text beside the vertical axis.
    pub fn widest_tick(&self) -> usize {
        self.ticks.iter().map(|(.., text)| text.chars().count()).max().unwrap_or(0)
    }

    /// Characters of the longest name.
    pub fn longest_name(&self) -> usize {
        self.shown.iter().map(|series| series.short_name().chars().count()).max().unwrap_or(0)
    }

    /// Height of the drawing, without its title.
    pub const fn height(&self) -> f64 {
        self.height
    }

    /// What is to be seen, in words.
    pub fn described(&self, strip: &Strip) -> String {
        let series: Vec<String> = self.shown.iter().map(|series| series.about()).collect();
        let gaps = match strip.gaps.len() {
            0 => String::new(),
            1 => " One gap.".to_owned(),
            count => format!(" {count} gaps."),
        };
        format!("{}: {}.{gaps}", strip.axis.title, series.join("; "))
    }

    /// The strip, its upper end at `top`.
    pub fn draw(&self, strip: &Strip, time: &Time, top: f64, pieces: usize) -> Markup {
        let (left, right) = (coordinate(time.left), coordinate(time.right));
        let mark = strip.mark.and_then(|value| self.scale.at(value));
        html! {
            g transform={ "translate(0 " (coordinate(top)) ")" } {
                g.axis {
                    @for (_, place, text) in &self.ticks {
                        path.rule d={ "M" (left) " " (coordinate(*place)) "H" (right) } {}
                        text.end x=(coordinate(time.left - 6.0)) y=(coordinate(place + 4.0)) { (text) }
                    }
                    path.base d={ "M" (left) " " (coordinate(self.height)) "H" (right) } {}
                    text.unit x="2" y="-10" { (strip.axis.title) }
                }
                @for gap in merged(&strip.gaps, time) { (self.hatched(&gap, time)) }
                @match strip.shape {
                    Shape::Lines => { @for series in &self.shown { (self.line(series, time, pieces)) } }
                    // The highest sum comes first, so that each covers all but what it adds.
                    Shape::Stack => { @for (series, sum) in self.shown.iter().zip(&self.sums).rev() { (self.area(series, sum, time, pieces)) } }
                }
                @if let Some(place) = mark { path.guide d={ "M" (left) " " (coordinate(place)) "H" (right) } {} }
                (self.names(strip.shape, time))
            }
        }
    }

    /// A line of means, and behind it from the lowest to the highest where a piece has several values.
    fn line(&self, series: &Series, time: &Time, pieces: usize) -> Markup {
        let runs = runs(&series.steps, time, pieces);
        let place = |value: f64| self.scale.at(value);
        let course =
            |run: &Vec<Piece>| stepped(run.iter().filter_map(|piece| Some((piece.from, piece.to, place(piece.mean)?))));
        let range = |run: &Vec<Piece>| {
            // A shade needs no tenths.
            let corner = |from: f64, to: f64, value| Some((from.round(), to.round(), place(value)?.round()));
            let upper = stepped(run.iter().filter_map(|piece| corner(piece.from, piece.to, piece.high)));
            let lower = run.iter().rev().filter_map(|piece| corner(piece.to, piece.from, piece.low));
            format!("{upper}L{}Z", stepped(lower).trim_start_matches('M'))
        };
        let has_range = |run: &&Vec<Piece>| run.iter().any(|piece| piece.low < piece.high);
        let ranges: String = runs.iter().filter(has_range).map(range).collect();
        let path: String = runs.iter().map(course).collect();
        html! {
            @if !ranges.is_empty() { path class={ "range " (class('f', series.tone)) } d=(ranges) {} }
            path class=(line_class(series)) d=(path) { title { (series.about()) } }
        }
    }

    fn area(&self, series: &Series, sum: &[(f64, f64, f64)], time: &Time, pieces: usize) -> Markup {
        let base = coordinate(self.height);
        let closed = |run: Vec<Piece>| {
            let start = coordinate(run[0].from);
            let course =
                stepped(run.iter().filter_map(|piece| Some((piece.from, piece.to, self.scale.at(piece.mean)?))));
            format!("M{start} {base}L{}V{base}Z", course.trim_start_matches('M'))
        };
        let path: String = runs(sum, time, pieces).into_iter().map(closed).collect();
        html! { path class=(area_class(series)) d=(path) { title { (series.about()) } } }
    }

    fn hatched(&self, gap: &Gap, time: &Time) -> Markup {
        let (from, to) = (time.at(gap.from), time.at(gap.to).max(time.at(gap.from) + NARROWEST));
        let height = self.height;
        // Rising lines from the lower edge, cut at both sides.
        let rising = |at: usize| {
            let start = from - height + at as f64 * HATCH;
            let (left, right) = (start.max(from), (start + height).min(to));
            let y = |x: f64| coordinate(height - (x - start));
            format!("M{} {}L{} {}", coordinate(left), y(left), coordinate(right), y(right))
        };
        let lines: String = (0..((to - from + height) / HATCH).ceil() as usize).map(rising).collect();
        html! {
            g.gap {
                title { (gap.reason) }
                rect x=(coordinate(from)) y="0" width=(coordinate(to - from)) height=(coordinate(height)) {}
                path d=(lines) {}
            }
        }
    }

    /// The names beside the ends of the courses.
    fn names(&self, shape: Shape, time: &Time) -> Markup {
        let last = |steps: &[(f64, f64, f64)]| steps.iter().rev().find_map(|(.., value)| self.scale.at(*value));
        let wanted: Vec<f64> = match shape {
            Shape::Lines => self.shown.iter().map(|series| last(&series.steps).unwrap_or(self.height)).collect(),
            Shape::Stack => {
                let upper: Vec<f64> = self.sums.iter().map(|sum| last(sum).unwrap_or(self.height)).collect();
                let lower = std::iter::once(self.height).chain(upper.iter().copied());
                upper.iter().zip(lower).map(|(upper, lower)| f64::midpoint(*upper, lower)).collect()
            }
        };
        let heights = labels::spread(&wanted, 0.0, self.height);
        let start = time.right + 8.0;
        html! {
            g.names {
                @for (series, height) in self.shown.iter().zip(heights) {
                    g {
                        title { (series.about()) }
                        @match shape {
                            Shape::Lines => path class=(line_class(series)) d={ "M" (coordinate(start)) " " (coordinate(height)) "h22" } {},
                            Shape::Stack => rect class=(area_class(series)) x=(coordinate(start + 6.0)) y=(coordinate(height - 5.0)) width="14" height="10" {},
                        }
                        text x=(coordinate(start + 27.0)) y=(coordinate(height + 4.0)) { (series.short_name()) }
                    }
                }
            }
        }
    }
}

fn line_class(series: &Series) -> String {
    format!("line {} d{}", class('c', series.tone), series.variant % 5)
}

fn area_class(series: &Series) -> String {
    format!("area {} {} p{}", class('f', series.tone), class('c', series.tone), series.variant % 3)
}

/// The path of a run: flat over each step, straight up or down to the next.
fn stepped(run: impl Iterator<Item = (f64, f64, f64)>) -> String {
    let mut path = String::new();
    let (mut height, mut end) = (String::new(), None);
    for (from, to, y) in run {
        let y = coordinate(y);
        if path.is_empty() {
            path = format!("M{} {y}", coordinate(from));
        } else if y != height {
            path.extend(["H", &coordinate(from), "V", &y]);
        }
        (height, end) = (y, Some(to));
    }
    path + &end.map_or_else(String::new, |to| format!("H{}", coordinate(to)))
}

/// A piece of a course in the drawing, and the mean and the extremes of the values that hold there.
struct Piece {
    from: f64,
    to: f64,
    seconds: f64,
    number: i64,
    mean: f64,
    low: f64,
    high: f64,
}

/// A course as runs without gaps, in about so many pieces at most.
fn runs(steps: &[(f64, f64, f64)], time: &Time, pieces: usize) -> Vec<Vec<Piece>> {
    let width = (time.right - time.left) / pieces.max(1) as f64;
    let mut runs: Vec<Vec<Piece>> = Vec::new();
    let mut is_new = true;
    for (from, to, value) in steps.iter().filter(|(from, to, _)| to > from) {
        if !value.is_finite() {
            is_new = true;
            continue;
        }
        let (start, end, seconds) = (time.at(*from), time.at(*to), to - from);
        let number = (f64::midpoint(start, end) / width) as i64;
        let run = runs.last_mut().filter(|run| !is_new && run.last().is_some_and(|last| start - last.to < TOGETHER));
        is_new = false;
        let piece = Piece { from: start, to: end, seconds, number, mean: *value, low: *value, high: *value };
        let Some(run) = run else {
            runs.push(vec![piece]);
            continue;
        };
        match run.last_mut() {
            Some(last) if last.number == number => {
                last.seconds += seconds;
                last.mean += (value - last.mean) * (seconds / last.seconds);
                (last.low, last.high, last.to) = (last.low.min(*value), last.high.max(*value), end);
            }
            _ => run.push(piece),
        }
    }
    for run in &mut runs {
        let missing = NARROWEST - (run[run.len() - 1].to - run[0].from);
        if missing > 0.0 {
            run[0].from -= missing / 2.0;
            run.last_mut().into_iter().for_each(|last| last.to += missing / 2.0);
        }
    }
    runs
}

/// Gaps by time, those that could not be told apart as one.
fn merged(gaps: &[Gap], time: &Time) -> Vec<Gap> {
    let mut sorted: Vec<&Gap> = gaps.iter().filter(|gap| gap.to >= gap.from).collect();
    sorted.sort_by(|one, other| one.from.total_cmp(&other.from));
    let mut merged: Vec<Gap> = Vec::new();
    for gap in sorted {
        match merged.last_mut() {
            Some(last) if time.at(gap.from) - time.at(last.to) < TOGETHER => {
                last.to = last.to.max(gap.to);
                if !last.reason.contains(&gap.reason) {
                    last.reason = format!("{}; {}", last.reason, gap.reason);
                }
            }
            _ => merged.push(gap.clone()),
        }
    }
    merged
}

/// Ticks of a strip that are far enough apart to be read.
fn readable(scale: &Scale, kind: Kind) -> Vec<(f64, f64, String)> {
    const LEAST: f64 = 15.0;
    let ticks: Vec<(f64, f64)> = scale.ticks().into_iter().filter_map(|tick| Some((tick, scale.at(tick)?))).collect();
    let nearest = ticks.windows(2).map(|pair| (pair[0].1 - pair[1].1).abs()).fold(f64::INFINITY, f64::min);
    let every = (LEAST / nearest.max(0.1)).ceil().max(1.0) as usize;
    let text = |(tick, place): (f64, f64)| (tick, place, kind.tick_text(tick));
    ticks.into_iter().step_by(every).map(text).collect()
}
