//! Sentences on locks, and on requests that failed in conflicts.

use plimsoll_measurement::units::significant;

use super::judged::{Found, LEAST_WAITING, Load};
use super::model::Model;
use super::outside;
use super::rules::{DATA_WAITS, LOCK_LIMIT, LOG_WAITS, TABLE_LOCKS, TABLES};

/// Part of the sessions that may hold a lock from which on it is what holders wait for.
const MOST_HOLDERS: f64 = 0.5;

/// The part of the requests' time between attempts that is worth a sentence.
const LEAST_BETWEEN: f64 = 0.05;

/// Attempts that were made again for a request from which on they are worth one where little time passed in between.
const LEAST_MADE_AGAIN: f64 = 0.01;

/// That requests were made again, which no wait for a lock shows.
pub(super) fn retried(load: &Load) -> Option<String> {
    if load.between_attempts >= LEAST_BETWEEN {
        return Some(format!(
            "{} % of the requests' time passed between an attempt that failed, as in a conflict, and the next one; the gains leave out what \
             requests without conflicts would bring",
            significant(100.0 * load.between_attempts)
        ));
    }
    (load.made_again >= LEAST_MADE_AGAIN).then(|| {
        format!(
            "{} of 100 requests were tried again after a deadlock or another conflict; a deadlock lasts until the server finds it \
             (PostgreSQL looks for one after deadlock_timeout)",
            significant(100.0 * load.made_again)
        )
    })
}

/// Which locks sessions wait for, and who holds them.
pub(super) fn locks(model: &Model<'_>, one: &Found) -> Option<String> {
    let (kind, ..) = (one.rule.limit == LOCK_LIMIT).then(|| model.locks())??;
    let holders = model.blocked().map(|(blocked, waiting)| {
        if blocked < LEAST_WAITING {
            ", which sessions of this run held".to_owned()
        } else if blocked >= waiting - LEAST_WAITING {
            ", which sessions of others held".to_owned()
        } else {
            format!(", which sessions of others held in {} % of the cases", significant(100.0 * blocked / waiting))
        }
    });
    let unknown = || if kind == TABLES { ", and this server does not say who held them" } else { "" }.to_owned();
    Some(format!("they waited for {kind}{}", holders.unwrap_or_else(unknown)))
}

/// What sessions that hold locks wait for meanwhile. Who waits for no lock may hold one; most of those are seen to wait for the same.
pub(super) fn holders(model: &Model<'_>) -> String {
    let column = |name: &str| model.means.column(name).unwrap_or(0.0);
    let free = model.load.sessions - column("waiting_for_lock") - column(TABLE_LOCKS);
    let of = |columns: &[&str]| columns.iter().map(|name| column(name)).sum::<f64>();
    let waits = [(&LOG_WAITS[..], "the log to be written"), (&DATA_WAITS[..], "data to be read or written")];
    let most =
        waits.into_iter().find(|(columns, _)| of(columns) >= MOST_HOLDERS * free && of(columns) >= LEAST_WAITING);
    let between = outside::sessions(model.means, model.load, model.rate).filter(|some| *some >= MOST_HOLDERS * free);
    if let Some(between) = between.filter(|_| most.is_none()) {
        return format!(
            "of {} sessions that waited for no lock, and so may hold one, {} had a request between client and server: what makes that faster \
             helps all who wait for them",
            significant(free),
            significant(between)
        );
    }
    most.map_or_else(
        || "what a session does while it holds such a lock keeps all others waiting".to_owned(),
        |(columns, what)| {
            format!(
                "of {} sessions that waited for no lock, and so may hold one, {} waited for {what}: what makes that faster helps all who wait for them",
                significant(free),
                significant(of(columns))
            )
        },
    )
}
