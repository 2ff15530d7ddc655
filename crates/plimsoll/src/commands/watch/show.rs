//! How what was watched is shown: a line or an object for each slot, and a summary with the answer first.

use plimsoll_measurement::counters::Measure;
use plimsoll_measurement::units;
use plimsoll_profile::Slot;

use plimsoll_report::model::{Cell, Part, Rank, Report, Table, Tone, format, number, scaled, text};
use serde_json::{Map, Value, json};

use super::counted;
use super::counters::OfSlot;
use super::limits;
use super::metrics::BY_SAMPLES;
use super::names::{self, SHORT_TEXT, Texts, id, measures, moment, name, percent, put};
use super::news::News;
use super::sums::{Key, Sum, Sums};

/// So many waits are listed.
const MOST_WAITS: usize = 8;

/// Nothing is left beside that.
const ALL: &str = "100 %";

/// Readings in all, those that failed, and whether the last one did.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub slots: u64,
    pub missed: u64,
    pub is_lost: bool,
}

/// The line of a slot.
pub fn line(slot: &Slot, sums: &Sums, texts: &Texts, width: usize) -> String {
    let end = moment(slot.end_us);
    let time = end.get(11..19).unwrap_or_default();
    let seconds = slot.interval_us.map_or_else(|| "?".to_owned(), |us| format!("{:.1}", us as f64 / 1e6));
    let active = sums.active_sessions().map_or_else(|| "?".to_owned(), |active| format!("{active:.2}"));
    let coverage = sums.coverage_percent().map_or_else(|| "?".to_owned(), |share| format!("{share:.0}"));
    let begin = format!("{time}Z {seconds:>5} s  {active:>6} active  {coverage:>3} % known  {}", sums.status_words());
    let metric = sums.best_metric();
    let Some(((item, _), sum)) = sums.ranked_by(metric).into_iter().find(|((_, is_nested), _)| !is_nested) else {
        let listed = if sums.rest.is_some() { "none of the statements that are listed" } else { "no statement" };
        return format!("{begin}  {listed} ended");
    };
    let share = if metric == BY_SAMPLES { seen_percent(sums, &sum) } else { sums.share_percent(sum.elapsed_us()) };
    let share = share.map_or_else(|| "?".to_owned(), |share| format!("{share:.0}"));
    let room = width.saturating_sub(begin.chars().count() + 9).clamp(20, SHORT_TEXT);
    format!("{begin}  {share:>3} %  {}", name(item, texts, room))
}

/// The object of a slot, with so many statements, waits and files: unknown is absent.
pub fn json(slot: &Slot, sums: &Sums, texts: &Texts, counted: &OfSlot, (top, alerts): (usize, &[String])) -> String {
    let mut object = Map::new();
    object.insert("slot_start".to_owned(), moment(slot.start_us).into());
    put(&mut object, "seconds", slot.interval_us.map(|us| us as f64 / 1e6));
    object.insert("status".to_owned(), sums.status.to_string().into());
    put(&mut object, "coverage_percent", sums.coverage_percent());
    put(&mut object, "active_sessions", sums.active_sessions());
    put(&mut object, "database_us", sums.explained.map(|_| sums.database_us()));
    put(&mut object, "event", slot.event.and_then(|event| serde_json::to_value(event).ok()));
    put(&mut object, "evictions", slot.evictions);
    let mut reasons: Vec<Value> =
        slot.unknown.iter().filter_map(|unknown| serde_json::to_value(unknown.reason).ok()).collect();
    reasons.sort_by_key(ToString::to_string);
    reasons.dedup();
    object.insert("unknown".to_owned(), reasons.into());
    object.insert("own_us".to_owned(), sums.own_us().into());
    put(&mut object, "alerts", (!alerts.is_empty()).then(|| Value::from(alerts.to_vec())));
    put(&mut object, "sessions", limits::json(sums, texts));
    counted::put(&mut object, counted, top);
    let ranked = sums.ranked();
    let queries = ranked.iter().take(top).map(|(key, sum)| query(*key, sum, texts)).collect();
    object.insert("queries".to_owned(), Value::Array(queries));
    if let Some((count, sum)) = sums.others(&ranked, top) {
        let mut other = Map::new();
        other.insert("queries".to_owned(), count.into());
        measures(&mut other, &sum);
        object.insert("other".to_owned(), other.into());
    }
    json!(object).to_string()
}

/// A statement with all that is known of it.
pub fn query((item, is_nested): Key, sum: &Sum, texts: &Texts) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), id(item).into());
    let known = texts.get(&item);
    put(&mut object, "text", known.and_then(|known| known.text.clone()));
    put(&mut object, "database", known.and_then(|known| known.database.clone()));
    if is_nested {
        object.insert("nested".to_owned(), true.into());
    }
    measures(&mut object, sum);
    object.into()
}

/// What our own statements cost.
pub fn own_cost(all: &Sums) -> String {
    let [covered, own] = [all.covered_us, all.own_us()].map(|us| format::seconds(us as f64 / 1e6));
    format!("Reading took {own} of the server's time in {covered}; these statements are left out.")
}

/// What costs most over the whole time, and how much of it is known.
pub fn headline(all: &Sums, texts: &Texts) -> String {
    if all.best_metric() == BY_SAMPLES {
        return headline_of_samples(all, texts);
    }
    let top = all.ranked().into_iter().find(|((_, is_nested), sum)| !is_nested && sum.elapsed_us() > 0);
    let Some(((item, _), sum)) = top else {
        let said = if all.covered_us == 0 && all.by_query.is_empty() && all.rest.is_none() {
            "Nothing is known of this time: no slot of it is kept that was read to its end."
        } else if all.rest.is_some() {
            "None of the statements that are listed ended while the server was watched."
        } else if all.unknown.is_empty() && all.covered_us > 0 {
            "No statement ended while the server was watched."
        } else {
            "No statement was seen to end while the server was watched, and not all could be read."
        };
        return said.to_owned();
    };
    let of = if all.explained.is_some() { "the database time" } else { "the time of all statements" };
    let name = name(item, texts, SHORT_TEXT);
    format!("'{name}' costs most: {} of {of}{}.", percent(all.share_percent(sum.elapsed_us())), ran(&sum))
}

/// The same where what statements count of themselves explains little: what sessions were seen to do, commits included.
fn headline_of_samples(all: &Sums, texts: &Texts) -> String {
    let top = all.ranked_by(BY_SAMPLES).into_iter().find(|((_, is_nested), _)| !is_nested);
    let seen = limits::seen_us(all);
    let Some(((item, _), sum)) = top else { return "Sessions were seen at work on no known statement.".to_owned() };
    let share = percent(sum.values.get(Measure::SampledUs).map(|us| 100.0 * us as f64 / seen as f64));
    let waits = limits::most_of(all, item).map_or_else(String::new, |(wait, part)| {
        let wait = wait.replace(": ", ", ");
        format!(", {} of that in {wait}", percent(Some(part)))
    });
    let name = name(item, texts, SHORT_TEXT);
    format!("'{name}' costs most: sessions were at work on it {share} of their time{waits}{}.", ran(&sum))
}

/// How often it was executed, and for how long.
fn ran(sum: &Sum) -> String {
    let mean =
        mean_us(sum).map_or_else(String::new, |us| format!(" of {} on average", units::format_seconds(us / 1e6)));
    let executions = sum.values.get(Measure::Executions).filter(|count| *count > 0);
    executions.map_or_else(String::new, |count| match count {
        1 => format!(", in 1 execution{mean}"),
        _ => format!(", in {} executions{mean}", format::whole(count)),
    })
}

/// How long an execution took on average, in microseconds.
pub fn mean_us(sum: &Sum) -> Option<f64> {
    let executions = sum.values.get(Measure::Executions).filter(|count| *count > 0)?;
    Some(sum.values.get(Measure::ElapsedUs)? as f64 / executions as f64)
}

/// The summary of the whole time, with what is new in it.
pub fn summary(target: &str, all: &Sums, texts: &Texts, top: usize, counts: Counts, news: &News) -> Report {
    let mut report = Report::new(format!("The workload of {target}"));
    let mut answer = answer(all, texts, &slots(counts.slots), [news.sentence.clone()]);
    if counts.missed > 0 {
        let times = if counts.missed == 1 { "once".to_owned() } else { format!("{} times", counts.missed) };
        let end = if counts.is_lost { " What happened after the last reading is not known." } else { "" };
        answer.say(Tone::Warning, format!("The server could not be read {times}.{end}"));
    }
    // Who counts for itself asks no server.
    answer.say(Tone::Quiet, (all.own_us() > 0).then(|| own_cost(all)));
    let mut table = Part::of(Rank::Table);
    table.table(
        if all.best_metric() == BY_SAMPLES {
            "Statements, by what sessions were seen at work on"
        } else {
            "Statements by time"
        },
        statements(all, texts, top, news),
    );
    let mut details = Part::of(Rank::Table);
    details.table("What sessions waited for", limits::waits(all, MOST_WAITS));
    details.table("Who held others up", limits::blockers(all, texts));
    report.add_all([answer, table, details]);
    report
}

/// What costs most, how much of the truth is known, what else is to say, and what may be missing; `of` is what the time is made of.
pub fn answer(all: &Sums, texts: &Texts, of: &str, also: impl IntoIterator<Item = Option<String>>) -> Part {
    let mut answer = Part::of(Rank::Answer);
    answer.say(Tone::Headline, headline(all, texts));
    let captured = all.coverage_percent().map(|share| {
        let share = percent(Some(share));
        let rest = match all.best_metric() {
            _ if share == ALL => "",
            BY_SAMPLES => " The rest is commits, parsing, planning and clients, which samples show.",
            _ => " docs/WATCH.md says what the rest can be.",
        };
        format!("What statements count of themselves explains {share} of the database time.{rest}")
    });
    answer.say(Tone::Plain, captured);
    let active = all.active_sessions().map(|active| {
        let seconds = units::format_seconds(all.covered_us as f64 / 1e6);
        format!("On average {active:.2} sessions were active, over {seconds} in {of}.")
    });
    answer.say(Tone::Plain, active);
    limits::say(&mut answer, all, texts);
    also.into_iter().for_each(|sentence| answer.say(Tone::Plain, sentence));
    if !all.unknown.is_empty() {
        let unknown: Vec<&str> = all.unknown.iter().copied().collect();
        answer.say(Tone::Warning, format!("Some work may be missing: {}.", unknown.join(", ")));
    }
    answer
}

/// `1 slot`, `2 slots`.
pub fn slots(count: u64) -> String {
    if count == 1 { "1 slot".to_owned() } else { format!("{count} slots") }
}

/// The share of the time of sessions that were seen at work in which they were at work on this statement, in percent; `None` where nobody
/// sees which statements they are at work on.
pub fn seen_percent(all: &Sums, sum: &Sum) -> Option<f64> {
    let is_named = all.waits.is_empty() || all.waits.keys().any(|(item, _)| item.is_some());
    let seen_us = if is_named { limits::seen_us(all) } else { 0 };
    let us = sum.values.get(Measure::SampledUs).filter(|_| seen_us > 0)?;
    Some(100.0 * us as f64 / seen_us as f64)
}

fn statements(all: &Sums, texts: &Texts, top: usize, news: &News) -> Option<Table> {
    let ranked = all.ranked_by(all.best_metric());
    let seconds = |us: f64| Cell::quantity(us / 1e6, "s");
    let elapsed = |sum: &Sum| sum.values.get(Measure::ElapsedUs);
    let status = |(item, is_nested): &Key, sum: &Sum| {
        names::status(sum.status, *is_nested, !is_nested && news.since(*item).is_some())
    };
    Table::of(
        ranked.into_iter().take(top),
        &[
            (text("Statement"), &|((item, _), _)| name(*item, texts, SHORT_TEXT - 15).into()),
            (number("Seen", "%"), &|(_, sum)| seen_percent(all, sum).into()),
            (number("Share", "%"), &|(_, sum)| elapsed(sum).and_then(|us| all.share_percent(us)).into()),
            (number("Calls", ""), &|(_, sum)| sum.values.get(Measure::Executions).into()),
            (scaled("Total", "s"), &|(_, sum)| elapsed(sum).map_or_else(Cell::default, |us| seconds(us as f64))),
            (scaled("Mean", "s"), &|(_, sum)| mean_us(sum).map_or_else(Cell::default, seconds)),
            (number("Rows", "").spare(1), &|(_, sum)| sum.values.get(Measure::Rows).into()),
            (number("Page reads", "").spare(2), &|(_, sum)| sum.values.get(Measure::PhysicalReadPages).into()),
            (text("Status"), &|(key, sum)| status(key, sum).into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::QueryText;
    use plimsoll_measurement::counters::{Item, Values};
    use plimsoll_profile::Status;

    #[test]
    fn the_answer_comes_first_and_says_what_it_is_of() {
        let mut all = Sums { covered_us: 10_000_000, ..Sums::default() };
        assert_eq!(headline(&all, &Texts::new()), "No statement ended while the server was watched.");
        let values = Values::of([(Measure::Executions, 4), (Measure::ElapsedUs, 2_000_000)]);
        all.by_query.insert((Item(7), false), Sum { values, status: Status::EXACT });
        all.by_query.insert((Item(8), true), Sum { values, status: Status::EXACT });
        all.explained = Some((2_000_000, 4_000_000));
        let text = QueryText { item: Item(7), database: None, text: Some("SELECT $1".to_owned()), object: None };
        let texts = Texts::from([(Item(7), text)]);
        let said = headline(&all, &texts);
        assert!(said.starts_with("'SELECT $1' costs most: 50.0 % of the database time, in 4 executions of "), "{said}");
        let table = statements(&all, &texts, 10, &News::default()).unwrap();
        assert_eq!(table.rows.len(), 2);
    }
}
