//! Statistics of statements, read from servers of our own, and held against a load of ours by the profiler's arithmetic.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;

use plimsoll_clock::RealClock;
use plimsoll_engine::queries::{SessionSample, WaitClass};
use plimsoll_engine::{Credentials, Database, Engine as _, Error, ErrorKind, QuerySampler, Secret, Target, Touches};
use plimsoll_measurement::counters::{Evictions, Item, Measure, Snapshot};
use plimsoll_postgres::Postgres as Engine;
use plimsoll_profile::{Known, Reason, Slot, Status, diff};
use plimsoll_testbed::Postgres;

const SLOT_US: u64 = 600_000_000;
const CREATE: &str = "CREATE SCHEMA \"my stats\"; CREATE EXTENSION pg_stat_statements SCHEMA \"my stats\"";
/// Stamps that are nearer than two seconds are taken for one: some servers only say how long they have been up.
const APART: &str = "SELECT pg_sleep(2.5)";
const RESET: &str = "SELECT \"my stats\".pg_stat_statements_reset()";

fn server(settings: &[(&str, &str)]) -> Postgres {
    let builder = Postgres::builder().setting("shared_preload_libraries", "pg_stat_statements");
    let server = settings.iter().fold(builder, |builder, (name, value)| builder.setting(name, value)).start().unwrap();
    server.psql(CREATE).unwrap();
    server
}

fn open(url: &str, password: Option<&str>) -> Box<dyn Database> {
    let credentials = Credentials { password: password.map(Secret::new), ..Credentials::default() };
    Engine.open(&Target::parse(url).unwrap(), &credentials, Arc::new(RealClock::new())).unwrap()
}

fn sampler(server: &Postgres) -> Box<dyn QuerySampler> {
    open(&server.socket_url("postgres"), None).query_sampler().unwrap().unwrap()
}

fn refused(server: &Postgres, database: &str) -> Error {
    open(&server.socket_url(database), None).query_sampler().err().unwrap()
}

/// A profiler of our own pace: a slot ends when we say so.
struct Watch {
    sampler: Box<dyn QuerySampler>,
    known: Known,
    /// All slots so far.
    slots: Vec<Slot>,
    /// The text of each statement that was ever seen.
    texts: BTreeMap<Item, String>,
}

impl Watch {
    fn of(server: &Postgres) -> Self {
        let mut watch =
            Self { sampler: sampler(server), known: Known::default(), slots: Vec::new(), texts: BTreeMap::new() };
        watch.slot();
        watch
    }

    fn take(&mut self, snapshot: &Snapshot) -> Slot {
        let slot = diff(&mut self.known, snapshot, SLOT_US).unwrap();
        self.slots.push(slot.clone());
        slot
    }

    fn slot(&mut self) -> Slot {
        let snapshot = self.sampler.snapshot().unwrap();
        let items: Vec<Item> = snapshot.rows.iter().map(|row| row.item).collect();
        for items in items.chunks(plimsoll_engine::MOST_TEXTS) {
            for text in self.sampler.texts(items).unwrap() {
                self.texts.insert(text.item, text.text.unwrap());
            }
        }
        self.take(&snapshot)
    }

    /// Executions and rows of statements with this text, as a slot has them.
    fn counted(&self, slot: &Slot, part: &str) -> (u64, u64) {
        let of = |measure| {
            let is_meant = |item: &Item| self.texts.get(item).is_some_and(|text| text.contains(part));
            let deltas = slot.deltas.iter().filter(|delta| is_meant(&delta.item));
            deltas.map(|delta| delta.values.get(measure).unwrap()).sum::<u64>()
        };
        (of(Measure::Executions), of(Measure::Rows))
    }

    fn has_unknown(slot: &Slot, reason: Reason) -> bool {
        slot.unknown.iter().any(|unknown| unknown.reason == reason)
    }
}

/// Runs a statement of ours so many times in one session.
fn run(server: &Postgres, sql: &str, times: usize) {
    server.psql(&format!("SET application_name = 'load'; {}", format!("{sql}; ").repeat(times))).unwrap();
}

/// What was lost, except that the server's total may be later or more than what is in the rows.
fn losses(slot: &Slot) -> Vec<Reason> {
    slot.unknown.iter().map(|unknown| unknown.reason).filter(|reason| *reason != Reason::Unexplained).collect()
}

#[test]
fn a_known_load_is_counted_to_the_execution() {
    let server = server(&[("pg_stat_statements.track", "all")]);
    server.psql("CREATE TABLE held (k int)").unwrap();
    let make = "CREATE FUNCTION calls() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) + 7 FROM held); END $$";
    server.psql(make).unwrap();
    let mut watch = Watch::of(&server);
    assert!(watch.slots[0].status.has(Status::BASELINE) && watch.slots[0].deltas.is_empty());
    for times in 1..=12 {
        run(&server, "INSERT INTO held SELECT generate_series(1, 5)", times);
        run(&server, "SELECT k FROM held WHERE k = 3", times);
        run(&server, "SELECT calls()", 2);
        let slot = watch.slot();
        assert_eq!(losses(&slot), [], "{slot:?}");
        assert!(slot.evictions == Some(0) && slot.event.is_none());
        let times = times as u64;
        assert_eq!(watch.counted(&slot, "INSERT INTO held"), (times, 5 * times));
        let before: u64 = (1..=times).sum();
        assert_eq!(watch.counted(&slot, "SELECT k FROM held"), (times, times * before));
        assert_eq!(watch.counted(&slot, "SELECT calls()"), (2, 2));
        // What the function runs is listed, and its time is not added to that of its caller.
        let nested: Vec<_> = slot.deltas.iter().filter(|delta| delta.is_nested).collect();
        assert_eq!(nested.len(), 1, "{nested:?}");
        assert_eq!(nested[0].values.get(Measure::Executions), Some(2));
        let clients = slot.deltas.iter().filter(|delta| !delta.is_nested);
        let explained: u64 = clients.map(|delta| delta.values.get(Measure::ElapsedUs).unwrap()).sum();
        let coverage = slot.coverage;
        assert_eq!(coverage.explained_us, Some(explained), "{coverage:?}");
        let is_credited = |part| {
            let meant = |delta: &&plimsoll_profile::Delta| watch.texts[&delta.item].contains(part);
            slot.deltas.iter().find(meant).unwrap().status == Status::CREDITED
        };
        assert_eq!(
            is_credited("INSERT INTO held"),
            times == 1,
            "all rows were read before, so that a new one began at zero"
        );
    }
    // Version 14 stamps a database's time when it first hears of the database, so that a slot may be without a total.
    assert!(watch.slots.iter().any(|slot| slot.coverage.total_us.is_some()));
    // Ours are known, and everybody else's are not among them.
    let own = watch.sampler.own();
    let ours = |item: &Item| {
        // Behind the comment of the lock nothing is shown.
        let parts = ["pg_stat_statements", "pg_stat_activity", "pg_stat_wal", "pg_stat_io", "pg_extension", "LOCK ?"];
        parts.iter().any(|part| watch.texts[item].contains(part))
    };
    assert!(own.len() >= 4 && own.iter().all(ours), "{own:?}");
    let deltas = watch.slots.iter().flat_map(|slot| &slot.deltas);
    assert!(deltas.filter(|delta| ours(&delta.item)).all(|delta| own.contains(&delta.item)));
    assert_eq!(watch.sampler.warnings(), Vec::<String>::new());
}

#[test]
fn a_reset_and_a_restart_are_found_and_lose_nothing_silently() {
    let server = server(&[]);
    let mut watch = Watch::of(&server);
    run(&server, "SELECT 'one'::text", 5);
    assert_eq!(watch.slot().event, None);
    run(&server, "SELECT 'one'::text", 3);
    server.psql(APART).unwrap();
    server.psql(RESET).unwrap();
    run(&server, "SELECT 'one'::text", 4);
    let slot = watch.slot();
    assert_eq!(slot.event, Some(Reason::Reset));
    assert!(Watch::has_unknown(&slot, Reason::Reset) && slot.status.has(Status::LOWER_BOUND), "{slot:?}");
    assert_eq!(
        watch.counted(&slot, "SELECT $1::text"),
        (4, 4),
        "the three before the reset are unknown, and said to be"
    );

    // Counters outlive a restart in good order.
    run(&server, "SELECT 'one'::text", 2);
    server.restart().unwrap();
    run(&server, "SELECT 'one'::text", 6);
    let error = watch.sampler.snapshot().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Lost, "{error}");
    let slot = watch.slot();
    assert_eq!((slot.event, losses(&slot)), (Some(Reason::Restart), Vec::new()), "{slot:?}");
    assert_eq!(watch.counted(&slot, "SELECT $1::text"), (8, 8));

    // They outlive an immediate stop as well.
    run(&server, "SELECT 'one'::text", 9);
    server.psql(APART).unwrap();
    server.stop_immediate().unwrap();
    assert!(watch.sampler.snapshot().is_err() && watch.sampler.snapshot().is_err());
    server.restart().unwrap();
    run(&server, "SELECT 'one'::text", 1);
    let slot = watch.slot();
    assert_eq!((slot.event, losses(&slot)), (Some(Reason::Restart), Vec::new()), "{slot:?}");
    assert_eq!(watch.counted(&slot, "SELECT $1::text"), (10, 10));
}

#[test]
fn counters_that_do_not_outlive_a_restart_are_said_to_be_lost() {
    let server = server(&[("pg_stat_statements.save", "off")]);
    let mut watch = Watch::of(&server);
    run(&server, "SELECT 'one'::text", 9);
    server.psql(APART).unwrap();
    server.restart().unwrap();
    run(&server, "SELECT 'one'::text", 1);
    assert!(watch.sampler.snapshot().is_err());
    let slot = watch.slot();
    assert_eq!(slot.event, Some(Reason::Restart));
    assert!(Watch::has_unknown(&slot, Reason::Restart) && slot.status.has(Status::LOWER_BOUND), "{slot:?}");
    assert_eq!(
        watch.counted(&slot, "SELECT $1::text"),
        (1, 1),
        "the nine before the restart are unknown, and said to be"
    );
    run(&server, "SELECT 'one'::text", 4);
    let slot = watch.slot();
    assert_eq!((slot.event, losses(&slot)), (None, Vec::new()), "{slot:?}");
    assert_eq!(watch.counted(&slot, "SELECT $1::text"), (4, 4));
}

#[test]
fn evictions_are_counted_and_what_they_hide_is_declared() {
    // The least that the server takes.
    let server = server(&[("pg_stat_statements.max", "100")]);
    let mut watch = Watch::of(&server);
    let (mut seen, mut evicted) = (0, 0);
    for round in 0..8 {
        run(&server, "SELECT 'kept'::text", 20);
        // Each has another number of columns, as names and values alone make no other statement.
        let columns = |at: usize| ", 1".repeat(round * 60 + at);
        let rare: Vec<String> = (0..60).map(|at| format!("SELECT 1 AS rare{}", columns(at))).collect();
        server.psql(&rare.join("; ")).unwrap();
        let slot = watch.slot();
        let (kept, _) = watch.counted(&slot, "'kept'::text");
        let (kept, rare) = (kept + watch.counted(&slot, "$1::text").0, watch.counted(&slot, "AS rare").0);
        evicted += slot.evictions.unwrap();
        let is_whole = kept == 20 && rare == 60;
        assert!(kept <= 20 && rare <= 60, "{kept} {rare}");
        assert!(is_whole || Watch::has_unknown(&slot, Reason::Eviction), "{slot:?}");
        if slot.evictions == Some(0) {
            assert!(is_whole && losses(&slot).is_empty(), "{kept} {rare} {slot:?}");
        }
        seen += kept;
    }
    assert!(evicted > 0 && seen > 0);
    let warnings = watch.sampler.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("room for 100 statements"), "{warnings:?}");
}

#[test]
fn what_is_missing_is_said_with_what_mends_it() {
    let bare = Postgres::builder().start().unwrap();
    let error = refused(&bare, "postgres");
    let hint = error.hint.unwrap();
    assert!(error.kind == ErrorKind::ToolMissing && hint.contains("shared_preload_libraries"), "{hint}");
    bare.psql("CREATE EXTENSION pg_stat_statements").unwrap();
    let error = refused(&bare, "postgres");
    assert!(error.kind == ErrorKind::ToolMissing && error.message.contains("has not loaded it"), "{error}");

    let server = server(&[("pg_stat_statements.track", "none")]);
    for sql in ["CREATE DATABASE other", "CREATE DATABASE old", "CREATE USER reader PASSWORD 'secret'"] {
        server.psql(sql).unwrap();
    }
    let hint = refused(&server, "other").hint.unwrap();
    assert!(hint.contains("CREATE EXTENSION pg_stat_statements") && !hint.contains("preload"), "{hint}");
    server.psql_in("old", "CREATE EXTENSION pg_stat_statements VERSION '1.8'").unwrap();
    let error = refused(&server, "old");
    assert!(error.message.contains("1.8") && error.hint.unwrap().contains("UPDATE"));
    let url = server.tcp_url("reader", "secret", "postgres");
    let error = open(&url, None).query_sampler().err().unwrap();
    assert!(error.kind == ErrorKind::Permission && error.hint.unwrap().contains("pg_read_all_stats"));
    server.psql("GRANT pg_read_all_stats TO reader; GRANT USAGE ON SCHEMA \"my stats\" TO reader").unwrap();
    let mut sampler = open(&url, None).query_sampler().unwrap().unwrap();
    let snapshot = sampler.snapshot().unwrap();
    // What sessions did not ask for is not counted, so that nothing is known of it.
    assert!(!snapshot.is_complete && snapshot.end.evictions == Evictions::Counted(0));
    assert!(sampler.warnings()[0].contains("track is none"));
}

#[test]
fn statements_answer_as_they_are_documented_and_make_nothing() {
    let server = server(&[]);
    let database = open(&server.socket_url("postgres"), None);
    let mut test = database.self_test().unwrap().unwrap();
    let words = test.words();
    let words: Vec<(&str, &str)> = words.iter().map(|(gap, word)| (*gap, word.as_str())).collect();
    let statements = test.statements();
    let edition = test.edition().map(str::to_owned);
    let meant = statements.entries().iter().filter(|entry| entry.sql.contains("/* plimsoll watch */"));
    let mut count = 0;
    for entry in meant.filter(|entry| entry.is_in(edition.as_deref())) {
        assert!(!test.lacks(entry) && entry.touches == Touches::Nothing);
        let sql = statements.example(entry, &words).unwrap();
        let texts: Vec<&str> = entry.values.iter().map(|value| value.as_str().unwrap()).collect();
        let values: Vec<plimsoll_engine::Value<'_>> =
            texts.iter().map(|text| plimsoll_engine::Value::Text(text)).collect();
        let shape = test.send(entry, &sql, &values).unwrap().unwrap();
        let kinds: Vec<&str> = shape.columns.iter().map(|column| column.kind.as_str()).collect();
        let documented: Vec<&str> = entry.answer.iter().map(|column| column.kind.as_str()).collect();
        assert_eq!(kinds, documented, "{}", entry.name);
        count += 1;
    }
    assert_eq!(count, 13);
}

/// Where the extension was anybody may make functions of its names, and they would run in our name.
#[test]
fn functions_of_others_are_not_called_when_the_extension_is_gone() {
    let server = server(&[]);
    let mut sampler = sampler(&server);
    sampler.snapshot().unwrap();
    server
        .psql(
            "DROP EXTENSION pg_stat_statements; CREATE TABLE called (by_whom text); \
             CREATE FUNCTION \"my stats\".pg_stat_statements_info(OUT dealloc bigint, OUT stats_reset timestamptz) \
             LANGUAGE plpgsql AS $$ BEGIN SET LOCAL transaction_read_only = off; INSERT INTO called VALUES (current_user); END $$",
        )
        .unwrap();
    let error = sampler.snapshot().unwrap_err();
    assert!(error.kind == ErrorKind::ToolMissing && error.message.contains("dropped or moved"), "{error}");
    let error = sampler.snapshot().unwrap_err();
    assert!(error.message.contains("is not in this database"), "{error}");
    // Beside a function of that name the extension itself, somewhere else.
    server.psql("CREATE SCHEMA elsewhere; CREATE EXTENSION pg_stat_statements SCHEMA elsewhere").unwrap();
    sampler.snapshot().unwrap();
    assert_eq!(server.psql("SELECT count(*) FROM called").unwrap().trim(), "0");
}

/// A text of a database with another encoding may be none here. The counts are read all the same.
#[test]
fn a_text_that_is_none_here_stops_nobody() {
    let server = server(&[]);
    server.psql("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0").unwrap();
    let mut client = server.client("bytes");
    let mut child = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"SET client_encoding = 'SQL_ASCII'; SELECT 1 AS \"\xff\";\n").unwrap();
    child.wait().unwrap();
    let mut sampler = sampler(&server);
    let snapshot = sampler.snapshot().unwrap();
    assert!(!snapshot.rows.is_empty());
    let items: Vec<Item> = snapshot.rows.iter().map(|row| row.item).collect();
    assert_eq!(sampler.texts(&items).unwrap().len(), 0);
    assert!(sampler.warnings().iter().any(|warning| warning.contains("another encoding")), "{:?}", sampler.warnings());
}

/// A session whose statement is no text here is seen without it, and nothing of the statement is repeated.
#[test]
fn a_session_whose_text_is_none_here_is_seen_without_it() {
    let server = server(&[]);
    server.psql("CREATE DATABASE letters ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0").unwrap();
    let mut sampler = sampler(&server);
    let mut client = server.client("letters");
    let mut child = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"SET client_encoding = 'LATIN1'; BEGIN;\nSELECT 'top\xf0Z'\\g\n").unwrap();
    let idle =
        "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND query_start > xact_start";
    while server.psql(idle).unwrap().trim() != "t" {}
    for _ in 0..2 {
        let seen = sampler.sessions().unwrap().unwrap();
        let [session] = &seen.sessions[..] else { panic!("{seen:?}") };
        assert!(session.text.is_none() && session.state == "idle in transaction", "{session:?}");
    }
    drop(input);
    child.wait().unwrap();
    while server.psql(idle).unwrap().trim() != "f" {}
    assert!(sampler.sessions().unwrap().unwrap().sessions.is_empty());
}

/// Nor does one that has no letters in this database's encoding, or that no way leads to from there.
#[test]
fn a_text_that_has_no_letters_here_stops_nobody() {
    let server = server(&[]);
    server.psql("SELECT 1 AS \"a\u{200b}b\"").unwrap();
    for encoding in ["EUC_JP", "LATIN1"] {
        let name = encoding.to_lowercase();
        let made =
            format!("CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
        server.psql(&made).unwrap();
        let mut client = server.client(&name);
        assert!(
            client
                .arg("-c")
                .arg("CREATE EXTENSION pg_stat_statements")
                .stdout(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
        let mut sampler = open(&server.socket_url(&name), None).query_sampler().unwrap().unwrap();
        let snapshot = sampler.snapshot().unwrap();
        let items: Vec<Item> = snapshot.rows.iter().map(|row| row.item).collect();
        assert!(!items.is_empty() && sampler.texts(&items).unwrap().is_empty(), "{encoding}");
        assert!(sampler.warnings().iter().any(|warning| warning.contains("another encoding")), "{encoding}");
    }
}

/// Nobody drops it between the check and the call: who does so at this moment is waited for, and found.
#[test]
fn functions_of_others_are_not_called_when_the_extension_goes_at_that_moment() {
    let server = server(&[]);
    let mut sampler = sampler(&server);
    let mut client = server.client("postgres");
    let mut dropping = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = dropping.stdin.take().unwrap();
    input
        .write_all(
            b"CREATE TABLE called (by_whom text); BEGIN; DROP EXTENSION pg_stat_statements;
              CREATE FUNCTION \"my stats\".pg_stat_statements_info(OUT dealloc bigint, OUT stats_reset timestamptz)
              LANGUAGE plpgsql AS $$ BEGIN SET LOCAL transaction_read_only = off; INSERT INTO called VALUES (current_user); END $$;\n",
        )
        .unwrap();
    let count = |what: &str| server.psql(&format!("SELECT count(*) FROM pg_stat_activity WHERE {what}")).unwrap();
    while count("state = 'idle in transaction'").trim() != "1" {}
    let reading = std::thread::spawn(move || sampler.snapshot().map(drop));
    while count("wait_event_type = 'Lock' AND application_name = 'plimsoll watch'").trim() != "1" {}
    input.write_all(b"COMMIT;\n").unwrap();
    drop(input);
    dropping.wait().unwrap();
    let error = reading.join().unwrap().unwrap_err();
    assert!(error.kind == ErrorKind::ToolMissing && error.message.contains("dropped or moved"), "{error}");
    assert_eq!(server.psql("SELECT count(*) FROM called").unwrap().trim(), "0");
}

#[test]
fn sessions_are_seen_with_what_they_wait_for_and_whom() {
    let server = server(&[]);
    server.psql("CREATE TABLE held (k int); INSERT INTO held VALUES (1)").unwrap();
    let mut sampler = sampler(&server);
    let idle = sampler.sessions().unwrap().unwrap();
    assert!(idle.sessions.is_empty() && idle.connected >= 1 && idle.limit.is_some_and(|limit| limit > idle.connected));
    let client = |sql: &str| {
        let mut client = server.client("postgres");
        let mut child = client.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(format!("{sql};\n").as_bytes()).unwrap();
        (child, input)
    };
    let waiting = |count: usize| {
        let sql = format!("SELECT count(*) = {count} FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
        while server.psql(&sql).unwrap().trim() != "t" {}
    };
    let (mut holder, holding) = client("BEGIN; UPDATE held SET k = 2");
    let holds = "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'idle in transaction'";
    while server.psql(holds).unwrap().trim() != "t" {}
    // A statement that waits for a table has no number yet: it waits while it is parsed. One that waits for a row has one.
    let (mut first, first_input) = client("UPDATE held SET k = 3");
    waiting(1);
    let (mut second, second_input) = client("DELETE FROM held");
    waiting(2);
    let seen = sampler.sessions().unwrap().unwrap();
    let of = |state: &str, is_active: bool| {
        let meant = seen.sessions.iter().filter(|one| one.state == state && one.is_active == is_active);
        meant.cloned().collect::<Vec<_>>()
    };
    let (idle, active) = (of("idle in transaction", false), of("active", true));
    assert_eq!((idle.len(), active.len()), (1, 2), "{seen:?}");
    let holder_number = idle[0].number;
    assert!(active.iter().any(|one| one.blocked_by == [holder_number]), "{seen:?}");
    for one in &active {
        let wait = one.wait.clone().unwrap();
        assert!(wait.class == WaitClass::Locks && wait.name.starts_with("Lock "), "{wait:?}");
        assert!(
            !one.blocked_by.is_empty() && one.item.is_some() && one.start_us.is_some_and(|start| start <= seen.at_us),
            "{seen:?}"
        );
    }
    let items: Vec<Item> = seen.sessions.iter().filter_map(|one| one.item).collect();
    assert_eq!(items.len(), 3, "the statement of each is known, also of one that is idle: {seen:?}");
    let again = sampler.sessions().unwrap().unwrap();
    let identities = |sample: &SessionSample| {
        let mut all: Vec<_> = sample.sessions.iter().map(|one| (one.identity, one.start_us)).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(identities(&seen), identities(&again), "it is the same execution");
    // The statement of the one that waits is the one that the counters have in the end.
    drop((holding, first_input, second_input));
    for child in [&mut holder, &mut first, &mut second] {
        assert!(child.wait().unwrap().success());
    }
    let snapshot = sampler.snapshot().unwrap();
    for one in &active {
        assert!(snapshot.rows.iter().any(|row| Some(row.item) == one.item), "{one:?}");
    }
}
