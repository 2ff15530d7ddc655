//! Restores of physical backups: the backup is made, comes back as another database, and that is compared with the first.

use std::fs;
use std::path::Path;

use plimsoll_engine::{Result, Transfer};
use plimsoll_measurement::units;

use super::watch::Watch;
use super::{AFTER_SIZE, BACKUP, FREE_RESERVE, Source, guard_folder, verify};
use crate::scratch::Scratch;
use crate::step::Context;

/// Says what a backup of this database takes, and refuses one that this machine has no room for: it is there twice, as the
/// backup and as what becomes of it.
///
/// # Errors
/// If there is no room.
pub(super) fn weigh(context: &mut Context<'_>, transfer: &mut dyn Transfer, source: &mut Source) -> Result<()> {
    let Some(bytes) = transfer.backup_bytes(&source.workspace) else {
        context.warn("how much a backup takes on this machine can't be seen from here");
        return Ok(());
    };
    context.facts.insert("backup_bytes".to_owned(), bytes.into());
    // What others write meanwhile comes along.
    let needed = bytes.saturating_mul(2).saturating_add(bytes / 2).saturating_add(FREE_RESERVE);
    guard_folder("backup and what is restored of it", needed)?;
    if let Some(own) = transfer.bytes(&source.workspace).filter(|own| *own < bytes) {
        source.own = Some((source.content_bytes, own));
        source.content_bytes = at_density(source.content_bytes, own, bytes);
        source.page_bytes = bytes;
        // The whole server comes along, and the label says so.
        if let Some(size) = source.prefix.strip_suffix(AFTER_SIZE) {
            source.prefix = format!("{size} of {}{AFTER_SIZE}", units::format_bytes(bytes));
        }
    }
    Ok(())
}

/// Says where a backup is of more than our database.
pub(super) fn tell(context: &mut Context<'_>, source: &Source) {
    if let Some((_, own)) = source.own {
        context.warn(format!(
            "a backup of this engine has all that its server has, {} of which {} are ours: rates are of as much content as \
             our pages have",
            units::format_bytes(source.page_bytes),
            units::format_bytes(own)
        ));
    }
}

/// Content that so many bytes have where `own` of them have this much.
fn at_density(content: u64, own: u64, bytes: u64) -> u64 {
    (content as f64 * (bytes as f64 / own.max(1) as f64)) as u64
}

/// Bytes of the files in a folder.
fn folder_bytes(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(of).sum()
}

/// Backs up, restores and compares.
pub(super) fn restore(context: &mut Context<'_>, transfer: &mut dyn Transfer, source: &Source) -> Result<()> {
    // It outlives the server that is started in it, and goes whatever happens.
    let scratch = Scratch::make(transfer.programs())?;
    let folder = scratch.path();
    let mut watch = Watch::new(context, source);
    watch.begin(BACKUP)?;
    transfer.back_up(&source.workspace, &folder, &mut watch)?;
    if let Some((content, own)) = source.own {
        // Now it is known how much there was to move.
        let moved = folder_bytes(&folder);
        watch.moves(at_density(content, own, moved), moved);
    }
    let restored =
        transfer.restore(&folder, &source.target, &mut watch).and_then(|restored| watch.end().map(|()| restored));
    let outcome = restored.and_then(|restored| {
        let parameters = context.parameters;
        let database = restored.elsewhere.as_deref().unwrap_or(context.database);
        verify(&mut context.within(database, parameters, context.phase), source.wanted, &restored.workspace)
    });
    outcome.and(transfer.remove(&source.target))
}
