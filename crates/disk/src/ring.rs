//! One io_uring of one thread, with the file and the buffers that its operations use. The only place with `unsafe`: the crate
//! `io-uring` can't know how long memory lives that the kernel was told of, and this module keeps it as long as that.

#![expect(unsafe_code, reason = "the kernel reads and writes memory of ours after the call that told it of the memory")]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};

use crate::buffer::Buffers;

/// Entries of a ring at most; the kernel takes no more.
const MOST_ENTRIES: u32 = 32_768;

/// What makes a write durable after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// Its data, and what is needed to read it.
    Data,
    /// All of the file.
    All,
}

/// The end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The slot whose buffer it used.
    pub slot: usize,
    /// Bytes that it moved, or the system's error number below zero.
    pub result: i32,
}

/// A ring, its file and its buffers. Fields fall in their order: the ring first, so that the kernel has let go of the buffers.
pub struct Ring {
    uring: IoUring,
    buffers: Buffers,
    file: File,
    /// What the kernel holds a registered copy of.
    has_file: bool,
    has_buffers: bool,
    /// Told to the ring and not yet to the kernel.
    queued: usize,
    /// Told and not yet ended.
    under_way: usize,
    /// Ended, in order, and not yet given out.
    ended: VecDeque<(u64, i32)>,
    /// By slot: whether a sync follows its write, and what the write came to.
    linked: Vec<Option<i32>>,
}

/// The second of two linked entries.
const OF_SYNC: u64 = 1 << 63;

impl Ring {
    /// A ring that may have an operation under way for each buffer. It belongs to the thread that makes it.
    ///
    /// # Errors
    /// Those of the system, where it has no ring.
    pub fn new(file: File, mut buffers: Buffers) -> io::Result<Self> {
        let slots = buffers.count();
        // A write and its sync are two entries.
        let uring = build((2 * slots as u32).next_power_of_two().min(MOST_ENTRIES))?;
        // Registering saves work for each operation. It may fail for want of lockable memory, and all goes on without it.
        let has_file = uring.submitter().register_files(&[file.as_raw_fd()]).is_ok();
        let parts: Vec<libc::iovec> = (0..slots)
            .map(|slot| {
                let buffer = buffers.slot(slot);
                libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() }
            })
            .collect();
        // SAFETY: the memory belongs to `buffers`, which never moves or frees it while it lives, and which falls after the ring.
        let has_buffers = unsafe { uring.submitter().register_buffers(&parts) }.is_ok();
        let (linked, ended) = (vec![None; slots], VecDeque::with_capacity(2 * slots));
        Ok(Self { uring, buffers, file, has_file, has_buffers, queued: 0, under_way: 0, ended, linked })
    }

    /// How many operations may be under way.
    pub fn slots(&self) -> usize {
        self.buffers.count()
    }

    /// Operations that the kernel has not been told of yet.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Reads into the buffer of a slot that has nothing under way.
    ///
    /// # Errors
    /// If the ring has no room, which it has for each slot once.
    pub fn read(&mut self, slot: usize, offset: u64) -> io::Result<()> {
        let buffer = self.buffers.slot(slot);
        let (memory, length) = (buffer.as_mut_ptr(), buffer.len() as u32);
        let index = slot as u16;
        let entry = match (self.has_file, self.has_buffers) {
            (true, true) => opcode::ReadFixed::new(Fixed(0), memory, length, index).offset(offset).build(),
            (true, false) => opcode::Read::new(Fixed(0), memory, length).offset(offset).build(),
            (false, true) => opcode::ReadFixed::new(self.fd(), memory, length, index).offset(offset).build(),
            (false, false) => opcode::Read::new(self.fd(), memory, length).offset(offset).build(),
        };
        self.push(&entry.user_data(slot as u64))
    }

    /// Writes the buffer of a slot that has nothing under way, with content that no write had before; and makes it durable.
    ///
    /// # Errors
    /// If the ring has no room, which it has for each slot once.
    pub fn write(&mut self, slot: usize, offset: u64, durable: Option<Durable>) -> io::Result<()> {
        let buffer = self.buffers.fresh(slot);
        let (memory, length) = (buffer.as_ptr(), buffer.len() as u32);
        let index = slot as u16;
        let entry = match (self.has_file, self.has_buffers) {
            (true, true) => opcode::WriteFixed::new(Fixed(0), memory, length, index).offset(offset).build(),
            (true, false) => opcode::Write::new(Fixed(0), memory, length).offset(offset).build(),
            (false, true) => opcode::WriteFixed::new(self.fd(), memory, length, index).offset(offset).build(),
            (false, false) => opcode::Write::new(self.fd(), memory, length).offset(offset).build(),
        };
        let entry = entry.user_data(slot as u64);
        let Some(durable) = durable else { return self.push(&entry) };
        let flags = if durable == Durable::Data { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let sync = if self.has_file { opcode::Fsync::new(Fixed(0)) } else { opcode::Fsync::new(self.fd()) };
        let sync = sync.flags(flags).build();
        self.linked[slot] = Some(0);
        // The sync begins when the write has ended, and is cancelled if that failed.
        self.push(&entry.flags(Flags::IO_LINK))?;
        self.push(&sync.user_data(slot as u64 | OF_SYNC))
    }

    fn fd(&self) -> Fd {
        Fd(self.file.as_raw_fd())
    }

    fn push(&mut self, entry: &Entry) -> io::Result<()> {
        // SAFETY: the entry names the buffer of a slot and the file. Both belong to this ring and live until it has fallen, which
        // waits for all that is under way. Nobody else can reach the buffer: no method gives it out.
        let pushed = unsafe { self.uring.submission().push(entry) };
        pushed.map_err(|full| io::Error::other(full.to_string()))?;
        self.queued += 1;
        self.under_way += 1;
        Ok(())
    }

    /// Tells the kernel of what is queued, without waiting.
    ///
    /// # Errors
    /// Those of the system.
    pub fn submit(&mut self) -> io::Result<()> {
        let told = retried(|| self.uring.submit())?;
        self.queued = self.queued.saturating_sub(told);
        Ok(())
    }

    /// Tells the kernel of what is queued, and waits until something has ended, so long at most.
    ///
    /// # Errors
    /// Those of the system; that the time is over is none.
    pub fn wait(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        let told = match at_most {
            None => retried(|| self.uring.submit_and_wait(1)),
            Some(time) => {
                let time = Timespec::from(time);
                let arguments = SubmitArgs::new().timespec(&time);
                retried(|| self.uring.submitter().submit_with_args(1, &arguments))
            }
        };
        match told {
            Ok(told) => self.queued = self.queued.saturating_sub(told),
            // The entries were taken all the same.
            Err(error) if error.raw_os_error() == Some(libc::ETIME) => self.queued = self.uring.submission().len(),
            Err(error) => return Err(error),
        }
        self.ended.extend(self.uring.completion().map(|entry| (entry.user_data(), entry.result())));
        Ok(())
    }

    /// The next operation that had ended when it was last waited.
    pub fn next(&mut self) -> Option<Ended> {
        while let Some((data, result)) = self.ended.pop_front() {
            self.under_way -= 1;
            let slot = (data & !OF_SYNC) as usize;
            let is_sync = data & OF_SYNC != 0;
            match &mut self.linked[slot] {
                Some(written) if !is_sync => *written = result,
                linked => {
                    let written = linked.take().filter(|_| is_sync);
                    // A sync that was cancelled says nothing: the write before it was not whole.
                    let result = written.filter(|_| result >= 0 || result == -libc::ECANCELED).unwrap_or(result);
                    return Some(Ended { slot, result });
                }
            }
        }
        None
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.under_way > 0 {
            if self.wait(None).is_err() {
                // What the kernel may still write to is given up for good, and never used for anything else.
                std::mem::forget(std::mem::replace(&mut self.buffers, Buffers::new(0, 0, 0)));
                return;
            }
            while self.next().is_some() {}
        }
        // Otherwise the kernel keeps the file for a while after the ring has gone, and with it its place on the disk.
        let _ = self.uring.submitter().unregister_files();
    }
}

/// What is wanted of a ring, and what older kernels have: one thread alone submits and completes, and its completions are handled
/// when it waits (6.1), when it enters the kernel (6.0, 5.19), or whenever they come.
fn build(entries: u32) -> io::Result<IoUring> {
    let mut refused = None;
    for level in (0..4).rev() {
        let mut builder = IoUring::builder();
        builder.dontfork();
        if level > 0 {
            builder.setup_coop_taskrun();
        }
        if level > 1 {
            builder.setup_single_issuer();
        }
        if level > 2 {
            builder.setup_defer_taskrun();
        }
        match builder.build(entries) {
            Ok(ring) => return Ok(ring),
            // A flag that the kernel does not know.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// Whether this system lets us have a ring.
///
/// # Errors
/// Why not.
pub fn probe() -> io::Result<()> {
    if build(2)?.params().is_feature_ext_arg() {
        return Ok(());
    }
    Err(io::Error::other("the kernel's io_uring can't wait with a time limit (before 5.11)"))
}

fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// A file of 16 blocks, with the number of each in it. `None` where this system has no rings.
    fn ring(slots: usize) -> Option<(Ring, File)> {
        probe().ok()?;
        let file = tempfile::tempfile().unwrap();
        (0..16_u8).for_each(|block| file.write_all_at(&[block; 4096], u64::from(block) * 4096).unwrap());
        let ring = Ring::new(file.try_clone().unwrap(), Buffers::new(slots, 4096, 1)).unwrap();
        Some((ring, file))
    }

    fn all(ring: &mut Ring, count: usize) -> Vec<Ended> {
        let mut ended = Vec::new();
        while ended.len() < count {
            ring.wait(None).unwrap();
            ended.extend(std::iter::from_fn(|| ring.next()));
        }
        ended.sort_by_key(|ended| ended.slot);
        ended
    }

    #[test]
    fn what_is_read_is_in_the_buffer_of_its_slot() {
        let Some((mut ring, _file)) = ring(4) else { return };
        (0..4).for_each(|slot| ring.read(slot, 4096 * (slot as u64 + 3)).unwrap());
        assert_eq!(ring.queued(), 4);
        assert_eq!(all(&mut ring, 4), (0..4).map(|slot| Ended { slot, result: 4096 }).collect::<Vec<_>>());
        (0..4).for_each(|slot| assert_eq!(ring.buffers.slot(slot), [slot as u8 + 3; 4096]));
        assert_eq!((ring.queued(), ring.under_way), (0, 0));
    }

    #[test]
    fn a_write_and_its_sync_end_as_one() {
        let Some((mut ring, file)) = ring(2) else { return };
        ring.write(0, 0, None).unwrap();
        ring.write(1, 4096, Some(Durable::Data)).unwrap();
        assert_eq!(all(&mut ring, 2), [Ended { slot: 0, result: 4096 }, Ended { slot: 1, result: 4096 }]);
        let mut page = [0; 4096];
        for slot in 0..2 {
            file.read_exact_at(&mut page, 4096 * slot as u64).unwrap();
            assert_eq!(page, *ring.buffers.slot(slot));
        }
        // And the slot can be used without a sync again.
        ring.write(1, 4096, None).unwrap();
        assert_eq!(all(&mut ring, 1), [Ended { slot: 1, result: 4096 }]);
    }

    #[test]
    fn a_failed_write_cancels_its_sync_and_is_the_reason() {
        let Some((_, file)) = ring(1) else { return };
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut ring = Ring::new(File::open(path).unwrap(), Buffers::new(1, 4096, 1)).unwrap();
        ring.write(0, 0, Some(Durable::All)).unwrap();
        assert_eq!(all(&mut ring, 1), [Ended { slot: 0, result: -libc::EBADF }], "it is open for reading only");
    }

    #[test]
    fn a_wait_with_nothing_to_come_ends_in_time() {
        let Some((mut ring, _file)) = ring(1) else { return };
        ring.wait(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(ring.next(), None);
    }

    #[test]
    fn a_ring_falls_only_when_nothing_is_under_way() {
        let Some((mut ring, file)) = ring(8) else { return };
        (0..8).for_each(|slot| ring.write(slot, 4096 * slot as u64, None).unwrap());
        drop(ring);
        let mut page = [0; 4096];
        file.read_exact_at(&mut page, 4096 * 7).unwrap();
        assert_ne!(page, [7; 4096], "it was written");
    }
}
