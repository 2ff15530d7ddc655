//! Sentences that a person can check.

use super::conflicts::{holders, locks, retried};
use super::judged::{Beyond, Found, Judged, LEAST_WAITING, Used, is_shown};
use super::model::Model;
use super::neighbours;
use super::rules::{
    BETWEEN, CPU, Change, FASTER_CORES, LOCK_LIMIT, MACHINE_CPU, MEANINGS, NAMED_PERCENT, OTHERS_LET_GO, Rule, Station,
    WORKERS, WRITES,
};
use crate::maximum::{Maximum, Reservation};
use plimsoll_measurement::units::{significant, tenths};

/// States of MySQL's and MariaDB's threads that wait for the client, or for a CPU behind it.
const CLIENT_STATES: [&str; 3] = ["Writing to net", "Sending to client", "Reading from net"];

/// A part of a limit that is worth a sentence.
const LEAST_USED: f64 = 0.01;

/// Cores at work for somebody that are worth a word.
const LEAST_CORES: f64 = 0.01;

/// A part of the time that is worth a sentence.
const LEAST_STILL: f64 = 0.01;

/// Evidence for what is named, and for what is next.
pub(super) fn evidence(model: &Model<'_>, judged: &Judged, all_done: bool) -> Vec<String> {
    let Judged { found, named, maximum, faster_cores, .. } = judged;
    let mut sentences = Vec::new();
    if all_done {
        sentences.push("the target met the requested rate, so no limit held the requests back".to_owned());
    }
    sentences.extend(judged.beyond.map(|(beyond, sessions)| beyond_limits(model, beyond, sessions)));
    let still = Some(model.means.still).filter(|still| *still >= LEAST_STILL).map(|still| {
        format!(
            "for {} % of the time almost no work was done, while active sessions waited for a device",
            significant(100.0 * still)
        )
    });
    let (bound, rest) = found.split_at(*named);
    // Of a limit that others use as well they are a part of the answer.
    let is_shared = bound.first().is_some_and(|first| {
        first.used.as_ref().and_then(|used| used.ceiling.as_ref()).is_some_and(|one| one.resource == MACHINE_CPU)
    });
    sentences.extend(beside(model).filter(|_| is_shared));
    sentences.extend(retried(model.load));
    for (place, one) in bound.iter().enumerate() {
        if one.rule.change == Change::Unfrozen {
            sentences.extend(still.clone());
        }
        sentences.extend(one.used.as_ref().map(|used| {
            let (full, all) = model.nearly_full(one.rule);
            format!("{}, at 90 % or more in {full} of {all} intervals", stood(model, one, used))
        }));
        if place == 0 {
            sentences.extend(maximum.map(|maximum| at_full_use(model.rate, maximum)));
        }
        // Two limits of storage have the same waits.
        let of_waits =
            waited(model, one).into_iter().chain(at_cpu(model, one)).chain(locks(model, one)).chain(took(model, one));
        let of_waits = of_waits.chain(gathered(model, one));
        sentences.extend(of_waits.filter(|sentence| !sentences.contains(sentence)).collect::<Vec<_>>());
        if one.lift == FASTER_CORES {
            sentences.push("each session keeps a core busy, so more cores would not raise the rate".to_owned());
        }
        sentences.push(gain(model, one));
    }
    // What is not named comes behind what is.
    sentences.extend(still.filter(|sentence| !sentences.contains(sentence)));
    if judged.in_locks {
        sentences.push(holders(model));
    }
    sentences.extend(bound.first().and_then(behind));
    if *named == 0 {
        let most = found.iter().filter(|one| one.waiting.is_some_and(|waiting| waiting >= LEAST_WAITING));
        if let Some(one) = most.max_by(|a, b| a.waiting.unwrap_or(0.0).total_cmp(&b.waiting.unwrap_or(0.0))) {
            sentences.extend(waited(model, one).into_iter().chain(gathered(model, one)));
        }
    }
    if *named == 0 && !all_done && judged.beyond.is_none() {
        sentences.push(format!(
            "by the model, no known limit would raise the rate by {NAMED_PERCENT} % or more if there were a fifth more of it"
        ));
    }
    if let Some(gain) = faster_cores {
        let more = found.iter().find(|one| one.rule.limit == CPU).map_or(0.0, |one| one.gain_percent);
        let more = if is_shown(more) {
            format!("20 % more cores by {} %", tenths(more))
        } else {
            "more cores would not raise it".to_owned()
        };
        sentences.push(format!(
            "a session uses one core at a time: by the model, {FASTER_CORES} would raise the rate by about {} %, and {more}",
            tenths(*gain)
        ));
    }
    sentences.extend(beside(model).filter(|_| !is_shared));
    sentences.extend(squeezed(model));
    sentences.extend(by_name(model));
    if let Some(others) = model.strangers().filter(|others| *others >= LEAST_WAITING) {
        sentences.push(format!("on average, {} other sessions were active on the server", significant(others)));
    }
    // What comes next: the highest use of those that did not bind, and where most sessions were.
    let next =
        rest.iter().filter_map(|one| Some((one, one.used.as_ref()?))).filter(|(one, _)| one.rule.limit != "memory");
    if let Some((one, used)) =
        next.max_by(|(_, a), (_, b)| a.part.total_cmp(&b.part)).filter(|(_, used)| used.part >= LEAST_USED)
    {
        sentences.push(format!("next: {}", stood(model, one, used)));
    }
    if *named == 0 {
        let idle =
            model.load.busy.map(|busy| model.load.sessions - busy).filter(|idle| *idle >= model.load.sessions / 2.0);
        sentences.extend(idle.map(|idle| {
            format!(
                "{} of {} sessions had no request under way on average: they thought, or waited for their turn",
                significant(idle),
                significant(model.load.sessions)
            )
        }));
    }
    sentences
}

/// What so many sessions did that no limit stands for.
fn beyond_limits(model: &Model<'_>, beyond: Beyond, sessions: f64) -> String {
    let all = model.load.sessions;
    let of = format!("{} of {} sessions", significant(sessions.min(all)), significant(all));
    match beyond {
        Beyond::Asleep => format!("{of} slept, as their statements requested"),
        Beyond::Retrying => format!("{of} waited to try a request again that had failed in a conflict"),
        Beyond::Named => {
            let most = named_waits(model).first().map(|(name, _)| format!(", most of all {}", called(name)));
            format!("{of} waited inside the server for what no limit stands for{}", most.unwrap_or_default())
        }
    }
}

/// What a pool of connections hides.
fn behind(first: &Found) -> Option<String> {
    let text = "if it is a pool that our own looks at the server pass as well, what those wait for that it lets through is not seen: another limit \
                may lie behind it";
    (first.rule.limit == BETWEEN).then(|| text.to_owned())
}

/// What is known where there is not enough evidence for a verdict: what sessions did, and what each limit stood at.
pub(super) fn known(model: &Model<'_>, found: &[Found]) -> Vec<String> {
    let sessions = significant(model.load.sessions);
    let mut waits: Vec<(f64, &str)> = Vec::new();
    for one in found {
        let Some((waiting, what)) = one.waiting.zip(waited_for(model, one.rule)) else { continue };
        if waiting >= LEAST_WAITING && !waits.iter().any(|(_, known)| *known == what) {
            waits.push((waiting.min(model.load.sessions), what));
        }
    }
    waits.sort_by(|a, b| b.0.total_cmp(&a.0));
    let waits: Vec<String> = waits.iter().map(|(waiting, what)| format!("{} {what}", significant(*waiting))).collect();
    let waits = (!waits.is_empty()).then(|| format!("of {sessions} sessions, on average {}", waits.join(", ")));
    let mut used: Vec<&Found> = found.iter().filter(|one| part_of(one) >= LEAST_USED).collect();
    used.sort_by(|a, b| part_of(b).total_cmp(&part_of(a)));
    used.dedup_by_key(|one| one.rule.limit);
    let told = |one: &&Found| Some(stood(model, one, one.used.as_ref()?));
    let used = used.iter().take(MOST_NAMES).filter_map(told);
    let gathers = found.iter().find_map(|one| gathered(model, one));
    let threads = found.iter().find_map(|one| at_cpu(model, one));
    let all = waits.into_iter().chain(threads).chain(retried(model.load)).chain(by_name(model)).chain(gathers);
    all.chain(used).chain(beside(model)).chain(squeezed(model)).collect()
}

fn part_of(one: &Found) -> f64 {
    one.used.as_ref().map_or(0.0, |used| used.part)
}

/// An engine without processes of its own works in ours.
fn works_elsewhere(model: &Model<'_>) -> bool {
    model.means.column("server_cpu").is_some()
}

/// Who works for the run on this machine.
fn own(model: &Model<'_>) -> &'static str {
    if works_elsewhere(model) { "the server and the client" } else { "this process" }
}

/// The owner of the CPU.
fn whose(model: &Model<'_>) -> String {
    let users = [
        ("server_cpu", "the server's"),
        ("client_cpu", if works_elsewhere(model) { "our client's" } else { "this process's" }),
        ("other_cpu", "other processes'"),
        ("kernel_cpu", "the kernel's own"),
        ("stolen_cpu", "taken by the machine's host"),
    ];
    let known = users.iter().filter_map(|(column, whose)| Some((model.means.column(column)?, whose)));
    let parts: Vec<String> = known
        .filter(|(cores, _)| *cores >= LEAST_CORES)
        .map(|(cores, whose)| format!("{} {whose}", significant(cores / model.means.moving)))
        .collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// What sessions waited for by the server's own names, the longest first, and how many. Some looks count sessions of others as well.
fn named_waits<'m>(model: &Model<'m>) -> Vec<(&'m str, f64)> {
    let mut waits = model.means.each_of("waiting");
    for (name, sessions) in &mut waits {
        if CLIENT_STATES.contains(name) {
            *sessions *= model.part_at_client();
        }
    }
    waits.retain(|(_, sessions)| *sessions >= LEAST_WAITING);
    waits.sort_by(|a, b| b.1.total_cmp(&a.1));
    waits
}

/// A wait's name, with what is meant by it.
fn called(name: &str) -> String {
    let meaning = MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, words)| format!(", {words}"));
    format!("{name}{}", meaning.unwrap_or_default())
}

/// The same in a sentence.
fn by_name(model: &Model<'_>) -> Option<String> {
    let of = |(name, sessions): &(&str, f64)| {
        format!("{} ({})", called(name), significant(sessions.min(model.load.sessions)))
    };
    let told: Vec<String> = named_waits(model).iter().take(MOST_NAMES).map(of).collect();
    (!told.is_empty()).then(|| {
        format!(
            "of {} sessions, on average so many waited inside the server for: {}",
            significant(model.load.sessions),
            told.join(", ")
        )
    })
}

/// Names of waits in a sentence.
const MOST_NAMES: usize = 4;

/// What other programs on the machine used, and what that cost the server.
fn beside(model: &Model<'_>) -> Option<String> {
    let (cores, all) = neighbours::at_work(model.means, model.ceilings)?;
    let waited = neighbours::queued(model.means, model.ceilings)?;
    let cost = if neighbours::gave_way(model.means, model.ceilings, model.load) {
        "so they did not slow it"
    } else {
        "with theirs and its own work"
    };
    // The kernel counts one wait with the other.
    let is_held = model.means.column("server_throttled").is_some_and(|percent| percent >= THROTTLED_PERCENT);
    let quota = if is_held { " or for its quota" } else { "" };
    Some(format!(
        "other processes used {} of {} cores; on average {} threads of {} waited for a core{quota}, {cost}",
        significant(cores),
        significant(all),
        significant(waited),
        own(model)
    ))
}

/// A limit of memory that leaves the system no room to keep the pages of the data, so that reads of them come to the device.
fn squeezed(model: &Model<'_>) -> Option<String> {
    let (limit, used) = model.full_group()?;
    Some(format!(
        "the {} lets the server use {} MB, and with the pages of files that the system keeps for it it used {} MB: with more, fewer reads would \
         come to the device",
        limit.source,
        significant(limit.value),
        significant(used)
    ))
}

/// A quota that held back in so many percent of its periods.
const THROTTLED_PERCENT: f64 = 10.0;

/// What a limit would bring; a range where looks at moments leave it so wide that its middle alone would mislead.
fn gain(model: &Model<'_>, one: &Found) -> String {
    let about = tenths(one.gain_percent);
    let error = model.means.chance(one.rule.waits).filter(|_| one.used.is_none());
    let with = |more: f64| model.gain_with(one, more);
    let range = error.and_then(|error| Some((with(-error)?.max(0.0), with(error)?)));
    let range = range.filter(|(low, high)| high - low > WIDE * one.gain_percent);
    let range = range.map_or(String::new(), |(low, high)| {
        format!(" ({} to {} % within the chance of {} looks)", tenths(low), tenths(high), model.means.looks())
    });
    // What sessions come to behind the lock is not seen while they wait for it.
    // Nor is what its holders use of the server, if they are others.
    let have_work = one.lift == OTHERS_LET_GO && model.strangers().is_some_and(|others| others >= AT_WORK);
    let open = match one.rule.limit {
        LOCK_LIMIT if have_work => " or more, as what those sessions use of the server would be free as well",
        LOCK_LIMIT => ", or by more or less by what they would wait for next",
        _ => "",
    };
    format!("by the model, {} would raise the rate by about {about} %{range}{open}", one.lift)
}

/// Other sessions that are at work so often use more than a trifle of the server.
const AT_WORK: f64 = 0.5;

/// A range of gains is told from this part of its middle on.
const WIDE: f64 = 0.5;

/// What is used of a ceiling, where that is another thing than the limit's own: I/Os of a device are no writes of the log.
fn of_device(used: &Used) -> Option<&'static str> {
    let resource = used.ceiling.as_ref()?.resource.as_str();
    DEVICES.iter().find(|(start, _)| resource.starts_with(start)).map(|(_, words)| *words)
}

/// Ceilings of devices by how their names begin, and what they are of.
const DEVICES: [(&str, &str); 4] = [
    ("log_disk_write", "writes of the log's disk"),
    ("disk_read", "reads of the disk"),
    ("disk_write", "writes of the disk"),
    ("log_disk", "I/Os of the log's disk"),
];

/// How far a limit was used.
fn stood(model: &Model<'_>, one: &Found, used: &Used) -> String {
    let percent = significant(100.0 * used.part);
    let words = of_device(used).unwrap_or(one.rule.words);
    // What stood still for a part of the time was used for the rest of it, and the percentage is of that.
    let value = significant(used.value / model.means.moving);
    let when = if model.means.still >= LEAST_STILL { "while work was done" } else { "on average" };
    let when = match used.columns.iter().find_map(|column| model.means.gaps(column)) {
        Some((known, all)) if known > 0 => format!("{when}, by {known} of {all} intervals"),
        _ => when.to_owned(),
    };
    match &used.ceiling {
        Some(ceiling) if one.rule.limit == CPU && ceiling.resource == MACHINE_CPU => {
            // The kernel also writes what other programs left in its cache: nobody says for whom its threads work.
            let has_kernel = model.means.column("kernel_cpu").is_some_and(|cores| cores >= LEAST_CORES);
            let users = if neighbours::are_measured(model.means, model.ceilings) {
                let kernel = if has_kernel { ", with the kernel's own threads" } else { "" };
                format!("of {}{kernel}, other programs left out,", own(model))
            } else {
                "of the whole machine".to_owned()
            };
            format!(
                "{words} {users} stood at {percent} % {when}: {value} of {} {}{}",
                significant(ceiling.value),
                ceiling.unit,
                whose(model)
            )
        }
        Some(ceiling) => format!(
            "{words} stood at {percent} % of the limit {when}: {value} of {} {} ({})",
            significant(ceiling.value),
            ceiling.unit,
            ceiling.source
        ),
        None => format!("{words} stood at {percent} % of the limit {when}, as the engine or the machine says"),
    }
}

/// What a limit would let through if it were used to the full.
fn at_full_use(rate: f64, maximum: Maximum) -> String {
    let more = significant(100.0 * (maximum.rate / rate - 1.0));
    match maximum.reservation {
        None => format!("at full use of this limit the rate would be {more} % higher, its theoretical maximum"),
        Some(Reservation::CpuBusy) => "no theoretical maximum is given, because the CPU may fill up first".to_owned(),
        Some(Reservation::CpuUnknown) => format!(
            "at full use of this limit the rate would be {more} % higher, unless the CPU fills up first; CPU use is unknown"
        ),
    }
}

/// The sessions that waited for it.
fn waited(model: &Model<'_>, one: &Found) -> Option<String> {
    let waiting = one.waiting.filter(|waiting| *waiting >= LEAST_WAITING)?;
    let sessions = model.load.sessions;
    let what = waited_for(model, one.rule)?;
    // Sessions that are counted when somebody looks, unless some of them are known to have had another reason.
    let is_seen = model.means.sum(one.rule.waits).is_some_and(|seen| seen <= waiting);
    let looks = model.means.chance(one.rule.waits).filter(|_| is_seen);
    let looks = looks.map(|_| format!(", in {} looks", model.means.looks()));
    // Some servers call who has no request idle, and count few of those that wait for their client.
    if one.rule.station() == Some(Station::Client) && waiting < sessions / 2.0 {
        return None;
    }
    let seen = model.means.sum(one.rule.waits).filter(|_| !one.rule.waits.is_empty());
    let is_less = one.rule.station().is_some_and(|of| matches!(of, Station::Data | Station::Log))
        && seen.is_some_and(|seen| seen > WITHOUT_CPU * waiting);
    let less = if is_less { ", without the part of their waits in which they had no CPU" } else { "" };
    let queue =
        named_waits(model).into_iter().find(|(name, _)| one.rule.limit == WORKERS && name.starts_with("queue of"));
    let queue = queue.map(|(name, _)| format!(" ({name})")).unwrap_or_default();
    // Counted one after the other, more may be seen to wait than there are.
    Some(format!(
        "{} of {} sessions {what}{queue} on average{}{less}",
        significant(waiting.min(sessions)),
        significant(sessions),
        looks.unwrap_or_default()
    ))
}

/// Threads at the CPUs, where fewer sessions are seen there than do compute.
fn at_cpu(model: &Model<'_>, one: &Found) -> Option<String> {
    let is_unseen = one.rule.limit == CPU && one.waiting.is_none();
    let threads = model.threads_at_cpu().filter(|threads| is_unseen && *threads >= LEAST_WAITING)?;
    Some(format!("{} threads of the server had a core or waited for one on average", significant(threads)))
}

/// So many times as many sessions are seen to wait as do where it is worth a word.
const WITHOUT_CPU: f64 = 1.02;

/// What sessions do that wait for a limit.
pub(super) fn waited_for(model: &Model<'_>, rule: &Rule) -> Option<&'static str> {
    let write = rule.waits.contains(&WRITES) && model.means.column(WRITES).is_some_and(|some| some >= LEAST_WAITING);
    Some(match rule.limit {
        "cpu" if model.unnamed().is_some() => {
            "were active in the server, most of them neither on a CPU nor in a wait that it names"
        }
        "cpu" => "computed or waited for CPU",
        "data_iops" | "data_bandwidth" | "data_io" if write => "waited for data to be read or written",
        "data_iops" | "data_bandwidth" | "data_io" | "memory" => "waited for data to be read",
        "log_write" => "waited for the log to be written",
        "locks" => "waited for locks of other sessions",
        WORKERS => "waited until the server's limit of threads let them work",
        "client" => "waited for the client",
        BETWEEN => "had a request under way and were not seen to be worked on, neither at the server nor at the client",
        _ => return None,
    })
}

/// How long operations took, and how long while there was no need to wait.
fn took(model: &Model<'_>, one: &Found) -> Vec<String> {
    let told = |(what, ms, unthrottled): (&str, f64, Option<f64>)| {
        let against =
            unthrottled.map(|ms| format!(", against {} while at most half of the limit was used", significant(ms)));
        format!("{what} took {} ms on average{}", significant(ms), against.unwrap_or_default())
    };
    model.latencies(one.rule).into_iter().map(told).collect()
}

/// That sessions which wait for the log wait for each other for most of that time.
fn gathered(model: &Model<'_>, one: &Found) -> Option<String> {
    let many = LEAST_GATHERED * model.load.sessions;
    let waits = one.rule.station() == Some(Station::Log) && one.waiting.is_some_and(|waiting| waiting >= many);
    let flushed = model.flushed().filter(|part| waits && *part < MOSTLY_FLUSHED)?;
    let setting = model.load.commit_delay.as_ref();
    let why = setting.map_or("as in a group commit".to_owned(), |setting| format!("as {setting} asks"));
    Some(format!(
        "the log was written or synced in {} % of the time in which sessions waited for it; in the rest they waited for each other, {why}",
        significant(100.0 * flushed)
    ))
}

/// The part of the sessions from which on it is worth a word what those that wait for the log wait for.
const LEAST_GATHERED: f64 = 0.05;
/// The part of the time with sessions that wait for the log from which it is the log itself that they wait for.
const MOSTLY_FLUSHED: f64 = 0.7;
