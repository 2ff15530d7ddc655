//! Every text that we send is T-SQL, by an independent grammar: those of the catalogue, those that the dialect makes of tables of
//! all kinds, and users' own with the place in front of their tables. Errors that are planted are found.

mod custom;
mod made;

use std::collections::BTreeSet;
use std::io::Write as _;

use plimsoll_engine::{ColumnType, Dialect as _, Table};
use plimsoll_testbed::grammar::{Grammar, gaps};

use self::custom::Custom;
use crate::qualify::{KnownTables, OwnObjects, qualify};
use crate::sql::STATEMENTS;

/// Statements that have to parse beside those of the catalogue.
const GENERATED: usize = 5_000;
/// Users' statements among them.
const CUSTOM: u64 = 1_500;

fn catalogue() -> Vec<String> {
    let example = |entry| STATEMENTS.example(entry, &[]).unwrap();
    STATEMENTS.entries().iter().map(example).collect()
}

/// The figures of a bar, for who reads the output of the test.
fn told(figures: &str) {
    writeln!(std::io::stdout(), "{figures}").unwrap();
}

/// Fails with the texts that the grammar refuses.
#[track_caller]
fn assert_t_sql(texts: &[String]) {
    let verdicts = Grammar::shared().unwrap().check_all(texts).unwrap();
    let refused: Vec<String> = texts
        .iter()
        .zip(verdicts)
        .filter(|(_, offences)| !offences.is_empty())
        .map(|(text, offences)| format!("{text}\n  {}", offences[0]))
        .collect();
    let shown = &refused[..refused.len().min(10)];
    assert!(refused.is_empty(), "{} of {} are no T-SQL:\n{}", refused.len(), texts.len(), shown.join("\n"));
}

#[test]
fn every_statement_parses() {
    let parsed = Grammar::shared().unwrap().parsed();
    let catalogue = catalogue();
    assert!(catalogue.len() > 80, "{}", catalogue.len());
    assert_t_sql(&catalogue);
    // An answer's types are types too.
    let columns = STATEMENTS.entries().iter().flat_map(|entry| &entry.answer);
    let kinds: BTreeSet<String> = columns.map(|column| format!("DECLARE @answer {}", column.kind)).collect();
    assert_t_sql(&kinds.into_iter().collect::<Vec<_>>());
    let made = made::statements();
    assert_t_sql(&made);
    let own = own();
    assert_t_sql(&own);
    let texts: BTreeSet<&String> = made.iter().chain(&own).collect();
    assert!(texts.len() >= GENERATED, "{}", texts.len());
    let parsed = Grammar::shared().unwrap().parsed() - parsed;
    told(&format!(
        "grammar: {} statements of the catalogue parse, and {} generated ones, {} of them users'; {} forms are held against a list, \
         as the dialect does not know them; {parsed} were parsed anew",
        catalogue.len(),
        texts.len(),
        own.len(),
        gaps().len(),
    ));
}

/// Users' statements as they are sent, those of the examples among them.
fn own() -> Vec<String> {
    let tables =
        custom::TABLES.iter().map(|table| table.trim_matches(['[', ']', '"']).replace("]]", "]").to_lowercase());
    let known = KnownTables::These(tables.collect());
    let mut texts = made::examples();
    let mut wrong = Vec::new();
    for seed in 0..CUSTOM {
        let Custom { written, sent, .. } = custom::statement(seed);
        let found = qualify(&written, "p", &known, &OwnObjects::default());
        if found != sent {
            wrong.push(format!("seed {seed}:\n  {found}\n  {sent}"));
        }
        texts.push(sent);
    }
    assert!(
        wrong.is_empty(),
        "{} statements are sent otherwise:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
    texts
}

/// An error in a text: its name, and what is made of the text; nothing where it can't be planted.
type Planted = (&'static str, fn(&str) -> Option<String>);

/// Where words stand in a text outside of its own texts.
fn outside<'a>(text: &'a str, what: &'a str) -> impl Iterator<Item = usize> {
    let is_outside = |at: &usize| text[..*at].matches('\'').count().is_multiple_of(2);
    text.match_indices(what).map(|(at, _)| at).filter(is_outside)
}

fn replaced(text: &str, what: &str, by: &str) -> Option<String> {
    let at = outside(text, what).next()?;
    Some(format!("{}{by}{}", &text[..at], &text[at + what.len()..]))
}

/// The last one goes, as a server looks longest for it.
fn without(text: &str, sign: &str) -> Option<String> {
    let at = if sign == "'" { text.rfind(sign)? } else { outside(text, sign).last()? };
    Some(format!("{}{}", &text[..at], &text[at + sign.len()..]))
}

fn behind(text: &str, words: &str, of: &str) -> Option<String> {
    text.starts_with(of).then(|| format!("{text} {words}"))
}

const PLANTED: [Planted; 16] = [
    ("a reserved word as a column", |text| replaced(text, "[Int1]", "RowCount")),
    ("a reserved word as a table", |text| replaced(text, "[t]", "Order")),
    ("a quote too few", |text| without(text, "'")),
    ("a bracket too few", |text| without(text, "]")),
    ("a parenthesis too few", |text| without(text, ")")),
    ("a comma too much", |text| replaced(text, ", ", ", , ")),
    ("LIMIT", |text| behind(text, "LIMIT 10", "SELECT")),
    ("RETURNING", |text| behind(text, "RETURNING 1", "INSERT")),
    ("ON CONFLICT", |text| behind(text, "ON CONFLICT DO NOTHING", "INSERT")),
    ("FOR UPDATE", |text| behind(text, "FOR UPDATE", "SELECT")),
    ("a cast with colons", |text| replaced(text, "@P1", "@P1::int")),
    ("backticks", |text| replaced(text, "[RowId]", "`RowId`")),
    ("IF NOT EXISTS", |text| replaced(text, "CREATE TABLE", "CREATE TABLE IF NOT EXISTS")),
    ("a type of another engine", |text| replaced(text, "datetime2(3)", "timestamptz")),
    ("a length that no type has", |text| replaced(text, "varchar(120)", "varchar(9000)")),
    ("a batch's end for clients", |text| Some(format!("{text}\nGO"))),
];

#[test]
fn errors_that_are_planted_are_found() {
    use ColumnType::{DateTime, Int, Text};
    let table = Table::new("t", &[("RowId", Int), ("Int1", Int), ("DateTime1", DateTime), ("VarChar1", Text(120))]);
    let texts: Vec<String> = made::of_table(&table).into_iter().chain(catalogue()).collect();
    assert_t_sql(&texts);
    let mut planted = 0;
    for (name, plant) in PLANTED {
        let wrong: Vec<String> = texts.iter().filter_map(|text| plant(text)).collect();
        assert!(!wrong.is_empty(), "nothing has {name}");
        let verdicts = Grammar::shared().unwrap().check_all(&wrong).unwrap();
        let missed: Vec<&String> =
            wrong.iter().zip(&verdicts).filter(|(_, found)| found.is_empty()).map(|it| it.0).collect();
        assert!(missed.is_empty(), "{name} is not found in {missed:#?}");
        planted += wrong.len();
    }
    told(&format!("grammar: {planted} planted errors of {} kinds are found", PLANTED.len()));
}

/// What is found says where and by which error, for the reserved word that was the first to stop a load.
#[test]
fn a_reserved_word_is_named() {
    let table = Table::new("plimsoll_manifest", &[("Number", ColumnType::Int), ("RowCount", ColumnType::BigInt)]);
    let sql = made::DIALECT.create_table(&table);
    assert_t_sql(std::slice::from_ref(&sql));
    let found = Grammar::shared().unwrap().check(&sql.replace("[RowCount]", "RowCount")).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].is_keyword && found[0].near == "RowCount", "{found:?}");
}
