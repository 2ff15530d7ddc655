//! What steps can't do without: looked for before anything is made, and refused with what would give it.

use plimsoll_engine::{Database, Error, ErrorKind, Need, Result, Session, Table, Workspace};

use crate::interrupt::Interrupt;
use crate::schema;
use crate::step::probe::Probe;

/// An error if the target lacks one of these for a test of this name. A table of no rows is made in the workspace to see its size, and
/// goes again.
pub(super) fn check(
    database: &dyn Database,
    workspace: &Workspace,
    interrupt: &Interrupt,
    (test, needs): (&str, &[Need]),
) -> Result<()> {
    // What an engine in our own process counts is its session's, and takes no right. On modelled hardware a look would cost time.
    if needs.is_empty() || database.description().embedded {
        return Ok(());
    }
    interrupt.check()?;
    let mut session = database.session(workspace, workspace)?;
    let _watched = interrupt.watch(session.canceller());
    let there = met(database, session.as_mut(), needs)?;
    match needs.iter().find(|need| !there.contains(need)) {
        None => Ok(()),
        Some(need) => Err(lacking(database, test, *need)),
    }
}

/// Those of the needs that a session finds met.
///
/// # Errors
/// If the target can't be asked.
pub fn met(database: &dyn Database, session: &mut dyn Session, needs: &[Need]) -> Result<Vec<Need>> {
    let mut probe = Probe::new(database);
    probe.start(session)?;
    let mut there: Vec<Need> = probe.counted().map(Need::Counted).filter(|need| needs.contains(need)).collect();
    if needs.contains(&Need::TableSizes) {
        let table: Table = schema::cpu("size");
        session.create_table(&table)?;
        let is_seen = match session.table_size(&table) {
            Ok(size) => size.is_some(),
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            // A server that has other things to say of it.
            Err(_) => false,
        };
        session.drop_table(&table)?;
        there.extend(is_seen.then_some(Need::TableSizes));
    }
    Ok(there)
}

fn lacking(database: &dyn Database, test: &str, need: Need) -> Error {
    let message = format!("{test} needs {}, which can't be seen on this target", need.words());
    let missing = database.capabilities().into_iter().find(|it| !it.works && it.gives.contains(&need));
    let Some(missing) = missing else {
        return Error::new(ErrorKind::Unsupported, message)
            .hint("'plimsoll doctor URL' says what can be measured here");
    };
    let kind = if missing.is_right() { ErrorKind::Permission } else { ErrorKind::Unsupported };
    let error = Error::new(kind, format!("{message} ({} is missing)", missing.name));
    match missing.remedy {
        Some(remedy) => error.hint(remedy),
        None => error,
    }
}
