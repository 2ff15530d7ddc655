//! The classes that colour what is drawn.

use crate::model::Color;

/// The class of a tone, behind a letter that says what is coloured.
pub fn class(letter: char, tone: Color) -> String {
    tone.map_or_else(|| format!("{letter}x"), |tone| format!("{letter}{}", tone % 7))
}
