//! What a reading of a server's sampler costs: CPU time of this program and of the server's processes, and how long it takes.
//! `cargo run -p plimsoll-testbed --example sampling_cost -- postgres|mariadb [READINGS] [SESSIONS] [NAME=VALUE...]`; the further
//! words are settings of the server, which has so many sessions that are open and do nothing.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_clock::{Clock, RealClock};
use plimsoll_engine::{ClaimMode, Credentials, Database, Engine, Target, Workspace, process};
use plimsoll_mysql::MySql;
use plimsoll_postgres::Postgres as PostgresEngine;
use plimsoll_testbed::{MariaDb, Postgres};

/// Between two readings: long enough that sleeping is counted as well, as it would be at one a second.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |index: usize, otherwise: usize| words.get(index).and_then(|word| word.parse().ok()).unwrap_or(otherwise);
    let (readings, sessions) = (number(1, 600), number(2, 1));
    let settings = words.iter().filter_map(|word| word.split_once('='));
    if words.first().is_some_and(|word| word == "mariadb") {
        let server =
            settings.fold(MariaDb::builder(), |builder, (name, value)| builder.setting(name, value)).start()?;
        return measure(&MySql, &server.socket_url("test"), (readings, sessions));
    }
    let server = settings.fold(Postgres::builder(), |builder, (name, value)| builder.setting(name, value)).start()?;
    measure(&PostgresEngine, &server.socket_url("postgres"), (readings, sessions))
}

fn measure(engine: &dyn Engine, url: &str, (readings, sessions): (usize, usize)) -> Result<(), Box<dyn Error>> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::new());
    let database = engine.open(&Target::parse(url)?, &Credentials::default(), Arc::clone(&clock))?;
    let workspace = Workspace::run("cost")?;
    let lease = database.claim(&workspace, ClaimMode::Exclusive)?.ok_or("the place is taken")?;
    let open: Vec<_> = (0..sessions).map(|_| database.session(&workspace, &workspace)).collect::<Result<_, _>>()?;
    let mut sampler = database.server_sampler()?.ok_or("there is no sampler")?;
    let values = sampler.sample()?.len();
    let (ours, theirs) = (process::thread_cpu_seconds(), servers_seconds(&*database));
    let mut waited = Duration::ZERO;
    for _ in 0..readings {
        let start = clock.now();
        sampler.sample()?;
        waited += clock.now().since(start);
        clock.sleep(PAUSE);
    }
    let ms = |seconds: f64| 1e3 * seconds / readings as f64;
    writeln!(
        std::io::stdout(),
        "{readings} readings of {values} values beside {sessions} sessions, each: ours {:.3} ms of CPU, the server's {:.3} ms, {:.3} ms of time",
        ms(process::thread_cpu_seconds() - ours),
        ms(servers_seconds(&*database) - theirs),
        ms(waited.as_secs_f64()),
    )?;
    drop((open, sampler, lease));
    Ok(())
}

fn servers_seconds(database: &dyn Database) -> f64 {
    let all = database.server_pids().into_iter().flat_map(process::tree);
    all.filter_map(process::cpu_seconds).sum()
}
