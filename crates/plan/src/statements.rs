//! The statements that carry a layout out, in an order in which no step does harm: the log grows first, as commits wait for it, then the
//! data files that are there, then new ones. They are printed and never run; what takes something away is a remark.

use std::fmt::Write as _;

use crate::file::{DatabaseFile, FileKind};
use crate::layout::Layout;

/// The statements for a database, each with its reason above it. Empty where its files are as they should be.
pub fn statements(database: &str, files: &[DatabaseFile], layout: &Layout) -> String {
    let of = |kind: FileKind| {
        let own = files.iter().filter(move |file| file.kind == kind && file.database.eq_ignore_ascii_case(database));
        own.collect::<Vec<_>>()
    };
    let (logs, data) = (of(FileKind::Log), of(FileKind::Data));
    let name = bracketed(database);
    let mut text = String::new();
    let mut grow = |file: &DatabaseFile, size_gb: f64, reason: &str| {
        if file.size_gb < size_gb {
            // Writing to a String can't fail.
            let _ = writeln!(text, "-- {reason}");
            let _ = writeln!(
                text,
                "ALTER DATABASE {name} MODIFY FILE (NAME = {}, SIZE = {size_gb:.0}GB);",
                quoted(&file.name)
            );
        }
    };
    for file in logs.iter().take(1) {
        grow(file, layout.log_gb, "The log first: commits wait for it.");
    }
    let kept = data.len().min(layout.data_files as usize);
    for file in &data[..kept] {
        grow(file, layout.data_gb, "All data files of one size: rows are spread by free space.");
    }
    let mut numbers = (data.len() + 1..).map(|number| format!("{database}_data_{number}"));
    for _ in kept..layout.data_files as usize {
        let is_free = |new: &String| !files.iter().any(|file| file.name.eq_ignore_ascii_case(new));
        let Some(new) = numbers.find(is_free) else { break };
        let _ = writeln!(text, "-- Another file has limits of its own. Rows come into it once indexes are rebuilt.");
        let _ =
            writeln!(text, "ALTER DATABASE {name} ADD FILE (NAME = {}, SIZE = {:.0}GB);", quoted(&new), layout.data_gb);
    }
    for file in &data[kept..] {
        let _ = writeln!(
            text,
            "-- {} is one file more than needed: it can be emptied (DBCC SHRINKFILE ... EMPTYFILE) and removed.",
            in_a_line(&file.name)
        );
    }
    let larger = |file: &&&DatabaseFile, size_gb: f64| file.size_gb > size_gb;
    let smaller = logs.iter().take(1).filter(|file| larger(file, layout.log_gb)).map(|file| (file, layout.log_gb));
    let smaller = smaller
        .chain(data[..kept].iter().filter(|file| larger(file, layout.data_gb)).map(|file| (file, layout.data_gb)));
    for (file, size_gb) in smaller {
        let _ = writeln!(
            text,
            "-- {} is larger than needed: {size_gb:.0} GB have the limits of this layout (DBCC SHRINKFILE).",
            in_a_line(&file.name)
        );
    }
    text
}

fn bracketed(name: &str) -> String {
    format!("[{}]", in_a_line(name).replace(']', "]]"))
}

fn quoted(name: &str) -> String {
    format!("N'{}'", in_a_line(name).replace('\'', "''"))
}

/// A name that ends no remark and begins no line.
fn in_a_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Step;

    fn file(name: &str, kind: FileKind, size_gb: f64) -> DatabaseFile {
        DatabaseFile::new("shop]", name, kind, size_gb)
    }

    fn layout(data_files: u32, data_gb: f64, log_gb: f64) -> Layout {
        let step = Step { name: None, blob_gb: 1024.0, iops: Some(5000.0), mb_per_s: Some(200.0) };
        let (data_step, log_step) = (step.clone(), step);
        let (space_gb, blob_gb) = (1.0, 1.0);
        Layout { data_files, data_gb, data_step, log_gb, log_step, space_gb, blob_gb, used_percent: 1.0, wait_ms: 0.0 }
    }

    #[test]
    fn the_log_grows_first_then_data_and_new_files_come_last() {
        let files = [file("o'ne", FileKind::Data, 100.0), file("l\n--x", FileKind::Log, 10.0)];
        let text = statements("shop]", &files, &layout(2, 513.0, 129.0));
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
        assert_eq!(
            lines,
            [
                "ALTER DATABASE [shop]]] MODIFY FILE (NAME = N'l --x', SIZE = 129GB);",
                "ALTER DATABASE [shop]]] MODIFY FILE (NAME = N'o''ne', SIZE = 513GB);",
                "ALTER DATABASE [shop]]] ADD FILE (NAME = N'shop]_data_2', SIZE = 513GB);",
            ]
        );
        assert_eq!(text.lines().count(), 6);
    }

    #[test]
    fn what_takes_something_away_is_a_remark() {
        let files =
            [file("a", FileKind::Data, 600.0), file("b", FileKind::Data, 600.0), file("l", FileKind::Log, 300.0)];
        let text = statements("SHOP]", &files, &layout(1, 513.0, 129.0));
        assert!(text.lines().all(|line| line.starts_with("-- ")) && text.lines().count() == 3, "{text}");
        assert_eq!(statements("shop]", &files, &layout(2, 600.0, 300.0)), "");
    }
}
