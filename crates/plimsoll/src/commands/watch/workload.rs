//! `plimsoll watch export --workload`: what was watched as a definition of a test, to be run on another server.
//!
//! A server counts statements; it keeps no values, no transactions, and no order. What the definition can say follows from the counts: the
//! statements, how often each is called beside the others, and how many come a second. What it can't say stands in the file and is printed.

mod text;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use plimsoll_measurement::counters::Measure;
use plimsoll_measurement::units::{format_decimals, format_significant};
use plimsoll_profile::Record;

use super::names::moment;
use super::stored::Kept;
use super::sums::{Sum, Sums};
use crate::commands::report::write;
use crate::failure::Failure;
use crate::printer::Printer;
use text::{Left, Statement, statement};

/// Sessions for each that was active on average: so many are enough for requests that come at a rate.
const SESSIONS: f64 = 2.0;
const LEAST_SESSIONS: u64 = 4;

/// Slots whose rates are listed in the file.
const MOST_SLOTS: usize = 60;

/// What a workload is made of.
struct Workload {
    database: Option<String>,
    requests: Vec<Request>,
    /// Executions of what can't be run again, by reason.
    left: BTreeMap<Left, u64>,
    /// Executions and time of all, and of the requests.
    all: [u64; 2],
    own: [u64; 2],
    /// When each slot began, and requests a second in it.
    rates: Vec<(i64, f64)>,
    seconds: f64,
    active: f64,
}

struct Request {
    name: String,
    executions: u64,
    statement: Statement,
}

/// Writes the file, and says how much of the load is in it.
pub fn export(kept: &Kept, range: &Range<i64>, path: &Path, printer: &Printer) -> Result<(), Failure> {
    let mut slots: Vec<Record> = Vec::new();
    kept.records(range, |record| slots.push(record))?;
    let workload = Workload::of(kept, &slots);
    if workload.requests.is_empty() {
        let why: Vec<String> = workload.left_in_words();
        let why = if why.is_empty() { "no statement ended".to_owned() } else { why.join(", ") };
        return Err(Failure::usage(format!("no statement of that range can be run again: {why}"))
            .hint("plimsoll watch list shows what is kept; a longer range has more statements"));
    }
    write(path, &workload.toml(kept, range), printer)?;
    if path != Path::new("-") {
        printer.result(&workload.told(path));
    }
    Ok(())
}

fn executions(sum: &Sum) -> u64 {
    sum.values.get(Measure::Executions).unwrap_or(0)
}

impl Workload {
    fn of(kept: &Kept, slots: &[Record]) -> Self {
        let mut sums = Sums::default();
        for record in slots {
            sums.add(&Sums::of_record(record));
        }
        let is_numbered = kept.watched.target.starts_with("postgres");
        let mut by_database: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        let clients = || sums.ranked().into_iter().filter(|((_, is_nested), sum)| !is_nested && executions(sum) > 0);
        for ((item, _), sum) in clients() {
            let text = kept.texts.get(&item).filter(|text| text.text.is_some());
            *by_database.entry(text.and_then(|text| text.database.as_deref())).or_default() += executions(&sum);
        }
        let named = by_database.iter().filter(|(name, _)| name.is_some());
        let database = named.max_by_key(|(_, count)| **count).and_then(|(name, _)| name.map(str::to_owned));
        let all = sums.all();
        let mut workload = Self {
            database,
            requests: Vec::new(),
            left: BTreeMap::new(),
            all: [executions(&all), all.elapsed_us()],
            own: [0; 2],
            rates: Vec::new(),
            seconds: sums.covered_us as f64 / 1e6,
            active: sums.active_sessions().unwrap_or(0.0),
        };
        let mut chosen = Vec::new();
        for ((item, _), sum) in clients() {
            let known = kept.texts.get(&item);
            let found = match known.and_then(|one| one.text.as_deref()) {
                None => Err(Left::NoText),
                Some(_) if known.and_then(|one| one.database.as_deref()) != workload.database.as_deref() => {
                    Err(Left::OtherDatabase)
                }
                Some(text) => statement(text, is_numbered),
            };
            match found {
                Err(left) => *workload.left.entry(left).or_default() += executions(&sum),
                Ok(statement) => {
                    workload.own[0] += executions(&sum);
                    workload.own[1] += sum.elapsed_us();
                    chosen.push((item, false));
                    workload.requests.push(Request {
                        name: statement.name.clone(),
                        executions: executions(&sum),
                        statement,
                    });
                }
            }
        }
        if let Some((_, rest)) = sums.rest {
            *workload.left.entry(Left::NoText).or_default() += executions(&rest);
        }
        workload.left.retain(|_, count| *count > 0);
        workload
            .requests
            .sort_by(|one, other| other.executions.cmp(&one.executions).then_with(|| one.name.cmp(&other.name)));
        let mut taken: BTreeMap<String, u64> = BTreeMap::new();
        for request in &mut workload.requests {
            let count = taken.entry(request.name.clone()).or_default();
            *count += 1;
            if *count > 1 {
                request.name = format!("{}-{count}", request.name);
            }
        }
        workload.rates = slots
            .iter()
            .filter(|record| record.bucket.covered_us > 0)
            .map(|record| {
                let sums = Sums::of_record(record);
                let count: u64 = chosen.iter().filter_map(|key| sums.by_query.get(key)).map(executions).sum();
                (record.bucket.start_us, count as f64 * 1e6 / record.bucket.covered_us as f64)
            })
            .collect();
        workload
    }

    /// Requests a second over the whole range.
    fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.own[0] as f64 / self.seconds } else { 0.0 }
    }

    fn left_in_words(&self) -> Vec<String> {
        self.left
            .iter()
            .map(|(left, count)| format!("{} {}", format_decimals(*count as f64, 0), left.words()))
            .collect()
    }

    fn unknown(&self) -> usize {
        self.requests.iter().flat_map(|request| &request.statement.parameters).filter(|column| column.is_none()).count()
    }

    fn told(&self, path: &Path) -> String {
        let part = |at: usize| if self.all[at] > 0 { 100.0 * self.own[at] as f64 / self.all[at] as f64 } else { 0.0 };
        let mut text = format!(
            "{} statements with {:.1} % of the executions and {:.1} % of the time are in {}, at {} a second.\n",
            self.requests.len(),
            part(0),
            part(1),
            path.display(),
            format_significant(self.rate()),
        );
        let left = self.left_in_words();
        if !left.is_empty() {
            let _ = writeln!(text, "Left out are executions: {}.", left.join(", "));
        }
        let unknown = self.unknown();
        if unknown > 0 {
            let are = if unknown == 1 { "value is" } else { "values are" };
            let _ = writeln!(
                text,
                "{unknown} {are} not known, as the server keeps none: say in the file how each is drawn, before it can be run."
            );
        }
        text.push_str("Not known at all are transactions, and which rows are asked for more often than others.\n");
        text
    }

    fn toml(&self, kept: &Kept, range: &Range<i64>) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let [from, to] = [range.start, range.end].map(moment);
        let mut out = format!("# What {} did from {from} to {to}.\n", kept.watched.target);
        out.push_str("# The server counted how often each statement was called. Not known, and so not in here:\n");
        out.push_str("# - which statements made up a transaction: each is a request of its own;\n");
        out.push_str("# - the values: those of a column that a value was compared with are drawn from a sample of its rows, all alike;\n");
        out.push_str(
            "# - how evenly requests come within a slot, and how the rate changes: a run has one rate, the mean.\n",
        );
        for left in self.left_in_words() {
            let _ = writeln!(out, "# Left out: {left}.");
        }
        let shown = self
            .rates
            .iter()
            .take(MOST_SLOTS)
            .map(|(start, rate)| format!("#   {}  {}\n", moment(*start), format_significant(*rate)));
        out.push_str("# Requests a second by slot:\n");
        out.extend(shown);
        if self.rates.len() > MOST_SLOTS {
            let _ = writeln!(out, "#   ... and {} more slots", self.rates.len() - MOST_SLOTS);
        }
        let writes = self.requests.iter().any(|request| request.statement.writes);
        let of = self.database.as_ref().map_or_else(String::new, |name| format!(" of {name}"));
        let _ = write!(
            out,
            "\nname = \"watched\"\ntitle = {}\nsteps = [\"requests\"]\nexisting = true\n{}",
            quoted(&format!("What was watched{of}")),
            if writes { "writes = true\n" } else { "" },
        );
        for Request { name, executions, statement } in &self.requests {
            let _ = write!(
                out,
                "\n[[request]]\nname = {}\nweight = {executions}\ntransaction = false\nstatements = [{}]\n",
                quoted(name),
                quoted(&statement.sql),
            );
            if statement.parameters.is_empty() {
                continue;
            }
            out.push_str("\n[request.parameters]\n");
            for (column, number) in statement.parameters.iter().zip(1..) {
                let _ = match column {
                    Some(column) => writeln!(out, "p{number} = {{ column = {} }}", quoted(column)),
                    None => writeln!(
                        out,
                        "# p{number} = {{ uniform = [1, 1000] }}  not known: say how it is drawn ('plimsoll tests keys')"
                    ),
                };
            }
        }
        let sessions = ((SESSIONS * self.active).ceil() as u64).max(LEAST_SESSIONS);
        let rate = self.rate().round().max(1.0);
        let _ = write!(out, "\n[parameters]\nduration = \"60s\"\nrate = {rate}\nsessions = {sessions}\n");
        out
    }
}
