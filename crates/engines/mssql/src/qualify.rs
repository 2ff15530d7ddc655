//! Names of tables in statements. SQL Server looks for a name without a schema in the user's own default schema and in `dbo`,
//! and a session can't change that. The tests' statements name tables without a schema, so the place is put in front of them
//! here: where a table's name may stand, and nowhere else.

use std::collections::HashSet;

use super::pieces::{Piece, pieces};

/// Words after which a table is named.
const BEFORE_TABLE: &str = "FROM JOIN INTO UPDATE TABLE MERGE REFERENCES APPLY IDENTITY_INSERT";
/// What else a schema holds: words after which it is named where it is made, changed or dropped.
const KINDS: &str = "TABLE VIEW PROCEDURE PROC FUNCTION SEQUENCE SYNONYM TYPE TRIGGER";
/// What a table is never called without brackets: words that may stand where one would, and the tables of a trigger.
const NO_TABLES: &str = "SELECT INSERT DELETE VALUES OPENROWSET SET AS WITH INSERTED DELETED";
/// Words with which a query or a change begins, so that a FROM may follow.
const BEGINS_QUERY: &str = "SELECT INSERT UPDATE DELETE MERGE";
/// Words behind which a parenthesis may hold tables that are joined.
const BEFORE_JOINED: &str = "FROM JOIN APPLY USING";
/// Words behind which a comma does not name another table.
const ENDS_TABLES: &str = "WHERE GROUP ORDER HAVING SET VALUES SELECT UNION EXCEPT INTERSECT OPTION ON WHEN FOR";
/// Words that may stand between those and the name.
const BETWEEN: &str = "IF EXISTS TOP PERCENT STATISTICS";
/// Words that no statement has which only reads. There are no sessions that can only read, so such texts are not sent.
const CHANGING: &str = "INSERT UPDATE DELETE MERGE INTO EXEC EXECUTE CREATE ALTER DROP TRUNCATE GRANT REVOKE DENY \
                        BULK DBCC BACKUP RESTORE SHUTDOWN KILL RECONFIGURE WRITETEXT UPDATETEXT OPENROWSET \
                        OPENQUERY OPENDATASOURCE USE SETUSER REVERT RECEIVE SEND CONVERSATION DIALOG TRIGGER ADD \
                        CHECKPOINT RAISERROR WAITFOR SIGNATURE";
/// Words with which a text that only reads may begin, and go on behind a semicolon: a procedure runs without EXEC where its
/// name comes first.
const READING: &str = "SELECT WITH DECLARE SET";
/// Words behind which a word in a list of columns is no type.
const BEFORE_NO_TYPE: &str = "PRIMARY FOREIGN KEY REFERENCES CONSTRAINT INDEX UNIQUE CHECK DEFAULT COLLATE";
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

/// What else a definition has made in the place and uses by its name alone, in lower case: the server would look for it in the user's
/// own default schema and in `dbo`.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnObjects {
    functions: HashSet<String>,
    sequences: HashSet<String>,
    types: HashSet<String>,
}

impl OwnObjects {
    /// Takes in what a text makes in the place.
    pub(super) fn by(&mut self, sql: &str) {
        let pieces: Vec<Piece<'_>> = pieces(sql).into_iter().filter(|piece| !piece.is_blank()).collect();
        for at in 1..pieces.len() {
            let [kind, name] = [pieces[at - 1], pieces[at]].map(Piece::text);
            let before = at.checked_sub(2).map_or("", |before| pieces[before].text());
            let follows = pieces.get(at + 1).map_or("", |piece| piece.text());
            if !is(before, "CREATE ALTER") || follows == "." {
                continue;
            }
            let names = match kind.to_ascii_uppercase().as_str() {
                "FUNCTION" => &mut self.functions,
                "SEQUENCE" => &mut self.sequences,
                "TYPE" => &mut self.types,
                _ => continue,
            };
            names.insert(plain(name));
        }
    }
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
pub(super) fn qualify(sql: &str, workspace: &str, known: &KnownTables, made: &OwnObjects) -> String {
    let pieces = pieces(sql);
    let walk = Walk { pieces: &pieces, named: names_of_queries(&pieces), workspace, known, made };
    // `UPDATE x SET ... FROM t x` uses an alias before it says what it is for.
    let (_, aliases) = walk.run(&HashSet::new());
    walk.run(&aliases).0
}

/// What stands next, blanks left out.
fn next<'a>(pieces: &[Piece<'a>], from: usize) -> &'a str {
    pieces[from..].iter().find(|piece| !piece.is_blank()).map_or("", |piece| piece.text())
}

/// Names that a WITH in front gives to queries, with the place where their statement ends.
fn names_of_queries(pieces: &[Piece<'_>]) -> Vec<(usize, usize, String)> {
    let is_word = |at: &usize| matches!(pieces[*at], Piece::Word(_)) && is(next(pieces, at + 1), "AS");
    let is_query = |at: &usize| {
        let behind = pieces[at + 1..].iter().position(|piece| is(piece.text(), "AS"));
        behind.is_some_and(|behind| next(pieces, at + behind + 2) == "(")
    };
    let words = (0..pieces.len()).filter(is_word).filter(is_query);
    let listed = (0..pieces.len()).filter(|at| has_columns(pieces, *at));
    words.chain(listed).map(|at| (at, end_of_statement(pieces, at), plain(pieces[at].text()))).collect()
}

/// Where the statement ends in whose WITH this is: at a semicolon, or where another one begins behind its main part.
fn end_of_statement(pieces: &[Piece<'_>], from: usize) -> usize {
    let (mut depth, mut has_main, mut before) = (0_i32, false, "");
    for (at, piece) in pieces.iter().enumerate().skip(from) {
        match *piece {
            Piece::Sign("(") => depth += 1,
            // The query may itself be in parentheses.
            Piece::Sign(")" | ";") if depth == 0 => return at,
            Piece::Sign(")") => depth -= 1,
            Piece::Word(word) if depth == 0 && is(word, "SELECT INSERT UPDATE DELETE MERGE TRUNCATE EXEC EXECUTE") => {
                // `INSERT INTO t SELECT` is one statement.
                if has_main && !is(before, "THEN ON FOR") && !is(word, "SELECT") {
                    return at;
                }
                has_main = true;
            }
            _ => {}
        }
        if !piece.is_blank() {
            before = piece.text();
        }
    }
    pieces.len()
}

/// Whether this is the name of a query with names for its columns: `WITH q (a, b) AS (`.
fn has_columns(pieces: &[Piece<'_>], at: usize) -> bool {
    let before = pieces[..at].iter().rev().find(|piece| !piece.is_blank()).map_or("", |piece| piece.text());
    if !matches!(pieces[at], Piece::Word(_)) || !(is(before, "WITH") || before == ",") || next(pieces, at + 1) != "(" {
        return false;
    }
    let close = pieces[at..].iter().position(|piece| piece.text() == ")").map(|behind| at + behind);
    let Some(close) = close.filter(|close| is(next(pieces, close + 1), "AS")) else { return false };
    let named = pieces[close..].iter().position(|piece| is(piece.text(), "AS")).map(|behind| close + behind);
    named.is_some_and(|named| next(pieces, named + 1) == "(")
}

/// The number of a statement in its text, and a name that stands for a table there.
type Alias = (usize, String);

/// What is the same for both walks through a text.
struct Walk<'a> {
    pieces: &'a [Piece<'a>],
    named: Vec<(usize, usize, String)>,
    workspace: &'a str,
    known: &'a KnownTables,
    made: &'a OwnObjects,
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
    /// In a FETCH, which names a cursor.
    fetches: bool,
    /// Between SWITCH and the name of the table that gets the rows.
    switches: bool,
    selects_into: bool,
    /// Where columns with their types may follow.
    makes_columns: bool,
    /// In a MERGE; its source comes behind USING.
    merges: bool,
    /// Whether a query or a change began in each parenthesis that is open.
    queries: Vec<bool>,
    /// The place of the last variable.
    variable: Option<usize>,
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
                    } else if self.is_made(&step, word, at) {
                        out.push_str(&super::sql::quoted(self.workspace));
                        out.push('.');
                        step.named_table = false;
                    } else if step.named_table && !is(word, "AS") && !self.is_behind_dot(at) {
                        found.insert((step.statement, plain(word)));
                        step.named_table = false;
                    }
                    self.word(&mut step, word, at);
                }
                Piece::Sign(sign) => step.sign(sign, next(self.pieces, at + 1)),
                Piece::Other(text) => {
                    // `EXEC @status = p` names a procedure yet.
                    let gives_status = is(step.before, "EXEC EXECUTE") && next(self.pieces, at + 1) == "=";
                    if !is(step.before, "TOP") && !gives_status {
                        // An alias may follow a table of the session's too.
                        step.named_table = step.wanted.is_some() && text.starts_with(['@', '#']);
                        step.wanted = None;
                    }
                    step.variable = if text.starts_with('@') { Some(at) } else { None };
                }
            }
            out.push_str(piece.text());
        }
        (out, found)
    }

    /// Whether a word where a table may stand is one that is looked for in the place.
    fn is_ours(&self, step: &Step<'_>, after: &str, word: &str, at: usize, aliases: &HashSet<Alias>) -> bool {
        let follows = next(self.pieces, at + 1);
        let name = plain(word);
        let is_function = follows == "("
            && !is(after, "INTO REFERENCES ON UPDATE INSERT")
            && !is(after, KINDS)
            && !self.made.functions.contains(&name);
        let is_known = match self.known {
            KnownTables::All => true,
            // What is made is ours in any case.
            KnownTables::These(tables) => {
                step.creates || is(after, "INTO") && step.selects_into || tables.contains(&name)
            }
        };
        let is_word = is(word, NO_TABLES) || is(word, BEFORE_TABLE);
        // Procedures of the server's own.
        let is_system = is(after, "EXEC EXECUTE") && (name.starts_with("sp_") || name.starts_with("xp_"));
        let is_other_name = self.named.iter().any(|(from, to, known)| (*from..*to).contains(&at) && *known == name);
        // A temporary table, in brackets or not, is the session's.
        let is_temporary = name.starts_with('#');
        let is_alias = step.is_target && aliases.contains(&(step.statement, name));
        follows != "."
            && !is_function
            && is_known
            && !is_word
            && !is_system
            && !is_other_name
            && !is_alias
            && !is_temporary
    }

    /// Whether a word where no table may stand is the name of what else was made in the place.
    fn is_made(&self, step: &Step<'_>, word: &str, at: usize) -> bool {
        let (follows, name) = (next(self.pieces, at + 1), plain(word));
        if follows == "." || self.is_behind_dot(at) {
            return false;
        }
        if follows == "(" && self.made.functions.contains(&name) {
            return true;
        }
        if is(step.before, "FOR") && is(step.before_that, "VALUE") && self.made.sequences.contains(&name) {
            return true;
        }
        // Of a variable, a parameter, a column or what a function returns.
        let is_of_variable = step.variable.is_some_and(|variable| {
            self.pieces[variable + 1..at].iter().all(|piece| piece.is_blank() || is(piece.text(), "AS"))
        });
        let before = self.pieces[..at].iter().rev().find(|piece| !piece.is_blank());
        let is_of_column = step.makes_columns && step.depth > 0 && matches!(before, Some(Piece::Word(_)));
        let is_given = is(step.before, "RETURNS") || is(step.before_that, "ADD COLUMN") && follows != "(";
        (is_of_variable || is_given || is_of_column && !is(step.before, BEFORE_NO_TYPE))
            && self.made.types.contains(&name)
    }

    fn is_behind_dot(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| self.pieces[before].text() == ".")
    }

    fn word(&self, step: &mut Step<'a>, word: &'a str, at: usize) {
        let follows = next(self.pieces, at + 1);
        let is_made = is(step.before, "CREATE") || is(step.before, "ALTER") && is(step.before_that, "OR");
        step.creates = is(word, KINDS) && is_made || step.creates && is(word, BETWEEN);
        if is(word, BEGINS_QUERY)
            && let Some(began) = step.queries.last_mut()
        {
            *began = true;
        }
        let is_kind = is(word, KINDS) && is(step.before, "CREATE ALTER DROP");
        step.makes_columns |= is_kind && is(word, "TABLE TYPE FUNCTION PROCEDURE PROC");
        step.selects_into = is(word, "SELECT") || step.selects_into && !is(word, "INSERT MERGE");
        // What a MERGE does to its own table names none, nor does `ON DELETE CASCADE`.
        let of_merge = step.merges && is(step.before, "THEN") && is(word, "UPDATE DELETE INSERT");
        let of_key = is(step.before, "ON") && is(word, "UPDATE DELETE") && is(follows, "CASCADE NO SET RESTRICT");
        if !of_merge && !of_key {
            if is(word, "UPDATE DELETE MERGE") {
                step.statement += 1;
                step.merges = is(word, "MERGE");
            }
            step.is_target |= is(word, "UPDATE DELETE");
            // `IS DISTINCT FROM` compares; `SELECT DISTINCT 1 FROM` does not.
            let was_fetch = step.fetches;
            let compares = is(step.before, "DISTINCT") && is(step.before_that, "IS NOT");
            step.fetches = is(word, "FETCH") || step.fetches && !is(word, "FROM ROW ROWS ONLY");
            let of_cursor = is(word, "FROM") && was_fetch;
            // ... `TRIM(a FROM b)` cuts, and `FOR SYSTEM_TIME FROM a TO b` is a time.
            let is_part = is(word, "FROM") && (step.queries.last() == Some(&false) || is(step.before, "SYSTEM_TIME"));
            // `CREATE TYPE a FROM int` names a type, and a synonym is for a table.
            let is_type = is(word, "FROM") && is(step.before_that, "TYPE") && step.makes_columns;
            let is_synonym = is(word, "FOR") && is(step.before_that, "SYNONYM");
            let returns = is(word, "TABLE") && is(step.before, "RETURNS");
            let is_no_table = compares || is_part || is_type || of_cursor || returns;
            // A table's rows go to another one, and its old rows are in one.
            let is_switch = is(word, "TO") && step.switches || is(word, "HISTORY_TABLE") && follows == "=";
            step.switches = is(word, "SWITCH") || step.switches && !is(word, "TO");
            let names = is(word, BEFORE_TABLE) && !is_no_table || is_synonym || is_switch;
            if names || is_kind || is(word, "EXEC EXECUTE") || step.merges && is(word, "USING") {
                step.wanted = Some(word);
                let lists = is(word, "FROM") || is_kind && is(step.before, "DROP");
                if lists && !step.in_list() {
                    step.lists.push(step.depth);
                }
            } else if is(word, "ON") && before_was_index(&self.pieces[..at])
                || is(word, "INSERT DELETE") && !is(follows, "INTO FROM")
            {
                step.wanted = Some(word);
            } else if is(word, ENDS_TABLES) && step.in_list() && !is(word, "ON") && !is(follows, "SYSTEM_TIME") {
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

    fn sign(&mut self, sign: &str, follows: &str) {
        match sign {
            "(" => {
                self.depth += 1;
                self.queries.push(false);
            }
            ")" => {
                self.queries.pop();
                if self.in_list() {
                    self.lists.pop();
                }
                self.depth = self.depth.saturating_sub(1);
                // A query in parentheses has a name behind it.
                self.named_table = self.in_list();
            }
            ";" => {
                (self.wanted, self.is_target, self.merges) = (None, false, false);
                (self.before, self.before_that, self.fetches, self.makes_columns) = ("", "", false, false);
                self.lists.clear();
                self.queries.clear();
                self.statement += 1;
            }
            _ => {}
        }
        if !matches!(sign, ")" | ".") {
            self.named_table = false;
        }
        // After TOP (n) the table still comes, and tables that are joined may be in parentheses; a query there is none.
        let joins = sign == "(" && self.wanted.is_some_and(|wanted| is(wanted, BEFORE_JOINED));
        let goes_on = joins && !is(follows, BEGINS_QUERY) && !is(follows, "WITH VALUES")
            || sign == "=" && is(self.before, "EXEC EXECUTE HISTORY_TABLE");
        if self.wanted.is_some() && !is(self.before, "TOP") && sign != ")" && !goes_on {
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
    let mut last: Vec<&str> = words.take(24).collect();
    last.truncate(last.iter().position(|word| is(word, "CREATE DROP ALTER")).map_or(0, |at| at + 1));
    last.iter().any(|word| is(word, "INDEX TRIGGER STATISTICS"))
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
mod tests;
