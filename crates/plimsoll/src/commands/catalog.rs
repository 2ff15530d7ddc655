//! `plimsoll catalog`: published figures with date, source and basis, and what they come to at full use.

use std::fmt::Write as _;

use plimsoll_analysis::maximum::theoretical_maximum;
use plimsoll_catalog::{Catalog as Facts, DiskLevel, Figure, Match, Metric};
use plimsoll_measurement::{exit, units};

use crate::args::Catalog;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints what a query finds.
pub fn catalog(options: &Catalog, printer: &Printer) -> Result<u8, Failure> {
    let facts = Facts::builtin()?;
    let (found, disks) = (facts.search(&options.query), facts.search_disks(&options.query));
    if found.is_empty() && disks.is_empty() {
        let editions: Vec<&str> = facts.editions().iter().map(|edition| edition.name.as_str()).collect();
        let mut levels: Vec<&str> = facts.levels().map(|at| at.level.name.as_str()).collect();
        levels.sort_unstable();
        levels.dedup();
        let mut services: Vec<&str> = facts.disk_levels().map(|disk| disk.service.as_str()).collect();
        services.dedup();
        return Err(Failure::usage(format!("the catalogue has nothing about '{}'", options.query)).hint(format!(
            "levels are {}; editions are {}; disks are those of {}",
            levels.join(", "),
            editions.join(", "),
            services.join(", ")
        )));
    }
    let mut text = String::new();
    for hit in &found {
        describe(hit, &mut text);
    }
    for disk in disks {
        describe_disk(disk, &mut text);
    }
    printer.result(text.trim_end());
    Ok(exit::DONE)
}

fn describe(hit: &Match<'_>, text: &mut String) {
    let (edition, level) = (hit.edition, hit.level);
    let _ = writeln!(text, "{}/{}@{}  ({})", edition.service, level.name, edition.name, edition.as_of);
    if let Some(dtu) = &level.dtu {
        let _ = writeln!(text, "  {} DTU ({})", dtu.value, dtu.basis.name());
    }
    for figure in &hit.figures {
        let label = figure.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
        let rows = figure.join_rows.map(|rows| format!(" N = {rows}")).unwrap_or_default();
        let name = format!("{}{rows}{label}", figure.metric.name());
        let _ = writeln!(text, "  {name:<34} {:<24} {}, {}", figure.to_string(), figure.basis.name(), figure.source);
        let note = figure.note.as_ref().map(|note| format!("note: {note}"));
        for line in [at_full_use(figure), for_a_database(figure), note].into_iter().flatten() {
            let _ = writeln!(text, "  {:<34} {line}", "");
        }
    }
    for note in &level.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text.push('\n');
}

fn describe_disk(disk: &DiskLevel, text: &mut String) {
    let _ = writeln!(text, "{}/{}@{}  ({})", disk.service, disk.name, disk.edition, disk.as_of);
    let _ = writeln!(text, "  {}: {disk}", disk.class);
    let _ = writeln!(text, "  {}, {}", disk.basis.name(), disk.source);
    if let Some(latency) = &disk.latency {
        let _ = writeln!(text, "  latency: {}", latency.claim);
    }
    for note in &disk.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text.push('\n');
}

/// What whole databases take at a rate at which they are moved: those of the tests that it comes from.
fn for_a_database(figure: &Figure) -> Option<String> {
    if !matches!(figure.metric, Metric::ImportRate | Metric::RestoreRate) {
        return None;
    }
    let time = |gigabytes: u64| {
        let seconds = units::seconds_at(gigabytes * 1024 * units::MB, figure.value?)?;
        Some(format!("{gigabytes} GB in {:.1} h", seconds / 3600.0))
    };
    Some(format!("{}, {}", time(2)?, time(36)?))
}

/// The theoretical maximum of a rate that was read below full use of its limit.
fn at_full_use(figure: &Figure) -> Option<String> {
    let percent = figure.utilisation_percent.filter(|percent| *percent < 100.0)?;
    let maximum = theoretical_maximum(figure.value?, percent, None)?;
    Some(format!("at 100 % instead of {percent} %: {} {}", units::format_significant(maximum.rate), figure.unit))
}
