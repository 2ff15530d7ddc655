//! Spellings that one engine reads otherwise than another, or that nobody reads as it stands: what they hide can't be looked at.

use std::ops::Range;

/// The first of a text, and the way to write the same plainly.
pub fn unclear(sql: &str) -> Option<Range<usize>> {
    // MySQL and MariaDB run what stands in such comments, and begin others by a sign that means something else elsewhere.
    let is_comment = |at: usize| !sql[at + 1..].starts_with(|c: char| c.is_alphanumeric() || "_#>=-".contains(c));
    let opened = ["/*!", "/*M!"].iter().find_map(|open| sql.find(open));
    let opened = opened.or_else(|| sql.match_indices('#').map(|(at, _)| at).find(|at| is_comment(*at)));
    let opened = opened.or_else(|| comment_in_a_comment(sql)).or_else(|| lone_return(sql));
    // PostgreSQL: `U&"publi\0063"` is a name.
    let opened = opened.or_else(|| sql.to_ascii_lowercase().find("u&\""));
    let at = opened.or_else(|| escaped_quote(sql))?;
    Some(at..sql[at..].char_indices().nth(2).map_or(sql.len(), |(end, _)| at + end))
}

/// PostgreSQL and SQL Server nest comments, MariaDB and SQLite end both at the first end.
fn comment_in_a_comment(sql: &str) -> Option<usize> {
    sql.match_indices("/*").map(|(at, _)| at).find(|at| {
        let within = &sql[at + 2..];
        let within = &within[..within.find("*/").unwrap_or(within.len())];
        within.contains("/*")
    })
}

/// PostgreSQL ends a comment there, others don't.
fn lone_return(sql: &str) -> Option<usize> {
    sql.match_indices('\r').map(|(at, _)| at).find(|at| !sql[at + 1..].starts_with('\n'))
}

/// A quotation mark behind an odd number of backslashes: MySQL's text goes on there, those of others end, and PostgreSQL has both.
fn escaped_quote(sql: &str) -> Option<usize> {
    let quotes = sql.match_indices('\'').map(|(at, _)| at);
    let signs = |at: usize| sql[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
    quotes.into_iter().find(|at| signs(*at) % 2 == 1)
}

/// The text as MySQL reads it, where `--` begins a comment only if a blank follows. `None` where that is the same.
pub fn without_dashes(sql: &str) -> Option<String> {
    let is_other =
        |(at, _): &(usize, &str)| !sql[at + 2..].starts_with(|c: char| c.is_whitespace() || c.is_control() || c == '-');
    let dashes: Vec<usize> = sql.match_indices("--").filter(is_other).map(|(at, _)| at).collect();
    (!dashes.is_empty()).then(|| {
        let mut text = sql.to_owned();
        dashes.iter().rev().for_each(|at| text.replace_range(*at..at + 2, "- "));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_engines_read_otherwise_is_unclear() {
        for sql in [
            "/* /* */ DELETE FROM other.t /* */ -- */",
            "SELECT 1 -- x\r; DELETE FROM public.orders",
            "DELETE FROM U&\"publi!0063\" UESCAPE '!' . orders",
            "SELECT '\\'' ; DELETE FROM public.orders; SELECT 'x'",
            "SELECT E'a'\n'b\\'', 1; DELETE FROM public.orders; SELECT ''",
            "DROP # x\nDATABASE zz9",
            "/*! DELETE FROM vdb.victim */",
        ] {
            assert!(unclear(sql).is_some(), "{sql}");
        }
        for sql in
            ["SELECT '\\\\', 'a\\b' -- x\r\n /* y */ FROM #t", "SELECT 1 /* x */ /* y */", "", "'", "\\", "--", "/*"]
        {
            assert_eq!(unclear(sql), None, "{sql}");
        }
        assert_eq!(without_dashes("SELECT 1--(1) x").as_deref(), Some("SELECT 1- (1) x"));
        assert_eq!(without_dashes("SELECT 1 -- x\n---- y"), None);
    }
}
