//! What can be typed. Help, man page and completions are all generated from here.

#![expect(clippy::doc_markdown, reason = "the comments are the help texts, and people read them as they are")]

mod disk;
mod plan;
mod run;
mod simulate;
mod watch;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use plimsoll_report::csv;

use crate::candidates;

pub use self::disk::{Bought, Disk, DiskAction, Import};
pub use self::plan::{Plan, PlanMi, PlanWhat};
pub use self::run::{Multiples, Run};
pub use self::simulate::Simulate;
pub use self::watch::{
    By, Chart, CompareBy, Watch, WatchAction, WatchCheck, WatchCompare, WatchExport, WatchJob, WatchMark, WatchSave,
    WatchShow, WatchSource,
};

/// Where the demo writes its page if nobody says where.
pub const DEMO_PAGE: &str = "plimsoll-demo.html";

/// Repetitions are labelled by letters.
pub const MOST_REPETITIONS_OF_A_RUN: i64 = 26;

/// Measure what a database and its storage deliver, name the bottleneck, and estimate what lifting it would gain.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, about, long_about = None, arg_required_else_help = true, max_term_width = 110)]
#[command(after_help = "\
Examples:
  plimsoll demo                                            try it: no server, about a minute, writes a report
  plimsoll run read-scan write-chunk --target postgres://me@db.example/sales --short
  plimsoll run memory --target sqlite:./data.db --json
  plimsoll run read-scan --target lab:azure-sql-db/S2@v12-ga-2015-01
  plimsoll disk /var/tmp                                   what a disk delivers, in two minutes
  plimsoll report latest --html report.html

Exit codes: 0 done, 1 negative verdict, 2 usage, 3 something to install, 4 cannot connect, 5 permission missing,
6 refused for safety, 7 incomplete result or unreadable store, 70 internal fault, 129/130/143 interrupted.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Result store [env: PLIMSOLL_STORE] [default: runs.db in the data directory of Plimsoll].
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    pub store: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, help_heading = "Everywhere")]
    pub color: Color,
    /// Print results and errors only: no progress, no remarks.
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// Print a line for every finished point.
    #[arg(short, long, global = true, conflicts_with = "quiet", help_heading = "Everywhere")]
    pub verbose: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Use colour on a terminal, unless NO_COLOR or TERM=dumb is set.
    Auto,
    /// Always use colour.
    Always,
    /// Never use colour.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Try it: run four tests on three levels of the lab in about a minute, and write a report.
    Demo(Demo),
    /// Run tests on targets.
    Run(Box<Run>),
    /// Test a disk: reads and writes of a test file, with their rates and response times.
    Disk(Box<Disk>),
    /// Watch a server: which statements its load is made of, slot by slot, and how much of it is known.
    Watch(Box<Watch>),
    /// Simulate a database server on modelled hardware: what it would deliver with other storage or other sessions.
    Simulate(Simulate),
    /// Plan storage: which limits files have by their size, whether they fit, and what more would bring.
    Plan(Plan),
    /// List the built-in tests, or show a definition.
    Tests(Tests),
    /// List stored runs.
    Runs(Runs),
    /// Show a stored run.
    Show(Show),
    /// Compare runs with a baseline: ratios with intervals.
    Compare(Compare),
    /// Show a test's figure over all runs on a target, and when and by how much it changed.
    History(History),
    /// Write a report about stored runs.
    Report(Report),
    /// Remove what killed runs left on a target.
    Clean(Clean),
    /// Show published limits of tiers and disks, with date, source and basis.
    Catalog(Catalog),
    /// Verify the lab: SQLite on modelled hardware with known limits.
    Lab(Lab),
    /// Check what works on this machine, and what a target allows.
    Doctor(Doctor),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

#[derive(Debug, Args)]
pub struct Demo {
    /// File to write the report to.
    #[arg(long, value_name = "FILE", default_value = DEMO_PAGE)]
    pub html: PathBuf,
    /// Print one JSON object per run to standard output.
    #[arg(long)]
    pub json: bool,
}

/// How a target is reached.
#[derive(Debug, Default, Args)]
pub struct Access {
    /// File with the password in its first line. Also: PLIMSOLL_PASSWORD, the engine's own password file, or a prompt.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// Shell command that prints a Microsoft Entra ID access token. Also: PLIMSOLL_ACCESS_TOKEN, or an installed az.
    #[arg(long, value_name = "COMMAND")]
    pub token_command: Option<String>,
    /// Of a second target, to which the first one's password in the environment is not sent.
    #[arg(skip)]
    pub is_second: bool,
}

#[derive(Debug, Args)]
pub struct Tests {
    /// What to do with them [default: list].
    #[command(subcommand)]
    pub action: Option<TestsAction>,
}

#[derive(Debug, Subcommand)]
pub enum TestsAction {
    /// List the built-in tests.
    List,
    /// Print a test or a group of tests as TOML. Your own definition files have the same form.
    Show {
        /// Name of the test or group.
        #[arg(add = candidates::names())]
        test: String,
    },
    /// List every key and parameter of a definition.
    Keys,
}

#[derive(Debug, Args)]
pub struct Runs {
    /// List only runs of this test.
    #[arg(long, value_name = "TEST", add = candidates::names())]
    pub test: Option<String>,
    /// List only runs on this target.
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// List only runs of this campaign.
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// List at most this many runs, the newest first; 0 lists all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: u32,
    /// First copy the runs of another store into this one.
    #[arg(long, value_name = "FILE")]
    pub merge: Option<PathBuf>,
    /// Print one JSON object per run.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Show {
    /// Run id, its first characters, or `latest`.
    #[arg(add = candidates::runs())]
    pub run: String,
    #[command(flatten)]
    pub multiples: Multiples,
    /// Print all details: evidence, segments, steadiness, conditions.
    #[arg(long, conflicts_with = "json")]
    pub full: bool,
    /// Print the whole record as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// Runs to compare, by label or id. The first is the baseline. If both labels stand for several runs with the same
    /// settings, made in turn, each of them counts once.
    #[arg(num_args = 2.., required = true, value_name = "RUN", add = candidates::runs())]
    pub runs: Vec<String>,
    /// Count ratios within this margin as equivalent, such as 5%.
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub margin: String,
    /// Compare runs even if their tests, parameters or scales differ. The ratios may then mean nothing.
    #[arg(long)]
    pub anyway: bool,
    /// Exit with 1 if a metric is worse. All metrics together raise a false alarm in at most 5 of 100 cases (Holm).
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// Print one JSON object per comparison.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
At least six runs are needed. Runs with other parameters or on another server are left out and named.
Examples:
  plimsoll history read-scan --target postgres://me@db.example/sales
  plimsoll history insert --target sqlite:./data.db --metric latency_p99 --html history.html
  plimsoll history write-chunk --fail-on worse --quiet      exit code 1 if the level is worse than the first or the one before")]
pub struct History {
    /// Name of the test.
    #[arg(value_name = "TEST", add = candidates::names())]
    pub test: String,
    /// Target URL. Not needed if all stored runs of the test are on one target.
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Figure to show, such as read_rate or latency_p99 [default: the headline].
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Show only runs with the same server and parameters as this run [default: the newest run with the figure].
    #[arg(long, value_name = "RUN", add = candidates::runs())]
    pub like: Option<String>,
    /// Write an HTML page with a chart of the figure by date; - for standard output.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Exit with 1 if the newest level is worse than the first or the previous one.
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub fail_on: Option<FailOn>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Verdicts that make `compare` and `history` exit with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Worse than the baseline.
    Worse,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("output").required(true).multiple(true)))]
pub struct Report {
    /// Run ids, their first characters, or `latest`.
    #[arg(required_unless_present = "campaign", value_name = "RUN", add = candidates::runs())]
    pub runs: Vec<String>,
    /// Report all runs of this campaign, oldest first. Several campaigns are shown side by side.
    #[arg(long, value_name = "NAME")]
    pub campaign: Vec<String>,
    /// Run or target that counts as 100 % in the table of a campaign [default: the first target].
    #[arg(long, value_name = "RUN|URL")]
    pub base: Option<String>,
    /// Write one self-contained HTML file with charts; - for standard output.
    #[arg(long, value_name = "FILE", group = "output")]
    pub html: Option<PathBuf>,
    /// Write the report as Markdown; - for standard output.
    #[arg(long, value_name = "FILE", group = "output")]
    pub markdown: Option<PathBuf>,
    /// Write the recorded data as a CSV table; - for standard output.
    #[arg(long, value_name = "FILE", group = "output")]
    pub csv: Option<PathBuf>,
    /// Kind of rows in the CSV table.
    #[arg(long, value_name = "ROWS", default_value = csv::ROWS[0].0, value_parser = rows(), requires = "csv")]
    pub rows: String,
    /// Title of the report.
    #[arg(long, value_name = "TEXT", default_value = "What it delivers")]
    pub title: String,
    #[command(flatten)]
    pub multiples: Multiples,
}

#[derive(Debug, Args)]
pub struct Clean {
    /// The target, or a folder in which disks were tested.
    #[arg(value_name = "URL")]
    pub target: String,
    #[command(flatten)]
    pub access: Access,
    /// Remove kept data sets and test files as well.
    #[arg(long)]
    pub data: bool,
    /// List what would be removed, and remove nothing.
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct Catalog {
    /// Level, disk, machine, edition, service or metric: S2, P30, E8bds_v5, S2@v12-ga-2015-01, read [default: everything].
    #[arg(default_value = "", add = candidates::hardware())]
    pub query: String,
}

#[derive(Debug, Args)]
pub struct Lab {
    /// What to do with it.
    #[command(subcommand)]
    pub action: LabAction,
}

#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Compare every test with its expected result. Exit with 1 if one is outside its tolerance.
    Verify(Verify),
}

#[derive(Debug, Args)]
pub struct Verify {
    /// Verify only these levels [default: every level with a printed figure; S0, S1 and S2 in real time].
    #[arg(long, value_name = "LEVEL", num_args = 1..)]
    pub level: Vec<String>,
    /// Verify only this edition [default: all; in real time the newest].
    #[arg(long, value_name = "EDITION")]
    pub edition: Option<String>,
    /// Clock of the lab. In real time only rates are verified, within 3 %.
    #[arg(long, value_enum, value_name = "CLOCK", default_value_t = ClockKind::Virtual)]
    pub clock: ClockKind,
    /// Verify only rows of this mean size in bytes of data content [default: both].
    #[arg(long, value_name = "410|900", value_parser = ["410", "900"])]
    pub row: Option<String>,
    /// Print one JSON object per measurement to standard output.
    #[arg(long)]
    pub json: bool,
    /// Write the table as Markdown too; - for standard output.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Verify verdicts instead: reruns of seeded scenarios show the true limit of each. Exit with 1 if more than 10 % of
    /// the scenarios have no verdict or more than 1 % have a wrong one.
    #[arg(long, value_enum, value_name = "HALF", num_args = 0..=1, default_missing_value = "both",
          conflicts_with_all = ["level", "edition", "clock", "row", "markdown"])]
    pub verdicts: Option<Halves>,
    /// Run at most this many scenarios.
    #[arg(long, value_name = "N", requires = "verdicts", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
}

/// Which half of the scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Halves {
    /// The half from which the rules were developed.
    Developing,
    /// The half on which the rules are only tested.
    HeldOut,
    /// All.
    Both,
}

/// A clock of the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClockKind {
    /// Virtual time: it jumps from event to event.
    Virtual,
    /// Real time, as on the wall clock.
    Real,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plimsoll doctor                                     this machine
  plimsoll doctor postgres://me@db.example/sales      and what a target allows
  plimsoll doctor mssql://me@db.example/sales --self-test --allow-workspace --report self-test.md

To see whether a test could run, it makes an empty workspace at the target and removes it. The self-test does so only with
--allow-workspace.

Exit codes of a self-test: 0 everything works, 5 only rights are missing, 7 something was refused, differed, was late, or
was not tried, 130 interrupted by Ctrl-C.")]
pub struct Doctor {
    /// Target to check.
    #[arg(value_name = "URL")]
    pub target: Option<String>,
    #[command(flatten)]
    pub access: Access,
    /// Send each statement of the engine once instead, in two minutes at most, and say which of them work.
    #[arg(long, requires = "target")]
    pub self_test: bool,
    /// Self-test: also make tables in a workspace of its own, and remove it afterwards.
    #[arg(long, requires = "self_test")]
    pub allow_workspace: bool,
    /// Self-test: write everything as Markdown, without names, values or secrets of yours; - for standard output.
    #[arg(long, value_name = "FILE", requires = "self_test")]
    pub report: Option<PathBuf>,
    /// Self-test: print one JSON object, without names, values or secrets of yours.
    #[arg(long, requires = "self_test")]
    pub json: bool,
}

/// What the rows of a CSV table can be.
fn rows() -> PossibleValuesParser {
    csv::ROWS.map(|(name, about, _)| PossibleValue::new(name).help(about)).into()
}
