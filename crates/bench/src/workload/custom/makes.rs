//! What the statements of a definition make in the run's place, read from their words: it is noted before the first of them runs, so that
//! it is known as ours whatever happens then.

use plimsoll_engine::Part;

use super::text::{bodies, words};

/// Kinds that a place holds, as statements call them.
const KINDS: &str =
    "table view procedure proc function sequence synonym type domain trigger event policy rule statistics index";
/// Words between CREATE and the kind, and between the kind and the name.
const BETWEEN: &str = "or replace alter global local temp temporary unlogged unique clustered nonclustered materialized recursive virtual \
                       constraint definer algorithm merge temptable undefined sql security invoker if not exists concurrently only aggregate primary";
/// Words behind which a query makes a table: `SELECT ... INTO t FROM`.
const INTO: &str = "into";
/// Most words between CREATE and the name.
const MOST_BETWEEN: usize = 8;

fn is(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(word))
}

/// What a text makes, in order; also what the bodies of its functions and blocks do.
pub fn makes(sql: &str) -> Vec<Part> {
    let words: Vec<&str> = words(sql).into_iter().map(|place| &sql[place]).collect();
    let mut parts = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if is(word, "create") {
            parts.extend(created(&words[at + 1..]));
        } else if is(word, INTO) && words[..at].iter().any(|word| is(word, "select")) {
            let name = words[at + 1..].iter().find(|word| !is(word, BETWEEN) && !is(word, "table"));
            parts.extend(name.map(|name| part("table", name, "")));
        }
    }
    parts.extend(bodies(sql).into_iter().flat_map(|body| makes(&sql[body])));
    parts
}

/// True if a text has the name of one of these.
pub fn names(sql: &str, made: &[Part]) -> bool {
    let word = |place| part("", &sql[place], "");
    words(sql).into_iter().map(word).any(|word| made.iter().any(|part| part.plain().eq_ignore_ascii_case(word.plain())))
}

fn part(kind: &str, name: &str, on: &str) -> Part {
    let kind = if kind == "proc" { "procedure" } else { kind };
    Part { kind: kind.to_owned(), name: name.to_owned(), on: on.to_owned() }
}

/// What stands behind a CREATE.
fn created(words: &[&str]) -> Option<Part> {
    let mut kind = None;
    let mut rest = words.iter().take(MOST_BETWEEN);
    let name = rest.find(|word| {
        if kind.is_none() && is(word, KINDS) {
            kind = Some(word.to_lowercase());
            return false;
        }
        kind.is_some() && !is(word, BETWEEN)
    })?;
    let is_materialized = words.first().is_some_and(|word| word.eq_ignore_ascii_case("materialized"));
    let kind = if is_materialized { "materialized view".to_owned() } else { kind? };
    let on = match kind.as_str() {
        "trigger" | "policy" | "rule" | "index" | "statistics" => words.iter().position(|word| is(word, "on to")),
        _ => None,
    };
    let on = on.and_then(|on| words.get(on + 1)).copied().unwrap_or_default();
    Some(part(&kind, name, on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_known_by_kind_and_name() {
        for (sql, expected) in [
            ("CREATE TABLE t (a int)", "table t"),
            ("create temp table if not exists \"My T\" as select 1", "table \"My T\""),
            ("CREATE OR REPLACE VIEW v AS SELECT * FROM t", "view v"),
            ("CREATE MATERIALIZED VIEW mv AS SELECT 1", "materialized view mv"),
            ("CREATE OR ALTER PROC [p] AS SELECT a INTO made FROM t", "procedure [p], table made"),
            ("CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()", "trigger r on t"),
            ("CREATE INDEX i ON t (a)", "index i on t"),
            ("DO $$ BEGIN CREATE TABLE w2 (i int); CREATE TABLE w3 (i int); END $$", "table w2, table w3"),
            ("CREATE PROCEDURE mk() BEGIN CREATE TABLE w2 (i int); END", "procedure mk, table w2"),
            ("INSERT INTO t SELECT 1", ""),
            ("SELECT 'CREATE TABLE t'", ""),
            ("SELECT * INTO UNLOGGED TABLE newt FROM t", "table newt"),
            ("CREATE ALGORITHM=MERGE SQL SECURITY INVOKER VIEW v AS SELECT 1", "view v"),
            ("CREATE", ""),
        ] {
            let said = |part: &Part| {
                let on = if part.on.is_empty() { String::new() } else { format!(" on {}", part.on) };
                format!("{} {}{on}", part.kind, part.name)
            };
            assert_eq!(makes(sql).iter().map(said).collect::<Vec<_>>().join(", "), expected, "{sql}");
        }
    }
}
