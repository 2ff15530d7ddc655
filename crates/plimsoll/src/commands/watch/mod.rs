//! `plimsoll watch`: what statements a server's load is made of, slot by slot, and how much of it is known. What was watched is kept in
//! the store, and shown, compared and exported from there.

mod activity;
mod alerts;
mod beside;
mod chart;
mod checked;
mod collect;
mod collector;
mod compared;
mod counted;
mod counters;
mod exported;
mod files;
mod filters;
mod job;
mod keeper;
mod limits;
mod listed;
mod live;
mod marked;
pub mod metrics;
mod names;
mod news;
mod pace;
mod plans;
mod ranges;
mod reopened;
mod rows;
mod saved;
mod saver;
mod show;
mod shown;
mod stored;
mod sums;
mod tables;
mod workload;

pub use self::beside::Beside;
use crate::args::{Watch, WatchAction};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Watches a server, or shows what was watched.
pub fn watch(options: &Watch, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    match (&options.action, &options.target) {
        (Some(WatchAction::Check(options)), _) => checked::check(options, settings, printer),
        (Some(WatchAction::Job(options)), _) => job::job(options, settings, printer),
        (Some(WatchAction::List { json, source }), _) => listed::list(*json, source, settings, printer),
        (Some(WatchAction::Mark(options)), _) => marked::mark(options, settings, printer),
        (Some(WatchAction::Show(options)), _) => shown::show(options, settings, printer),
        (Some(WatchAction::Compare(options)), _) => compared::compare(options, settings, printer),
        (Some(WatchAction::Export(options)), _) => exported::export(options, settings, printer),
        (None, Some(url)) => collect::watch(url, options, settings, printer),
        (None, None) => Err(Failure::usage("no server is named").hint("plimsoll watch URL")),
    }
}
