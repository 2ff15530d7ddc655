//! Why there is not enough evidence, although limits were found or none was: a wrong verdict would be worse than none.

use super::judged::Found;
use super::means::Means;
use super::model::{FULL_CPU, Model, parallel};
use super::neighbours;
use super::outside;
use super::rules::{
    BETWEEN, DOUBT_PERCENT, LOCK_LIMIT, MORE, NAMED_PERCENT, SECOND_DOUBT_PERCENT, Station, UNSEEN, WAITS, WORKERS,
};
use super::words::waited_for;
use crate::summary;
use plimsoll_measurement::units::significant;

/// What is missing for a verdict.
#[derive(Debug)]
pub(super) struct Doubt {
    /// Why nothing is named.
    pub reason: String,
    /// What would settle it: one command or setting.
    pub remedy: &'static str,
}

/// The first doubt, if there is one. The first `named` of those found would be named.
pub(super) fn of(model: &Model<'_>, found: &[Found], named: usize) -> Option<Doubt> {
    let bound = &found[..named];
    of_sessions(model)
        .or_else(|| doubt(full_redo_log(model, bound), LARGER_LOG))
        .or_else(|| doubt(delayed(model, bound.first()), NO_DELAY))
        .or_else(|| doubt(paged_under_locks(model, bound.first()), LARGER_POOL))
        .or_else(|| doubt(stood_still(model, bound), MOVES))
        .or_else(|| doubt(stalled(model, bound), TIMES))
        .or_else(|| {
            doubt(
                others(model, bound),
                "run it again without the other processes, or as a user that may read the server's files in /proc",
            )
        })
        .or_else(|| doubt(strangers(model, bound), "run it again while no other sessions are active"))
        .or_else(|| doubt(in_parallel(model, bound), ONE_SESSION))
        .or_else(|| doubt(unexplained(model, found, named), readings(model)))
        .or_else(|| doubt(too_close(found), LONGER))
        .or_else(|| doubt(too_few_looks(model, found, named), LONGER))
}

/// The first doubt that has nothing to do with what would be named.
pub(super) fn of_sessions(model: &Model<'_>) -> Option<Doubt> {
    doubt(
        stood_still_ourselves(model),
        "run it again while nothing stops or freezes this program, and it has a CPU when it needs one",
    )
    .or_else(|| doubt(stopped(model), "run it again while nothing stops the server"))
    .or_else(|| doubt(turns(model), ONE_SESSION))
    .or_else(|| doubt(latches(model), FEWER_SESSIONS))
}

fn doubt(reason: Option<String>, remedy: &'static str) -> Option<Doubt> {
    reason.map(|reason| Doubt { reason, remedy })
}

/// What settles it where the run was too short.
pub(super) const LONGER: &str = "a longer run (--set duration=5m) or more repetitions (--repetitions 5)";
/// What settles it where nobody looked.
pub(super) const SAMPLE: &str = "leave out --no-samples";
const NO_DELAY: &str = "run it again with that setting at 0";
const LARGER_LOG: &str =
    "run it again with a larger redo log (innodb_redo_log_capacity; innodb_log_file_size on MariaDB)";
const LARGER_POOL: &str = "run it again with a larger buffer pool (shared_buffers, innodb_buffer_pool_size)";
const ONE_SESSION: &str = "one session (--set sessions=1) shows what a request needs by itself";
const FEWER_SESSIONS: &str = "fewer sessions (--set sessions=N) show whether they hinder each other";
const MOVES: &str = "run it again while nothing stops or freezes the server, this program or what is between them";
const TIMES: &str = "let the engine take the times of its I/Os: track_io_timing and track_wal_io_timing (PostgreSQL), performance_schema \
                     (MySQL, MariaDB)";

/// Of limits that would be named, those of which it is certain: the first one, and what comes behind it before anything that may bind as
/// well or not. With that, in a sentence.
pub(super) fn certain(model: &Model<'_>, found: &[Found], named: usize) -> (usize, Option<String>) {
    let is_open = |other: &Found| {
        let by_chance = || looks_leave_open(model, other, true).is_some() || has_few_looks(model, other);
        is_within(SECOND_DOUBT_PERCENT, other) || by_chance() || delayed(model, Some(other)).is_some()
    };
    let Some(open) = found[..named].iter().skip(1).position(is_open).map(|place| place + 1) else {
        return (named, None);
    };
    let Found { lift, gain_percent, .. } = &found[open];
    let told = format!("it is open whether {lift} would help as well: by the model, by about {gain_percent:.1} %");
    (open, Some(told))
}

/// What may help as well, as far as what is known can say.
pub(super) fn guess(found: &[Found]) -> Option<String> {
    let one = found.iter().find(|one| one.is_guessed && one.gain_percent >= NAMED_PERCENT)?;
    let unknown = match one.rule.limit {
        WORKERS => "what the sessions that it lets in would wait for next",
        _ => "how large the data are that it holds a part of",
    };
    Some(format!("it is open whether {} would help: {unknown} is not known", one.lift))
}

fn is_within((low, high): (f64, f64), found: &Found) -> bool {
    (low..high).contains(&found.gain_percent)
}

/// The gain that decides is too close to call.
fn too_close(found: &[Found]) -> Option<String> {
    let Found { lift, gain_percent, .. } = found.first().filter(|first| is_within(DOUBT_PERCENT, first))?;
    Some(format!("{lift} would raise the rate by about {gain_percent:.1} %, which is too close to call"))
}

/// By chance as many more sessions or less could have been seen to wait that a limit would be named, or not: the standard error.
fn looks_leave_open(model: &Model<'_>, found: &Found, is_named: bool) -> Option<f64> {
    let error = model.means.chance(found.rule.waits).filter(|error| *error > 0.0)?;
    let otherwise = model.gain_with(found, if is_named { -error } else { error })?;
    ((otherwise >= NAMED_PERCENT) != is_named).then_some(error)
}

/// Whether a limit is judged by looks that are too few to know even how much chance there is in them.
fn has_few_looks(model: &Model<'_>, found: &Found) -> bool {
    found.used.is_none() && model.means.is_momentary(found.rule.waits) && model.means.looks() < LEAST_LOOKS
}

/// Looks from which on their spread says how far off their mean is.
const LEAST_LOOKS: usize = 5;

/// Commits wait for others because a setting says so, and nobody sees how much of the wait for the log is the log's own.
fn delayed(model: &Model<'_>, found: Option<&Found>) -> Option<String> {
    let setting = model.load.commit_delay.as_ref()?;
    let is_log = found?.rule.station() == Some(Station::Log) && model.flushed().is_none();
    is_log.then(|| {
        format!("{setting} makes commits wait for others; how much of the wait for the log is the log's own is unknown")
    })
}

/// Locks come first, and each request has pages read and written at a device that is busy: a buffer pool that is too small holds up whoever has a
/// lock, and hardly any engine says who waits for a free page. Without the locks as much may be waited for pages.
fn paged_under_locks(model: &Model<'_>, first: Option<&Found>) -> Option<String> {
    first.filter(|found| found.rule.limit == LOCK_LIMIT)?;
    let each = |column| Some(model.means.column(column)? / (model.rate * model.means.moving));
    let (reads, writes) = (each("data_reads")?, each("data_writes")?);
    let busy = model.means.each_of("disk_busy").into_iter().map(|(_, percent)| percent).reduce(f64::max)?;
    (reads >= 1.0 && writes >= 1.0 && busy >= BUSY_DISK_PERCENT).then(|| {
        format!(
            "sessions waited for locks, but for each request {} pages were read and {} written, and their disk was busy for {} % of the time: whether \
             more could be done without the locks is not seen",
            significant(reads),
            significant(writes),
            significant(busy)
        )
    })
}

/// A disk that is busy so much of the time has little left for more requests of the same kind: on MariaDB, at 61 to 68 %, nothing.
const BUSY_DISK_PERCENT: f64 = 60.0;

/// What would show what sessions did: readings that are not there, or a look at one session by itself.
fn readings(model: &Model<'_>) -> &'static str {
    let sees_waits = WAITS.iter().any(|(columns, _)| model.means.sum(columns).is_some());
    if model.load.sessions > 1.0 && (model.load.embedded || (sees_waits && model.sees_cpu())) {
        ONE_SESSION
    } else {
        "plimsoll doctor URL says which readings this server does not give, and what would give them"
    }
}

/// Sessions were seen to wait at so few looks that it is open whether the first limit would be named, or some limit if none is named now.
fn too_few_looks(model: &Model<'_>, found: &[Found], named: usize) -> Option<String> {
    let looks = model.means.looks();
    if let Some(first) = found[..named].first().filter(|first| has_few_looks(model, first)) {
        return Some(format!("only {looks} looks say that sessions {}", waited_for(model, first.rule)?));
    }
    let mut candidates = if named > 0 { found[..1].iter() } else { found.iter() };
    let (found, error) = candidates.find_map(|found| Some((found, looks_leave_open(model, found, named > 0)?)))?;
    let waiting = found.waiting?;
    Some(format!(
        "in {looks} looks {waiting:.2} of {:.0} sessions {} on average, give or take {error:.2}; these are too few looks to compute the gain from \
         {}; a longer run has more",
        model.load.sessions,
        waited_for(model, found.rule)?,
        found.lift
    ))
}

/// Sessions of others were at work on the server, and what is named is of what they use as well. How much of it they
/// did is not seen, unless our own sessions are seen to wait for it.
fn strangers(model: &Model<'_>, bound: &[Found]) -> Option<String> {
    let sessions = model.load.sessions;
    let others = model.strangers().filter(|others| *others >= STRANGERS_PART * sessions)?;
    let shared = bound.iter().find(|found| match found.rule.station() {
        Some(Station::Cpu) => true,
        Some(station @ (Station::Data | Station::Log)) => {
            let queued = model.rate * model.network.time_at(station as usize);
            found.waiting.unwrap_or(0.0) < queued / 2.0
        }
        _ => false,
    })?;
    Some(format!(
        "{others:.2} other sessions were active beside our {sessions:.0}; how much of the server's {} they used is unknown",
        shared.rule.words
    ))
}

/// Our own program stood still: it asked nothing, and saw nothing, so that the silence is not the server's. A quota of CPU is told as that.
fn stood_still_ourselves(model: &Model<'_>) -> Option<String> {
    let whole = Means::plain(model.means.stretch());
    let still = whole.column("client_stood_still").filter(|percent| *percent >= OFTEN_STOPPED_PERCENT)?;
    let is_held = whole.column("client_throttled").is_some_and(|percent| percent >= OFTEN_STOPPED_PERCENT);
    (!is_held).then(|| {
        format!("this program itself stood still for {still:.0} % of the time: it was stopped or frozen, or its machine was, so that all else is of the time in between")
    })
}

/// The server was stopped, as by a signal or a debugger, while nobody was answered: no limit of its own held it back then.
fn stopped(model: &Model<'_>) -> Option<String> {
    let whole = Means::plain(model.means.stretch());
    let found = "of the looks found the server or processes of it stopped, as by SIGSTOP or a debugger";
    let in_silence = whole.seen_in_silence(&["server_stopped"]).filter(|percent| *percent >= STOPPED_PERCENT);
    if let Some((seen, silent)) = in_silence.zip(whole.silent_percent()) {
        return Some(format!("in silences, {silent:.0} % of the time, {seen:.0} % {found}"));
    }
    // Where not all are stopped at once there need be no silence.
    let seen = whole.column("server_stopped").filter(|percent| *percent >= OFTEN_STOPPED_PERCENT)?;
    Some(format!("{seen:.0} % {found}"))
}

/// Part of the looks, in percent, from which on stopped processes are no accident.
const OFTEN_STOPPED_PERCENT: f64 = 10.0;

/// Processes of the server that are stopped in a silence, in percent, so that it is the stop's.
const STOPPED_PERCENT: f64 = 50.0;

/// Most sessions wait for others, and the samples do not show what those wait for.
fn turns(model: &Model<'_>) -> Option<String> {
    UNSEEN.iter().find_map(|(column, words, part)| {
        let waiting = model.means.column(column).filter(|waiting| *waiting >= part * model.load.sessions)?;
        Some(format!("{waiting:.1} of {:.0} sessions wait {words}", model.load.sessions))
    })
}

/// Most sessions wait for each other inside the server, for latches that nobody holds for long unless he waits for something himself.
fn latches(model: &Model<'_>) -> Option<String> {
    let waits = model.means.each_of("waiting");
    let latches: Vec<_> = waits.iter().filter(|(name, _)| LATCHES.iter().any(|kind| name.starts_with(kind))).collect();
    let waiting: f64 = latches.iter().map(|(_, sessions)| sessions).sum();
    let others = model.means.column("waiting_for_others").unwrap_or(0.0);
    let (name, _) = latches.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // Where more wait for something else that has a name, the latches are its.
    let is_most = 2.0 * waiting >= others;
    (is_most && waiting.min(others) >= TURNS_PART * model.load.sessions).then(|| {
        format!(
            "{waiting:.1} of {:.0} sessions wait for locks in the server's memory ({name}), and what their holders wait for is not seen",
            model.load.sessions
        )
    })
}

/// PostgreSQL's waits for short locks of its own, and states of MySQL and MariaDB that say no more than that somebody is waited for.
const LATCHES: [&str; 2] = ["LWLock/", "Waiting "];
/// Part of the sessions from which such waits leave nothing to be said.
const TURNS_PART: f64 = 0.2;

/// The redo log has no room left: sessions write pages until there is some, and no state of theirs says so. They look as if they computed.
fn full_redo_log(model: &Model<'_>, bound: &[Found]) -> Option<String> {
    let is_held = |one: &Means<'_>| {
        let used = one.column("redo_log_used").filter(|percent| *percent >= FULL_LOG_PERCENT)?;
        one.column("on_cpu").filter(|active| *active >= HELD_PART * model.load.sessions)?;
        Some(used)
    };
    let full: Vec<f64> = model.means.each().filter_map(|one| is_held(&one)).collect();
    let used = summary::mean(&full)?;
    let part = full.len() as f64 / model.means.intervals() as f64;
    // As if nothing were done in that time.
    let gain = 100.0 * part / (1.0 - part).max(f64::MIN_POSITIVE);
    let most = bound.first().map_or(0.0, |first| first.gain_percent);
    (gain >= most.max(NAMED_PERCENT)).then(|| {
        format!(
            "in {} of {} intervals the redo log was full to {used:.0} % on average, while sessions were active without a wait: they write changed \
             pages until there is room in it, and how long that took is not seen",
            full.len(),
            model.means.intervals()
        )
    })
}

/// From here on there is often no room left in the redo log.
const FULL_LOG_PERCENT: f64 = 90.0;
/// Part of the sessions that are active then, and may be held up.
const HELD_PART: f64 = 0.5;

/// The CPUs are full, but of other programs' work, and nobody says what the server's threads waited for a CPU.
fn others(model: &Model<'_>, named: &[Found]) -> Option<String> {
    let (cores, all) = neighbours::at_work(model.means, model.ceilings)?;
    if neighbours::queued(model.means, model.ceilings).is_some() {
        // It is known what that cost.
        return None;
    }
    let doubtful = match named.iter().find(|found| found.rule.station() == Some(Station::Cpu)) {
        Some(cpu) => {
            let means = model.means.without("other_cpu");
            let own = Model::fitted(&means, model.ceilings, model.load, model.rate)?.found(cpu.rule)?;
            // By itself it would go without more cores, or need other ones.
            own.gain_percent < NAMED_PERCENT || own.lift != cpu.lift
        }
        None => named.is_empty() && model.cpus_are_full(),
    };
    let percent = 100.0 * cores / all;
    doubtful.then(|| {
        format!("other processes used {percent:.0} % of the machine's CPU; whether they slowed the server is unknown")
    })
}

/// Nobody was answered for a good part of the time, in silences far longer than an answer takes, and neither the server nor our client was seen to
/// work: one of them, or what is between, stood still as a whole. Whoever stops our client stops its looks as well.
fn stood_still(model: &Model<'_>, bound: &[Found]) -> Option<String> {
    let is_between = bound.iter().any(|one| one.rule.limit == BETWEEN);
    let whole = Means::plain(model.means.stretch());
    let silent = whole.silent_percent().filter(|percent| is_between && *percent >= STOOD_STILL_PERCENT)?;
    let (length, answer) = (whole.usual_stall()?, model.load.busy? / model.rate);
    (length >= LONG_SILENCE * answer).then(|| {
        format!(
            "in {silent:.0} % of the time nobody was answered, for {length:.2} s at a time as a rule, and what stood still is not seen: the server, \
             this program, or what is between them"
        )
    })
}

/// Part of the time, in percent, from which on silences hide what binds between client and server.
const STOOD_STILL_PERCENT: f64 = 20.0;
/// So many times as long as an answer takes a silence is none that comes of few requests.
const LONG_SILENCE: f64 = 3.0;

/// Everything that had something to do on the machine waited for storage. No storage limit is known to have bound, and
/// no other limit would gain more than storage that is a fifth faster. CPUs that are idle meanwhile are no such limit.
fn stalled(model: &Model<'_>, bound: &[Found]) -> Option<String> {
    model.others()?;
    let stalled = model.means.column("io_stall").filter(|percent| *percent >= LEAST_STALLED_PERCENT)?;
    // The server says by name what its sessions waited for, and that may be storage elsewhere, as of a synchronous standby.
    let named = model.means.column("waiting_for_others").unwrap_or(0.0);
    if named >= stalled / 100.0 * model.load.sessions {
        return None;
    }
    let saved = stalled / 100.0 * (1.0 - 1.0 / MORE);
    let gain = 100.0 * saved / (1.0 - saved);
    let is_idle = |found: &Found| {
        found.rule.station() == Some(Station::Cpu) && found.used.as_ref().is_some_and(|used| used.part < FULL_CPU)
    };
    let explains = |found: &Found| is_storage(found) || (found.gain_percent >= gain && !is_idle(found));
    (!bound.iter().any(explains)).then(|| {
        format!(
            "for {stalled:.0} % of the time every active process on the machine waited for storage; the engine's own waits do not show this"
        )
    })
}

fn is_storage(found: &Found) -> bool {
    STORAGE.contains(&found.rule.limit)
}

/// Sessions that use more cores than they are would use so many more, or not.
fn in_parallel(model: &Model<'_>, bound: &[Found]) -> Option<String> {
    let cpu = bound.iter().find(|found| found.rule.station() == Some(Station::Cpu))?.used.as_ref()?;
    let (cores, sessions) = (parallel(model.means, model.load)?, model.load.sessions);
    (cpu.part < FULL_CPU).then(|| {
        format!("{sessions:.0} sessions used {cores:.2} cores, so they work in parallel; how many more cores they would use is unknown")
    })
}

/// More would be gained from what sessions did of which nothing was seen than from any limit.
fn unexplained(model: &Model<'_>, found: &[Found], named: usize) -> Option<String> {
    let (sessions, busy) = (model.load.sessions, model.load.busy?.min(model.load.sessions));
    // Threads that are ready to run are seen by the machine, whoever it is that holds them up.
    let mut seen = model.computing().max(neighbours::runnable(model.means).unwrap_or(0.0));
    for (columns, station) in WAITS {
        let waited = model.means.sum(columns).unwrap_or(0.0);
        let queued = station.map_or(0.0, |station| model.rate * model.network.time_at(station as usize));
        seen += waited.max(queued * model.means.moving);
    }
    // What the server names is seen, although no limit that is watched would shorten it.
    seen += model.means.column("waiting_for_others").unwrap_or(0.0) + outside::in_pipe(model.means);
    // What is between client and server is known to be there.
    seen += found.iter().find(|one| one.rule.limit == BETWEEN).and_then(|one| one.waiting).unwrap_or(0.0);
    let client = model.means.column("waiting_for_client").unwrap_or(0.0);
    let unseen = (busy - seen).min(sessions - seen - client);
    let gain = model.less_elsewhere(unseen * (1.0 - 1.0 / MORE));
    let first = found.first().filter(|_| named > 0).map_or(0.0, |first| first.gain_percent);
    if unseen < LEAST_UNSEEN * busy || gain < NAMED_PERCENT.max(first) {
        return None;
    }
    // All waited for storage meanwhile, and storage it is that is named.
    let stalled = model.others().and_then(|_| model.means.column("io_stall")).unwrap_or(0.0);
    if stalled >= 100.0 * unseen / busy && found[..named].first().is_some_and(is_storage) {
        return None;
    }
    let disk = model.means.each_of("disk_busy").into_iter().find(|(_, busy)| *busy >= 1.0);
    let disk =
        disk.map_or(String::new(), |(name, busy)| format!("; the disk {name} was busy for {busy:.0} % of the time"));
    let sees_waits = WAITS.iter().any(|(columns, _)| model.means.sum(columns).is_some());
    let rest = format!("of {busy:.1} sessions with a request under way, {unseen:.1}");
    let did = match (model.sees_cpu(), sees_waits) {
        (true, true) => format!("{rest} neither computed nor waited for anything that the samples show"),
        (true, false) => {
            format!("{rest} did not compute; what they waited for is unknown, because the samples have no waits")
        }
        (false, true) => format!("{rest} waited for nothing that the samples show; whether they computed is unknown"),
        (false, false) => format!(
            "what {busy:.1} sessions with a request under way did is unknown: the samples have neither the server's CPU nor its waits"
        ),
    };
    Some(did + &disk)
}

/// Part of the time from which a fifth faster storage is worth a word, in percent.
const LEAST_STALLED_PERCENT: f64 = 20.0;
/// Limits of storage, and those that are met by it.
const STORAGE: [&str; 6] = ["data_iops", "data_bandwidth", "data_io", "log_write", "memory", "device"];
/// Sessions of others, for each of ours, from which it matters what they do.
const STRANGERS_PART: f64 = 0.2;
/// Part of the busy sessions that is not explained by chance.
const LEAST_UNSEEN: f64 = 0.2;
