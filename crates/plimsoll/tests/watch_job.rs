//! `plimsoll watch job` and `watch --snapshots`: a job at the server makes snapshots, which are read later. On a PostgreSQL whose job is called as a
//! scheduler does it, and on a MariaDB or MySQL whose own scheduler runs an event.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and shows its figures")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use std::io::BufRead as _;

use common::{Said, Scene, wait_until};
use plimsoll_testbed::{MariaDb, Postgres};
use serde_json::Value;
use watched::{begun, interrupted};

/// A server whose job has been installed, for snapshots in `taken`.
enum Server {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Server {
    /// With a job that makes a snapshot when it is called.
    fn postgres(every: &str) -> Self {
        let server = Self::Postgres(watched::server());
        server.install(every);
        server
    }

    /// With an event that makes a snapshot each second.
    fn mariadb() -> Self {
        let builder = MariaDb::builder().buffer_pool_mb(64).setting("performance_schema", "ON");
        let builder = builder.setting("event_scheduler", "ON");
        let server = builder.data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
        server.sql("CREATE TABLE held (k INT)").unwrap();
        let server = Self::MariaDb(server);
        server.install("1s");
        server
    }

    fn install(&self, every: &str) {
        let printed = Scene::new().say(&["watch", "job", &self.url(), "--table", "taken", "--every", every]);
        assert_eq!(printed.code, 0, "{printed:?}");
        self.sql(&printed.out);
    }

    fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.socket_url("postgres"),
            Self::MariaDb(server) => server.socket_url("test"),
        }
    }

    fn sql(&self, sql: &str) -> String {
        match self {
            Self::Postgres(server) => server.psql(sql).unwrap(),
            Self::MariaDb(server) => server.sql(sql).unwrap(),
        }
        .trim()
        .to_owned()
    }

    fn count(&self, sql: &str) -> u64 {
        self.sql(sql).parse().unwrap_or_else(|_| panic!("{sql}: {}", self.sql(sql)))
    }

    /// A load of three rows each time.
    fn load(&self, times: usize) {
        let insert = match self {
            Self::Postgres(_) => "INSERT INTO held SELECT generate_series(1, 3); ",
            Self::MariaDb(_) => "INSERT INTO held VALUES (1), (2), (3); ",
        };
        self.sql(&insert.repeat(times));
    }

    /// Executions and rows of the load, by the server's own count.
    fn counted(&self) -> (u64, u64) {
        let (sum, from) = match self {
            Self::Postgres(_) => ("calls", "pg_stat_statements WHERE query LIKE 'INSERT INTO held%'"),
            Self::MariaDb(_) => (
                "COUNT_STAR",
                "performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE 'INSERT INTO `held`%'",
            ),
        };
        let rows = if sum == "calls" { "rows" } else { "SUM_ROWS_AFFECTED" };
        (self.count(&format!("SELECT sum({sum}) FROM {from}")), self.count(&format!("SELECT sum({rows}) FROM {from}")))
    }

    /// Makes a snapshot, or waits until one was begun and made.
    fn snapshot(&self) {
        match self {
            Self::Postgres(_) => drop(self.sql("SELECT /* plimsoll watch */ public.taken_snapshot()")),
            Self::MariaDb(_) => {
                let last = || self.count("SELECT coalesce(max(snapshot_id), 0) FROM taken WHERE edge = 1");
                // One of which the beginning was there already may not have the load.
                let begun = self.count("SELECT coalesce(max(snapshot_id), 0) FROM taken");
                wait_until(|| last() > begun);
            }
        }
    }
}

fn read(scene: &Scene, url: &str) -> Said {
    scene.say(&["watch", url, "--snapshots", "taken", "--json", "--top", "100"])
}

fn slots(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Executions and rows of the load in these slots.
fn inserted(slots: &[Value]) -> (u64, u64) {
    let rows = slots.iter().flat_map(|slot| slot["queries"].as_array().unwrap());
    summed(&rows.collect::<Vec<_>>())
}

fn summed(rows: &[&Value]) -> (u64, u64) {
    let is_load =
        |row: &&&Value| row["text"].as_str().is_some_and(|text| text.replace('`', "").starts_with("INSERT INTO held"));
    let sum = |name: &str| rows.iter().filter(is_load).filter_map(|row| row[name].as_u64()).sum();
    (sum("executions"), sum("rows"))
}

/// The same of all slots that are kept.
fn kept(scene: &Scene) -> (u64, u64) {
    let rows = scene.say(&["watch", "export", "--json"]).json();
    summed(&rows.iter().collect::<Vec<_>>())
}

/// Statements of which the server keeps a count each.
fn many(server: &Server, count: usize) {
    let statement = |at: usize| match server {
        Server::Postgres(_) => {
            let signs = (0..14).map(|bit| if at >> bit & 1 == 0 { "+ 1" } else { "- 1" });
            format!("SELECT 1 {}; ", signs.collect::<Vec<_>>().join(" "))
        }
        Server::MariaDb(_) => format!("SELECT k AS a{at} FROM held LIMIT 1; "),
    };
    for begin in (0..count).step_by(500) {
        server.sql(&(begin..count.min(begin + 500)).map(statement).collect::<String>());
    }
}

/// What our statements cost by the server's own count, in milliseconds: those of polling, of the job, and of reading what it made.
fn costs(server: &Server) -> [f64; 3] {
    match server {
        Server::Postgres(_) => {
            let sum = |of: &str| {
                let sql = "SELECT coalesce(sum(total_exec_time), 0) FROM pg_stat_statements WHERE query LIKE '%/* plimsoll watch */%' AND query";
                server.sql(&format!("{sql} {of}")).parse().unwrap()
            };
            [
                sum("NOT LIKE '%taken%'"),
                sum("LIKE '%taken_snapshot()'"),
                sum("LIKE '%\"taken%' AND query NOT LIKE '%taken_snapshot%'"),
            ]
        }
        Server::MariaDb(_) => {
            let of = |sql: &str| -> f64 { server.sql(sql).parse().unwrap() };
            let sum = |part: &str| {
                of(&format!(
                    "SELECT coalesce(sum(SUM_TIMER_WAIT), 0) / 1e9 FROM performance_schema.events_statements_summary_by_digest \
                     WHERE DIGEST_TEXT LIKE '%`plimsoll watch`%' AND DIGEST_TEXT NOT LIKE 'INSERT%' AND DIGEST_TEXT NOT LIKE 'DELETE%' \
                     AND DIGEST_TEXT {part}"
                ))
            };
            let event = of(
                "SELECT coalesce(sum(SUM_TIMER_WAIT), 0) / 1e9 FROM performance_schema.events_statements_summary_global_by_event_name \
                            WHERE EVENT_NAME = 'statement/scheduler/event'",
            );
            [sum("NOT LIKE '%taken%'"), event, sum("LIKE '%taken%'")]
        }
    }
}

/// Both ways beside each other, on a known load. `PLIMSOLL_STATEMENTS=5000` and `--nocapture` print what both cost where the server keeps so many.
fn both_ways(server: &Server) {
    let (polled, made) = (Scene::new(), Scene::new());
    let url = server.url();
    let statements: usize = std::env::var("PLIMSOLL_STATEMENTS").map_or(100, |count| count.parse().unwrap());
    many(server, statements);
    server.snapshot();
    let before = costs(server);
    let words = ["watch", &url, "--every", "1s", "--json", "--no-samples", "--top", "100"];
    let (child, mut lines, mut told) = begun(&polled, &words);
    for times in 1..=5 {
        server.load(times * 10);
        server.snapshot();
        lines.read_line(&mut told).unwrap();
    }
    lines.read_line(&mut told).unwrap();
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    told += &rest;
    server.snapshot();
    let (after, snapshots) = (costs(server), server.count("SELECT max(snapshot_id) FROM taken"));
    let said = read(&made, &url);
    assert_eq!(said.code, 0, "{said:?}");
    let (by_poll, by_job) = (slots(&told), slots(&said.out));
    let truth = server.counted();
    assert_eq!(truth, (150, 450));
    assert_eq!((inserted(&by_poll), inserted(&by_job)), (truth, truth), "{told}\n{said:?}");
    assert_eq!((kept(&polled), kept(&made)), (truth, truth));
    assert!(by_job.len() as u64 >= 6 && by_job.len() as u64 <= snapshots, "{said:?}");
    for slot in &by_job {
        assert_eq!(slot["status"], "exact", "{slot:#}");
        assert!(slot["coverage_percent"].as_f64().is_none_or(|percent| percent < 101.0), "{slot:#}");
        // What statements do not count of themselves is much of a small load.
        let unknown = slot["unknown"].as_array().unwrap().iter().filter(|reason| *reason != "unexplained").count();
        assert!(slot.get("sessions").is_none() && unknown == 0, "{slot:#}");
    }
    assert!(!said.out.contains("plimsoll watch"), "our own are left out: {}", said.out);
    assert!(said.err.contains("looks at no sessions"), "{}", said.err);
    // Each begins where the one before ended.
    let starts = by_job.iter().skip(1).map(|slot| &slot["slot_start"]);
    let ends: Vec<jiff::Timestamp> = by_job.iter().map(end_of).collect();
    for (start, end) in starts.zip(&ends) {
        let start: jiff::Timestamp = start.as_str().unwrap().parse().unwrap();
        assert!((start.as_microsecond() - end.as_microsecond()).abs() < 2_000, "{said:?}");
    }
    let read_ms = costs(server)[2] - after[2];
    let [poll, job] = [after[0] - before[0], after[1] - before[1]];
    let (polls, jobs) = (by_poll.len() + 1, by_job.len());
    println!(
        "{statements} statements: polling {:.2} ms a reading ({polls}), the job {:.2} ms a snapshot, reading it {:.2} ms ({jobs})",
        poll / polls as f64,
        job / jobs as f64,
        read_ms / jobs as f64
    );
}

fn end_of(slot: &Value) -> jiff::Timestamp {
    let start: jiff::Timestamp = slot["slot_start"].as_str().unwrap().parse().unwrap();
    let us = (slot["seconds"].as_f64().unwrap() * 1e6).round() as i64;
    jiff::Timestamp::from_microsecond(start.as_microsecond() + us).unwrap()
}

#[test]
fn a_job_of_postgresql_counts_what_polling_counts() {
    both_ways(&Server::postgres("60s"));
}

#[test]
fn an_event_of_mariadb_counts_what_polling_counts() {
    both_ways(&Server::mariadb());
}

/// The same snapshots read again, one that is damaged, and what polling kept in between.
#[test]
fn nothing_counts_twice_and_nothing_is_lost() {
    let (scene, server) = (Scene::new(), Server::postgres("1s"));
    let url = server.url();
    let none = read(&scene, &url);
    assert!(none.code == 0 && none.out.is_empty() && none.err.contains("No snapshot is new"), "{none:?}");
    server.snapshot();
    assert!(read(&scene, &url).out.is_empty(), "the first one is only a point to start from");
    server.load(3);
    server.snapshot();
    server.load(4);
    server.snapshot();
    server.load(5);
    server.snapshot();
    server.sql("DELETE FROM taken_rows WHERE snapshot_id = 3 AND query_id = (SELECT max(query_id) FROM taken_rows)");
    let said = read(&scene, &url);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("the snapshot 3 of taken is damaged") && said.err.contains("of its"), "{said:?}");
    let first = slots(&said.out);
    assert_eq!((inserted(&first), first.len()), ((12, 36), 2), "{said:?}");
    let again = read(&scene, &url);
    assert!(again.code == 0 && again.out.is_empty(), "{again:?}");
    assert_eq!(kept(&scene), (12, 36));
    // Polling goes on from there, and the job from where polling ended.
    server.load(6);
    assert_eq!(scene.say(&["watch", &url, "--every", "1s", "--for", "1s", "--json"]).code, 0);
    server.load(7);
    server.sql("SELECT pg_sleep(2)");
    server.snapshot();
    let said = read(&scene, &url);
    let last = slots(&said.out);
    assert_eq!((inserted(&last), last.len()), ((7, 21), 1), "{said:?}");
    // A snapshot that was not made is a gap of its true length.
    assert!(last[0]["status"].as_str().unwrap().contains("gap"), "{said:?}");
    assert!(last[0]["seconds"].as_f64().unwrap() > 2.0, "{said:?}");
    assert_eq!(kept(&scene), (25, 75));
    // One without the last of its ends was never made whole.
    server.load(8);
    server.snapshot();
    server.sql("DELETE FROM taken WHERE edge = 1 AND snapshot_id = (SELECT max(snapshot_id) FROM taken)");
    assert!(read(&scene, &url).out.is_empty());
    server.snapshot();
    assert_eq!(inserted(&slots(&read(&scene, &url).out)), (8, 24));
}

#[test]
fn what_is_too_old_goes_and_texts_stay_without_their_values() {
    for server in [Server::postgres("60s"), Server::mariadb()] {
        let scene = Scene::new();
        server.snapshot();
        server.load(1);
        server.sql(match &server {
            Server::Postgres(_) => "CREATE ROLE someone PASSWORD 'a secret value'",
            Server::MariaDb(_) => "CREATE USER someone IDENTIFIED BY 'a secret value'",
        });
        server.snapshot();
        assert_eq!(inserted(&slots(&read(&scene, &server.url()).out)), (1, 3));
        assert_eq!(server.count("SELECT count(*) FROM taken_texts WHERE text LIKE '%secret%'"), 0);
        let insert = "FROM taken_texts WHERE text LIKE 'INSERT INTO%held%'";
        assert_eq!(server.count(&format!("SELECT count(*) {insert}")), 1);
        // A day passes.
        let old = server.count("SELECT max(snapshot_id) FROM taken WHERE edge = 1");
        server.sql(&format!("UPDATE taken SET clock_us = clock_us - 86400000000 WHERE snapshot_id <= {old}"));
        server.sql("UPDATE taken_texts SET taken_us = taken_us - 86400000000");
        server.load(2);
        server.snapshot();
        server.snapshot();
        assert!(server.count("SELECT min(snapshot_id) FROM taken") > old);
        assert!(server.count("SELECT min(snapshot_id) FROM taken_rows") > old);
        // It was taken again, and the old one is there as long as rows may need it.
        assert_eq!(server.count(&format!("SELECT count(*) {insert}")), 2);
        assert_eq!(inserted(&slots(&read(&scene, &server.url()).out)), (2, 6));
        server.sql("UPDATE taken_texts SET taken_us = taken_us - 86400000000");
        server.snapshot();
        server.snapshot();
        assert_eq!(server.count(&format!("SELECT count(*) {insert}")), 2);
    }
}

#[test]
fn who_follows_is_told_of_snapshots_as_they_are_made() {
    let (scene, server) = (Scene::new(), Server::mariadb());
    let words = ["watch", &server.url(), "--snapshots", "taken", "--follow", "--json"];
    server.snapshot();
    let (child, mut lines, mut told) = begun(&scene, &words);
    server.load(9);
    server.snapshot();
    while inserted(&slots(&told)).0 == 0 {
        assert_ne!(lines.read_line(&mut told).unwrap(), 0, "{told}");
    }
    let (code, rest, err) = interrupted(child, lines);
    assert_eq!(code, 130, "{err}");
    assert_eq!(inserted(&slots(&(told + &rest))), (9, 27));
    assert_eq!(kept(&scene), (9, 27));
}

#[test]
fn what_is_not_ours_is_refused_and_who_reads_needs_nothing_else() {
    for server in [Server::postgres("60s"), Server::mariadb()] {
        let scene = Scene::new();
        let url = server.url();
        let say = |table: &str| scene.say(&["watch", &url, "--snapshots", table, "--json"]);
        say("nothing").failed(3, &["nothing", "plimsoll watch job URL --table nothing"]);
        server.sql("CREATE TABLE mine (a INTEGER)");
        say("mine").failed(6, &["mine was not made by", "--snapshots"]);
        say("a;b").failed(2, &["is no name for a table"]);
        server.snapshot();
        // Whoever may read the tables, and nothing else.
        let (make, right, poor) = match &server {
            Server::Postgres(_) => (
                "CREATE ROLE poor LOGIN",
                "GRANT SELECT ON taken, taken_rows, taken_texts TO poor",
                url.replacen("postgres://", "postgres://poor@", 1).replacen("poor@plimsoll@", "poor@", 1),
            ),
            Server::MariaDb(server) => (
                "CREATE USER poor@localhost IDENTIFIED BY ''; CREATE TABLE hers (a INT); GRANT SELECT ON hers TO poor@localhost",
                "GRANT SELECT ON taken TO poor@localhost; GRANT SELECT ON taken_rows TO poor@localhost; \
                 GRANT SELECT ON taken_texts TO poor@localhost",
                server.socket_url("test").replacen("plimsoll@", "poor@", 1),
            ),
        };
        server.sql(make);
        let read_as_poor = || scene.say(&["watch", &poor, "--snapshots", "taken", "--json"]);
        match &server {
            Server::Postgres(_) => read_as_poor().failed(5, &["GRANT SELECT ON"]),
            // Nobody sees a table there that he may not read.
            Server::MariaDb(_) => read_as_poor().failed(3, &["the user may not see it"]),
        }
        server.sql(right);
        server.load(3);
        server.snapshot();
        let said = read_as_poor();
        assert_eq!((said.code, inserted(&slots(&said.out))), (0, (3, 9)), "{said:?}");
        if let Server::MariaDb(_) = &server {
            server.sql("SET GLOBAL event_scheduler = OFF");
        }
        server.sql("UPDATE taken SET format = 2");
        let other = Scene::new();
        other.say(&["watch", &url, "--snapshots", "taken"]).failed(6, &["format 2", "another name"]);
        server.sql("ALTER TABLE taken_rows ADD COLUMN note INTEGER");
        say("taken").failed(6, &["taken_rows has other columns"]);
    }
}

#[test]
fn a_job_is_printed_for_servers_that_have_one_and_times_that_schedulers_know() {
    let (scene, server) = (Scene::new(), watched::server());
    let url = server.socket_url("postgres");
    let say = |more: &[&str]| scene.say(&[&["watch", "job", &url, "--table", "own.taken"], more].concat());
    let printed = say(&["--every", "5m", "--keep", "48h"]).out;
    assert!(
        printed.contains("cron.schedule('taken_snapshot', '*/5 * * * *'") && printed.contains("\"own\".\"taken\""),
        "{printed}"
    );
    assert_eq!(server.psql("SELECT count(*) FROM pg_class WHERE relname LIKE 'taken%'").unwrap().trim(), "0");
    for every in ["90s", "0s", "500ms", "soon", "2h"] {
        say(&["--every", every]).failed(2, &["--every"]);
    }
    say(&["--keep", "1m"]).failed(2, &["--keep"]);
    scene.say(&["watch", "job", &scene.sqlite(), "--table", "taken"]).failed(2, &["no job"]);
    scene.say(&["watch", &scene.sqlite(), "--snapshots", "taken"]).failed(2, &["no job"]);
    assert_eq!(scene.say(&["watch", &url, "--snapshots", "taken", "--every", "5s"]).code, 2);
    let bare = Postgres::builder().data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap();
    scene.say(&["watch", "job", &bare.socket_url("postgres"), "--table", "taken"]).failed(3, &["pg_stat_statements"]);
}
