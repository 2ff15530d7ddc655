//! Panels: strips of one drawing that share a time axis, so that what happened at once stands below each other. A value
//! holds for an interval and is drawn over all of it; where it is not known nothing is drawn, and a gap with a known
//! reason is hatched.

mod strip;
mod time;

use maud::{Markup, html};

use super::scale::tick_text;
use super::{LETTER, WIDTH, class, coordinate};
use crate::model::{Band, Panel, Strip};
use time::Time;

const TOP: f64 = 6.0;
const BOTTOM: f64 = 40.0;
/// Height of the band that says which limit bound.
const BAND: f64 = 20.0;
/// Room between two strips; the title of the lower one stands in it.
const APART: f64 = 30.0;
/// From the end of the axis to the names, with what shows their look.
const TO_NAME: f64 = 40.0;
const RIGHT: f64 = 14.0;

/// A strip, how it is drawn, and where it begins.
type Placed<'a> = (&'a Strip, &'a strip::Drawn<'a>, f64);

impl Panel {
    /// The panel; `None` if no strip has anything to draw.
    pub fn render(&self) -> Option<Markup> {
        let strips: Vec<(&Strip, strip::Drawn<'_>)> =
            self.strips.iter().filter_map(|strip| Some((strip, strip.prepared()?))).collect();
        let widest = strips.iter().map(|(_, drawn)| drawn.widest_tick()).max()?;
        let longest = strips.iter().map(|(_, drawn)| drawn.longest_name()).max().unwrap_or(0);
        let right = if longest == 0 { RIGHT } else { TO_NAME + longest as f64 * LETTER };
        let time = Time::new(self.span, 14.0 + widest as f64 * LETTER, WIDTH - right)?;
        let mut top = TOP + if self.bands.is_empty() { -8.0 } else { BAND + 16.0 };
        let mut placed = Vec::new();
        for (strip, drawn) in &strips {
            top += APART;
            placed.push((*strip, drawn, top));
            top += drawn.height();
        }
        Some(html! {
            figure.chart {
                figcaption { (self.title) }
                div.scroll {
                    svg viewBox={ "0 0 " (WIDTH) " " (coordinate(top + BOTTOM)) } role="img" aria-label=(self.described(&strips)) {
                        (axis(&time, &placed, top))
                        @for (strip, drawn, top) in &placed { (drawn.draw(strip, &time, *top, self.pieces)) }
                        (self.drawn_bands(&time, &placed))
                    }
                }
            }
        })
    }

    fn described(&self, strips: &[(&Strip, strip::Drawn<'_>)]) -> String {
        let bands: Vec<&str> = self.bands.iter().map(|band| band.about.as_str()).collect();
        let bands =
            if bands.is_empty() { String::new() } else { format!(" {}: {}.", self.bands_title, bands.join("; ")) };
        let strips: Vec<String> = strips.iter().map(|(strip, drawn)| drawn.described(strip)).collect();
        format!("{}.{bands} {}", self.title, strips.join(" "))
    }

    /// The bands, and where one ends and the next begins through all strips.
    fn drawn_bands(&self, time: &Time, strips: &[Placed<'_>]) -> Markup {
        let inside = |band: &&Band| band.to > self.span.0 && band.from < self.span.1 && band.from < band.to;
        let bands: Vec<(&Band, f64, f64)> =
            self.bands.iter().filter(inside).map(|band| (band, time.at(band.from), time.at(band.to))).collect();
        let fits = |name: &&String, width: f64| name.chars().count() as f64 * LETTER + 8.0 <= width;
        let starts = bands.iter().map(|(_, from, _)| *from).filter(|from| *from > time.left + 1.0);
        html! {
            @if !bands.is_empty() {
                g.bands {
                    text.unit x="2" y=(TOP + 12.0) { (self.bands_title) }
                    @for (band, from, to) in &bands {
                        g {
                            title { (band.about) }
                            rect class=(format!("band {}", class('f', band.tone))) x=(coordinate(*from)) y=(TOP + 16.0)
                                width=(coordinate((to - from - 1.0).max(1.0))) height=(BAND) {}
                            @if let Some(name) = band.names.iter().find(|name| fits(name, to - from)) {
                                text.middle x=(coordinate(f64::midpoint(*from, *to))) y=(TOP + 31.0) { (name) }
                            }
                        }
                    }
                    @for (start, (_, drawn, top)) in starts.flat_map(|start| strips.iter().map(move |strip| (start, strip))) {
                        path.edge d={ "M" (coordinate(start)) " " (coordinate(*top)) "v" (coordinate(drawn.height())) } {}
                    }
                }
            }
        }
    }
}

/// The time axis below the strips, its ticks through all of them.
fn axis(time: &Time, strips: &[Placed<'_>], bottom: f64) -> Markup {
    html! {
        g.axis {
            @for (tick, place) in time.ticks() {
                @for (_, drawn, top) in strips {
                    path.rule d={ "M" (coordinate(place)) " " (coordinate(*top)) "v" (coordinate(drawn.height())) } {}
                }
                path.tick d={ "M" (coordinate(place)) " " (coordinate(bottom)) "v5" } {}
                text.middle x=(coordinate(place)) y=(coordinate(bottom + 18.0)) { (tick_text(tick)) }
            }
            text.unit.end x=(coordinate(time.right)) y=(coordinate(bottom + BOTTOM - 5.0)) { (time.title()) }
        }
    }
}
