//! The kinds of steps that are built in: a line for each folder beside this file.

use super::kind::Kinds;
use super::{commits, copy, import, join, level_change, memory, requests, restore, scan, write};

/// All of them, in the order in which they are listed.
pub const BUILT_IN: Kinds = Kinds(&[
    &scan::KIND,
    &write::KIND,
    &join::KIND,
    &memory::KIND,
    &requests::KIND,
    &commits::KIND,
    &import::KIND,
    &copy::KIND,
    &restore::KIND,
    &level_change::KIND,
]);
