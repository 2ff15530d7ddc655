//! `plimsoll catalog`: published figures with date, source and basis, and what they come to at full use. Disks come as tables: first
//! the kinds, then the sizes of those that were asked for.

use std::fmt::Write as _;

use plimsoll_analysis::maximum::theoretical_maximum;
use plimsoll_catalog::{
    Amount, CapAt, Catalog as Facts, DiskClass, DiskEdition, DiskLevel, Figure, Match, Medium, Metric, Share,
    SharedLimit,
};
use plimsoll_measurement::{exit, units};
use plimsoll_report::model::{Cell, Part, Rank, Report, Table, Tone, number, text};
use plimsoll_report::terminal::{self, Style};

use crate::args::Catalog;
use crate::failure::Failure;
use crate::printer::Printer;

/// Prints what a query finds.
pub fn catalog(options: &Catalog, printer: &Printer) -> Result<u8, Failure> {
    let facts = Facts::builtin()?;
    // It may hold a password, and no error repeats it.
    if options.query.contains("://") {
        return Err(Failure::usage("the catalogue knows services, levels and disks, and no addresses").hint(
            "'plimsoll doctor URL' looks at a target; 'plimsoll catalog P30' prints what was published of a level",
        ));
    }
    if options.query.contains('?') {
        let mut text = String::new();
        describe_disk(&facts.disk_as(options.query.trim())?, &mut text);
        printer.result(text.trim_end());
        return Ok(exit::DONE);
    }
    let (found, disks) = (facts.search(&options.query), facts.search_disks(&options.query));
    let (classes, caps) =
        (newest(facts.search_classes(&options.query), &options.query), facts.search_caps(&options.query));
    if found.is_empty() && disks.is_empty() && classes.is_empty() && caps.is_empty() {
        return Err(nothing(facts, &options.query));
    }
    let mut text = String::new();
    let style = Style { full: true, ..printer.style };
    if classes.len() > 1 {
        text.push_str(&terminal::report(&kinds(&classes), style));
        text.push('\n');
    }
    for hit in &found {
        describe(hit, &mut text);
    }
    // A query for one disk finds no kind of them: it is told in full.
    for disk in disks.iter().filter(|_| classes.is_empty()) {
        describe_disk(disk, &mut text);
    }
    if !classes.is_empty() && !options.query.trim().is_empty() {
        for (edition, class) in &classes {
            let sizes: Vec<&DiskLevel> = edition.levels.iter().filter(|level| level.class == class.name).collect();
            text.push_str(&terminal::report(&sizes_of(edition, class, &sizes), style));
            text.push('\n');
        }
    }
    match caps.as_slice() {
        [] => {}
        [one] => describe_cap(*one, &mut text),
        _ => text.push_str(&terminal::report(&machines(&caps), style)),
    }
    printer.result(text.trim_end());
    Ok(exit::DONE)
}

/// Of each kind of disk the newest edition alone, unless an edition was asked for.
fn newest<'a>(found: Vec<(&'a DiskEdition, &'a DiskClass)>, query: &str) -> Vec<(&'a DiskEdition, &'a DiskClass)> {
    if query.contains('@') {
        return found;
    }
    let is_older = |at: usize| {
        let same = |later: &(&DiskEdition, &DiskClass)| {
            later.0.service == found[at].0.service && later.1.name == found[at].1.name
        };
        found[at + 1..].iter().any(same)
    };
    (0..found.len()).filter(|at| !is_older(*at)).map(|at| found[at]).collect()
}

fn nothing(facts: &Facts, query: &str) -> Failure {
    let editions: Vec<&str> = facts.editions().iter().map(|edition| edition.name.as_str()).collect();
    let mut levels: Vec<&str> = facts.levels().map(|at| at.level.name.as_str()).collect();
    levels.sort_unstable();
    levels.dedup();
    let of_disks = facts.disk_editions().iter().map(|edition| edition.service.as_str());
    let mut services: Vec<&str> =
        of_disks.chain(facts.cap_editions().iter().map(|edition| edition.service.as_str())).collect();
    services.dedup();
    Failure::usage(format!("the catalogue has nothing about '{query}'")).hint(format!(
        "levels are {}; editions are {}; disks and their machines are those of {}",
        levels.join(", "),
        editions.join(", "),
        services.join(", ")
    ))
}

fn describe(hit: &Match<'_>, text: &mut String) {
    let (edition, level) = (hit.edition, hit.level);
    let _ = writeln!(text, "{}/{}@{}  ({})", edition.service, level.name, edition.name, edition.as_of);
    if let Some(dtu) = &level.dtu {
        let _ = writeln!(text, "  {} DTU ({})", dtu.value, dtu.basis.name());
    }
    for figure in &hit.figures {
        let label = figure.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
        let rows = figure.join_rows.map(|rows| format!(" N = {rows}")).unwrap_or_default();
        let name = format!("{}{rows}{label}", figure.metric.name());
        let _ = writeln!(text, "  {name:<34} {:<24} {}, {}", figure.to_string(), figure.basis.name(), figure.source);
        let note = figure.note.as_ref().map(|note| format!("note: {note}"));
        for line in [at_full_use(figure), for_a_database(figure), note].into_iter().flatten() {
            let _ = writeln!(text, "  {:<34} {line}", "");
        }
    }
    for note in &level.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text.push('\n');
}

fn describe_disk(disk: &DiskLevel, text: &mut String) {
    let _ = writeln!(text, "{}/{}@{}  ({})", disk.service, disk.name, disk.edition, disk.as_of);
    let _ = writeln!(text, "  {}: {disk}", disk.class);
    let _ = writeln!(text, "  {}, {}", disk.basis.name(), disk.source);
    if let Some(latency) = &disk.latency {
        let _ = writeln!(text, "  latency: {}", latency.claim);
        if let (Some(ms), Some(source)) = (latency.measured_write_ms, &latency.measured_source) {
            let inserts = latency.measured_inserts_s.map(|seconds| format!(", {seconds} s in all")).unwrap_or_default();
            let _ = writeln!(text, "  measured: {ms} ms for a write to the log{inserts} ({source})");
        }
    }
    for note in &disk.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text.push('\n');
}

/// What whole databases take at a rate at which they are moved: those of the tests that it comes from.
fn for_a_database(figure: &Figure) -> Option<String> {
    if !matches!(figure.metric, Metric::ImportRate | Metric::RestoreRate) {
        return None;
    }
    let time = |gigabytes: u64| {
        let seconds = units::seconds_at(gigabytes * 1024 * units::MB, figure.value?)?;
        Some(format!("{gigabytes} GB in {:.1} h", seconds / 3600.0))
    };
    Some(format!("{}, {}", time(2)?, time(36)?))
}

/// The theoretical maximum of a rate that was read below full use of its limit.
fn at_full_use(figure: &Figure) -> Option<String> {
    let percent = figure.utilisation_percent.filter(|percent| *percent < 100.0)?;
    let maximum = theoretical_maximum(figure.value?, percent, None)?;
    Some(format!("at 100 % instead of {percent} %: {} {}", units::format_significant(maximum.rate), figure.unit))
}

/// The kinds of disks side by side: what the most is that one can have, and what it is meant for.
fn kinds(classes: &[(&DiskEdition, &DiskClass)]) -> Report {
    let columns = vec![
        text("kind"),
        text("medium"),
        number("up to", "GiB"),
        number("up to", "IOPS"),
        number("up to", "MB/s"),
        text("latency claimed"),
        text("boots"),
        text("meant for"),
        text("date"),
    ];
    let rows = classes.iter().map(|(edition, class)| {
        let levels: Vec<&DiskLevel> = edition.levels.iter().filter(|level| level.class == class.name).collect();
        let of_levels = |of: fn(&DiskLevel) -> f64| levels.iter().map(|level| of(level)).reduce(f64::max);
        let most = class.most;
        let gib = |bytes: u64| (bytes >> 30) as f64;
        let size = most.map(|most| most.size_gib as f64);
        let size = size.or_else(|| levels.iter().map(|level| gib(level.size_bytes)).reduce(f64::max));
        let boots = class.os_disk.map(|can| if can { "yes" } else { "no" });
        vec![
            words(format!("{}/{}", edition.service, class.name)),
            words(class.medium.map(Medium::name).unwrap_or_default()),
            figure(size),
            figure(most.map(|most| most.iops).or_else(|| of_levels(|level| level.iops))),
            figure(most.map(|most| most.mb_per_second).or_else(|| of_levels(|level| level.bandwidth_mb_per_second))),
            words(class.latency.as_ref().map(|latency| latency.claim.as_str()).unwrap_or_default()),
            words(boots.unwrap_or_default()),
            words(class.intended_use.as_deref().unwrap_or_default()),
            words(class.as_of.to_string()),
        ]
    });
    let mut part = Part::of(Rank::Table);
    part.table("", Some(Table { columns, rows: rows.collect(), ..Table::default() }));
    let mut report = Report::new("Kinds of disks");
    report.add_all([part]);
    report
}

/// The sizes of a kind, or the rule for them.
fn sizes_of(edition: &DiskEdition, class: &DiskClass, sizes: &[&DiskLevel]) -> Report {
    let mb = if class.mb_bytes == 1 << 20 { "MiB/s" } else { "MB/s" };
    let columns =
        vec![text("disk"), number("size", "GiB"), number("limit", "IOPS"), number("limit", mb), text("burst")];
    let rows = sizes.iter().map(|disk| {
        vec![
            words(disk.name.clone()),
            figure(Some((disk.size_bytes >> 30) as f64)),
            figure(Some(disk.iops)),
            figure(Some(disk.bandwidth_mb_per_second)),
            words(disk.to_string().split_once(", burst ").map(|(_, burst)| burst).unwrap_or_default()),
        ]
    });
    let mut answer = Part::of(Rank::Answer);
    answer.say(Tone::Plain, rule(edition, class, mb));
    answer.say(Tone::Plain, class.latency.as_ref().map(|latency| format!("Latency: {}.", latency.claim)));
    answer.say(Tone::Quiet, format!("{}, {}", class.basis.name(), class.source));
    for note in &class.notes {
        answer.say(Tone::Quiet, note.clone());
    }
    let mut part = Part::of(Rank::Table);
    part.table("", (!sizes.is_empty()).then(|| Table { columns, rows: rows.collect(), ..Table::default() }));
    let mut report = Report::new(format!("{}/{}@{}", edition.service, class.name, edition.name));
    report.add_all([answer, part]);
    report
}

/// What a disk has by its size, and what may be chosen.
fn rule(edition: &DiskEdition, class: &DiskClass, mb: &str) -> Option<String> {
    let rule = class.provisioned.as_ref()?;
    let share = |unit: &str, share: &Share| {
        let [included, most] =
            [&share.included, &share.most].map(|known| known.as_ref().map(|known| amount(known, unit)));
        match (included, most) {
            (Some(included), None) => included,
            (Some(included), Some(most)) => format!("{included}, or at extra cost up to {most}"),
            (None, most) => format!("as many {unit} as are bought, up to {}", most.unwrap_or_default()),
        }
    };
    let (iops, rate) = (share("IOPS", &rule.iops), share(mb, &rule.mb_per_second));
    let [smallest, largest] = rule.size_gib;
    let chosen = [("iops", &rule.iops), ("mb_per_s", &rule.mb_per_second)];
    let chosen = chosen
        .iter()
        .filter(|(_, share)| share.most.is_some())
        .fold(String::new(), |text, (name, _)| text + "&" + name + "=N");
    Some(format!(
        "A disk of {smallest} to {largest} GiB has {iops}; {rate}. It is written {}/{}?size_gib=N{chosen}.",
        edition.service, rule.name
    ))
}

/// `3 IOPS for each GiB (at least 100, at most 16000)`.
fn amount(amount: &Amount, unit: &str) -> String {
    let sum = [(amount.base, ""), (amount.per_gib, " for each GiB"), (amount.per_iops, " for each IOPS")];
    let terms = sum.iter().filter(|(number, _)| *number > 0.0);
    let text = terms.map(|(number, what)| format!("{number} {unit}{what}")).collect::<Vec<_>>().join(" and ");
    let steps = amount.above_gib.iter().map(|[from, base]| format!("above {from} GiB {base}"));
    let bounds = [("at least", amount.at_least), ("at most", amount.at_most)];
    let bounds = bounds.iter().filter_map(|(words, bound)| Some(format!("{words} {}", (*bound)?)));
    let more: Vec<String> = steps.chain(bounds).collect();
    if more.is_empty() { text } else { format!("{text} ({})", more.join(", ")) }
}

fn describe_cap(at: CapAt<'_>, text: &mut String) {
    let (edition, class, size) = (at.edition, at.class, at.size);
    let _ = writeln!(text, "{}/{}@{}  ({})", edition.service, size.name, edition.name, class.as_of);
    if let (Some(cpus), Some(memory), Some(disks)) = (size.cpus, size.memory_gib, size.data_disks) {
        let _ = writeln!(text, "  {cpus} CPUs, {memory} GiB of memory, {disks} data disks");
    }
    let limits = [
        ("all disks together", size.all),
        ("Premium and Standard disks together", size.premium),
        ("Ultra and Premium SSD v2 disks together", size.ultra_v2),
        ("disks with the host's cache together", size.cached),
    ];
    for (what, limit) in limits {
        let Some(limit) = limit else { continue };
        let rate = |iops: f64, mb: Option<f64>| {
            let bandwidth = mb.map(|mb| format!(" and {mb} MB/s")).unwrap_or_default();
            format!("{iops} IOPS{bandwidth}")
        };
        let burst = limit.burst_iops.zip(edition.burst_seconds).map(|(iops, seconds)| {
            format!(", burst {} for {} min", rate(iops, limit.burst_mb_per_second), seconds / 60.0)
        });
        let _ = writeln!(text, "  {what}: {}{}", rate(limit.iops, limit.mb_per_second), burst.unwrap_or_default());
    }
    let _ = writeln!(text, "  printed, {}", class.source);
    for note in edition.notes.iter().chain(&class.notes) {
        let _ = writeln!(text, "  note: {note}");
    }
    text.push('\n');
}

/// Sizes of machines side by side.
fn machines(caps: &[CapAt<'_>]) -> Report {
    let columns = vec![
        text("size"),
        number("CPUs", ""),
        number("memory", "GiB"),
        number("data disks", ""),
        number("Premium", "IOPS"),
        number("Premium", "MB/s"),
        number("Ultra, v2", "IOPS"),
        number("Ultra, v2", "MB/s"),
        text("date"),
    ];
    let rows = caps.iter().map(|at| {
        let iops = |limit: Option<SharedLimit>| figure(limit.map(|limit| limit.iops));
        let rate = |limit: Option<SharedLimit>| figure(limit.and_then(|limit| limit.mb_per_second));
        let (size, of_all) = (at.size, at.size.premium.or(at.size.all));
        vec![
            words(format!("{}/{}", at.edition.service, size.name)),
            figure(size.cpus.map(f64::from)),
            figure(size.memory_gib),
            figure(size.data_disks.map(f64::from)),
            iops(of_all),
            rate(of_all),
            iops(size.ultra_v2),
            rate(size.ultra_v2),
            words(at.class.as_of.to_string()),
        ]
    });
    let mut part = Part::of(Rank::Table);
    part.table("", Some(Table { columns, rows: rows.collect(), ..Table::default() }));
    let mut report = Report::new("What all disks of a machine, or of an account, may have together");
    report.add_all([part]);
    report
}

fn words(text: impl Into<String>) -> Cell {
    Some(text.into()).filter(|text| !text.is_empty()).into()
}

/// Published figures are whole, but for a few.
fn figure(value: Option<f64>) -> Cell {
    value.map(|value| if value.fract() == 0.0 { Cell::from(value as u64) } else { value.into() }).unwrap_or_default()
}
