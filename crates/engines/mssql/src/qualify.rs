//! Names of tables in statements. SQL Server looks for a name without a schema in the user's own default schema and in `dbo`,
//! and a session can't change that. The tests' statements name tables without a schema, so the place is put in front of them
//! here: where a table's name may stand, and nowhere else.

use std::collections::HashSet;

use super::pieces::{Piece, pieces};

/// Words after which a table is named.
const BEFORE_TABLE: &str = "FROM JOIN INTO UPDATE TABLE MERGE REFERENCES APPLY";
/// Words behind which a comma does not name another table.
const ENDS_TABLES: &str = "WHERE GROUP ORDER HAVING SET VALUES SELECT UNION EXCEPT INTERSECT OPTION ON WHEN";
/// Words that may stand between those and the name.
const BETWEEN: &str = "IF EXISTS TOP STATISTICS";
/// Words that no statement has which only reads. There are no sessions that can only read, so such texts are not sent.
const CHANGING: &str = "INSERT UPDATE DELETE MERGE INTO EXEC EXECUTE CREATE ALTER DROP TRUNCATE GRANT REVOKE DENY \
                        BULK DBCC BACKUP RESTORE SHUTDOWN KILL RECONFIGURE WRITETEXT UPDATETEXT OPENROWSET \
                        OPENQUERY OPENDATASOURCE USE SETUSER REVERT RECEIVE SEND CONVERSATION DIALOG TRIGGER ADD \
                        CHECKPOINT RAISERROR WAITFOR SIGNATURE";
/// Words with which a text that only reads may begin, and go on behind a semicolon: a procedure runs without EXEC where its
/// name comes first.
const READING: &str = "SELECT WITH DECLARE SET";
/// What is sent around requests of every kind.
const OWN: &[&str] = &["BEGIN TRANSACTION", "COMMIT", "ROLLBACK"];

/// Which names are looked for in the place.
#[derive(Debug, Clone)]
pub(super) enum KnownTables {
    /// All: nothing else is to be reached.
    All,
    /// Those of these tables, in lower case; others are the user's.
    These(HashSet<String>),
}

/// A name without the signs around it, as tables are known by: in lower case.
fn plain(word: &str) -> String {
    let within = |open, close| word.strip_prefix(open)?.strip_suffix(close);
    let name = match (within('[', ']'), within('"', '"')) {
        (Some(name), _) => name.replace("]]", "]"),
        (_, Some(name)) => name.replace("\"\"", "\""),
        _ => word.to_owned(),
    };
    name.to_lowercase()
}

/// Whether a word is one of these, between which there are blanks.
fn is(word: &str, words: &str) -> bool {
    words.split(' ').any(|known| word.eq_ignore_ascii_case(known))
}

/// The text with the place in front of the names of tables that have no schema.
pub(super) fn qualify(sql: &str, workspace: &str, known: &KnownTables) -> String {
    let pieces = pieces(sql);
    let walk = Walk { pieces: &pieces, named: names_of_queries(&pieces), workspace, known };
    // `UPDATE x SET ... FROM t x` uses an alias before it says what it is for.
    let (_, aliases) = walk.run(&HashSet::new());
    walk.run(&aliases).0
}

/// What stands next, blanks left out.
fn next<'a>(pieces: &[Piece<'a>], from: usize) -> &'a str {
    pieces[from..].iter().find(|piece| !piece.is_blank()).map_or("", |piece| piece.text())
}

/// Names that a WITH in front gives to queries.
fn names_of_queries(pieces: &[Piece<'_>]) -> HashSet<String> {
    let is_word = |at: &usize| matches!(pieces[*at], Piece::Word(_)) && is(next(pieces, at + 1), "AS");
    let is_query = |at: &usize| {
        let behind = pieces[at + 1..].iter().position(|piece| is(piece.text(), "AS"));
        behind.is_some_and(|behind| next(pieces, at + behind + 2) == "(")
    };
    let words = (0..pieces.len()).filter(is_word).filter(is_query);
    words.map(|at| plain(pieces[at].text())).collect()
}

/// The number of a statement in its text, and a name that stands for a table there.
type Alias = (usize, String);

/// What is the same for both walks through a text.
struct Walk<'a> {
    pieces: &'a [Piece<'a>],
    named: HashSet<String>,
    workspace: &'a str,
    known: &'a KnownTables,
}

#[expect(clippy::struct_excessive_bools, reason = "each is about another piece of the text")]
#[derive(Default)]
struct Step<'a> {
    /// The word after which a table is to come.
    wanted: Option<&'a str>,
    /// Whether that table is the one that is changed: an alias may stand for it.
    is_target: bool,
    /// The depths of parentheses at which a comma names another table, and the depth that is reached.
    lists: Vec<usize>,
    depth: usize,
    /// The word before, and the one before that.
    before: &'a str,
    before_that: &'a str,
    creates: bool,
    selects_into: bool,
    /// In a MERGE; its source comes behind USING.
    merges: bool,
    /// Behind a table's name an alias may follow.
    named_table: bool,
    statement: usize,
}

impl<'a> Walk<'a> {
    /// The text with its places, and the aliases in it. Too many aliases do no harm: they are held against the tables that
    /// UPDATE and DELETE name.
    fn run(&self, aliases: &HashSet<Alias>) -> (String, HashSet<Alias>) {
        let (mut out, mut found) = (String::new(), HashSet::new());
        let mut step = Step::default();
        for (at, piece) in self.pieces.iter().enumerate() {
            match *piece {
                _ if piece.is_blank() => {}
                Piece::Word(word) => {
                    if let Some(after) = step.wanted.filter(|_| !is(word, BETWEEN)) {
                        if self.is_ours(&step, after, word, at, aliases) {
                            out.push_str(&super::sql::quoted(self.workspace));
                            out.push('.');
                        }
                        (step.wanted, step.is_target, step.named_table) = (None, false, true);
                    } else if step.named_table && !is(word, "AS") && !self.is_behind_dot(at) {
                        found.insert((step.statement, plain(word)));
                        step.named_table = false;
                    }
                    self.word(&mut step, word, at);
                }
                Piece::Sign(sign) => step.sign(sign),
                Piece::Other(_) => {
                    if !is(step.before, "TOP") {
                        step.wanted = None;
                    }
                }
            }
            out.push_str(piece.text());
        }
        (out, found)
    }

    /// Whether a word where a table may stand is one that is looked for in the place.
    fn is_ours(&self, step: &Step<'_>, after: &str, word: &str, at: usize, aliases: &HashSet<Alias>) -> bool {
        let follows = next(self.pieces, at + 1);
        let is_function = follows == "(" && !is(after, "INTO TABLE REFERENCES ON UPDATE INSERT");
        let name = plain(word);
        let is_known = match self.known {
            KnownTables::All => true,
            // What is made is ours in any case.
            KnownTables::These(tables) => {
                step.creates || is(after, "INTO") && step.selects_into || tables.contains(&name)
            }
        };
        let is_word = is(word, "SELECT VALUES OPENROWSET SET") || is(word, BEFORE_TABLE);
        let is_other_name = self.named.contains(&name);
        let is_alias = step.is_target && aliases.contains(&(step.statement, name));
        follows != "." && !is_function && is_known && !is_word && !is_other_name && !is_alias
    }

    fn is_behind_dot(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| self.pieces[before].text() == ".")
    }

    fn word(&self, step: &mut Step<'a>, word: &'a str, at: usize) {
        let follows = next(self.pieces, at + 1);
        step.creates = is(word, "TABLE") && is(step.before, "CREATE") || step.creates && is(word, BETWEEN);
        step.selects_into = is(word, "SELECT") || step.selects_into && !is(word, "INSERT MERGE");
        // What a MERGE does to its own table names none, nor does `ON DELETE CASCADE`.
        if !is(step.before, "THEN ON") {
            if is(word, "UPDATE DELETE MERGE") {
                step.statement += 1;
                step.merges = is(word, "MERGE");
            }
            step.is_target |= is(word, "UPDATE DELETE");
            // `IS DISTINCT FROM` compares; `SELECT DISTINCT 1 FROM` does not.
            let compares = is(step.before, "DISTINCT") && is(step.before_that, "IS NOT");
            if is(word, BEFORE_TABLE) && !compares || step.merges && is(word, "USING") {
                step.wanted = Some(word);
                if is(word, "FROM") && !step.in_list() {
                    step.lists.push(step.depth);
                }
            } else if is(word, "ON") && before_was_index(&self.pieces[..at])
                || is(word, "INSERT DELETE") && !is(follows, "INTO FROM")
            {
                step.wanted = Some(word);
            } else if is(word, ENDS_TABLES) && step.in_list() && !is(word, "ON") {
                step.lists.pop();
            }
        }
        (step.before_that, step.before) = (step.before, word);
    }
}

impl Step<'_> {
    fn in_list(&self) -> bool {
        self.lists.last() == Some(&self.depth)
    }

    fn sign(&mut self, sign: &str) {
        match sign {
            "(" => self.depth += 1,
            ")" => {
                if self.in_list() {
                    self.lists.pop();
                }
                self.depth = self.depth.saturating_sub(1);
                // A query in parentheses has a name behind it.
                self.named_table = self.in_list();
            }
            ";" => {
                (self.wanted, self.is_target, self.merges) = (None, false, false);
                self.lists.clear();
                self.statement += 1;
            }
            _ => {}
        }
        if !matches!(sign, ")" | ".") {
            self.named_table = false;
        }
        // After TOP (n) the table still comes; a query in parentheses is none.
        if self.wanted.is_some() && !is(self.before, "TOP") && sign != ")" {
            self.wanted = None;
        }
        if sign == "," && self.in_list() {
            self.wanted = Some("FROM");
        }
    }
}

/// True if the statement so far is one about an index and has not yet named its table.
fn before_was_index(pieces: &[Piece<'_>]) -> bool {
    let words = pieces.iter().rev().filter_map(|piece| match piece {
        Piece::Word(word) => Some(*word),
        _ => None,
    });
    let mut last: Vec<&str> = words.take(6).collect();
    last.truncate(last.iter().position(|word| is(word, "CREATE DROP ALTER")).map_or(0, |at| at + 1));
    last.iter().any(|word| is(word, "INDEX"))
}

/// True if a text makes or removes tables, so that their names may be others afterwards.
pub(super) fn changes_tables(sql: &str) -> bool {
    pieces(sql).iter().any(|piece| matches!(piece, Piece::Word(word) if is(word, "CREATE DROP INTO")))
}

/// The first piece of a text that may do more than read, if there is one. What is not known to read counts as such.
pub(super) fn first_write_keyword(sql: &str) -> Option<&str> {
    if OWN.iter().any(|own| sql.trim().eq_ignore_ascii_case(own)) {
        return None;
    }
    let (mut starts, mut before) = (true, "");
    for piece in pieces(sql) {
        let text = piece.text();
        if piece.is_blank() {
            // A server that takes such a sign for the end of the line reads on where we don't.
            if text.starts_with("--") && text.trim_end_matches('\r').contains(|c: char| c.is_control() && c != '\t') {
                return Some(text);
            }
            continue;
        }
        match piece {
            Piece::Sign(";") => starts = true,
            Piece::Sign("(") if starts => {}
            Piece::Word(word) if is(word, CHANGING) => return Some(word),
            Piece::Word(word) if is(word, "VALUE") && is(before, "NEXT") => return Some(before),
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

    fn ours(sql: &str) -> String {
        qualify(sql, "p", &KnownTables::All)
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
            ("SELECT 1 FROM (SELECT a FROM t) x, u", "SELECT 1 FROM (SELECT a FROM [p].t) x, [p].u"),
            ("SELECT a FROM dbo.t", "SELECT a FROM dbo.t"),
            ("SELECT a FROM #t JOIN @u x ON 1 = 1", "SELECT a FROM #t JOIN @u x ON 1 = 1"),
            ("SELECT value FROM STRING_SPLIT('a', ',')", "SELECT value FROM STRING_SPLIT('a', ',')"),
            ("WITH c AS (SELECT a FROM t) SELECT a FROM c", "WITH c AS (SELECT a FROM [p].t) SELECT a FROM c"),
            (
                "SELECT a -- FROM u\n FROM t /* FROM /* x */ u */ WITH (NOLOCK)",
                "SELECT a -- FROM u\n FROM [p].t /* FROM /* x */ u */ WITH (NOLOCK)",
            ),
            ("SELECT DISTINCT 1 FROM t, u", "SELECT DISTINCT 1 FROM [p].t, [p].u"),
            ("SELECT a FROM t WHERE a IS DISTINCT FROM b", "SELECT a FROM [p].t WHERE a IS DISTINCT FROM b"),
            (
                "SELECT a FROM sys.tables t CROSS APPLY sys.f(t.a) u",
                "SELECT a FROM sys.tables t CROSS APPLY sys.f(t.a) u",
            ),
            ("TRUNCATE TABLE t", "TRUNCATE TABLE [p].t"),
            (
                "CREATE TABLE t (a int REFERENCES u (a) ON DELETE CASCADE)",
                "CREATE TABLE [p].t (a int REFERENCES [p].u (a) ON DELETE CASCADE)",
            ),
            ("BEGIN TRANSACTION", "BEGIN TRANSACTION"),
            // Names in brackets are names, whatever they say.
            (
                "SELECT [From], [RowCount] FROM [Update] WHERE [Key] IN (@P1)",
                "SELECT [From], [RowCount] FROM [p].[Update] WHERE [Key] IN (@P1)",
            ),
            (
                "INSERT INTO [t] ([Table]) SELECT [Table] FROM [Select] UNION ALL SELECT [Table] FROM [u]",
                "INSERT INTO [p].[t] ([Table]) SELECT [Table] FROM [p].[Select] UNION ALL SELECT [Table] FROM [p].[u]",
            ),
            ("DROP TABLE IF EXISTS [t]", "DROP TABLE IF EXISTS [p].[t]"),
            ("UPDATE [x] SET [a] = 1 FROM [t] [x]", "UPDATE [x] SET [a] = 1 FROM [p].[t] [x]"),
        ] {
            assert_eq!(ours(sql), expected);
        }
    }

    #[test]
    fn an_alias_is_no_table() {
        for (sql, expected) in [
            ("UPDATE x SET a = 1 FROM t x WHERE x.b = 2", "UPDATE x SET a = 1 FROM [p].t x WHERE x.b = 2"),
            ("UPDATE [X] SET a = 1 FROM t AS x, u", "UPDATE [X] SET a = 1 FROM [p].t AS x, [p].u"),
            ("UPDATE x SET a = 1 FROM u JOIN t x ON 1 = 1", "UPDATE x SET a = 1 FROM [p].u JOIN [p].t x ON 1 = 1"),
            ("UPDATE x SET a = 1 FROM dbo.t x", "UPDATE x SET a = 1 FROM dbo.t x"),
            ("UPDATE TOP (5) x SET a = 1 FROM t x", "UPDATE TOP (5) x SET a = 1 FROM [p].t x"),
            ("DELETE x FROM t x", "DELETE x FROM [p].t x"),
            ("DELETE FROM x FROM t AS x", "DELETE FROM x FROM [p].t AS x"),
            ("DELETE TOP (5) x FROM t x", "DELETE TOP (5) x FROM [p].t x"),
            ("DELETE TOP (5) FROM t", "DELETE TOP (5) FROM [p].t"),
            ("DELETE TOP (5) t WHERE a = 1", "DELETE TOP (5) [p].t WHERE a = 1"),
            ("UPDATE x SET a = 1 FROM (SELECT a FROM t) x", "UPDATE x SET a = 1 FROM (SELECT a FROM [p].t) x"),
            // The table itself, and an alias of another statement.
            (
                "UPDATE t SET a = u.a FROM t JOIN u ON t.b = u.b",
                "UPDATE [p].t SET a = u.a FROM [p].t JOIN [p].u ON t.b = u.b",
            ),
            ("SELECT 1 FROM t x; UPDATE x SET a = 1", "SELECT 1 FROM [p].t x; UPDATE [p].x SET a = 1"),
        ] {
            assert_eq!(ours(sql), expected);
        }
    }

    #[test]
    fn a_merge_has_a_table_and_a_source() {
        for (sql, expected) in [
            (
                "MERGE t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.b;",
                "MERGE [p].t USING [p].u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.b;",
            ),
            (
                "MERGE INTO t AS x USING u AS y ON x.a = y.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (y.a);",
                "MERGE INTO [p].t AS x USING [p].u AS y ON x.a = y.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (y.a);",
            ),
            (
                "MERGE TOP (5) INTO t USING (SELECT a FROM u) y ON t.a = y.a WHEN NOT MATCHED THEN INSERT VALUES (y.a);",
                "MERGE TOP (5) INTO [p].t USING (SELECT a FROM [p].u) y ON t.a = y.a WHEN NOT MATCHED THEN INSERT VALUES (y.a);",
            ),
            (
                "MERGE t WITH (HOLDLOCK) USING (VALUES (1)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE;",
                "MERGE [p].t WITH (HOLDLOCK) USING (VALUES (1)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE;",
            ),
            (
                "SELECT t.a FROM t INNER MERGE JOIN u ON t.a = u.a",
                "SELECT t.a FROM [p].t INNER MERGE JOIN [p].u ON t.a = u.a",
            ),
        ] {
            assert_eq!(ours(sql), expected);
        }
    }

    #[test]
    fn the_users_tables_stay_theirs() {
        let known = KnownTables::These(["mine".to_owned(), "a]b \"c".to_owned()].into());
        for (sql, expected) in [
            ("SELECT * FROM [Mine] x, [theirs]", "SELECT * FROM [p].[Mine] x, [theirs]"),
            ("UPDATE [a]]b \"c] SET [Key] = 1", "UPDATE [p].[a]]b \"c] SET [Key] = 1"),
            ("DELETE FROM \"a]b \"\"c\" WHERE [a] = 1", "DELETE FROM [p].\"a]b \"\"c\" WHERE [a] = 1"),
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
            assert_eq!(first_write_keyword(reads), None, "{reads}");
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
            assert_eq!(first_write_keyword(more), Some(word), "{more}");
        }
    }
}
