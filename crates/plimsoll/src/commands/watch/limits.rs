//! What limit is nearest: what sessions waited for, who held others up, and how many were connected.

use std::collections::BTreeMap;

use plimsoll_engine::queries::WaitClass;
use plimsoll_measurement::counters::Item;
use plimsoll_measurement::units;
use plimsoll_profile::Blocker;
use plimsoll_report::model::{Cell, Part, Table, Tone, format, number, scaled, text};
use serde_json::{Value, json};

use super::names::{self, SHORT_TEXT, Texts};
use super::sums::Sums;

/// Less than this part of the time of sessions is no limit worth a name.
const WORTH_A_NAME_PERCENT: f64 = 5.0;

/// From this part of its ceiling on, a limit is near.
const NEAR_PERCENT: f64 = 80.0;

/// Less than this part of the time of sessions that ended unseen is not worth a word.
const UNSEEN_PERCENT: f64 = 1.0;

/// With fewer sessions at work on average nothing is held up for long.
const IDLE_SESSIONS: f64 = 0.1;

/// Names of waits that belong to a class are kept behind it.
const OF_CLASS: &str = ": ";

fn class_of(wait: &str) -> &str {
    wait.split_once(OF_CLASS).map_or(wait, |(class, _)| class)
}

/// Time of sessions by what they waited for, the most first.
fn ranked<'s>(sums: &'s Sums, name_of: impl Fn(&'s str) -> &'s str) -> Vec<(&'s str, u64)> {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for ((_, wait), us) in &sums.waits {
        let sum = by_name.entry(name_of(wait)).or_default();
        *sum = sum.saturating_add(*us);
    }
    let mut ranked: Vec<_> = by_name.into_iter().collect();
    ranked.sort_by_key(|(_, us)| std::cmp::Reverse(*us));
    ranked
}

/// Time of sessions by the class of what they waited for, the most first.
pub fn classes(sums: &Sums) -> Vec<(&str, u64)> {
    ranked(sums, class_of)
}

/// The sum, or the most that there is.
fn all<'u>(times: impl Iterator<Item = &'u u64>) -> u64 {
    times.fold(0, |sum: u64, us| sum.saturating_add(*us))
}

/// Time of all sessions that samples saw at work, in microseconds.
pub fn seen_us(sums: &Sums) -> u64 {
    sums.seen_us()
}

/// What sessions waited for most while they were at work on a statement, and which part of their time there, in percent.
pub fn most_of(sums: &Sums, item: Item) -> Option<(&str, f64)> {
    let of_item = || sums.waits.iter().filter(move |((of, _), _)| *of == Some(item));
    let all = all(of_item().map(|(_, us)| us));
    let ((_, wait), us) = of_item().max_by_key(|(_, us)| **us)?;
    (all > 0).then(|| (wait.as_str(), 100.0 * *us as f64 / all as f64))
}

fn percent(part: u64, all: u64) -> String {
    format::percent(100.0 * part as f64 / all as f64).unwrap_or_default()
}

/// What limit is nearest, in a sentence; `None` if no samples were taken.
pub fn nearest(sums: &Sums) -> Option<String> {
    let sampled = sums.about.sampled.filter(|sampled| sampled.us > 0)?;
    let all = seen_us(sums);
    let sessions = all as f64 / sampled.us as f64;
    let crowded = sampled.session_limit.filter(|limit| *limit > 0).and_then(|limit| {
        let used = 100.0 * sampled.most_sessions as f64 / limit as f64;
        (used >= NEAR_PERCENT).then(|| {
            format!("The nearest limit is the number of sessions: {} of {limit} were connected.", sampled.most_sessions)
        })
    });
    if crowded.is_some() {
        return crowded;
    }
    if sessions < IDLE_SESSIONS {
        return Some("No limit is near: sessions were hardly ever at work when they were looked at.".to_owned());
    }
    let classes = classes(sums);
    // Time that a client takes, or that was asked for, is no limit of the server.
    let is_limit = |class: &str| class != WaitClass::Client.name() && class != WaitClass::Sleep.name();
    let found = classes.iter().copied().find(|(class, _)| is_limit(class));
    let found = found.filter(|(_, us)| 100.0 * *us as f64 >= WORTH_A_NAME_PERCENT * all as f64);
    let Some((class, us)) = found else {
        return Some("No limit of the server is near: sessions waited for their clients.".to_owned());
    };
    let share = percent(us, all);
    if class == WaitClass::Cpu.name() {
        let busy = us as f64 / sampled.us as f64;
        let held = match sampled.cpus {
            Some(cpus) => format!(
                "on average {} sessions computed, on {} of the machine ({} of them)",
                units::format_significant(busy),
                format::count(cpus as usize, "CPU"),
                format::percent(100.0 * busy / f64::from(cpus)).unwrap_or_default()
            ),
            None => format!(
                "on average {} sessions computed; how many CPUs the server has is not known",
                units::format_significant(busy)
            ),
        };
        return Some(format!("The nearest limit is CPU: sessions spent {share} of their time on it; {held}."));
    }
    let names: Vec<(&str, u64)> =
        ranked(sums, |wait| wait).into_iter().filter(|(wait, _)| class_of(wait) == class).collect();
    let named = names.iter().take(2).map(|(wait, us)| {
        let name = wait.split_once(OF_CLASS).map_or(*wait, |(_, name)| name);
        format!("{name} {}", percent(*us, all))
    });
    let named: Vec<String> = named.collect();
    Some(format!("The nearest limit is {class}: sessions spent {share} of their time on it ({}).", named.join(", ")))
}

/// Adds to the answer what limit is nearest, and who held others up.
pub fn say(part: &mut Part, sums: &Sums, texts: &Texts) {
    part.say(Tone::Plain, nearest(sums));
    part.say(Tone::Warning, held_up(sums, texts));
    // A commit that takes longer than its statement looks like that as well, for a moment.
    let is_much = |us: &u64| 100.0 * *us as f64 >= UNSEEN_PERCENT * seen_us(sums) as f64;
    let unseen =
        sums.all().values.get(plimsoll_measurement::counters::Measure::UnseenUs).filter(|us| *us > 0).filter(is_much);
    part.say(
        Tone::Plain,
        unseen.map(|us| {
            let time = units::format_seconds(us as f64 / 1e6);
            format!(
                "Statements that were seen for {time} ended and were counted nowhere: cancelled, failed or dropped."
            )
        }),
    );
}

/// Who held others up most, in a sentence.
pub fn held_up(sums: &Sums, texts: &Texts) -> Option<String> {
    let worst = sums.about.blockers.first()?;
    let waited = units::format_seconds(worst.blocked_us as f64 / 1e6);
    let most = format::count(usize::try_from(worst.most_blocked).unwrap_or(usize::MAX), "session");
    let who = blocker_name(worst, texts, SHORT_TEXT);
    Some(format!("Others waited {waited} for {who}, up to {most} at a time."))
}

fn blocker_name(blocker: &Blocker, texts: &Texts, most: usize) -> String {
    match blocker.item {
        Some(item) if blocker.state == "active" => format!("'{}'", names::name(item, texts, most)),
        Some(item) => format!("a session that is {} after '{}'", blocker.state, names::name(item, texts, most)),
        None => format!("a session whose statement is not known ({})", blocker.state),
    }
}

/// What sessions waited for, as a table.
pub fn waits(sums: &Sums, most: usize) -> Option<Table> {
    let (all, time_us) = (seen_us(sums), sums.about.sampled?.us.max(1));
    Table::of(
        ranked(sums, |wait| wait).into_iter().take(most),
        &[
            (text("Sessions waited for"), &|(wait, _)| (*wait).into()),
            (number("Share", "%"), &|(_, us)| (100.0 * *us as f64 / all as f64).into()),
            (number("Sessions", ""), &|(_, us)| (*us as f64 / time_us as f64).into()),
            (scaled("Time", "s"), &|(_, us)| Cell::quantity(*us as f64 / 1e6, "s")),
        ],
    )
}

/// Who held others up, as a table.
pub fn blockers(sums: &Sums, texts: &Texts) -> Option<Table> {
    Table::of(
        sums.about.blockers.iter(),
        &[
            (text("Held up by"), &|blocker| blocker_name(blocker, texts, SHORT_TEXT).into()),
            (scaled("Others waited", "s"), &|blocker| Cell::quantity(blocker.blocked_us as f64 / 1e6, "s")),
            (number("At most", "sessions"), &|blocker| blocker.most_blocked.into()),
            (text("At"), &|blocker| Cell::time(&super::ranges::shown(blocker.at_us))),
        ],
    )
}

/// The same for scripts.
pub fn json(sums: &Sums, texts: &Texts) -> Option<Value> {
    let sampled = sums.about.sampled?;
    let waits: Vec<Value> = ranked(sums, |wait| wait)
        .into_iter()
        .map(|(wait, us)| {
            let (class, name) = wait.split_once(OF_CLASS).map_or((wait, None), |(class, name)| (class, Some(name)));
            json!({"class": class, "wait": name, "us": us})
        })
        .collect();
    let blockers: Vec<Value> = sums
        .about
        .blockers
        .iter()
        .map(|blocker| {
            json!({
                "id": blocker.item.map(names::id), "text": blocker.item.and_then(|item| texts.get(&item)?.text.clone()),
                "state": blocker.state, "blocked_us": blocker.blocked_us, "most_blocked": blocker.most_blocked,
                "at": names::moment(blocker.at_us),
            })
        })
        .collect();
    let mut value = json!({
        "samples": sampled.samples, "seconds": sampled.us as f64 / 1e6, "active_us": seen_us(sums), "most_sessions": sampled.most_sessions,
        "session_limit": sampled.session_limit, "cpus": sampled.cpus, "waits": waits, "blockers": blockers,
    });
    without_unknown(&mut value);
    Some(value)
}

/// What is not known is absent.
fn without_unknown(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(without_unknown);
        }
        Value::Array(values) => values.iter_mut().for_each(without_unknown),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_profile::Sampled;

    fn sums(waits: &[(&str, u64)], sampled: Sampled) -> Sums {
        let mut sums = Sums::default();
        sums.about.sampled = Some(Sampled { samples: 10, us: 10_000_000, ..sampled });
        sums.waits = waits.iter().map(|(wait, us)| ((Some(Item(1)), (*wait).to_owned()), *us)).collect();
        sums
    }

    #[test]
    fn the_nearest_limit_is_where_sessions_spend_their_time() {
        let of = |waits: &[(&str, u64)], sampled| nearest(&sums(waits, sampled)).unwrap();
        let cpus = Sampled { cpus: Some(2), ..Sampled::default() };
        let said = of(&[("CPU", 18_000_000), ("the client: Client ClientRead", 30_000_000)], cpus);
        assert!(said.contains("nearest limit is CPU") && said.contains("37.5 %") && said.contains("90"), "{said}");
        let log =
            [("log writes: IO WALSync", 6_000_000), ("log writes: LWLock WALWrite", 5_000_000), ("CPU", 9_000_000)];
        let said = of(&log, cpus);
        assert!(said.contains("nearest limit is log writes") && said.contains("IO WALSync 30"), "{said}");
        assert!(of(&[("CPU", 500)], cpus).contains("No limit is near"));
        assert!(of(&[("the client: Client ClientRead", 9_000_000)], cpus).contains("waited for their clients"));
        let crowded = Sampled { most_sessions: 95, session_limit: Some(100), ..Sampled::default() };
        assert!(of(&log, crowded).contains("95 of 100"));
        assert_eq!(nearest(&Sums { covered_us: 5, ..Sums::default() }), None, "without samples nothing is known");
    }
}
