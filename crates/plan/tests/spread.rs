//! What is advised where rows are spread over files, followed to the letter: what each file does then, the gain that is told, and the space that
//! each statement finds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use plimsoll_catalog::{Catalog, Date};
use plimsoll_plan::judgement::Judgement;
use plimsoll_plan::layout::{Layout, Rules, front, needs};
use plimsoll_plan::limits::limits;
use plimsoll_plan::rules::{Observed, advise};
use plimsoll_plan::statements::Steps;
use plimsoll_plan::{Advice, DatabaseFile, FileKind, Finding, Storage, Wishes};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// Size, what of it is used, IOPS and MB/s.
type Row = (f64, Option<f64>, f64, f64);

fn on(vcores: u32, space_gb: Option<f64>, day: Option<Date>) -> Storage<'static> {
    Storage::on(Catalog::builtin().unwrap(), Wishes { vcores: Some(vcores), space_gb, day }).unwrap()
}

fn data(rows: &[Row]) -> Vec<DatabaseFile> {
    let of = |(at, (size_gb, used_gb, iops, mb_per_s)): (usize, &Row)| DatabaseFile {
        used_gb: *used_gb,
        iops: Some(*iops),
        mb_per_s: Some(*mb_per_s),
        ..DatabaseFile::new("a", &format!("d{at}"), FileKind::Data, *size_gb)
    };
    rows.iter().enumerate().map(of).collect()
}

/// The sizes that statements give files, and those of new ones.
fn sizes(text: &str) -> (BTreeMap<String, f64>, Vec<f64>) {
    let (mut sizes, mut added) = (BTreeMap::new(), Vec::new());
    for line in text.lines() {
        let between = |begin: &str, end: &str| line.split_once(begin)?.1.split_once(end).map(|(text, _)| text);
        let size_gb = || between("SIZE = ", "GB)").unwrap().parse::<f64>().unwrap();
        if let Some(name) = between("MODIFY FILE (NAME = N'", "'") {
            sizes.insert(name.to_owned(), size_gb());
        } else if line.contains("ADD FILE") {
            added.push(size_gb());
        } else if let Some((name, size_gb)) = line.strip_prefix("-- Shrink a.").and_then(|rest| rest.split_once(" to "))
        {
            sizes.insert(name.to_owned(), size_gb.split(' ').next().unwrap().parse().unwrap());
        }
    }
    (sizes, added)
}

/// How many times what is done now files of these sizes carry, each with rows by its size and the busiest with a tenth more.
fn times(all: &[f64], [iops, mb_per_s]: [f64; 2], storage: &Storage<'_>) -> f64 {
    let all_gb: f64 = all.iter().sum();
    let busier = if all.len() > 1 { 1.1 } else { 1.0 };
    let each = all.iter().map(|size_gb| {
        let step = storage.step(*size_gb).unwrap();
        let part = size_gb / all_gb * busier;
        (step.iops.unwrap() / (iops * part)).min(step.mb_per_s.unwrap() / (mb_per_s * part))
    });
    each.fold(f64::INFINITY, f64::min)
}

/// Follows what is advised of more files, if it is: how many are added and grow, and how many GB all take more.
fn follow(files: &[DatabaseFile], storage: &Storage<'_>) -> Option<([usize; 2], f64)> {
    let advice = advise(files, storage, &limits(files, storage), &Observed::default());
    let is_more = |one: &&Advice| matches!(one.finding, Finding::Add { fits: true, .. });
    let more = advice.iter().find(is_more)?;
    let Finding::Add { others_full, all, brings, .. } = &more.finding else { return None };
    let mut steps = Steps::default();
    for one in advice.iter().filter(|one| !one.is_alternative) {
        match one.finding {
            Finding::Grow { size_gb, .. } => {
                one.files.iter().for_each(|at| steps.enlarge(&files[*at], size_gb, "It is small."));
            }
            _ => one.files.first().into_iter().for_each(|at| steps.more(&one.finding, *at, files)),
        }
    }
    let now_gb: f64 = files.iter().map(|file| file.size_gb).sum();
    let text = steps.text(storage.space_gb().map(|space| space - now_gb), None);
    let (changed, added) = sizes(&text);
    // What gives space back comes first, so that all have the most at the end.
    let raise = text.split_once("Raise the space of the instance by ").map(|(_, rest)| rest.split(' ').next().unwrap());
    let raised_gb = raise.map_or(0.0, |gb| gb.parse::<f64>().unwrap());
    let size_gb = |file: &DatabaseFile| changed.get(&file.name).copied().unwrap_or(file.size_gb);
    let all_gb = files.iter().map(size_gb).chain(added.iter().copied()).sum::<f64>();
    assert!(all_gb <= now_gb.max(storage.space_gb().unwrap() + raised_gb) + 1e-6, "{files:?}: {all_gb} {text}");
    let rates = [|file: &DatabaseFile| file.iops, |file: &DatabaseFile| file.mb_per_s]
        .map(|of| files.iter().filter_map(of).sum::<f64>());
    let is_full =
        |at: usize| !more.files.contains(&at) && files[at].used_gb.is_some_and(|gb| gb >= 0.95 * files[at].size_gb);
    let takes = || (0..files.len()).filter(|at| !is_full(*at)).map(|at| &files[at]);
    assert_eq!(*others_full, (0..files.len()).any(is_full), "{files:?}");
    let then = |left_out: Option<&str>| -> Vec<f64> {
        let size_gb = |file: &DatabaseFile| {
            let new = changed.get(&file.name).filter(|_| left_out != Some(file.name.as_str()));
            new.copied().unwrap_or(file.size_gb)
        };
        takes().map(size_gb).chain(added.iter().copied()).collect()
    };
    assert_eq!(*all, then(None).len(), "{files:?}: {text}");
    let carried = times(&then(None), rates, storage);
    // A quarter is to spare, so that each does less of its limits than those that stand at one do now.
    assert!(carried >= 1.25 - 1e-9, "{files:?}: {carried} {text}");
    let used = |file: &DatabaseFile| {
        let step = storage.step(file.size_gb).unwrap();
        (file.iops.unwrap() / step.iops.unwrap()).max(file.mb_per_s.unwrap() / step.mb_per_s.unwrap())
    };
    let by_full = (0..files.len()).filter(|at| is_full(*at)).map(|at| 1.0 / used(&files[at]));
    let most = by_full.fold(carried, f64::min);
    let told = brings.unwrap().most_percent;
    assert!((told - 100.0 * (most - 1.0)).abs() < 0.01, "{files:?}: told {told}, and it is {most}: {text}");
    // Nothing grows in vain: without one of them less is carried than is told.
    let grown: Vec<&String> = changed
        .iter()
        .filter(|(name, gb)| files.iter().any(|file| file.name == **name && file.size_gb < **gb))
        .map(|(name, _)| name)
        .collect();
    for name in &grown {
        assert!(times(&then(Some(name)), rates, storage) < 1.0 + told / 100.0, "{files:?}: {name} in vain: {text}");
    }
    let more_gb = then(None).iter().sum::<f64>() - takes().map(|file| file.size_gb).sum::<f64>();
    Some(([added.len(), grown.len()], more_gb))
}

/// Files that stand at no limit have rows as well, however little or much of them is used.
#[test]
fn all_files_of_a_filegroup_are_reckoned_with() {
    // By size d0 has two fifths of 1,048 IOPS, which is 92 % of its limit: to spread the rows is not enough.
    let small = data(&[(10.0, Some(1.0), 465.0, 3.6), (10.0, Some(1.0), 143.0, 90.0), (5.0, Some(0.5), 440.0, 88.0)]);
    assert_eq!(follow(&small, &on(8, None, None)), None);
    // The first two share what there is, and nothing is added.
    let calm =
        data(&[(2048.0, Some(205.0), 7500.0, 58.0), (2048.0, Some(205.0), 375.0, 3.0), (1.0, Some(0.9), 495.0, 4.0)]);
    assert_eq!(follow(&calm, &on(8, None, None)), Some(([0, 0], 0.0)));
    let rows = |used: [f64; 2]| {
        [(2047.0, Some(205.0), 6750.0, 225.0), (128.0, Some(used[0]), 300.0, 60.0), (128.0, Some(used[1]), 75.0, 88.0)]
    };
    let (changes, more_gb) = follow(&data(&rows([13.0, 64.0])), &on(8, None, None)).unwrap();
    assert!(changes[0] + changes[1] > 0 && more_gb > 700.0, "{changes:?} {more_gb}: 488 GB over two were said");
    // And those that are full keep their rows, which is said.
    let full = follow(&data(&rows([128.0, 127.0])), &on(8, None, None));
    assert!(full.is_some(), "{full:?}");
}

/// The gain that is told is that of the files that are printed, and no file is among them that it does not need.
#[test]
fn what_grows_is_what_the_gain_was_computed_for() {
    let three = data(&[(256.0, None, 920.0, 14.0), (1026.0, None, 7500.0, 58.0), (256.0, None, 1725.0, 112.0)]);
    assert_eq!(follow(&three, &on(16, None, None)), Some(([0, 1], 371.0)));
    let rates = [(2300.0, 36.0), (2070.0, 32.0), (2277.0, 18.0), (2231.0, 145.0), (2300.0, 70.0), (2300.0, 67.0)];
    let six: Vec<Row> = rates.iter().map(|(iops, mb)| (130.0, None, *iops, *mb)).collect();
    let of_2022 = on(16, Some(1344.0), Some(Date { year: 2022, month: 6, day: 2 }));
    // Three of the six grow, of which the others and the rebuilt indexes have no need.
    assert_eq!(follow(&data(&six), &of_2022), Some(([0, 3], 1149.0)));
}

/// Files of a filegroup, up to six, with parts of them that are used and of their limits that they do.
fn rows() -> impl Strategy<Value = Vec<(f64, [f64; 3])>> {
    let sizes = [5.0, 10.0, 100.0, 128.0, 130.0, 256.0, 300.0, 513.0, 600.0, 1026.0, 1500.0, 2047.0, 2048.0, 4000.0];
    let parts = (
        prop::sample::select(vec![0.02, 0.1, 0.5, 0.9, 0.99]),
        prop::sample::select(vec![0.05, 0.4, 0.75, 0.88, 0.93, 0.99, 1.0, 1.05]),
        0.02..1.0_f64,
    );
    let row = (prop::sample::select(sizes.to_vec()), parts);
    prop::collection::vec(row.prop_map(|(gb, (used, busy, other))| (gb, [used, busy, other])), 1..=6)
}

#[test]
fn what_is_advised_of_files_is_what_they_do_then() {
    let mut runner = TestRunner::new(Config { rng_seed: RngSeed::Fixed(50), ..Config::default() });
    let all = (rows(), any::<bool>(), 0..3_u8, prop::option::of(0.0..3000.0_f64));
    let mut followed = 0;
    for _ in 0..600 {
        let (rows, is_used_known, day, free_gb) = all.new_tree(&mut runner).unwrap().current();
        let day = [None, Some(Date { year: 2022, month: 6, day: 2 }), Some(Date { year: 2018, month: 12, day: 18 })]
            [usize::from(day)];
        let limits = on(32, None, day);
        let of = |(gb, [used, busy, other]): &(f64, [f64; 3])| {
            let step = limits.step(*gb).unwrap();
            let (iops, mb_per_s) = (busy * step.iops.unwrap(), busy * other * step.mb_per_s.unwrap());
            (*gb, is_used_known.then_some(used * gb), iops, mb_per_s)
        };
        let files = data(&rows.iter().map(of).collect::<Vec<_>>());
        let now_gb: f64 = files.iter().map(|file| file.size_gb).sum();
        let space_gb =
            free_gb.map(|free| ((now_gb + free) / 32.0).ceil() * 32.0).filter(|gb| *gb <= limits.most_gb().unwrap());
        followed += usize::from(follow(&files, &on(32, space_gb, day)).is_some());
    }
    assert!(followed > 100, "{followed}");
}

/// Follows the statements of a layout: each finds the space that it takes, and no file is smaller than what is in it. It gives what the space was
/// raised by.
fn follow_layout(files: &[DatabaseFile], layout: &Layout, free_gb: f64, storage: &Storage<'_>) -> f64 {
    let mut steps = Steps::default();
    let like_gb = |size_gb: f64| storage.step(size_gb).map(|step| storage.begins_gb(step));
    steps.layout("a", files, layout, (&like_gb, &|_, _| true));
    let text = steps.text(Some(free_gb), None);
    let mut gb: BTreeMap<&str, [f64; 2]> =
        files.iter().map(|file| (file.name.as_str(), [file.size_gb, file.used_gb.unwrap_or(file.size_gb)])).collect();
    let mut space_gb = files.iter().map(|file| file.size_gb).sum::<f64>() + free_gb;
    let (mut added_gb, mut raised_gb) = (0.0, 0.0);
    let kept: Vec<&DatabaseFile> =
        files.iter().filter(|file| file.kind == FileKind::Data).take(layout.data_files as usize).collect();
    let mut is_told = false;
    let grows = || text.lines().filter(|line| line.starts_with("ALTER")).count();
    let mut done = 0;
    for line in text.lines() {
        let name = line.split_once("-- a.").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or_default();
        let number = |before: &str| -> Option<f64> {
            line.split_once(before)?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        };
        // What comes behind all that grows is done once rows are spread.
        let is_before = done < grows();
        if let Some(gb) = number("Raise the space of the instance by ") {
            (space_gb, raised_gb) = (space_gb + gb, gb);
        } else if line.contains("one file more than needed") && is_before {
            let free = |name: &str| gb[name][0] - gb[name][1];
            let (moved_gb, all_gb): (f64, f64) = (gb[name][1], kept.iter().map(|file| free(&file.name)).sum());
            // Without room for its rows it gives nothing back yet.
            if moved_gb <= all_gb && text.starts_with("-- ") && text.lines().next().unwrap().contains("give space back")
            {
                let parts: Vec<f64> = kept.iter().map(|file| free(&file.name) / all_gb.max(1e-9)).collect();
                for (file, part) in kept.iter().zip(parts) {
                    gb.get_mut(file.name.as_str()).unwrap()[1] += part * moved_gb;
                }
                gb.remove(name);
            }
        } else if line.contains("is larger than needed") && is_before {
            let file = gb.get_mut(name).unwrap();
            if let Some(less_gb) = number("SHRINKFILE; ") {
                file[0] -= less_gb;
            } else if line.contains("(DBCC SHRINKFILE).") {
                file[0] = layout.data_gb;
            }
            assert!(file[0] >= file[1] - 1e-6, "{files:?}: {file:?} {text}");
        } else if line.contains("From here on only once") {
            is_told = true;
        } else if line.starts_with("ALTER") {
            done += 1;
            match line.split_once("MODIFY FILE (NAME = N'") {
                Some((_, rest)) => {
                    gb.get_mut(rest.split('\'').next().unwrap()).unwrap()[0] = number("SIZE = ").unwrap();
                }
                None => added_gb += number("SIZE = ").unwrap(),
            }
            let all_gb = gb.values().map(|file| file[0]).sum::<f64>() + added_gb;
            assert!(all_gb <= space_gb + 1e-6, "{files:?}: {all_gb} of {space_gb}: {text}");
            // What needs more than is free now says so first.
            let grown_gb: f64 = files
                .iter()
                .map(|file| gb.get(file.name.as_str()).map_or(0.0, |now| (now[0] - file.size_gb).max(0.0)))
                .sum();
            assert!(is_told || grown_gb + added_gb <= free_gb + 1e-6, "{files:?}: {text}");
        }
    }
    let told_gb = steps.raised_gb(Some(free_gb), None).unwrap_or(0.0);
    assert!((told_gb - raised_gb).abs() < 1e-9, "{told_gb}: {text}");
    raised_gb
}

/// Rows stay in a file until indexes are rebuilt, also where another one is given up: 1,800 of 2,000 GB can't be given back before.
#[test]
fn no_file_gives_back_what_is_in_it() {
    let mut files = data(&[(2000.0, Some(1800.0), 7400.0, 150.0), (2000.0, Some(1700.0), 2000.0, 40.0)]);
    files.extend(
        (2..7).map(|at| DatabaseFile { name: format!("d{at}"), ..data(&[(100.0, Some(50.0), 480.0, 8.0)]).remove(0) }),
    );
    let log =
        DatabaseFile { iops: Some(150.0), mb_per_s: Some(5.0), ..DatabaseFile::new("a", "l", FileKind::Log, 50.0) };
    files.push(log);
    let storage = on(16, Some(4640.0), None);
    let need = needs(&files, &Judgement::default()).remove(0);
    let layouts = front(&need, &storage, &Rules::default());
    let five = layouts.iter().find(|layout| (layout.data_files, layout.data_gb) == (5, 825.0)).unwrap();
    let raised_gb = follow_layout(&files, five, -6.0, &storage);
    assert!(raised_gb >= 1856.0, "{raised_gb}: 64 were said");
}

#[test]
fn statements_of_layouts_find_their_space() {
    let mut runner = TestRunner::new(Config { rng_seed: RngSeed::Fixed(51), ..Config::default() });
    let all = (rows(), any::<prop::sample::Index>(), -100.0..3000.0_f64, any::<bool>());
    let (storage, mut raised) = (on(32, None, None), 0);
    for _ in 0..600 {
        let (rows, which, free_gb, is_used_known) = all.new_tree(&mut runner).unwrap().current();
        let of = |(gb, [used, busy, other]): &(f64, [f64; 3])| {
            (*gb, is_used_known.then_some(used * gb), busy * 400.0, busy * other * 50.0)
        };
        let mut files = data(&rows.iter().map(of).collect::<Vec<_>>());
        files.push(DatabaseFile { iops: Some(100.0), ..DatabaseFile::new("a", "l", FileKind::Log, 50.0) });
        let need = needs(&files, &Judgement::default()).remove(0);
        let layouts = front(&need, &storage, &Rules::default());
        if !layouts.is_empty() {
            raised += usize::from(follow_layout(&files, which.get(&layouts), free_gb, &storage) > 0.0);
        }
    }
    assert!(raised > 20, "{raised}");
}
