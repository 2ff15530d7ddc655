//! Bar charts: one figure of several runs, with the interval as a whisker and the true value where it is known.

use maud::{Markup, html};

use super::scale::{Scale, tick_text};
use super::{LETTER, WIDTH, coordinate};
use crate::model::format::{ends_of, quantity, value};
use crate::model::{Bar, BarChart, Kind};

const ROW: f64 = 44.0;
const TOP: f64 = 6.0;
const THICK: f64 = 16.0;
const LABEL: f64 = 14.0;
const BOTTOM: f64 = 40.0;
const LEFT: f64 = 4.0;
/// Room for the value behind the longest bar.
const RIGHT: f64 = 130.0;

impl BarChart {
    /// The chart; `None` without a bar that has a length.
    pub fn render(&self) -> Option<Markup> {
        let values = self.bars.iter().flat_map(|bar| {
            let one = &bar.value;
            [Some(one.value), one.low, one.high, bar.expected].into_iter().flatten()
        });
        let scale = Scale::covering(Kind::FromZero, values, (LEFT, WIDTH - RIGHT))?;
        let bottom = TOP + ROW * self.bars.len() as f64;
        let ticks = || scale.ticks().into_iter().filter_map(|tick| Some((tick, scale.at(tick)?)));
        let intervals = self.bars.iter().any(|bar| bar.value.low.is_some() && bar.value.high.is_some());
        let expected = self.bars.iter().any(|bar| bar.expected.is_some());
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
                div.scroll {
                    svg viewBox={ "0 0 " (WIDTH) " " (bottom + BOTTOM) } role="img" aria-label=(self.described()) {
                        g.axis {
                            @for (tick, place) in ticks() {
                                path.rule d={ "M" (coordinate(place)) " " (TOP) "V" (bottom + 4.0) } {}
                                text class=(if tick == 0.0 { "start" } else { "middle" })
                                    x=(coordinate(if tick == 0.0 { 0.0 } else { place })) y=(bottom + 18.0) {
                                    (tick_text(tick))
                                }
                            }
                            text.unit.end x=(WIDTH - RIGHT) y=(bottom + BOTTOM - 5.0) { (self.axis) }
                        }
                        @for (at, bar) in self.bars.iter().enumerate() { (drawn(bar, &scale, TOP + ROW * at as f64)) }
                    }
                }
            }
        })
    }

    fn described(&self) -> String {
        let bars: Vec<String> = self.bars.iter().map(|bar| format!("{} {}", bar.label, value(&bar.value))).collect();
        format!("{}: {}.", self.title, bars.join("; "))
    }
}

fn drawn(bar: &Bar, scale: &Scale, top: f64) -> Markup {
    let figure = &bar.value;
    let (Some(zero), Some(end)) = (scale.at(0.0), scale.at(figure.value)) else { return Markup::default() };
    let (upper, middle) = (top + LABEL + 6.0, top + LABEL + 6.0 + THICK / 2.0);
    let whisker = figure.low.and_then(|low| scale.at(low)).zip(figure.high.and_then(|high| scale.at(high)));
    let expected = bar.expected.and_then(|amount| scale.at(amount));
    let furthest = [Some(end), whisker.map(|(_, high)| high), expected].into_iter().flatten().fold(zero, f64::max);
    html! {
        g.bar {
            title { (bar.label) ": " (value(figure)) @if let Some(ends) = ends_of(figure) { ", " (ends) } }
            text x=(LEFT) y=(top + LABEL) { (shortened(&bar.label)) }
            rect x=(coordinate(zero.min(end))) y=(upper) width=(coordinate((end - zero).abs().max(1.0))) height=(THICK) {}
            @if let (Some(place), Some(amount)) = (expected, bar.expected) {
                path.expected d={ "M" (coordinate(place)) " " (middle - 5.0) "l5 5-5 5-5-5z" } {
                    title { "Expected: " (quantity(amount, &figure.unit)) }
                }
            }
            @if let Some((low, high)) = whisker {
                path.whisker d={
                    "M" (coordinate(low)) " " (middle - 5.0) "v10m0-5H" (coordinate(high)) "m0-5v10"
                } {}
            }
            text.value x=(coordinate(furthest + 10.0)) y=(middle + 4.0) { (value(figure)) }
        }
    }
}

/// A label that fits the drawing's width.
fn shortened(label: &str) -> String {
    let room = ((WIDTH - 2.0 * LEFT) / LETTER) as usize;
    if label.chars().count() <= room {
        return label.to_owned();
    }
    label.chars().take(room - 1).chain(['…']).collect()
}
