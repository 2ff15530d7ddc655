//! Texts of statements: where their parameters are, what stands for `{n}` and `{variable}`, and whether they write.

use std::collections::BTreeMap;
use std::ops::Range;

/// Pieces of a text that mean something to us: all else, such as literals and comments, is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// `:name`, with the place of both.
    Parameter(Range<usize>),
    /// A word or a name, maybe a quoted one, outside of literals and comments.
    Word(Range<usize>),
    /// What stands between two `$tag$`: mostly the body of a function.
    Body(Range<usize>),
}

/// Finds parameters and words. Literals ('…', E'…', $tag$…$tag$), quoted names, comments and casts (`::`) are passed over.
fn pieces(sql: &str) -> Vec<Piece> {
    let bytes = sql.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let name_end = |from: usize| (from..bytes.len()).find(|at| !is_name(bytes[*at])).unwrap_or(bytes.len());
    let after = |from: usize, end: &str| {
        sql.get(from..).and_then(|rest| rest.find(end)).map_or(bytes.len(), |at| from + at + end.len())
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at = match bytes[at] {
            b'\'' => {
                let escapes = at > 0 && matches!(bytes[at - 1], b'e' | b'E') && (at == 1 || !is_name(bytes[at - 2]));
                literal_end(bytes, at + 1, escapes)
            }
            quote @ (b'"' | b'`') => {
                let end = after(at + 1, if quote == b'"' { "\"" } else { "`" });
                found.push(Piece::Word(at..end));
                end
            }
            // A name in brackets, as of T-SQL; behind a name or another bracket it is the place in an array.
            b'[' if is_bracketed(&sql[..at]) => {
                let end = bracket_end(bytes, at + 1);
                found.push(Piece::Word(at..end));
                end
            }
            b'-' if rest.starts_with(b"--") => after(at, "\n"),
            b'/' if rest.starts_with(b"/*") => comment_end(bytes, at),
            b'$' if at == 0 || !is_name(bytes[at - 1]) => match dollar_tag(sql, at) {
                Some(tag) => {
                    let end = after(at + tag.len(), tag);
                    found.push(Piece::Body(at + tag.len()..end.saturating_sub(tag.len()).max(at + tag.len())));
                    end
                }
                None => at + 1,
            },
            b':' if rest.starts_with(b"::") => at + 2,
            b':' => {
                let end = name_end(at + 1);
                let begins = rest.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
                // The upper end of an array's slice is no parameter.
                let follows = at > 0 && (is_name(bytes[at - 1]) || bytes[at - 1] == b']');
                if begins && !follows {
                    found.push(Piece::Parameter(at..end));
                }
                end.max(at + 1)
            }
            // A temporary table of T-SQL, unless it is an operator.
            b'#' if rest.get(1).is_some_and(|byte| is_name(*byte) || *byte == b'#')
                && (at == 0 || !is_name(bytes[at - 1])) =>
            {
                let end = name_end(at + 1 + usize::from(rest[1] == b'#'));
                found.push(Piece::Word(at..end));
                end
            }
            byte if is_name(byte) => {
                let end = name_end(at);
                found.push(Piece::Word(at..end));
                end
            }
            _ => at + 1,
        };
    }
    found
}

fn literal_end(bytes: &[u8], from: usize, escapes: bool) -> usize {
    let mut at = from;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether a bracket that follows this text begins a name.
fn is_bracketed(before: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let follows = before.ends_with(|c| is_word(c) || matches!(c, ']' | ')' | '"'));
    let word = before.trim_end().rsplit(|c| !is_word(c)).next().unwrap_or_default();
    // Arrays may lie in each other.
    let lies_in_one = before.trim_end().ends_with(['[', ',']) && before.to_ascii_uppercase().contains("ARRAY");
    !follows && !lies_in_one && !word.eq_ignore_ascii_case("ARRAY")
}

/// Behind the bracket that closes a name; one that is doubled is a part of it.
fn bracket_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b']', Some(b']')) => at += 2,
            (b']', _) => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Comments may stand within comments.
fn comment_end(bytes: &[u8], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The tag of a literal such as `$body$…$body$`.
fn dollar_tag(sql: &str, at: usize) -> Option<&str> {
    let rest = &sql[at + 1..];
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
    let is_tag = rest[length..].starts_with('$') && !rest.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| &sql[at..at + length + 2])
}

/// Places of the bodies of a text.
pub(super) fn bodies(sql: &str) -> Vec<Range<usize>> {
    let body = |piece| if let Piece::Body(range) = piece { Some(range) } else { None };
    pieces(sql).into_iter().filter_map(body).collect()
}

/// What stands between two places of a text, without blanks and comments.
pub(super) fn between(sql: &str, from: usize, to: usize) -> String {
    let (bytes, mut at, mut left) = (&sql.as_bytes()[..to], from, String::new());
    while at < to {
        let rest = &bytes[at..];
        if rest.starts_with(b"/*") {
            at = comment_end(bytes, at);
        } else if rest.starts_with(b"--") {
            at = rest.iter().position(|byte| *byte == b'\n').map_or(to, |end| at + end + 1);
        } else {
            let sign = sql[at..].chars().next().unwrap_or_default();
            left.extend(Some(sign).filter(|sign| !sign.is_whitespace()));
            at += sign.len_utf8();
        }
    }
    left
}

/// Places of the words of a text.
pub(super) fn words(sql: &str) -> Vec<Range<usize>> {
    let word = |piece| if let Piece::Word(range) = piece { Some(range) } else { None };
    pieces(sql).into_iter().filter_map(word).collect()
}

/// Names of the parameters of a text, each once, in the order in which they come.
pub fn parameters(sql: &str) -> Vec<&str> {
    placed(sql, false, |_| String::new()).1
}

/// The text with an engine's placeholders, and the names of the parameters in their order: each once where placeholders
/// have numbers, else as often as it stands there.
pub fn placed(sql: &str, is_positional: bool, placeholder: impl Fn(usize) -> String) -> (String, Vec<&str>) {
    let mut names: Vec<&str> = Vec::new();
    let (mut text, mut last) = (String::with_capacity(sql.len()), 0);
    for piece in pieces(sql) {
        if let Piece::Parameter(range) = piece {
            let name = &sql[range.start + 1..range.end];
            let known = names.iter().position(|known| *known == name).filter(|_| !is_positional);
            let place = known.unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            text.push_str(&sql[last..range.start]);
            text.push_str(&placeholder(place + 1));
            last = range.end;
        }
    }
    text.push_str(&sql[last..]);
    (text, names)
}

/// The text with numbers in place of `{n}` and of `{variable}`. Other braces stay as they are.
pub fn filled(sql: &str, copy: u64, variables: &BTreeMap<String, u64>) -> String {
    let mut text = sql.replace("{n}", &copy.to_string());
    for (name, value) in variables {
        text = text.replace(&format!("{{{name}}}"), &value.to_string());
    }
    text
}

/// Words that begin a statement which reads.
const READS: [&str; 6] = ["select", "values", "table", "with", "show", "explain"];
/// Words that make a writing statement of one that begins like that.
const WRITES: [&str; 4] = ["insert", "update", "delete", "merge"];

/// True if the text says that it writes; what functions do is not seen.
pub fn writes(sql: &str) -> bool {
    let words: Vec<String> = words(sql).into_iter().map(|word| sql[word].to_ascii_lowercase()).collect();
    let Some(first) = words.first() else { return false };
    !READS.contains(&first.as_str())
        || (first != "select" && words.iter().any(|word| WRITES.contains(&word.as_str())))
        || words.windows(2).any(|pair| pair[0] == "for" && (pair[1] == "update" || pair[1] == "share"))
}

/// True if the text may begin a transaction that it does not end.
pub fn may_begin_a_transaction(sql: &str) -> bool {
    let words: Vec<String> = words(sql).into_iter().map(|word| sql[word].to_ascii_lowercase()).collect();
    let begins =
        |word: &String| ["tran", "transaction", "implicit_transactions", "autocommit"].contains(&word.as_str());
    words.first().is_some_and(|first| first == "begin") || words.iter().any(begins)
}

/// True if it reads and that of no table, as functions do that are called for what they do.
pub fn reads_no_table(sql: &str) -> bool {
    !writes(sql) && !words(sql).into_iter().any(|word| sql[word].eq_ignore_ascii_case("from"))
}

/// True if it looks for rows that should be there.
pub fn seeks(sql: &str) -> bool {
    let first = sql.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    matches!(first.as_str(), "select" | "update" | "delete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_where_they_are() {
        let sql = "SELECT ':no', \":no\", E'\\':no', $a$ :no $a$, x::int, a[1:n] -- :no\n /* /* :no */ :no */ \
                   FROM t WHERE a = :aid AND b IN (:b_1,:aid) AND c=:größe";
        assert_eq!(parameters(sql), ["aid", "b_1", "größe"]);
        let sql = "SELECT :b::int + :a - :b, '::', :a::text";
        let (text, names) = placed(sql, false, |number| format!("${number}"));
        assert_eq!((text.as_str(), names), ("SELECT $1::int + $2 - $1, '::', $2::text", vec!["b", "a"]));
        let (text, names) = placed(sql, true, |_| "?".to_owned());
        assert_eq!((text.as_str(), names), ("SELECT ?::int + ? - ?, '::', ?::text", vec!["b", "a", "b", "a"]));
        let sql = "SELECT [it's :no], [a]]:no] FROM [s].[t] WHERE [x] = :a AND y = ANY (ARRAY [:b, :c]) AND z = ARRAY[[:d],[:e]]";
        assert_eq!(parameters(sql), ["a", "b", "c", "d", "e"]);
        for odd in ["", ":", "'", "$", "$$", "E'\\", "/*", "--", "\"", "[", "::", ": a", "12:30"] {
            assert!(parameters(odd).is_empty(), "{odd}");
        }
    }

    #[test]
    fn numbers_are_filled_in() {
        let variables = BTreeMap::from([("scale".to_owned(), 10)]);
        assert_eq!(filled("t{n} {scale} {\"a\": 1}", 3, &variables), "t3 10 {\"a\": 1}");
    }

    #[test]
    fn what_writes_is_told_from_what_reads() {
        for reads in ["SELECT 1", " /* x */ select 'update'", "WITH a AS (SELECT 1) SELECT * FROM a", "VALUES (1)"] {
            assert!(!writes(reads), "{reads}");
        }
        for other in [
            "UPDATE t SET a = 1",
            "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a",
            "BEGIN",
            "SELECT 1 FOR UPDATE",
        ] {
            assert!(writes(other), "{other}");
        }
    }
}
