//! Two axes with their ticks and titles, and the area between them.

use maud::{Markup, html};

use super::coordinate;
use super::scale::Scale;
use crate::model::{Axis, Spot};

/// Where a chart is drawn.
pub struct Area {
    pub x: Scale,
    pub y: Scale,
    pub left: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn place(&self, spot: &Spot) -> Option<(f64, f64)> {
        self.x.at(spot.x).zip(self.y.at(spot.y))
    }
}

/// The axes of a drawing of this height.
pub fn axes(area: &Area, (x, y): (&Axis, &Axis), height: f64) -> Markup {
    let ticks = if x.ticks.is_empty() { area.x.ticks() } else { x.ticks.clone() };
    let across = ticks.into_iter().filter_map(|tick| Some((tick, area.x.at(tick)?)));
    let up = area.y.ticks().into_iter().filter_map(|tick| Some((tick, area.y.at(tick)?)));
    let (left, right, bottom) = (coordinate(area.left), coordinate(area.right), area.bottom);
    html! {
        g.axis {
            @for (tick, place) in up {
                path.rule d={ "M" (left) " " (coordinate(place)) "H" (right) } {}
                text.end x=(coordinate(area.left - 6.0)) y=(coordinate(place + 4.0)) { (y.kind.tick_text(tick)) }
            }
            @for (tick, place) in across {
                path.tick d={ "M" (coordinate(place)) " " (bottom) "v5" } {}
                text.middle x=(coordinate(place)) y=(bottom + 18.0) { (x.kind.tick_text(tick)) }
            }
            path.base d={ "M" (left) " " (bottom) "H" (right) } {}
            text.unit x="2" y="14" { (y.title) }
            text.unit.end x=(right) y=(height - 6.0) { (x.title) }
        }
    }
}
