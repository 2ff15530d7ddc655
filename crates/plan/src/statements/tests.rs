//! What is printed, and in which order.

use super::*;
use crate::storage;

fn file(name: &str, kind: FileKind, size_gb: f64) -> DatabaseFile {
    DatabaseFile::new("shop]", name, kind, size_gb)
}

fn statements(files: &[DatabaseFile], layout: &Layout, free_gb: Option<f64>) -> String {
    let mut steps = Steps::default();
    steps.layout("SHOP]", files, layout, (&|_| Some(0.0), &|_, _| true));
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
    let files = [file("a", FileKind::Data, 600.0), file("b", FileKind::Data, 600.0), file("l", FileKind::Log, 129.0)];
    let text = statements(&files, &layout(1, 513.0, 129.0), Some(0.0));
    assert!(text.lines().all(|line| line.starts_with("-- ")) && text.lines().count() == 2, "{text}");
    let same = statements(&files, &layout(2, 600.0, 129.0), None);
    assert!(
        same.starts_with("-- Rebuild the indexes in shop]") && same.lines().count() == 1,
        "rows alone move: {same}"
    );
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
    let with = |name: &str, used_gb: f64| DatabaseFile { used_gb: Some(used_gb), ..file(name, FileKind::Data, 600.0) };
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
    steps.layout("SHOP]", &full, &layout(2, 300.0, 24.0), (&|_| Some(0.0), &|_, _| true));
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
    steps.layout("SHOP]", &hot, &layout(4, 130.0, 24.0), (&|_| Some(513.0), &|_, _| true));
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

/// Space that can't be had is not asked for: what is missing is said.
#[test]
fn no_more_space_is_asked_for_than_can_be_had() {
    let full = DatabaseFile { used_gb: Some(500.0), ..file("a", FileKind::Data, 1025.0) };
    let mut steps = Steps::default();
    steps.layout(
        "SHOP]",
        &[full, file("l", FileKind::Log, 129.0)],
        &layout(3, 184.0, 129.0),
        (&|_| Some(130.0), &|_, _| true),
    );
    // All files take 152 GB more than there are: 368 more and 475 back are too much by 45.
    let none = steps.text(Some(-152.0), Some(0.0));
    let missing =
        "-- The space of the instance can't be raised: 45 GB are missing, which other files have to give back";
    assert!(none.contains(missing) && !none.contains("Raise the space"), "{none}");
    let some = steps.text(Some(-152.0), Some(32.0));
    assert!(some.contains("can be raised by 32 GB at most: 13 GB are missing"), "{some}");
    let enough = steps.text(Some(-152.0), Some(64.0));
    assert!(enough.contains("-- Raise the space of the instance by 64 GB or more."), "{enough}");
    let raised = [Some(0.0), Some(32.0), Some(64.0), None].map(|more| steps.raised_gb(Some(-152.0), more));
    assert_eq!(raised, [None, None, Some(64.0), Some(64.0)]);
    assert_eq!((steps.raised_gb(Some(400.0), None), Steps::default().raised_gb(Some(-9.0), None)), (None, None));
}

/// Pages stay in their file until indexes are rebuilt.
#[test]
fn what_a_file_holds_is_given_back_only_once_rows_are_spread() {
    let of = |used_gb: f64| {
        let full = DatabaseFile { used_gb: Some(used_gb), ..file("a", FileKind::Data, 4000.0) };
        statements(&[full, file("l", FileKind::Log, 129.0)], &layout(2, 2141.0, 129.0), None)
    };
    let later = "(DBCC SHRINKFILE; only once indexes are rebuilt, so that rows go into the others)";
    assert!(of(3892.0).contains(later), "{}", of(3892.0));
    assert!(of(1000.0).contains("(DBCC SHRINKFILE)."), "{}", of(1000.0));
}

/// Files that take in what another held can grow then.
#[test]
fn what_is_emptied_leaves_the_others_room_to_grow() {
    let of = |used_gb: [f64; 3], carries: bool| {
        let data = used_gb
            .iter()
            .map(|used| DatabaseFile { used_gb: Some(*used), ..file(&format!("c{used}"), FileKind::Data, 128.0) });
        let files: Vec<DatabaseFile> = data.chain([file("l", FileKind::Log, 60.0)]).collect();
        let mut steps = Steps::default();
        steps.layout("shop]", &files, &layout(2, 141.0, 130.0), (&|_| Some(0.0), &|_, _| carries));
        // 96 GB more, of which 128 are those of the file that goes.
        steps.without_room(Some(12.0), Some(0.0)).len()
    };
    assert_eq!([of([65.0, 79.0, 112.0], true), of([65.0, 79.0, 80.0], true)], [1, 0]);
    assert_eq!(of([65.0, 79.0, 80.0], false), 1, "they would stand at their limits");
}

#[test]
fn a_log_that_has_its_limits_is_not_touched_for_less_than_a_gb() {
    let of = |size_gb: f64, limits_gb: f64| {
        let files = [file("a", FileKind::Data, 600.0), file("l", FileKind::Log, size_gb)];
        let mut steps = Steps::default();
        steps.layout(
            "SHOP]",
            &files,
            &layout(1, 600.0, 129.0),
            (&|gb| Some(if gb < 129.0 { limits_gb } else { 0.0 }), &|_, _| true),
        );
        steps.enlarged(&files, None, None)
    };
    assert_eq!([of(128.4, 0.0), of(128.0, 0.0), of(128.4, 1.0)], [vec![], vec![(1, 129.0)], vec![(1, 129.0)]]);
}

/// What is left out as it has no room is enlarged by no statement.
#[test]
fn files_that_are_enlarged_are_those_of_the_statements() {
    let files = [file("a", FileKind::Data, 500.0), DatabaseFile::new("b", "a", FileKind::Data, 100.0)];
    let mut steps = Steps::default();
    steps.enlarge(&files[0], 900.0, "It is small.");
    steps.enlarge(&files[1], 130.0, "It is small.");
    steps.enlarge(&files[1], 90.0, "It is large.");
    assert_eq!(steps.enlarged(&files, None, None), [(0, 900.0), (1, 130.0)]);
    assert_eq!(steps.enlarged(&files, Some(50.0), Some(0.0)), [(1, 130.0)]);
    assert_eq!(changes(&steps.text(Some(50.0), Some(0.0))).len(), 1);
}
