//! Modelled hardware: disks, blobs, stripes, governors, a CPU quota. Says when an I/O or a piece of work is through.
//!
//! Pure: no I/O, no clock, no global randomness. A [`Spec`] describes a machine: devices, what lies
//! on them, caps, CPU, memory, and where each limit comes from. What limits the way to a device is read off it ([`Spec::way`]).
//! A [`Machine`] runs it: a function of its [`Spec`], its seed and the calls made on it. Inside, time is integer picoseconds and work is integer too; floating point occurs only when a
//! specification is read and when a percentage is shown, and there only `+ - * /`. So results are the same to the last
//! bit on every machine.
//!
//! How an I/O gets through:
//! 1. its bytes and its I/Os are booked on every limit it meets, all at the same moment: the device's governor, the
//!    caps shared with other devices, and the limits of the disks it falls on ([`Volume`]);
//! 2. the latest of these ends is when the limits have let it through (`throttled` until there);
//! 3. each disk adds its latency; the I/O is done when its last part is.
//!
//! Left out everywhere: the position of a disk's head, caches of a disk or a host, and reordering. An I/O keeps its
//! place in the queue, which is the limit's backlog.

mod blob;
mod bought;
mod bucket;
mod ceilings;
mod client;
mod cpu;
mod device;
mod disk;
mod governor;
mod io;
mod latency;
mod limit;
mod machine;
mod meter;
mod neighbour;
mod origin;
mod placement;
mod spec;
mod time;
mod volume;
mod way;

pub use blob::{Blob, Tier};
pub use bought::{ACCOUNT, BoughtDisk, BoughtVolume, KnownLatency, VM, known_as};
pub use client::ClientSpec;
pub use cpu::{CpuSpec, CpuWork};
pub use device::{Cap, DeviceSpec};
pub use disk::{Disk, LARGEST_IO_BYTES};
pub use io::{Done, Io, Kind};
pub use latency::Latency;
pub use limit::{Burst, Limit, LimitKind, Limits, Rate};
pub use machine::{Machine, Resource};
pub use meter::{Grain, Meter};
pub use neighbour::Neighbour;
pub use origin::{LimitHolder, Origin};
pub use placement::{DeviceId, PlacedFile, Placement, Role};
pub use spec::{Raise, Spec, SpecError};
pub use volume::{Layout, SLAB_BYTES, Volume};
pub use way::{Way, WayLimit};
