//! The statements that carry a plan out, in an order in which no step does harm: the log grows first, as commits wait for it, then the data
//! files that are there, then new ones. They are printed and never run; what takes something away is a remark. Where the space that is free
//! is too little for all, what is to be given back by hand comes first.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::advice::Finding;
use crate::file::{DatabaseFile, FileKind};
use crate::layout::{Layout, ROOM_PART};

/// The smallest size with the limits of a size, and whether a file carries so many IOPS and MB/s more as it is.
pub type Carries<'a> = (&'a dyn Fn(f64) -> Option<f64>, &'a dyn Fn(&DatabaseFile, [f64; 2]) -> bool);

/// What is to be done, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Steps {
    /// What is given back before anything grows, as what grows is counted with it.
    shrinks: Vec<Step>,
    grows: Vec<Step>,
    gives: Vec<Step>,
    /// Files that are made.
    made: Vec<String>,
    /// Files that are enlarged: database, name and the size then, in GB.
    enlarged: Vec<(String, String, f64)>,
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
            self.enlarged.push((file.database.clone(), file.name.clone(), size_gb));
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
        self.grows.push(Step { database: beside.database.clone(), text: rebuild(beside), gb: 0.0 });
    }

    /// Carries out what more files of a filegroup need, `at` being one of those that are there.
    pub fn more(&mut self, finding: &Finding, at: usize, files: &[DatabaseFile]) {
        let Finding::Add { added, size_gb, shrunk, .. } = finding else { return };
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

    /// Gives a database other files. Nothing where they are as they should be. As long as a file has all rows it keeps its limits.
    pub fn layout(&mut self, database: &str, files: &[DatabaseFile], layout: &Layout, (like_gb, carries): Carries<'_>) {
        let of = |kind: FileKind| {
            let own =
                files.iter().filter(move |file| file.kind == kind && file.database.eq_ignore_ascii_case(database));
            own.collect::<Vec<_>>()
        };
        let (logs, data) = (of(FileKind::Log), of(FileKind::Data));
        // Less than a GB that leaves its limits as they are is no reason to touch a log.
        let is_larger = |file: &&&DatabaseFile| {
            layout.log_gb - file.size_gb >= 1.0 || like_gb(file.size_gb) != like_gb(layout.log_gb)
        };
        for file in logs.iter().take(1).filter(is_larger) {
            self.enlarge(file, layout.log_gb, "The log first: commits wait for it.");
        }
        let kept = data.len().min(layout.data_files as usize);
        for file in &data[..kept] {
            self.enlarge(file, layout.data_gb, "All data files of one size: rows are spread by free space.");
        }
        if let Some(first) = data.first().or(logs.first()) {
            self.add(first, files, (layout.data_files as usize).saturating_sub(kept), layout.data_gb);
        }
        // Rows come into new files by a rebuild as well, which is said there.
        let is_to_spread = kept > 1 && kept == layout.data_files as usize;
        self.give((database, is_to_spread), &data, kept, layout.data_gb, (like_gb, carries));
    }

    /// What data files give back, of which the first so many are kept. Pages stay where they are until indexes are rebuilt, so that no file is
    /// smaller before than what is in it. Of a file nobody said that, and it gives nothing back before.
    fn give(
        &mut self,
        (database, is_to_spread): (&str, bool),
        data: &[&DatabaseFile],
        kept: usize,
        data_gb: f64,
        (like_gb, carries): Carries<'_>,
    ) {
        let content_gb = |file: &DatabaseFile| file.used_gb.unwrap_or(file.size_gb);
        let free_gb = |file: &DatabaseFile| file.size_gb - content_gb(file);
        let all_free_gb: f64 = data[..kept].iter().map(|file| free_gb(file)).sum();
        let moved_gb: f64 = data[kept..].iter().map(|file| content_gb(file)).sum();
        let kept_gb: f64 = moved_gb + data[..kept].iter().map(|file| content_gb(file)).sum::<f64>();
        // What is emptied goes into what is free in the others, as far as there is room with which these can grow, and they carry it.
        let rate = |of: fn(&DatabaseFile) -> Option<f64>| data[kept..].iter().filter_map(|file| of(file)).sum::<f64>();
        let moved = [rate(|file| file.iops), rate(|file| file.mb_per_s)];
        let is_carried = |file: &&DatabaseFile| {
            let part = if all_free_gb > 0.0 { free_gb(file) / all_free_gb } else { 0.0 };
            carries(file, moved.map(|rate| rate * part))
        };
        let is_emptied = moved_gb + ROOM_PART * kept_gb <= all_free_gb && data[..kept].iter().all(is_carried);
        for file in &data[kept..] {
            let text = format!(
                "-- {} is one file more than needed: where its filegroup has another, it can be emptied (DBCC SHRINKFILE ... EMPTYFILE) and \
                 removed.\n",
                in_a_line(&file.label())
            );
            let gb = if is_emptied { file.size_gb } else { 0.0 };
            self.gives.push(Step { database: database.to_owned(), text, gb });
        }
        // A file that goes leaves its rows where there is room, and one that grows gets none by that.
        if let Some(first) = data.first().filter(|_| is_to_spread) {
            let text = rebuild(first);
            self.gives.push(Step { database: database.to_owned(), text, gb: 0.0 });
        }
        let moved_part = if is_emptied && all_free_gb > 0.0 { moved_gb / all_free_gb } else { 0.0 };
        for file in data[..kept].iter().filter(|file| file.size_gb > data_gb) {
            let as_now_gb = like_gb(file.size_gb).unwrap_or(file.size_gb);
            let held_gb = content_gb(file) + moved_part * free_gb(file);
            // Pages that are about to be moved need some room.
            let least_gb = data_gb.max(as_now_gb).max(held_gb * (1.0 + ROOM_PART)).min(file.size_gb);
            let (gb, now) = match (file.size_gb - least_gb).floor() {
                _ if least_gb <= data_gb => (file.size_gb - data_gb, String::new()),
                gb if gb >= 1.0 => {
                    let now = format!(
                        "; {gb:.0} GB of that now, before indexes are rebuilt, so that rows go into the others; the rest once they are spread"
                    );
                    (gb, now)
                }
                _ => (0.0, "; only once indexes are rebuilt, so that rows go into the others".to_owned()),
            };
            let text = format!(
                "-- {} is larger than needed: {data_gb:.0} GB hold its part of the data and have these limits (DBCC SHRINKFILE{now}).\n",
                in_a_line(&file.label())
            );
            self.gives.push(Step { database: database.to_owned(), text, gb });
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
        let mut seen = BTreeSet::new();
        let steps = self.grows.iter().chain(&self.gives);
        let databases = steps.map(|step| &step.database).filter(|database| seen.insert(database.to_lowercase()));
        let needed = |one: &String| of(&self.grows, one) - of(&self.shrinks, one) - of(&self.gives, one);
        // What is given back by hand comes before all that grows, of whatever database.
        let (giving, taking): (Vec<_>, Vec<_>) =
            databases.map(|one| (one, needed(one))).partition(|(_, needed_gb)| *needed_gb <= 0.0);
        let given_gb = giving.iter().fold(0.0, |sum, (_, needed_gb)| sum - needed_gb);
        let mut can_have_gb = free_gb.max(0.0) + more_gb.max(0.0) + given_gb;
        let mut all = Vec::new();
        for (database, needed_gb) in taking {
            if needed_gb <= can_have_gb {
                can_have_gb -= needed_gb;
            } else {
                all.push((database.clone(), [needed_gb, can_have_gb]));
            }
        }
        all
    }

    /// The files that the statements enlarge, by their places in the list, and their sizes then, in GB.
    pub fn enlarged(&self, files: &[DatabaseFile], free_gb: Option<f64>, more_gb: Option<f64>) -> Vec<(usize, f64)> {
        let kept = self.kept(free_gb, more_gb).0.enlarged;
        kept.into_iter()
            .filter_map(|(database, name, size_gb)| {
                let at = files.iter().position(|file| file.database == database && file.name == name)?;
                Some((at, size_gb))
            })
            .collect()
    }

    /// The same without the databases that have no room, and these with the GB that are missing and those that are to be had.
    fn kept(&self, free_gb: Option<f64>, more_gb: Option<f64>) -> (Self, Vec<(String, [f64; 2])>) {
        let (mut kept, out) = (self.clone(), self.without_room(free_gb, more_gb));
        let is_kept = |database: &str| !out.iter().any(|(other, _)| other.eq_ignore_ascii_case(database));
        for steps in [&mut kept.shrinks, &mut kept.grows, &mut kept.gives] {
            steps.retain(|step| is_kept(&step.database));
        }
        kept.enlarged.retain(|(database, ..)| is_kept(database));
        (kept, out)
    }

    /// By how many GB the space has to be raised for the statements, once what they give back first is there; `None` where that is not so, or where
    /// such an instance can't have as much.
    pub fn raised_gb(&self, free_gb: Option<f64>, more_gb: Option<f64>) -> Option<f64> {
        let (kept, _) = self.kept(free_gb, more_gb);
        let missing_gb = kept.taken_gb() - free_gb?;
        let is_to_be_had = missing_gb > 0.0 && more_gb.is_none_or(|more| missing_gb <= more);
        (is_to_be_had && kept.needed_gb() > 0.0).then(|| in_steps(missing_gb))
    }

    /// GB that the statements take more than is there, once what can be given back before them is.
    pub fn taken_gb(&self) -> f64 {
        self.needed_gb() - self.given_gb()
    }

    /// GB that all statements take.
    fn needed_gb(&self) -> f64 {
        self.grows.iter().fold(0.0, |sum, step| sum + step.gb)
    }

    /// GB that are given back before any of them.
    fn given_gb(&self) -> f64 {
        self.shrinks.iter().chain(&self.gives).fold(0.0, |sum, step| sum + step.gb)
    }

    /// The statements, where so many GB are free, and the space can be raised by so many more. Databases that have no room are left out, which is
    /// said.
    pub fn text(&self, free_gb: Option<f64>, more_gb: Option<f64>) -> String {
        let (kept, out) = self.kept(free_gb, more_gb);
        let mut text = String::new();
        for (database, [needed_gb, can_have_gb]) in out {
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
        text + &kept.in_space(free_gb, more_gb)
    }

    /// The same of databases that have room one by one. Files that do not fit as they are lack space all the same.
    fn in_space(&self, free_gb: Option<f64>, more_gb: Option<f64>) -> String {
        let mut text = String::new();
        let needed_gb = self.needed_gb();
        let Some(free_gb) = free_gb.filter(|free| needed_gb > 0.0 && needed_gb > *free) else {
            self.shrinks.iter().chain(&self.grows).chain(&self.gives).for_each(|step| text.push_str(&step.text));
            return text;
        };
        let (back, last): (Vec<&Step>, Vec<&Step>) = self.gives.iter().partition(|step| step.gb > 0.0);
        let first: Vec<&Step> = self.shrinks.iter().chain(back).collect();
        // Writing to a String can't fail.
        let free = match free_gb {
            over if over < 0.0 => format!("Files take {} GB more than there are", (-over).ceil()),
            free => format!("{} GB are free", free.floor()),
        };
        let _ = writeln!(
            text,
            "-- {free}, and the statements take {}.{}",
            needed_gb.ceil(),
            if first.is_empty() { "" } else { " First give space back by hand:" }
        );
        text.extend(first.iter().map(|step| step.text.as_str()));
        let missing_gb = self.taken_gb() - free_gb;
        let lacking_gb = missing_gb - more_gb.unwrap_or(f64::INFINITY);
        if lacking_gb > 0.0 {
            let more = match more_gb.filter(|more| *more > 0.0) {
                Some(more) => format!("can be raised by {} GB at most", more.floor()),
                None => "can't be raised".to_owned(),
            };
            let _ = writeln!(
                text,
                "-- The space of the instance {more}: {} GB are missing, which other files have to give back, or take to another instance.",
                lacking_gb.ceil()
            );
        } else if missing_gb > 0.0 {
            let _ = writeln!(text, "-- Raise the space of the instance by {} GB or more.", in_steps(missing_gb));
        }
        let mut taken_gb = 0.0;
        for step in &self.grows {
            let is_short = taken_gb > free_gb.max(0.0);
            taken_gb += step.gb;
            if !is_short && step.gb > 0.0 && taken_gb > free_gb {
                text.push_str("-- From here on only once there is that space.\n");
            }
            text.push_str(&step.text);
        }
        text.extend(last.iter().map(|step| step.text.as_str()));
        text
    }
}

/// An instance's space comes in multiples of so many GB (resource limits, 2022-06-02).
pub const SPACE_STEP_GB: f64 = 32.0;

/// The next of these.
pub(crate) fn in_steps(gb: f64) -> f64 {
    (gb / SPACE_STEP_GB).ceil() * SPACE_STEP_GB
}

/// That rows of a filegroup are to be spread, which has this file.
fn rebuild(one: &DatabaseFile) -> String {
    let group = one.filegroup.as_deref().map(in_a_line).map(|group| format!(" of filegroup {group}"));
    format!(
        "-- Rebuild the indexes{} in {} (ALTER INDEX ALL ON ... REBUILD), so that rows are spread over all files.\n",
        group.unwrap_or_default(),
        in_a_line(&one.database)
    )
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
mod tests;
