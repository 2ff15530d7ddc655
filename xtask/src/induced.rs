//! Verdicts on real servers: limits are induced one after the other on a PostgreSQL and a MariaDB of our own, and the verdict of a run
//! has to name them. A limit that can't be set on this machine makes a case that was *not run*, never one that passed.

mod limits;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_measurement::{RunRecord, Verdict};
use plimsoll_testbed::{MariaDb, Postgres};

use crate::child::{measured, record};
use crate::tasks::{self, Outcome};
use crate::{complain, say};
use limits::{Group, Limit, SlowDevice};

/// Rows of the table: some 100 MB, far more than the server's cache.
const ROWS: u32 = 400_000;
/// Rows that fit into it.
const FEW_ROWS: u32 = 5_000;
/// How long a repetition takes.
const SECONDS: u32 = 12;

/// A limit that is induced.
struct Case {
    name: &'static str,
    /// The request's statements on PostgreSQL and on MariaDB; `:aid` is any row.
    statements: [&'static str; 2],
    /// Rows of which `:aid` is one.
    rows: u32,
    sessions: u32,
    /// Requests a second by a schedule; 0 for none.
    rate: u32,
    /// What the server is held to.
    server: &'static [Limit],
    /// What we are held to ourselves.
    client: &'static [Limit],
    /// Verdicts that are right; the names of those that bind together are joined by a comma.
    right: &'static [&'static str],
}

const POINT: [&str; 2] = ["SELECT balance FROM accounts WHERE aid = :aid"; 2];
const PART: [&str; 2] =
    ["SELECT sum(balance) FROM (SELECT balance FROM accounts WHERE aid >= :aid ORDER BY aid LIMIT 2000) part"; 2];
// On MariaDB a session that may write works in the run's own database.
const UPDATE: [&str; 2] = [
    "UPDATE accounts SET balance = balance + 1 WHERE aid = :aid",
    "UPDATE test.accounts SET balance = balance + 1 WHERE aid = :aid",
];
const HOT: [&str; 2] = [
    "UPDATE accounts SET balance = balance + 1 WHERE aid = 1",
    "UPDATE test.accounts SET balance = balance + 1 WHERE aid = 1",
];
const SLEEP: [&str; 2] = ["SELECT 1 FROM pg_sleep(0.05)", "SELECT SLEEP(0.05)"];

const CASES: &[Case] = &[
    Case {
        name: "buffers too small, on a device of 150 reads a second",
        statements: POINT,
        rows: ROWS,
        sessions: 8,
        rate: 0,
        server: &[Limit::Reads(150), Limit::MemoryMb(96)],
        client: &[],
        // More memory would save reads as well.
        right: &["data_iops", "data_iops,memory", "memory,data_iops"],
    },
    Case {
        name: "buffers too small, data in the system's cache",
        statements: PART,
        rows: ROWS,
        sessions: 8,
        rate: 0,
        server: &[],
        client: &[],
        right: &["cpu"],
    },
    Case {
        name: "synchronous commits on a device of 60 writes a second",
        statements: UPDATE,
        // They stay in the buffers: else they would have to be read first, from a device that is busy with writes.
        rows: FEW_ROWS,
        sessions: 4,
        rate: 0,
        server: &[Limit::Writes(60)],
        client: &[],
        right: &["log_write"],
    },
    Case {
        name: "0.3 CPUs for the server",
        statements: PART,
        rows: ROWS,
        sessions: 8,
        rate: 0,
        server: &[Limit::Cpus(0.3)],
        client: &[],
        right: &["cpu"],
    },
    Case {
        name: "everybody updates one row",
        statements: HOT,
        rows: ROWS,
        sessions: 12,
        rate: 0,
        server: &[],
        client: &[],
        // Whoever has the row waits for the log, so a faster log would help too.
        right: &["locks", "locks,log_write"],
    },
    Case {
        name: "0.1 CPUs for the client",
        statements: POINT,
        rows: ROWS,
        sessions: 4,
        rate: 0,
        server: &[],
        client: &[Limit::Cpus(0.1)],
        right: &["client"],
    },
    Case {
        name: "statements that sleep",
        statements: SLEEP,
        rows: ROWS,
        sessions: 8,
        rate: 0,
        server: &[],
        client: &[],
        right: &["none"],
    },
    Case {
        name: "50 requests a second by a schedule",
        statements: POINT,
        rows: ROWS,
        sessions: 4,
        rate: 50,
        server: &[],
        client: &[],
        right: &["none"],
    },
];

/// A server of ours on a device of ours.
enum Server {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Server {
    fn start(is_mariadb: bool, device: &Path) -> Result<Self, String> {
        let said = |error: plimsoll_testbed::TestbedError| error.to_string();
        if is_mariadb {
            let server = MariaDb::builder().buffer_pool_mb(16).durable(true).data_dir_in(device);
            return server.start().map(Self::MariaDb).map_err(said);
        }
        let server = Postgres::builder().shared_buffers_mb(16).durable(true).trusting(true).data_dir_in(device);
        server.start().map(Self::Postgres).map_err(said)
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "PostgreSQL",
            Self::MariaDb(_) => "MariaDB",
        }
    }

    fn target(&self) -> String {
        match self {
            Self::Postgres(server) => {
                format!("postgres://{}@127.0.0.1:{}/postgres?sslmode=disable", server.superuser(), server.port())
            }
            Self::MariaDb(server) => server.socket_url("test"),
        }
    }

    fn pid(&self) -> Option<u32> {
        match self {
            Self::Postgres(server) => server.pid(),
            Self::MariaDb(server) => server.pid(),
        }
    }

    fn fill(&self) -> Result<(), String> {
        let table = "CREATE TABLE accounts (aid int PRIMARY KEY, balance int NOT NULL, filler char(200) NOT NULL)";
        match self {
            Self::Postgres(server) => {
                let rows = format!("INSERT INTO accounts SELECT n, 0, 'x' FROM generate_series(1, {ROWS}) n");
                let run = |sql: &str| server.psql(sql).map(drop).map_err(|error| error.to_string());
                [table, &rows, "VACUUM ANALYZE accounts", "CHECKPOINT"].into_iter().try_for_each(run)
            }
            Self::MariaDb(server) => {
                let rows = format!("INSERT INTO test.accounts SELECT seq, 0, 'x' FROM seq_1_to_{ROWS}");
                let table = table.replace("accounts", "test.accounts");
                let run = |sql: &str| server.sql(sql).map(drop).map_err(|error| error.to_string());
                [table.as_str(), &rows, "ANALYZE TABLE test.accounts"].into_iter().try_for_each(run)
            }
        }
    }
}

/// How a case ended.
struct Row {
    server: &'static str,
    case: &'static str,
    right: &'static [&'static str],
    outcome: Result<Verdict, String>,
}

impl Row {
    fn name(verdict: &Verdict) -> String {
        let names: Vec<&str> = verdict.limits().collect();
        if names.is_empty() { "not enough evidence".to_owned() } else { names.join(",") }
    }

    fn judged(&self) -> &'static str {
        match &self.outcome {
            Err(_) => "not run",
            Ok(verdict) if verdict.limit.is_none() => "abstained",
            Ok(verdict) if self.right.contains(&Self::name(verdict).as_str()) => "right",
            Ok(_) => "wrong",
        }
    }
}

/// Induces all limits on both servers.
pub fn induced(arguments: &[&str]) -> Outcome {
    let (program, only) = match arguments {
        [] => (tasks::released()?, ""),
        ["--program", program] => (PathBuf::from(program), ""),
        ["--program", program, only] => (PathBuf::from(program), *only),
        _ => {
            complain("cargo xtask induced [--program FILE [postgresql|mariadb]]");
            return Err(tasks::USAGE);
        }
    };
    tasks::provide_postgresql()?;
    tasks::provide_mariadb()?;
    let mut rows = Vec::new();
    for is_mariadb in [false, true] {
        if !only.is_empty() && (only == "mariadb") != is_mariadb {
            continue;
        }
        rows.extend(on_server(&program, is_mariadb));
    }
    say(&table(&rows));
    if rows.iter().any(|row| row.judged() == "wrong") { Err(1) } else { Ok(()) }
}

fn on_server(program: &Path, is_mariadb: bool) -> Vec<Row> {
    let failed = |server: &'static str, reason: &str| {
        let row = |case: &Case| Row { server, case: case.name, right: case.right, outcome: Err(reason.to_owned()) };
        CASES.iter().map(row).collect()
    };
    let server = if is_mariadb { "MariaDB" } else { "PostgreSQL" };
    let device = match SlowDevice::make() {
        Ok(device) => device,
        Err(reason) => return failed(server, &reason),
    };
    let server_of_ours = match Server::start(is_mariadb, &device.folder()).and_then(|ours| ours.fill().map(|()| ours)) {
        Ok(ours) => ours,
        Err(reason) => return failed(server, &reason),
    };
    let mut rows = Vec::new();
    for case in CASES {
        complain(&format!("{server}: {}", case.name));
        let outcome = run(program, &server_of_ours, &device, case);
        if let Ok(verdict) = &outcome {
            complain(&format!("  {}: {}", Row::name(verdict), verdict.evidence.join("; ")));
            for part in &verdict.segments {
                let limit = part.limit.as_deref().unwrap_or("?");
                complain(&format!(
                    "    {}: {limit} {}: {}",
                    part.repetition,
                    part.also.join(" "),
                    part.evidence.join("; ")
                ));
            }
        }
        rows.push(Row { server: server_of_ours.name(), case: case.name, right: case.right, outcome });
    }
    rows
}

fn run(program: &Path, server: &Server, device: &SlowDevice, case: &Case) -> Result<Verdict, String> {
    let pid = server.pid().ok_or("the server's process is not known")?;
    let group = Group::hold("server", case.server, Some(device))?;
    group.take(pid)?;
    let client = Group::hold("client", case.client, None)?;
    if case.server.iter().any(|limit| matches!(limit, Limit::Reads(_))) {
        limits::forget_cache()?;
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let definition = folder.path().join("case.toml");
    fs::write(&definition, text(case, matches!(server, Server::MariaDb(_)))).map_err(|error| error.to_string())?;
    let ours = client.command(program);
    let mut command = ours;
    command.arg("run").arg(&definition).args(["--target", &server.target(), "--allow-writes", "--json", "--quiet"]);
    command.args(["--repetitions", "2"]).arg("--store").arg(folder.path().join("runs.db"));
    let record: RunRecord = record(&measured(&mut command)?.output)?;
    Ok(record.verdict)
}

/// The definition of a case.
fn text(case: &Case, is_mariadb: bool) -> String {
    let statement = case.statements[usize::from(is_mariadb)];
    let rate = if case.rate > 0 { format!("rate = {}\n", case.rate) } else { String::new() };
    let drawn = if statement.contains(":aid") {
        format!("\n[request.parameters]\naid = {{ uniform = [1, {}] }}\n", case.rows)
    } else {
        String::new()
    };
    let writes = if statement.starts_with("UPDATE") { "writes = true\n" } else { "" };
    format!(
        "name = \"induced\"\nsteps = [\"requests\"]\nexisting = true\n{writes}\n[[request]]\nname = \"request\"\n\
         statements = [\"{statement}\"]\n{drawn}\n[parameters]\nsessions = {}\nduration = \"{SECONDS}s\"\n{rate}",
        case.sessions
    )
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from("| server | what is induced | right | verdict | |\n|---|---|---|---|---|\n");
    for row in rows {
        let first = |reason: &String| reason.lines().next().unwrap_or_default().to_owned();
        let verdict = row.outcome.as_ref().map_or_else(first, Row::name);
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {verdict} | {} |",
            row.server,
            row.case,
            row.right.join(" or "),
            row.judged()
        );
    }
    text
}

/// A command that a shell puts into a control group before it begins.
fn in_group(program: &Path, files: &[PathBuf]) -> Command {
    let mut command = Command::new("sh");
    let enter: String = files.iter().fold(String::new(), |mut text, file| {
        let _ = write!(text, "echo $$ > '{}' && ", file.display());
        text
    });
    command.arg("-c").arg(format!("{enter}exec \"$0\" \"$@\"")).arg(program);
    command
}
