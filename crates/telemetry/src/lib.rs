//! What the engine and the machine say about themselves while a test runs.
//!
//! A [`recording`] asks both again and again, and makes [`columns`] of what they said. [`host`] reads the machine, when
//! the server is on it or when it is about ourselves. It gives cumulative counters, each with the window in which it
//! was read; [`deltas`] turns two readings into rates and use of limits, [`ceilings`] says which limits there are.
//! [`views`] is what was waited for and what files were read and written between two looks at an engine's cumulative
//! views; `files`, how far each file used limits of its own.

pub mod ceilings;
mod columns;
pub mod deltas;
mod files;
pub mod host;
mod look;
mod placed;
mod pulse;
pub mod recording;
pub mod views;

use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::Database;

pub use columns::{CLIENT, SERVER};
pub use recording::{Recording, Sources};

/// All samplers that can be asked about a target, and a sentence for each that can't be. In virtual time the machine
/// has no part in what happens, and is not asked.
pub fn sources(database: &dyn Database, clock: &Arc<dyn Clock>) -> (Sources, Vec<String>) {
    let mut warnings = Vec::new();
    let engine = database.server_sampler().unwrap_or_else(|error| {
        warnings.push(format!("the server could not be sampled, so what bound is known less well: {error}"));
        None
    });
    let host = (clock.kind() != "virtual").then(|| {
        let mut host = host::Sampler::new(Arc::clone(clock));
        host.watch(CLIENT, &[std::process::id()]);
        let server = database.server_pids();
        if !server.is_empty() {
            host.watch(SERVER, &server);
        }
        let folders = database.folders();
        for (role, folder) in [(host::Role::Data, folders.data), (host::Role::Log, folders.log)] {
            if let Some(folder) = folder {
                host.place(role, &folder);
            }
        }
        host
    });
    (Sources { engine, host }, warnings)
}
