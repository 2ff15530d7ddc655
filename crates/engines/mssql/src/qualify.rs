//! Names of tables in statements. SQL Server looks for a name without a schema in the user's own default schema and in `dbo`,
//! and a session can't change that. The tests' statements name tables without a schema, so the place is put in front of them
//! here: where a table's name may stand, and nowhere else.

use std::collections::HashSet;

/// Words after which a table is named.
const BEFORE_TABLE: &[&str] = &["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "MERGE", "REFERENCES", "APPLY"];
/// Words behind which a comma does not name another table.
const ENDS_TABLES: &[&str] = &[
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "SET",
    "VALUES",
    "SELECT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "OPTION",
    "ON",
    "WHEN",
];
/// Words that may stand between those and the name.
const BETWEEN: &[&str] = &["IF", "EXISTS", "TOP", "STATISTICS"];
/// Words that no statement has which only reads. There are no sessions that can only read, so such texts are not sent.
const CHANGING: &[&str] = &[
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "INTO",
    "EXEC",
    "EXECUTE",
    "CREATE",
    "ALTER",
    "DROP",
    "TRUNCATE",
    "GRANT",
    "REVOKE",
    "DENY",
    "BULK",
    "DBCC",
    "BACKUP",
    "RESTORE",
    "SHUTDOWN",
    "KILL",
    "RECONFIGURE",
    "WRITETEXT",
    "UPDATETEXT",
    "OPENROWSET",
    "OPENQUERY",
    "OPENDATASOURCE",
    "USE",
    "SETUSER",
    "REVERT",
    "RECEIVE",
    "SEND",
    "CONVERSATION",
    "DIALOG",
    "TRIGGER",
    "ADD",
    "CHECKPOINT",
    "RAISERROR",
    "WAITFOR",
    "SIGNATURE",
];
/// Words with which a text that only reads may begin, and go on behind a semicolon: a procedure runs without EXEC where its
/// name comes first.
const READING: &[&str] = &["SELECT", "WITH", "DECLARE", "SET"];
/// What is sent around requests of every kind.
const OWN: &[&str] = &["BEGIN TRANSACTION", "COMMIT", "ROLLBACK"];

/// Which names are looked for in the place.
#[derive(Debug, Clone)]
pub(super) enum Known {
    /// All: nothing else is to be reached.
    All,
    /// Those of these tables, in lower case; others are the user's.
    These(HashSet<String>),
}

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    /// A name or a word, also in brackets or double quotes.
    Word(&'a str),
    /// A text in quotes, a comment, a number, a variable, blanks: nothing to look at.
    Other(&'a str),
    /// A sign by itself.
    Sign(&'a str),
}

impl<'a> Piece<'a> {
    const fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Other(text) | Self::Sign(text) => text,
        }
    }

    fn is_blank(self) -> bool {
        let text = self.text();
        text.trim().is_empty() || text.starts_with("--") || text.starts_with("/*")
    }
}

/// Cuts a text into pieces, which together are the text.
fn pieces(sql: &str) -> Vec<Piece<'_>> {
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

fn plain(word: &str) -> &str {
    word.trim_start_matches(['[', '"']).trim_end_matches([']', '"'])
}

fn is(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The text with the place in front of the names of tables that have no schema.
pub(super) fn qualify(sql: &str, place: &str, known: &Known) -> String {
    let pieces = pieces(sql);
    let next = |from: usize| pieces[from..].iter().find(|piece| !piece.is_blank()).map_or("", |piece| piece.text());
    // Names that a WITH in front gives to queries.
    let named: HashSet<String> = (0..pieces.len())
        .filter(|at| matches!(pieces[*at], Piece::Word(_)) && next(at + 1).eq_ignore_ascii_case("AS"))
        .filter(|at| {
            let behind = pieces[at + 1..].iter().position(|piece| piece.text().eq_ignore_ascii_case("AS"));
            behind.is_some_and(|behind| next(at + behind + 2) == "(")
        })
        .map(|at| plain(pieces[at].text()).to_lowercase())
        .collect();
    let mut out = String::with_capacity(sql.len() + 64);
    // Whether a table is to come, may come behind a comma at this depth of parentheses, and what went before.
    let (mut wanted, mut list, mut depth) = (None::<&str>, None::<usize>, 0_usize);
    let (mut before, mut creates, mut selects_into) = ("", false, false);
    for (at, piece) in pieces.iter().enumerate() {
        if piece.is_blank() {
            out.push_str(piece.text());
            continue;
        }
        match *piece {
            Piece::Word(word) => {
                if let Some(after) = wanted.filter(|_| !is(word, BETWEEN)) {
                    wanted = None;
                    let follows = next(at + 1);
                    let is_function =
                        follows == "(" && !is(after, &["INTO", "TABLE", "REFERENCES", "ON", "UPDATE", "INSERT"]);
                    let name = plain(word).to_lowercase();
                    let is_ours = match known {
                        Known::All => true,
                        // What is made is ours in any case.
                        Known::These(tables) => {
                            creates || is(after, &["INTO"]) && selects_into || tables.contains(&name)
                        }
                    };
                    let is_word = is(word, &["SELECT", "VALUES", "OPENROWSET"]) || is(word, BEFORE_TABLE);
                    if follows != "." && !is_function && is_ours && !is_word && !named.contains(&name) {
                        out.push_str(&super::sql::quoted(place));
                        out.push('.');
                    }
                }
                creates = is(word, &["TABLE"]) && is(before, &["CREATE"]) || creates && is(word, BETWEEN);
                selects_into = is(word, &["SELECT"]) || selects_into && !is(word, &["INSERT", "MERGE"]);
                if is(word, BEFORE_TABLE) && !before.eq_ignore_ascii_case("DISTINCT") {
                    wanted = Some(word);
                    list = is(word, &["FROM"]).then_some(depth).or(list);
                } else if is(word, &["ON"]) && before_was_index(&pieces[..at])
                    || is(word, &["INSERT", "DELETE"]) && !is(next(at + 1), &["INTO", "FROM", "TOP"])
                {
                    wanted = Some(word);
                } else if is(word, ENDS_TABLES) && list == Some(depth) && !is(word, &["ON"]) {
                    list = None;
                }
                before = word;
            }
            Piece::Sign(sign) => {
                match sign {
                    "(" => depth += 1,
                    ")" => {
                        if list == Some(depth) {
                            list = None;
                        }
                        depth = depth.saturating_sub(1);
                    }
                    ";" => (wanted, list) = (None, None),
                    _ => {}
                }
                // After TOP (n) the table still comes; a query in parentheses is none.
                let in_top = before.eq_ignore_ascii_case("TOP");
                if wanted.is_some() && !in_top && sign != ")" {
                    wanted = None;
                }
                if sign == "," && list == Some(depth) {
                    wanted = Some("FROM");
                }
            }
            Piece::Other(_) => {
                if !before.eq_ignore_ascii_case("TOP") {
                    wanted = None;
                }
            }
        }
        out.push_str(piece.text());
    }
    out
}

/// True if the statement so far is one about an index whose table has not been named.
fn before_was_index(pieces: &[Piece<'_>]) -> bool {
    let words = pieces.iter().rev().filter_map(|piece| match piece {
        Piece::Word(word) => Some(*word),
        _ => None,
    });
    let mut last: Vec<&str> = words.take(6).collect();
    last.truncate(last.iter().position(|word| is(word, &["CREATE", "DROP", "ALTER"])).map_or(0, |at| at + 1));
    last.iter().any(|word| is(word, &["INDEX"]))
}

/// True if a text makes or removes tables, so that their names may be others afterwards.
pub(super) fn changes_tables(sql: &str) -> bool {
    pieces(sql).iter().any(|piece| matches!(piece, Piece::Word(word) if is(word, &["CREATE", "DROP", "INTO"])))
}

/// The first piece of a text that may do more than read, if there is one. What is not known to read counts as such.
pub(super) fn change(sql: &str) -> Option<&str> {
    if is(sql.trim(), OWN) {
        return None;
    }
    let (mut starts, mut before) = (true, "");
    for piece in pieces(sql) {
        let text = piece.text();
        if piece.is_blank() {
            // Who takes such a sign for the end of the line reads on where we don't.
            if text.starts_with("--") && text.trim_end_matches('\r').contains(|c: char| c.is_control() && c != '\t') {
                return Some(text);
            }
            continue;
        }
        match piece {
            Piece::Sign(";") => starts = true,
            Piece::Sign("(") if starts => {}
            Piece::Word(word) if is(word, CHANGING) => return Some(word),
            Piece::Word(word) if is(word, &["VALUE"]) && is(before, &["NEXT"]) => return Some(before),
            Piece::Word(word) if starts && is(word, READING) => starts = false,
            _ if starts => return Some(text),
            _ => {}
        }
        before = text;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ours(sql: &str) -> String {
        qualify(sql, "p", &Known::All)
    }

    #[test]
    fn tables_get_their_place_and_nothing_else_does() {
        for (sql, expected) in [
            ("SELECT a FROM t", "SELECT a FROM [p].t"),
            ("select t.a from t, u where t.b = u.b, v", "select t.a from [p].t, [p].u where t.b = u.b, v"),
            ("SELECT a FROM t x JOIN [u] y ON x.a = y.a", "SELECT a FROM [p].t x JOIN [p].[u] y ON x.a = y.a"),
            ("INSERT INTO t VALUES (1, 'FROM u')", "INSERT INTO [p].t VALUES (1, 'FROM u')"),
            (
                "INSERT INTO t (a, b) SELECT a, b FROM u UNION ALL SELECT a, b FROM u",
                "INSERT INTO [p].t (a, b) SELECT a, b FROM [p].u UNION ALL SELECT a, b FROM [p].u",
            ),
            ("UPDATE t SET a = 1 WHERE b = 2", "UPDATE [p].t SET a = 1 WHERE b = 2"),
            ("DELETE FROM t WHERE a IN (SELECT a FROM u)", "DELETE FROM [p].t WHERE a IN (SELECT a FROM [p].u)"),
            ("DELETE t WHERE a = 1", "DELETE [p].t WHERE a = 1"),
            ("CREATE TABLE t (a int, b int)", "CREATE TABLE [p].t (a int, b int)"),
            ("DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS [p].t"),
            ("CREATE INDEX i ON t (a)", "CREATE INDEX i ON [p].t (a)"),
            ("SELECT count(*) FROM (SELECT 1 AS one) t", "SELECT count(*) FROM (SELECT 1 AS one) t"),
            ("SELECT a FROM dbo.t", "SELECT a FROM dbo.t"),
            ("SELECT a FROM #t JOIN @u x ON 1 = 1", "SELECT a FROM #t JOIN @u x ON 1 = 1"),
            ("SELECT value FROM STRING_SPLIT('a', ',')", "SELECT value FROM STRING_SPLIT('a', ',')"),
            ("WITH c AS (SELECT a FROM t) SELECT a FROM c", "WITH c AS (SELECT a FROM [p].t) SELECT a FROM c"),
            (
                "SELECT a -- FROM u\n FROM t /* FROM /* x */ u */ WITH (NOLOCK)",
                "SELECT a -- FROM u\n FROM [p].t /* FROM /* x */ u */ WITH (NOLOCK)",
            ),
            ("SELECT a FROM t WHERE a IS DISTINCT FROM b", "SELECT a FROM [p].t WHERE a IS DISTINCT FROM b"),
            (
                "SELECT a FROM sys.tables t CROSS APPLY sys.f(t.a) u",
                "SELECT a FROM sys.tables t CROSS APPLY sys.f(t.a) u",
            ),
            ("TRUNCATE TABLE t", "TRUNCATE TABLE [p].t"),
            ("BEGIN TRANSACTION", "BEGIN TRANSACTION"),
        ] {
            assert_eq!(ours(sql), expected);
        }
    }

    #[test]
    fn the_users_tables_stay_theirs() {
        let known = Known::These(["mine".to_owned()].into());
        for (sql, expected) in [
            ("SELECT * FROM Mine, theirs", "SELECT * FROM [p].Mine, theirs"),
            ("INSERT INTO theirs SELECT * FROM mine", "INSERT INTO theirs SELECT * FROM [p].mine"),
            ("CREATE TABLE new (a int)", "CREATE TABLE [p].new (a int)"),
            ("SELECT * INTO new FROM theirs", "SELECT * INTO [p].new FROM theirs"),
        ] {
            assert_eq!(qualify(sql, "p", &known), expected);
        }
    }

    #[test]
    fn what_only_reads_is_told_from_what_does_more() {
        for reads in [
            "SELECT a FROM t WHERE b = 'delete'",
            "WITH c AS (SELECT 1 a) SELECT * FROM c -- drop",
            "SELECT [update] FROM t",
            "(SELECT 1) UNION (SELECT 2);",
            "DECLARE @a int = 1; SET @a = 2; SELECT a FROM t WHERE b = @a ORDER BY a OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
            "SELECT 0x1F, 1.5e-3, .5, 1e, $2.50, 1 AS x FROM t WHERE a=1AND b=2",
            "BEGIN TRANSACTION",
            " commit ",
            "ROLLBACK",
            "",
        ] {
            assert_eq!(change(reads), None, "{reads}");
        }
        for (more, word) in [
            ("SELECT 1; drop table t", "drop"),
            ("SELECT * INTO x FROM y", "INTO"),
            ("EXEC p", "EXEC"),
            ("empty_the_shop", "empty_the_shop"),
            ("  /* x */ [dbo].[p] 1", "[dbo]"),
            ("SELECT 1; p", "p"),
            ("SELECT NEXT VALUE FOR s", "NEXT"),
            ("SELECT next /* x */ value FOR s", "next"),
            ("RECEIVE * FROM q", "RECEIVE"),
            ("SELECT 1 RECEIVE * FROM q", "RECEIVE"),
            ("SEND ON CONVERSATION @h", "SEND"),
            ("SELECT 1; END CONVERSATION @h", "END"),
            ("ENABLE TRIGGER r ON t", "ENABLE"),
            ("SELECT 1 DISABLE TRIGGER r ON t", "TRIGGER"),
            ("SELECT 1DELETE FROM t", "DELETE"),
            ("SELECT 1.5DELETE FROM t", "DELETE"),
            ("SELECT 1eDELETE FROM t", "DELETE"),
            ("SELECT 1e5delete FROM t", "delete"),
            ("SELECT .5edelete FROM t", "delete"),
            ("SELECT $DELETE FROM t", "DELETE"),
            ("SELECT $1.DELETE FROM t", "DELETE"),
            ("SELECT 0xUPDATE t SET a = 1", "UPDATE"),
            ("SELECT 1 --\r'\nDELETE FROM t --'", "--\r'"),
            ("COMMIT; DELETE FROM t", "COMMIT"),
            ("{call p}", "{"),
            ("1", "1"),
        ] {
            assert_eq!(change(more), Some(word), "{more}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_lost(sql in "[a-zFROM'\\[\\]\"(),;.@#*/ \n-]{0,60}") {
            let together: String = pieces(&sql).into_iter().map(Piece::text).collect();
            prop_assert_eq!(together, sql.clone());
            let _ = ours(&sql);
        }
    }
}
