//! The run's own place at a target: room for it, what others left beside it, and its end.

use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::{Database, Error, ErrorKind, Lease, Result, Workspace, WorkspaceKind, WorkspaceStatus};
use plimsoll_measurement::units;

use super::plan::Plan;
use crate::interrupt::Interrupt;
use crate::parameters::Parameters;
use crate::step::kind::LEAST_FREE_BYTES;

/// Volumes beyond this are refused where the free space can't be known.
const LARGEST_UNCHECKED_BYTES: u64 = 64 << 40;

/// Room that is left on the target's disk whatever a test asks for; requests leave more.
const RESERVE_BYTES: u64 = 16 << 20;

/// How long a target may take to answer after an interrupt before it is left alone.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// How often a lease that still stands is tried again, and after which pause: five seconds in all.
const LEASE_TRIES: u32 = 50;
const LEASE_PAUSE: Duration = Duration::from_millis(100);

/// Removes the run's own place, unless its server is not waited for any more. A lease that still stands on it is the server's, which has not noticed our end yet.
pub fn remove_own(
    database: &dyn Database,
    workspace: &Workspace,
    interrupt: &Interrupt,
    clock: &dyn Clock,
) -> Result<()> {
    let unwaited = || Error::new(ErrorKind::Lost, "the server was not waited for any longer");
    if interrupt.is_silent() {
        return Err(unwaited());
    }
    // A line that we broke ourselves is not the server's doing.
    let is_ours = |error: &Error| interrupt.is_over() && matches!(error.kind, ErrorKind::Lost | ErrorKind::Connect);
    remove_leaseless(database, workspace, interrupt, clock)
        .map_err(|error| if is_ours(&error) { unwaited() } else { error })
}

/// Why what the run made is still there, if it is. Who may make nothing has nothing to remove; who could not go on in the middle of
/// making may have.
pub(super) fn stays(removed: Result<()>, has_begun: bool, outcome: &Result<()>) -> Option<Error> {
    let made_nothing = !has_begun && outcome.as_ref().is_err_and(|error| error.kind == ErrorKind::Permission);
    removed.err().filter(|error| !made_nothing || error.kind != ErrorKind::Permission)
}

/// Whether nothing of the run's own place is found at the end, as somebody moved, renamed or removed it.
pub(super) fn is_gone(database: &dyn Database, workspace: &Workspace, interrupt: &Interrupt) -> bool {
    let is_there = |all: Vec<WorkspaceStatus>| all.iter().any(|status| status.workspace == *workspace);
    if interrupt.is_silent() {
        return false;
    }
    match database.workspaces() {
        Ok(all) => !is_there(all),
        // The folder or the database in which it was.
        Err(error) => error.kind == ErrorKind::Missing,
    }
}

/// Somebody else who removes the place, or looks whether it can be removed, has its lease meanwhile: that passes.
fn remove_leaseless(
    database: &dyn Database,
    workspace: &Workspace,
    interrupt: &Interrupt,
    clock: &dyn Clock,
) -> Result<()> {
    for _ in 0..LEASE_TRIES {
        if database.remove(workspace)? || !database.workspaces()?.iter().any(|status| status.workspace == *workspace) {
            return Ok(());
        }
        if interrupt.is_over() {
            break;
        }
        clock.sleep(LEASE_PAUSE);
    }
    Err(Error::new(ErrorKind::Busy, "its lease still stands"))
}

/// Lets a lease fall; where the server is silent in a thread of its own, since that waits for an answer.
pub fn give_back(lease: Box<dyn Lease>, is_silent: bool) {
    if is_silent {
        let _ = std::thread::Builder::new().name("lease".to_owned()).spawn(move || drop(lease));
    }
}

/// Removes the places of runs without a lease. Kept data sets stay; they are for `plimsoll clean --data`.
pub(super) fn remove_leftovers(database: &dyn Database, warnings: &mut Vec<String>) -> Result<()> {
    let mut removed = 0;
    if database.end_orphans()? > 0 {
        warnings.push("sessions of a killed run were still working on the target and were ended".to_owned());
    }
    let workspaces = database.workspaces()?;
    if workspaces
        .iter()
        .any(|status| status.workspace.kind() == WorkspaceKind::Run && status.leased && status.not_ours.is_none())
    {
        warnings.push("another run was working on the target at the start: the two measure each other".to_owned());
    }
    for status in workspaces {
        // What is not ours is none of a run's business; plimsoll clean lists it.
        if status.workspace.kind() != WorkspaceKind::Data && status.is_left() {
            match database.remove(&status.workspace) {
                Ok(gone) => removed += u32::from(gone),
                // Another user's leftovers must not stand in our way.
                Err(error) => {
                    warnings
                        .push(format!("{} of a run that has ended could not be removed: {error}", status.workspace));
                }
            }
        }
    }
    if removed > 0 {
        warnings.push(format!(
            "what {removed} run{} that had ended left behind was removed first",
            if removed == 1 { "" } else { "s" }
        ));
    }
    Ok(())
}

/// Refuses what would not fit, before anything is changed.
pub(super) fn guard_space(plan: &Plan<'_>, parameters: &Parameters, database: &dyn Database) -> Result<()> {
    let places = database.workspaces()?;
    let page_bytes = database.description().page_bytes;
    let needed = plan.definition.steps.iter().map(|step| {
        let kept = (step.kept_data)(parameters, page_bytes);
        (step.space_bytes)(parameters, kept.is_some_and(|kept| places.iter().any(|status| status.workspace == kept)))
    });
    let needed = needed.fold(0, u64::saturating_add);
    let makes_requests = plan.definition.steps.iter().any(|step| step.makes_requests);
    let rest = if makes_requests { LEAST_FREE_BYTES } else { RESERVE_BYTES };
    let hint = "ask for less with --set volume=..., or free some space";
    match database.free_bytes() {
        Some(free) if needed.saturating_add(rest) > free => {
            let [needed, rest, free] = [needed, rest, free].map(units::format_bytes);
            Err(Error::new(
                ErrorKind::Safety,
                format!(
                    "the test may take {needed} and leaves {rest} free, but only {free} are free on the target's disk"
                ),
            )
            .hint(hint))
        }
        None if needed > LARGEST_UNCHECKED_BYTES => {
            let needed = units::format_bytes(needed);
            Err(Error::new(
                ErrorKind::Safety,
                format!("the test may take {needed}, and the target's free space can't be seen from here"),
            )
            .hint(hint))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a folder where files can be made and not removed (`chattr +a`) making fails half-way, for a reason that is no right.
    #[test]
    fn what_could_be_made_in_part_and_not_removed_is_told() {
        let failed = |kind| Err(Error::new(kind, "no"));
        let is_told = |removed, has_begun, outcome| stays(failed(removed), has_begun, &outcome).is_some();
        assert!(is_told(ErrorKind::Permission, false, failed(ErrorKind::Statement)));
        assert!(is_told(ErrorKind::Permission, true, Ok(())));
        assert!(is_told(ErrorKind::Lost, false, failed(ErrorKind::Permission)));
        assert!(!is_told(ErrorKind::Permission, false, failed(ErrorKind::Permission)));
        assert!(stays(Ok(()), true, &Ok(())).is_none());
    }
}
