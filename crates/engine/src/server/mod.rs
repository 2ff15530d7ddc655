//! What drivers for servers have in common: lines to them, their programs and the user's commands.

pub mod bounds;
pub mod breaker;
pub mod canceller;
pub mod cold;
pub mod errors;
pub mod guarded;
pub mod inbox;
pub mod lease;
pub mod lines;
pub mod link;
pub mod names;
pub mod place;
pub mod processes;
pub mod restart;
pub mod restored;
pub mod shell;
pub mod socket;
pub mod stream;
pub mod tls;
pub mod tool;
pub mod url;
