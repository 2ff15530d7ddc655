//! Texts as a terminal has room for them. Whatever is drawn passes here, so that nothing of it drives the terminal.

use plimsoll_measurement::foreign;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A text on one line, of so many columns at most: what is longer ends with an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    let line = foreign::plain(text);
    if width(&line) <= most {
        return line;
    }
    if most == 0 {
        return String::new();
    }
    let mut cut = fitting(&line, most - 1).to_owned();
    cut.push('…');
    cut
}

/// As much of the begin of a text as fits into so many columns.
fn fitting(text: &str, most: usize) -> &str {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += width(character.encode_utf8(&mut [0; 4]));
        if taken > most {
            return &text[..at];
        }
    }
    text
}

/// A text in lines of so many columns at most, cut at spaces where there are any. Its own lines stay lines.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(1);
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = foreign::plain(line);
        let mut rest = line.trim_end();
        while width(rest) > most {
            let fits = fitting(rest, most);
            // A character that is wider than a line stands alone.
            let fits = if fits.is_empty() { &rest[..rest.chars().next().map_or(0, char::len_utf8)] } else { fits };
            let is_whole = rest[fits.len()..].starts_with(' ');
            let end = if is_whole { fits.len() } else { fits.rfind(' ').map_or(fits.len(), |at| at + 1) };
            lines.push(rest[..end].trim_end().to_owned());
            rest = rest[end..].trim_start();
        }
        if !rest.is_empty() || line.trim_end().is_empty() {
            lines.push(rest.to_owned());
        }
    }
    lines
}

/// Sentences in so many lines at most; the last one is cut.
pub fn paragraph(text: &str, most: usize, lines: usize) -> Vec<String> {
    let mut all = wrap(text, most);
    if all.len() > lines {
        let rest = all.split_off(lines.saturating_sub(1)).join(" ");
        all.extend((lines > 0).then(|| cut(&rest, most)));
    }
    all
}

/// Draws a text at a place of an area, and cuts it at its right end.
pub fn put(buffer: &mut Buffer, area: Rect, (x, y): (u16, u16), text: &str, style: Style) {
    if x < area.width && y < area.height {
        let room = usize::from(area.width - x);
        buffer.set_string(area.x + x, area.y + y, cut(text, room), style);
    }
}

/// The same with the text flush with the right end of the area.
pub fn put_right(buffer: &mut Buffer, area: Rect, y: u16, text: &str, style: Style) {
    let text = cut(text, area.width.into());
    let x = usize::from(area.width).saturating_sub(width(&text));
    put(buffer, area, (u16::try_from(x).unwrap_or(u16::MAX), y), &text, style);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so_and_fits() {
        assert_eq!(
            (cut("SELECT 1", 8), cut("SELECT 1", 7), cut("SELECT", 0)),
            ("SELECT 1".into(), "SELECT…".into(), String::new())
        );
        assert_eq!(cut("数据库表", 5), "数据…", "characters of two columns");
        assert_eq!(cut("a\u{1b}[2J\nb", 20), "a\u{fffd}[2J b");
    }

    #[test]
    fn lines_are_cut_at_spaces_and_lose_nothing() {
        assert_eq!(wrap("one two  three\n\tfour", 8), ["one two", "three", " four"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("数据", 1), ["数", "据"]);
        assert_eq!(wrap("a\u{7}b\u{1b}", 10), ["a\u{fffd}b\u{fffd}"]);
        assert_eq!(paragraph("one two three four", 9, 2), ["one two", "three fo…"].map(String::from));
        assert_eq!(paragraph("one two", 9, 2), ["one two"]);
    }
}
