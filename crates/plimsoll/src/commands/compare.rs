//! `plimsoll compare`: runs against a first one, metric by metric, as ratios with an interval.

pub mod conditions;
mod doubts;
pub mod knees;
pub mod predictions;
pub mod rounds;

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_analysis::compare::{self, MOST_REPETITIONS, Terms, Verdict};
use plimsoll_bench::figures::of_run::CLIENT_WAS_THE_LIMIT;
use plimsoll_bench::figures::{Series, joins_at_common_rungs, series_of};
use plimsoll_measurement::{Basis, Figure, RunRecord, exit};
use plimsoll_report::steadiness::{self, steadiness};
use plimsoll_report::terminal::{self, Style};
use plimsoll_report::{Compared, Comparison, Differs};

use self::conditions::{Difference, Weight, differences, known};
use self::doubts::{needs_alike, neighbours};
use self::rounds::{Rounds, pooled};
use crate::args::{Compare, FailOn, MOST_REPETITIONS_OF_A_RUN};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Compares runs.
pub fn compare(options: &Compare, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let margin = parse_margin(&options.margin)?;
    let store = settings.read_store()?;
    let records = options.runs.iter().map(|id| store.record(id)).collect::<Result<Vec<_>, _>>()?;
    let rounds = Rounds::of(&store, &options.runs, &records)?;
    let (base, others) = records.split_first().ok_or_else(|| Failure::usage("nothing to compare"))?;
    if series_of(base).iter().all(|series| series.values.is_empty()) {
        let message = format!("run {} has no complete repetition to compare with", base.run_id);
        return Err(Failure::usage(message).code(exit::INCOMPLETE).hint("name another run first"));
    }
    let mut pairs = Vec::new();
    for other in others {
        if other.run_id == base.run_id {
            printer.warning(&format!("{} is compared with itself, so the result means nothing", short(&base.run_id)));
        }
        let pair = Pair::of(base, other, &rounds, margin);
        pair.check(options.anyway)?;
        pairs.push(pair);
    }
    let family = judge_together(&mut pairs);
    for pair in &pairs {
        pair.warning().iter().for_each(|warning| printer.warning(warning));
        rounds.left_out([pair.base, pair.other]).iter().for_each(|sentence| printer.remark(sentence));
    }
    if options.json {
        for pair in &pairs {
            pair.rows.iter().for_each(|row| printer.json(&pair.json(row).to_string()));
        }
    } else {
        for sentence in pairs.iter().filter_map(|pair| predictions::sentence(pair.base, pair.other)) {
            printer.result(&sentence);
        }
        let all: Vec<Compared<'_>> = pairs.iter().map(Pair::for_people).collect();
        let style = Style { full: printer.verbose || printer.style.full, ..printer.style };
        printer.result(&terminal::comparison(&all, style));
    }
    let checked = pairs.iter().find(|pair| predictions::sentence(pair.base, pair.other).is_some());
    if let Some(pair) = checked.filter(|_| !options.json) {
        printer.result(&predictions::score(&store, Some(&pair.base.engine))?);
    }
    let worse = pairs.iter().flat_map(|pair| &pair.rows).any(|row| row.verdict == Verdict::Worse && row.is_certain());
    if options.fail_on == Some(FailOn::Worse) && !options.json {
        printer.result(&told(&pairs, family));
    }
    Ok(if worse && options.fail_on == Some(FailOn::Worse) { exit::NEGATIVE } else { exit::DONE })
}

/// The margin that nobody has to ask for.
const MARGIN: f64 = 0.05;

/// Runs held against the first of them, for a page: none where a ratio of some two would mean nothing.
pub fn against_first<'a>(records: &'a [RunRecord], rounds: &'a Rounds) -> Vec<Compared<'a>> {
    let Some((base, others)) = records.split_first() else { return Vec::new() };
    let mut pairs: Vec<Pair<'_>> = others.iter().map(|other| Pair::of(base, other, rounds, MARGIN)).collect();
    let means_nothing =
        |pair: &Pair<'_>| pair.refusals().is_some() || pair.rows.is_empty() || pair.base.run_id == pair.other.run_id;
    if pairs.iter().any(means_nothing) {
        return Vec::new();
    }
    judge_together(&mut pairs);
    // What stands before the ratio in a terminal stands beside it in a page.
    for pair in &mut pairs {
        let sentence = predictions::sentence(pair.base, pair.other);
        if let Some((sentence, row)) = sentence.zip(pair.rows.first_mut()) {
            row.note = Some(match row.note.take() {
                Some(note) => format!("{sentence} No more is judged: {note}"),
                None => sentence,
            });
        }
    }
    pairs.iter().map(Pair::for_people).collect()
}

/// Adjusts the p-values of all comparisons for each other, and tells how many there are.
fn judge_together(pairs: &mut [Pair<'_>]) -> usize {
    let rows = || pairs.iter().flat_map(|pair| &pair.rows).filter_map(|row| row.p_value);
    let adjusted = compare::holm(&rows().collect::<Vec<f64>>());
    let family = adjusted.len();
    let judged = pairs.iter_mut().flat_map(|pair| &mut pair.rows).filter(|row| row.p_value.is_some());
    for (row, adjusted) in judged.zip(adjusted) {
        row.p_adjusted = Some(adjusted);
        // Before the first is rejected, the smallest p-value has to stand against the whole family.
        let confidence = 1.0 - (1.0 - DEFAULT_CONFIDENCE) / family as f64;
        row.detectable = compare::detectable_ratio(&row.values[0], &row.values[1], confidence);
        // Of many figures one differs by chance: what does not hold beside the others is no verdict.
        if matches!(row.verdict, Verdict::Better | Verdict::Worse) && !row.is_certain() {
            row.verdict = Verdict::Undecided;
            row.repetitions_to_decide =
                compare::repetitions_to_decide(&row.values[0], &row.values[1], Terms { confidence, ..row.terms });
            let advice = row.advice().map(|advice| format!(": {advice}")).unwrap_or_default();
            row.note = Some(format!(
                "beside the other figures that are compared with it, it may be chance (p {adjusted:.2}, adjusted by Holm){advice}"
            ));
        }
    }
    family
}

/// What an exit code for `worse` is worth: how often it is wrong, and what it would find.
fn told(pairs: &[Pair<'_>], family: usize) -> String {
    if family == 0 {
        return "--fail-on worse cannot fail here: no metric has two comparable repetitions per side".to_owned();
    }
    let percent = |row: &Row| {
        let ratio = row.detectable?;
        // A rate that is worse by a factor is lower by less.
        let worse = if row.higher_is_better { 1.0 - 1.0 / ratio } else { ratio - 1.0 };
        Some(format!("{} {}", row.metric, plimsoll_measurement::units::format_significant(100.0 * worse) + " %"))
    };
    let power: Vec<String> = pairs.iter().flat_map(|pair| &pair.rows).filter_map(percent).collect();
    // What repetitions of one run don't show.
    let is_one_of_each = pairs.iter().any(|pair| pair.rounds.is_none() && pair.is_real());
    let runs = if is_one_of_each {
        ". That is of repetitions: two runs of the same may differ by more, and several of each under one label count that"
    } else {
        ""
    };
    let metrics = if family == 1 { "1 comparison".to_owned() } else { format!("{family} comparisons together") };
    format!(
        "--fail-on worse: {metrics} raise a false alarm in at most {:.0} of 100 cases (Holm). In 8 of 10 cases this is found if worse \
         by: {}{runs}",
        100.0 * (1.0 - DEFAULT_CONFIDENCE),
        power.join(", ")
    )
}

fn parse_margin(text: &str) -> Result<f64, Failure> {
    let number = text.trim().trim_end_matches('%').trim().parse::<f64>().ok();
    number.filter(|percent| (0.0..100.0).contains(percent)).map(|percent| percent / 100.0).ok_or_else(|| {
        Failure::usage(format!("--margin {text} is not a percentage from 0 to 100")).hint("such as --margin 5%")
    })
}

/// Enough of a run id to find it again: its time and a part of its random tail.
pub fn short(run_id: &str) -> &str {
    run_id.get(..16).unwrap_or(run_id)
}

/// True where more is better. Of response times and of what is waited less is; every other metric is a rate or a size.
pub fn is_higher_better(unit: &str) -> bool {
    !matches!(unit, "ms" | "s" | "%")
}

/// A run held against the first.
struct Pair<'a> {
    base: &'a RunRecord,
    other: &'a RunRecord,
    differences: Vec<Difference>,
    rows: Vec<Row>,
    /// The runs of each side whose figures count once each; `None` where repetitions do.
    rounds: Option<[Vec<&'a RunRecord>; 2]>,
    /// What was not steady, of the base and of the other.
    unsteady: [Vec<String>; 2],
}

/// One metric of two runs.
struct Row {
    metric: String,
    outcome: Option<compare::Comparison>,
    verdict: Verdict,
    /// Complete repetitions of each side, or runs.
    repetitions: [usize; 2],
    /// What these are.
    counted: &'static str,
    /// How many a side would probably decide it.
    repetitions_to_decide: Option<usize>,
    /// Why there is no ratio or no verdict.
    note: Option<String>,
    higher_is_better: bool,
    /// The figure of each side.
    figures: [Option<Figure>; 2],
    /// One value per repetition, of each side.
    values: [Vec<f64>; 2],
    terms: Terms,
    /// How probable a ratio this far from 1 would be if nothing had changed; absent where nothing is judged.
    p_value: Option<f64>,
    /// The same, adjusted for all that is compared together.
    p_adjusted: Option<f64>,
    /// The factor that would be found in eight of ten cases.
    detectable: Option<f64>,
}

impl<'a> Pair<'a> {
    fn of(base: &'a RunRecord, other: &'a RunRecord, rounds: &'a Rounds, margin: f64) -> Self {
        let of_all =
            |[a, b]: &[Vec<&RunRecord>; 2], pair: &(Series, Series)| Some((pooled(&pair.0, a)?, pooled(&pair.1, b)?));
        let rows = |rounds: Option<&[Vec<&RunRecord>; 2]>| {
            let pairs = series_pairs(base, other);
            pairs
                .iter()
                .map(|pair| match rounds {
                    Some(all) => {
                        of_all(all, pair).map(|(a, b)| Row { counted: "runs", ..Row::of(base, other, &a, &b, margin) })
                    }
                    None => Some(Row::of(base, other, &pair.0, &pair.1, margin)),
                })
                .collect::<Option<Vec<Row>>>()
        };
        // What a round does not have can't be counted by rounds.
        let (rounds, rows) = rounds
            .both([base, other])
            .and_then(|all| Some((rows(Some(&all))?, all)))
            .map_or_else(|| (None, rows(None).unwrap_or_default()), |(rows, all)| (Some(all), rows));
        let unsteady = [base, other].map(|run| steadiness::unsteady(&steadiness(run)));
        Self { base, other, differences: differences(base, other), rows, rounds, unsteady }
    }

    /// Whether both were measured in real time.
    fn is_real(&self) -> bool {
        [self.base, self.other].iter().all(|run| run.clock != "virtual" && run.basis == Basis::Measured)
    }

    fn names(&self) -> [&str; 2] {
        [self.base, self.other].map(|run| short(&run.run_id))
    }

    /// Refuses what a ratio would mean nothing of.
    fn check(&self, anyway: bool) -> Result<(), Failure> {
        let [left, right] = self.names();
        if let Some(list) = self.refusals().filter(|_| !anyway) {
            let message = format!("{left} and {right} did not measure the same: they differ in {list}");
            return Err(Failure::usage(message)
                .hint("run the same test with the same parameters on both sides, or compare them --anyway"));
        }
        // A run that failed has no figures, and why it did is the answer.
        for (run, name) in [self.base, self.other].into_iter().zip([left, right]) {
            if let Some(error) = run.error.as_ref().filter(|_| series_of(run).iter().all(|one| one.values.is_empty())) {
                let called = run.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
                let message =
                    format!("run {name}{called} failed, so that there is nothing to compare: {}", error.message);
                let hint = if error.message.contains("of the requests failed") {
                    "mend that, or allow so many failures, as its hint says: plimsoll run ... --set allowed_failures=N"
                } else {
                    "mend that and run it again"
                };
                return Err(Failure::usage(message).code(exit::INCOMPLETE).hint(hint));
            }
        }
        if self.rows.is_empty() {
            let message =
                format!("{left} ({}) and {right} ({}) have no figure in common", self.base.test, self.other.test);
            return Err(Failure::usage(message).hint("compare complete runs of one test"));
        }
        Ok(())
    }

    fn refusals(&self) -> Option<String> {
        conditions::listed(&self.differences, |weight| weight == Weight::Refuses)
    }

    fn warning(&self) -> Option<String> {
        let [left, right] = self.names();
        let list = self.refusals()?;
        Some(format!("{left} and {right} did not measure the same, so their ratios may mean nothing: {list}"))
    }

    fn for_people(&self) -> Compared<'a> {
        let comparison = |row: &Row| Comparison {
            metric: row.metric.clone(),
            figures: row.figures.clone(),
            ratio: row.outcome.map(|comparison| comparison.ratio),
            low: row.outcome.and_then(|comparison| comparison.low),
            high: row.outcome.and_then(|comparison| comparison.high),
            confidence: DEFAULT_CONFIDENCE,
            verdict: row.verdict.name().to_owned(),
            why: row.why(),
            is_withheld: row.note.is_some() && row.verdict == Verdict::Undecided,
        };
        // What the target says of itself is what people change.
        // What was compared anyway differs in more than that.
        let of = |weight: Weight| self.differences.iter().filter(move |one| one.weight == weight);
        let differs = |one: &Difference| Differs { what: one.what.clone(), values: one.values.clone() };
        Compared {
            baseline: self.base,
            candidate: self.other,
            figures: self.rows.iter().map(comparison).collect(),
            differences: of(Weight::Refuses).chain(of(Weight::Setting)).chain(of(Weight::Warns)).map(differs).collect(),
            notes: self.unsteady.clone(),
            rounds: self.rounds.clone().unwrap_or_else(|| [vec![self.base], vec![self.other]]),
        }
    }

    fn notes(&self) -> Vec<String> {
        let sides = ["baseline", "candidate"].into_iter().zip(&self.unsteady);
        sides.flat_map(|(side, notes)| notes.iter().map(move |note| format!("{side}: {note}"))).collect()
    }

    fn json(&self, row: &Row) -> serde_json::Value {
        let run = |run: &RunRecord, at: usize| {
            let all = self.rounds.as_ref().map(|all| all[at].iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>());
            let repetitions = if all.is_some() { "runs_counted" } else { "repetitions" };
            known(
                serde_json::json!({"run_id": run.run_id, "target": run.target, "runs": all, repetitions: row.repetitions[at]}),
            )
        };
        known(serde_json::json!({
            "schema_version": plimsoll_measurement::run::SCHEMA_VERSION,
            "metric": row.metric,
            "baseline": run(self.base, 0),
            "candidate": run(self.other, 1),
            "confidence": DEFAULT_CONFIDENCE,
            "verdict": row.verdict.name(),
            "comparable": self.refusals().is_none(),
            "differences": conditions::json(&self.differences),
            "notes": self.notes(),
            "p_value": row.p_value,
            "p_adjusted": row.p_adjusted,
            "detectable_ratio": row.detectable,
            "note": row.note,
            "repetitions_to_decide": row.repetitions_to_decide,
            "ratio": row.outcome.map(|outcome| outcome.ratio),
            "low": row.outcome.and_then(|outcome| outcome.low),
            "high": row.outcome.and_then(|outcome| outcome.high),
        }))
    }
}

/// The metrics that two runs share. Ladders are compared at the largest N that both climbed.
fn series_pairs(base: &RunRecord, other: &RunRecord) -> Vec<(Series, Series)> {
    if base.cpu_table.is_some() && other.cpu_table.is_some() {
        return joins_at_common_rungs(base, other);
    }
    let others = series_of(other);
    let partner = |a: Series| {
        let same = |b: &&Series| b.metric == a.metric && b.unit == a.unit;
        others.iter().find(same).cloned().map(|b| (a, b))
    };
    // A model does not know what a measured run has more of: that is no figure they share.
    let is_predicted = [base, other].iter().any(|run| run.basis == Basis::Predicted);
    let is_shared = |(a, b): &(Series, Series)| !is_predicted || !(a.values.is_empty() || b.values.is_empty());
    series_of(base).into_iter().filter_map(partner).filter(is_shared).collect()
}

impl Row {
    fn of(base: &RunRecord, other: &RunRecord, a: &Series, b: &Series, margin: f64) -> Self {
        let terms = Terms { higher_is_better: is_higher_better(&a.unit), margin, confidence: DEFAULT_CONFIDENCE };
        // A bound is no estimate; a join that did not have its CPUs has a ratio, and it means nothing.
        let bounded = a.bound || b.bound;
        let outcome = (!bounded).then(|| compare::compare(&a.values, &b.values, terms)).flatten();
        let own = |run: &RunRecord, series: &Series| {
            predictions::own_figure(run, &series.metric, &series.unit).or_else(|| series.figure())
        };
        let figures = [own(base, a), own(other, b)];
        let is_predicted = [base, other].iter().any(|run| run.basis == Basis::Predicted);
        let of_prediction = predictions::ratio(figures.each_ref().map(Option::as_ref)).filter(|_| is_predicted);
        let outcome = match of_prediction {
            Some((ratio, low, high)) => {
                outcome.map(|found| compare::Comparison { ratio, low: Some(low), high: Some(high), ..found })
            }
            None => outcome,
        };
        let of_client = |series: &Series| series.doubt.as_deref() == Some(CLIENT_WAS_THE_LIMIT);
        let is_limited =
            |run: &RunRecord, series: &Series| of_client(series) || plimsoll_report::bound(run, &a.unit).is_some();
        let limited = [is_limited(base, a), is_limited(other, b)];
        let sets = is_predicted
            .then(|| "sets of parameters are no repetitions, so the prediction's own interval counts".to_owned());
        let own = |series: &Series| series.doubt.clone().filter(|_| !of_client(series));
        let doubt = own(a)
            .or_else(|| own(b))
            .or(sets)
            .or_else(|| knees::doubt(base, other, &a.metric))
            .or_else(|| knees::asked_doubt(base, other, &a.metric));
        let absent = a.absent.as_ref().or(b.absent.as_ref()).cloned();
        let note = |series: &Series| series.note.clone().unwrap_or_default();
        // With a faster client a side would only be better: a verdict in its favour stands.
        let stands = |verdict: Verdict| match limited {
            [false, false] => true,
            [true, false] => verdict == Verdict::Worse,
            [false, true] => verdict == Verdict::Better,
            // A client that needs as much for a request in both is not what makes one slower.
            [true, true] => matches!(verdict, Verdict::Better | Verdict::Worse) && needs_alike(base, other),
        };
        let neighbours = outcome.and_then(|found| neighbours([base, other], &found, terms.higher_is_better));
        let doubt = doubt.or(neighbours);
        let judged = outcome.filter(|found| doubt.is_none() && stands(found.verdict));
        let client = limited.contains(&true).then(|| match judged {
            Some(_) if limited == [true, true] => {
                "the client limited both runs and needed as much for a request, so the target differs by at least that"
                    .to_owned()
            }
            Some(_) => "the client limited the better run, so the difference is at least that".to_owned(),
            None if limited == [true, true] => "the client limited both runs, so both figures are bounds".to_owned(),
            None => "the client limited one of the runs, so its figure is a bound".to_owned(),
        });
        let doubt = doubt.or(client);
        Self {
            metric: a.metric.clone(),
            outcome,
            verdict: judged.map_or(Verdict::Undecided, |comparison| comparison.verdict),
            repetitions: [a, b].map(|series| series.values.len()),
            counted: "repetitions",
            repetitions_to_decide: judged.and_then(|_| compare::repetitions_to_decide(&a.values, &b.values, terms)),
            note: if bounded { Some(format!("{} against {}", note(a), note(b))) } else { doubt.or(absent) },
            higher_is_better: terms.higher_is_better,
            p_value: judged.and_then(|_| compare::p_value(&a.values, &b.values)),
            p_adjusted: None,
            detectable: None,
            figures,
            values: [a, b].map(|series| series.values.clone()),
            terms,
        }
    }

    /// True if it holds beside all that is compared together.
    fn is_certain(&self) -> bool {
        self.p_adjusted.is_some_and(|p| p <= 1.0 - DEFAULT_CONFIDENCE)
    }

    /// Why there is no verdict, or what would give one.
    fn why(&self) -> Option<String> {
        self.note.clone().or_else(|| self.advice())
    }

    /// How many repetitions would tell; nothing where the verdict is known or more would not give one.
    fn advice(&self) -> Option<String> {
        if self.verdict != Verdict::Undecided || self.outcome.is_none() {
            return None;
        }
        let there = match self.repetitions {
            [1, 1] => return Some("single repetitions show no spread; use at least 3 per side".to_owned()),
            [1, _] | [_, 1] => return Some("a single repetition shows no spread; use at least 3 per side".to_owned()),
            [a, b] if a == b => format!("there are {a}"),
            [a, b] => format!("there are {a} and {b}"),
        };
        let counted = self.counted;
        let is_too_many = |count: usize| counted == "repetitions" && count > MOST_REPETITIONS_OF_A_RUN as usize;
        Some(match self.repetitions_to_decide {
            Some(count) if is_too_many(count) => format!(
                "about {count} repetitions per side would decide, more than a run can have ({MOST_REPETITIONS_OF_A_RUN}); {there}"
            ),
            Some(count) => format!("about {count} {counted} per side would decide; {there}"),
            None => format!(
                "more than {MOST_REPETITIONS} {counted} per side would be needed, because the difference is small beside \
                 the spread; {there}"
            ),
        })
    }
}

#[cfg(test)]
mod tests;
