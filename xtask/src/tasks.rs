//! What each task does: a few commands, one after the other, until one fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_testbed::{Binaries, MariaDb, TestbedError};

use crate::{complain, grammar, servers};

/// The task is unknown or its arguments are.
pub const USAGE: u8 = 2;
/// Something has to be installed first.
pub const MISSING: u8 = 3;
/// A command could not be started, or was ended by a signal.
pub const INTERNAL: u8 = 70;

/// `Err` is the exit code to end with; what went wrong has been said.
pub type Outcome = Result<(), u8>;

/// Runs the tests of the whole workspace, then the fast ones of other versions of servers. Those of the engines that are servers need their programs.
pub fn test(arguments: &[&str]) -> Outcome {
    provide_postgresql()?;
    provide_mariadb()?;
    provide("mariadb-backup", &["mariadb-backup"])?;
    provide("sqlite3", &["sqlite3"])?;
    grammar::provide()?;
    // Random inputs are those of one seed, so that a change passes or fails by what it changes. A plain `cargo test` draws others.
    let seed = std::env::var("PROPTEST_RNG_SEED").unwrap_or_else(|_| "1".to_owned());
    run(cargo().env("PROPTEST_RNG_SEED", seed).args(["test", "--workspace", "--no-fail-fast"]).args(arguments))?;
    // Who asks for some tests doesn't ask for those of other servers.
    if arguments.is_empty() { servers::fast() } else { Ok(()) }
}

/// Runs the suite of all engines against a SQL Server that somebody has: it can't be installed for a test.
pub fn test_mssql(arguments: &[&str]) -> Outcome {
    needs_sql_server()?;
    let suite = ["test", "-p", "plimsoll-testbed", "--features", "live-mssql", "--test", "conformance"];
    let own = if arguments.is_empty() { &["--", "mssql::", "--test-threads=1"][..] } else { arguments };
    run(cargo().args(suite).args(own))
}

/// Runs the whole contract with the released program on a SQL Server that somebody has.
pub fn trial(arguments: &[&str]) -> Outcome {
    needs_sql_server()?;
    let suite = ["test", "--release", "-p", "plimsoll", "--features", "trial", "--test", "trial"];
    run(cargo().args(suite).args(["--", "--nocapture", "--test-threads=1"]).args(arguments))
}

fn needs_sql_server() -> Outcome {
    const VARIABLE: &str = "PLIMSOLL_TEST_MSSQL_URL";
    if std::env::var_os(VARIABLE).is_some_and(|url| !url.is_empty()) {
        return Ok(());
    }
    complain(&format!(
        "{VARIABLE} must hold the URL of a database that tests may make schemas in: mssql://user:password@host/database"
    ));
    Err(MISSING)
}

/// Everything that is judged without running the tests.
pub fn check() -> Outcome {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    if answers(cargo().args(["deny", "--version"])) {
        run(cargo().args(["deny", "--workspace", "check"]))
    } else {
        complain("skipped: licences and advisories, as cargo-deny is not installed (cargo install cargo-deny)");
        Ok(())
    }
}

/// What valgrind is to say: wrong accesses and memory that nothing points to any more end it with an exit code.
const VALGRIND: [&str; 7] = [
    "valgrind",
    "--quiet",
    "--error-exitcode=9",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    "--fair-sched=yes",
];

/// Runs the small tests of the lab's file system layer, where the project's unsafe code is, under valgrind.
pub fn memcheck() -> Outcome {
    provide_valgrind()?;
    let runner = format!("target.'cfg(all())'.runner = {VALGRIND:?}");
    // With the whole workspace, so that nothing is built another time with other features.
    let test = ["test", "--workspace", "--test", "vfs_memory", "--", "--test-threads=1"];
    run(cargo().args(["--config", &runner]).args(test))
}

/// valgrind is there already, or is installed where that can be done without asking.
fn provide_valgrind() -> Outcome {
    provide("valgrind", &["valgrind", "libc6-dbg"])
}

/// A program is there already, or is installed with its packages where that can be done without asking.
pub fn provide(program: &str, packages: &[&str]) -> Outcome {
    let is_there = || answers(Command::new(program).arg("--version"));
    if is_there() {
        return Ok(());
    }
    install(program, packages)?;
    if is_there() {
        return Ok(());
    }
    let packages = packages.join(" ");
    complain(&format!(
        "{program} is not there (on Debian: apt-get install {packages}); install it, then run this again"
    ));
    Err(MISSING)
}

/// PostgreSQL's programs are there already, or are installed where that can be done without asking.
pub fn provide_postgresql() -> Outcome {
    provide_server("PostgreSQL", &["postgresql", "postgresql-client"], || Binaries::find().map(drop))
}

/// MariaDB's programs, in the same way.
pub fn provide_mariadb() -> Outcome {
    provide_server("MariaDB", &["mariadb-server", "mariadb-client"], MariaDb::find_programs)
}

fn provide_server(name: &str, packages: &[&str], find: impl Fn() -> Result<(), TestbedError>) -> Outcome {
    if find().is_ok() {
        return Ok(());
    }
    install(name, packages)?;
    find().map_err(|error| {
        complain(&format!("{error}; then run this again"));
        MISSING
    })
}

/// Installs what is missing where that can be done without asking; elsewhere it does nothing.
pub fn install(name: &str, packages: &[&str]) -> Outcome {
    if !rustix::process::geteuid().is_root() || !answers(Command::new("apt-get").arg("--version")) {
        return Ok(());
    }
    complain(&format!("{name} is missing and gets installed"));
    run(apt_get().arg("update"))?;
    run(apt_get().args(["install", "-y", "--no-install-recommends"]).args(packages))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// The program as it is released, built if need be.
pub fn released() -> Result<PathBuf, u8> {
    run(cargo().args(["build", "--release", "--package", "plimsoll"]))?;
    Ok(target_folder().join("release/plimsoll"))
}

/// Where cargo puts what it builds.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The cargo that runs us, at the root of the workspace.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo told us about ourselves is news to the build scripts of some libraries, which would run again.
    for (name, _) in std::env::vars_os() {
        let of_ours = ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.to_string_lossy().starts_with(start));
        if of_ours {
            command.env_remove(name);
        }
    }
    command.current_dir(root());
    command
}

/// Whether a program is there at all.
pub fn answers(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs a command whose output is for the person in front of the terminal, and passes its exit code on.
pub fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| {
        complain(&format!("could not start {}: {error}", command.get_program().display()));
        INTERNAL
    })?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(u8::try_from(code).unwrap_or(INTERNAL)),
        None => Err(INTERNAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn exit_codes_are_passed_on() {
        assert_eq!(run(&mut shell("exit 0")), Ok(()));
        assert_eq!(run(&mut shell("exit 101")), Err(101));
        assert_eq!(run(&mut shell("kill -9 $$")), Err(INTERNAL));
        assert_eq!(run(&mut Command::new("/nowhere/at/all")), Err(INTERNAL));
    }

    #[test]
    fn a_program_answers_if_it_is_there_and_succeeds() {
        assert!(answers(&mut shell("echo here")));
        assert!(!answers(&mut shell("exit 1")));
        assert!(!answers(&mut Command::new("/nowhere/at/all")));
    }
}
