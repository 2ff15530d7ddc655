//! Bar charts: one figure of several runs, with the interval as a whisker and the true value where it is known.

use maud::{Markup, html};

use super::scale::{Kind, Scale, tick_text};
use super::{LETTER, WIDTH, coordinate};
use crate::words::quantity;
use plimsoll_measurement::Figure;

const ROW: f64 = 44.0;
const TOP: f64 = 6.0;
const THICK: f64 = 16.0;
const LABEL: f64 = 14.0;
const BOTTOM: f64 = 40.0;
const LEFT: f64 = 4.0;
/// Room for the value behind the longest bar.
const RIGHT: f64 = 130.0;

/// Bars of one figure.
#[derive(Debug)]
pub struct BarChart<'a> {
    /// What it shows.
    pub title: String,
    /// What the axis shows, with the unit.
    pub axis: String,
    /// The bars from top to bottom.
    pub bars: Vec<Bar<'a>>,
}

/// One bar.
#[derive(Debug)]
pub struct Bar<'a> {
    /// Whose it is.
    pub label: String,
    /// What it stands for, in words.
    pub value: String,
    /// How long it is, and its interval.
    pub figure: &'a Figure,
    /// The true value, in the figure's unit.
    pub truth: Option<f64>,
}

impl BarChart<'_> {
    /// The chart; `None` without a bar that has a length.
    pub fn render(&self) -> Option<Markup> {
        let values = self.bars.iter().flat_map(|bar| {
            let figure = bar.figure;
            [Some(figure.value), figure.low, figure.high, bar.truth].into_iter().flatten()
        });
        let scale = Scale::covering(Kind::FromZero, values, (LEFT, WIDTH - RIGHT))?;
        let bottom = TOP + ROW * self.bars.len() as f64;
        let ticks = || scale.ticks().into_iter().filter_map(|tick| Some((tick, scale.at(tick)?)));
        let intervals = self.bars.iter().any(|bar| bar.figure.low.is_some() && bar.figure.high.is_some());
        let truths = self.bars.iter().any(|bar| bar.truth.is_some());
        Some(html! {
            figure.chart {
                figcaption {
                    (self.title)
                    @if intervals || truths {
                        small {
                            @if intervals { " Whiskers: interval of confidence." }
                            @if truths { " Diamonds: true value." }
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
        let bars: Vec<String> = self.bars.iter().map(|bar| format!("{} {}", bar.label, bar.value)).collect();
        format!("{}: {}.", self.title, bars.join("; "))
    }
}

fn drawn(bar: &Bar<'_>, scale: &Scale, top: f64) -> Markup {
    let figure = bar.figure;
    let (Some(zero), Some(end)) = (scale.at(0.0), scale.at(figure.value)) else { return Markup::default() };
    let (upper, middle) = (top + LABEL + 6.0, top + LABEL + 6.0 + THICK / 2.0);
    let whisker = figure.low.and_then(|low| scale.at(low)).zip(figure.high.and_then(|high| scale.at(high)));
    let truth = bar.truth.and_then(|truth| scale.at(truth));
    let furthest = [Some(end), whisker.map(|(_, high)| high), truth].into_iter().flatten().fold(zero, f64::max);
    html! {
        g.bar {
            title { (bar.label) ": " (bar.value) ", " (crate::words::interval(figure)) }
            text x=(LEFT) y=(top + LABEL) { (shortened(&bar.label)) }
            rect x=(coordinate(zero.min(end))) y=(upper) width=(coordinate((end - zero).abs().max(1.0))) height=(THICK) {}
            @if let (Some(place), Some(truth)) = (truth, bar.truth) {
                path.truth d={ "M" (coordinate(place)) " " (middle - 5.0) "l5 5-5 5-5-5z" } {
                    title { "True value: " (quantity(truth, &figure.unit)) }
                }
            }
            @if let Some((low, high)) = whisker {
                path.whisker d={
                    "M" (coordinate(low)) " " (middle - 5.0) "v10m0-5H" (coordinate(high)) "m0-5v10"
                } {}
            }
            text.value x=(coordinate(furthest + 10.0)) y=(middle + 4.0) { (bar.value) }
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
