//! Layouts of files: which one each database should have, what else there is, and the statements that carry it out.

use plimsoll_analysis::interval::Interval;
use plimsoll_plan::choice::{Enlarged, Gain};
use plimsoll_plan::layout::{Layout, Need, Rules};
use plimsoll_plan::trial::Trial;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Storage};

use super::brings::gains;
use crate::model::format::{count, gigabytes, listed, quantity};
use crate::model::{
    Axis, Bar, BarChart, Block, Cell, Group, Kind, Line, Look, Part, Picture, Rank, Spot, Table, Tone, Value, number,
    text,
};

/// Above statements.
pub(super) const STATEMENTS: &str = "Statements that carry it out, which are printed and never run";

/// Databases that are named in the sentence; the table has all.
const MOST_NAMED: usize = 3;

/// More databases than these are no picture.
const MOST_DRAWN: usize = 8;

/// What a search for layouts found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// What each database needs that gets a layout.
    pub needs: Vec<Need>,
    /// The layouts that carry it, for each database.
    pub fronts: Vec<Vec<Layout>>,
    /// The one of each that fits together with the others.
    pub chosen: Option<Vec<usize>>,
    /// How long operations of the first of each front take under load; fewer where that would take long.
    pub trials: Vec<Vec<Trial>>,
    /// Databases that stay as they are.
    pub as_they_are: Vec<String>,
    /// Databases that stay as they are, as no larger file would do more.
    pub held: Vec<String>,
    /// Databases that would need other files, and have them in several filegroups.
    pub of_groups: Vec<String>,
    /// Databases that would need other files, and of whose data files some have rates that are not known.
    pub of_unknown: Vec<String>,
    /// Databases whose layouts have no room, or none beside the old files.
    pub out_of_reach: Vec<String>,
    /// What is advised of databases that have no layout, or whose larger files have no room.
    pub advised: Vec<Enlarged>,
    /// Databases that no layout carries.
    pub without_layout: Vec<String>,
    /// Databases whose log no size carries.
    pub without_log: Vec<String>,
    /// What the chosen ones bring databases that stand at a limit.
    pub gains: Vec<Gain>,
    /// Files that are to grow, or to be more, and have no room to, by their places in the list.
    pub without_room: Vec<usize>,
    /// Those of them that have room once other files gave back what brings them nothing.
    pub room_after: Vec<usize>,
    /// So many GB are given back then.
    pub back_gb: f64,
    /// Databases of which larger files, or further ones, carry what was seen.
    pub enlarged: Vec<Enlarged>,
    /// How they were chosen.
    pub rules: Rules,
    /// The statements for the chosen ones.
    pub statements: String,
    /// By how many GB the space has to be raised for these.
    pub raised_gb: Option<f64>,
    /// The files that these enlarge, by their places in the list, and their sizes then, in GB.
    pub grown: Vec<(usize, f64)>,
}

impl Found {
    /// Databases that would need other files, and have no layout: they go on as is advised without.
    pub fn unlaid(&self) -> impl Iterator<Item = &String> {
        [&self.of_groups, &self.of_unknown, &self.without_log, &self.without_layout].into_iter().flatten()
    }

    /// Each database with the layout that was chosen for it.
    pub fn pairs(&self) -> impl Iterator<Item = (&Need, &Layout)> {
        self.chosen_rows().map(|(need, layout, _)| (need, layout))
    }

    /// The same with its trial, if there was one.
    pub fn chosen_rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.chosen.iter().flatten().enumerate().filter_map(|(at, chosen)| self.row(at, *chosen))
    }

    /// All layouts of all databases.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let places = self.fronts.iter().enumerate();
        places.flat_map(move |(at, front)| (0..front.len()).filter_map(move |place| self.row(at, place)))
    }

    fn row(&self, at: usize, place: usize) -> Option<Row<'_>> {
        let trial = self.trials.get(at).and_then(|trials| trials.get(place));
        Some((self.needs.get(at)?, self.fronts.get(at)?.get(place)?, trial))
    }
}

/// A layout of a database, with its trial if there was one.
pub type Row<'a> = (&'a Need, &'a Layout, Option<&'a Trial>);

/// What a layout is, in words.
pub fn in_words(layout: &Layout) -> String {
    let log = gigabytes(layout.log_gb);
    format!("{} x {} and a log of {log}", layout.data_files, gigabytes(layout.data_gb))
}

/// The answer's sentences.
pub fn sentences(found: &Found, files: &[DatabaseFile], storage: &Storage<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let headroom = quantity(found.rules.headroom_percent, "%");
    let known = found.as_they_are.iter().filter(|database| !is_idle(database, files));
    let (partly, known): (Vec<&String>, Vec<&String>) = known.partition(|one| is_partly_known(one, files, storage));
    if !partly.is_empty() {
        let names = listed(&partly, MOST_NAMED);
        all.push(format!("As it is, though rates or limits of some of its files are not known: {names}."));
    }
    if !known.is_empty() {
        all.push(format!("As it is, with {headroom} and more to spare: {}.", listed(&known, MOST_NAMED)));
    }
    if !found.of_groups.is_empty() {
        let names = listed(&found.of_groups, MOST_NAMED);
        all.push(format!(
            "No layout is given for {names}: files are in several filegroups, and rows stay in theirs. List the files of one filegroup and the log to \
             have one."
        ));
    }
    if !found.of_unknown.is_empty() {
        let names = listed(&found.of_unknown, MOST_NAMED);
        all.push(format!(
            "No layout is given for {names}: what some of the data files do is not known, and may be anything. With iops and mb_per_s of all in the list \
             there is one.{}",
            until_then(&found.of_unknown, found)
        ));
    }
    all.extend(out_of_reach(found));
    if !found.held.is_empty() {
        let names = listed(&found.held, MOST_NAMED);
        all.push(format!(
            "As it is, though with less than {headroom} to spare, as no larger file does more now: {names}."
        ));
    }
    if !found.without_room.is_empty() {
        let names =
            |all: &[usize]| listed(&all.iter().map(|at| files[*at].label()).collect::<Vec<_>>(), 2 * MOST_NAMED);
        let after = if found.room_after.is_empty() {
            String::new()
        } else {
            format!(
                " With {} given back that bring nothing there is room for {}.",
                gigabytes(found.back_gb),
                names(&found.room_after)
            )
        };
        all.push(format!(
            "To have {headroom} to spare these would have to grow or to be more, and such an instance has no room for that: {}.{}{after}",
            names(&found.without_room),
            as_advised(found, files)
        ));
    }
    let (further, larger): (Vec<&Enlarged>, Vec<&Enlarged>) =
        found.enlarged.iter().partition(|one| !one.further.is_empty());
    if !larger.is_empty() {
        let names = grown(&larger, files);
        all.push(format!("Larger files have {headroom} to spare, and move no rows: {names}."));
    }
    if !further.is_empty() {
        let databases: Vec<&String> = further.iter().map(|one| &one.database).collect();
        let names = Some(grown(&further, files)).filter(|names| !names.is_empty());
        all.push(format!(
            "To spread rows as advised above takes the least space in {}{}.",
            listed(&databases, MOST_NAMED),
            names.map(|names| format!(", with larger files: {names}")).unwrap_or_default()
        ));
    }
    if !found.without_log.is_empty() {
        all.push(format!(
            "No size of a log carries what {} needs with {headroom} to spare, and a database has one log: fewer and larger commits, less to spare \
             (--headroom), or Business Critical.{}",
            listed(&found.without_log, MOST_NAMED),
            until_then(&found.without_log, found)
        ));
    }
    if !found.without_layout.is_empty() {
        all.push(format!(
            "No layout of up to {} carries what {} needs with {headroom} to spare: more files (--most-files), less to spare (--headroom), a \
             longer wait (--most-wait), or Business Critical.{}",
            count(found.rules.most_files as usize, "data file"),
            listed(&found.without_layout, MOST_NAMED),
            until_then(&found.without_layout, found)
        ));
    }
    if !found.needs.is_empty() {
        all.push(sentence(found));
    }
    all.extend(raise(found));
    all.extend(found.gains.iter().take(MOST_NAMED).map(|one| gain(one, files)));
    all
}

/// That layouts have no room, and what would make some.
fn out_of_reach(found: &Found) -> Option<String> {
    let names = Some(listed(&found.out_of_reach, MOST_NAMED)).filter(|_| !found.out_of_reach.is_empty())?;
    let back = Some(found.back_gb).filter(|gb| *gb > 0.0);
    let back = back.map(|gb| format!(" ({} bring nothing)", gigabytes(gb))).unwrap_or_default();
    Some(format!(
        "Other files would carry {names}, and have no room beside all others, or beside the old ones while rows are moved: it takes space that others \
         give back{back}, a larger instance, or another one that the rows are moved to.{}",
        until_then(&found.out_of_reach, found)
    ))
}

/// That the statements take more space than is free.
fn raise(found: &Found) -> Option<String> {
    let gb = found.raised_gb?;
    let back = if found.back_gb >= gb {
        format!(", or give back {} that bring nothing", gigabytes(found.back_gb))
    } else {
        String::new()
    };
    Some(format!(
        "The statements below take more than is free: raise the space of the instance by {} or more first{back}.",
        gigabytes(gb)
    ))
}

/// That databases without a layout go on as is advised, where that is something.
fn until_then(databases: &[String], found: &Found) -> &'static str {
    let is_advised = |one: &Enlarged| databases.iter().any(|database| database.eq_ignore_ascii_case(&one.database));
    if found.advised.iter().any(is_advised) { " Until then what is advised above is done." } else { "" }
}

/// Files that are to grow, and their sizes then.
fn grown(enlarged: &[&Enlarged], files: &[DatabaseFile]) -> String {
    let all = enlarged.iter().flat_map(|one| &one.files);
    let all = all.map(|(at, size_gb)| format!("{} to {}", files[*at].label(), gigabytes(*size_gb)));
    listed(&all.collect::<Vec<_>>(), 2 * MOST_NAMED)
}

/// That files have no room for so much to spare, and have it for what is advised.
fn as_advised(found: &Found, files: &[DatabaseFile]) -> String {
    let is_out = |(at, _): &&(usize, f64)| found.without_room.contains(at);
    let all = found.advised.iter().flat_map(|one| &one.files).filter(is_out);
    let names: Vec<String> =
        all.map(|(at, size_gb)| format!("{} to {}", files[*at].label(), gigabytes(*size_gb))).collect();
    if names.is_empty() {
        return String::new();
    }
    format!(" With less to spare there is room for what is advised above: {}.", listed(&names, 2 * MOST_NAMED))
}

/// A layout is far better where it lets files do so many times the gain of what is advised.
const FAR_BETTER: f64 = 2.0;

/// A layout that is far better than what is advised.
pub(super) struct Better<'a> {
    pub(super) need: &'a Need,
    layout: &'a Layout,
    now_gb: f64,
    gain: &'a Gain,
}

impl Better<'_> {
    pub(super) fn sentence(&self) -> String {
        let Self { need, layout, now_gb, gain } = self;
        format!(
            "Other files of {} would carry it in {} (it has {} now): {}. The data files would have enough then{}. Rows are moved for that: --layouts \
             shows how.",
            need.database,
            gigabytes(layout.space_gb),
            gigabytes(*now_gb),
            in_words(layout),
            gains(&gain.brings)
        )
    }
}

/// Layouts that take no more space than the further files that are advised, and bring far more.
pub(super) fn better<'a>(found: &'a Found, advised: &[Advice], files: &[DatabaseFile]) -> Vec<Better<'a>> {
    let of = |(need, layout): (&'a Need, &'a Layout)| {
        let is_own = |at: usize| files[at].database.eq_ignore_ascii_case(&need.database);
        let own = advised.iter().filter(|one| one.files.iter().any(|at| is_own(*at)));
        let each = own.filter_map(|one| match &one.finding {
            Finding::Add { added, size_gb, brings: Some(brings), fits: true, .. } => {
                Some((*added as f64 * size_gb, brings.most_percent))
            }
            Finding::Add { .. } | Finding::Elsewhere { .. } | Finding::Grow { fits: false, .. } => Some((0.0, 0.0)),
            _ => None,
        });
        let (added_gb, most_percent) = each.reduce(|sum, one| (sum.0 + one.0, sum.1.max(one.1)))?;
        let gain = found.gains.iter().find(|one| is_own(one.file) && files[one.file].kind == FileKind::Data)?;
        let now_gb: f64 = (0..files.len()).filter(|at| is_own(*at)).map(|at| files[at].size_gb).sum();
        let is_less = layout.space_gb <= now_gb + added_gb;
        let is_far_better = gain.brings.most_percent > FAR_BETTER * most_percent;
        (is_less && is_far_better).then_some(Better { need, layout, now_gb, gain })
    };
    found.pairs().filter_map(of).take(MOST_NAMED).collect()
}

/// Why a database gets other files, and what they bring.
fn gain(one: &Gain, files: &[DatabaseFile]) -> String {
    let file = &files[one.file];
    let (label, of, gains) = (file.label(), one.of.name(), gains(&one.brings));
    let used = quantity(one.used_percent, "%");
    let what = match file.kind {
        FileKind::Log => format!("the log of {}", file.database),
        _ => format!("the data files of {}", file.database),
    };
    format!("{label} uses {used} of its {of}: with the layout above {what} would carry it{gains}.")
}

/// What is said of the layouts.
fn sentence(found: &Found) -> String {
    let headroom = quantity(found.rules.headroom_percent, "%");
    let (space, blobs) = found.pairs().fold((0.0, 0.0), |sum, (_, one)| (sum.0 + one.space_gb, sum.1 + one.blob_gb));
    let named: Vec<String> = found
        .pairs()
        .take(MOST_NAMED)
        .map(|(need, layout)| format!("{} {}", need.database, in_words(layout)))
        .collect();
    let more = found.needs.len().checked_sub(MOST_NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!(", and {} more", count(more, "database"))).unwrap_or_default();
    format!(
        "The least space that carries what was seen with {headroom} to spare, and lets no I/O wait for more than {} on average, is {} of \
         files, with blobs of {}: {}{more}.",
        quantity(found.rules.most_wait_ms, "ms"),
        gigabytes(space),
        gigabytes(blobs),
        named.join("; ")
    )
}

/// Whether nothing is known of what the files of a database do.
fn is_idle(database: &str, files: &[DatabaseFile]) -> bool {
    let mut own = files.iter().filter(|file| file.database.eq_ignore_ascii_case(database));
    own.all(|file| file.iops.is_none() && file.mb_per_s.is_none())
}

/// Whether nobody knows of a file of a database how much of its limits it uses.
fn is_partly_known(database: &str, files: &[DatabaseFile], storage: &Storage<'_>) -> bool {
    let is_unknown = |file: &DatabaseFile| {
        let has_limits = storage.step(file.size_gb).is_some_and(|step| step.iops.is_some() && step.mb_per_s.is_some());
        !has_limits || (file.iops.is_none() && file.mb_per_s.is_none())
    };
    let of_database =
        |file: &&DatabaseFile| file.database.eq_ignore_ascii_case(database) && file.kind != FileKind::Container;
    files.iter().filter(of_database).any(is_unknown)
}

/// What layouts could not be made for, and what they take for granted.
pub fn unknown(found: &Found, files: &[DatabaseFile]) -> Vec<String> {
    let own = |database: &str| -> Vec<&DatabaseFile> {
        files.iter().filter(|file| file.database.eq_ignore_ascii_case(database)).collect()
    };
    let idle: Vec<&String> = found.as_they_are.iter().filter(|database| is_idle(database, files)).collect();
    let of = |is_so: &dyn Fn(&Need) -> bool| -> Vec<&str> {
        found.needs.iter().filter(|need| is_so(need)).map(|need| need.database.as_str()).collect()
    };
    let without_log = of(&|need| need.log_gb <= 0.0);
    let is_unused = |file: &&DatabaseFile| file.kind == FileKind::Data && file.used_gb.is_none();
    let unused = of(&|need| own(&need.database).iter().any(is_unused));
    let held = of(&|need| need.is_log_held);
    let is_unseen = |file: &&DatabaseFile| file.kind == FileKind::Log && file.iops.is_none() && file.mb_per_s.is_none();
    let unseen = of(&|need| own(&need.database).iter().any(is_unseen));
    let mut all = Vec::new();
    if !held.is_empty() {
        let names = listed(&held, MOST_NAMED);
        all.push(format!(
            "No larger log of {names} does more now: the layout leaves it as it is, and what it uses counts as nothing."
        ));
    }
    if !unseen.is_empty() {
        let names = listed(&unseen, MOST_NAMED);
        all.push(format!(
            "What the log of {names} does is not known, and counts as nothing: the layout leaves it its size."
        ));
    }
    if !idle.is_empty() {
        let names = listed(&idle, MOST_NAMED);
        all.push(format!("As it is, as the list does not say what it does: {names}."));
    }
    if !without_log.is_empty() {
        let names = listed(&without_log, MOST_NAMED);
        all.push(format!("The list has no log of {names}: the layout has the smallest."));
    }
    if !unused.is_empty() {
        let names = listed(&unused, MOST_NAMED);
        all.push(format!(
            "How much of the data files of {names} is used is not in the list (used_gb): their size is taken for it."
        ));
    }
    all
}

/// The parts below the answer: the chosen layouts, those of a single database, and the statements.
pub fn parts(found: &Found) -> Vec<Part> {
    let mut chosen = Part::of(Rank::Table);
    let pairs: Vec<Row<'_>> = found.chosen_rows().collect();
    chosen.pictures(against_limits(found));
    chosen.table("Layouts with the least space", table(&pairs));
    if pairs.iter().any(|(_, _, trial)| trial.is_some()) {
        let text = "Times are those of a model of the blobs, with operations that come at random: mean and 95 % interval over five seeds.";
        chosen.say(Tone::Quiet, text.to_owned());
    }
    let mut others = Part::detail("Other layouts");
    if let [front] = found.fronts.as_slice() {
        others.say(Tone::Quiet, "None of them is better than another in everything.".to_owned());
        others.pictures([scatter(front)]);
        let all: Vec<Row<'_>> = found.rows().collect();
        others.table("", table(&all));
    }
    if !found.statements.is_empty() {
        chosen.blocks.push(Block::Text(STATEMENTS.to_owned(), found.statements.clone()));
    }
    vec![chosen, others]
}

/// The files of the chosen layouts as bars: how much of their limits they would use. A limit is 100 %.
fn against_limits(found: &Found) -> Option<Picture> {
    let bar = |(series, percent): (usize, f64)| {
        let value = Value { value: percent, unit: "%".to_owned(), ..Value::default() };
        (series, Bar { label: LIMITS[series].to_owned(), value, expected: None })
    };
    let groups: Vec<Group> = found
        .pairs()
        .filter_map(|(need, layout)| {
            let used = layout.used(need, &found.rules)?;
            let names = [format!("{} data ({})", need.database, layout.data_files), format!("{} log", need.database)];
            let of = |(name, used): (String, [f64; 2])| Group {
                name,
                bars: used.into_iter().enumerate().map(bar).collect(),
            };
            Some(names.into_iter().zip(used).map(of))
        })
        .flatten()
        .collect();
    let title = "How much of its limits each file would use (the busiest of several)".to_owned();
    let series = LIMITS.map(str::to_owned).to_vec();
    let chart = BarChart { title, axis: "% of the limit".to_owned(), series, groups, limit: Some(100.0) };
    (1..=2 * MOST_DRAWN).contains(&chart.groups.len()).then_some(Picture::Bars(chart))
}

/// What a file is held to.
const LIMITS: [&str; 2] = ["IOPS", "MB/s"];

fn table(layouts: &[Row<'_>]) -> Option<Table> {
    let time = |interval: Option<Interval>| -> Cell {
        interval.map_or_else(Cell::default, |one| {
            let (unit, bound) = ("ms".to_owned(), None);
            Cell::from(Value { value: one.value, unit, low: one.low, high: one.high, bound })
        })
    };
    Table::of(
        layouts.iter().copied(),
        &[
            (text("database"), &|row: &Row<'_>| row.0.database.as_str().into()),
            (number("data files", ""), &|row: &Row<'_>| row.1.data_files.into()),
            (number("each", "GB").given(), &|row: &Row<'_>| row.1.data_gb.into()),
            (number("each", "IOPS"), &|row: &Row<'_>| row.1.data_step.iops.into()),
            (number("log", "GB").given(), &|row: &Row<'_>| row.1.log_gb.into()),
            (number("log", "IOPS"), &|row: &Row<'_>| row.1.log_step.iops.into()),
            (number("all files", "GB").given(), &|row: &Row<'_>| row.1.space_gb.into()),
            (number("blobs", "GB").given(), &|row: &Row<'_>| row.1.blob_gb.into()),
            (number("busiest limit used", "%"), &|row: &Row<'_>| row.1.used_percent.into()),
            (number("wait for its turn", "ms"), &|row: &Row<'_>| row.1.wait_ms.into()),
            (number("data I/O", "ms"), &|row: &Row<'_>| time(row.2.and_then(|trial| trial.data_ms))),
            (number("log I/O", "ms"), &|row: &Row<'_>| time(row.2.and_then(|trial| trial.log_ms))),
        ],
    )
}

/// How much of the busiest limit is used, over the space that it takes.
fn scatter(front: &[Layout]) -> Picture {
    let mut lines: Vec<Line> = Vec::new();
    for layout in front {
        let name = count(layout.data_files as usize, "data file");
        let spot = Spot { x: layout.space_gb, y: layout.used_percent, label: in_words(layout), ..Spot::default() };
        let gap = Spot { x: layout.space_gb, y: f64::NAN, ..Spot::default() };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.spots.extend([spot, gap]),
            None => lines.push(Line { name, look: Look::Measured(lines.len()), spots: vec![spot, gap] }),
        }
    }
    let (x, y) = (Axis::new("all files, GB", Kind::Log), Axis::new("busiest limit used, %", Kind::FromZero));
    Picture::lines("Space against room", x, y, lines)
}
