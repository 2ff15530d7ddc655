//! Charts as inline SVG. Colours, weights and dashes come from the page's style sheet by class, so light, dark and
//! print share one drawing. Every series differs by dash and marker as well as by colour.

mod axes;
mod bar;
mod decimate;
mod labels;
mod line;
mod panel;
mod scale;
mod scatter;

use maud::Markup;

use crate::model::{Color, Picture};

/// The picture; nothing if none of it has a place.
pub fn picture(picture: &Picture) -> Markup {
    let drawn = match picture {
        Picture::Bars(chart) => chart.render(),
        Picture::Lines(chart) => chart.render(),
        Picture::Strips(panel) => panel.render(),
        Picture::Scatter(chart) => chart.render(),
    };
    drawn.unwrap_or_default()
}

/// Width of every drawing in its own units; the page scales it.
const WIDTH: f64 = 920.0;

/// Average width of a digit or letter at the drawing's text size.
const LETTER: f64 = 7.2;

/// The class of a tone, behind a letter that says what is coloured.
fn class(letter: char, tone: Color) -> String {
    tone.map_or_else(|| format!("{letter}x"), |tone| format!("{letter}{}", tone % 7))
}

/// A coordinate with one decimal, which is finer than any screen.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}
