//! The second way of collecting, for servers where nobody may poll: a job at the server makes snapshots. `plimsoll watch job` prints what
//! installs it, and `plimsoll watch --snapshots` reads them.

use std::time::Duration;

use plimsoll_bench::Interrupt;
use plimsoll_engine::snapshots::{SnapshotJob, SnapshotTables};
use plimsoll_engine::{Database, Error, ErrorKind, Intents, QuerySampler};
use plimsoll_measurement::{exit, units};

use crate::args::WatchJob;
use crate::engines;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::signals;

/// How long snapshots may be kept at a server.
const LONGEST: Duration = Duration::from_hours(24 * 366);

/// Prints the statements by which whoever looks after a server installs a job. Nothing is made by us.
pub fn job(options: &WatchJob, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let tables = SnapshotTables::parse(&options.table)?;
    let every = time("--every", &options.every)?;
    let every_s = every.as_secs();
    if every.subsec_nanos() > 0 || !is_regular(every_s) {
        let message = format!("--every {}: no scheduler counts so", options.every);
        return Err(
            Failure::usage(message).hint("less than 60s, or minutes of which an hour has a whole number: 60s, 5m, 1h")
        );
    }
    let keep_s = time("--keep", &options.keep)?.as_secs();
    if keep_s < every_s.saturating_mul(2) {
        let message = format!("--keep {}: a snapshot has to be there until the next one is read", options.keep);
        return Err(Failure::usage(message).hint("at least twice --every; a day is usual: --keep 24h"));
    }
    let target = engines::parse(&options.target, settings, printer)?;
    let interrupt = Interrupt::default();
    signals::listen(&interrupt, printer)?;
    let opened = engines::open(&target, &options.access, &Intents::default(), &interrupt, printer);
    let failed = |error| signals::failure(&interrupt, error);
    let database = opened.database.map_err(failed)?;
    let _pulse = database.pulse().map(|pulse| interrupt.watch(pulse));
    let job = SnapshotJob { tables, every_s, keep_s };
    let sql = database.query_job(&job).and_then(|sql| sql.ok_or_else(|| unknown(target.display())));
    printer.result(sql.map_err(failed)?.trim_end());
    Ok(exit::DONE)
}

/// What reads the snapshots of a job.
///
/// # Errors
/// If there are none of that name, or they are not ours.
pub fn reader(database: &dyn Database, target: &str, tables: &SnapshotTables) -> Result<Box<dyn QuerySampler>, Error> {
    let reader = database.query_snapshots(tables)?.ok_or_else(|| unknown(target))?;
    Ok(Box::new(reader))
}

fn unknown(target: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("Plimsoll has no job for {target}"))
        .hint("it has one for PostgreSQL from version 14 on, MySQL and MariaDB; others are watched by polling (docs/WATCH.md)")
}

/// Whether cron and an hour can be divided so.
const fn is_regular(every_s: u64) -> bool {
    matches!(every_s, 1..60) || every_s > 0 && every_s.is_multiple_of(60) && 3600_u64.is_multiple_of(every_s)
}

fn time(option: &str, text: &str) -> Result<Duration, Failure> {
    let wrong =
        |problem: String| Failure::usage(format!("{option} {text}: {problem}")).hint("such as --every 60s --keep 24h");
    let time = units::parse_duration(text).map_err(|error| wrong(error.to_string()))?;
    if time > LONGEST {
        return Err(wrong(format!("it is at most {}", units::format_seconds(LONGEST.as_secs_f64()))));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_a_whole_number_of_times() {
        assert!([1, 7, 59, 60, 120, 300, 3600].into_iter().all(is_regular));
        assert!(![0, 61, 90, 420, 3540, 7200].into_iter().any(is_regular));
    }
}
