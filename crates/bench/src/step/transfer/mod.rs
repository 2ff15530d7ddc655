//! Whole databases on the move (reference, 2.14), for the kinds of steps that import, copy and restore them: what they have in
//! common.

pub mod evidence;
pub mod figures;
pub mod moves;
pub mod source;
pub mod watch;
