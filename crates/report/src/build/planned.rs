//! Files of databases on a storage whose limits follow from their size: whether they fit, what each has, and what more would bring.

use plimsoll_plan::{Broken, DatabaseFile, FileKind, FileLimits, Limits, Step, Storage};

use crate::model::format::{capital, count, quantity};
use crate::model::{Axis, Kind, Line, Look, Part, Picture, Rank, Report, Spot, Table, Tone, number, text};

/// From this share of a limit on, in percent, a file stands at it: the mark of the publisher's own script.
const AT_LIMIT_PERCENT: f64 = 90.0;

/// Files that are named in a sentence; a table has all.
const MOST_NAMED: usize = 5;

/// The sentences about files on a storage, by themselves: what does not fit, what stands at its limits, and what would help.
pub fn advice(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Vec<String> {
    let mut all: Vec<String> = limits.broken.iter().map(|broken| over(broken, files)).collect();
    all.extend(at_limits(files, limits));
    all.extend(unknown(files, storage, limits));
    all
}

/// The report: the answer, where the files stand on the staircase of limits, and a row for each.
pub fn report(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Report {
    let mut report = Report::new(format!("Files on {} of {}", storage.tier.title, storage.instance.as_of));
    let mut answer = Part::of(Rank::Answer);
    answer.say(Tone::Headline, headline(files, storage, limits));
    for sentence in limits.broken.iter().skip(1).map(|broken| over(broken, files)).chain(at_limits(files, limits)) {
        answer.say(Tone::Plain, sentence);
    }
    answer.say(Tone::Plain, log_rate(storage));
    for sentence in unknown(files, storage, limits) {
        answer.say(Tone::Warning, sentence);
    }
    let mut picture = Part::of(Rank::Picture);
    picture.pictures([staircase(files, storage, limits)]);
    let mut table = Part::of(Rank::Table);
    table.table("", rows(files, limits));
    let mut more = Part::detail("What was published");
    more.table("Limits of a file by its size", steps(storage));
    for source in sources(storage) {
        more.say(Tone::Quiet, source);
    }
    report.add_all([answer, picture, table, more]);
    report
}

/// What was published of an instance of a day, without any files.
pub fn edition(storage: &Storage<'_>) -> Report {
    let mut report = Report::new(format!("{} of {}", storage.tier.title, storage.instance.as_of));
    let mut answer = Part::of(Rank::Answer);
    let space = storage.space_gb().map(|gb| format!("All files together have {}", quantity(gb, "GB")));
    let blobs = storage.blobs_gb().map(|gb| format!("their blobs {}", quantity(gb, "GB")));
    let both: Vec<String> = space.into_iter().chain(blobs).collect();
    answer.say(Tone::Headline, (!both.is_empty()).then(|| format!("{}.", capital(&both.join(", and ")))));
    answer.say(Tone::Plain, log_rate(storage));
    for sentence in unknown(&[], storage, &Limits::default()) {
        answer.say(Tone::Warning, sentence);
    }
    let mut table = Part::of(Rank::Table);
    table.table("", steps(storage));
    for source in sources(storage) {
        answer.say(Tone::Quiet, source);
    }
    report.add_all([answer, table]);
    report
}

fn headline(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> String {
    if let Some(broken) = limits.broken.first() {
        return format!("These files do not fit: {}", over(broken, files));
    }
    let of = |limit: Option<f64>| limit.map(|gb| format!(" of {}", quantity(gb, "GB"))).unwrap_or_default();
    format!(
        "The {} together have {}{}, and their blobs {}{}. All fit.",
        count(files.len(), "file"),
        quantity(limits.file_gb, "GB"),
        of(storage.space_gb()),
        quantity(limits.blob_gb, "GB"),
        of(storage.blobs_gb()),
    )
}

fn over(broken: &Broken, files: &[DatabaseFile]) -> String {
    match broken {
        Broken::Space { file_gb, space_gb } => format!(
            "all files take {}, those of tempdb among them, and the instance has {}.",
            quantity(*file_gb, "GB"),
            quantity(*space_gb, "GB")
        ),
        Broken::Blobs { blob_gb, most_gb } => format!(
            "their blobs take {}, and all blobs of an instance may take {}: fewer and larger files have smaller blobs together.",
            quantity(*blob_gb, "GB"),
            quantity(*most_gb, "GB")
        ),
        Broken::Files { files, most } => format!("there are {files} files, and an instance may have {most}."),
        Broken::Size { file, most_gb } => format!(
            "{} has {}, and a {} file may have {}.",
            name(&files[*file]),
            quantity(files[*file].size_gb, "GB"),
            files[*file].kind.name(),
            quantity(*most_gb, "GB")
        ),
    }
}

/// Files that were seen at a limit, with the size that would bring them more.
fn at_limits(files: &[DatabaseFile], limits: &Limits) -> Vec<String> {
    let stand = |(file, of): &(&DatabaseFile, &FileLimits)| {
        used(file, of).is_some_and(|(percent, _)| percent >= AT_LIMIT_PERCENT)
    };
    let all: Vec<_> = files.iter().zip(&limits.files).filter(stand).collect();
    let mut sentences: Vec<String> = all
        .iter()
        .take(MOST_NAMED)
        .filter_map(|(file, of)| {
            let (percent, of_what) = used(file, of)?;
            let next = of.next.as_ref().map_or_else(
                || "no larger size is known to have more.".to_owned(),
                |next| format!("{} have {}.", quantity(next.size_gb, "GB"), has(&next.step).unwrap_or_default()),
            );
            Some(format!("{} uses {} of its {of_what}: {next}", name(file), percent_of(percent)))
        })
        .collect();
    if let Some(more) = all.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        sentences.push(format!("{} more stand at a limit; the table has them.", count(more, "file")));
    }
    sentences
}

/// By how much a file used the limit that it came nearer to, in percent, and which one that is.
fn used(file: &DatabaseFile, limits: &FileLimits) -> Option<(f64, &'static str)> {
    let step = limits.step.as_ref()?;
    let percent = |seen: Option<f64>, limit: Option<f64>| Some(100.0 * seen? / limit?);
    let [iops, rate] = [percent(file.iops, step.iops), percent(file.mb_per_s, step.mb_per_s)];
    let both = [iops.map(|percent| (percent, "IOPS")), rate.map(|percent| (percent, "MB/s"))];
    both.into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
}

fn percent_of(percent: f64) -> String {
    quantity(percent, "%")
}

/// `2,300 IOPS and 150 MB/s`.
fn has(step: &Step) -> Option<String> {
    let parts = [step.iops.map(|iops| quantity(iops, "IOPS")), step.mb_per_s.map(|rate| quantity(rate, "MB/s"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" and "))
}

fn log_rate(storage: &Storage<'_>) -> Option<String> {
    let rate = storage.tier.log_mb_per_second(storage.wishes.vcores)?;
    Some(format!(
        "The log of the instance may grow by {} at most, however large log files are.",
        quantity(rate, "MB/s")
    ))
}

/// What nobody published, and what would say it.
fn unknown(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Vec<String> {
    let mut all = Vec::new();
    if storage.space_gb().is_none() {
        all.push("How much space an instance has is not published for this day: --space says it.".to_owned());
    } else if storage.wishes.space_gb.is_none() {
        all.push(
            "The space is the most that such an instance can have: --space says how much it was given.".to_owned(),
        );
    }
    let without =
        files.iter().zip(&limits.files).filter(|(_, of)| of.step.as_ref().is_some_and(|step| step.iops.is_none()));
    let names: Vec<String> = without.map(|(file, _)| name(file)).take(MOST_NAMED).collect();
    if !names.is_empty() {
        all.push(format!("Limits of files so large were not published for this day: {}.", names.join(", ")));
    }
    all
}

fn name(file: &DatabaseFile) -> String {
    format!("{}.{}", file.database, file.name)
}

fn rows(files: &[DatabaseFile], limits: &Limits) -> Option<Table> {
    type Row<'a> = (&'a DatabaseFile, &'a FileLimits);
    let step = |row: &Row<'_>| row.1.step.clone();
    let next = |row: &Row<'_>| row.1.next.clone();
    let used_percent = |row: &Row<'_>| used(row.0, row.1).map(|(percent, _)| percent);
    Table::of(
        files.iter().zip(&limits.files),
        &[
            (text("database"), &|row: &Row<'_>| row.0.database.as_str().into()),
            (text("file"), &|row: &Row<'_>| row.0.name.as_str().into()),
            (text("type"), &|row: &Row<'_>| row.0.kind.name().into()),
            (number("size", "GB"), &|row: &Row<'_>| row.0.size_gb.into()),
            (number("blob", "GB"), &|row: &Row<'_>| step(row).map(|step| step.blob_gb).into()),
            (number("limit", "IOPS"), &|row: &Row<'_>| step(row).and_then(|step| step.iops).into()),
            (number("limit", "MB/s"), &|row: &Row<'_>| step(row).and_then(|step| step.mb_per_s).into()),
            (number("used", "%"), &|row: &Row<'_>| used_percent(row).into()),
            (number("same limits up to", "GB"), &|row: &Row<'_>| {
                row.1.step.as_ref().map(|_| row.0.size_gb + row.1.same_gb).into()
            }),
            (number("more from", "GB"), &|row: &Row<'_>| next(row).map(|next| next.size_gb).into()),
            (number("then", "IOPS"), &|row: &Row<'_>| next(row).and_then(|next| next.step.iops).into()),
            (number("then", "MB/s"), &|row: &Row<'_>| next(row).and_then(|next| next.step.mb_per_s).into()),
        ],
    )
}

fn steps(storage: &Storage<'_>) -> Option<Table> {
    Table::of(
        storage.steps.iter(),
        &[
            (number("file up to", "GB"), &|step: &&Step| step.blob_gb.into()),
            (text("blob"), &|step: &&Step| step.name.clone().into()),
            (number("limit", "IOPS"), &|step: &&Step| step.iops.into()),
            (number("limit", "MB/s"), &|step: &&Step| step.mb_per_s.into()),
        ],
    )
}

fn sources(storage: &Storage<'_>) -> Vec<String> {
    let files = [format!("Limits of files: {}", storage.files.source)];
    let instance = [format!("Limits of instances: {}", storage.instance.source)];
    let notes = storage.files.notes.iter().chain(&storage.instance.notes).cloned();
    files.into_iter().chain(instance).chain(notes).collect()
}

/// Operations a second by the size of a file, with the files on it.
fn staircase(files: &[DatabaseFile], storage: &Storage<'_>, limits: &Limits) -> Picture {
    let known: Vec<(f64, f64)> = storage.steps.iter().filter_map(|step| Some((step.blob_gb, step.iops?))).collect();
    let smallest = files.iter().map(|file| file.size_gb).fold(32.0_f64, f64::min).max(1.0);
    let begins = std::iter::once(smallest).chain(known.iter().map(|(blob_gb, _)| *blob_gb));
    let stairs = begins.zip(&known).flat_map(|(from, (to, iops))| [(from, *iops), (*to, *iops)]);
    let spot = |(x, y): (f64, f64)| Spot { x, y, ..Spot::default() };
    let mut lines =
        vec![Line { name: "limit by size".to_owned(), look: Look::Guide, spots: stairs.map(spot).collect() }];
    for (number, kind) in [FileKind::Data, FileKind::Log].into_iter().enumerate() {
        let mut spots: Vec<Spot> = files
            .iter()
            .zip(&limits.files)
            .filter(|(file, _)| file.kind == kind)
            .filter_map(|(file, of)| {
                let y = of.step.as_ref()?.iops?;
                Some(Spot { x: file.size_gb.max(smallest), y, label: name(file), ..Spot::default() })
            })
            .collect();
        spots.sort_by(|a, b| a.x.total_cmp(&b.x));
        // Files are no course: nothing leads from one to the next.
        let apart = spots.into_iter().flat_map(|spot| {
            let gap = Spot { x: spot.x, y: f64::NAN, ..Spot::default() };
            [spot, gap]
        });
        lines.push(Line {
            name: format!("{} files", kind.name()),
            look: Look::Measured(number),
            spots: apart.collect(),
        });
    }
    let (x, y) = (Axis::new("size of the file, GB", Kind::Log), Axis::new("limit, IOPS", Kind::FromZero));
    Picture::lines("What files have by their size", x, y, lines)
}
