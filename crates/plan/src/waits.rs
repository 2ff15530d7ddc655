//! What sessions waited for, as shares: from the rows of a server, or from CSV of its view of waits.

use plimsoll_measurement::WaitClass;

use crate::rules::WaitShares;
use crate::sheet::{ListError, Sheet, line_of, text_of};

/// More types than a server has.
const MOST_ROWS: usize = 20_000;

/// The names of its columns: those of `sys.dm_os_wait_stats`.
const NAME: [&str; 2] = ["wait_type", "wait"];
const TIME: [&str; 2] = ["wait_time_ms", "wait_ms"];

/// Shares of the time of all waits, those of threads without work left out. `None` where nobody waited.
pub fn shares(waits: impl IntoIterator<Item = (WaitClass, f64)>) -> Option<WaitShares> {
    let mut shares = WaitShares::default();
    let mut all = 0.0;
    for (class, time) in waits {
        match class {
            WaitClass::Idle | WaitClass::Sleep => continue,
            WaitClass::DataRead => shares.data += time,
            WaitClass::LogWrite => shares.log += time,
            WaitClass::LogRateGovernor => shares.governor += time,
            _ => {}
        }
        all += time;
    }
    let percent = |part: f64| 100.0 * part / all;
    (all > 0.0).then(|| WaitShares {
        data: percent(shares.data),
        log: percent(shares.log),
        governor: percent(shares.governor),
    })
}

/// Types of waits and how long each took, in ms, from CSV with the columns `wait_type` and `wait_time_ms`.
///
/// # Errors
/// What is wrong, with its line.
pub fn read(bytes: &[u8]) -> Result<Vec<(String, f64)>, ListError> {
    let text = text_of(bytes)?;
    let sheet = Sheet::read(&text, MOST_ROWS)?;
    let missing = || ListError::at(1, format!("the header must have {} and {}", NAME[0], TIME[0]));
    let (name, time) = sheet.column(&NAME).zip(sheet.column(&TIME)).ok_or_else(missing)?;
    let row = |record: &csv::StringRecord| {
        let text = |at: usize| record.get(at).unwrap_or_default();
        let wrong = |problem: String| ListError::at(line_of(record), format!("{} {problem}", TIME[0]));
        // A server adds up the waits of months.
        let milliseconds = sheet.large(text(time)).map_err(wrong)?;
        Ok((text(name).to_owned(), milliseconds.ok_or_else(|| wrong("is empty".to_owned()))?))
    };
    sheet.rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_what_sessions_waited_for() {
        use WaitClass::{DataRead, Idle, Lock, LogRateGovernor, LogWrite};
        let found = shares([(DataRead, 35.0), (DataRead, 35.0), (LogWrite, 20.0), (Lock, 10.0), (Idle, 9000.0)]);
        assert_eq!(found, Some(WaitShares { data: 70.0, log: 20.0, governor: 0.0 }));
        assert_eq!(shares([(LogRateGovernor, 1.0)]).map(|all| all.governor), Some(100.0));
        assert_eq!(shares([(Idle, 1.0)]), None);
    }

    #[test]
    fn waits_are_read_by_the_names_of_the_view() {
        let text = "wait_type;waiting_tasks_count;wait_time_ms\nWRITELOG;7;12500000000,5\nPAGEIOLATCH_SH;1;0\n";
        let rows = read(text.as_bytes()).unwrap();
        assert_eq!(rows, [("WRITELOG".to_owned(), 12_500_000_000.5), ("PAGEIOLATCH_SH".to_owned(), 0.0)]);
        let said = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(said("a,b\n1,2\n"), "line 1: the header must have wait_type and wait_time_ms");
        assert_eq!(said("wait_type,wait_ms\nx,\n"), "line 2: wait_time_ms is empty");
        assert_eq!(said("wait_type,wait_ms\nx,-1\n"), "line 2: wait_time_ms '-1' is not from 0 to 1e18");
    }
}
