//! Verdicts on real servers: causes are induced one after the other on servers of our own, and the verdict of a run has to name them.
//! For each there is a control in which the suspected limit is lifted: a verdict is right if that really helps. What can't be done
//! on this machine makes a case that was *not run*, never one that passed.

mod causes;
mod differences;
mod foretold;
mod limits;
mod means;
mod proxy;
mod results;
mod server;
mod slow;
mod watch;

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_measurement::RunRecord;

use crate::child::{answered, measured, record};
use crate::tasks::{self, Outcome};
use crate::{complain, say};
use causes::{Cause, Causes, Plan, Product};
pub use differences::differences;
pub use foretold::foretold;
use means::{InForce, Neighbours};
use results::{Found, Tried};
pub use results::{Judged, Outcomes, Results};
use server::Server;
use watch::Watch;

/// How long a repetition takes.
const SECONDS: u32 = 8;
/// Repetitions of a run.
const REPETITIONS: &str = "2";

const HELP: &str = "cargo xtask induced [--program FILE] [--seeds N,...] [--busy] [--minutes N] [--only TEXT] [--records FOLDER] [--tables]";

/// What was asked for.
struct Asked<'a> {
    program: Option<PathBuf>,
    /// From 1.
    seeds: Vec<usize>,
    busy: bool,
    /// No case begins after that.
    until: Option<Instant>,
    /// A part of a cause's name.
    only: &'a str,
    /// Where the records of runs are kept.
    records: Option<PathBuf>,
    /// Whether tables alone are asked for.
    tables: bool,
}

impl<'a> Asked<'a> {
    fn read(arguments: &[&'a str]) -> Option<Self> {
        let mut asked = Self {
            program: None,
            seeds: vec![1, 2, 3],
            busy: false,
            until: None,
            only: "",
            records: None,
            tables: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match *word {
                "--program" => asked.program = Some(PathBuf::from(words.next()?)),
                "--seeds" => asked.seeds = words.next()?.split(',').map(str::parse).collect::<Result<_, _>>().ok()?,
                "--busy" => asked.busy = true,
                "--minutes" => {
                    let minutes: u64 = words.next()?.parse().ok()?;
                    asked.until = Some(Instant::now() + Duration::from_secs(60 * minutes));
                }
                "--only" => asked.only = words.next()?,
                "--records" => asked.records = Some(PathBuf::from(words.next()?)),
                "--tables" => asked.tables = true,
                _ => return None,
            }
        }
        (!asked.seeds.contains(&0)).then_some(asked)
    }

    /// The program that is tried: the one that was named, or a release of these sources.
    fn program(&self) -> Result<PathBuf, u8> {
        self.program.clone().map_or_else(tasks::released, Ok)
    }
}

/// Tells why a command can't go on; its exit code.
#[expect(clippy::needless_pass_by_value, reason = "map_err hands it on by value")]
fn failed(reason: String) -> u8 {
    complain(&reason);
    1
}

/// Induces causes that have not been tried with this program, and says what became of all.
pub fn induced(arguments: &[&str]) -> Outcome {
    let Some(asked) = Asked::read(arguments) else {
        complain(HELP);
        return Err(tasks::USAGE);
    };
    let program = asked.program()?;
    let causes = Causes::read().map_err(failed)?;
    let mut results = Results::open(file_of(&program).map_err(failed)?).map_err(failed)?;
    if !asked.tables {
        tasks::provide_postgresql()?;
        tasks::provide_mariadb()?;
        for product in Product::ALL {
            on_server(&program, product, &causes, &asked, &mut results).map_err(failed)?;
        }
    }
    say(&results.tables(&causes));
    if results.has_wrong(&causes) { Err(1) } else { Ok(()) }
}

/// Results of one program add up; those of another one are others.
fn file_of(program: &Path) -> Result<PathBuf, String> {
    let bytes = fs::read(program).map_err(|error| format!("{}: {error}", program.display()))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(folder().join(format!("{:016x}.jsonl", hasher.finish())))
}

/// The results of the program that was tried last, with the causes.
pub fn latest() -> Option<(Results, Causes)> {
    let files = fs::read_dir(folder()).ok()?.filter_map(Result::ok);
    let last = files.max_by_key(|file| file.metadata().and_then(|about| about.modified()).ok())?;
    Some((Results::open(last.path()).ok()?, Causes::read().ok()?))
}

fn folder() -> PathBuf {
    tasks::root().join("target/induced")
}

fn on_server(
    program: &Path,
    product: Product,
    causes: &Causes,
    asked: &Asked<'_>,
    results: &mut Results,
) -> Result<(), String> {
    let cases: Vec<(&Cause, usize)> = asked
        .seeds
        .iter()
        .flat_map(|seed| causes.cause.iter().map(move |cause| (cause, *seed)))
        .filter(|(cause, seed)| cause.product(seed - 1) == product && cause.name.contains(asked.only))
        .filter(|(cause, seed)| !results.has(cause, *seed, asked.busy))
        .collect();
    if cases.is_empty() {
        return Ok(());
    }
    let server = Server::start(product);
    for (cause, seed) in cases {
        if asked.until.is_some_and(|until| Instant::now() >= until) {
            complain("the time is over; another call goes on");
            break;
        }
        complain(&format!("{}, seed {seed}: {}", product.name(), cause.name));
        let found = match &server {
            Ok(server) => tried(program, server, causes, (cause, seed), asked),
            Err(reason) => Err(reason.clone()),
        };
        let one = Tried { cause: cause.name.clone(), product, seed, busy: asked.busy, found };
        complain(&told(&one, cause));
        results.keep(one)?;
    }
    Ok(())
}

fn told(one: &Tried, cause: &Cause) -> String {
    match &one.found {
        Err(reason) => format!("  not run: {reason}"),
        Ok(found) => format!(
            "  {:?}: {:?}, {:.1} a second, lifted {:.1} ({:+.1} %, promised {:?}): {}",
            one.judged(cause),
            found.named,
            found.rate,
            found.lifted_rate,
            found.real_percent(),
            found.promised_percent,
            found.evidence.join("; ")
        ),
    }
}

fn tried(
    program: &Path,
    server: &Server,
    causes: &Causes,
    (cause, seed): (&Cause, usize),
    asked: &Asked<'_>,
) -> Result<Found, String> {
    let [with, without] = causes.plans(cause, server.product, seed - 1, SECONDS)?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let neighbours = if asked.busy { Some(Neighbours::start(folder.path())?) } else { None };
    let (first, compared) = run(program, server, &with, seed, folder.path())?;
    let (control, _) = run(program, server, &without, seed, folder.path())?;
    drop(neighbours);
    if let Some(folder) = &asked.records {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for (record, which) in [(&first, "with"), (&control, "without")] {
            let name: String = cause.name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
            let file = folder.join(format!("{name}-{}-{seed}-{which}.json", server.product.name()));
            let text = serde_json::to_string(record).map_err(|error| error.to_string())?;
            fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    let verdict = first.verdict.clone();
    let named: Vec<String> = verdict.limits().map(str::to_owned).collect();
    let promised = verdict.gains.iter().find(|gain| named.first() == Some(&gain.limit)).map(|gain| gain.gain_percent);
    Ok(Found {
        promised_percent: promised,
        named,
        compared,
        evidence: verdict.evidence,
        rate: answered(&first) as f64 / f64::from(2 * SECONDS),
        lifted_rate: answered(&control) as f64 / f64::from(2 * SECONDS),
    })
}

fn run(
    program: &Path,
    server: &Server,
    plan: &Plan,
    seed: usize,
    folder: &Path,
) -> Result<(RunRecord, Vec<watch::Compared>), String> {
    let held = InForce::set(server, &plan.means, seed as u64)?;
    let watch = Watch::start(server.pid()?, [&server.data, &server.log].map(|device| device.number().to_owned()));
    let definition = folder.join("case.toml");
    fs::write(&definition, &plan.definition).map_err(|error| error.to_string())?;
    let mut command = held.command(program);
    command.arg("run").arg(&definition).args(["--target", &held.target(), "--allow-writes", "--json", "--quiet"]);
    command.args(["--repetitions", REPETITIONS]).arg("--store").arg(folder.join("runs.db"));
    let record = record(&measured(&mut command)?.output)?;
    let compared = watch.compared(&record);
    Ok((record, compared))
}
