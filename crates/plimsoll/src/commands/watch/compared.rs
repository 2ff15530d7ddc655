//! `plimsoll watch compare`: what changed from one range of time to another, and why.

use std::collections::BTreeMap;

use plimsoll_measurement::counters::Item;
use plimsoll_measurement::exit;
use plimsoll_profile::Status;
use plimsoll_profile::bucket::{Bucket, Key, Other, Sum};
use plimsoll_profile::compare::{Change, Comparison, Kind, Range as Side, compare as hold};
use plimsoll_report::model::{Cell, Part, Rank, Report, Table, Tone, format, number, scaled, text};
use plimsoll_report::terminal;
use serde_json::{Map, Value, json};

use super::filters::Filters;
use super::metrics::{BY_COMPLETION, BY_SAMPLES, Metric};
use super::names::{self, SHORT_TEXT, put};
use super::plans::{self, Changed, Plans};
use super::ranges::{self, shown};
use super::reopened::Reopened;
use super::shown::metric;
use super::stored::Kept;
use super::sums::Sums;
use crate::args::{CompareBy, WatchCompare};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Two counts of looks differ by more than chance from so many standard deviations on.
const CHANCE_DEVIATIONS: f64 = 3.0;

/// A part of the coverage of a range, in points, that may make a change of its own.
const SAME_COVERAGE_POINTS: f64 = 5.0;

pub fn compare(options: &WatchCompare, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let wanted = options.sort.as_deref().map(metric).transpose()?;
    let filters = Filters::parse("--where", &options.filters)?;
    let kept = Kept::open(options.target.as_deref(), &options.source, settings, printer)?;
    let before = kept.range(&options.before)?;
    let after = match &options.after {
        Some(text) => kept.range(text)?,
        None => ranges::checked(before.end..kept.whole.end, "what is kept after the first range")?,
    };
    let named = match options.by {
        // Tables that are made anew make other statements of the same text.
        CompareBy::Text => names::same_text(&kept.texts),
        CompareBy::Query => BTreeMap::new(),
    };
    let of = |range: &std::ops::Range<i64>| -> Result<(Sums, Plans), Failure> {
        let (sums, plans) = kept.sums(range, |item| filters.takes(item, &kept.texts))?;
        if sums.covered_us > 0 {
            return Ok((sums.as_one(&named), plans));
        }
        let message = format!("nothing is known of {} to {}", shown(range.start), shown(range.end));
        Err(Failure::usage(message).hint("'plimsoll watch list' says from when to when servers were watched"))
    };
    let ((old, old_plans), (new, new_plans)) = (of(&before)?, of(&after)?);
    let plans = old_plans.changes_to(&new_plans, &named, &new);
    // Both are ranked by what says enough of both.
    let best = [old.best_metric(), new.best_metric()];
    let metric = wanted.unwrap_or(if best[0] == best[1] { best[0] } else { BY_COMPLETION });
    let sides = [(&old, &before), (&new, &after)].map(|(sums, range)| bucket(sums, range, filters.is_empty()));
    let spans = [(&old, &before), (&new, &after)].map(|(sums, range)| names::span(sums, range));
    let asked = [&before, &after].map(|range| format!("{} to {}", shown(range.start), shown(range.end)));
    let comparison = hold(&sides[..1], &sides[1..], metric.measure);
    let compared =
        Compared { kept: &kept, comparison: &comparison, metric, top: options.top.into(), spans, asked, plans };
    if options.json {
        printer.json(&compared.json().to_string());
    } else {
        printer.result(&terminal::report(&compared.report(), printer.style));
    }
    Ok(exit::DONE)
}

/// A range as one bucket.
fn bucket(sums: &Sums, range: &std::ops::Range<i64>, is_whole: bool) -> Bucket {
    let sum = |sum: &super::sums::Sum| Sum { values: sum.values, status: sum.status, longest_us: None };
    Bucket {
        start_us: range.start,
        length_us: range.end.abs_diff(range.start),
        covered_us: sums.covered_us,
        status: sums.status,
        explained_us: sums.explained.map(|(explained, _)| explained),
        total_us: sums.explained.map(|(_, total)| total),
        sums: sums
            .by_query
            .iter()
            .map(|((item, is_nested), one)| (Key { is_nested: *is_nested, item: *item, plan: None }, sum(one)))
            .collect(),
        other: sums.rest.filter(|_| is_whole).map(|(count, rest)| Other { sums: count, sum: sum(&rest) }),
        other_nested: None,
    }
}

struct Compared<'c> {
    kept: &'c Kept,
    comparison: &'c Comparison,
    metric: Metric,
    top: usize,
    spans: [String; 2],
    /// What was asked for.
    asked: [String; 2],
    /// Statements of another plan, which not every server tells.
    plans: Vec<Changed>,
}

/// What a change is made of, in a word.
fn kind(change: &Change) -> &'static str {
    match change.kind {
        Kind::New => "new",
        Kind::Gone => "gone",
        Kind::Both => match (change.called_more, change.slower) {
            (Some(called), Some(slower)) if called.abs() >= slower.abs() => {
                if called > 0.0 {
                    "called more"
                } else {
                    "called less"
                }
            }
            (Some(_), Some(slower)) => {
                if slower > 0.0 {
                    "costs more"
                } else {
                    "costs less"
                }
            }
            _ => "both",
        },
    }
}

impl Compared<'_> {
    fn name(&self, item: Item, most: usize) -> String {
        names::name(item, &self.kept.texts, most)
    }

    /// A figure of a second: time is sessions that were active on average.
    fn rate(&self, value: f64) -> f64 {
        if self.metric.is_time() { value / 1e6 } else { value }
    }

    fn amount(&self, value: f64) -> String {
        let number = format::number(self.rate(value).abs()).unwrap_or_default();
        if self.metric.is_time() {
            format!("{number} active sessions")
        } else {
            format!("{number} {} a second", self.metric.label.to_lowercase())
        }
    }

    fn headline(&self) -> String {
        let (before, after) = (self.comparison.before.per_second, self.comparison.after.per_second);
        let all = match before.zip(after) {
            Some((before, after)) => {
                let from_to = [before, after].map(|value| format::number(self.rate(value)).unwrap_or_default());
                let unit = if self.metric.is_time() {
                    "active sessions".to_owned()
                } else {
                    format!("{} a second", self.metric.label.to_lowercase())
                };
                format!("All statements went from {} to {} {unit}.", from_to[0], from_to[1])
            }
            None => "What all statements did is not known for both ranges.".to_owned(),
        };
        let clients = self.comparison.changes.iter().find(|change| !change.is_nested);
        let most = clients.and_then(|change| Some((change, change.difference().filter(|by| *by != 0.0)?)));
        let Some((change, by)) = most else { return format!("{all} No statement changed.") };
        let direction = if by > 0.0 { "more" } else { "less" };
        let name = self.name(change.item, SHORT_TEXT);
        let chance =
            if self.may_be_chance(change) { "; so few looks at sessions may differ by chance as much" } else { "" };
        format!("{all} The largest change is '{name}': {} {direction} ({}{chance}).", self.amount(by), why(change))
    }

    /// Whether a change is one of looks at sessions, of which so many find a statement at work by chance: their number varies by its root.
    fn may_be_chance(&self, change: &Change) -> bool {
        let Comparison { before, after, .. } = self.comparison;
        let sides = [(change.before, before), (change.after, after)].map(|(value, side)| {
            let seconds = side.covered_us as f64 / 1e6;
            (self.rate(value.unwrap_or(0.0)), seconds.max(f64::MIN_POSITIVE))
        });
        let [(one, of_one), (other, of_other)] = sides;
        let deviation = (one / of_one + other / of_other).sqrt();
        self.metric == BY_SAMPLES && (one - other).abs() < CHANCE_DEVIATIONS * deviation
    }

    fn report(&self) -> Report {
        let Comparison { before, after, changes, .. } = self.comparison;
        let mut report = Report::new(format!("What changed at {}", self.kept.watched.target));
        report
            .about
            .extend(["before: ", "after: "].iter().zip(&self.spans).map(|(side, span)| format!("{side}{span}")));
        let mut answer = Part::of(Rank::Answer);
        answer.say(Tone::Headline, self.headline());
        let coverage = |side: &Side| side.coverage_percent.and_then(format::percent).unwrap_or_else(|| "?".to_owned());
        answer.say(
            Tone::Plain,
            format!("Known: {} of the database time before, {} after.", coverage(before), coverage(after)),
        );
        let [asked_before, asked_after] = &self.asked;
        let whole = format!(
            "Slots count whole, in the range in which they begin: asked for was {asked_before}, and {asked_after}."
        );
        answer.say(Tone::Quiet, (self.spans != self.asked).then_some(whole));
        answer.say(Tone::Plain, plans::sentence(&self.plans, &self.kept.texts));
        answer.say(Tone::Quiet, self.kept.is_reopened().then(Reopened::absent_in_words));
        let apart = before.coverage_percent.zip(after.coverage_percent).map(|(one, other)| (one - other).abs());
        if apart.is_some_and(|apart| apart > SAME_COVERAGE_POINTS) {
            let text = "The two ranges are not known to the same part, so that a change may be one of what is known.";
            answer.say(Tone::Warning, text.to_owned());
        }
        let doubtful = Status::GAP | Status::LOWER_BOUND | Status::PARTIAL;
        for (side, name) in [(before, "before"), (after, "after")] {
            if side.status.bits() & doubtful.bits() != 0 {
                answer.say(Tone::Warning, format!("The range {name} is {}.", side.status));
            }
        }
        let unlisted = before.unlisted + after.unlisted;
        if unlisted > 0 {
            let text = format!("{unlisted} sums are not listed: what seems new or gone may be among them.");
            answer.say(Tone::Warning, text);
        }
        let mut table = Part::of(Rank::Table);
        table.table("Changes", self.table(changes));
        table.table("Plans that changed", plans::table(&self.plans, &self.kept.texts, self.top));
        report.add_all([answer, table]);
        report
    }

    fn table(&self, changes: &[Change]) -> Option<Table> {
        let rate = |value: Option<f64>| value.map(|value| Cell::from(self.rate(value)));
        let per_call = |value: Option<f64>, executions: Option<f64>| {
            let mean = value? / executions.filter(|count| *count > 0.0)?;
            Some(if self.metric.is_time() { Cell::quantity(mean / 1e6, "s") } else { Cell::from(mean) })
        };
        let mean = |label: &str| if self.metric.is_time() { scaled(label, "s") } else { number(label, "") };
        let unit = if self.metric.is_time() { "sessions" } else { "/s" };
        Table::of(
            changes.iter().filter(|change| change.difference() != Some(0.0)).take(self.top),
            &[
                (text("Statement"), &|change: &&Change| self.name(change.item, SHORT_TEXT - 20).into()),
                (number("Before", unit), &|change| rate(change.before).into()),
                (number("After", unit), &|change| rate(change.after).into()),
                (number("Called more", unit).signed().spare(1), &|change| rate(change.called_more).into()),
                (number("Slower", unit).signed().spare(1), &|change| rate(change.slower).into()),
                (mean("Each before").spare(2), &|change| per_call(change.before, change.executions.0).into()),
                (mean("Each after").spare(2), &|change| per_call(change.after, change.executions.1).into()),
                (text("Why"), &|change| kind(change).into()),
                (text("Status").spare(3), &|change| names::status(change.status, change.is_nested, false).into()),
            ],
        )
    }

    fn json(&self) -> Value {
        let Comparison { before, after, changes, .. } = self.comparison;
        let side = |side: &Side, span: &str| {
            let (from, to) = span.split_once(" to ").unwrap_or_default();
            let mut object = Map::new();
            object.insert("from".to_owned(), from.into());
            object.insert("to".to_owned(), to.into());
            object.insert("seconds".to_owned(), (side.covered_us as f64 / 1e6).into());
            put(&mut object, "coverage_percent", side.coverage_percent);
            put(&mut object, "per_second", side.per_second);
            object.insert("status".to_owned(), side.status.to_string().into());
            object.insert("unlisted".to_owned(), side.unlisted.into());
            Value::from(object)
        };
        let change = |change: &Change| {
            let mut object = Map::new();
            let known = self.kept.texts.get(&change.item);
            object.insert("id".to_owned(), names::id(change.item).into());
            put(&mut object, "text", known.and_then(|text| text.text.clone()));
            put(&mut object, "database", known.and_then(|text| text.database.clone()));
            if change.is_nested {
                object.insert("nested".to_owned(), true.into());
            }
            object.insert("kind".to_owned(), serde_json::to_value(change.kind).unwrap_or_default());
            put(&mut object, "before_per_second", change.before);
            put(&mut object, "after_per_second", change.after);
            put(&mut object, "executions_before_per_second", change.executions.0);
            put(&mut object, "executions_after_per_second", change.executions.1);
            put(&mut object, "called_more_per_second", change.called_more);
            put(&mut object, "slower_per_second", change.slower);
            let plan = self.plans.iter().find(|plan| plan.item == change.item && !change.is_nested);
            put(&mut object, "plan_change", plan.map(|plan| plan.json(&self.kept.texts)));
            object.insert("status".to_owned(), change.status.to_string().into());
            Value::from(object)
        };
        json!({
            "target": self.kept.watched.target,
            "metric": self.metric.name,
            "before": side(before, &self.spans[0]),
            "after": side(after, &self.spans[1]),
            "changes": changes.iter().take(self.top).map(change).collect::<Vec<_>>(),
        })
    }
}

/// Why it changed, in words.
fn why(change: &Change) -> String {
    let executions = |rate: f64| format::number(rate).unwrap_or_default();
    match (change.kind, change.executions) {
        (Kind::New, _) => "it is new".to_owned(),
        (Kind::Gone, _) => "it is gone".to_owned(),
        (Kind::Both, (Some(before), Some(after))) if kind(change).starts_with("called") => {
            format!("{}: {} times a second, before {}", kind(change), executions(after), executions(before))
        }
        (Kind::Both, _) => format!("each execution {}", kind(change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_measurement::counters::{Measure, Values};

    #[test]
    fn the_larger_part_of_a_change_names_it() {
        let change = |called_more, slower| Change {
            item: Item(1),
            is_nested: false,
            kind: Kind::Both,
            before: Some(1.0),
            after: Some(2.0),
            executions: (Some(1.0), Some(2.0)),
            called_more: Some(called_more),
            slower: Some(slower),
            new_plans: Vec::new(),
            status: Status::EXACT,
        };
        assert_eq!(kind(&change(1.0, 0.2)), "called more");
        assert_eq!((kind(&change(-0.1, 0.2)), kind(&change(0.1, -0.2))), ("costs more", "costs less"));
        assert_eq!(why(&change(1.0, 0.0)), "called more: 2.00 times a second, before 1.00");
        assert_eq!(why(&Change { kind: Kind::New, ..change(1.0, 0.0) }), "it is new");
    }

    #[test]
    fn a_range_keeps_what_is_not_listed() {
        let sum = super::super::sums::Sum { values: Values::of([(Measure::Rows, 3)]), status: Status::EXACT };
        let sums = Sums { rest: Some((2, sum)), covered_us: 5, ..Sums::default() };
        assert_eq!(bucket(&sums, &(0..10), true).other.map(|other| other.sums), Some(2));
        assert_eq!(bucket(&sums, &(0..10), false).other, None);
    }
}
