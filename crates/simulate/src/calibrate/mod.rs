//! From a measured run to what the same requests would get on other hardware.
//!
//! [`Evidence`] reads the run, [`Hardware`] is what it ran on or would run on, and [`Calibrated`] derives sets of parameters that the run
//! allows and holds them against it. [`Calibrated::predict`] simulates them on a target, and [`predicted`] makes a run record of that.
//! `docs/SIMULATE.md` has the equations.

mod counted;
mod demand;
mod elsewhere;
mod error;
mod evidence;
mod gains;
mod gather;
mod hardware;
mod judged;
mod load;
mod memory;
mod missing;
mod predict;
mod rate;
mod record;
mod replay;
mod sets;
mod statements;
mod telling;
mod usage;

pub use counted::{Counted, IoCount};
pub use demand::{Demand, Derived, LogMode, Manner, Unknown};
pub use error::CalibrationError;
pub use evidence::{Block, Evidence, What};
pub use hardware::{Hardware, Prices, RoleLimit};
pub use load::Load;
pub use memory::{Hits, hits_in};
pub use missing::LogRest;
pub use predict::{Calibrated, Prediction};
pub use rate::{LimitGain, Rate};
pub use record::{FROM_RUN, FROM_TARGET, predicted};
pub use replay::{Span, replay};
pub use sets::Set;
pub use statements::Statements;
pub use telling::Telling;
