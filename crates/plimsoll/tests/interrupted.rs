//! Ctrl-C at a server that hears and does not obey: it lets everybody in and answers nothing more, or somebody holds our tables. All of
//! the ending has a few seconds together, and what stays is said with the command that removes it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Said, Scene, is_in, said, wait_until};
use plimsoll_testbed::{Between, Manner, MariaDb, Postgres};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};

/// Five seconds, and what a machine with other things to do may take. A question or a lock, of which each has a minute here, would take
/// longer.
const GENEROUS: Duration = Duration::from_secs(25);
/// What a doctor takes until it has a workspace, or never has one.
const A_MOMENT: Duration = Duration::from_secs(2);
/// In all, beyond what lets somebody in.
const ANSWERS: usize = 5;
/// A row of PostgreSQL with fewer columns than none.
const MALFORMED: &[u8] = b"D\0\0\0\x0a\xff\xff\xff\xff\xff\xf9";

enum Server {
    Postgres(Postgres),
    Maria(MariaDb),
}

impl Server {
    fn postgres() -> Self {
        let builder = Postgres::builder().shared_buffers_mb(32).data_dir_in(env!("CARGO_TARGET_TMPDIR"));
        Self::Postgres(builder.start().unwrap())
    }

    fn maria() -> Self {
        Self::Maria(MariaDb::builder().buffer_pool_mb(64).data_dir_in(env!("CARGO_TARGET_TMPDIR")).start().unwrap())
    }

    /// A question to it has a minute.
    fn target(&self, port: u16) -> String {
        match self {
            Self::Postgres(server) => {
                format!(
                    "postgres://plimsoll:{}@127.0.0.1:{port}/postgres?connect_timeout=2&sslmode=disable",
                    server.password()
                )
            }
            Self::Maria(server) => {
                format!(
                    "mariadb://plimsoll:{}@127.0.0.1:{port}/?connect-timeout=2&ssl-mode=DISABLED",
                    server.password()
                )
            }
        }
    }

    fn port(&self) -> u16 {
        match self {
            Self::Postgres(server) => server.port(),
            Self::Maria(server) => server.port(),
        }
    }

    fn password(&self) -> &str {
        match self {
            Self::Postgres(server) => server.password(),
            Self::Maria(server) => server.password(),
        }
    }

    fn says(&self, postgres: &str, maria: &str) -> String {
        let said = match self {
            Self::Postgres(server) => server.psql(postgres),
            Self::Maria(server) => server.sql(maria),
        };
        said.unwrap().trim().to_owned()
    }

    fn workspaces(&self) -> String {
        self.says(
            "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll%'",
            "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'plimsoll%'",
        )
    }

    /// Waits for what the server still does for clients that have gone, such as to make a place.
    fn await_quiet(&self) {
        wait_until(|| {
            let sessions = self.says(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'plimsoll%'",
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE HOST LIKE '127.0.0.1:%' OR HOST LIKE 'localhost:%'",
            );
            sessions == "0"
        });
    }

    /// A run that makes requests.
    fn run(&self, scene: &Scene, target: &str) -> Child {
        let words = ["run", "mix-b", "--short", "--json", "--repetitions", "1", "--set", "volume=2MiB"];
        let mut command = scene.command(&[&words[..], &["--set", "duration=10m", "--target", target]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until(|| {
            if child.try_wait().unwrap().is_some() {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                panic!("the run ended: {said}");
            }
            let working = self.says(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'plimsoll work%' AND query LIKE 'UPDATE%'",
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'UPDATE%'",
            );
            working != "0"
        });
        child
    }

    /// Somebody who holds all tables, as who makes a backup does, until [`Server::let_go`].
    fn hold(&self) {
        let held = match self {
            Self::Postgres(server) => server.psql(
                "DO $$ DECLARE t text; BEGIN FOR t IN SELECT oid::regclass::text FROM pg_class \
                 WHERE relkind = 'r' AND relnamespace::regnamespace::text LIKE 'plimsoll_run%' LOOP \
                 EXECUTE 'LOCK TABLE ' || t || ' IN ACCESS EXCLUSIVE MODE'; END LOOP; PERFORM pg_sleep(600); END $$",
            ),
            Self::Maria(server) => server.sql("FLUSH TABLES WITH READ LOCK; SELECT SLEEP(600)"),
        };
        // It is ended.
        drop(held);
    }

    fn await_holder(&self) {
        wait_until(|| {
            let holders = self.says(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'",
            );
            holders != "0"
        });
    }

    fn let_go(&self) {
        let postgres = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        let others = "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'";
        let said = self.says(postgres, others);
        if let Self::Maria(server) = self {
            server.sql(&format!("KILL {said}")).unwrap();
        }
    }

    /// True while the removal of a place waits for a lock.
    fn removal_waits(&self) -> bool {
        let waiting = self.says(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'plimsoll lease%'",
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for%' AND INFO LIKE 'DROP%'",
        );
        waiting != "0"
    }

    /// Removes what was left, once the server has noticed that its run is gone.
    fn clean(&self, scene: &Scene) {
        let target = self.target(self.port());
        wait_until(|| {
            scene.say(&["clean", &target]);
            self.workspaces().is_empty()
        });
    }
}

fn interrupt(child: &Child) {
    // One that has ended needs none.
    let _ = kill_process(Pid::from_child(child), Signal::INT);
}

/// What a run came to after an interrupt.
struct Ended {
    said: Said,
    took: Duration,
    /// What it left.
    place: String,
}

impl Ended {
    fn of(child: Child, since: Instant, server: &Server) -> Self {
        let said = said(&child.wait_with_output().unwrap());
        Self { said, took: since.elapsed(), place: server.workspaces() }
    }

    /// It was in time, and says what stays and how that is removed.
    fn check(&self, name: &str, server: &Server) {
        let Self { said, took, place } = self;
        let mut out = io::stderr();
        writeln!(out, "{name}: {took:.1?}").unwrap();
        assert!(*took < GENEROUS, "{took:?} {said:#?}");
        assert_eq!(said.code, 130, "{said:#?}");
        let record = &said.json()[0];
        assert_eq!(record["error"]["kind"], "interrupted", "{record}");
        assert!(!place.is_empty() && record["left_behind"]["message"].to_string().contains(place), "{record}");
        let warning = said.err.lines().find(|line| line.starts_with("warning: what the run made")).unwrap_or_default();
        let target = server.target(0);
        let command = format!("run: plimsoll clean '{}://", target.split_once("://").unwrap().0);
        for words in [place, "was not removed", &command] {
            assert!(warning.contains(words), "'{words}' is missing: {said:#?}");
        }
        assert!(!said.err.contains(server.password()), "{said:#?}");
    }
}

/// A server that answers nothing more, though it lets everybody in.
fn turned(name: &str, server: &Server, turn: Manner) {
    let (scene, between) = (Scene::new(), Between::start(server.port(), ANSWERS).unwrap());
    let child = server.run(&scene, &server.target(between.port()));
    between.turn(turn);
    let begun = Instant::now();
    interrupt(&child);
    let ended = Ended::of(child, begun, server);
    ended.check(name, server);
    assert!(ended.said.err.contains("not waited for any longer"), "{:#?}", ended.said);
    server.clean(&scene);
}

/// A server where somebody else holds our tables; `again` by a second Ctrl-C while it is waited for them.
fn held(name: &str, server: &Server, again: bool) {
    let scene = Scene::new();
    let mut child = server.run(&scene, &server.target(server.port()));
    let ended = thread::scope(|scope| {
        scope.spawn(|| server.hold());
        server.await_holder();
        let mut begun = Instant::now();
        interrupt(&child);
        if again {
            wait_until(|| child.try_wait().unwrap().is_some() || server.removal_waits());
            begun = Instant::now();
            interrupt(&child);
        }
        let ended = Ended::of(child, begun, server);
        server.let_go();
        ended
    });
    ended.check(name, server);
    server.clean(&scene);
}

/// A doctor whose server falls silent when it has made its workspace: after some answers that are more each time.
fn doctored(server: &Server) {
    let scene = Scene::new();
    for answers in (4..200).step_by(4) {
        let between = Between::start(server.port(), answers).unwrap();
        between.turn(Manner::Nothing);
        let mut command = scene.command(&["doctor", &server.target(between.port())]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let since = Instant::now();
        while server.workspaces().is_empty() && child.try_wait().unwrap().is_none() && since.elapsed() < A_MOMENT {
            thread::sleep(Duration::from_millis(20));
        }
        let begun = Instant::now();
        interrupt(&child);
        let (ended, took) = (said(&child.wait_with_output().unwrap()), begun.elapsed());
        assert!(took < GENEROUS, "{ended:#?}");
        server.await_quiet();
        let place = server.workspaces();
        if !place.is_empty() {
            assert_eq!(ended.code, 130, "{ended:#?}");
            assert!(ended.err.contains("plimsoll clean") && ended.err.contains(place.trim()), "{ended:#?}");
            // A doctor has no store for a note: what it made a moment ago may not bear its mark yet (docs/SAFETY.md).
            let cleaned = scene.say(&["clean", &server.target(server.port())]);
            if cleaned.out.contains("it bears no mark") {
                server.says("SELECT 1", &format!("DROP DATABASE {}", place.trim()));
                continue;
            }
            server.clean(&scene);
            return;
        }
    }
    panic!("it never fell silent with a workspace");
}

/// Whether a program has a handler of its own for Ctrl-C (`proc_pid_status(5)`: a bit for each signal, from the first on).
fn hears(child: &Child) -> bool {
    is_in("SigCgt:", &child.id().to_string(), Signal::INT)
}

/// A pipe that takes nothing more, and its other end.
fn full_pipe() -> (io::PipeReader, io::PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while (&writer).write(&vec![b'x'; 1 << 20]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// The end of a program after one signal.
fn obeyed(mut child: Child, name: &str) -> ExitStatus {
    interrupt(&child);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < GENEROUS {
        thread::sleep(Duration::from_millis(200));
    }
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    ended.unwrap_or_else(|| panic!("{name} went on for {:?}", begun.elapsed()))
}

/// Nobody reads what is said, and the pipe is full: signals count all the same.
#[test]
fn who_is_not_read_obeys() {
    let scene = Scene::new();
    let (_reader, writer) = full_pipe();
    let target = format!("sqlite:{}", scene.path("unread.db").display());
    let mut command =
        scene.command(&["run", "insert", "--target", &target, "--set", "duration=1h", "--repetitions", "1"]);
    let child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    wait_until(|| hears(&child));
    obeyed(child, "run");
}

/// The same of a result that is on its way, of which a pager shows the beginning. What is to be removed then is.
#[test]
fn a_result_that_is_not_read_ends_with_a_signal() {
    let scene = Scene::new();
    let folder = scene.path("tmp");
    fs::create_dir(&folder).unwrap();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/mi-layout.toml");
    let short = ["--set", "duration=2s", "--set", "warm_up=1s", "--set", "replications=2"];
    let run = ["run", "probe", "--short", "--set", "volume=64MiB", "--target", "lab:azure-sql-db/S2"];
    for (words, kept) in [([&["simulate", scenario][..], &short].concat(), 5), (run.to_vec(), 6)] {
        let (_reader, writer) = full_pipe();
        let child = scene.command(&words).env("TMPDIR", &folder).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
        let complete = |runs: &Said| runs.json().iter().filter(|run| run["complete"] == true).count();
        wait_until(|| {
            Some(scene.say(&["runs", "--json"]))
                .filter(|runs| runs.code == 0)
                .is_some_and(|runs| complete(&runs) == kept)
        });
        let ended = obeyed(child, words[0]);
        assert_eq!(ended.code(), Some(130), "{words:?}: {ended:?}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{words:?}");
    }
}

/// The same of a page that goes to a pipe.
#[test]
fn a_page_that_is_not_read_ends_with_a_signal() {
    let scene = Scene::new();
    let path = scene.path("page");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut reader =
        fs::OpenOptions::new().read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&path).unwrap();
    while reader.write(&[0; 4096]).is_ok() {}
    let target = "lab:azure-managed-disk/P30";
    let words = ["disk", target, "--suite", "quick", "--repetitions", "1", "--html", path.to_str().unwrap()];
    let child = scene.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| {
        let runs = scene.say(&["runs", "--json"]);
        runs.code == 0 && runs.json().iter().any(|run| run["complete"] == true)
    });
    assert_eq!(obeyed(child, "disk").code(), Some(130));
}

/// The level that is asked back is in effect or not: nobody waits two minutes for a command that says nothing.
#[test]
fn a_level_check_that_hangs_is_not_waited_for_after_a_signal() {
    let scene = Scene::new();
    let (level, asked) = (scene.path("level"), scene.path("asked"));
    fs::write(&level, "small\n").unwrap();
    let [level, asked_for] = [&level, &asked].map(|path| path.display().to_string());
    let command = format!("touch {asked_for}; echo $PLIMSOLL_LEVEL > {level}");
    let check = format!("test ! -e {asked_for} || sleep 1000; cat {level}");
    let target = scene.sqlite();
    let words = [
        "run",
        "level-change",
        "--target",
        &target,
        "--repetitions",
        "1",
        "--set",
        "level=big",
        "--set",
        "volume=1MiB",
    ];
    let commands = ["--level-command", &command, "--level-check", &check, "--allow-level-change"];
    let child =
        scene.command(&[&words[..], &commands].concat()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| asked.exists());
    assert_eq!(obeyed(child, "level-change").code(), Some(130));
    assert_eq!(fs::read_to_string(&level).unwrap(), "small\n", "it was asked back");
}

#[test]
fn a_doctor_says_what_it_leaves() {
    doctored(&Server::postgres());
    doctored(&Server::maria());
}

#[test]
fn a_mariadb_that_falls_silent_is_waited_for_once() {
    turned("MariaDB, silent", &Server::maria(), Manner::Nothing);
}

#[test]
fn a_postgresql_that_falls_silent_or_never_ends_is_waited_for_once() {
    let server = Server::postgres();
    turned("PostgreSQL, silent", &server, Manner::Nothing);
    turned("PostgreSQL, malformed rows", &server, Manner::Endless(MALFORMED.repeat(1000)));
}

#[test]
fn tables_of_a_mariadb_that_somebody_holds_stay_and_are_named() {
    let server = Server::maria();
    held("MariaDB, held", &server, false);
    held("MariaDB, held, second Ctrl-C", &server, true);
}

#[test]
fn tables_of_a_postgresql_that_somebody_holds_stay_and_are_named() {
    let server = Server::postgres();
    held("PostgreSQL, held", &server, false);
    held("PostgreSQL, held, second Ctrl-C", &server, true);
}

/// Who waits for tables that somebody holds ends, and says that they may stay.
#[test]
fn a_clean_that_waits_says_what_may_stay() {
    let (server, scene) = (Server::postgres(), Scene::new());
    let target = server.target(server.port());
    let mut killed = server.run(&scene, &target);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let said = thread::scope(|scope| {
        scope.spawn(|| server.hold());
        server.await_holder();
        let clean = loop {
            // The server may take the sessions of who was killed for living ones.
            let mut clean = scene.spawn(&["clean", &target]);
            wait_until(|| clean.try_wait().unwrap().is_some() || server.removal_waits());
            if clean.try_wait().unwrap().is_none() {
                break clean;
            }
        };
        interrupt(&clean);
        let said = said(&clean.wait_with_output().unwrap());
        server.let_go();
        said
    });
    said.failed(130, &["the cleaning was interrupted", "plimsoll clean 'postgres://"]);
    server.clean(&scene);
}

/// SQLite works in our own process, where no line can be broken.
#[test]
fn a_clean_up_without_end_is_ended_on_sqlite() {
    let scene = Scene::new();
    let endless =
        "CREATE TABLE z AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r";
    let text = format!(
        "name = \"endless\"\nsteps = [\"requests\"]\n[[request]]\nstatements = [\"SELECT 1\"]\n[cleanup]\n\
         statements = [\"{endless}\"]\n[parameters]\nsessions = 1\nduration = \"1s\"\n"
    );
    fs::write(scene.path("endless.toml"), text).unwrap();
    let target = scene.sqlite();
    let child = scene.spawn(&["run", "endless.toml", "--repetitions", "1", "--target", &target]);
    // It has begun once the repetition is kept as a whole.
    wait_until(|| {
        let runs = scene.say(&["runs", "--json", "--limit", "1"]).json();
        runs.first().is_some_and(|run| {
            let record = scene.say(&["show", run["run_id"].as_str().unwrap(), "--json"]).json().remove(0);
            record["repetitions"][0]["complete"] == true
        })
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = said(&child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{ended:#?}");
    assert!(scene.leftovers().is_empty(), "{:?}", scene.leftovers());
}

/// The terminal shows again what is typed, and the code is the signal's.
#[test]
fn a_signal_ends_the_wait_for_a_password() {
    let Server::Postgres(server) = Server::postgres() else { unreachable!() };
    let url = format!("postgres://plimsoll@127.0.0.1:{}/postgres?sslmode=disable", server.port());
    for (words, signal, code) in [
        (&["doctor"][..], Signal::TERM, "143"),
        (&["doctor"], Signal::INT, "130"),
        (&["run", "insert", "--short", "--target"], Signal::HUP, "129"),
        (&["clean"], Signal::TERM, "143"),
        (&["clean"], Signal::INT, "130"),
        (&["doctor"], Signal::QUIT, "131"),
    ] {
        if is_in("SigIgn:", "self", signal) {
            // Who began the tests wants them to outlive it (nohup), and so it is with their programs.
            continue;
        }
        let scene = Scene::new();
        let program = scene.command(&[]).get_program().to_owned();
        let words = format!("{} {} '{url}'", program.display(), words.join(" "));
        // The shell says which process the program is, as it becomes it.
        let script =
            format!("ulimit -c 0; sh -c 'echo $$ >pid; exec {words}'; echo code $?; stty -a | grep -ow -e '-*echo'");
        let mut terminal = std::process::Command::new("script");
        terminal.args(["-qc", &script, "/dev/null"]).current_dir(scene.folder()).env("PLIMSOLL_STORE", scene.store());
        let mut terminal = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut shown = terminal.stdout.take().unwrap();
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains("Password for") {
            let mut some = [0; 256];
            let count = io::Read::read(&mut shown, &mut some).unwrap();
            assert!(count > 0, "{}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&some[..count]);
        }
        let pid: i32 = fs::read_to_string(scene.path("pid")).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        io::Read::read_to_end(&mut shown, &mut text).unwrap();
        terminal.wait().unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains(&format!("code {code}")), "{words} {signal:?}: {text}");
        let echo = text.lines().map(str::trim).rfind(|line| line.ends_with("echo"));
        assert_eq!(echo, Some("echo"), "{words} {signal:?}: {text}");
    }
}

/// Under nohup a run outlives the terminal.
#[test]
fn a_hang_up_that_was_ignored_before_is_ignored() {
    let scene = Scene::new();
    let target = scene.sqlite();
    let words = ["run", "insert", "--short", "--set", "duration=2s", "--repetitions", "1", "--target", &target];
    let run = scene.command(&words);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(run.get_program()).args(run.get_args());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.current_dir(scene.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = shell.spawn().unwrap();
    wait_until(|| !scene.leftovers().is_empty());
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), Signal::HUP).unwrap();
    let ended = said(&child.wait_with_output().unwrap());
    assert_eq!(ended.code, 0, "{ended:#?}");
}
