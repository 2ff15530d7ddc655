//! The grammar of T-SQL: what it lets pass, and what it finds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use plimsoll_testbed::grammar::{Grammar, gaps, reserved_words};

/// What is found in a text: the words near which it stands, and what is wrong.
fn found(sql: &str) -> Vec<(String, String)> {
    let offences = Grammar::shared().unwrap().check(sql).unwrap();
    offences.into_iter().map(|offence| (offence.near, offence.what)).collect()
}

#[track_caller]
fn passes(sql: &str) {
    assert_eq!(found(sql), [], "{sql}");
}

/// Where a name may stand.
const PLACES: [&str; 6] = [
    "CREATE TABLE t (a int NOT NULL, {} int NOT NULL)",
    "CREATE TABLE p.{} (a int)",
    "SELECT t.{} FROM t",
    "SELECT a AS {} FROM t",
    "SELECT a FROM {}",
    "UPDATE t SET {} = 1",
];

#[test]
fn a_reserved_word_is_no_name_and_in_brackets_it_is_one() {
    let words = reserved_words();
    assert_eq!(words.len(), 185);
    // One is reserved as two words.
    let words: Vec<String> = words.into_iter().filter(|word| !word.contains(' ')).collect();
    let texts = |place: &str| words.iter().map(|word| place.replace("{}", word)).collect::<Vec<_>>();
    let grammar = Grammar::shared().unwrap();
    for place in PLACES {
        let texts = texts(place);
        let all = grammar.check_all(&texts).unwrap();
        for ((word, text), offences) in words.iter().zip(&texts).zip(all) {
            assert!(!offences.is_empty(), "{text}");
            // A word with which a definition begins makes something else of it.
            if place.starts_with("CREATE TABLE t") && !["CHECK", "CONSTRAINT", "INDEX"].contains(&word.as_str()) {
                assert_eq!((offences[0].near.as_str(), offences[0].is_keyword), (word.as_str(), true), "{text}");
            }
        }
    }
    let quoted = texts(&PLACES.join("; ").replace("{}", "[{}]"));
    for (text, offences) in quoted.iter().zip(grammar.check_all(&quoted).unwrap()) {
        assert_eq!(offences, [], "{text}");
    }
}

#[test]
fn what_other_engines_have_is_found() {
    for (sql, near) in [
        ("SELECT a FROM t LIMIT 5", "5"),
        ("SELECT a FROM t ORDER BY a LIMIT 5", "LIMIT"),
        ("SELECT a FROM t ORDER BY a NULLS LAST", "NULLS"),
        ("SELECT a FROM t WHERE a ILIKE 'x'", "ILIKE"),
        ("SELECT a FROM t JOIN u USING (a)", "JOIN"),
        ("SELECT a FROM t NATURAL JOIN u", "JOIN"),
        ("SELECT a FROM (SELECT 1 a)", "("),
        ("SELECT a::int FROM t", "::"),
        ("SELECT a::varchar(10) FROM t", "::"),
        ("SELECT `a` FROM t", "`"),
        ("SELECT a FROM t WHERE b = ?", "?"),
        ("SELECT a FROM t WHERE a IS TRUE", "TRUE"),
        ("SELECT a FROM t WHERE (a, b) = (1, 2)", "("),
        ("SELECT a FROM t UNION DISTINCT SELECT a FROM u", "UNION"),
        ("SELECT COUNT(*) FILTER (WHERE a = 1) FROM t", "COUNT"),
        ("WITH RECURSIVE c AS (SELECT 1 a) SELECT a FROM c", "WITH"),
        ("INSERT INTO t (a) VALUES (1) RETURNING a", "RETURNING"),
        ("UPDATE t x SET a = 1", "x"),
        ("UPDATE t SET a = 1 LIMIT 1", "LIMIT"),
        ("DELETE FROM t WHERE a = 1 RETURNING a", "RETURNING"),
        ("DROP TABLE t CASCADE", "DROP"),
        ("CREATE TABLE t (a int,)", ")"),
        ("CREATE TABLE t (a int) WITHOUT ROWID", "WITHOUT"),
        ("CREATE TABLE t (a serial)", "serial"),
        ("CREATE TABLE t (a jsonb)", "jsonb"),
        ("CREATE TABLE t (a varchar(8001))", "varchar"),
        ("CREATE TABLE t (a float(54))", "float"),
        ("CREATE TABLE t (a datetime2(8))", "datetime2"),
        ("CREATE TABLE t (a int(11))", "int"),
        ("SELECT CAST(a AS unsigned) FROM t", "unsigned"),
        ("VALUES (1)", "VALUES"),
    ] {
        let found = found(sql);
        assert!(found.iter().any(|(word, _)| word == near), "{sql}: {found:?}");
    }
}

#[test]
fn what_the_documentation_asks_of_batches_is_held() {
    for (sql, near) in [
        ("SELECT 1; p 1", "p"),
        ("EXEC p 1 2", "2"),
        ("SELECT 1 WITH c AS (SELECT 1 a) SELECT a FROM c", "WITH"),
        ("MERGE t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "MERGE"),
        ("SELECT 1; CREATE SCHEMA s", "CREATE"),
        ("IF 1 = 1 CREATE PROCEDURE p AS SELECT 1", "CREATE"),
        ("SELECT 1\nGO", "GO"),
        ("EXEC(N'CREATE TABLE t (RowCount int)')", "RowCount"),
        ("EXEC(N'DROP TABLE ' + @name + N' CASCADE')", "DROP"),
    ] {
        let found = found(sql);
        assert!(found.iter().any(|(word, _)| word == near), "{sql}: {found:?}");
    }
    for sql in [
        "p 1, 'x'",
        "EXEC p 1, @a = 2, @b = @c OUTPUT",
        "SELECT 1; WITH c AS (SELECT 1 a) SELECT a FROM c",
        "MERGE t USING u ON t.a = u.a WHEN MATCHED THEN DELETE;",
        "CREATE SCHEMA s",
        "SELECT geometry::Parse('x'), $1, 0x1F, N'it''s', [a]]b], [[c], \"c\"\"d\" FROM t",
        "SELECT a FROM t WHERE a IN (1, 2) GROUP BY GROUPING SETS ((a, b), a)",
        "SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x CROSS APPLY f(a.x) y, (VALUES (1, 2)) v(d, e)",
        "DECLARE @x varchar(max), @y dbo.mine, @z double precision = 1 SELECT @x",
        "EXEC(N'CREATE SCHEMA [' + @name + N']')",
        "",
    ] {
        passes(sql);
    }
}

#[test]
fn an_offence_has_its_place() {
    let grammar = Grammar::shared().unwrap();
    let offences = grammar.check("CREATE TABLE t (\n  a int,\n  RowCount bigint)").unwrap();
    assert_eq!(offences.len(), 1, "{offences:?}");
    assert_eq!((offences[0].line, offences[0].position, offences[0].is_keyword), (3, 3, true));
    let offences = grammar.check("SELECT a\nFROM t\nWHERE b = 'x").unwrap();
    assert!(offences.iter().any(|offence| (offence.line, offence.position) == (3, 11)), "{offences:?}");
    assert!(offences.iter().any(|offence| offence.to_string().starts_with("line 3, position 11, near ''")));
}

/// The list is printed with `--nocapture`.
#[test]
#[expect(clippy::print_stdout, reason = "what is not parsed by the dialect is to be seen")]
fn statements_that_the_dialect_does_not_know_are_held_against_a_form_of_their_own() {
    for gap in gaps() {
        println!("not parsed, {}: {}\n  form: {}\n  source: {}", gap.name, gap.reason, gap.form.trim(), gap.source);
    }
    for (well, not) in [
        ("CHECKPOINT 5", "CHECKPOINT now"),
        ("KILL 51", "KILL all"),
        (
            "BACKUP DATABASE [a]]b] TO DISK = N'a.bak' WITH COPY_ONLY, FORMAT, NO_COMPRESSION, STATS = 5",
            "BACKUP DATABASE [a]]b] TO N'a.bak' WITH COPY_ONLY, FORMAT, NO_COMPRESSION, STATS = 5",
        ),
        (
            "RESTORE DATABASE a FROM DISK = N'b.bak' WITH MOVE N'c' TO @d, MOVE N'e' TO @f, STATS = 5",
            "RESTORE DATABASE a FROM DISK = N'b.bak' WITH MOVE N'c' TO @d MOVE N'e' TO @f, STATS = 5",
        ),
        (
            "CREATE DATABASE a ON PRIMARY (NAME = b, FILENAME = N'c') LOG ON (NAME = d, FILENAME = N'e')",
            "CREATE DATABASE a ON PRIMARY (NAME = b, FILENAME = N'c') LOG (NAME = d, FILENAME = N'e')",
        ),
        (
            "CREATE DATABASE a (EDITION = 'Basic', MAXSIZE = 2 GB, SERVICE_OBJECTIVE = 'Basic')",
            "CREATE DATABASE a (EDITION = 'Basic', MAXSIZE = 2GiB, SERVICE_OBJECTIVE = 'Basic')",
        ),
        (
            "CREATE DATABASE a (SERVICE_OBJECTIVE = ELASTIC_POOL(name = [p]))",
            "CREATE DATABASE a (SERVICE_OBJECTIVE = ELASTIC_POOL('p'))",
        ),
        ("CREATE DATABASE a AS COPY OF b", "CREATE DATABASE a AS COPY OF 'b'"),
        (
            "INSERT BULK [p].[t] ([a] int, [b] varchar(120) COLLATE Latin1_General_BIN2) WITH (TABLOCK, KEEP_NULLS)",
            "INSERT BULK [p].[t] ([a] int, Percent int)",
        ),
        ("CHECKPOINT; KILL 5; SELECT 1", "CHECKPOINT; KILL 5; SELECT"),
    ] {
        passes(well);
        assert!(!found(not).is_empty(), "{not}");
    }
}
