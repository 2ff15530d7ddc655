//! Grouped bars: a figure by level, several bars for each, as of campaigns or versions side by side.

use maud::{Markup, html};

use super::scale::{Scale, tick_text};
use super::{LETTER, WIDTH, coordinate};
use crate::model::format::{ends_of, value};
use crate::model::{Bar, Group, GroupedBars, Kind};

const TOP: f64 = 6.0;
const BOTTOM: f64 = 40.0;
/// Height of a bar's row, of the bar in it, and the room between groups.
const ROW: f64 = 20.0;
const THICK: f64 = 13.0;
const APART: f64 = 12.0;
/// Room for the groups' names.
const NAMES: f64 = 170.0;
/// Room for the value behind the longest bar.
const RIGHT: f64 = 130.0;
/// Series have so many colours.
const COLOURS: usize = 6;

impl GroupedBars {
    /// The chart; `None` without a bar that has a length.
    pub fn render(&self) -> Option<Markup> {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let ends = |bar: &Bar| [Some(bar.value.value), bar.value.low, bar.value.high, bar.expected];
        let values = bars().flat_map(|(_, bar)| ends(bar)).flatten();
        let scale = Scale::covering(Kind::FromZero, values, (NAMES, WIDTH - RIGHT))?;
        let heights = self.groups.iter().map(|group| ROW * group.bars.len() as f64 + APART);
        let tops: Vec<f64> = std::iter::once(0.0)
            .chain(heights)
            .scan(TOP, |top, height| {
                *top += height;
                Some(*top)
            })
            .collect();
        let bottom = tops.last().copied().unwrap_or(TOP);
        let ticks = || scale.ticks().into_iter().filter_map(|tick| Some((tick, scale.at(tick)?)));
        let intervals = bars().any(|(_, bar)| bar.value.low.is_some() && bar.value.high.is_some());
        let expected = bars().any(|(_, bar)| bar.expected.is_some());
        Some(html! {
            figure.chart {
                figcaption {
                    (self.title)
                    @if intervals || expected {
                        small {
                            @if intervals { " Whiskers: interval of confidence." }
                            @if expected { " Diamonds: expected value." }
                        }
                    }
                }
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
                div.scroll {
                    svg viewBox={ "0 0 " (WIDTH) " " (bottom + BOTTOM) } role="img" aria-label=(self.described()) {
                        g.axis {
                            @for (tick, place) in ticks() {
                                path.rule d={ "M" (coordinate(place)) " " (TOP) "V" (bottom) } {}
                                text.middle x=(coordinate(place)) y=(bottom + 14.0) { (tick_text(tick)) }
                            }
                            text.unit.end x=(WIDTH - RIGHT) y=(bottom + BOTTOM - 5.0) { (self.axis) }
                        }
                        @for (group, top) in self.groups.iter().zip(&tops) { (drawn(group, &scale, *top)) }
                    }
                }
            }
        })
    }

    fn described(&self) -> String {
        let group = |group: &Group| {
            let bars = group.bars.iter().map(|(_, bar)| format!("{} {}", bar.label, value(&bar.value)));
            format!("{}: {}", group.name, bars.collect::<Vec<_>>().join(", "))
        };
        let groups: Vec<String> = self.groups.iter().map(group).collect();
        format!("{}. {}.", self.title, groups.join("; "))
    }
}

fn drawn(group: &Group, scale: &Scale, top: f64) -> Markup {
    let Group { name, bars } = group;
    let middle = top + ROW * bars.len() as f64 / 2.0;
    html! {
        g.bands { text.end x=(NAMES - 10.0) y=(coordinate(middle + 4.0)) { (shortened(name)) } }
        @for (at, (series, bar)) in bars.iter().enumerate() {
            (row(*series, name, bar, scale, top + ROW * at as f64))
        }
    }
}

fn row(series: usize, group: &str, bar: &Bar, scale: &Scale, top: f64) -> Markup {
    let figure = &bar.value;
    let (Some(zero), Some(end)) = (scale.at(0.0), scale.at(figure.value)) else { return Markup::default() };
    let middle = top + ROW / 2.0;
    let whisker = figure.low.and_then(|low| scale.at(low)).zip(figure.high.and_then(|high| scale.at(high)));
    let expected = bar.expected.and_then(|amount| scale.at(amount));
    let furthest = [Some(end), whisker.map(|(_, high)| high), expected].into_iter().flatten().fold(zero, f64::max);
    html! {
        g.bar {
            title { (group) ", " (bar.label) ": " (value(figure)) @if let Some(ends) = ends_of(figure) { ", " (ends) } }
            rect.area.(colour(series)) x=(coordinate(zero.min(end))) y=(coordinate(middle - THICK / 2.0))
                width=(coordinate((end - zero).abs().max(1.0))) height=(THICK) {}
            @if let Some(place) = expected {
                path.expected d={ "M" (coordinate(place)) " " (middle - 5.0) "l5 5-5 5-5-5z" } {}
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

/// A name that fits its room; what tells levels apart stands at the end.
fn shortened(name: &str) -> String {
    let (room, letters) = ((NAMES / LETTER) as usize - 2, name.chars().count());
    if letters <= room {
        return name.to_owned();
    }
    ['…'].into_iter().chain(name.chars().skip(letters - room + 1)).collect()
}
