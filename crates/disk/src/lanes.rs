//! Lanes of operations on the test file, for the load engine: by threads that block, by a ring, or on a modelled volume.

mod modelled;
mod pool;
#[cfg(target_os = "linux")]
mod uring;

use plimsoll_engine::{Error, ErrorKind};
use plimsoll_load::lane::{Amount, Outcome};
use plimsoll_measurement::{Cell, Operation};

pub use self::modelled::ModelledLane;
pub use self::pool::PoolLane;
#[cfg(target_os = "linux")]
pub use self::uring::UringLane;
use crate::error;

/// Kinds of operations of a cell as recorders count them: reads and writes apart where both are made.
pub fn kinds(cell: &Cell) -> Vec<String> {
    match cell.operation.known() {
        Some(Operation::Mixed) => ["read", "write"].map(|kind| format!("{}: {kind}", cell.label)).to_vec(),
        _ => vec![cell.label.clone()],
    }
}

/// The place of a kind among [`kinds`].
fn kind(cell: &Cell, writes: bool) -> usize {
    usize::from(writes && cell.operation == Operation::Mixed)
}

/// What an operation of a cell came to that moved so many bytes, or failed.
///
/// # Errors
/// If no operation of this kind can succeed, so that all others would fail as well.
fn outcome(moved: std::io::Result<usize>, cell: &Cell) -> Result<Outcome, Error> {
    match moved {
        Ok(moved) if moved as u64 == cell.operation_bytes() => {
            Ok(Outcome::Answered(Amount { rows_examined: 0, rows: 0, content_bytes: moved as u64 }))
        }
        Ok(_) => Ok(Outcome::Failed(error::SHORT)),
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            let message = format!("the file system refuses operations of {} bytes ({error})", cell.block_bytes);
            Err(Error::new(ErrorKind::Unsupported, message)
                .hint("choose blocks that are multiples of the device's own, or measure with --buffered"))
        }
        Err(error) => Ok(Outcome::Failed(error::class(&error))),
    }
}

/// Whether what a read brought is what belongs there; `first_wrong` knows the first byte of the file that is not.
///
/// # Errors
/// If it is not: then no figure of this disk is worth anything.
fn checked(outcome: Outcome, first_wrong: impl FnOnce() -> Option<u64>) -> Result<(), Error> {
    let Outcome::Answered(_) = outcome else { return Ok(()) };
    first_wrong().map_or(Ok(()), |byte| {
        let message = format!("the disk gave back something else than what was written: at byte {byte} of the test file");
        Err(Error::new(ErrorKind::NoResult, message).hint(
            "trust it with no data before its cause is known: see the kernel's log, and repeat with --keep-file to look at the file",
        ))
    })
}

/// A lane always has something to do.
fn nothing_left() -> Error {
    Error::new(ErrorKind::Internal, "a test file always has something to read or write")
}

#[cfg(test)]
mod tests;
