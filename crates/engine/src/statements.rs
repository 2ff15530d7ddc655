//! The statements of an engine: every text that it can send to a server, as data, with what it is for, the right that it needs,
//! the releases that have it, the documented form of its answer, and the source of all this.
//!
//! An engine keeps them in `data/statements`. Its driver takes its texts from there, a grammar reads them in tests, and a
//! [self-test](crate::self_test) sends them to a server that somebody has.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What examples call a place of ours that is there, under a lease, while a self-test sends statements that
/// [work in it](Touches::Workspace).
pub const EXAMPLE_PLACE: &str = "plimsoll_run_example";

/// What examples call a table in it, with the key `RowId`, a column of every type, and rows.
pub const EXAMPLE_TABLE: &str = "example";

/// What examples call a place of ours that is not there: of statements, in their order, that make it, mark it and remove it.
pub const EXAMPLE_NEW_PLACE: &str = "plimsoll_run_another";

/// What examples call the mark that this place is to bear.
pub const EXAMPLE_MARK: &str = "the mark of plimsoll_run_another";

/// What a statement may change, which decides when a self-test sends it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Touches {
    /// It only reads, or changes settings of its own session.
    #[default]
    Nothing,
    /// It makes, changes or removes a workspace of ours or what is in one: a self-test sends it with consent, and puts names of its
    /// own in place of [`EXAMPLE_PLACE`] and [`EXAMPLE_NEW_PLACE`].
    Workspace,
    /// It makes, moves or removes databases, changes the level of service, ends sessions or empties caches: never in a self-test.
    Server,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerColumn {
    /// What it is, for people; a server may leave columns without names.
    pub name: String,
    /// Its type in the server's words, as the statement casts it: `bigint`, `nvarchar(60)`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// A statement, with all that is known of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name. Several statements have one name if each is for other editions.
    pub name: String,
    /// What it is for, as a part of a sentence.
    pub purpose: String,
    /// The right that it needs, in the server's words; absent where every user may send it.
    #[serde(default)]
    pub permission: Option<String>,
    /// Releases and services that have it, by the engine's names for them; all of them where the list is empty.
    #[serde(default)]
    pub editions: Vec<String>,
    /// What it may change.
    #[serde(default)]
    pub touches: Touches,
    /// The columns of its answer, in their order; none for one that answers nothing.
    #[serde(default)]
    pub answer: Vec<AnswerColumn>,
    /// Values for its parameters, in their order, that a self-test sends.
    #[serde(default)]
    pub values: Vec<toml::Value>,
    /// Words for its gaps, by which tests and self-tests fill it.
    #[serde(default)]
    pub example: BTreeMap<String, String>,
    /// The page of the server's documentation, below the engine's own root.
    pub source: String,
    /// The text. `{[name]}` is a gap for a quoted name, `{'name'}` one for a text in quotes, and `{name}` one for a word of
    /// ASCII letters, digits and `_`, or a number.
    pub sql: String,
}

impl Entry {
    /// Whether this edition has it; one that nobody knows may have everything.
    pub fn is_in(&self, edition: Option<&str>) -> bool {
        self.editions.is_empty() || edition.is_none_or(|edition| self.editions.iter().any(|own| own == edition))
    }

    /// True if both have a name that one edition could mean either by.
    fn is_in_the_way_of(&self, other: &Self) -> bool {
        self.editions.is_empty()
            || other.editions.is_empty()
            || self.editions.iter().any(|own| other.editions.contains(own))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    statement: Vec<Entry>,
}

/// How a server writes names and texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoting {
    /// The signs around a name; the second one is doubled within.
    pub name: (char, char),
}

impl Quoting {
    /// A name in its signs.
    pub fn name(self, name: &str) -> String {
        let (open, close) = self.name;
        let mut quoted = String::from(open);
        for sign in name.chars() {
            quoted.push(sign);
            if sign == close {
                quoted.push(sign);
            }
        }
        quoted.push(close);
        quoted
    }

    /// A text in quotes. Servers that write names in backquotes read a backslash in a text as part of another sign.
    pub fn text(self, text: &str) -> String {
        let text = text.replace('\'', "''");
        format!("'{}'", if self.name.0 == '`' { text.replace('\\', r"\\") } else { text })
    }
}

/// The statements of an engine, in the order of its files.
#[derive(Debug)]
pub struct Statements {
    entries: Vec<Entry>,
    /// Where those of a name stand.
    places: BTreeMap<String, Vec<usize>>,
    quoting: Quoting,
}

impl Statements {
    /// Reads the files, each of which has rows of `[[statement]]`.
    ///
    /// # Panics
    /// If they are not such files, or have a name twice for an edition: they are part of the program.
    pub fn parse(files: &[&str], quoting: Quoting) -> Self {
        let (mut entries, mut places) = (Vec::<Entry>::new(), BTreeMap::<String, Vec<usize>>::new());
        for file in files {
            let File { statement } = toml::from_str(file).unwrap_or_else(|error| panic!("{error}"));
            for mut entry in statement {
                entry.sql.truncate(entry.sql.trim_end().len());
                let before = places.entry(entry.name.clone()).or_default();
                let is_alone = before.iter().all(|place| !entries[*place].is_in_the_way_of(&entry));
                assert!(is_alone, "the statement '{}' is there twice", entry.name);
                before.push(entries.len());
                entries.push(entry);
            }
        }
        Self { entries, places, quoting }
    }

    /// All of them, in the order of the files.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The only statement of this name.
    ///
    /// # Panics
    /// If there is none, or one for each of several editions: names are constants of the program, which a test holds against the
    /// files.
    pub fn get(&self, name: &str) -> &Entry {
        match self.places.get(name).map_or(&[][..], Vec::as_slice) {
            [place] => &self.entries[*place],
            places => panic!("there are {} statements '{name}'", places.len()),
        }
    }

    /// The statement of this name that an edition has, if it has one.
    ///
    /// # Panics
    /// If no edition has one.
    pub fn get_for(&self, name: &str, edition: &str) -> Option<&Entry> {
        let places = self.places.get(name).unwrap_or_else(|| panic!("no statement '{name}'"));
        places.iter().map(|place| &self.entries[*place]).find(|entry| entry.is_in(Some(edition)))
    }

    /// The text of a statement with its gaps filled.
    ///
    /// # Panics
    /// If there is no such statement, or a gap is left without its word.
    pub fn fill(&self, name: &str, words: &[(&str, &str)]) -> String {
        let word = |gap: &str| words.iter().find(|(name, _)| *name == gap).map(|(_, word)| *word);
        filled(&self.get(name).sql, self.quoting, word).unwrap_or_else(|gap| panic!("'{name}': nothing fits {gap}"))
    }

    /// The text that an edition has, with its gaps filled.
    ///
    /// # Panics
    /// If it has none, or a gap is left without its word.
    pub fn fill_for(&self, name: &str, edition: &str, words: &[(&str, &str)]) -> String {
        let entry = self.get_for(name, edition).unwrap_or_else(|| panic!("'{name}': {edition} has none"));
        let word = |gap: &str| words.iter().find(|(name, _)| *name == gap).map(|(_, word)| *word);
        filled(&entry.sql, self.quoting, word).unwrap_or_else(|gap| panic!("'{name}': nothing fits {gap}"))
    }

    /// The text of a statement with these words, and those of its example for the other gaps.
    ///
    /// # Errors
    /// The gap that neither has a word for.
    pub fn example(&self, entry: &Entry, words: &[(&str, &str)]) -> Result<String, String> {
        let given = |gap: &str| words.iter().find(|(name, _)| *name == gap).map(|(_, word)| *word);
        filled(&entry.sql, self.quoting, |gap| given(gap).or_else(|| entry.example.get(gap).map(String::as_str)))
    }
}

/// Fills the gaps of a text; the error is one that nothing fits.
fn filled<'a>(sql: &str, quoting: Quoting, word: impl Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some((before, gap)) = rest.split_once('{') {
        let (gap, behind) = gap.split_once('}').ok_or_else(|| gap.to_owned())?;
        text.push_str(before);
        let within = |open, close| gap.strip_prefix(open).and_then(|gap: &str| gap.strip_suffix(close));
        let found = match (within('[', ']'), within('\'', '\'')) {
            (Some(name), _) => word(name).map(|word| quoting.name(word)),
            (_, Some(name)) => word(name).map(|word| quoting.text(word)),
            _ => word(gap).filter(|word| is_plain(word)).map(str::to_owned),
        };
        text.push_str(&found.ok_or_else(|| format!("{{{gap}}}"))?);
        rest = behind;
    }
    text.push_str(rest);
    Ok(text)
}

/// True for what can stand in a statement without quotes, whatever it is.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRACKETS: Quoting = Quoting { name: ('[', ']') };
    const FILE: &str = r#"
        [[statement]]
        name = "drop a table"
        purpose = "removes a table of ours"
        touches = "workspace"
        example = { table = "a]b", note = "o'clock", number = "7" }
        source = "t-sql/statements/drop-table"
        sql = "DROP TABLE {[table]} /* {'note'} */ {number}"

        [[statement]]
        name = "time"
        purpose = "what time the server has"
        answer = [{ name = "now", type = "datetime2(3)" }]
        source = "t-sql/functions/sysutcdatetime"
        sql = "SELECT SYSUTCDATETIME()"
    "#;

    #[test]
    fn gaps_are_filled_and_quoted() {
        let statements = Statements::parse(&[FILE], BRACKETS);
        let entry = statements.get("drop a table");
        assert_eq!(statements.example(entry, &[]).unwrap(), "DROP TABLE [a]]b] /* 'o''clock' */ 7");
        assert_eq!(statements.example(entry, &[("table", "t")]).unwrap(), "DROP TABLE [t] /* 'o''clock' */ 7");
        let words = [("table", "t"), ("note", ""), ("number", "-")];
        let lacking = filled(&entry.sql, BRACKETS, |gap| words.iter().find(|it| it.0 == gap).map(|it| it.1));
        assert_eq!(lacking.unwrap_err(), "{number}", "a sign is no word");
        assert_eq!(statements.fill("time", &[]), "SELECT SYSUTCDATETIME()");
        assert_eq!(statements.entries().len(), 2);
    }

    #[test]
    fn a_backslash_is_doubled_where_it_means_something() {
        let texts = [('`', '`'), ('[', ']')].map(|name| Quoting { name }.text(r"a\'b"));
        assert_eq!(texts, [r"'a\\''b'", r"'a\''b'"]);
    }

    #[test]
    fn one_name_may_stand_for_another_text_in_each_edition() {
        let of = |edition: &str, sql: &str| {
            format!("[[statement]]\nname = 'n'\npurpose = 'p'\neditions = [{edition}]\nsource = 's'\nsql = '{sql}'\n")
        };
        let files = [of("'1', '2'", "old"), of("'3'", "new")];
        let statements = Statements::parse(&files.each_ref().map(String::as_str), BRACKETS);
        let text = |edition| statements.get_for("n", edition).map(|entry| entry.sql.as_str());
        assert_eq!([text("2"), text("3"), text("4")], [Some("old"), Some("new"), None]);
        let entry = &statements.entries()[1];
        assert_eq!([entry.is_in(Some("3")), entry.is_in(Some("1")), entry.is_in(None)], [true, false, true]);
        let twice = [of("'1', '2'", "old"), of("'2'", "new")];
        std::panic::catch_unwind(|| Statements::parse(&twice.each_ref().map(String::as_str), BRACKETS)).unwrap_err();
    }

    #[test]
    #[should_panic(expected = "the statement 'time' is there twice")]
    fn a_name_stands_once() {
        Statements::parse(&[FILE, &FILE.replace("drop a table", "another")], BRACKETS);
    }
}
