//! T-SQL texts cut into pieces: words, signs, and what needs no look: texts in quotes, comments, numbers, variables.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A name or a word, also in brackets or double quotes.
    Word(&'a str),
    /// A text in quotes, a comment, a number, a variable, blanks: nothing to look at.
    Other(&'a str),
    /// A sign by itself.
    Sign(&'a str),
}

impl<'a> Piece<'a> {
    pub(super) const fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Other(text) | Self::Sign(text) => text,
        }
    }

    pub(super) fn is_blank(self) -> bool {
        let text = self.text();
        text.trim().is_empty() || text.starts_with("--") || text.starts_with("/*")
    }
}

/// The text with `SET NOCOUNT OFF` for each `SET NOCOUNT ON`: a session that counts no rows would show 0 for all that comes later. Behind a
/// loop, of which the server would count each round, it stands at the end. `None` if there is none, or the text makes a procedure, a
/// function or a trigger, where the setting ends with each call.
pub(super) fn with_counts(sql: &str) -> Option<String> {
    let pieces = pieces(sql);
    let words: Vec<usize> = (0..pieces.len()).filter(|at| !pieces[*at].is_blank()).collect();
    let is = |at: usize, word: &str| pieces[at].text().eq_ignore_ascii_case(word);
    if words.first().is_some_and(|first| is(*first, "CREATE") || is(*first, "ALTER")) {
        return None;
    }
    let switches = words.windows(3).filter(|of| is(of[0], "SET") && is(of[1], "NOCOUNT") && is(of[2], "ON"));
    let switches: Vec<usize> = switches.map(|of| of[2]).collect();
    if words.iter().any(|at| is(*at, "WHILE")) && !switches.is_empty() {
        return Some(format!("{sql}\n;SET NOCOUNT OFF"));
    }
    let text = |(at, piece): (usize, &Piece<'_>)| if switches.contains(&at) { "OFF" } else { piece.text() }.to_owned();
    (!switches.is_empty()).then(|| pieces.iter().enumerate().map(text).collect())
}

/// Cuts a text into pieces, which together are the text.
pub(super) fn pieces(sql: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || "_@#$".contains(c);
        let to = |end: Option<usize>| end.unwrap_or(rest.len());
        let (length, kind) = if rest.starts_with("--") {
            (to(rest.find('\n')), 'o')
        } else if rest.starts_with("/*") {
            (comment_length(rest), 'o')
        } else if first == '\'' {
            (1 + quoted_length(&rest[1..], '\''), 'o')
        } else if first == '[' {
            (1 + quoted_length(&rest[1..], ']'), 'w')
        } else if first == '"' {
            (1 + quoted_length(&rest[1..], '"'), 'w')
        } else if first.is_whitespace() {
            (to(rest.find(|c: char| !c.is_whitespace())), 'o')
        } else if let Some(length) = number_length(rest) {
            (length, 'o')
        } else if is_word(first) {
            let kind = if first == '@' || first == '#' { 'o' } else { 'w' };
            (to(rest.find(|c| !is_word(c))), kind)
        } else {
            (first.len_utf8(), 's')
        };
        let (text, behind) = rest.split_at(length);
        pieces.push(match kind {
            'w' => Piece::Word(text),
            's' => Piece::Sign(text),
            _ => Piece::Other(text),
        });
        rest = behind;
    }
    pieces
}

/// Bytes of a number, if there is one. The next word may follow it without a blank: `1DELETE` is two pieces to the server.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let run =
        |from: usize, belongs: fn(&u8) -> bool| from + bytes[from..].iter().take_while(|byte| belongs(byte)).count();
    let digits = |from: usize| run(from, u8::is_ascii_digit);
    let is_at = |at: usize, signs: &[u8]| bytes.get(at).is_some_and(|byte| signs.contains(byte));
    let starts = is_at(0, b"0123456789$") || is_at(0, b".") && digits(1) > 1;
    if !starts {
        return None;
    }
    if is_at(0, b"0") && is_at(1, b"xX") {
        return Some(run(2, u8::is_ascii_hexdigit));
    }
    // Money has its sign in front.
    let mut end = digits(usize::from(is_at(0, b"$")));
    if is_at(end, b".") {
        end = digits(end + 1);
    }
    if !is_at(0, b"$") && is_at(end, b"eE") {
        end = digits(end + 1 + usize::from(is_at(end + 1, b"+-")));
    }
    Some(end)
}

/// Bytes up to and with the closing quote; a quote that is doubled is none.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find(quote) {
        let behind = from + at + 1;
        if !text[behind..].starts_with(quote) {
            return behind;
        }
        from = behind + 1;
    }
    text.len()
}

/// Bytes of a comment; comments may lie in each other.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_go_on_counting_rows() {
        let to = |sql: &str| with_counts(sql).unwrap_or_else(|| "as it was".to_owned());
        assert_eq!(to("SET NOCOUNT ON; UPDATE t SET a = 1"), "SET NOCOUNT OFF; UPDATE t SET a = 1");
        assert_eq!(
            to("set /* x */ nocount\non SELECT 'SET NOCOUNT ON'"),
            "set /* x */ nocount\nOFF SELECT 'SET NOCOUNT ON'"
        );
        assert_eq!(to("CREATE PROCEDURE p AS SET NOCOUNT ON; SELECT 1"), "as it was");
        let looped = "SET NOCOUNT ON; WHILE 1 = 0 PRINT 'x'";
        assert_eq!(to(looped), format!("{looped}\n;SET NOCOUNT OFF"));
        assert_eq!(to("SET NOCOUNT OFF; SET XACT_ABORT ON"), "as it was");
    }
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_is_lost(sql in "[a-zFROM'\\[\\]\"(),;.@#*/ \n-]{0,60}") {
            let together: String = pieces(&sql).into_iter().map(Piece::text).collect();
            prop_assert_eq!(together, sql);
        }
    }
}
