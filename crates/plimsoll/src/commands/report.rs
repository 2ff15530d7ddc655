//! `plimsoll report`: stored runs as HTML, Markdown or CSV.

use std::io::Write as _;
use std::path::Path;

use plimsoll_measurement::{RunRecord, exit};
use plimsoll_report::{csv, html, markdown};
use plimsoll_store::{Filter, Store};

use super::multiples;
use crate::args::Report;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Writes the reports that were asked for.
pub fn report(options: &Report, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let store = settings.open_store()?;
    let mut records = records(options, store.as_ref())?;
    multiples::apply(&options.multiples, store.as_ref(), &mut records)?;
    if let Some(path) = &options.html {
        write(path, &page(&records, &options.title), printer)?;
    }
    if let Some(path) = &options.markdown {
        write(path, &markdown::report(&records), printer)?;
    }
    if let Some(path) = &options.csv {
        write(path, &csv::points(&records), printer)?;
    }
    Ok(exit::DONE)
}

/// The HTML page of these runs, made now.
pub fn page(records: &[RunRecord], title: &str) -> String {
    let now = jiff::Timestamp::now();
    html::report(records, &html::Options { title: title.to_owned(), generated_at: Some(format!("{now:.0}")) })
}

fn records(options: &Report, store: &dyn Store) -> Result<Vec<RunRecord>, Failure> {
    let mut ids = options.runs.clone();
    if let Some(campaign) = &options.campaign {
        let found = store.list(&Filter { campaign: Some(campaign.clone()), ..Filter::default() })?;
        if found.is_empty() {
            return Err(Failure::usage(format!("no run belongs to the campaign '{campaign}'"))
                .hint("'plimsoll runs' lists what there is"));
        }
        ids.extend(found.into_iter().rev().map(|run| run.run_id));
    }
    ids.iter().map(|id| store.load(id).map_err(Failure::from)).collect()
}

/// Writes a file beside its final name and renames it, so that a full disk leaves no half report. `-` is standard output.
pub fn write(path: &Path, text: &str, printer: &Printer) -> Result<(), Failure> {
    if path == Path::new("-") {
        printer.result(text);
        return Ok(());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: &std::io::Error| Failure::writing(path, error);
    let mut file = tempfile::Builder::new().prefix(".plimsoll-").tempfile_in(folder).map_err(|error| failed(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    // A temporary file is for its owner only; a report is an ordinary file.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(mode).map_err(|error| failed(&error))?;
    file.persist(path).map_err(|error| failed(&error.error))?;
    printer.remark(&format!("wrote {}", path.display()));
    Ok(())
}
