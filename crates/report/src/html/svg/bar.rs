//! Bars: one figure of several runs, alone or in groups by level, with the interval as a whisker and the expected value where it is known.

use maud::{Markup, html};

use super::scale::{Scale, tick_text};
use super::{LETTER, WIDTH, coordinate};
use crate::model::format::{ends_of, quantity, value};
use crate::model::{Bar, BarChart, Group, GroupedBars, Kind};

const TOP: f64 = 6.0;
const BOTTOM: f64 = 40.0;
const LEFT: f64 = 4.0;
/// Room for the value behind the longest bar.
const RIGHT: f64 = 130.0;
/// Of bars with a name above each: from one to the next, and the room for the name.
const ROW: f64 = 44.0;
const LABEL: f64 = 14.0;
const THICK: f64 = 16.0;
/// Of bars in groups: from one to the next, and the room between groups and for their names.
const GROUP_ROW: f64 = 20.0;
const APART: f64 = 12.0;
const NAMES: f64 = 170.0;
const GROUP_THICK: f64 = 13.0;
/// Series have so many colours.
const COLOURS: usize = 6;

impl BarChart {
    /// The chart; `None` without a bar that has a length.
    pub fn render(&self) -> Option<Markup> {
        let scale = scale(self.bars.iter(), LEFT)?;
        let bottom = TOP + ROW * self.bars.len() as f64;
        let described: Vec<String> =
            self.bars.iter().map(|bar| format!("{} {}", bar.label, value(&bar.value))).collect();
        let content = html! {
            @for (at, bar) in self.bars.iter().enumerate() {
                @let top = TOP + ROW * at as f64;
                text x=(LEFT) y=(top + LABEL) { (shortened(&bar.label, WIDTH - 2.0 * LEFT)) }
                (drawn(bar, &bar.label, &scale, top + LABEL + 6.0 + THICK / 2.0, THICK, 0))
            }
        };
        let described = format!("{}: {}.", self.title, described.join("; "));
        Some(framed(
            (&self.title, &self.axis, &described),
            &[],
            &self.bars.iter().collect::<Vec<_>>(),
            &scale,
            bottom,
            &content,
        ))
    }
}

impl GroupedBars {
    /// The chart; `None` without a bar that has a length.
    pub fn render(&self) -> Option<Markup> {
        let bars: Vec<&Bar> = self.groups.iter().flat_map(|group| &group.bars).map(|(_, bar)| bar).collect();
        let scale = scale(bars.iter().copied(), NAMES)?;
        let mut bottom = TOP;
        let mut tops = Vec::new();
        for group in &self.groups {
            tops.push(bottom);
            bottom += GROUP_ROW * group.bars.len() as f64 + APART;
        }
        let described = |group: &Group| {
            let bars = group.bars.iter().map(|(_, bar)| format!("{} {}", bar.label, value(&bar.value)));
            format!("{}: {}", group.name, bars.collect::<Vec<_>>().join(", "))
        };
        let described: Vec<String> = self.groups.iter().map(described).collect();
        let content = html! {
            @for (group, top) in self.groups.iter().zip(&tops) {
                g.bands {
                    text.end x=(NAMES - 10.0) y=(coordinate(top + GROUP_ROW * group.bars.len() as f64 / 2.0 + 4.0)) {
                        (shortened_front(&group.name))
                    }
                }
                @for (at, (series, bar)) in group.bars.iter().enumerate() {
                    @let name = format!("{}, {}", group.name, bar.label);
                    (drawn(bar, &name, &scale, top + GROUP_ROW * (at as f64 + 0.5), GROUP_THICK, *series))
                }
            }
        };
        let described = format!("{}. {}.", self.title, described.join("; "));
        Some(framed((&self.title, &self.axis, &described), &self.series, &bars, &scale, bottom, &content))
    }
}

fn scale<'a>(bars: impl Iterator<Item = &'a Bar>, left: f64) -> Option<Scale> {
    let ends =
        |bar: &'a Bar| [Some(bar.value.value), bar.value.low, bar.value.high, bar.expected].into_iter().flatten();
    Scale::covering(Kind::FromZero, bars.flat_map(ends), (left, WIDTH - RIGHT))
}

/// The bars below their title and legend, above their axis.
fn framed(
    (title, axis, described): (&str, &str, &str),
    series: &[String],
    bars: &[&Bar],
    scale: &Scale,
    bottom: f64,
    content: &Markup,
) -> Markup {
    let ticks = scale.ticks().into_iter().filter_map(|tick| Some((tick, scale.at(tick)?)));
    html! {
        figure.chart {
            figcaption {
                (title)
                small {
                    @if bars.iter().any(|bar| bar.value.low.is_some() && bar.value.high.is_some()) { " Whiskers: interval of confidence." }
                    @if bars.iter().any(|bar| bar.expected.is_some()) { " Diamonds: expected value." }
                }
            }
            @if !series.is_empty() {
                ul.legend {
                    @for (at, name) in series.iter().enumerate() {
                        li {
                            svg.swatch viewBox="0 0 34 12" aria-hidden="true" {
                                rect.area.(colour(at)) x="4" y="1" width="26" height="10" {}
                            }
                            (name)
                        }
                    }
                }
            }
            div.scroll {
                svg viewBox={ "0 0 " (WIDTH) " " (bottom + BOTTOM) } role="img" aria-label=(described) {
                    g.axis {
                        @for (tick, place) in ticks {
                            path.rule d={ "M" (coordinate(place)) " " (TOP) "V" (bottom + 4.0) } {}
                            text.middle x=(coordinate(place)) y=(bottom + 18.0) { (tick_text(tick)) }
                        }
                        text.unit.end x=(WIDTH - RIGHT) y=(bottom + BOTTOM - 5.0) { (axis) }
                    }
                    (content)
                }
            }
        }
    }
}

fn drawn(bar: &Bar, name: &str, scale: &Scale, middle: f64, thick: f64, series: usize) -> Markup {
    let figure = &bar.value;
    let (Some(zero), Some(end)) = (scale.at(0.0), scale.at(figure.value)) else { return Markup::default() };
    let whisker = figure.low.and_then(|low| scale.at(low)).zip(figure.high.and_then(|high| scale.at(high)));
    let expected = bar.expected.and_then(|amount| Some((amount, scale.at(amount)?)));
    let high = whisker.map(|(_, high)| high);
    let furthest = [Some(end), high, expected.map(|(_, place)| place)].into_iter().flatten().fold(zero, f64::max);
    html! {
        g.bar {
            title { (name) ": " (value(figure)) @if let Some(ends) = ends_of(figure) { ", " (ends) } }
            rect.area.(colour(series)) x=(coordinate(zero.min(end))) y=(coordinate(middle - thick / 2.0))
                width=(coordinate((end - zero).abs().max(1.0))) height=(thick) {}
            @if let Some((amount, place)) = expected {
                path.expected d={ "M" (coordinate(place)) " " (middle - 5.0) "l5 5-5 5-5-5z" } {
                    title { "Expected: " (quantity(amount, &figure.unit)) }
                }
            }
            @if let Some((low, high)) = whisker {
                path.whisker d={ "M" (coordinate(low)) " " (middle - 4.0) "v8m0-4H" (coordinate(high)) "m0-4v8" } {}
            }
            text.value x=(coordinate(furthest + 10.0)) y=(coordinate(middle + 4.0)) { (value(figure)) }
        }
    }
}

/// The class of a series' colour.
fn colour(series: usize) -> String {
    format!("f{}", series % COLOURS)
}

/// A label that fits its room.
fn shortened(label: &str, room: f64) -> String {
    let room = (room / LETTER) as usize;
    if label.chars().count() <= room { label.to_owned() } else { label.chars().take(room - 1).chain(['…']).collect() }
}

/// A name that fits its room; what tells levels apart stands at the end.
fn shortened_front(name: &str) -> String {
    let (room, letters) = ((NAMES / LETTER) as usize - 2, name.chars().count());
    if letters <= room {
        return name.to_owned();
    }
    ['…'].into_iter().chain(name.chars().skip(letters - room + 1)).collect()
}
