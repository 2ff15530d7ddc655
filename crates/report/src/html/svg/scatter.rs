//! Scatters: discs by two figures, of an area by a third one. The largest ones have their names beside them.

use maud::{Markup, html};

use super::axes::{Area, axes};
use super::scale::Scale;
use super::{LETTER, WIDTH, class, coordinate};
use crate::model::{Disc, Scatter};

const HEIGHT: f64 = 380.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 42.0;
const RIGHT: f64 = 14.0;
/// The radius of the largest disc, and of the smallest that can be seen.
const LARGEST: f64 = 26.0;
const SMALLEST: f64 = 2.5;
/// Room between the axes and the middle of a disc.
const INSET: f64 = LARGEST + 4.0;
/// So many have a name, of so many letters.
const NAMED: usize = 10;
const LETTERS: usize = 34;
/// The height of a name, and the room between a disc and its name.
const LINE: f64 = 15.0;
const APART: f64 = 5.0;
/// How far a name beside a disc may stand above or below its middle, where that is taken.
const SHIFTS: [f64; 7] = [0.0, -6.0, 6.0, -12.0, 12.0, -18.0, 18.0];

/// From the left to the right and from the top to the bottom.
#[derive(Debug, Clone, Copy)]
struct Rectangle {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Rectangle {
    fn covers(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn is_within(&self, other: &Self) -> bool {
        self.left >= other.left && self.right <= other.right && self.top >= other.top && self.bottom <= other.bottom
    }
}

/// A disc and where it is drawn: its middle and its radius.
struct Drawn<'d> {
    disc: &'d Disc,
    x: f64,
    y: f64,
    radius: f64,
}

/// A name: its text, where it is anchored, and its class.
struct Name {
    text: String,
    x: f64,
    y: f64,
    anchor: &'static str,
}

impl Scatter {
    /// The chart; `None` if nothing has a place.
    pub fn render(&self) -> Option<Markup> {
        let most = self.shown().next()?.area;
        let (xs, ys) = (self.shown().map(|disc| disc.x), self.shown().map(|disc| disc.y));
        let y = Scale::covering(self.y.kind, ys, (HEIGHT - BOTTOM - INSET, TOP + INSET))?;
        let widest = y.ticks().iter().map(|tick| self.y.kind.tick_text(*tick).len()).max().unwrap_or(0);
        let left = 14.0 + widest as f64 * LETTER;
        let x = Scale::covering(self.x.kind, xs, (left + INSET, WIDTH - RIGHT - INSET))?;
        let area = Area { x, y, left, right: WIDTH - RIGHT, bottom: HEIGHT - BOTTOM };
        let place = |disc: &'_ Disc| area.x.at(disc.x).zip(area.y.at(disc.y));
        let radius = |disc: &Disc| ((disc.area / most).sqrt() * LARGEST).max(SMALLEST);
        let drawn: Vec<Drawn<'_>> = self
            .shown()
            .filter_map(|disc| place(disc).map(|(x, y)| Drawn { disc, x, y, radius: radius(disc) }))
            .collect();
        Some(html! {
            figure.chart {
                figcaption { (self.title) small { " Area: " (self.area) "." } }
                div.scroll {
                    svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.described()) {
                        (axes(&area, (&self.x, &self.y), HEIGHT))
                        // The small ones last: they stay in sight.
                        g.discs {
                            @for one in &drawn {
                                circle.(class('f', one.disc.tone)) cx=(coordinate(one.x)) cy=(coordinate(one.y)) r=(coordinate(one.radius)) {
                                    title { (one.disc.about) }
                                }
                            }
                            @for name in names(&drawn, &area) {
                                text.(name.anchor) x=(coordinate(name.x)) y=(coordinate(name.y)) { (name.text) }
                            }
                        }
                    }
                }
            }
        })
    }

    fn described(&self) -> String {
        let largest: Vec<&str> = self.shown().take(NAMED).map(|disc| disc.about.as_str()).collect();
        format!("{}. {} over {}. The largest: {}.", self.title, self.y.title, self.x.title, largest.join("; "))
    }
}

/// Names of the largest discs, each where it covers no other name and no middle of one of them; none where there is no such place.
fn names(drawn: &[Drawn<'_>], area: &Area) -> Vec<Name> {
    let all = Rectangle { left: area.left, right: area.right, top: TOP - LINE, bottom: area.bottom };
    let middle = |one: &Drawn<'_>| Rectangle {
        left: one.x - SMALLEST,
        right: one.x + SMALLEST,
        top: one.y - SMALLEST,
        bottom: one.y + SMALLEST,
    };
    let mut taken: Vec<Rectangle> = drawn.iter().take(NAMED).map(middle).collect();
    let mut names = Vec::new();
    for one in drawn.iter().take(NAMED) {
        let text = shortened(&one.disc.name);
        let width = text.chars().count() as f64 * LETTER;
        let (off, half) = (one.radius + APART, width / 2.0);
        let right = SHIFTS.map(|shift| (one.x + off, one.y + 4.0 + shift, "start", one.x + off));
        let left = SHIFTS.map(|shift| (one.x - off, one.y + 4.0 + shift, "end", one.x - off - width));
        let above = (one.x, one.y - off, "middle", one.x - half);
        let below = (one.x, one.y + off + LINE - 4.0, "middle", one.x - half);
        let found = right.into_iter().chain(left).chain([above, below]).find_map(|(x, y, anchor, left)| {
            let room = Rectangle { left, right: left + width, top: y - LINE + 4.0, bottom: y + 4.0 };
            let is_free = room.is_within(&all) && !taken.iter().any(|other| room.covers(other));
            is_free.then_some((room, Name { text: text.clone(), x, y, anchor }))
        });
        if let Some((room, name)) = found {
            taken.push(room);
            names.push(name);
        }
    }
    names
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LETTERS {
        return name.to_owned();
    }
    name.chars().take(LETTERS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Axis, Kind};

    fn chart(discs: &[(&str, f64, f64, f64)]) -> Scatter {
        let disc = |(name, x, y, area): &(&str, f64, f64, f64)| Disc {
            name: (*name).to_owned(),
            tone: Some(1),
            x: *x,
            y: *y,
            area: *area,
            about: format!("about {name}"),
        };
        Scatter {
            title: "t".to_owned(),
            x: Axis::new("x", Kind::Log),
            y: Axis::new("y", Kind::Log),
            area: "all".to_owned(),
            discs: discs.iter().map(disc).collect(),
        }
    }

    #[test]
    fn what_has_no_place_is_not_drawn_and_areas_are_to_scale() {
        assert!(chart(&[("none", 0.0, 1.0, 1.0), ("nothing", 1.0, 1.0, 0.0)]).render().is_none());
        let drawn = chart(&[("a", 10.0, 2.0, 100.0), ("b", 1_000.0, 20.0, 25.0)]).render().unwrap().into_string();
        assert!(drawn.contains(" r=\"26\"") && drawn.contains(" r=\"13\""), "{drawn}");
        assert!(drawn.contains("<title>about a</title>") && drawn.contains(">b</text>"), "{drawn}");
        assert!(drawn.contains("The largest: about a; about b."), "{drawn}");
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let near: Vec<(String, f64)> = (0..30).map(|at| (format!("statement {at}"), 100.0 + f64::from(at))).collect();
        let discs: Vec<_> = near.iter().map(|(name, x)| (name.as_str(), *x, 5.0, 9.0)).collect();
        let drawn = chart(&discs).render().unwrap().into_string();
        let named = drawn.matches(">statement ").count();
        assert!((1..=NAMED).contains(&named), "{named}");
        assert_eq!(drawn.matches("<circle").count(), 30);
        let long = chart(&[(&"x".repeat(99), 1.0, 1.0, 1.0)]).render().unwrap().into_string();
        assert!(long.contains(&format!(">{}…</text>", "x".repeat(LETTERS - 1))), "{long}");
    }
}
