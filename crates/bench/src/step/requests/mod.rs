//! Requests from outside, one by one, as an application makes them (reference, 2.1 to 2.8, 2.12). Tables are loaded anew for
//! every repetition, and sessions work for a given time in every phase.

mod conditions;
mod custom;
mod figures;
mod phase;
mod plan;
mod tables;
mod threads;

use std::time::Duration;

use plimsoll_engine::{Database, Error, ErrorKind, RequestAccess, Result, Workspace};
use plimsoll_load::client::{ClientMonitor, Told, Where};
use plimsoll_load::recorder::{Recorder, Sums};
use plimsoll_measurement::{Moment, RequestKind};

use self::conditions::Conditions;
use self::custom::Prepared;
use self::figures::{no_knee, requests, unanswered};
use self::phase::run;
use self::plan::{goal, plan, search};
use self::tables::{on_rows, provision, rehearsal, wanted};
use crate::interrupt::Interrupt;
use crate::parameters::shared::{CACHE, DAY, SEED, SESSIONS, TABLES, VOLUME};
use crate::parameters::{Kind, Parameter};
use crate::step::context::{Context, Keep};
use crate::step::kind::{Measure, Measures, StepKind, contradiction, pages};
use crate::workload::custom::{CustomWorkload, Draw, Ready};
use crate::workload::rehearsal::rehearse;
use crate::workload::request::Workload;

/// A run in which more percent of the requests fail is not valid, unless its user allows more (reference, A20).
const ALLOWED_FAILURES: &str = "1";

const PARAMETERS: &[&Parameter] = &[
    &VOLUME,
    &TABLES,
    &CACHE,
    &SESSIONS,
    &Parameter::new(
        "duration",
        Kind::Duration(Duration::from_secs(1), DAY),
        "How long requests run in each phase: at each rate, number of sessions or batch size.",
    ),
    &Parameter::new(
        "rate",
        Kind::Levels(0, 10_000_000),
        "Scheduled requests per second, shared by all sessions. 0 sends each request after the last answer. \
         Several values, such as 100,200,400, are measured in turn. 100..1000 rises steadily.",
    )
    .or("0"),
    &Parameter::new(
        "arrivals",
        Kind::Choice(&["constant", "poisson"]),
        "Distribution of the intervals between scheduled requests, or of think times: constant or exponential.",
    )
    .or("constant"),
    &Parameter::new(
        "think",
        Kind::Duration(Duration::ZERO, DAY),
        "Think time: pause of a session between an answer and its next request. Not with a rate.",
    )
    .or("0s"),
    &Parameter::new(
        "threads",
        Kind::Choice(&["usual", "one-each", "few"]),
        "Whether each session has a thread of its own, or few threads serve all. 'usual' means few from 1,000 sessions on, where \
         the driver can (PostgreSQL without TLS).",
    )
    .or("usual"),
    &Parameter::new(
        "procedures",
        Kind::Choice(&["usual", "yes", "no"]),
        "Whether requests for single rows call stored procedures or send texts. 'usual' means procedures on SQL Server only.",
    )
    .or("usual"),
    &Parameter::new(
        "batch",
        Kind::Levels(1, 10_000_000),
        "Rows per batch of a bulk load. Several values are measured in turn.",
    )
    .or("1"),
    &Parameter::new(
        "at_most",
        Kind::Bytes(1 << 20, 1 << 50),
        "Data content that bulk loads may add in a phase before it ends.",
    )
    .or("64GiB"),
    &Parameter::new(
        "goal",
        Kind::Duration(Duration::ZERO, DAY),
        "Latency goal. The test searches for the highest rate that meets it, starting at 'rate'. 0 means no search.",
    )
    .or("0s"),
    &Parameter::new(
        "goal_at",
        Kind::Choice(&["p50", "p90", "p95", "p99", "p99.9"]),
        "Percentile of the response times that must meet the goal.",
    )
    .or("p99"),
    &Parameter::new(
        "keys",
        Kind::Choice(&["uniform", "zipf", "newest"]),
        "Key distribution: uniform, zipf (a few rows are frequent), or mostly the newest 5 % of rows.",
    )
    .or("uniform"),
    &Parameter::new(
        "scale_duration",
        Kind::Choice(&["no", "yes"]),
        "Whether a scaled target divides durations by its scale, as it divides sizes. Its caches warm up sooner.",
    )
    .or("no")
    .formerly("shrink", &[["volumes", "no"], ["all", "yes"]]),
    &Parameter::new(
        "allowed_failures",
        Kind::Count(0, 100),
        "Percent of the requests that may fail in a valid run.",
    )
    .or(ALLOWED_FAILURES),
    &SEED,
];

/// Requests from many sessions (2.1 to 2.6, 2.8, 2.12).
pub(super) const KIND: StepKind = StepKind {
    // A search that found nothing is no result, and nor is a run without an answer.
    invalid: |parameters, repetitions| match goal(parameters) {
        Some(goal) => no_knee(&goal, repetitions),
        None => unanswered(repetitions),
    },
    // How much is inserted is not known: as much again is room for a while.
    space_bytes: |parameters, _| pages(parameters.bytes("volume")).saturating_mul(3),
    check: |parameters| plan(parameters).map(drop),
    settles_itself: |_| true,
    // How many rates a search tries shows in the end.
    lasts: |parameters| {
        let phases = plan(parameters).ok().filter(|_| goal(parameters).is_none())?;
        Some(parameters.duration("duration") * u32::try_from(phases.len()).ok()?)
    },
    makes_requests: true,
    ..StepKind::new(
        "requests",
        PARAMETERS,
        || Measures::AtDatabase(Box::<Requests>::default()),
        |measured| requests(&measured.repetitions),
    )
};

/// Kinds of requests times sessions and two more, which are the sums of a phase and of a repetition. Each of them counts the response times
/// of each kind by itself, in some 40 kB.
const MOST_HISTOGRAMS: u64 = 5_000;
/// Bytes of statements times sessions: each session keeps all of them.
const MOST_TEXT: u64 = 128 << 20;
/// Letters of the drawn texts of a request times sessions.
const MOST_DRAWN: u64 = 32 << 20;

/// An error if what sessions keep would take more memory than the program is to take.
fn check_memory(own: &CustomWorkload, sessions: u64) -> Result<()> {
    let kinds = own.requests.len();
    let statements = own.requests.iter().flat_map(|request| &request.statements);
    let text: usize = statements.flat_map(|asked| asked.text.texts()).map(str::len).sum();
    if (text as u64).saturating_mul(sessions) > MOST_TEXT {
        let message = format!(
            "{text} bytes of statements in {sessions} sessions are too many: there is memory for {MOST_TEXT} bytes"
        );
        return Err(Error::new(ErrorKind::Usage, message).hint("ask for fewer sessions, or for shorter statements"));
    }
    // Each session keeps the texts of a request until it is answered, and what it sends of them.
    let drawn = |(_, draw): &(String, Draw)| if let Draw::Text(letters) = draw { *letters } else { 0 };
    let drawn = own.requests.iter().map(|request| request.parameters.iter().map(drawn).sum::<usize>()).max();
    let drawn = drawn.unwrap_or(0);
    if (drawn as u64).saturating_mul(sessions) > MOST_DRAWN {
        let message = format!(
            "{drawn} letters of a request's parameters in {sessions} sessions are too many: there is memory for {MOST_DRAWN}"
        );
        return Err(Error::new(ErrorKind::Usage, message).hint("ask for fewer sessions, or for shorter texts"));
    }
    if (kinds as u64).saturating_mul(sessions.saturating_add(2)) <= MOST_HISTOGRAMS {
        return Ok(());
    }
    let message = format!(
        "{kinds} kinds of requests in {sessions} sessions are too many: each session counts each kind by itself, and there is memory for \
         {MOST_HISTOGRAMS} such counts"
    );
    Err(Error::new(ErrorKind::Usage, message)
        .hint("ask for fewer sessions, or put requests of one kind into one [[request]]"))
}

#[derive(Default)]
struct Requests {
    client: ClientMonitor,
    own: Option<Prepared>,
}

impl Measure for Requests {
    fn prepare(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, mix, own, cpus, .. } = context;
        let time = keep.time;
        let phases = plan(parameters).map_err(|problem| Error::new(ErrorKind::Usage, problem))?;
        if let Some(own) = own {
            let most = phases.iter().map(|phase| phase.sessions).max().unwrap_or(1);
            check_memory(own, most)?;
            self.own.insert(Prepared::new(own)).prepare(target, parameters, keep)?;
        } else {
            let wanted = wanted(parameters, target.page_bytes());
            crate::dataset::check_rows(wanted.rows)?;
            keep.fact("tables", wanted.tables);
            keep.fact("rows_per_table", wanted.rows);
        }
        let is_virtual = time.is_virtual();
        let idle_ns = match &self.own {
            _ if is_virtual => None,
            Some(own) => rehearse(&own.ready()?[1]),
            // What a request costs the client by itself.
            None => {
                let targets = [rehearsal(parameters, target)?];
                rehearse(&on_rows(mix, parameters, &targets, &phases[0])?)
            }
        };
        let is_embedded = target.database.description().embedded;
        self.client = ClientMonitor::new(Where { is_virtual, is_embedded, cpus: *cpus }, idle_ns);
        Ok(())
    }

    fn repeat(&mut self, context: &mut Context<'_, '_>) -> Result<()> {
        let Context { target, parameters, keep, mix, client, cpus, .. } = context;
        let time = keep.time;
        let (own, access, targets) = match &self.own {
            Some(prepared) => (Some(&prepared.ready()?[0]), prepared.access(), Vec::new()),
            None => (None, RequestAccess::OWN, provision(target, parameters, mix, keep)?),
        };
        // Tables of the user's own are not loaded anew: nothing is to be done but to wait.
        time.wait(time.settle)?;
        let phases = plan(parameters).map_err(contradiction)?;
        let most = phases.iter().map(|phase| phase.sessions).max().unwrap_or(1);
        let connect = target.requesters(target.workspace, access);
        let mut slots = (0..most).map(|_| connect().map(Some)).collect::<Result<Vec<_>>>()?;
        keep.begin(Some(target.database));
        let names = match own {
            Some(own) => own.kinds(),
            None => on_rows(mix, parameters, &targets, &phases[0])?.kinds(),
        };
        let conditions = Conditions::new(parameters, access, mix, *cpus);
        let scheduled = phases[0].rate.is_some() || !parameters.duration("goal").is_zero();
        let mut sum = Recorder::new(keep.repetition_start, Moment::from_nanos(u64::MAX), &names, scheduled);
        let mut percentiles = Vec::new();
        let mut outcome = Ok(());
        let mut search = search(parameters);
        let mut rest = phases.iter();
        let mut tried = 0;
        let are_batches = phases.iter().any(|phase| phase.batch_rows > 1);
        // Of a search those phases alone that held: the others were to break.
        let mut judged = Sums::default();
        // Of a search the highest rate that held in all its tries.
        let mut found: Option<(f64, Vec<RequestKind>)> = None;
        while outcome.is_ok() {
            let phase = match &mut search {
                Some(search) => search.propose().map(|rate| phases[0].at_rate(rate, search.lasts(rate))),
                None => rest.next().cloned(),
            };
            let Some(phase) = phase else { break };
            let rows;
            let workload: &dyn Workload = if let Some(own) = own {
                own
            } else {
                rows = on_rows(mix, parameters, &targets, &phase)?;
                &rows
            };
            tried += 1;
            let of_phase = run(target, keep, &conditions, &phase, workload, &mut slots, tried);
            let (recorder, mut record) = (&of_phase.recorder, of_phase.record);
            let mut held = None;
            if let (Some(search), Some(rate)) = (&mut search, phase.rate) {
                let holds = search.holds(&recorder.times().times, record.backlog.unwrap_or(0), record.errors);
                record.holds = holds.ok();
                held = Some(search.tell(rate.mean(), holds));
                if held == Some(true) && found.as_ref().is_none_or(|(best, _)| record.rate > *best) {
                    found = Some((record.rate, recorder.kinds()));
                }
            } else if let Some(backlog) = record.backlog.filter(|backlog| *backlog > 0 && of_phase.outcome.is_ok()) {
                let rate = phase.rate.map(|rate| rate.to_string()).unwrap_or_default();
                let rate = rate.trim_end_matches("/s");
                keep.warn(format!(
                    "the target, or so few sessions, were too slow for {rate} requests a second: {backlog} of a repetition were \
                     due and not begun at the end; more sessions (--set sessions=) tell which"
                ));
            }
            let rank = if are_batches { record.mb_per_minute.unwrap_or(0.0) } else { record.rate };
            let repetition = keep.repetition.label.clone();
            let (phase, seconds) = (keep.repetition.phases.len(), record.seconds);
            let told = Told { repetition, phase, seconds, rank, held, cpu_us_per_operation: None };
            let lags = [recorder.lag.as_ref().map(|lag| &lag.slept), recorder.pickup.as_deref()];
            self.client.phase(told, &of_phase.needed, lags);
            if search.is_none() || record.holds == Some(true) {
                judged = judged.plus(recorder.sums());
            }
            sum.merge(recorder);
            let first = record.started_seconds as usize;
            percentiles.resize(first.max(percentiles.len()), (None, None));
            percentiles.truncate(first);
            percentiles.extend(of_phase.percentiles);
            keep.repetition.stalls.extend(of_phase.stalls);
            outcome = of_phase.outcome.and(keep.phase(record));
        }
        if let Some(search) = &search {
            if found.is_none() {
                let label = keep.repetition.label.clone();
                keep.warn(format!("no rate that was tried in repetition {label} met the goal in all its tries"));
            }
            search.unseen().into_iter().for_each(|unseen| keep.warn(unseen));
        }
        for slot in &slots {
            let traffic = slot.as_ref().and_then(|(requester, _)| requester.traffic());
            self.client.traffic(traffic.map(|traffic| (traffic.sent_bytes, traffic.received_bytes)));
        }
        drop(slots);
        **client = Some(self.client.client());
        keep.repetition.requests = found.map_or_else(|| sum.kinds(), |(_, kinds)| kinds);
        keep.repetition.seconds = sum.seconds(&percentiles);
        outcome?;
        time.interrupt.check()?;
        if let Some(own) = own {
            warn_of_untouched(own, keep);
        }
        let first = own.and_then(Ready::server_error);
        judge(&sum, judged, (parameters.count("allowed_failures"), first), keep)
    }

    fn finish(&mut self, database: &dyn Database, workspace: &Workspace, interrupt: &Interrupt) -> Result<()> {
        self.own.take().map_or(Ok(()), |own| own.clean_up(database, workspace, interrupt))
    }
}

fn warn_of_untouched(own: &Ready, keep: &mut Keep<'_>) {
    for kind in own.seeking() {
        let found = keep.repetition.requests.iter().find(|found| found.kind == kind);
        if let Some(found) = found.filter(|found| found.rows < found.operations / 2) {
            keep.warn(format!(
                "most requests '{kind}' touched no row ({} rows for {} requests): do its parameters draw what is in the tables?",
                found.rows, found.operations
            ));
        }
    }
}

/// From so many percent of failed requests on a run that is valid says so.
const WORTH_A_WARNING: f64 = 1.0;

/// An error if more requests failed than are allowed, in percent, with what the target said first.
fn judge(recorder: &Recorder, judged: Sums, (allowed, first): (u64, Option<&str>), keep: &mut Keep<'_>) -> Result<()> {
    let percent = judged.failed_percent();
    if percent <= WORTH_A_WARNING.min(allowed as f64) {
        return Ok(());
    }
    let kinds = recorder.kinds();
    let classes = kinds
        .iter()
        .flat_map(|kind| kind.errors.iter().map(move |(class, count)| format!("{} {class}: {count}", kind.kind)));
    let classes = classes.collect::<Vec<_>>().join(", ");
    let first = first.map(|first| format!("; the first: {first}")).unwrap_or_default();
    let message = format!("{percent:.1} % of the requests failed ({classes}){first}");
    if percent <= allowed as f64 {
        keep.warn(message);
        return Ok(());
    }
    // Repetitions vary, and a run that is made again should not end at the same place.
    let more = (2.0 * percent).ceil().clamp(10.0, 100.0);
    Err(Error::new(ErrorKind::Statement, message).hint(format!(
        "a run with more than {allowed} % of errors is not valid; see what the server says about them, or allow more: --set allowed_failures={more}"
    )))
}
