//! Line charts: several series over one axis, with tooltips, flagged points and a marked position.

use maud::{Markup, html};

use super::scale::{Axis, Scale, tick_text};
use super::{LETTER, WIDTH, coordinate, decimate};
use crate::words::{UNKNOWN, flag_meaning, number};

/// Markers of a series are at least this far apart on average, so that they don't become a band.
const MARKERS_AT_MOST: usize = 48;
const HEIGHT: f64 = 320.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 42.0;
const RIGHT: f64 = 20.0;
/// Room between the vertical axis and the first point, and behind the last.
const INSET: f64 = 12.0;

/// A chart of lines.
#[derive(Debug)]
pub struct LineChart {
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
    /// A position that is marked.
    pub mark: Option<Mark>,
}

/// One series.
#[derive(Debug)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// Its points, sorted by `x`.
    pub spots: Vec<Spot>,
}

/// A point of a series.
#[derive(Debug, Clone, Default)]
pub struct Spot {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// What it is, for the tooltip.
    pub label: String,
    /// Reasons to read it with care.
    pub flags: Vec<String>,
}

/// How a series is drawn. Series of the same number belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Measured values, with markers.
    Measured(usize),
    /// Measured values behind a smoothed line: thin and pale.
    Behind(usize),
    /// A smoothed line.
    Smooth(usize),
    /// A line that was not measured, to compare with.
    Guide,
}

/// A marked position on the horizontal axis.
#[derive(Debug)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// Its interval.
    pub band: Option<(f64, f64)>,
    /// What it is.
    pub label: String,
}

impl Look {
    /// Classes of the style sheet: colour and dash repeat after six and five series, together after thirty.
    fn class(self) -> String {
        match self {
            Self::Measured(at) => format!("line c{} d{}", at % 6, at % 5),
            Self::Behind(at) => format!("line behind c{} d0", at % 6),
            Self::Smooth(at) => format!("line smooth c{} d{}", at % 6, at % 5),
            Self::Guide => "line guide".to_owned(),
        }
    }

    fn marker_class(self) -> String {
        match self {
            Self::Behind(at) => format!("marker behind c{}", at % 6),
            Self::Measured(at) | Self::Smooth(at) => format!("marker c{}", at % 6),
            Self::Guide => "marker".to_owned(),
        }
    }

    const fn series(self) -> Option<usize> {
        match self {
            Self::Measured(at) | Self::Behind(at) => Some(at),
            Self::Smooth(_) | Self::Guide => None,
        }
    }
}

/// The outline of a series' marker around a place.
fn marker(series: usize, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("M{} {}", coordinate(x + dx), coordinate(y + dy));
    match series % 5 {
        0 => format!("{}a3.2 3.2 0 1 0 6.4 0 3.2 3.2 0 1 0-6.4 0z", at(-3.2, 0.0)),
        1 => format!("{}h6v6h-6z", at(-3.0, -3.0)),
        2 => format!("{}l4 4-4 4-4-4z", at(0.0, -4.0)),
        3 => format!("{}l4 7h-8z", at(0.0, -4.2)),
        _ => format!("{}l-4-7h8z", at(0.0, 4.2)),
    }
}

impl LineChart {
    /// The chart with its legend; `None` if there is nothing to draw.
    pub fn render(&self) -> Option<Markup> {
        let spots = || self.lines.iter().flat_map(|line| &line.spots);
        let bottom = HEIGHT - BOTTOM;
        let y = Scale::covering(self.y.kind, spots().map(|spot| spot.y), (bottom, TOP))?;
        let widest = y.ticks().iter().map(|tick| tick_text(*tick).len()).max().unwrap_or(0);
        let left = 14.0 + widest as f64 * LETTER;
        let marked = self.mark.iter().flat_map(|mark| {
            let (low, high) = mark.band.unwrap_or((mark.x, mark.x));
            [mark.x, low, high]
        });
        let x = Scale::covering(
            self.x.kind,
            spots().map(|spot| spot.x).chain(marked),
            (left + INSET, WIDTH - RIGHT - INSET),
        )?;
        Some(html! {
            figure.chart {
                figcaption { (self.title) }
                @if self.lines.len() > 1 || self.lines.iter().any(|line| line.look == Look::Guide) { (self.legend()) }
                div.scroll {
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.described()) {
                        (self.axes(&x, &y, left, bottom))
                        @if let Some(mark) = &self.mark { (drawn_mark(mark, &x, bottom)) }
                        @for line in &self.lines { (self.drawn_line(line, &x, &y)) }
                    }
                }
            }
        })
    }

    fn described(&self) -> String {
        let names: Vec<&str> = self.lines.iter().map(|line| line.name.as_str()).collect();
        format!("{}. {} over {}. Lines: {}.", self.title, self.y.title, self.x.title, names.join(", "))
    }

    fn legend(&self) -> Markup {
        html! {
            ul.legend {
                @for line in &self.lines {
                    li {
                        svg.swatch viewBox="0 0 34 12" aria-hidden="true" {
                            path class=(line.look.class()) d="M1 6H33" {}
                            @if let Some(series) = line.look.series() {
                                path class=(line.look.marker_class()) d=(marker(series, 17.0, 6.0)) {}
                            }
                        }
                        (line.name)
                    }
                }
            }
        }
    }

    fn axes(&self, x: &Scale, y: &Scale, left: f64, bottom: f64) -> Markup {
        let across = x.ticks().into_iter().filter_map(|tick| Some((tick, x.at(tick)?)));
        let up = y.ticks().into_iter().filter_map(|tick| Some((tick, y.at(tick)?)));
        html! {
            g.axis {
                @for (tick, place) in up {
                    path.rule d={ "M" (coordinate(left)) " " (coordinate(place)) "H" (WIDTH - RIGHT) } {}
                    text.end x=(coordinate(left - 6.0)) y=(coordinate(place + 4.0)) { (tick_text(tick)) }
                }
                @for (tick, place) in across {
                    path.tick d={ "M" (coordinate(place)) " " (bottom) "v5" } {}
                    text.middle x=(coordinate(place)) y=(bottom + 18.0) { (tick_text(tick)) }
                }
                path.base d={ "M" (coordinate(left)) " " (bottom) "H" (WIDTH - RIGHT) } {}
                text.unit x="2" y="14" { (self.y.title) }
                text.unit.end x=(WIDTH - RIGHT) y=(HEIGHT - 6.0) { (self.x.title) }
            }
        }
    }

    fn drawn_line(&self, line: &Line, x: &Scale, y: &Scale) -> Markup {
        let shown: Vec<(&Spot, (f64, f64))> =
            line.spots.iter().filter_map(|spot| Some((spot, (x.at(spot.x)?, y.at(spot.y)?)))).collect();
        let places: Vec<(f64, f64)> = shown.iter().map(|(_, place)| *place).collect();
        let kept: Vec<String> = decimate::kept(&places)
            .into_iter()
            .map(|at| format!("{} {}", coordinate(places[at].0), coordinate(places[at].1)))
            .collect();
        html! {
            @if places.len() > 1 { path class=(line.look.class()) d={ "M" (kept.join("L")) } {} }
            @if let Some(series) = line.look.series() {
                g class=(line.look.marker_class()) {
                    @for at in with_markers(&places) {
                        path d=(marker(series, places[at].0, places[at].1)) { title { (self.tooltip(line, shown[at].0)) } }
                    }
                }
                @for (spot, place) in shown.iter().filter(|(spot, _)| !spot.flags.is_empty()) {
                    circle.flag cx=(coordinate(place.0)) cy=(coordinate(place.1)) r="6.5" {
                        title { (self.tooltip(line, spot)) }
                    }
                }
            }
        }
    }

    fn tooltip(&self, line: &Line, spot: &Spot) -> String {
        let value = number(spot.y).unwrap_or_else(|| UNKNOWN.to_owned());
        let what = format!("{}, {}: {value} ({})", line.name, spot.label, self.y.title);
        let flags = spot.flags.iter().map(|flag| format!("{flag}: {}", flag_meaning(flag)));
        std::iter::once(what).chain(flags).collect::<Vec<_>>().join("; ")
    }
}

/// Which points get a marker: all of a few, else every n-th and the two extremes.
fn with_markers(places: &[(f64, f64)]) -> Vec<usize> {
    let every = places.len().div_ceil(MARKERS_AT_MOST).max(1);
    let height = |at: &usize, other: &usize| places[*at].1.total_cmp(&places[*other].1);
    let extremes = (0..places.len()).min_by(height).into_iter().chain((0..places.len()).max_by(height));
    let mut chosen: Vec<usize> = (0..places.len()).step_by(every).chain(extremes).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn drawn_mark(mark: &Mark, x: &Scale, bottom: f64) -> Markup {
    let Some(place) = x.at(mark.x) else { return Markup::default() };
    let band = mark.band.and_then(|(low, high)| x.at(low).zip(x.at(high)));
    // The text stands where there is more room.
    let (side, offset) = if place > WIDTH / 2.0 { ("end", -7.0) } else { ("start", 7.0) };
    html! {
        g.mark {
            @if let Some((low, high)) = band {
                rect x=(coordinate(low)) y=(TOP) width=(coordinate((high - low).max(1.0))) height=(bottom - TOP) {}
            }
            path d={ "M" (coordinate(place)) " " (TOP) "V" (bottom) } {}
            text class=(side) x=(coordinate(place + offset)) y=(TOP + 12.0) { (mark.label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Kind;

    fn chart(values: &[f64]) -> LineChart {
        let axis = |title: &str, kind| Axis { title: title.to_owned(), kind };
        let spot = |(at, y): (usize, &f64)| Spot { x: at as f64, y: *y, ..Spot::default() };
        let spots = values.iter().enumerate().map(spot).collect();
        LineChart {
            title: "t".into(),
            x: axis("x", Kind::Index),
            y: axis("y", Kind::FromZero),
            lines: vec![Line { name: "a".into(), look: Look::Measured(0), spots }],
            mark: None,
        }
    }

    #[test]
    fn nothing_to_draw_is_no_chart_and_one_point_is_a_marker() {
        assert!(chart(&[]).render().is_none());
        assert!(chart(&[f64::NAN]).render().is_none());
        let one = chart(&[5.0]).render().unwrap().into_string();
        assert!(!one.contains("class=\"line") && one.matches("<title>").count() == 1, "{one}");
    }

    #[test]
    fn thousands_of_points_stay_small_and_keep_their_extremes() {
        let mut values: Vec<f64> = (0..20_000).map(|at| 100.0 + f64::from(at % 13)).collect();
        values[777] = 3.0;
        let drawn = chart(&values).render().unwrap().into_string();
        assert!(drawn.len() < 40_000, "{}", drawn.len());
        assert!(drawn.contains(": 3.00 (y)"));
    }
}
