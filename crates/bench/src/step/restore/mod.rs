//! Restores of physical backups (reference, 2.14): the backup is made, comes back as another database, and that is compared with
//! the first.

use std::fs;
use std::path::Path;

use plimsoll_engine::transfer::{Move, RESTORE, START};
use plimsoll_engine::work::Work;
use plimsoll_engine::{Follow as _, Result, Transfer, confined};
use plimsoll_measurement::units;

use crate::figures::series::{Measured, Series};
use crate::scratch::{self, Scratch};
use crate::step::context::Keep;
use crate::step::kind::{Consent, StepKind};
use crate::step::transfer::figures::{Largest, seconds};
use crate::step::transfer::moves::{At, Moving, expects, kind, measure};
use crate::step::transfer::source::{FREE_RESERVE, Source, guard_folder};
use crate::step::transfer::watch::{BACKUP, Watch};

const RESTORE_WAY: Moving = Moving { what: Move::Restore, check: |_, _, _| Ok(()), weigh: weigh_all, move_one };

/// A physical backup of a whole database and its restore.
pub(super) const KIND: StepKind = StepKind {
    expects: |ran, ask| expects(&[Work::Restore], ran, ask),
    consent: |_| Some(Consent::Databases { backups: true }),
    tidy_machine: || {
        scratch::remove_leftovers();
    },
    ..kind("restore", || measure(&RESTORE_WAY), figures)
};

/// How fast pages came back, how fast they were backed up, and how long a server took to start on them.
fn figures(measured: &Measured<'_>) -> Vec<Series> {
    let of_size = Largest::of(&measured.points);
    let starts = of_size.of_repetitions(|points| Some(seconds(points, START)).filter(|seconds| *seconds > 0.0));
    vec![
        of_size.rate("restore_rate", RESTORE, RESTORE),
        of_size.rate("backup_rate", BACKUP, RESTORE),
        of_size.series("start_time", "s", starts, Some("until a server answers on what was restored".to_owned())),
    ]
}

/// Where a backup is of all that a server has, it has all of them.
fn weigh_all(keep: &mut Keep<'_>, transfer: &mut dyn Transfer, sources: &mut [Source]) -> Result<()> {
    if !transfer.programs().is_empty() && !confined::is_possible() {
        keep.warn("this system confines no programs (landlock): what is restored is held to its folder by a look at the backup alone");
    }
    sources.iter_mut().try_for_each(|source| weigh(keep, transfer, source))?;
    let Some(largest) = sources.last() else { return Ok(()) };
    if let Some(((_, own), all)) = largest.own.zip(largest.page_bytes) {
        keep.warn(format!(
            "a backup of this engine has all that its server has, {} of which {} are ours: rates are of as much content as \
             our pages have",
            units::format_bytes(all),
            units::format_bytes(own)
        ));
    }
    Ok(())
}

fn move_one(
    At { target, transfer, .. }: &mut At<'_, '_>,
    keep: &mut Keep<'_>,
    source: &Source,
    scratch: &mut Option<Scratch>,
) -> Result<()> {
    // It outlives the server that is started in it, and goes whatever happens.
    let scratch = scratch.insert(Scratch::make(transfer.programs())?);
    let folder = scratch.path();
    let mut watch = Watch::new(target, keep, source);
    watch.stage(BACKUP)?;
    let backed_up = transfer.back_up(&source.workspace, &folder, &mut watch);
    scratch.check().and(backed_up)?;
    if let Some((content, own)) = source.own {
        // Now it is known how much there was to move.
        let moved = folder_bytes(&folder);
        watch.moves(at_density(content, own, moved), moved);
    }
    let restored = transfer.restore(&folder, &source.target, &mut watch);
    let restored = scratch.check().and(restored)?;
    watch.end()?;
    let database = restored.elsewhere.as_deref().unwrap_or(target.database);
    source.verify(&target.at(database), keep, &restored.workspace)
}

/// Says what a backup of this database takes, and refuses one that this machine has no room for. It is there twice, as the
/// backup and as what becomes of it.
///
/// # Errors
/// If there is no room.
fn weigh(keep: &mut Keep<'_>, transfer: &mut dyn Transfer, source: &mut Source) -> Result<()> {
    let Some(bytes) = transfer.backup_bytes(&source.workspace) else {
        keep.warn("how much a backup takes on this machine can't be seen from here");
        return Ok(());
    };
    keep.fact("backup_bytes", bytes);
    // What others write meanwhile comes along.
    let needed = bytes.saturating_mul(2).saturating_add(bytes / 2).saturating_add(FREE_RESERVE);
    guard_folder("backup and what is restored of it", needed)?;
    if let Some(own) = transfer.bytes(&source.workspace).filter(|own| *own < bytes) {
        source.own = Some((source.content_bytes, own));
        source.content_bytes = at_density(source.content_bytes, own, bytes);
        source.page_bytes = Some(bytes);
        // The whole server comes along, and the label says so.
        if let Some(size) = &mut source.size {
            size.along = Some(bytes);
        }
    }
    Ok(())
}

/// Content that so many bytes have where `own` of them have this much.
fn at_density(content: u64, own: u64, bytes: u64) -> u64 {
    (content as f64 * (bytes as f64 / own.max(1) as f64)) as u64
}

fn folder_bytes(folder: &Path) -> u64 {
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(of).sum()
}
