//! Bars: one figure of several runs, alone or in groups by level, with the interval as a whisker and the expected value where it is known.

use maud::{Markup, html};

use super::scale::{Scale, tick_text};
use super::{LETTER, WIDTH, coordinate};
use crate::model::format::{ends_of, quantity, value};
use crate::model::{Bar, BarChart, Group, Kind};

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
/// Intervals are drawn up to so many times the longest bar: of few repetitions they may be a hundred times as long.
const WIDEST: f64 = 1.5;
/// Series have so many colours.
const COLOURS: usize = 6;

impl BarChart {
    /// The chart; `None` without a bar that has a length.
    pub fn render(&self) -> Option<Markup> {
        let is_plain = self.series.is_empty();
        let most = self.most();
        let high = |bar: &Bar| bar.value.high.map(|high| high.min(most));
        let ends = |bar: &Bar| [Some(bar.value.value), bar.value.low, high(bar), bar.expected];
        let left = if is_plain { LEFT } else { NAMES };
        let scale = Scale::covering(
            Kind::FromZero,
            self.bars().flat_map(ends).flatten().chain(self.limit),
            (left, WIDTH - RIGHT),
        )?;
        let mut bottom = TOP;
        let mut groups = Vec::new();
        for group in &self.groups {
            groups.push((group, bottom));
            bottom += if is_plain { ROW } else { GROUP_ROW * group.bars.len() as f64 + APART };
        }
        let content = html! {
            @for (group, top) in groups {
                @if is_plain {
                    text x=(LEFT) y=(top + LABEL) { (shortened(&group.name, WIDTH - 2.0 * LEFT)) }
                } @else {
                    g.bands {
                        text.end x=(NAMES - 10.0) y=(coordinate(top + GROUP_ROW * group.bars.len() as f64 / 2.0 + 4.0)) {
                            (shortened_front(&group.name))
                        }
                    }
                }
                @for (at, (series, bar)) in group.bars.iter().enumerate() {
                    @let (middle, thick) = if is_plain {
                        (top + LABEL + 6.0 + THICK / 2.0, THICK)
                    } else {
                        (top + GROUP_ROW * (at as f64 + 0.5), GROUP_THICK)
                    };
                    (drawn(bar, &self.name(group, bar), (&scale, most), middle, thick, *series))
                }
            }
        };
        Some(self.framed(&scale, bottom, &content))
    }

    /// Where intervals are cut.
    fn most(&self) -> f64 {
        let longest = self.bars().map(|bar| bar.value.value.abs()).fold(0.0, f64::max);
        if longest > 0.0 { WIDEST * longest } else { f64::INFINITY }
    }

    fn described(&self) -> String {
        let bar = |(_, bar): &(usize, Bar)| format!("{} {}", bar.label, value(&bar.value));
        let bars = |group: &Group| group.bars.iter().map(bar).collect::<Vec<_>>().join(", ");
        let is_plain = self.series.is_empty();
        let group = |group: &Group| if is_plain { bars(group) } else { format!("{}: {}", group.name, bars(group)) };
        let groups: Vec<String> = self.groups.iter().map(group).collect();
        format!("{}{} {}.", self.title, if is_plain { ":" } else { "." }, groups.join("; "))
    }

    /// The bars below their title and legend, above their axis.
    fn framed(&self, scale: &Scale, bottom: f64, content: &Markup) -> Markup {
        let ticks = scale.ticks().into_iter().filter_map(|tick| Some((tick, scale.at(tick)?)));
        html! {
            figure.chart {
                figcaption {
                    (self.title)
                    small {
                        @if self.bars().any(|bar| bar.value.low.is_some() && bar.value.high.is_some()) { " Whiskers: interval of confidence, or the range of two repetitions." }
                        @if self.bars().any(|bar| bar.value.high.is_some_and(|high| high > self.most())) { " One with an arrow goes on beyond the axis." }
                        @if self.bars().any(|bar| bar.expected.is_some()) { " Diamonds: expected value." }
                        @if self.limit.is_some() { " Dotted: limit." }
                    }
                }
                @if !self.series.is_empty() {
                    ul.legend {
                        @for (at, name) in self.series.iter().enumerate() {
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
                    svg viewBox={ "0 0 " (WIDTH) " " (bottom + BOTTOM) } role="img" aria-label=(self.described()) {
                        g.axis {
                            @for (tick, place) in ticks {
                                path.rule d={ "M" (coordinate(place)) " " (TOP) "V" (bottom + 4.0) } {}
                                text.middle x=(coordinate(place)) y=(bottom + 18.0) { (tick_text(tick)) }
                            }
                            @if let Some(place) = self.limit.and_then(|limit| scale.at(limit)) {
                                path.guide d={ "M" (coordinate(place)) " " (TOP) "V" (bottom + 4.0) } {}
                            }
                            text.unit.end x=(WIDTH - RIGHT) y=(bottom + BOTTOM - 5.0) { (self.axis) }
                        }
                        (content)
                    }
                }
            }
        }
    }
}

/// A bar on its scale, with its interval up to `most`.
fn drawn(bar: &Bar, name: &str, (scale, most): (&Scale, f64), middle: f64, thick: f64, series: usize) -> Markup {
    let figure = &bar.value;
    let (Some(zero), Some(end)) = (scale.at(0.0), scale.at(figure.value)) else { return Markup::default() };
    let place = |of: Option<f64>| of.and_then(|value| scale.at(value.min(most)));
    let whisker = place(figure.low).zip(place(figure.high));
    let end_of_whisker = if figure.high.is_some_and(|high| high > most) { "m-5-4l5 4-5 4" } else { "m0-4v8" };
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
                path.whisker d={ "M" (coordinate(low)) " " (middle - 4.0) "v8m0-4H" (coordinate(high)) (end_of_whisker) } {}
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
