//! The bars of comparisons and reports.

use super::{Bar, Check};

pub(super) const BARS: &[Bar] = &[
    Bar {
        subject: "answers",
        name: "fail-on-worse",
        goal: "six metrics, 7 repetitions a side: <= 64 alarms in 1,000 pairs without a difference; 3 % worse at 1 % noise found in >= 95 %",
        check: Check::Command {
            command: "cargo test -p plimsoll-analysis --test statistics six_metrics -- --nocapture",
            reason: "needs a build of the tests",
        },
    },
    Bar {
        subject: "answers",
        name: "demo-page",
        goal: "<= 4 screens of 1400 x 900 before anything is unfolded, <= 3 printed pages, <= 300 kB",
        check: Check::Command {
            command: "cargo run --release -- demo --html demo.html",
            reason: "needs a browser and eyes",
        },
    },
];
