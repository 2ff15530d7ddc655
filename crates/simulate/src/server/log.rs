//! The log: block writes of which several are under way, each with all commits that wait (group commit), acknowledged in the order of the
//! log.
//!
//! With one write under way a log disk's limit of I/Os is never reached: 1 / latency writes a second are too few. SQL Server has up to 32 or
//! 112 under way by version, `PostgreSQL` and `SQLite` have one. So the number belongs to the scenario.

use std::collections::VecDeque;

use crate::scenario::LogSpec;

/// Blocks end at a multiple of the sector.
const SECTOR_BYTES: u64 = 512;

#[derive(Debug, Clone, Default)]
struct Block {
    sessions: Vec<u32>,
    is_written: bool,
}

/// Commits that wait, and blocks under way.
#[derive(Debug, Clone)]
pub struct Log {
    spec: LogSpec,
    pending: VecDeque<u32>,
    blocks: VecDeque<Block>,
    /// The number of the oldest block that is not acknowledged.
    oldest: u32,
    in_flight: u32,
    spare: Vec<Vec<u32>>,
}

/// A block that goes to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogWrite {
    /// Its number, by which it is told that it is done.
    pub block: u32,
    /// Its size.
    pub bytes: u64,
}

impl Log {
    /// An empty log.
    pub const fn new(spec: LogSpec) -> Self {
        Self { spec, pending: VecDeque::new(), blocks: VecDeque::new(), oldest: 0, in_flight: 0, spare: Vec::new() }
    }

    /// A session commits.
    pub fn commit(&mut self, session: u32) {
        self.pending.push_back(session);
    }

    /// The next block, if commits wait and it may begin.
    pub fn next_write(&mut self) -> Option<LogWrite> {
        if self.pending.is_empty() || self.in_flight >= self.spec.writes_in_flight {
            return None;
        }
        let most = (self.spec.block_bytes / self.spec.commit_bytes).max(1) as usize;
        let mut sessions = self.spare.pop().unwrap_or_default();
        sessions.extend(self.pending.drain(..most.min(self.pending.len())));
        let bytes = (sessions.len() as u64 * self.spec.commit_bytes).next_multiple_of(SECTOR_BYTES);
        let block = self.oldest.wrapping_add(self.blocks.len() as u32);
        self.blocks.push_back(Block { sessions, is_written: false });
        self.in_flight += 1;
        Some(LogWrite { block, bytes })
    }

    /// A block is written. Moves the sessions that are acknowledged by that to `done`: those of all blocks before which nothing is missing.
    pub fn written(&mut self, block: u32, done: &mut Vec<u32>) {
        self.in_flight -= 1;
        self.blocks[block.wrapping_sub(self.oldest) as usize].is_written = true;
        while self.blocks.front().is_some_and(|block| block.is_written) {
            let Some(mut block) = self.blocks.pop_front() else { break };
            done.append(&mut block.sessions);
            self.spare.push(block.sessions);
            self.oldest = self.oldest.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_gather_while_all_writes_are_under_way_and_are_acknowledged_in_order() {
        let mut log = Log::new(LogSpec { writes_in_flight: 2, block_bytes: 4_096, commit_bytes: 1_000 });
        let write = |log: &mut Log, sessions: &[u32]| {
            for session in sessions {
                log.commit(*session);
            }
            log.next_write()
        };
        assert_eq!(write(&mut log, &[1]), Some(LogWrite { block: 0, bytes: 1_024 }));
        assert_eq!(write(&mut log, &[2]), Some(LogWrite { block: 1, bytes: 1_024 }));
        assert_eq!(write(&mut log, &[3, 4, 5, 6, 7]), None);
        let mut done = Vec::new();
        log.written(1, &mut done);
        assert!(done.is_empty(), "the first block is missing");
        assert_eq!(log.next_write(), Some(LogWrite { block: 2, bytes: 4_096 }), "four of five fit");
        log.written(0, &mut done);
        assert_eq!(done, [1, 2]);
        assert_eq!(log.next_write(), Some(LogWrite { block: 3, bytes: 1_024 }));
    }
}
