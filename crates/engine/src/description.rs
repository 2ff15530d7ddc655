//! What is known of a target since it was opened.

use std::collections::BTreeMap;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::foreign::shown;

/// What the weakest isolation of an engine does to a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WeakIsolation {
    /// It changes how the scan works; the isolation's name.
    Effective(String),
    /// It is accepted and changes nothing; the reason.
    NoEffect(String),
}

/// The identity of a target, as it states it.
#[derive(Debug, Clone)]
pub struct Description {
    /// The engine's name, one of [`Engine::products`](crate::Engine::products).
    pub engine: String,
    /// Another engine, if it reads the SQL of that one as well: texts for that one will do where there are none for this one.
    pub relative: Option<&'static str>,
    /// The version that the server states.
    pub version: String,
    /// Settings that matter for a measurement, by their own names. They are printed and never used in an estimate.
    pub settings: BTreeMap<String, String>,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// True if the engine works on this machine.
    pub local: bool,
    /// True if it works in the threads of its sessions.
    pub embedded: bool,
    /// CPUs the engine may use; `None` for a server elsewhere.
    pub cpus: Option<u32>,
    /// What `read-scan-weak` will see.
    pub weak_isolation: WeakIsolation,
    /// What identifies server and database without secrets (host, port, database; device and file).
    pub fingerprint: String,
    /// What a user should know, such as a durable setting that is off.
    pub warnings: Vec<String>,
    /// What the target's memory is divided by, and so the volumes of a test should be; 1 for everything real.
    pub scale: u64,
    /// The edition of the catalogue that the target is built on.
    pub edition: Option<String>,
    /// The day of that edition, such as `2015-01-31`.
    pub edition_date: Option<String>,
    /// How long a page has to rest in the engine's cache before reading it again makes it one that is kept. Zero where
    /// every use counts.
    pub rest_before_reuse: Duration,
    /// How long after the fact [`Counter::MemoryPercent`](plimsoll_measurement::Counter::MemoryPercent) tells of it, where the
    /// engine averages over intervals. Zero where it is of now.
    pub memory_report_age: Duration,
}

/// The CPUs that this machine lets us use.
pub fn cpus_of_machine() -> Option<u32> {
    available_parallelism().ok().and_then(|cpus| u32::try_from(cpus.get()).ok())
}

impl Description {
    /// The same, with what the server said in a form that may be shown and kept.
    #[must_use]
    pub fn shown(self) -> Self {
        let settings = self.settings.iter().map(|(name, value)| (shown(name), shown(value))).collect();
        let warnings = self.warnings.iter().map(|warning| shown(warning)).collect();
        let weak_isolation = match self.weak_isolation {
            WeakIsolation::Effective(name) => WeakIsolation::Effective(shown(&name)),
            WeakIsolation::NoEffect(reason) => WeakIsolation::NoEffect(shown(&reason)),
        };
        let (version, fingerprint) = (shown(&self.version), shown(&self.fingerprint));
        Self { version, settings, weak_isolation, fingerprint, warnings, ..self }
    }

    /// A server elsewhere of which no more is known.
    pub fn new(engine: &str, version: String, page_bytes: u64, weak_isolation: WeakIsolation) -> Self {
        Self {
            engine: engine.to_owned(),
            relative: None,
            version,
            settings: BTreeMap::new(),
            page_bytes,
            local: false,
            embedded: false,
            cpus: None,
            weak_isolation,
            fingerprint: String::new(),
            warnings: Vec::new(),
            scale: 1,
            edition: None,
            edition_date: None,
            rest_before_reuse: Duration::ZERO,
            memory_report_age: Duration::ZERO,
        }
    }
}
