//! Values in the text of a statement. Servers put signs in their place, but not everywhere: what makes a user has the password in it.

use crate::foreign::masked;

/// The sign in the place of a value.
const SIGN: char = '?';

/// Words that statements begin with which ask for rows or change them. What `=` says there is a condition.
const QUERIES: [&str; 12] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE", "EXPLAIN", "REPLACE", "FETCH",
    "DECLARE",
];

/// Behind these a statement of any other kind, such as SET or ALTER ROLE, has a value, which may look like a name.
const BEFORE_VALUES: [&str; 3] = ["TO", "PASSWORD", "BY"];

/// The text with a sign in place of each text and number that stands in it, and without the secrets in use. Of a statement that neither asks for
/// rows nor changes them nothing is left behind its first value or comment: what it is has been said by then. A text that is cut off ends with
/// the sign, and so does one of which a setting of the server decides where its literals end.
pub fn without_values(sql: &str) -> String {
    let mut rest = Rest { text: sql, last: None };
    let mut out = String::with_capacity(sql.len());
    // Whether the statement at hand asks for rows or changes them; `None` before its first word.
    let mut is_query: Option<bool> = None;
    while let Some(c) = rest.text.chars().next() {
        // A semicolon begins the next statement.
        if is_query == Some(false) && out.ends_with(SIGN) {
            break;
        }
        match c {
            '\'' => {
                let has_escapes = rest.last.is_some_and(|last| matches!(last, 'e' | 'E')) && is_prefix(&out);
                let is_clear = rest.skip_quoted(has_escapes);
                // The letter before the quote says how it is written, and belongs to it.
                if is_prefix(&out) {
                    out.pop();
                }
                out.push(SIGN);
                if !is_clear {
                    break;
                }
            }
            ';' => {
                is_query = None;
                out.push_str(rest.take(1));
            }
            '=' if is_query != Some(true) => {
                out.push_str("= ?");
                break;
            }
            '-' | '/' if is_query == Some(false) && (rest.text.starts_with("--") || rest.text.starts_with("/*")) => {
                out.push(SIGN);
                break;
            }
            c if (c.is_alphabetic() || !c.is_ascii()) && !rest.is_in_word() => {
                let word = rest.take(rest.text.find(|c| !is_of_word(c)).unwrap_or(rest.text.len()));
                out.push_str(word);
                let word = word.to_ascii_uppercase();
                // SET has values without a sign before them, as a time zone.
                if is_query.is_none() && word == "SET" {
                    out.push_str(rest.take_setting());
                    out.push_str(" ?");
                    break;
                }
                if is_query == Some(false) && BEFORE_VALUES.contains(&word.as_str()) {
                    out.push_str(" ?");
                    break;
                }
                is_query = is_query.or_else(|| Some(QUERIES.contains(&word.as_str())));
            }
            '"' | '`' => out.push_str(rest.take_quoted(c)),
            '$' if !rest.is_in_word() && rest.skip_dollars() => out.push(SIGN),
            // Comments are left out: they may hold anything, and servers differ in where they end.
            '-' if rest.text.starts_with("--") => {
                let end = rest.text.find(['\n', '\r']).unwrap_or(rest.text.len());
                rest.take(end);
            }
            '/' if rest.text.starts_with("/*") => {
                rest.take("/*".len());
                // On some servers a comment has others in it.
                if rest.take_to("*/").contains("/*") {
                    out.push(SIGN);
                    break;
                }
                // What it parted stays apart.
                if out.ends_with(is_of_word) {
                    out.push(' ');
                }
            }
            c if c.is_ascii_digit() && !rest.is_in_word() => {
                let is_of_number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
                let end = rest.text.find(|c| !is_of_number(c)).unwrap_or(rest.text.len());
                // A number behind such a sign is that of a parameter.
                let is_parameter = rest.last == Some(SIGN) && out.ends_with(SIGN);
                rest.take(end);
                if !is_parameter {
                    out.push(SIGN);
                }
            }
            c => out.push_str(rest.take(c.len_utf8())),
        }
    }
    // A name may hold one of the secrets in use.
    masked(&out)
}

/// Whether a text ends with a letter that stands alone, as in `E'...'`.
fn is_prefix(out: &str) -> bool {
    let mut last = out.chars().rev();
    let is_letter = last.next().is_some_and(|c| matches!(c, 'e' | 'E' | 'b' | 'B' | 'x' | 'X' | 'n' | 'N'));
    is_letter && !last.next().is_some_and(is_of_word)
}

fn is_of_word(c: char) -> bool {
    // PostgreSQL takes all beyond ASCII for letters.
    c.is_ascii_alphanumeric() || !c.is_ascii() || matches!(c, '_' | '$' | '@')
}

struct Rest<'t> {
    text: &'t str,
    /// What stands before it.
    last: Option<char>,
}

impl<'t> Rest<'t> {
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.text.split_at(bytes);
        self.last = taken.chars().next_back().or(self.last);
        self.text = rest;
        taken
    }

    fn is_in_word(&self) -> bool {
        self.last.is_some_and(is_of_word)
    }

    /// A text in quotes; a doubled quote is one of it. False if a setting decides where it ends (`standard_conforming_strings`): nothing
    /// behind it is sure to be none of it.
    fn skip_quoted(&mut self, has_escapes: bool) -> bool {
        let mut chars = self.text.char_indices().skip(1).peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' if has_escapes => drop(chars.next()),
                '\\' if chars.peek().is_some_and(|(_, next)| *next == '\'') => return false,
                '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => drop(chars.next()),
                '\'' => {
                    self.take(at + 1);
                    return true;
                }
                _ => {}
            }
        }
        self.take(self.text.len());
        true
    }

    /// A name in quotes.
    fn take_quoted(&mut self, quote: char) -> &'t str {
        let end = self.text[1..].find(quote).map_or(self.text.len(), |end| end + 2);
        self.take(end)
    }

    /// `$$...$$` or `$name$...$name$`. A parameter such as `$1` is none.
    fn skip_dollars(&mut self) -> bool {
        let Some(end) = self.text[1..].find('$') else { return false };
        let name = &self.text[1..=end];
        let is_name =
            name.chars().all(|c| c != '@' && is_of_word(c)) && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_name {
            return false;
        }
        let tag = &self.text[..end + 2];
        let body = &self.text[tag.len()..];
        let bytes = body.find(tag).map_or(self.text.len(), |at| tag.len() + at + tag.len());
        self.take(bytes);
        true
    }

    /// The name of what is set: a word, or two of them where the first says for how long.
    fn take_setting(&mut self) -> &'t str {
        let name = |text: &str| {
            let begin = text.len() - text.trim_start().len();
            begin + text[begin..].find(|c| !is_of_word(c) && c != '.').unwrap_or(text.len() - begin)
        };
        let first = name(self.text);
        let is_scope = ["LOCAL", "SESSION"].contains(&self.text[..first].trim().to_ascii_uppercase().as_str());
        self.take(if is_scope { first + name(&self.text[first..]) } else { first })
    }

    fn take_to(&mut self, end: &str) -> &'t str {
        let bytes = self.text.find(end).map_or(self.text.len(), |at| at + end.len());
        self.take(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_signs_and_names_stay() {
        for (sql, shown) in [
            (
                "SELECT a1, \"b'2\" FROM t2 WHERE k = $1 AND x > 5.5e3",
                "SELECT a1, \"b'2\" FROM t2 WHERE k = $1 AND x > ?",
            ),
            ("SELECT 'it''s'; SELECT 1 WHERE a = b", "SELECT ?; SELECT ? WHERE a = b"),
            ("ALTER ROLE ann PASSWORD 'it''s'; SELECT 1", "ALTER ROLE ann PASSWORD ?"),
            ("UPDATE t SET a = ?1, b = ?, c = 3 WHERE k = ?2", "UPDATE t SET a = ?, b = ?, c = ? WHERE k = ?"),
            // Where a backslash counts these end elsewhere.
            ("ALTER ROLE ann VALID UNTIL 'a\\'secret'", "ALTER ROLE ann VALID UNTIL ?"),
            ("SELECT 'a\\', secret, 'b'", "SELECT ?"),
            ("SELECT /* /* */ ' */ 'secret'", "SELECT ?"),
            // Values that are written as names.
            ("SET app.word = secret", "SET app.word ?"),
            ("SET app.password = secret", "SET app.password ?"),
            ("SET TIME ZONE secret", "SET TIME ?"),
            ("SET", "SET ?"),
            ("select 1; set local app.word to \"secret\"", "select ?; set local app.word ?"),
            ("/* x */ ALTER ROLE ann SET app.token TO secret", " ALTER ROLE ann SET app.token TO ?"),
            ("CREATE USER ann IDENTIFIED BY secret", "CREATE USER ann IDENTIFIED BY ?"),
            ("UPDATE t SET password = other, to_whom = 5", "UPDATE t SET password = other, to_whom = ?"),
            ("CREATE INDEX i ON t (a, b)", "CREATE INDEX i ON t (a, b)"),
            ("SELECT E'a\\'b' || 'c' || B'01'", "SELECT ? || ? || ?"),
            ("DO $$ BEGIN x := 'y'; END $$ LANGUAGE sql", "DO ?"),
            // A comment ends where it ends, and not where it begins.
            ("SELECT /*/ it's */ a", "SELECT  a"),
            ("SELECT /*/*/ 'secret'", "SELECT ?"),
            ("SELECT a /*", "SELECT a "),
            // In what is no query nothing is shown behind the first of them.
            ("ALTER ROLE ann /*/'*/ PASSWORD 'secret'", "ALTER ROLE ann ?"),
            ("CREATE ROLE r /*/\"*/ PASSWORD 'secret' /*\"*/", "CREATE ROLE r ?"),
            ("COMMENT ON TABLE t IS -- secret\n 'x'", "COMMENT ON TABLE t IS ?"),
            ("CREATE TABLE t (a varchar(10), b int DEFAULT 5)", "CREATE TABLE t (a varchar(?"),
            ("DO $tag$ secret $$ $tag$", "DO ?"),
            ("SELECT p($€$ secret $€$, $\u{2028}$ secret $\u{2028}$)", "SELECT p(?, ?)"),
            ("CALL p($€$ secret $€$, 5)", "CALL p(?"),
            ("CREATE USER x PASSWORD 'secr", "CREATE USER x PASSWORD ?"),
            ("SELECT /* it's 5 */ a -- don't 6\n, 0x1F", "SELECT  a \n, ?"),
            ("SELECT/**/a", "SELECT a"),
            ("-- rotate\rALTER ROLE ann VALID UNTIL 'secret'", "\rALTER ROLE ann VALID UNTIL ?"),
            ("SELECT 1 -- a\r, 'secret'", "SELECT ? \r, ?"),
            ("SELECT 'ä' || name'x'", "SELECT ? || name?"),
            ("", ""),
        ] {
            assert_eq!(without_values(sql), shown, "{sql}");
        }
    }

    #[test]
    fn a_secret_in_use_is_nowhere_in_a_statement() {
        let _secret = crate::target::Secret::new("planted-word-7");
        assert_eq!(without_values("/* planted-word-7 */ SELECT \"planted-word-7\", 'x'"), " SELECT \"***\", ?");
    }
}
