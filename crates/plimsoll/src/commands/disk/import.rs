//! `plimsoll disk import`: results of other tools, as runs in the store.

use std::path::Path;

use jiff::Timestamp;
use plimsoll_disk::import::{self, About, ImportError, Imported, Tool};
use plimsoll_engine::files;
use plimsoll_measurement::{Event, RunRecord, exit};

use super::bought::{bought, expected_percent};
use crate::args::Import;
use crate::commands::run::{build, present};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;

/// Reads all files before the first is stored: a wrong one leaves nothing behind.
pub fn import(options: &Import, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    let read = options.files.iter().map(|file| Ok((file, of_file(file)?))).collect::<Result<Vec<_>, Failure>>()?;
    let mut runs = Vec::new();
    if options.one_run {
        let (file, (tool, _)) = &read[0];
        if let Some((other, _)) = read.iter().find(|(_, (other, _))| other != tool) {
            let message = format!("{} is of another tool than {}", other.display(), file.display());
            return Err(Failure::usage(message).hint("leave out --one-run, and each file is a run of its own"));
        }
        let repetitions: Vec<Vec<Imported>> = read.iter().map(|(_, (_, runs))| runs.clone()).collect();
        runs.push(made(options, file, *tool, &repetitions)?);
    } else {
        for (file, (tool, results)) in &read {
            runs.push(made(options, file, *tool, std::slice::from_ref(results))?);
        }
    }
    let store = settings.open_store()?;
    for (events, record) in runs {
        store.append(&events)?;
        present(&record, options.json, printer)?;
    }
    Ok(exit::DONE)
}

fn of_file(file: &Path) -> Result<(Tool, Vec<Imported>), Failure> {
    let text = files::read_text(file, import::MOST_BYTES).map_err(|error| {
        Failure::usage(format!("cannot read {}: {error}", file.display())).hint("name a file of SQLIO, fio or DiskSpd")
    })?;
    import::read(&text).map_err(|error| refused(file, &error))
}

fn refused(file: &Path, error: &ImportError) -> Failure {
    let place = error.line.map(|line| format!(":{line}")).unwrap_or_default();
    Failure::usage(format!("{}{place}: {}", file.display(), error.problem))
        .hint("import the file as the tool wrote it; docs/DISKS.md says what is read of it")
}

type EventsAndRecord = (Vec<Event>, RunRecord);

fn made(options: &Import, file: &Path, tool: Tool, repetitions: &[Vec<Imported>]) -> Result<EventsAndRecord, Failure> {
    let written = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let written = written.and_then(|written| Timestamp::try_from(written).ok());
    let file_bytes = repetitions.iter().flatten().filter_map(|run| run.file_bytes).max().unwrap_or(0);
    let promise = bought(&options.bought, file_bytes, None)?;
    let advice = promise.iter().flat_map(|promise| promise.advice.clone());
    let under_way = |run: &Imported| u64::from(run.threads) * u64::from(run.queue_depth);
    // Those that ran at the same time keep disks at work together.
    let at_once = repetitions.iter().flat_map(|runs| runs.chunk_by(|_, next| next.is_beside()));
    let most = at_once.map(|runs| runs.iter().map(under_way).sum()).max().unwrap_or(1);
    let too_few = promise.as_ref().and_then(|promise| promise.too_few_under_way(most));
    let warnings = advice.chain(too_few).collect();
    let about = About {
        ceilings: promise.map(|promise| promise.ceilings).unwrap_or_default(),
        expected_percent: expected_percent(&options.bought)?,
        warnings,
        run_id: uuid::Uuid::now_v7().simple().to_string(),
        target: options.target.clone(),
        written_at: format!("{:.3}", written.unwrap_or(Timestamp::UNIX_EPOCH)),
        build: build(),
        campaign: options.campaign.clone(),
        label: options.label.clone(),
    };
    import::run(&about, tool, repetitions).map_err(|error| refused(file, &error))
}
