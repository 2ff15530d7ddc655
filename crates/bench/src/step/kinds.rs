//! The kinds of steps that are built in: a line for each folder beside this file.

use super::kind::Kinds;
use super::{commits, copy, import, join, level_change, memory, requests, restore, scan, write};

/// All of them, in the order in which they are listed.
pub const BUILT_IN: Kinds = Kinds(&[
    &scan::Scans,
    &write::Writes,
    &join::Joins,
    &memory::MemoryKind,
    &requests::RequestsKind,
    &commits::CommitsKind,
    &import::Import,
    &copy::CopyKind,
    &restore::Restore,
    &level_change::LevelChanges,
]);
