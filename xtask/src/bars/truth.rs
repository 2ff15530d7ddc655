//! The bars of readings and verdicts on real servers. What `induced` has kept of the program that was tried last is told here.

use super::{Bar, Check, Figure};
use crate::induced::{self, Judged, Outcomes};

/// Causes with three seeds each.
const CASES: usize = 40;
const SEEDS: usize = 3;

pub const BARS: &[Bar] = &[
    Bar {
        subject: "truth",
        name: "induced",
        goal: "40 causes, three seeds: alone 95 % right, beside builds 80 %; wrong 1 % at most; gains within 10 points in the median",
        check: Check::Kept {
            kept: verdicts,
            command: "cargo xtask induced && cargo xtask induced --busy",
            reason: "takes hours, root and a machine that does nothing else",
        },
    },
    Bar {
        subject: "truth",
        name: "counted",
        goal: "figures of the CPU and of devices in a record within 2 % of what the kernel counted; the last table of `induced`",
        check: Check::Kept {
            kept: counted,
            command: "cargo xtask induced --tables",
            reason: "needs the runs of `induced`",
        },
    },
    Bar {
        subject: "truth",
        name: "matrix",
        goal: "the suites of all engines and of samplers on every version; counts as the server has them",
        check: Check::Command {
            command: "cargo xtask test --servers all",
            reason: "takes an hour and fetches servers",
        },
    },
];

fn verdicts() -> Option<Figure> {
    let (results, causes) = induced::latest()?;
    let both = [("alone", false, 95.0), ("beside builds", true, 80.0)];
    let both = both.map(|(words, busy, least)| (words, results.outcomes(&causes, busy), least));
    let holds = both.iter().all(|(_, outcomes, least)| holds(outcomes, *least));
    let told = both.map(|(words, outcomes, _)| told(words, &outcomes));
    Some(Figure { text: told.join("; "), holds, offences: Vec::new() })
}

fn holds(outcomes: &Outcomes, least: f64) -> bool {
    outcomes.cases >= CASES * SEEDS
        && outcomes.seeds >= SEEDS
        && outcomes.percent(Judged::Right) >= least
        && outcomes.percent(Judged::Wrong) <= 1.0
        && outcomes.gains_apart.is_some_and(|(points, _)| points <= 10.0)
}

fn told(words: &str, outcomes: &Outcomes) -> String {
    let apart =
        outcomes.gains_apart.map_or_else(String::new, |(points, _)| format!(", gains {points:.1} points apart"));
    format!(
        "{words}: {} cases (seeds: {}), {:.1} % right, {:.1} % wrong{apart}",
        outcomes.cases,
        outcomes.seeds,
        outcomes.percent(Judged::Right),
        outcomes.percent(Judged::Wrong)
    )
}

fn counted() -> Option<Figure> {
    let (count, percent) = induced::latest()?.0.apart_percent()?;
    let text = format!("9 of 10 of {count} figures within {percent:.2} %");
    Some(Figure { text, holds: percent <= 2.0, offences: Vec::new() })
}
