//! The report of one run of any subject: what was delivered, what bound it, how steady it was, under which conditions.

use plimsoll_measurement::run::NOT_AVAILABLE;
use plimsoll_measurement::{Basis, RunRecord, Subject};

use super::steadiness::{self, Steadiness, steadiness};
use super::{
    bought, cells, cpu, evidence, facts, falls, log_waits, moved, plots, plots_more, plots_phases, plots_requests,
    plots_samples, requests, waited, words,
};
use crate::model::format::{count, marked_basis, moment, percent, plain, value as shown};
use crate::model::{Block, Part, Rank, Report, Tone};

/// More warnings than this stand among the details.
const MOST_WARNINGS: usize = 4;

/// More sentences of evidence than this stand among the details.
const MOST_EVIDENCE: usize = 3;

/// The report of a run.
pub fn run(record: &RunRecord) -> Report {
    let version = record.engine_version.as_deref().map(|version| format!(" {}", plain(version))).unwrap_or_default();
    let mut report = Report {
        run_id: Some(plain(&record.run_id)),
        about: vec![
            format!("{}  {}", plain(&record.run_id), moment(&record.started_at)),
            format!("{}{version}, {}, {}", plain(&record.engine), time(record), words::state(record)),
        ],
        basis: record.basis,
        ..Report::new(format!("{} on {}", plain(&record.test), words::target(record)))
    };
    let steady = steadiness(record);
    let mut more = Part::detail("More warnings");
    report.add_all([answer(record, &steady, &mut more)]);
    let (mut delivered, mut bound, mut even) = (delivered(record), bound(record), even(record, &steady));
    let of_picture = |block: &Block| matches!(block, Block::Picture(_));
    let of_table = |block: &Block| matches!(block, Block::Table(_));
    report.add_all([Part::promoted(Rank::Picture, [&mut delivered, &mut bound, &mut even], of_picture)]);
    // What was predicted has no course worth a table: what it would gain is asked for.
    let table = if record.basis == Basis::Predicted {
        Part::promoted(Rank::Table, [&mut bound, &mut delivered, &mut even], of_table)
    } else {
        Part::promoted(Rank::Table, [&mut delivered, &mut even, &mut bound], of_table)
    };
    report.add_all([table]);
    report.add_all([delivered, bound, even, conditions(record), more]);
    report
}

/// How long a run took; what was predicted took no time of a server.
fn time(record: &RunRecord) -> String {
    if record.basis == Basis::Predicted { "predicted".to_owned() } else { words::time(record) }
}

/// The headline, what bound it and how long it took to get it.
pub fn in_a_line(record: &RunRecord) -> String {
    let headline = record.result.as_ref();
    let headline = headline.map_or_else(|| words::no_result(record), |figure| shown(&words::value(record, figure)));
    let limit = words::limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also);
    let limit = limit.map_or_else(String::new, |limit| format!(", bottleneck: {limit}"));
    format!("{headline}{limit}, {}{}", words::time(record), marked_basis(record.basis))
}

fn answer(record: &RunRecord, steady: &[Steadiness], more: &mut Part) -> Part {
    let mut part = Part::of(Rank::Answer);
    if let Some(error) = &record.error {
        part.say(Tone::Error, format!("The run ended with an error ({}): {}", plain(&error.kind), error.message));
        part.say(Tone::Plain, error.hint.as_ref().map(|hint| format!("What to do: {hint}")));
    }
    match &record.result {
        Some(figure) => {
            let sentence = cells::headline(record).unwrap_or_else(|| words::headline(record, figure));
            part.say(Tone::Headline, sentence);
            part.say(Tone::Plain, cells::bounds(record));
            part.say(Tone::Plain, cells::knee(record));
            // Where the knee of a sweep is belongs to its rate.
            let place = figure.note.as_deref().filter(|_| record.subject == Subject::Volume);
            let sentence = |note: &str| format!("It is {}.", note.trim_end_matches('.'));
            part.say(Tone::Plain, place.map(sentence));
            if record.subject == Subject::Volume {
                for sentence in steadiness::bursts(record, steady) {
                    part.say(Tone::Plain, sentence);
                }
            }
            part.say(Tone::Plain, requests::searched(record));
            part.say(Tone::Plain, log_waits::beside(record));
            part.say(Tone::Plain, log_waits::commits(record));
            part.say(Tone::Plain, bought::bought(record));
            for limit in bought::limits(record) {
                part.say(Tone::Evidence, limit);
            }
            let note = figure.note.as_deref().filter(|_| record.subject != Subject::Volume);
            part.say(Tone::Plain, note.map(|note| format!("{}.", note.trim_end_matches('.'))));
        }
        None => part.say(Tone::Headline, words::no_result(record)),
    }
    if record.ended_at.is_none() && record.result.is_some() {
        part.say(
            Tone::Warning,
            "The run has no end: it was killed, or goes on. The figures are those of its complete repetitions."
                .to_owned(),
        );
    }
    part.say(Tone::Plain, record.expected.as_ref().map(|expected| words::expected(record, expected)));
    let bottleneck = words::bottleneck(&record.verdict);
    let before = if record.error.is_some() { "Until the error: " } else { "" };
    part.say(Tone::Plain, bottleneck.map(|sentence| format!("{before}{sentence}")));
    let beside = waited::beside(record).map(|(what, percent)| {
        format!("Sessions spent {percent:.0} % of their time on waits for {what}: shorter ones may bring more.")
    });
    part.say(Tone::Plain, beside);
    for one in record.verdict.evidence.iter().take(MOST_EVIDENCE) {
        part.say(Tone::Evidence, one.clone());
    }
    // Of a model's run the evidence says what its limits bring.
    let is_modelled = matches!(record.basis, Basis::Predicted | Basis::Simulated);
    part.say(Tone::Plain, words::gain(&record.verdict).filter(|_| !is_modelled));
    // Whoever asks what brings more is told that nothing does.
    part.say(Tone::Plain, evidence::in_vain(record).filter(|_| is_in_vain(record)));
    let [open, folded] = warnings(record, steady);
    let (shown, rest) = open.split_at(open.len().min(MOST_WARNINGS));
    for text in shown {
        part.say(Tone::Warning, text.clone());
    }
    if !rest.is_empty() {
        let are = if rest.len() == 1 { "is" } else { "are" };
        let id = plain(&record.run_id);
        let number = count(rest.len(), "more warning");
        part.say(Tone::Warning, format!("There {are} {number} among the details: plimsoll show {id} --full."));
    }
    rest.iter().chain(&folded).for_each(|text| more.say(Tone::Warning, text.clone()));
    part
}

/// Whether a prediction has gains and none is worth a row, so that it has no table of them.
fn is_in_vain(record: &RunRecord) -> bool {
    record.basis == Basis::Predicted && !record.verdict.gains.iter().any(words::is_worth_a_row)
}

/// All warnings about a run, and those that change no figure.
pub fn warnings(record: &RunRecord, steady: &[Steadiness]) -> [Vec<String>; 2] {
    let (client, unsteady) = doubts(record, steady);
    // What makes a figure doubtful comes before what else happened in this run, and that before what the target never shows.
    let (always, happened): (Vec<&String>, Vec<&String>) =
        record.warnings.iter().partition(|text| text.contains(NOT_AVAILABLE));
    let texts = |texts: Vec<&String>| texts.into_iter().map(|text| plain(text)).collect::<Vec<_>>();
    let own = client.into_iter().chain(unsteady).chain(texts(happened)).chain(texts(always));
    let host = record.host.warnings.iter().map(|text| format!("client: {}", plain(text)));
    // In virtual time the client's machine changes no figure.
    if record.clock == "virtual" { [own.collect(), host.collect()] } else { [own.chain(host).collect(), Vec::new()] }
}

/// What makes figures doubtful beside the warnings that a record has: that the client held requests back, and what was not steady.
fn doubts(record: &RunRecord, steady: &[Steadiness]) -> (Option<String>, Vec<String>) {
    let client = words::client(record).filter(|(_, warns)| *warns).map(|(sentence, _)| sentence);
    let unsteady = steadiness::unsteady(steady).into_iter().map(|sentence| format!("{sentence}."));
    (client, unsteady.chain(falls::between_repetitions(record)).collect())
}

/// The record with all warnings that its report has.
pub fn with_warnings(record: &RunRecord) -> RunRecord {
    let (client, unsteady) = doubts(record, &steadiness(record));
    let mut record = record.clone();
    record.warnings.extend(client.into_iter().chain(unsteady));
    record
}

fn delivered(record: &RunRecord) -> Part {
    let mut part = Part::detail("What was delivered");
    if let Some(table) = cells::table(record) {
        // Each cell is a phase and a kind of its own: here are all of them.
        part.pictures(cells::chart(record));
        part.table("Cells", Some(table));
    } else {
        part.pictures(plots_phases::charts(record));
        part.table("Phases", requests::phases(record));
        part.table("Requests of all repetitions together", requests::mix(record));
    }
    part.say(Tone::Quiet, requests::exactness(record));
    part.table("Stages", moved::stages(record));
    part.pictures(plots_more::moves(record));
    part.table("Sizes", moved::sizes(record));
    if let Some(ladder) = &record.cpu_table {
        part.pictures([plots::ladder(ladder)]);
        part.table("CPU ladder", cpu::table(ladder));
        for sentence in cpu::anchors(ladder) {
            part.say(Tone::Quiet, sentence);
        }
        part.say(Tone::Quiet, cpu::HOW_TO_READ.to_owned());
    }
    part.pictures(plots::memory(record));
    part.table("Working sets", facts::memory(record));
    part.table("All figures, each averaged over the repetitions", facts::figures(record));
    part
}

fn bound(record: &RunRecord) -> Part {
    let mut part = Part::detail("What bound it");
    for one in record.verdict.evidence.iter().skip(MOST_EVIDENCE) {
        part.say(Tone::Evidence, one.clone());
    }
    part.say(Tone::Quiet, words::client(record).filter(|(_, warns)| !warns).map(|(sentence, _)| sentence));
    part.say(Tone::Quiet, record.expected.as_ref().and_then(words::computed));
    part.table(words::GAINS, evidence::gains(record));
    part.say(Tone::Quiet, evidence::in_vain(record).filter(|_| !is_in_vain(record)));
    part.table("Used of each ceiling", evidence::used(record));
    part.pictures(plots_samples::panels(record));
    part.pictures(plots_more::used_by_point(record));
    part.table("Time by bottleneck", evidence::time_by_limit(record));
    part.table("Segments", evidence::segments(record));
    // Sets of parameters are no repetitions that one compares.
    part.table("Waits", requests::waits(record).filter(|_| record.basis != Basis::Predicted));
    part.table("Files", requests::files(record).filter(|_| record.basis != Basis::Predicted));
    part.table("Files against limits of their own", requests::file_limits(record));
    part.table("Resources", facts::resources(record));
    part.pictures(plots_samples::rest(record));
    part.table("What was sampled, in numbers", evidence::columns(record));
    part
}

fn even(record: &RunRecord, steady: &[Steadiness]) -> Part {
    let mut part = Part::detail("How steady it was");
    for remark in steadiness::remarks(steady) {
        part.say(Tone::Plain, remark);
    }
    let cv = record.result.as_ref().and_then(|figure| figure.point_cv_percent).and_then(percent);
    part.say(Tone::Plain, cv.map(|cv| format!("The points vary by {cv} (coefficient of variation).")));
    for gap in evidence::without_data(record) {
        part.say(Tone::Plain, gap);
    }
    part.table("What happened meanwhile", evidence::marks(record));
    part.table("Repetitions", facts::repetitions(record));
    part.table("Steadiness", steadiness::table(steady));
    for chart in [plots_requests::rate, plots_requests::latency, plots_requests::errors] {
        part.pictures(chart(record));
    }
    for phase in plots::phases(record) {
        part.pictures(plots::rates(record, phase));
    }
    part.pictures(plots_more::minutes(record));
    part.pictures([plots_requests::distribution(record)]);
    part
}

fn conditions(record: &RunRecord) -> Part {
    let mut part = Part::detail("Under which conditions");
    part.table("Cold start", facts::cold_starts(record));
    part.table("Ceilings", evidence::ceilings(record));
    part.table("Not known", evidence::gaps(record));
    part.table("Parameters", facts::parameters(record));
    part.table("Environment", facts::environment(record));
    part.table("Origin", facts::origin(record));
    if !record.definition.text.is_empty() {
        part.blocks.push(Block::Text("Definition of the test".to_owned(), record.definition.text.clone()));
    }
    part
}

#[cfg(test)]
mod tests {
    use plimsoll_measurement::Metric;

    use super::super::cells::tests;
    use super::*;

    #[test]
    fn what_makes_the_figures_doubtful_is_among_the_warnings_that_are_shown() {
        let warnings = (0..MOST_WARNINGS).map(|number| format!("warning {number}")).collect();
        let mut record = RunRecord { warnings, ..tests::record(2) };
        for point in &mut record.repetitions[1].points {
            *point = point.clone().with(Metric::Iops, 100.0);
        }
        let mut more = Part::detail("More warnings");
        let shown = format!("{:?}", answer(&record, &[], &mut more));
        assert!(shown.contains("a burst may have ended, and the figures cover both"), "{shown}");
        assert!(shown.contains("warning 0") && format!("{more:?}").contains("warning 3"), "{shown}");
    }

    #[test]
    fn warnings_beyond_the_first_are_counted_and_say_where_they_are() {
        let said = |number: usize| {
            let warnings = (0..number).map(|number| format!("warning {number}")).collect();
            let record = RunRecord { run_id: "0123".to_owned(), warnings, ..RunRecord::default() };
            let part = answer(&record, &[], &mut Part::detail("More warnings"));
            format!("{part:?}")
        };
        assert!(
            said(6).contains("There are 2 more warnings among the details: plimsoll show 0123 --full."),
            "{}",
            said(6)
        );
        assert!(said(5).contains("There is 1 more warning among"));
        assert!(!said(4).contains("more warning"));
    }
}
