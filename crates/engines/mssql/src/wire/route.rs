//! Learns where a gateway sends us on to. The driver follows such a route by itself and says so in its log alone; so this listens to
//! that one line of the log, in the thread that connects. Tests with a gateway hold the line's words.

use std::cell::RefCell;
use std::fmt;
use std::sync::LazyLock;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Metadata, Subscriber, dispatcher, span};

/// The module of the driver that follows routes.
const MODULE: &str = "mssql_tds::connection_provider::tds_connection_provider";
/// What its line begins with; the host in quotes and the port follow.
const LINE: &str = "Redirection to: ";

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

static LISTENER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Listener));

/// Connects, and gives beside the outcome the server (`host:port`) that we were sent on to last.
pub(super) fn followed<T>(connect: impl FnOnce() -> T) -> (T, Option<String>) {
    LAST.take();
    let outcome = dispatcher::with_default(&LISTENER, connect);
    (outcome, LAST.take())
}

/// Hears that one module and nothing else.
struct Listener;

fn is_heard(metadata: &Metadata<'_>) -> bool {
    metadata.target() == MODULE && metadata.is_event()
}

impl Subscriber for Listener {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_heard(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        is_heard(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Line);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Line;

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message"
            && let Some(place) = place(&format!("{value:?}"))
        {
            LAST.set(Some(place));
        }
    }
}

/// `host:port` of a line.
fn place(line: &str) -> Option<String> {
    let (host, rest) = line.strip_prefix(LINE)?.strip_prefix('"')?.split_once('"')?;
    let port: String = rest.trim_start_matches([',', ' ']).chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_from_the_driver_s_line() {
        let line = r#"Redirection to: "n1.worker.database.windows.net", 11003, database: None"#;
        assert_eq!(place(line).unwrap(), "n1.worker.database.windows.net:11003");
        assert_eq!(place("Resolved 1 transport context(s)"), None);
    }
}
