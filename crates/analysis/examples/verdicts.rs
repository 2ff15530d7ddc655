//! Judges stored scenarios anew, which is how the rules of verdicts are developed without running anything: reads what
//! `plimsoll lab verify --verdicts --json` printed, and says where the verdict differs from what binds.
//!
//! ```sh
//! plimsoll lab verify --verdicts developing --json > cases.jsonl
//! cargo run -p plimsoll-analysis --example verdicts cases.jsonl
//! ```

#![expect(clippy::print_stdout, reason = "it is a tool for a terminal")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use plimsoll_analysis::bottleneck;
use plimsoll_measurement::RunRecord;
use serde_json::Value;

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        println!("which file?");
        return ExitCode::from(2);
    };
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("{file} can't be read");
        return ExitCode::from(2);
    };
    let mut matrix: BTreeMap<(String, String), u32> = BTreeMap::new();
    for case in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let Ok(record) = serde_json::from_value::<RunRecord>(case["record"].clone()) else { continue };
        let verdict = bottleneck::record::verdict(&record);
        let said: BTreeSet<&str> = verdict.limits().collect();
        let truth: BTreeSet<&str> =
            case["binding"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let joined = |names: &BTreeSet<&str>| names.iter().copied().collect::<Vec<_>>().join("+");
        let given = if said.is_empty() { "abstains".to_owned() } else { joined(&said) };
        if said != truth {
            println!(
                "{} {} seed {}: {} instead of {}",
                case["half"],
                case["family"],
                case["seed"],
                given,
                joined(&truth)
            );
            println!("    rerun: {}", case["gains_percent"]);
            let gains: Vec<String> =
                verdict.gains.iter().map(|lift| format!("{} {}", lift.limit, lift.gain_percent)).collect();
            println!("    model: {}", gains.join(", "));
            for sentence in &verdict.evidence {
                println!("    {sentence}");
            }
        }
        *matrix.entry((joined(&truth), given)).or_default() += 1;
    }
    for ((truth, given), count) in matrix {
        println!("{count:>4}  {truth:<30} {given}");
    }
    ExitCode::SUCCESS
}
