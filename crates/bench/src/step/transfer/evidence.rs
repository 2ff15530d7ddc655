//! What the log did while rows were loaded: bytes written to it, and what the server's sessions waited for.

use plimsoll_engine::{Result, Sampler, Session};
use plimsoll_measurement::{Counter, Moment, WaitRow};

use crate::interrupt::CancelGuard;
use crate::step::context::{Keep, Target};
use crate::step::probe::Probe;
use plimsoll_telemetry::views;

/// Looks before and after the stage in which rows are loaded.
pub(super) struct Evidence {
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
        Ok(Self { session, _watched: watched, probe, server, waits, start })
    }

    /// Bytes of the log since this was last asked; `None` where the engine doesn't count those of others' sessions.
    pub(super) fn log_bytes(&mut self) -> Result<Option<u64>> {
        self.probe.stop(self.session.as_mut())?;
        let bytes = self.probe.count(Counter::LogWriteBytes).filter(|bytes| *bytes > 0);
        self.probe.start(self.session.as_mut())?;
        Ok(bytes)
    }

    /// The rows are in: the waits of the repetition are those of now.
    pub(super) fn end(mut self, keep: &mut Keep<'_>) -> Result<()> {
        let after = waits(&mut self.server)?;
        let elapsed = keep.time.clock.now().since(self.start).as_secs_f64();
        let waits = views::waits(&self.waits, &after, elapsed);
        waits.warning("waits").into_iter().for_each(|warning| keep.warn(warning));
        keep.repetition.waits = waits.rows;
        Ok(())
    }
}

fn waits(server: &mut Option<Box<dyn Sampler>>) -> Result<Vec<WaitRow>> {
    server.as_mut().map_or_else(|| Ok(Vec::new()), |server| Ok(server.views()?.waits))
}
