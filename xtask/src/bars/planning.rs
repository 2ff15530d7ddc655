//! The bars of plans of storage.

use super::{Bar, Check};

const TESTS: &str = "needs a build of the tests";

pub(super) const BARS: &[Bar] = &[
    Bar {
        subject: "storage-plan",
        name: "exact",
        goal: "layouts are those of brute force in 1,000 random cases, of one database and of several",
        check: Check::Command { command: "cargo test --release -p plimsoll-plan --test layouts", reason: TESTS },
    },
    Bar {
        subject: "storage-plan",
        name: "search-time",
        goal: "100 databases in <= 10 ms",
        check: Check::Command { command: "cargo bench -p plimsoll-plan", reason: super::MINUTES },
    },
    Bar {
        subject: "storage-plan",
        name: "sampler",
        goal: "each rate of 200 replayed histories of files is the history's, and what nobody can know is a gap",
        check: Check::Command { command: "cargo test -p plimsoll-plan --test activity -- --nocapture", reason: TESTS },
    },
    Bar {
        subject: "storage-plan",
        name: "sampler-live",
        goal: "what a file did between looks is within 1 % of what MariaDB or MySQL counted",
        check: Check::Command {
            command: "cargo test -p plimsoll-testbed --test samplers what_a_file -- --nocapture",
            reason: "needs a server",
        },
    },
    Bar {
        subject: "storage-plan",
        name: "advice",
        goal: "each rule speaks in ten cases made for it and in none of ten made against it; the published layouts have their bottlenecks",
        check: Check::Command { command: "cargo test -p plimsoll-plan --test rules --test diagnosis", reason: TESTS },
    },
    Bar {
        subject: "storage-plan",
        name: "unbeaten",
        goal: "under load with other seeds none of 200 random layouts of the same space beats the chosen one by more than 5 %, for 50 demands",
        check: Check::Command {
            command: "PLIMSOLL_LAYOUTS=50 cargo test --release -p plimsoll-plan --test trial -- --nocapture",
            reason: super::MINUTES,
        },
    },
    Bar {
        subject: "storage-plan",
        name: "bad-input",
        goal: "what can't be read is refused with its line, and gaps are marked",
        check: Check::Command { command: "cargo test -p plimsoll-plan --lib", reason: TESTS },
    },
];
