//! Line charts: several series over one axis, with tooltips, flagged points and a marked position.

use maud::{Markup, html};

use super::axes::{Area, axes};
use super::scale::Scale;
use super::{LETTER, WIDTH, coordinate, decimate, labels};
use crate::model::format::{UNKNOWN, ends, flag_meaning, number};
use crate::model::{Line, LineChart, Look, Mark, Spot};

/// About so many markers a series has at most, so that they don't become a band.
const MARKERS_AT_MOST: usize = 48;
/// Width of a marker.
const MARKER: f64 = 8.0;
const HEIGHT: f64 = 320.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 42.0;
const RIGHT: f64 = 20.0;
/// From the last point to the name of its line: what of the line is repeated there, and the room around it.
const TO_NAME: f64 = 36.0;
/// Room between the vertical axis and the first point, and behind the last.
const INSET: f64 = 12.0;

/// A line that ends so far from its name is led to it.
const FAR: f64 = 40.0;

impl Look {
    /// Kind, colour and dash: classes of the style sheet. Colour and dash repeat after six and five series, together after
    /// thirty.
    const fn parts(self) -> (&'static str, usize, usize) {
        match self {
            Self::Measured(at) => ("", at % 6, at % 5),
            Self::Member(family, member) => ("", family % 6, member % 5),
            Self::Behind(at) => (" behind", at % 6, 0),
            Self::Smooth(at) => (" smooth", at % 6, at % 5),
            Self::Guide => (" guide", 0, 0),
        }
    }

    fn class(self) -> String {
        let (kind, colour, dash) = self.parts();
        if self == Self::Guide { "line guide".to_owned() } else { format!("line{kind} c{colour} d{dash}") }
    }

    /// The class of markers, and the series that they tell apart; `None` where a line has none.
    fn marker(self) -> Option<(String, usize)> {
        let (kind, colour, _) = self.parts();
        match self {
            Self::Measured(at) | Self::Behind(at) | Self::Member(_, at) => {
                Some((format!("marker{kind} c{colour}"), at))
            }
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
    /// The chart, its lines named beside their ends, or in a legend where they are many; `None` if there is nothing to
    /// draw.
    pub fn render(&self) -> Option<Markup> {
        let spots = || self.lines.iter().flat_map(|line| &line.spots);
        let heights = spots().flat_map(|spot| {
            let (low, high) = spot.range.unwrap_or((spot.y, spot.y));
            [spot.y, low, high]
        });
        let y = Scale::covering(self.y.kind, heights, (HEIGHT - BOTTOM, TOP))?;
        let widest = y.ticks().iter().map(|tick| self.y.kind.tick_text(*tick).len()).max().unwrap_or(0);
        let left = 14.0 + widest as f64 * LETTER;
        let named = self.named();
        let longest = named.iter().map(|line| line.name.chars().count()).max();
        let right = WIDTH - longest.map_or(RIGHT, |letters| TO_NAME + letters as f64 * LETTER);
        let marked = self.mark.iter().flat_map(|mark| {
            let (low, high) = mark.band.unwrap_or((mark.x, mark.x));
            [mark.x, low, high]
        });
        let places = spots().filter(|spot| spot.y.is_finite()).map(|spot| spot.x);
        let x = Scale::covering(self.x.kind, places.chain(marked), (left + INSET, right - INSET))?;
        let area = Area { x, y, left, right, bottom: HEIGHT - BOTTOM };
        Some(html! {
            figure.chart {
                figcaption { (self.title) }
                @if named.is_empty() && self.lines.len() > 1 { (self.legend()) }
                div.scroll {
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.described()) {
                        (axes(&area, (&self.x, &self.y), HEIGHT))
                        @if let Some(mark) = &self.mark { (drawn_mark(mark, &area)) }
                        @for line in &self.lines { (self.drawn_line(line, &area)) }
                        (names(&named, &area))
                    }
                }
            }
        })
    }

    /// The lines that are named beside their ends: none of a single one, and none where they are too many. What is drawn
    /// pale behind a smooth line has the name of that.
    fn named(&self) -> Vec<&Line> {
        let has_smooth = |at: usize| self.lines.iter().any(|line| line.look == Look::Smooth(at));
        let own = |line: &&Line| !matches!(line.look, Look::Behind(at) if has_smooth(at));
        let named: Vec<&Line> = self.lines.iter().filter(own).collect();
        if (2..=labels::MOST).contains(&named.len()) { named } else { Vec::new() }
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
                            @if let Some((class, series)) = line.look.marker() {
                                path class=(class) d=(marker(series, 17.0, 6.0)) {}
                            }
                        }
                        (line.name)
                    }
                }
            }
        }
    }

    fn drawn_line(&self, line: &Line, area: &Area) -> Markup {
        let shown: Vec<(&Spot, (f64, f64))> =
            line.spots.iter().filter_map(|spot| Some((spot, area.place(spot)?))).collect();
        let places: Vec<(f64, f64)> = shown.iter().map(|(_, place)| *place).collect();
        let path: String = line.spots.split(|spot| area.place(spot).is_none()).map(|run| unbroken(run, area)).collect();
        html! {
            @if !path.is_empty() { path class=(line.look.class()) d=(path) {} }
            @if let Some((class, series)) = line.look.marker() {
                // Where not every point has room for a marker it has none for a whisker.
                @for (spot, place) in with_markers(&places).into_iter().map(|at| &shown[at]) {
                    @if let Some((low, high)) = spot.range.and_then(|(low, high)| area.y.at(low).zip(area.y.at(high))) {
                        path class={ "spread c" (line.look.parts().1) } d={
                            "M" (coordinate(place.0 - 4.0)) " " (coordinate(low)) "h8m-4 0V" (coordinate(high)) "m-4 0h8"
                        } {}
                    }
                }
                g class=(class) {
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
        let range = spot.range.and_then(|(low, high)| ends(spot.y, low, high));
        let range = range.map_or_else(String::new, |ends| format!(", {ends}"));
        let what = format!("{}, {}: {value}{range} ({})", line.name, spot.label, self.y.title);
        let flags = spot.flags.iter().map(|flag| format!("{flag}: {}", flag_meaning(flag)));
        std::iter::once(what).chain(flags).collect::<Vec<_>>().join("; ")
    }
}

/// The path of spots that all have a place; nothing of a single one, which its marker shows.
fn unbroken(run: &[Spot], area: &Area) -> String {
    let places: Vec<(f64, f64)> = run.iter().filter_map(|spot| area.place(spot)).collect();
    if places.len() < 2 {
        return String::new();
    }
    let kept = decimate::kept(&places).into_iter();
    let kept: Vec<String> =
        kept.map(|at| format!("{} {}", coordinate(places[at].0), coordinate(places[at].1))).collect();
    format!("M{}", kept.join("L"))
}

/// The names of lines beside the ends of these, each behind a piece of its line.
fn names(lines: &[&Line], area: &Area) -> Markup {
    let start = area.right - INSET + 6.0;
    let end = |line: &Line| line.spots.iter().rev().find_map(|spot| area.place(spot));
    let ends = lines.iter().filter_map(|line| Some((*line, end(line)?)));
    // A guide that ends before the others is named where it does.
    let (early, ends): (Vec<_>, Vec<_>) = ends.partition(|(line, (x, _))| line.look == Look::Guide && start - x > FAR);
    let wanted: Vec<f64> = ends.iter().map(|(_, (_, y))| *y).collect();
    let heights = labels::spread(&wanted, TOP, area.bottom);
    html! {
        g.names {
            @for (line, (x, y)) in early { text.end x=(coordinate(x - 6.0)) y=(coordinate(y + 4.0)) { (line.name) } }
            @for ((line, (x, y)), height) in ends.iter().zip(heights) {
                @if start - x > FAR {
                    path.leader d={ "M" (coordinate(x + 6.0)) " " (coordinate(*y)) "L" (coordinate(start)) " " (coordinate(height)) } {}
                }
                path class=(line.look.class()) d={ "M" (coordinate(start)) " " (coordinate(height)) "h22" } {}
                @if let Some((class, series)) = line.look.marker() {
                    path class=(class) d=(marker(series, start + 11.0, height)) {}
                }
                text x=(coordinate(start + 27.0)) y=(coordinate(height + 4.0)) { (line.name) }
            }
        }
    }
}

/// Which points get a marker: those that are far enough from the last that has one, and the two extremes.
fn with_markers(places: &[(f64, f64)]) -> Vec<usize> {
    let apart = if places.len() > MARKERS_AT_MOST { WIDTH / MARKERS_AT_MOST as f64 } else { MARKER };
    let mut chosen: Vec<usize> = Vec::new();
    for (at, (x, y)) in places.iter().enumerate() {
        let is_near = |last: &usize| {
            let (dx, dy) = (x - places[*last].0, y - places[*last].1);
            // Many points are as far apart as their course is long; what goes up and down needs no more markers.
            dx.abs() < apart && (dx.hypot(dy) < apart || places.len() > MARKERS_AT_MOST)
        };
        if !chosen.last().is_some_and(is_near) {
            chosen.push(at);
        }
    }
    let height = |at: &usize, other: &usize| places[*at].1.total_cmp(&places[*other].1);
    chosen.extend((0..places.len()).min_by(height).into_iter().chain((0..places.len()).max_by(height)));
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn drawn_mark(mark: &Mark, area: &Area) -> Markup {
    let (x, bottom) = (&area.x, area.bottom);
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
    use crate::model::{Axis, Kind};

    fn chart(values: &[f64]) -> LineChart {
        let spot = |(at, y): (usize, &f64)| Spot { x: at as f64, y: *y, ..Spot::default() };
        let spots = values.iter().enumerate().map(spot).collect();
        LineChart {
            title: "t".into(),
            x: Axis::new("x", Kind::Index),
            y: Axis::new("y", Kind::FromZero),
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
    fn a_gap_breaks_the_line_and_several_lines_are_named_where_they_end() {
        let mut gap = chart(&[1.0, 2.0, f64::NAN, 4.0, 5.0]);
        let drawn = gap.render().unwrap().into_string();
        let path = drawn.split("class=\"line c0 d0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert!(!drawn.contains("NaN") && drawn.matches("<title>").count() == 4);
        gap.lines.push(Line { name: "other".into(), look: Look::Measured(1), ..chart(&[3.0]).lines.remove(0) });
        let drawn = gap.render().unwrap().into_string();
        assert!(drawn.contains(">other</text>") && !drawn.contains("class=\"legend\""), "{drawn}");
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
