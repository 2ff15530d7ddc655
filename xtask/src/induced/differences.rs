//! One question, one screen: two runs that differ by one thing, and the first forty lines of `plimsoll compare`. They have to say which run is
//! better, what differs and what held the slower one back. Of runs that do not differ they have to say nothing of the kind.

use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::causes::{Cause, Causes, Plan, Product};
use super::means::InForce;
use super::server::Server;
use super::{Asked, failed};
use crate::child::{measured, record};
use crate::tasks::{self, Outcome};
use crate::{complain, say};

const HELP: &str = "cargo xtask differences [--program FILE] [--seeds N,...] [--minutes N] [--only TEXT] [--tables]";
/// How long a repetition takes, and how many there are.
const SECONDS: u32 = 6;
const REPETITIONS: &str = "4";
/// What a screen has of lines.
const SCREEN: usize = 40;
/// Names of the two runs that say nothing of them.
const LABELS: [&str; 2] = ["one", "two"];

/// A pair that was tried.
#[derive(Debug, Serialize, Deserialize)]
struct Pair {
    name: String,
    product: Product,
    seed: usize,
    /// Whether both runs had the same.
    is_equal: bool,
    /// Which of the two is the slower one, from 0.
    slower: usize,
    /// Limits that the verdict of the slower one named.
    named: Vec<String>,
    /// What is said of the second run's rate of requests.
    verdict: String,
    /// The first lines of `compare`.
    screen: String,
}

/// What a screen came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Right,
    /// Something is missing that should be there.
    Missing(&'static str),
    /// It says what is not so.
    Wrong(&'static str),
}

impl Pair {
    fn answer(&self, cause: &Cause) -> Answer {
        // The second run is the better one where the first is the slower one.
        let (better, worse) = if self.slower == 0 { ("better", "worse") } else { ("worse", "better") };
        if self.is_equal {
            return if ["better", "worse"].contains(&self.verdict.as_str()) {
                Answer::Wrong("a difference where there is none")
            } else {
                Answer::Right
            };
        }
        if self.verdict == worse {
            return Answer::Wrong("the slower run is said to be better");
        }
        let is_known = |name: &String| cause.right.contains(name) || cause.also.contains(name);
        if self.named.first().is_some_and(|first| !cause.right.contains(first)) || !self.named.iter().all(is_known) {
            return Answer::Wrong("another limit is named");
        }
        if self.verdict != better {
            return Answer::Missing("which is better");
        }
        let text = self.screen.split_whitespace().collect::<Vec<_>>().join(" ");
        if !cause.differs.iter().any(|words| text.contains(words.as_str())) {
            return Answer::Missing("what differs");
        }
        // What is still there without the difference may hold both.
        let is_said = |whom: &str| {
            let said = text.split_once(&format!("What held {whom} back: ")).map_or("", |(_, rest)| rest);
            let said = said.split(". ").next().unwrap_or_default().to_lowercase();
            cause.held.iter().any(|words| said.contains(&words.to_lowercase()))
        };
        if ["both", ["A", "B"][self.slower]].into_iter().any(is_said) {
            Answer::Right
        } else {
            Answer::Missing("what held the slower one back")
        }
    }
}

/// Tries pairs that have not been tried with this program, and says what became of all.
pub fn differences(arguments: &[&str]) -> Outcome {
    let Some(asked) = Asked::read(arguments).filter(|asked| !asked.busy && asked.records.is_none()) else {
        complain(HELP);
        return Err(tasks::USAGE);
    };
    let program = asked.program()?;
    let causes = Causes::differences().map_err(failed)?;
    let file = file_of(&program).map_err(failed)?;
    let mut pairs = read(&file);
    if !asked.tables {
        tasks::provide_postgresql()?;
        tasks::provide_mariadb()?;
        for product in Product::ALL {
            on_server(&program, product, &causes, &asked, (&file, &mut pairs)).map_err(failed)?;
        }
    }
    let (table, is_good) = table(&causes, &pairs);
    say(&table);
    if is_good { Ok(()) } else { Err(1) }
}

fn file_of(program: &Path) -> Result<PathBuf, String> {
    let said = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let bytes = fs::read(program).map_err(|error| said(program, error))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    let folder = tasks::root().join("target/differences");
    fs::create_dir_all(&folder).map_err(|error| said(&folder, error))?;
    Ok(folder.join(format!("{:016x}.jsonl", hasher.finish())))
}

fn read(file: &Path) -> Vec<Pair> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn on_server(
    program: &Path,
    product: Product,
    causes: &Causes,
    asked: &Asked<'_>,
    (file, pairs): (&Path, &mut Vec<Pair>),
) -> Result<(), String> {
    // Each difference has one pair of equal runs as well, with the slower one's means and the first seed.
    let cases = asked.seeds.iter().flat_map(|seed| {
        let of = move |cause| [(cause, *seed, false), (cause, *seed, true)];
        causes.cause.iter().flat_map(of).filter(|(_, seed, is_equal)| *seed == 1 || !is_equal)
    });
    let cases: Vec<(&Cause, usize, bool)> = cases
        .filter(|(cause, seed, _)| cause.product(seed - 1) == product && cause.name.contains(asked.only))
        .filter(|(cause, seed, is_equal)| {
            let is_it = |pair: &Pair| (&pair.name, pair.seed, pair.is_equal) == (&cause.name, *seed, *is_equal);
            !pairs.iter().any(is_it)
        })
        .collect();
    if cases.is_empty() {
        return Ok(());
    }
    let server = Server::start(product)?;
    for (cause, seed, is_equal) in cases {
        if asked.until.is_some_and(|until| Instant::now() >= until) {
            complain("the time is over; another call goes on");
            break;
        }
        let pair = tried(program, &server, causes, (cause, seed, is_equal))?;
        let what = if is_equal { "the same twice, " } else { "" };
        complain(&format!("{}, seed {seed}: {what}{}: {:?}", product.name(), cause.name, pair.answer(cause)));
        if pair.answer(cause) != Answer::Right {
            complain(&pair.screen);
        }
        let line = serde_json::to_string(&pair).map_err(|error| error.to_string())?;
        let said = |error: std::io::Error| format!("{}: {error}", file.display());
        let mut kept = OpenOptions::new().create(true).append(true).open(file).map_err(said)?;
        writeln!(kept, "{line}").map_err(said)?;
        pairs.push(pair);
    }
    Ok(())
}

fn tried(
    program: &Path,
    server: &Server,
    causes: &Causes,
    (cause, seed, is_equal): (&Cause, usize, bool),
) -> Result<Pair, String> {
    let [slower, faster] = causes.plans(cause, server.product, seed - 1, SECONDS)?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    // The order says nothing either.
    let place = seed % 2;
    let mut plans = [&slower, if is_equal { &slower } else { &faster }];
    if place == 1 {
        plans.reverse();
    }
    let mut named = Vec::new();
    for (at, (plan, label)) in plans.iter().zip(LABELS).enumerate() {
        let limits = run(program, server, plan, (seed, label), folder.path())?;
        if at == place {
            named = limits;
        }
    }
    let store = folder.path().join("runs.db");
    let screen = printed(Command::new(program).arg("compare").args(LABELS).arg("--store").arg(&store))?;
    let screen: Vec<&str> = screen.lines().take(SCREEN).collect();
    let rows = printed(Command::new(program).arg("compare").args(LABELS).args(["--json", "--store"]).arg(&store))?;
    let first: serde_json::Value = serde_json::from_str(rows.lines().next().unwrap_or_default())
        .map_err(|error| format!("the comparison can't be read: {error}"))?;
    Ok(Pair {
        name: cause.name.clone(),
        product: server.product,
        seed,
        is_equal,
        slower: place,
        named,
        verdict: first["verdict"].as_str().unwrap_or_default().to_owned(),
        screen: screen.join("\n"),
    })
}

/// What a program prints, whatever its exit code is: a comparison that finds something has one of its own.
fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("no comparison: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs one side, and says which limits its verdict names.
fn run(
    program: &Path,
    server: &Server,
    plan: &Plan,
    (seed, label): (usize, &str),
    folder: &Path,
) -> Result<Vec<String>, String> {
    let held = InForce::set(server, &plan.means, seed as u64)?;
    let definition = folder.join("case.toml");
    fs::write(&definition, &plan.definition).map_err(|error| error.to_string())?;
    let mut command = held.command(program);
    command.arg("run").arg(&definition).args(["--target", &held.target(), "--allow-writes", "--json", "--quiet"]);
    command.args(["--repetitions", REPETITIONS, "--label", label]).arg("--store").arg(folder.join("runs.db"));
    let record = record(&measured(&mut command)?.output)?;
    Ok(record.verdict.limits().map(str::to_owned).collect())
}

/// The table for a document, and whether it holds the bar: 27 of 30 right, and nothing wrong.
fn table(causes: &Causes, pairs: &[Pair]) -> (String, bool) {
    let mut rows = Vec::new();
    let (mut right, mut wrong, mut different) = (0, 0, 0);
    for pair in pairs {
        let Some(cause) = causes.cause.iter().find(|cause| cause.name == pair.name) else { continue };
        let answer = pair.answer(cause);
        different += usize::from(!pair.is_equal);
        right += usize::from(!pair.is_equal && answer == Answer::Right);
        wrong += usize::from(matches!(answer, Answer::Wrong(_)));
        let what = if pair.is_equal { format!("the same twice: {}", pair.name) } else { pair.name.clone() };
        let told = match answer {
            Answer::Right => "right".to_owned(),
            Answer::Missing(what) => format!("does not say {what}"),
            Answer::Wrong(what) => format!("wrong: {what}"),
        };
        let named = if pair.named.is_empty() { "–".to_owned() } else { pair.named.join(", ") };
        rows.push(format!("| {what} | {} | {} | {named} | {told} |", pair.product.name(), pair.seed));
    }
    rows.sort();
    let head = format!("{right} of {different} that differ are right; of all {} {wrong} are wrong.", pairs.len());
    let names =
        "| what differs | server | seed | limits of the slower run | the first forty lines |\n|---|---|---|---|---|";
    let is_good = wrong == 0 && 10 * right >= 9 * different;
    (format!("{head}\n\n{names}\n{}", rows.join("\n")), is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_has_to_say_all_of_it() {
        let causes = Causes::differences().unwrap();
        let cause = &causes.cause[0];
        let pair = |verdict: &str, named: &[&str], screen: &str| Pair {
            name: cause.name.clone(),
            product: Product::PostgreSql,
            seed: 1,
            is_equal: false,
            slower: 1,
            named: named.iter().map(|name| (*name).to_owned()).collect(),
            verdict: verdict.to_owned(),
            screen: screen.to_owned(),
        };
        let all = "What held B back: log\nwrite. What held A back: CPU. Changed: synchronous_commit: off → on.";
        let of = |verdict, named: &[&str], screen| pair(verdict, named, screen).answer(cause);
        assert_eq!(of("worse", &["log_write"], all), Answer::Right);
        assert_eq!(of("better", &["log_write"], all), Answer::Wrong("the slower run is said to be better"));
        assert_eq!(of("worse", &["memory"], all), Answer::Wrong("another limit is named"));
        assert_eq!(of("undecided", &[], all), Answer::Missing("which is better"));
        assert_eq!(of("worse", &[], "What held B back: log write."), Answer::Missing("what differs"));
        let other = "What held A back: log write. What held B back: CPU. synchronous_commit";
        assert_eq!(of("worse", &[], other), Answer::Missing("what held the slower one back"));
        let both = "What held both back: log write. synchronous_commit";
        assert_eq!(of("worse", &[], both), Answer::Right);
        let same = |verdict| Pair { is_equal: true, ..pair(verdict, &[], "") }.answer(cause);
        assert_eq!((same("undecided"), same("same")), (Answer::Right, Answer::Right));
        assert_eq!(same("worse"), Answer::Wrong("a difference where there is none"));
    }
}
