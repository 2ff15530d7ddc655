//! A self-test: what works, what does not and what to do about it, and all that was sent.

use plimsoll_measurement::{Check, CheckKind, CheckResult, SelfTestRecord, units};

use crate::model::format::{capital, count, minute, plain};
use crate::model::{Cell, Column, Part, Rank, Report, Table, Tone, number, text};

/// What a reader can do about answers that nobody expected.
const SEND: &str =
    "Please send us the file that --report FILE writes, so that we can mend what is ours: it has no names of yours.";

/// The report of it, as its owner sees it.
pub fn report(record: &SelfTestRecord) -> Report {
    built(record, None)
}

/// The report of a record without names, for others.
pub fn report_for_others(record: &SelfTestRecord) -> Report {
    built(record, Some("Names, values and secrets of the server's owner are left out: <name> stands for each name."))
}

fn built(record: &SelfTestRecord, remark: Option<&str>) -> Report {
    let mut report = Report::new(format!("Self-test of {} {}", record.engine, plain(&record.engine_version)));
    let seconds = units::format_seconds(record.seconds);
    let edition = record.edition.as_ref().map(|edition| format!("statements of {edition}"));
    let product = record.product.as_ref().map(|product| plain(product));
    let whole = [Some(record.build.clone()), product, edition, Some(minute(&record.started_at)), Some(seconds)];
    report.about = vec![whole.into_iter().flatten().collect::<Vec<_>>().join(", ")];
    let [mut answer, mut findings] = [Part::of(Rank::Answer), Part::of(Rank::Table)];
    let on = format!("on {} {}", record.engine, plain(&record.engine_version));
    let statements = share(record, CheckKind::Statement, "statement", &on);
    let operations = share(record, CheckKind::Operation, "operation", "in a workspace");
    let others = statements.as_ref().and(operations.clone());
    answer.say(Tone::Headline, statements.or(operations).unwrap_or_else(|| format!("Nothing was tried {on}.")));
    answer.say(Tone::Plain, others);
    answer.say(Tone::Warning, record.stopped.map(|why| format!("The self-test ended early: {why}.")));
    answer.say(Tone::Quiet, not_allowed(record));
    answer.say(Tone::Quiet, remark.map(str::to_owned));
    for warning in &record.warnings {
        answer.say(Tone::Warning, capital(warning));
    }
    let to_do = record.checks.iter().filter(|check| check.result.is_finding());
    findings.table(
        "",
        Table::of(
            to_do,
            &[
                (text("What"), &|check| named(check)),
                (text("Result"), &|check| result(check)),
                (text("Found"), &|check| found(check).into()),
                (text("What to do"), &|check| to_do_about(check).into()),
            ],
        ),
    );
    let is_ours = |check: &Check| check.result.is_finding() && to_do_about(check).is_none();
    findings.say(Tone::Quiet, (remark.is_none() && record.checks.iter().any(is_ours)).then(|| SEND.to_owned()));
    report.add_all([answer, findings]);
    for (kind, title) in
        [(CheckKind::Statement, "All statements"), (CheckKind::Operation, "All operations in a workspace")]
    {
        let mut all = Part::detail(title);
        all.table("", table(record.of(kind)));
        report.add_all([all]);
    }
    report
}

/// How many of those of a kind that were tried worked, where that was, and what the others did.
fn share(record: &SelfTestRecord, kind: CheckKind, noun: &str, place: &str) -> Option<String> {
    let of = |result| record.of(kind).filter(|check| check.result == result).count();
    let others = [
        (CheckResult::NeedsRight, "needs a right", "need a right"),
        (CheckResult::OtherShape, "answers with other columns", "answer with other columns"),
        (CheckResult::WrongResult, "comes to a wrong result", "come to a wrong result"),
        (CheckResult::Refused, "is refused", "are refused"),
        (CheckResult::TimedOut, "has no answer in time", "have no answer in time"),
    ];
    let others = others.into_iter().map(|(result, one, many)| (of(result), one, many));
    let others = others.filter(|(number, ..)| *number > 0);
    let others = others.map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }));
    match (of(CheckResult::Worked), record.of(kind).filter(|check| check.result.was_tried()).count()) {
        (_, 0) => None,
        (1, 1) => Some(format!("The only {noun} that was tried {place} works.")),
        (worked, tried) if worked == tried => Some(format!("All {} {place} work.", count(tried, noun))),
        (worked, tried) => {
            let all = [format!("{worked} of {} {place} work", count(tried, noun))].into_iter().chain(others);
            Some(format!("{}.", all.collect::<Vec<_>>().join("; ")))
        }
    }
}

/// What came of it, in words.
fn result(check: &Check) -> Cell {
    match (check.result, check.kind) {
        (CheckResult::NotInEdition, CheckKind::Operation) => "not here".into(),
        (result, _) => result.words().into(),
    }
}

/// What a missing consent left out.
fn not_allowed(record: &SelfTestRecord) -> Option<String> {
    (!record.workspace_allowed).then(|| {
        "Statements and operations that need a workspace were not tried: --allow-workspace allows one, and it is removed afterwards.".to_owned()
    })
}

/// Its name; with the editions where it has one text for each.
fn named(check: &Check) -> Cell {
    plain(&check.name).into()
}

/// What the server said or answered.
fn found(check: &Check) -> Option<String> {
    if check.result == CheckResult::OtherShape {
        return Some(plain(&other_columns(&check.documented, &check.seen)));
    }
    let place = check.at.map(|at| format!(" at {at}")).unwrap_or_default();
    let code = check.code.as_ref().map(|code| format!("error {code}{place}"));
    // A sentence of an error may end with its number.
    let number = check.code.as_ref().map(|code| format!(" (error {code}"));
    let detail = check.detail.as_deref();
    let detail = detail
        .map(|detail| number.as_deref().and_then(|number| detail.split_once(number)).map_or(detail, |(text, _)| text));
    let said: Vec<&str> = code.as_deref().into_iter().chain(detail).collect();
    (!said.is_empty()).then(|| plain(&said.join(": ")))
}

/// The first columns that differ, as `reads int, not bigint`.
fn other_columns(documented: &[String], seen: &[String]) -> String {
    const SHOWN: usize = 3;
    let longest = documented.len().max(seen.len());
    let differing = (0..longest).filter_map(|at| match (documented.get(at), seen.get(at)) {
        (Some(documented), Some(seen)) if is_same_kind(documented, seen) => None,
        (Some(documented), Some(seen)) => Some(format!("{seen}, not {documented}")),
        (Some(documented), None) => Some(format!("no {documented}")),
        (None, seen) => Some(format!("also {}", seen?)),
    });
    let differing: Vec<String> = differing.collect();
    let more = differing.len().saturating_sub(SHOWN);
    let more = (more > 0).then(|| format!("{more} more"));
    differing.into_iter().take(SHOWN).chain(more).collect::<Vec<_>>().join("; ")
}

/// True for columns of one type, whatever their names and lengths are.
fn is_same_kind(documented: &str, seen: &str) -> bool {
    let kind = |column: &str| {
        let kind = column.rsplit_once(' ').map_or(column, |(_, kind)| kind);
        kind.split('(').next().unwrap_or_default().to_ascii_lowercase()
    };
    kind(documented) == kind(seen)
}

/// What the user can do; `None` where it is for us to look at.
fn to_do_about(check: &Check) -> Option<String> {
    let hint = check.hint.as_deref().map(plain);
    match (check.result, &check.permission) {
        (CheckResult::NeedsRight, Some(right)) => Some(format!("the user needs {right}")),
        (CheckResult::NeedsRight, None) => {
            Some(hint.unwrap_or_else(|| "'plimsoll doctor URL' says what gives the right".to_owned()))
        }
        (CheckResult::TimedOut, _) => Some("try again when the server has less to do".to_owned()),
        (CheckResult::Refused, _) => hint,
        _ => None,
    }
}

/// A row for each, with all that is known.
fn table<'a>(checks: impl Iterator<Item = &'a Check>) -> Option<Table> {
    let listed = |list: &[String]| Cell::from((!list.is_empty()).then(|| plain(&list.join(", "))));
    let column = |label: &str| -> Column { text(label) };
    Table::of(
        checks,
        &[
            (column("Name"), &|check| named(check)),
            (column("Result"), &|check| result(check)),
            (column("Found"), &|check| found(check).into()),
            (column("Purpose"), &|check| plain(&check.purpose).into()),
            (column("Editions"), &|check| listed(&check.editions)),
            (column("Right"), &|check| check.permission.as_deref().map(plain).into()),
            (column("Columns documented"), &|check| listed(&check.documented)),
            (column("Columns seen"), &|check| listed(&check.seen)),
            (column("Only NULL"), &|check| listed(&check.only_null)),
            (number("Rows", ""), &|check| check.rows.into()),
            (number("Time", "ms"), &|check| check.ms.into()),
            (column("Source"), &|check| check.source.as_deref().map(plain).into()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{markdown, terminal};

    fn record() -> SelfTestRecord {
        let statement = |name: &str, result| Check { name: name.to_owned(), result, ..Check::default() };
        let refused = Check {
            code: Some("208".to_owned()),
            at: Some(3),
            detail: Some("Invalid object name '<name>'".to_owned()),
            ..statement("waits", CheckResult::Refused)
        };
        let other = Check {
            documented: vec!["n bigint".to_owned()],
            seen: vec!["n int".to_owned(), "m int".to_owned()],
            ..statement("files", CheckResult::OtherShape)
        };
        let right =
            Check { permission: Some("VIEW SERVER STATE".to_owned()), ..statement("plans", CheckResult::NeedsRight) };
        let scan = Check { kind: CheckKind::Operation, ms: Some(1.5), ..statement("scan", CheckResult::Worked) };
        SelfTestRecord {
            build: "plimsoll 1".to_owned(),
            started_at: "2026-01-02T03:04:05Z".to_owned(),
            engine: "sqlserver".to_owned(),
            engine_version: "16.0".to_owned(),
            seconds: 12.0,
            workspace_allowed: true,
            checks: vec![
                statement("identity", CheckResult::Worked),
                refused,
                other,
                right,
                statement("new", CheckResult::NotInEdition),
                statement("kill", CheckResult::NotSent),
                scan,
            ],
            ..SelfTestRecord::default()
        }
    }

    #[test]
    fn the_answer_counts_and_the_table_has_only_what_is_to_be_done() {
        let style = terminal::Style { color: false, width: 130, full: false };
        insta::assert_snapshot!(terminal::report(&report(&record()), style));
        let all_well =
            SelfTestRecord { checks: record().checks.drain(..1).collect(), workspace_allowed: false, ..record() };
        insta::assert_snapshot!(terminal::report(&report(&all_well), style));
    }

    #[test]
    fn a_file_has_all_of_it() {
        insta::assert_snapshot!(markdown::document(&report_for_others(&record())));
    }
}
