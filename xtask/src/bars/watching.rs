//! The bars of watching a workload.

use super::{Bar, Check, MINUTES};

pub(super) const BARS: &[Bar] = &[
    Bar {
        subject: "watch",
        name: "truth",
        goal: "of 10,000 histories of a server that drops, resets, restarts and fails over, what is told and what is declared unknown are the work",
        check: Check::Command {
            command: "PLIMSOLL_HISTORIES=10000 cargo test -p plimsoll-profile --test truth -- --nocapture",
            reason: MINUTES,
        },
    },
    Bar {
        subject: "watch",
        name: "live",
        goal: "executions and rows of a known load are exact on PostgreSQL and MariaDB, with drops, resets, restarts and kills",
        check: Check::Command {
            command: "cargo test -p plimsoll --test watch --test watch_mysql",
            reason: "needs servers",
        },
    },
    Bar {
        subject: "watch",
        name: "cost",
        goal: "5,000 statements, slots of a minute: <= 0.5 % of a core at the server, p99 of a question <= 200 ms, <= 2 connections; slots of six \
               seconds leave 95 % of the throughput",
        check: Check::Command { command: "cargo xtask watched", reason: MINUTES },
    },
    Bar {
        subject: "watch",
        name: "storage",
        goal: "a day of minutes with 200 active statements <= 15 MB; a minute is written in <= 5 ms; the top 20 of an hour in <= 10 ms, of a day \
               in <= 150 ms",
        check: Check::Command { command: "cargo bench -p plimsoll-store --bench watched", reason: MINUTES },
    },
];
