//! What a report of a self-test must not have: names of a server and of its owner in what the server says.

use plimsoll_engine::self_test::is_of_owner;
use plimsoll_measurement::SelfTestRecord;

/// Stands for a name.
const MASK: &str = "<name>";

/// What our own sentences quote.
const OWN: &str = "plimsoll clean";

/// Signs around what a server quotes, by how they open and close.
const QUOTES: [(char, char); 9] =
    [('"', '"'), ('\'', '\''), ('`', '`'), ('[', ']'), ('«', '»'), ('»', '«'), ('“', '”'), ('‘', '’'), ('„', '“')];

/// Hides names in texts of a server.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// Names that are known, the longest first.
    names: Vec<String>,
}

impl Mask {
    /// Of these names.
    pub fn new(mut names: Vec<String>) -> Self {
        names.retain(|name| !name.trim().is_empty());
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.dedup();
        Self { names }
    }

    /// The record as it may be given away: of what the server said there are only the words that no name can be. `own` has the
    /// statement of each check. What the user may do is left out, as it has names and is of no use to others.
    pub fn masked(&self, record: &SelfTestRecord, own: &[String]) -> SelfTestRecord {
        let mut record = record.clone();
        record.engine_version = self.without_names(&record.engine_version);
        record.product = record.product.map(|product| self.without_names(&product));
        for warning in &mut record.warnings {
            *warning = self.hidden(warning, OWN);
        }
        for (at, check) in record.checks.iter_mut().enumerate() {
            let own = own.get(at).map_or("", String::as_str);
            let detail = check.detail.take().filter(|_| !check.code.as_deref().is_some_and(is_of_owner));
            check.detail = detail.map(|detail| self.hidden(&detail, own));
            check.hint = None;
        }
        record
    }

    /// The text without names, without what is quoted and without what looks like a path, an address or a name of several parts. What
    /// stands in `own`, a statement of ours, is no name of the user's.
    pub fn hidden(&self, text: &str, own: &str) -> String {
        let mut hidden = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, open, close)) = first_quote(rest, hidden.chars().next_back()) {
            hidden.push_str(&self.plain(&rest[..before], own));
            let inside = &rest[before + open.len_utf8()..];
            let end = end_of_quote(inside, close).unwrap_or(inside.len());
            let quoted = &inside[..end];
            hidden.push(open);
            hidden.push_str(if self.is_own(quoted, own) { quoted } else { MASK });
            hidden.push(close);
            rest = inside[end..].strip_prefix(close).unwrap_or_default();
        }
        hidden.push_str(&self.plain(rest, own));
        hidden
    }

    /// A piece without quotes.
    fn plain(&self, piece: &str, own: &str) -> String {
        let words = piece.split_inclusive(char::is_whitespace).map(|word| {
            let bare = word.trim_matches(|c: char| c.is_whitespace() || ".,;:!?()".contains(c));
            if bare.is_empty() || !is_compound(bare) || self.is_own(bare, own) {
                return word.to_owned();
            }
            word.replacen(bare, MASK, 1)
        });
        self.without_names(&words.collect::<String>())
    }

    /// True for words of our own statement that are no known name.
    fn is_own(&self, words: &str, own: &str) -> bool {
        !words.is_empty()
            && find_word(own, words).is_some()
            && !self.names.iter().any(|name| name.eq_ignore_ascii_case(words))
    }

    /// The text without known names where they stand as words.
    fn without_names(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for name in &self.names {
            let mut from = 0;
            while let Some(at) = find_word(&text[from..], name).map(|at| from + at) {
                text.replace_range(at..at + name.len(), MASK);
                from = at + MASK.len();
            }
        }
        text
    }
}

/// Where the first quoted text begins, and its signs. An apostrophe within a word is none.
fn first_quote(text: &str, before: Option<char>) -> Option<(usize, char, char)> {
    let mut last = before;
    for (at, sign) in text.char_indices() {
        let in_word = last.is_some_and(char::is_alphanumeric);
        let quote = QUOTES.iter().find(|(open, _)| *open == sign).filter(|_| !in_word || (sign != '\'' && sign != '’'));
        if let Some((open, close)) = quote {
            return Some((at, *open, *close));
        }
        last = Some(sign);
    }
    None
}

/// Where it ends. A doubled sign stands for itself, and so does an apostrophe within a word.
fn end_of_quote(text: &str, close: char) -> Option<usize> {
    let mut signs = text.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        let next = signs.peek().map(|(_, next)| *next);
        if sign == close {
            if next == Some(close) {
                signs.next();
            } else if close != '\'' || !next.is_some_and(char::is_alphanumeric) {
                return Some(at);
            }
        }
    }
    None
}

/// True for paths, addresses, and names of several parts.
fn is_compound(word: &str) -> bool {
    let inner = |c: char| {
        word.match_indices(c).any(|(at, _)| {
            let (before, after) = (word[..at].chars().next_back(), word[at + 1..].chars().next());
            before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
        })
    };
    word.contains(['/', '\\', '@']) || inner('.') || inner(':')
}

/// Where a word stands in a text, whatever the case of its letters; not within a longer one.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let (text_bytes, word_bytes) = (text.as_bytes(), word.as_bytes());
    if word_bytes.is_empty() || word_bytes.len() > text_bytes.len() {
        return None;
    }
    (0..=text_bytes.len() - word_bytes.len()).find(|at| {
        let end = at + word_bytes.len();
        text.is_char_boundary(*at)
            && text.is_char_boundary(end)
            && text_bytes[*at..end].eq_ignore_ascii_case(word_bytes)
            && !text[..*at].chars().next_back().is_some_and(in_word)
            && !text[end..].chars().next().is_some_and(in_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> Mask {
        Mask::new(["db.example", "Sales", "ann", "10.0.0.7", ""].map(str::to_owned).to_vec())
    }

    #[test]
    fn names_go_whatever_surrounds_them() {
        for (text, hidden) in [
            ("permission denied for database sales", "permission denied for database <name>"),
            ("the login 'ann' isn't known at db.example:1433", "the login '<name>' isn't known at <name>"),
            ("cannot open \"/var/lib/secret files/a.mdf\": no", "cannot open \"<name>\": no"),
            ("file /srv/secret/a.mdf, disk C:\\data\\x.ndf!", "file <name>, disk <name>!"),
            ("denied on the object [dbo].[o'neil's]]s] today", "denied on the object [<name>].[<name>] today"),
            ("object dbo.customers and 10.0.0.7 and me@example.com", "object <name> and <name> and <name>"),
            ("the user's annual SALES_2024, sales. Ann", "the user's annual SALES_2024, <name>. <name>"),
            ("unterminated 'secret", "unterminated '<name>'"),
            ("relation »kunden« and „kunden“ and “kunden”", "relation »<name>« and „<name>“ and “<name>”"),
        ] {
            assert_eq!(mask().hidden(text, ""), hidden);
        }
    }

    #[test]
    fn words_of_our_own_statement_stay() {
        let own = "SELECT d.recovery_model_desc, sales FROM sys.databases d";
        let text = "Invalid column name 'recovery_model_desc' of 'sales' in sys.databases or 'recovery_model'";
        let hidden = "Invalid column name 'recovery_model_desc' of '<name>' in sys.databases or '<name>'";
        assert_eq!(mask().hidden(text, own), hidden);
    }
}
