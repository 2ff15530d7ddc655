//! `plimsoll watch check`: what a server has counted of its statements before anybody watches it, and whether a watch can rely on it.

use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_engine::Intents;
use plimsoll_engine::queries::CachedPlans;
use plimsoll_measurement::counters::{Evictions, Item, Measure, Row, Snapshot};
use plimsoll_measurement::{exit, units};
use plimsoll_report::model::{Cell, Part, Rank, Report, Table, Tone, format, number, scaled, text};
use plimsoll_report::terminal;
use serde_json::{Map, Value, json};

use super::collect::sampler;
use super::names::{self, SHORT_TEXT, Texts, put};
use super::ranges::shown;
use crate::args::WatchCheck;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// With fewer statements or plans it is nothing that most of them ran once.
const MANY: u64 = 100;

/// From which part of the room on it is nearly full, and from which part on it is worth a word that statements ran once, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limits {
    nearly_full: f64,
    many_once: f64,
}

pub fn check(options: &WatchCheck, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let target = engines::parse(&options.target, settings, printer)?;
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let opened = engines::open(&target, &options.access, &Intents::default(), &interrupt, printer);
    let failed = |error| signals::failure(&interrupt, error);
    let database = opened.database.as_ref().map_err(|error| failed(error.clone()))?;
    let _pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let mut sampler = sampler(database.as_ref(), target.display(), false).map_err(failed)?;
    let begin = opened.clock.now();
    let snapshot = sampler.snapshot().map_err(failed)?;
    let read = opened.clock.now().since(begin);
    let own = sampler.own();
    let mut top: Vec<&Row> = snapshot.rows.iter().filter(|row| !own.contains(&row.item)).collect();
    top.sort_by_key(|row| std::cmp::Reverse(row.values.get(Measure::ElapsedUs)));
    top.truncate(options.top.into());
    let items: Vec<Item> = top.iter().map(|row| row.item).collect();
    let texts = sampler.texts(&items).map_err(failed)?.into_iter().map(|text| (text.item, text)).collect();
    let limits = Limits { nearly_full: options.nearly_full.into(), many_once: options.many_once.into() };
    let counted = Counted::of(&snapshot, sampler.room(), read, limits);
    let mut plans = sampler.cached_plans().map_err(failed)?;
    plans.sort_by_key(|one| std::cmp::Reverse(one.once_bytes));
    let warnings: Vec<String> = sampler.warnings().into_iter().chain(sampler.unlisted()).collect();
    if options.json {
        let mut object = counted.json(target.display());
        object.insert("warnings".to_owned(), warnings.into());
        put(&mut object, "cached_plans", (!plans.is_empty()).then(|| plans.iter().map(json_plans).collect::<Vec<_>>()));
        object.insert("top".to_owned(), top.iter().map(|row| json_row(row, &texts)).collect());
        printer.json(&Value::from(object).to_string());
        return Ok(exit::DONE);
    }
    let mut report = Report::new(format!("What {} has counted", target.display()));
    let (mut answer, mut table) = (Part::of(Rank::Answer), Part::of(Rank::Table));
    counted.say(&mut answer);
    answer.say(Tone::Warning, many_once(&plans, limits));
    for warning in warnings {
        answer.say(Tone::Warning, format!("{warning}."));
    }
    table.table("Statements with most time since then", statements(&top, &texts));
    let mut cache = Part::of(Rank::Table);
    cache.table("Plans in the cache", cached(&plans));
    report.add_all([answer, table, cache]);
    printer.result(&terminal::report(&report, printer.style));
    Ok(exit::DONE)
}

/// What the server keeps.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    statements: u64,
    room: Option<u64>,
    executions: u64,
    once: u64,
    /// How often some were dropped, where the server says it.
    dropped: Option<u64>,
    since_us: Option<i64>,
    /// Whether somebody may have emptied the list since then without a stamp of it.
    may_be_emptied: bool,
    elapsed_us: u64,
    read: Duration,
    limits: Limits,
}

/// In a word how much it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Normal,
    NearlyFull,
    Dropping,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Normal => "normal",
            Self::NearlyFull => "nearly full",
            Self::Dropping => "dropping",
        }
    }
}

impl Counted {
    fn of(snapshot: &Snapshot, room: Option<u64>, read: Duration, limits: Limits) -> Self {
        let sum = |measure| {
            snapshot
                .rows
                .iter()
                .filter_map(|row| row.values.get(measure))
                .fold(0, |sum: u64, one| sum.saturating_add(one))
        };
        // The time of what runs within another statement is in that of its caller.
        let elapsed_us = snapshot.rows.iter().filter(|row| !row.is_nested);
        let elapsed_us = elapsed_us.filter_map(|row| row.values.get(Measure::ElapsedUs));
        let is_once = |row: &&Row| row.values.get(Measure::Executions) == Some(1);
        Self {
            statements: snapshot.rows.len() as u64,
            room,
            executions: sum(Measure::Executions),
            once: snapshot.rows.iter().filter(is_once).count() as u64,
            dropped: match snapshot.end.evictions {
                Evictions::Counted(times) => Some(times),
                Evictions::Never => Some(0),
                Evictions::Untold => None,
            },
            since_us: snapshot.end.reset_us,
            may_be_emptied: snapshot.end.are_stamps_derived,
            elapsed_us: elapsed_us.fold(0, u64::saturating_add),
            read,
            limits,
        }
    }

    /// How much of the room is taken, in percent.
    fn taken_percent(&self) -> Option<f64> {
        let room = self.room.filter(|room| *room > 0)?;
        Some(100.0 * self.statements as f64 / room as f64)
    }

    fn once_percent(&self) -> f64 {
        100.0 * self.once as f64 / self.statements.max(1) as f64
    }

    fn state(&self) -> State {
        if self.statements == 0 {
            State::Empty
        } else if self.dropped.is_some_and(|times| times > 0) {
            State::Dropping
        } else if self.taken_percent().is_some_and(|percent| percent >= self.limits.nearly_full) {
            State::NearlyFull
        } else {
            State::Normal
        }
    }

    fn say(&self, answer: &mut Part) {
        let whole = format::whole;
        let unless = if self.may_be_emptied { ", unless somebody emptied the list since" } else { "" };
        let since = self.since_us.map_or_else(String::new, |us| format!(" since {}", shown(us)));
        let taken = self.room.map_or_else(
            || format!("{} statements are kept", whole(self.statements)),
            |room| format!("{} of {} places for statements are taken", whole(self.statements), whole(room)),
        );
        let headline = match self.state() {
            State::Empty => "No statement was counted yet: a watch sees all from its beginning.".to_owned(),
            State::Normal if self.dropped.is_some() => {
                format!("All statements that ran{since} are there{unless}: {taken}.")
            }
            State::Normal => format!("{taken}; the server does not say whether it dropped some."),
            State::NearlyFull => format!("{taken}: what comes next may have no room of its own."),
            State::Dropping => {
                let times = self.dropped.map_or_else(String::new, whole);
                format!(
                    "Statements were dropped {times} times{since} for want of room: {taken}. What rare ones cost is known in part."
                )
            }
        };
        answer.say(Tone::Headline, headline);
        if self.statements == 0 {
            return;
        }
        let mean = self.executions as f64 / self.statements as f64;
        answer.say(
            Tone::Plain,
            format!(
                "They ran {} times, {} times each on average, for {} together; {} ran once.",
                whole(self.executions),
                units::format_significant(mean),
                units::format_seconds(self.elapsed_us as f64 / 1e6),
                format::percent(self.once_percent()).unwrap_or_default()
            ),
        );
        if self.statements >= MANY && self.once_percent() >= self.limits.many_once {
            let most = if self.once_percent() >= 50.0 { "Most" } else { "Many" };
            let text =
                "of them ran once. Values as parameters in place of texts that differ in them make fewer statements.";
            answer.say(Tone::Warning, format!("{most} {text}"));
        }
        let read = units::format_seconds(self.read.as_secs_f64());
        answer.say(Tone::Quiet, format!("A watch reads all of them in each slot, which took {read}."));
    }

    fn json(&self, target: &str) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("target".to_owned(), target.into());
        object.insert("state".to_owned(), self.state().name().into());
        object.insert("statements".to_owned(), self.statements.into());
        put(&mut object, "room", self.room);
        object.insert("executions".to_owned(), self.executions.into());
        object.insert("executed_once".to_owned(), self.once.into());
        put(&mut object, "evictions", self.dropped);
        put(&mut object, "since", self.since_us.map(shown));
        object.insert("elapsed_us".to_owned(), self.elapsed_us.into());
        object.insert("read_ms".to_owned(), (self.read.as_secs_f64() * 1e3).into());
        object
    }
}

/// A warning of plans that were used once, if they take much of the cache.
fn many_once(plans: &[CachedPlans], limits: Limits) -> Option<String> {
    let sum = |of: fn(&CachedPlans) -> u64| plans.iter().map(of).fold(0, u64::saturating_add);
    let (all, once, once_bytes) = (sum(|one| one.plans), sum(|one| one.once), sum(|one| one.once_bytes));
    let percent = 100.0 * once as f64 / all.max(1) as f64;
    (all >= MANY && percent >= limits.many_once).then(|| {
        format!(
            "{} of {} plans in the cache were used once, and take {} MB: 'optimize for ad hoc workloads', or values as parameters, keep it smaller.",
            format::whole(once),
            format::whole(all),
            units::format_significant(once_bytes as f64 / 1e6)
        )
    })
}

/// Plans in the cache by kind.
fn cached(plans: &[CachedPlans]) -> Option<Table> {
    Table::of(
        plans.iter(),
        &[
            (text("Kind"), &|one: &&CachedPlans| one.kind.as_str().into()),
            (number("Plans", ""), &|one| one.plans.into()),
            (scaled("Memory", "bytes"), &|one| one.bytes.into()),
            (number("Mean uses", ""), &|one| (one.uses as f64 / one.plans.max(1) as f64).into()),
            (number("Used once", ""), &|one| one.once.into()),
            (scaled("Memory of these", "bytes"), &|one| one.once_bytes.into()),
        ],
    )
}

fn json_plans(one: &CachedPlans) -> Value {
    json!({
        "kind": one.kind,
        "plans": one.plans,
        "bytes": one.bytes,
        "mean_uses": one.uses as f64 / one.plans.max(1) as f64,
        "used_once": one.once,
        "used_once_bytes": one.once_bytes,
    })
}

fn json_row(row: &Row, texts: &Texts) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), names::id(row.item).into());
    let known = texts.get(&row.item);
    put(&mut object, "text", known.and_then(|known| known.text.clone()));
    put(&mut object, "database", known.and_then(|known| known.database.clone()));
    for metric in super::metrics::METRICS {
        put(&mut object, metric.name, row.values.get(metric.measure));
    }
    object.into()
}

fn statements(top: &[&Row], texts: &Texts) -> Option<Table> {
    let us = |row: &Row| row.values.get(Measure::ElapsedUs).map(|us| us as f64 / 1e6);
    let mean = |row: &Row| Some(us(row)? / row.values.get(Measure::Executions).filter(|count| *count > 0)? as f64);
    let seconds = |value: Option<f64>| value.map_or_else(Cell::default, |value| Cell::quantity(value, "s"));
    Table::of(
        top.iter().copied(),
        &[
            (text("Statement"), &|row| names::name(row.item, texts, SHORT_TEXT - 15).into()),
            (text("Database"), &|row| texts.get(&row.item).and_then(|text| text.database.clone()).into()),
            (number("Calls", ""), &|row| row.values.get(Measure::Executions).into()),
            (scaled("Total", "s"), &|row| seconds(us(row))),
            (scaled("Mean", "s"), &|row| seconds(mean(row))),
            (number("Rows", "").spare(1), &|row| row.values.get(Measure::Rows).into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_a_state_by_its_room_and_its_drops() {
        let counted = Counted {
            statements: 0,
            room: Some(100),
            executions: 0,
            once: 0,
            dropped: Some(0),
            since_us: None,
            may_be_emptied: false,
            elapsed_us: 0,
            read: Duration::from_millis(2),
            limits: Limits { nearly_full: 90.0, many_once: 50.0 },
        };
        let of = |statements, dropped| Counted { statements, dropped, ..counted }.state();
        assert_eq!(of(0, Some(0)), State::Empty);
        assert_eq!((of(89, Some(0)), of(90, Some(0))), (State::Normal, State::NearlyFull));
        assert_eq!((of(50, Some(1)), of(50, None)), (State::Dropping, State::Normal));
        assert_eq!(Counted { statements: 50, room: None, ..counted }.state(), State::Normal);
        let early = Counted { statements: 40, limits: Limits { nearly_full: 40.0, ..counted.limits }, ..counted };
        assert_eq!(early.state(), State::NearlyFull);
    }

    #[test]
    fn plans_that_were_used_once_are_warned_of_from_a_part_of_all_on() {
        let plans = |plans, once| CachedPlans {
            kind: "Adhoc".to_owned(),
            plans,
            bytes: 9,
            uses: 9,
            once,
            once_bytes: 3_000_000,
        };
        let warned = |all: &[CachedPlans], percent| many_once(all, Limits { nearly_full: 90.0, many_once: percent });
        let said = warned(&[plans(150, 90), plans(50, 20)], 50.0).unwrap();
        assert!(said.starts_with("110 of 200 plans in the cache were used once, and take 6.00 MB"), "{said}");
        assert_eq!((warned(&[plans(150, 90)], 61.0), warned(&[plans(99, 99)], 50.0)), (None, None));
    }
}
