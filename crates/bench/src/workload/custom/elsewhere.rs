//! Statements of a definition that stay in the run's own place, and those that don't. A name with a schema in front of it is another
//! place's. Who changes something may name such places only where the statement reads from them: behind FROM in an INSERT, say. Whoever
//! runs a text in a text, goes to another database or makes what no workspace holds leaves the place as well.
//!
//! This is read from words, for all engines alike. It catches what happens by mistake; a name in a text is nobody's to see.

use std::collections::HashSet;
use std::ops::Range;

use super::text::{between, bodies, words};

mod lists;
mod spelling;

use lists::{
    BEFORE_BODY, BEFORE_STATEMENT, BEGINS, CHANGES, CLAUSES, FUNCTIONS, KEEPS_READING, KINDS, MARKS, MODIFIERS,
    MOST_BEFORE_ON, MOST_COLUMNS, MOST_KINDS, NAMES_ANEW, NEVER, NO_ALIAS, OF_THE_SERVER, OWN, SETTINGS, SKIPPED,
    STANDS_FOR, TARGETS,
};

/// A statement that leaves the run's own place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaves<'a> {
    /// It changes something and has this name of another place.
    Names(&'a str),
    /// It runs a text, or a procedure of the server's own.
    Runs(&'a str),
    /// Engines read it in different ways.
    Hides(&'a str),
    /// It goes to another place, or makes what no place holds.
    Goes(&'a str),
}

/// A name, maybe of several parts.
struct Name {
    place: Range<usize>,
    /// Which words are its parts.
    first: usize,
    last: usize,
    /// With an empty part: `..t`.
    is_open: bool,
}

/// A text with its words in small letters.
struct Read<'a> {
    sql: &'a str,
    places: Vec<Range<usize>>,
    words: Vec<String>,
    names: Vec<Name>,
    /// For each word the first one of its statement, as semicolons part them: a text may have a megabyte, and is read once.
    heads: Vec<usize>,
    /// For each word whether the part of its statement lists tables.
    lists: Vec<bool>,
    /// Whether it has a word behind which tables of others become parts of one that is made.
    takes: bool,
    /// Whether it has a handler of conditions.
    handles: bool,
}

fn bare_of(word: &str) -> &str {
    word.trim_matches(['"', '`', '[', ']'])
}

fn is(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// How a text leaves the run's own place, if it does.
pub fn leaves(sql: &str) -> Option<Leaves<'_>> {
    if let Some(hides) = hides(sql) {
        return Some(hides);
    }
    if let Some(at) = spelling::without_dashes(sql).filter(|text| read(text).is_some()).and_then(|_| sql.find("--")) {
        return Some(Leaves::Hides(&sql[at..at + 2]));
    }
    read(sql)
}

/// What of a text can't be looked at, if there is something.
pub fn hides(sql: &str) -> Option<Leaves<'_>> {
    spelling::unclear(sql).map(|place| Leaves::Hides(&sql[place]))
}

fn read(sql: &str) -> Option<Leaves<'_>> {
    let read = Read::of(sql);
    read.runs_or_goes().or_else(|| read.named().map(Leaves::Names)).or_else(|| {
        // The bodies of what is made or done.
        let makes = read.words.first().is_some_and(|word| is(word, "do create alter"));
        bodies(sql).into_iter().filter(|_| makes).find_map(|body| self::read(&sql[body]))
    })
}

impl<'a> Read<'a> {
    fn of(sql: &'a str) -> Self {
        let places = words(sql);
        let words = places.iter().map(|place| sql[place.clone()].to_lowercase()).collect();
        let mut read = Self {
            sql,
            places,
            words,
            names: Vec::new(),
            heads: Vec::new(),
            lists: Vec::new(),
            takes: false,
            handles: false,
        };
        for at in 0..read.places.len() {
            let is_head = at == 0 || read.gap(at - 1).contains(';');
            read.heads.push(if is_head { at } else { read.heads[at - 1] });
            let before = !is_head && read.lists[at - 1];
            let word = &read.words[at];
            read.takes |= is(word, "inherits union");
            read.handles |= word == "handler";
            read.lists.push(if is(word, CLAUSES) { is(word, "from update using join") } else { before });
        }
        let mut at = 0;
        while at < read.places.len() {
            let last = read.end_of_name(at);
            let start = read.places[at].start;
            let before = at.checked_sub(1).map_or(0, |before| read.places[before].end);
            let is_open = between(sql, before, start).ends_with("..") || (at..last).any(|part| read.gap(part) == "..");
            read.names.push(Name { place: start..read.places[last].end, first: at, last, is_open });
            at = last + 1;
        }
        read
    }

    /// What stands behind a word, up to the next.
    fn gap(&self, word: usize) -> String {
        let end = self.places.get(word + 1).map_or(self.sql.len(), |next| next.start);
        between(self.sql, self.places[word].end, end)
    }

    /// The last word of the name that begins with this one. Numbers have dots too.
    fn end_of_name(&self, first: usize) -> usize {
        let mut last = first;
        while last + 1 < self.places.len() && !self.words[last].starts_with(|c: char| c.is_ascii_digit()) {
            // `FROM ..t` is no name that begins with FROM.
            let is_word = is(&self.words[last], TARGETS) || is(&self.words[last], "from join");
            match self.gap(last).as_str() {
                "." => {}
                ".." if !is_word => {}
                _ => break,
            }
            last += 1;
        }
        last
    }

    fn text(&self, place: &Range<usize>) -> &'a str {
        &self.sql[place.clone()]
    }

    /// The word before another, if nothing but blanks is between them.
    fn word_before(&self, word: usize) -> Option<&str> {
        let before = word.checked_sub(1)?;
        self.gap(before).is_empty().then(|| self.words[before].as_str())
    }

    /// Whether a statement begins with a word: the first one, and those behind a semicolon. Within what is made or done they may be parts
    /// of a body.
    fn begins(&self, at: usize) -> bool {
        let is_body = self.words.first().is_some_and(|word| is(word, "create alter do declare begin if while"));
        at == 0 || !is_body && self.gap(at - 1).ends_with(';')
    }

    /// Whether a SET sets a setting, rather than a column or what becomes of a key.
    fn sets(&self, at: usize) -> bool {
        let in_body = self.word_before(at).is_some_and(|before| is(before, BEFORE_STATEMENT));
        self.begins(at) || in_body || at > 0 && self.gap(at - 1).ends_with(';')
    }

    /// What a SET sets that it may not.
    fn sets_beyond(&self, at: usize) -> bool {
        let words = self.rest(at).skip(1).map(|word| word.trim_matches(['"', '`', '[', ']']));
        if words.clone().any(|word| is(word, "global persist persist_only")) {
            return true;
        }
        // A variable of one's own.
        if self.gap(at) == "@" {
            return false;
        }
        let named = words.clone().find(|word| !is(word, "session local"));
        named.is_some_and(|word| !is(word, SETTINGS) && !word.starts_with("enable_") && !self.is_declared(at + 1))
    }

    /// Whether a word begins a statement within a body.
    fn begins_in_body(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let (gap, word) = (self.gap(before), self.words[before].as_str());
        let of_handler = before > 0 && self.words[before - 1] == "for" || word == "for" || gap.contains('\'');
        gap.ends_with([';', ':', '>']) || gap.is_empty() && is(word, BEFORE_BODY) || of_handler && self.handles
    }

    /// Whether a GLOBAL says what is set for all sessions.
    fn is_set_beyond(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let gap = self.gap(before);
        (self.words[before] == "set" || gap.ends_with([',', '@']))
            && self.gap(at + 1).trim_start_matches(':').starts_with('=')
    }

    /// Whether a SET is a part of what makes or changes something, and no change of columns.
    fn is_clause(&self, at: usize) -> bool {
        let before = &self.words[self.heads[at]..at];
        before.iter().any(|word| is(word, "create alter")) && !before.iter().any(|word| word == "update")
    }

    /// Whether a word is a variable of the routine that a text makes: declared there, one of its parameters, or of the new row.
    fn is_declared(&self, at: usize) -> bool {
        let word = self.words[at].as_str();
        let makes = self.words.iter().take(MOST_KINDS).any(|word| is(word, "procedure function trigger event"));
        let is_new = word == "new" && self.gap(at) == ".";
        let declares = |before: usize| {
            is(&self.words[before], "declare in out inout") && self.gap(before).is_empty()
                || self.gap(before).ends_with(['(', ','])
        };
        let known = |one: &usize| self.words[*one] == word && one.checked_sub(1).is_some_and(declares);
        makes && (is_new || (0..at).any(|one| known(&one)))
    }

    /// Whether what is made, changed or dropped is nothing that a place holds.
    fn makes_beyond(&self, at: usize) -> bool {
        // `DEFINER = root@localhost`, `ALGORITHM = MERGE`.
        let is_value = |word: &usize| self.gap(word - 1).ends_with(['=', '@']);
        let mut words = (at + 1..self.words.len()).take(MOST_KINDS).filter(|word| !is_value(word));
        words.find(|word| !is(&self.words[*word], MODIFIERS)).is_some_and(|kind| !is(&self.words[kind], KINDS))
    }

    fn runs_or_goes(&self) -> Option<Leaves<'a>> {
        (0..self.words.len()).find_map(|at| {
            let (word, here) = (self.words[at].as_str(), self.text(&self.places[at]));
            let next = self.words.get(at + 1).map(String::as_str).unwrap_or_default();
            let both = || match self.places.get(at + 1) {
                Some(next) => &self.sql[self.places[at].start..next.end],
                None => here,
            };
            // `done: SELECT 1` is where a GOTO goes, `<<done>>` names a loop.
            let is_loop = self.sql[..self.places[at].start].ends_with("<<");
            let is_label = self.gap(at) == ":" && is(next, BEGINS) || is_loop && is(next, BEGINS);
            if self.begins(at) && !is(word, BEGINS) && !is_label {
                // Names in quotes are none of these words.
                return Some(Leaves::Goes(here));
            }
            // A body has statements of its own, and more of them than can be listed.
            if is(word, NEVER) && self.begins_in_body(at) {
                return Some(Leaves::Goes(here));
            }
            if is(word, "global persist persist_only") && self.is_set_beyond(at) {
                return Some(Leaves::Goes(both()));
            }
            if self.gap(at).starts_with('(') && FUNCTIONS.iter().any(|begin| bare_of(word).starts_with(begin)) {
                return Some(Leaves::Runs(here));
            }
            match word {
                // Who it is decides what it reaches; a module's clause says whose rights it has.
                "exec" | "execute" if next == "as" => {
                    let is_clause = self.word_before(at) == Some("with");
                    (!is_clause).then(|| Leaves::Goes(both()))
                }
                "exec" | "execute" => {
                    // `EXEC @status = p` keeps what `p` returns; a variable by itself has the name.
                    let keeps = self.gap(at) == "@" && self.gap(at + 1).starts_with('=');
                    let first = at + 1 + usize::from(keeps);
                    let opening = self.gap(first - 1);
                    let opening = opening.trim_start_matches('=').trim_start();
                    let is_text = opening.starts_with(['(', '\'', '"', '@']) || next.starts_with("sp_executesql");
                    let called = (first < self.words.len()).then(|| self.words[self.end_of_name(first)].as_str());
                    let is_system = called.is_some_and(|name| name.starts_with("sp_") || name.starts_with("xp_"));
                    (is_text || is_system || next == "immediate").then_some(Leaves::Runs(here))
                }
                // Of a database or a server.
                "on" if is(next, "database all") && self.words[0] == "create" && self.is_index(at) => {
                    Some(Leaves::Goes(both()))
                }
                "prepare" if self.begins(at) || next == "from" => Some(Leaves::Runs(here)),
                "set" if self.sets(at) && self.sets_beyond(at) => Some(Leaves::Goes(both())),
                // Of a function too, for as long as it runs.
                "set" if is(bare_of(next), NAMES_ANEW) && self.is_clause(at) => Some(Leaves::Goes(both())),
                // All that a tablespace has.
                "all" if next == "in" && self.words[0] == "alter" => Some(Leaves::Goes(both())),
                // A table that goes to another schema, or that its run does not know by its name any more.
                "rename" if !is(next, "column constraint index key") && self.words[0] == "alter" => {
                    Some(Leaves::Goes(both()))
                }
                "pragma" if self.rest(at).any(|word| is(word.trim_matches('"'), MARKS)) => Some(Leaves::Goes(both())),
                "into" if is(next, "outfile dumpfile") => Some(Leaves::Goes(both())),
                "vacuum" if self.rest(at).any(|word| word == "into") || at == 0 && next.is_empty() => {
                    Some(Leaves::Goes(here))
                }
                "create" | "alter" | "drop" if !next.is_empty() && self.gap(at).is_empty() && self.makes_beyond(at) => {
                    // A column or a constraint goes without its kind: `ALTER TABLE t DROP a`.
                    let is_part = at > 0 && (self.words[self.heads[at]] == "alter" || self.words[at - 1] == "commit");
                    (!is_part).then(|| Leaves::Goes(both()))
                }
                _ => None,
            }
        })
    }

    /// The first name of another place that is changed, or may be.
    fn named(&self) -> Option<&'a str> {
        let is_change = |name: &&Name| name.first == name.last && is(&self.words[name.first], CHANGES);
        let changes: Vec<&str> = self.names.iter().filter(is_change).map(|name| &*self.words[name.first]).collect();
        let advances = self.words.windows(2).any(|pair| pair[0] == "next" && pair[1] == "value");
        // What reads from elsewhere by its name alone would also write there: a view, a synonym, a procedure.
        let makes = self.words.iter().position(|word| is(word, "create alter"));
        let makes = makes.is_some_and(|at| self.words[at..].iter().take(MOST_KINDS).any(|word| is(word, STANDS_FOR)));
        let reads_on = !makes && changes.iter().all(|word| is(word, KEEPS_READING));
        if changes.is_empty() && !advances {
            return None;
        }
        let locals = self.locals();
        let other = self.names.iter().find(|name| {
            let is_parted = name.first < name.last || name.is_open;
            let schema = &self.words[name.first];
            // Numbers, and temporary tables of the session.
            let bare = bare_of(schema);
            // Temporary tables of all sessions.
            if bare.starts_with("##") {
                return !reads_on || self.is_target(name);
            }
            let is_number = bare.starts_with(|c: char| c.is_ascii_digit() || c == '#');
            // Tables of the server's own may be changed by who may do all, and ours say what is ours.
            if !is_parted && ["pg_", "sqlite_", "plimsoll_"].iter().any(|begin| bare.starts_with(begin)) {
                return self.is_target(name) || makes && !self.gap(name.last).starts_with('(');
            }
            if !is_parted || is_number || is(schema, OWN) && !name.is_open {
                return false;
            }
            if self.is_target(name) || self.is_taken(name) {
                return true;
            }
            // A function is called.
            let is_shown = is(schema, OF_THE_SERVER) && !(makes && bare == "pg_catalog");
            let is_called = self.gap(name.last).starts_with('(') || is_shown;
            // `UPDATE t SET a.b = 1` sets a part of a column.
            let is_column =
                self.word_before(name.first) == Some("set") && self.words[self.heads[name.first]] == "update";
            let is_local = is_column || locals.contains(schema.as_str()) && !self.is_table(name);
            !reads_on && !is_called && !self.is_source(name) && (name.is_open || !is_local)
        })?;
        Some(self.text(&other.place))
    }

    /// Whether a name is that of what is changed.
    fn is_target(&self, name: &Name) -> bool {
        let mut at = name.first;
        while let Some(before) = at.checked_sub(1) {
            let (word, gap) = (self.words[before].as_str(), self.gap(before));
            // `TOP (1) t`, and the number in it.
            let is_count = gap == "(" || gap == ")" && word.starts_with(|c: char| c.is_ascii_digit() || c == '@');
            let follows_top = before > 0 && self.words[before - 1] == "top";
            if is_count && follows_top && gap == ")" {
                at = before - 1;
                continue;
            }
            if gap == "=" {
                return word == "history_table";
            }
            if !(gap.is_empty() || gap == "@" || gap == ".." && at == name.first) {
                // The next of a list that is dropped.
                return gap == "," && self.is_dropped(before);
            }
            if word == "on" {
                return self.is_index(before);
            }
            if word == "for" {
                return before > 0 && self.words[before - 1] == "value";
            }
            if word == "from" && before > 0 && self.words[before - 1] == "delete" {
                return true;
            }
            if is(word, TARGETS) {
                return !self.is_action(before);
            }
            if !is(word, SKIPPED) {
                return false;
            }
            at = before;
        }
        false
    }

    /// Whether a statement takes more of what it names than its rows: a table with the defaults, a parent or a part of one that it makes, a
    /// sequence that a function advances.
    fn is_taken(&self, name: &Name) -> bool {
        let Some(before) = name.first.checked_sub(1) else { return false };
        let (word, gap) = (self.words[before].as_str(), self.gap(before));
        let head = self.heads[name.first];
        if is(word, "nextval setval lastval") {
            return gap == "(";
        }
        if !is(&self.words[head], "create alter") {
            return false;
        }
        // A long statement is not gone through for each of its names.
        let begun = &self.words[head..before][..(before - head).min(MOST_COLUMNS)];
        match word {
            "like" | "of" => !begun.iter().any(|word| word == "select"),
            "inherits" | "union" => gap.ends_with('('),
            _ => {
                self.takes
                    && gap == ","
                    && begun.iter().any(|word| is(word, "inherits union"))
                    && !begun.iter().any(|word| word == "select")
            }
        }
    }

    /// Whether a table is named there: no alias is in front of such a name.
    fn is_table(&self, name: &Name) -> bool {
        let Some(before) = name.first.checked_sub(1) else { return false };
        let gap = self.gap(before);
        if gap.is_empty() {
            return is(&self.words[before], "from join update into using only");
        }
        gap == "," && self.lists[before]
    }

    /// `ON DELETE CASCADE` and `DO UPDATE SET` name nothing.
    fn is_action(&self, at: usize) -> bool {
        is(&self.words[at], "update delete") && self.word_before(at).is_some_and(|before| is(before, "on do then"))
    }

    /// Whether a word is in a list behind DROP or TRUNCATE.
    fn is_dropped(&self, at: usize) -> bool {
        is(&self.words[self.heads[at]], "drop truncate")
    }

    /// The words of a statement from one of them on.
    fn rest(&self, at: usize) -> impl Iterator<Item = &str> + Clone {
        let within = self.heads[at..].iter().take_while(move |head| **head <= at).count();
        self.words[at..at + within].iter().map(String::as_str)
    }

    /// Whether this ON names the table of an index, a trigger or the like.
    fn is_index(&self, on: usize) -> bool {
        let before = self.words[..on].iter().rev().take_while(|word| *word != "on" && *word != "as");
        let mut before = before.take(MOST_BEFORE_ON);
        before.any(|word| is(word, "index trigger statistics policy rule comment all"))
    }

    /// Words that stand for a table or its rows in this text: aliases, tables of the place, variables.
    fn locals(&self) -> HashSet<&str> {
        let is_local = |pair: &&[Name]| {
            let [before, name] = pair else { return false };
            if name.first != name.last {
                return false;
            }
            match between(self.sql, before.place.end, name.place.start).as_str() {
                "" => before.first < before.last || !is(&self.words[before.first], NO_ALIAS),
                "," | "@" | "(" => !is(&self.words[before.first], "set where"),
                // Behind a query in parentheses, which may end in a parameter.
                gap => gap.ends_with(')'),
            }
        };
        let aliases = self.names.windows(2).filter(is_local).map(|pair| pair[1].first);
        let sources = self.names.iter().filter(|name| self.is_source(name)).map(|name| name.last);
        aliases.chain(sources).map(|at| self.words[at].as_str()).collect()
    }

    /// Whether a MERGE takes its rows from there, which it does not change.
    fn is_source(&self, name: &Name) -> bool {
        self.word_before(name.first) == Some("using") && self.words[self.heads[name.first]] == "merge"
    }
}

#[cfg(test)]
mod tests;
