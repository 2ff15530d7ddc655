//! The mark at the beginning of a test file: it says that the file is ours, and what is in it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// First line of the file. It says to whoever finds it what it is.
const FIRST_LINE: &str = "This is a test file of 'plimsoll disk'. It holds random bytes and may be removed.";
/// Layout of the lines that follow.
const VERSION: u32 = 1;
/// Bytes of the mark, filled up with blanks.
const BYTES: usize = 4096;

/// Whether the file is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is being written.
    LayingOut,
    /// All of it is written and durable.
    Ready,
}

/// What the mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// Bytes behind the header.
    pub bytes: u64,
    /// Seed of the content.
    pub seed: u64,
    /// Number of the file in its file system: that of a copy is another one.
    pub inode: u64,
    /// Whether the file is complete.
    pub state: State,
}

impl Mark {
    /// True for a complete file of this size and seed.
    pub fn is_ready_for(&self, bytes: u64, seed: u64) -> bool {
        (self.bytes, self.seed, self.state) == (bytes, seed, State::Ready)
    }

    /// Writes it and waits until it is durable.
    pub fn write(&self, file: &File) -> io::Result<()> {
        let state = if self.state == State::Ready { "ready" } else { "laying-out" };
        let Self { bytes, seed, inode, .. } = self;
        let text =
            format!("{FIRST_LINE}\nversion={VERSION}\nbytes={bytes}\nseed={seed}\ninode={inode}\nstate={state}\n");
        let mut page = vec![b' '; BYTES];
        page[..text.len()].copy_from_slice(text.as_bytes());
        file.write_all_at(&page, 0)?;
        file.sync_all()
    }

    /// The mark of a file; `None` if it has none that this release wrote.
    pub fn read(file: &File) -> Option<Self> {
        let mut page = vec![0; BYTES];
        file.read_exact_at(&mut page, 0).ok()?;
        Self::parse(std::str::from_utf8(&page).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return None;
        }
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
        let version: u32 = value("version")?.parse().ok()?;
        let (bytes, seed, inode) =
            (value("bytes")?.parse().ok()?, value("seed")?.parse().ok()?, value("inode")?.parse().ok()?);
        let state = match value("state")?.as_str() {
            "ready" => State::Ready,
            "laying-out" => State::LayingOut,
            _ => return None,
        };
        (version == VERSION).then_some(Self { bytes, seed, inode, state })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_and_nothing_else_is_one() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Mark::read(&file), None, "an empty file has none");
        let mark = Mark { bytes: 1 << 30, seed: 7, inode: 12, state: State::Ready };
        mark.write(&file).unwrap();
        assert_eq!(Mark::read(&file).as_ref(), Some(&mark));
        assert!(mark.is_ready_for(1 << 30, 7) && !mark.is_ready_for(1 << 30, 8) && !mark.is_ready_for(1 << 29, 7));
        let half = Mark { state: State::LayingOut, ..mark };
        assert!(!half.is_ready_for(1 << 30, 7));
        // One byte of the first line, and it is somebody else's.
        file.write_all_at(b"t", 0).unwrap();
        assert_eq!(Mark::read(&file), None);
        for damaged in ["", "version=1", "version=2\nbytes=1\nseed=1\ninode=1\nstate=ready"] {
            assert_eq!(Mark::parse(&format!("{FIRST_LINE}\n{damaged}\n")), None, "{damaged}");
        }
    }
}
