//! What the log did while rows were loaded: bytes written to it, and what the server's sessions waited for.

use plimsoll_engine::{Result, Sampler, Session};
use plimsoll_measurement::{Counter, Moment, WaitRow};

use crate::interrupt::CancelGuard;
use crate::step::context::{Keep, Target};
use crate::step::probe::Probe;
use plimsoll_telemetry::views;

/// Looks before and after; empty outside the stage in which rows are loaded.
#[derive(Default)]
pub(super) struct Evidence(Option<Looks>);

struct Looks {
    session: Box<dyn Session>,
    _watched: CancelGuard,
    /// Log bytes since the last point.
    probe: Probe,
    server: Option<Box<dyn Sampler>>,
    waits: Vec<WaitRow>,
    start: Moment,
}

impl Evidence {
    /// The rows begin to come in.
    pub(super) fn begin(target: &Target<'_>, keep: &Keep<'_>) -> Result<Self> {
        let (mut session, watched) = target.session(target.workspace)?;
        let mut probe = Probe::new(target.database);
        probe.start(session.as_mut())?;
        let mut server = target.database.process_sampler();
        let waits = waits(&mut server)?;
        let start = keep.time.clock.now();
        Ok(Self(Some(Looks { session, _watched: watched, probe, server, waits, start })))
    }

    /// Bytes of the log since this was last asked; `None` where the engine doesn't count those of others' sessions.
    pub(super) fn log_bytes(&mut self) -> Result<Option<u64>> {
        let Some(looks) = &mut self.0 else { return Ok(None) };
        looks.probe.stop(looks.session.as_mut())?;
        let bytes = looks.probe.count(Counter::LogWriteBytes).filter(|bytes| *bytes > 0);
        looks.probe.start(looks.session.as_mut())?;
        Ok(bytes)
    }

    /// The rows are in: the waits of the repetition are those of now.
    pub(super) fn end(&mut self, keep: &mut Keep<'_>) -> Result<()> {
        let Some(mut looks) = self.0.take() else { return Ok(()) };
        let after = waits(&mut looks.server)?;
        let elapsed = keep.time.clock.now().since(looks.start).as_secs_f64();
        let waits = views::waits(&looks.waits, &after, elapsed);
        waits.warning("waits").into_iter().for_each(|warning| keep.warn(warning));
        keep.repetition.waits = waits.rows;
        Ok(())
    }
}

fn waits(server: &mut Option<Box<dyn Sampler>>) -> Result<Vec<WaitRow>> {
    server.as_mut().map_or_else(|| Ok(Vec::new()), |server| Ok(server.views()?.waits))
}
