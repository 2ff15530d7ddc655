//! The statements that carry a plan out, in an order in which no step does harm: the log grows first, as commits wait for it, then the data
//! files that are there, then new ones. They are printed and never run; what takes something away is a remark. Where the space that is free
//! is too little for all, what is to be given back by hand comes first.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::advice::Finding;
use crate::file::{DatabaseFile, FileKind};
use crate::layout::{Layout, ROOM_PART};

/// What is to be done, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steps {
    /// What is given back before anything grows, as what grows is counted with it.
    shrinks: Vec<Step>,
    grows: Vec<Step>,
    gives: Vec<Step>,
    /// Files that are made.
    made: Vec<String>,
}

/// A statement with its reason, or a remark.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    database: String,
    text: String,
    /// The space that it takes, or that it gives back before rows are moved into anything new, in GB.
    gb: f64,
}

impl Steps {
    /// Enlarges a file.
    pub fn enlarge(&mut self, file: &DatabaseFile, size_gb: f64, reason: &str) {
        if file.size_gb < size_gb && file.kind != FileKind::Container {
            let (database, name) = (bracketed(&file.database), quoted(&file.name));
            let text =
                format!("-- {reason}\nALTER DATABASE {database} MODIFY FILE (NAME = {name}, SIZE = {size_gb:.0}GB);\n");
            self.grows.push(Step { database: file.database.clone(), text, gb: size_gb - file.size_gb });
        }
    }

    /// Takes empty space back from a file, by hand, before anything else.
    fn shrink(&mut self, file: &DatabaseFile, size_gb: f64) {
        let text = format!(
            "-- Shrink {} to {size_gb:.0} GB first (DBCC SHRINKFILE): it keeps its limits.\n",
            in_a_line(&file.label())
        );
        self.shrinks.push(Step { database: file.database.clone(), text, gb: file.size_gb - size_gb });
    }

    /// Spreads rows over the files that are there: a remark, as each index has a statement of its own.
    fn spread(&mut self, beside: &DatabaseFile) {
        let group = beside.filegroup.as_deref().map(in_a_line).map(|group| format!(" of filegroup {group}"));
        let text = format!(
            "-- Rebuild the indexes{} in {} (ALTER INDEX ALL ON ... REBUILD), so that rows are spread over all files.\n",
            group.unwrap_or_default(),
            in_a_line(&beside.database)
        );
        self.grows.push(Step { database: beside.database.clone(), text, gb: 0.0 });
    }

    /// Carries out what more files of a filegroup need, `at` being one of those that are there.
    pub fn more(&mut self, finding: &Finding, at: usize, files: &[DatabaseFile]) {
        let Finding::Add { added, size_gb, shrunk, fits: true, .. } = finding else { return };
        if *added == 0 {
            return self.spread(&files[at]);
        }
        for (at, size_gb) in shrunk {
            self.shrink(&files[*at], *size_gb);
        }
        self.add(&files[at], files, *added, *size_gb);
    }

    /// Adds so many data files of a size beside one, into its filegroup where the list has that.
    fn add(&mut self, beside: &DatabaseFile, files: &[DatabaseFile], count: usize, size_gb: f64) {
        let database = &beside.database;
        let is_data = |file: &&DatabaseFile| file.kind == FileKind::Data && file.is_beside(beside);
        let first = files.iter().filter(is_data).count() + 1;
        let is_free =
            |new: &String| !self.made.contains(new) && !files.iter().any(|file| file.name.eq_ignore_ascii_case(new));
        let free: Vec<String> =
            (first..).map(|number| format!("{database}_data_{number}")).filter(is_free).take(count).collect();
        let is_number = |group: &str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
        let (group, into, begin) = match beside.filegroup.as_deref().map(str::trim) {
            // A list may have numbers in place of names, and 1 is the primary one's.
            Some(group) if is_number(group) && group != "1" => {
                let text = format!(
                    " The list has number {group} in place of its filegroup's name, which goes behind TO FILEGROUP."
                );
                (text, " TO FILEGROUP [...]".to_owned(), "-- ")
            }
            Some(group) if group != "1" && !group.eq_ignore_ascii_case("PRIMARY") => {
                (String::new(), format!(" TO FILEGROUP {}", bracketed(group)), "")
            }
            _ => (" It is of the primary filegroup.".to_owned(), String::new(), ""),
        };
        for new in free {
            let text = format!(
                "-- Another file has limits of its own. Rows come into it once indexes are rebuilt.{group}\n\
                 {begin}ALTER DATABASE {} ADD FILE (NAME = {}, SIZE = {size_gb:.0}GB){into};\n",
                bracketed(database),
                quoted(&new)
            );
            self.grows.push(Step { database: database.clone(), text, gb: size_gb });
            self.made.push(new);
        }
    }

    /// Gives a database other files. Nothing where they are as they should be. As long as a file has all rows it keeps its limits:
    /// `like_gb` is the smallest size with those of a size.
    pub fn layout(
        &mut self,
        database: &str,
        files: &[DatabaseFile],
        layout: &Layout,
        like_gb: &dyn Fn(f64) -> Option<f64>,
    ) {
        let of = |kind: FileKind| {
            let own =
                files.iter().filter(move |file| file.kind == kind && file.database.eq_ignore_ascii_case(database));
            own.collect::<Vec<_>>()
        };
        let (logs, data) = (of(FileKind::Log), of(FileKind::Data));
        for file in logs.iter().take(1) {
            self.enlarge(file, layout.log_gb, "The log first: commits wait for it.");
        }
        let kept = data.len().min(layout.data_files as usize);
        for file in &data[..kept] {
            self.enlarge(file, layout.data_gb, "All data files of one size: rows are spread by free space.");
        }
        if let Some(first) = data.first().or(logs.first()) {
            self.add(first, files, (layout.data_files as usize).saturating_sub(kept), layout.data_gb);
        }
        // Rows can go only where there is room: what is there now, or what is made later.
        let content_gb = |file: &DatabaseFile| file.used_gb.unwrap_or(file.size_gb);
        let room_gb: f64 = data[..kept].iter().map(|file| file.size_gb).sum();
        let holds_all = kept == layout.data_files as usize && room_gb >= data.iter().map(|file| content_gb(file)).sum();
        for file in &data[kept..] {
            let text = format!(
                "-- {} is one file more than needed: where its filegroup has another, it can be emptied (DBCC SHRINKFILE ... EMPTYFILE) and \
                 removed.\n",
                in_a_line(&file.label())
            );
            let gb = if holds_all { file.size_gb } else { 0.0 };
            self.gives.push(Step { database: database.to_owned(), text, gb });
        }
        for file in data[..kept].iter().filter(|file| file.size_gb > layout.data_gb) {
            let as_now_gb = like_gb(file.size_gb).unwrap_or(file.size_gb).min(file.size_gb);
            let is_spread = kept == data.len() && kept == layout.data_files as usize;
            let least_gb = match (holds_all, is_spread) {
                (true, true) => layout.data_gb,
                (true, false) => layout.data_gb.max(as_now_gb),
                // Pages that are about to be moved need some room.
                (false, _) => layout.data_gb.max(content_gb(file) * (1.0 + ROOM_PART)).max(as_now_gb),
            };
            let least_gb = least_gb.min(file.size_gb);
            let now = match file.size_gb - least_gb {
                gb if least_gb > layout.data_gb && gb >= 1.0 => {
                    format!(
                        "; {:.0} GB of that now, before indexes are rebuilt, so that rows go into the others; the rest once they are spread",
                        gb.floor()
                    )
                }
                _ => String::new(),
            };
            let text = format!(
                "-- {} is larger than needed: {:.0} GB hold its part of the data and have these limits (DBCC SHRINKFILE{now}).\n",
                in_a_line(&file.label()),
                layout.data_gb
            );
            self.gives.push(Step { database: database.to_owned(), text, gb: file.size_gb - least_gb });
        }
    }

    /// Databases whose old and new files have no room together where so many GB are free and the space can be raised by so many more, with the
    /// GB that are missing and those that are to be had; unknown is no bound.
    pub fn without_room(&self, free_gb: Option<f64>, more_gb: Option<f64>) -> Vec<(String, [f64; 2])> {
        let Some((free_gb, more_gb)) = free_gb.zip(more_gb) else { return Vec::new() };
        let of = |steps: &[Step], database: &str| {
            let own = steps.iter().filter(|step| step.database.eq_ignore_ascii_case(database));
            own.map(|step| step.gb).sum::<f64>()
        };
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        let mut can_have_gb = free_gb.max(0.0) + more_gb.max(0.0);
        for database in self.grows.iter().map(|step| &step.database) {
            if !seen.insert(database.to_lowercase()) {
                continue;
            }
            let needed_gb = of(&self.grows, database) - of(&self.shrinks, database) - of(&self.gives, database);
            if needed_gb <= can_have_gb {
                can_have_gb -= needed_gb;
            } else {
                all.push((database.clone(), [needed_gb, can_have_gb]));
            }
        }
        all
    }

    /// The statements, where so many GB are free, and the space can be raised by so many more. Databases that have no room are left out, which is
    /// said.
    pub fn text(&self, free_gb: Option<f64>, more_gb: Option<f64>) -> String {
        let (mut kept, mut text) = (self.clone(), String::new());
        for (database, [needed_gb, can_have_gb]) in self.without_room(free_gb, more_gb) {
            let is_other = |step: &Step| !step.database.eq_ignore_ascii_case(&database);
            kept.shrinks.retain(is_other);
            kept.grows.retain(is_other);
            kept.gives.retain(is_other);
            // Writing to a String can't fail.
            let _ = writeln!(
                text,
                "-- {} is left out: its old and new files take {} GB more than there are, and {} are to be had. It takes a larger instance, or another \
                 one that the rows are moved to.",
                in_a_line(&database),
                needed_gb.ceil(),
                can_have_gb.floor()
            );
        }
        text + &kept.in_space(free_gb)
    }

    /// The same where the space can be raised by what is missing.
    fn in_space(&self, free_gb: Option<f64>) -> String {
        let all = |steps: &[Step]| steps.iter().map(|step| step.gb).sum::<f64>();
        let mut text = String::new();
        // An empty sum is a negative zero.
        let needed_gb = all(&self.grows).max(0.0);
        let Some(free_gb) = free_gb.filter(|free| needed_gb > 0.0 && needed_gb > *free) else {
            self.shrinks.iter().chain(&self.grows).chain(&self.gives).for_each(|step| text.push_str(&step.text));
            return text;
        };
        let (back, last): (Vec<&Step>, Vec<&Step>) = self.gives.iter().partition(|step| step.gb > 0.0);
        let first: Vec<&Step> = self.shrinks.iter().chain(back).collect();
        let given_gb = first.iter().map(|step| step.gb).sum::<f64>();
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "-- {} GB are free, and the statements take {}.{}",
            free_gb.max(0.0).floor(),
            needed_gb.ceil(),
            if first.is_empty() { "" } else { " First give space back by hand:" }
        );
        text.extend(first.iter().map(|step| step.text.as_str()));
        let missing_gb = needed_gb - given_gb - free_gb;
        if missing_gb > 0.0 {
            let raised_gb = (missing_gb / SPACE_STEP_GB).ceil() * SPACE_STEP_GB;
            let _ = writeln!(text, "-- Raise the space of the instance by {raised_gb} GB or more.");
        }
        let mut left_gb = free_gb;
        for step in &self.grows {
            if left_gb >= 0.0 && step.gb > left_gb {
                text.push_str("-- From here on only once there is that space.\n");
                left_gb = -1.0;
            }
            left_gb -= step.gb;
            text.push_str(&step.text);
        }
        text.extend(last.iter().map(|step| step.text.as_str()));
        text
    }
}

/// An instance's space comes in multiples of so many GB (resource limits, 2022-06-02).
pub const SPACE_STEP_GB: f64 = 32.0;

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
    use crate::storage;

    fn file(name: &str, kind: FileKind, size_gb: f64) -> DatabaseFile {
        DatabaseFile::new("shop]", name, kind, size_gb)
    }

    fn statements(files: &[DatabaseFile], layout: &Layout, free_gb: Option<f64>) -> String {
        let mut steps = Steps::default();
        steps.layout("SHOP]", files, layout, &|_| Some(0.0));
        steps.text(free_gb, None)
    }

    fn layout(data_files: u32, data_gb: f64, log_gb: f64) -> Layout {
        let step = storage::Step { name: None, blob_gb: 1024.0, iops: Some(5000.0), mb_per_s: Some(200.0) };
        let (data_step, log_step) = (step.clone(), step);
        let (space_gb, blob_gb) = (1.0, 1.0);
        Layout { data_files, data_gb, data_step, log_gb, log_step, space_gb, blob_gb, used_percent: 1.0, wait_ms: 0.0 }
    }

    fn changes(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.starts_with("--")).collect()
    }

    #[test]
    fn the_log_grows_first_then_data_and_new_files_come_last() {
        let files = [file("o'ne", FileKind::Data, 100.0), file("l\n--x", FileKind::Log, 10.0)];
        let text = statements(&files, &layout(2, 513.0, 129.0), None);
        assert_eq!(
            changes(&text),
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
            [file("a", FileKind::Data, 600.0), file("b", FileKind::Data, 600.0), file("l", FileKind::Log, 129.0)];
        let text = statements(&files, &layout(1, 513.0, 129.0), Some(0.0));
        assert!(text.lines().all(|line| line.starts_with("-- ")) && text.lines().count() == 2, "{text}");
        assert_eq!(statements(&files, &layout(2, 600.0, 129.0), None), "");
    }

    #[test]
    fn a_filegroup_goes_by_its_name() {
        let added = |group: Option<&str>| {
            let filegroup = group.map(str::to_owned);
            let file = DatabaseFile { filegroup, ..DatabaseFile::new("d", "f", FileKind::Data, 100.0) };
            let mut steps = Steps::default();
            steps.add(&file, std::slice::from_ref(&file), 1, 130.0);
            steps.text(None, None).lines().last().unwrap().to_owned()
        };
        let plain = "ALTER DATABASE [d] ADD FILE (NAME = N'd_data_2', SIZE = 130GB);";
        assert_eq!([None, Some("1"), Some("primary")].map(added), [plain; 3]);
        assert!(added(Some("FG2")).ends_with("TO FILEGROUP [FG2];"));
        // A number is no name: such a statement would fail.
        assert!(added(Some("2")).starts_with("-- ALTER DATABASE"), "{}", added(Some("2")));
    }

    /// No statement is printed as one that runs where the space that is free is too little for it.
    #[test]
    fn what_must_be_given_back_first_comes_first() {
        let with =
            |name: &str, used_gb: f64| DatabaseFile { used_gb: Some(used_gb), ..file(name, FileKind::Data, 600.0) };
        let files = [with("a", 100.0), with("b", 100.0), file("l", FileKind::Log, 24.0)];
        let wanted = layout(1, 513.0, 130.0);
        let enough = statements(&files, &wanted, Some(106.0));
        assert!(enough.starts_with("-- The log first"), "{enough}");
        let text = statements(&files, &wanted, Some(64.0));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "-- 64 GB are free, and the statements take 106. First give space back by hand:");
        assert!(lines[1].contains("shop].b is one file more") && lines[2].contains("shop].a is larger"), "{text}");
        assert_eq!(lines[3], "-- From here on only once there is that space.");
        assert!(lines.len() == 6 && lines[5].contains("N'l', SIZE = 130GB"), "{text}");
        let short = statements(&files[2..], &wanted, Some(64.0));
        assert!(short.contains("-- Raise the space of the instance by 576 GB or more."), "{short}");
        // Rows that are there can't be given back before there is another file for them, and what can't be had is left out.
        let full = [with("a", 500.0), file("l", FileKind::Log, 24.0)];
        let mut steps = Steps::default();
        steps.layout("SHOP]", &full, &layout(2, 300.0, 24.0), &|_| Some(0.0));
        let text = |more_gb| steps.text(Some(50.0), Some(more_gb));
        assert!(text(200.0).contains("-- Raise the space of the instance by 224 GB or more.\n"), "{}", text(200.0));
        assert!(text(200.0).contains("First give space back by hand:\n-- shop].a is larger"), "{}", text(200.0));
        assert_eq!((changes(&text(200.0)).len(), changes(&text(199.0)).len()), (1, 0));
        let out = "-- shop] is left out: its old and new files take 250 GB more than there are, and 249 are to be had.";
        assert!(text(199.0).starts_with(out) && !text(199.0).contains("SHRINKFILE"), "{}", text(199.0));
        // What fits by itself needs nothing back first, and is not left out with another.
        let mut both = steps.clone();
        both.enlarge(&DatabaseFile::new("small", "f", FileKind::Data, 100.0), 130.0, "It is small.");
        let text = both.text(Some(50.0), Some(0.0));
        assert_eq!(changes(&text), ["ALTER DATABASE [small] MODIFY FILE (NAME = N'f', SIZE = 130GB);"]);
        assert!(text.starts_with("-- shop] is left out") && !text.contains("give space back"), "{text}");
        // As long as all rows are in it, a file keeps the limits of its size.
        let mut steps = Steps::default();
        let hot = [with("a", 100.0), file("l", FileKind::Log, 24.0)];
        steps.layout("SHOP]", &hot, &layout(4, 130.0, 24.0), &|_| Some(513.0));
        let text = steps.text(Some(50.0), None);
        assert!(text.contains("DBCC SHRINKFILE; 87 GB of that now, before indexes are rebuilt"), "{text}");
        // Files that are too large ask for no space by themselves.
        assert_eq!(Steps::default().text(Some(-2880.0), None), "");
        // What fits goes before.
        let two = [file("l", FileKind::Log, 24.0), file("a", FileKind::Data, 500.0)];
        let text = statements(&two, &wanted, Some(110.0));
        let at = |words: &str| text.find(words).unwrap_or(usize::MAX);
        assert!(at("SIZE = 130GB") < at("From here on") && at("From here on") < at("SIZE = 513GB"), "{text}");
    }
}
