//! One io_uring of one thread, with the file and the buffers that its operations use. The only place with `unsafe` about memory: the
//! crate `io-uring` can't know how long memory lives that the kernel was told of, and this module keeps it as long as that.

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
use crate::sync::{Durable, RANGE_FLAGS};

/// Entries of a ring at most; the kernel takes no more.
const MOST_ENTRIES: u32 = 32_768;

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
    /// By slot: what its operation has come to.
    operations: Vec<Operation>,
}

/// An operation of several entries: writes, and a sync that makes them durable.
#[derive(Debug, Clone, Copy, Default)]
struct Operation {
    /// Entries that have not ended.
    left: usize,
    /// Bytes moved so far, or the first error number below zero.
    result: i32,
    /// What the kernel is told once all writes have ended.
    then: Option<Durable>,
}

/// Marks the entry of a sync.
const OF_SYNC: u64 = 1 << 63;

impl Ring {
    /// A ring that may have an operation under way for each buffer, of so many writes at most. It belongs to the thread that makes it.
    ///
    /// # Errors
    /// Those of the system, where it has no ring.
    pub fn new(file: File, mut buffers: Buffers, writes: usize) -> io::Result<Self> {
        let slots = buffers.count();
        // A sync is an entry as well.
        let entries = slots * (writes + 1);
        let uring = build((entries as u32).next_power_of_two().min(MOST_ENTRIES))?;
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
        let (operations, ended) = (vec![Operation::default(); slots], VecDeque::with_capacity(entries));
        Ok(Self { uring, buffers, file, has_file, has_buffers, queued: 0, under_way: 0, ended, operations })
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
        self.operations[slot] = Operation { left: 1, ..Operation::default() };
        self.push(&entry.user_data(slot as u64))
    }

    /// Writes the buffer of a slot that has nothing under way, with content that no write had before; and makes it durable. With
    /// several offsets each takes a part of the buffer. All are under way at once, and one sync follows the last.
    ///
    /// # Errors
    /// If the ring has no room, which it has for each slot once.
    pub fn write(&mut self, slot: usize, offsets: &[u64], durable: Option<Durable>) -> io::Result<()> {
        let buffer = self.buffers.fresh(slot, offsets);
        let (memory, part) = (buffer.as_ptr(), buffer.len() / offsets.len());
        // One write is linked to its sync: the kernel begins it when the write has ended, and cancels it if that failed.
        let is_linked = durable.is_some() && offsets.len() == 1;
        let left = offsets.len() + usize::from(is_linked);
        self.operations[slot] = Operation { left, result: 0, then: durable.filter(|_| !is_linked) };
        for (number, offset) in offsets.iter().enumerate() {
            let memory = memory.wrapping_add(number * part);
            let entry = self.write_entry(memory, part as u32, *offset, slot as u16).user_data(slot as u64);
            self.push(&if is_linked { entry.flags(Flags::IO_LINK) } else { entry })?;
        }
        durable.filter(|_| is_linked).map_or(Ok(()), |durable| self.sync(slot, durable))
    }

    fn write_entry(&self, memory: *const u8, length: u32, offset: u64, index: u16) -> Entry {
        match (self.has_file, self.has_buffers) {
            (true, true) => opcode::WriteFixed::new(Fixed(0), memory, length, index).offset(offset).build(),
            (true, false) => opcode::Write::new(Fixed(0), memory, length).offset(offset).build(),
            (false, true) => opcode::WriteFixed::new(self.fd(), memory, length, index).offset(offset).build(),
            (false, false) => opcode::Write::new(self.fd(), memory, length).offset(offset).build(),
        }
    }

    fn sync(&mut self, slot: usize, durable: Durable) -> io::Result<()> {
        let flags = if durable == Durable::Data { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
        let entry = match (durable, self.has_file) {
            (Durable::Range, true) => opcode::SyncFileRange::new(Fixed(0), 0).flags(RANGE_FLAGS).build(),
            (Durable::Range, false) => opcode::SyncFileRange::new(self.fd(), 0).flags(RANGE_FLAGS).build(),
            (_, true) => opcode::Fsync::new(Fixed(0)).flags(flags).build(),
            (_, false) => opcode::Fsync::new(self.fd()).flags(flags).build(),
        };
        self.push(&entry.user_data(slot as u64 | OF_SYNC))
    }

    /// The first byte of the file whose content is wrong in a read that has ended in this slot; see [`Buffers::first_wrong`].
    pub fn first_wrong(&mut self, slot: usize, offset: u64) -> Option<u64> {
        // Of an operation that is under way the kernel may still change it.
        if self.operations[slot].left > 0 { None } else { self.buffers.first_wrong(slot, offset) }
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

    /// The next operation that had ended when it was last waited. Tells the ring of syncs whose writes have ended.
    pub fn next(&mut self) -> Option<Ended> {
        while let Some((data, result)) = self.ended.pop_front() {
            self.under_way -= 1;
            let slot = (data & !OF_SYNC) as usize;
            let operation = &mut self.operations[slot];
            operation.left -= 1;
            // A sync that was cancelled says nothing: the write before it was not whole.
            let says = data & OF_SYNC == 0 || result != -libc::ECANCELED;
            if operation.result >= 0 && says {
                operation.result = if result < 0 { result } else { operation.result + result };
            }
            if operation.left > 0 {
                continue;
            }
            let Operation { result, then, .. } = *operation;
            let Some(durable) = then.filter(|_| result >= 0) else { return Some(Ended { slot, result }) };
            *operation = Operation { left: 1, result, then: None };
            if self.sync(slot, durable).is_err() {
                return Some(Ended { slot, result: -libc::EBUSY });
            }
        }
        None
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        loop {
            // Of what has ended already nobody tells again.
            while self.next().is_some() {}
            if self.under_way == 0 {
                break;
            }
            if self.wait(None).is_err() {
                // What the kernel may still write to is given up for good, and never used for anything else.
                std::mem::forget(std::mem::replace(&mut self.buffers, Buffers::new(0, 0, 0)));
                return;
            }
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
        let ring = Ring::new(file.try_clone().unwrap(), Buffers::new(slots, 4096, 1), 1).unwrap();
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
        ring.write(0, &[0], None).unwrap();
        ring.write(1, &[4096], Some(Durable::Data)).unwrap();
        assert_eq!(all(&mut ring, 2), [Ended { slot: 0, result: 4096 }, Ended { slot: 1, result: 4096 }]);
        let mut page = [0; 4096];
        for slot in 0..2 {
            file.read_exact_at(&mut page, 4096 * slot as u64).unwrap();
            assert_eq!(page, *ring.buffers.slot(slot));
        }
        // And the slot can be used without a sync again.
        ring.write(1, &[4096], None).unwrap();
        assert_eq!(all(&mut ring, 1), [Ended { slot: 1, result: 4096 }]);
    }

    #[test]
    fn several_writes_have_one_sync_and_end_together() {
        let Some((_, file)) = ring(1) else { return };
        for durable in [Durable::Data, Durable::All, Durable::Range] {
            let mut ring = Ring::new(file.try_clone().unwrap(), Buffers::new(2, 3 * 4096, 1), 3).unwrap();
            ring.write(0, &[4096, 0, 8192], Some(durable)).unwrap();
            ring.write(1, &[20480, 12288, 16384], Some(durable)).unwrap();
            assert_eq!(all(&mut ring, 2), [0, 1].map(|slot| Ended { slot, result: 3 * 4096 }), "{durable:?}");
            let mut page = [0; 4096];
            for (slot, part, offset) in [(0, 0, 4096), (0, 2, 8192), (1, 1, 12288)] {
                file.read_exact_at(&mut page, offset).unwrap();
                assert_eq!(page, ring.buffers.slot(slot)[part * 4096..][..4096], "{durable:?}");
            }
        }
        let read_only = File::open("/dev/null").unwrap();
        let mut ring = Ring::new(read_only, Buffers::new(1, 8192, 1), 2).unwrap();
        ring.write(0, &[0, 4096], Some(Durable::All)).unwrap();
        assert_eq!(all(&mut ring, 1), [Ended { slot: 0, result: -libc::EBADF }], "without its writes it needs no sync");
    }

    #[test]
    fn a_failed_write_cancels_its_sync_and_is_the_reason() {
        let Some((_, file)) = ring(1) else { return };
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut ring = Ring::new(File::open(path).unwrap(), Buffers::new(1, 4096, 1), 1).unwrap();
        ring.write(0, &[0], Some(Durable::All)).unwrap();
        assert_eq!(all(&mut ring, 1), [Ended { slot: 0, result: -libc::EBADF }], "it is open for reading only");
    }

    #[test]
    fn a_wait_with_nothing_to_come_ends_in_time() {
        let Some((mut ring, _file)) = ring(1) else { return };
        ring.wait(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(ring.next(), None);
    }

    #[test]
    fn a_ring_falls_also_with_what_has_ended_and_was_not_given_out() {
        let Some((mut ring, _file)) = ring(4) else { return };
        (0..4).for_each(|slot| ring.read(slot, 4096 * slot as u64).unwrap());
        while ring.ended.len() < 4 {
            ring.wait(None).unwrap();
        }
        assert!(ring.next().is_some());
        // It would wait for ever for three that the kernel has told of.
        drop(ring);
    }

    #[test]
    fn a_ring_falls_only_when_nothing_is_under_way() {
        let Some((mut ring, file)) = ring(8) else { return };
        (0..8).for_each(|slot| ring.write(slot, &[4096 * slot as u64], None).unwrap());
        drop(ring);
        let mut page = [0; 4096];
        file.read_exact_at(&mut page, 4096 * 7).unwrap();
        assert_ne!(page, [7; 4096], "it was written");
    }
}
