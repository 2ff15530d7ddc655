//! The bars of what strangers may take of us, and learn, and of what is left when we are killed.

use super::{Bar, Check, MINUTES};

pub(super) const BARS: &[Bar] = &[
    Bar {
        subject: "safety",
        name: "hostile-peers",
        goal: "40 behaviours of peers x 3 protocols x TLS modes, at every stage: ended by the time-outs, <= 256 MB, no panic, Ctrl-C in \
               <= 2 s, no control character, no secret",
        check: Check::Command {
            command: "PLIMSOLL_HOSTILE=all cargo test -p plimsoll --test hostile -- --nocapture",
            reason: MINUTES,
        },
    },
    Bar {
        subject: "safety",
        name: "planted-secret",
        goal: "a secret given in each way is in no output, store, log, report, temporary file, command line or environment of a child",
        check: Check::Command {
            command: "PLIMSOLL_PLANTED=all cargo test -p plimsoll --test planted -- --nocapture",
            reason: "needs servers",
        },
    },
    Bar {
        subject: "safety",
        name: "kills",
        goal: "1,000 kill -9 of runs: every reported point is stored, and after one clean nothing is left",
        check: Check::Command { command: "PLIMSOLL_KILLS=500 cargo test -p plimsoll --test kills", reason: MINUTES },
    },
    Bar {
        subject: "safety",
        name: "killed-moves",
        goal: "1,000 kill -9 of imports, copies, restores and cleans: no program outlives us, and after one clean nothing is left",
        check: Check::Command {
            command: "PLIMSOLL_KILLS=330 cargo test -p plimsoll --test killed_moves",
            reason: MINUTES,
        },
    },
    Bar {
        subject: "safety",
        name: "file-mishaps",
        goal: "60 mishaps of the file system x commands: the documented code, a sentence that names the place, nothing lost",
        check: Check::Command {
            command: "cargo test -p plimsoll --test file_mishaps",
            reason: "needs root, for disks in memory",
        },
    },
];
