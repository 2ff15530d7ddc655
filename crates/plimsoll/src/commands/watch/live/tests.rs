//! A live view that is fed with slots and keys, and what it looks like then.

use plimsoll_engine::QueryText;
use plimsoll_measurement::counters::{Item, Measure, Values};
use plimsoll_measurement::foreign::is_harmful;
use plimsoll_profile::{Coverage, Sampled, Slot, Source, Status};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;

use super::super::collector::Told;
use super::super::names::Texts;
use super::super::sums::{Sum, Sums};
use super::picture::picture;
use super::view::{LiveView, Page, Press, Setup, Wish};

/// A second, in microseconds.
const SECOND: i64 = 1_000_000;

/// A slot of ten seconds that begins so many seconds after midnight.
fn slot(begin: i64) -> Slot {
    Slot {
        source: Source::Queries,
        epoch: 1,
        event: None,
        start_us: begin * SECOND,
        end_us: (begin + 10) * SECOND,
        interval_us: Some(10_000_000),
        clock_step_us: None,
        status: Status::EXACT,
        deltas: Vec::new(),
        unknown: Vec::new(),
        evictions: Some(0),
        coverage: Coverage {
            of: Measure::ElapsedUs,
            explained_us: Some(8_000_000),
            late_us: 0,
            total_us: Some(10_000_000),
            total_range_us: None,
        },
    }
}

/// Statements by item: executions, milliseconds, rows. Eight of ten seconds are explained if they take eight in all.
fn sums(statements: &[(u128, u64, u64, u64)]) -> Sums {
    let explained = statements.iter().map(|(_, _, ms, _)| ms * 1_000).sum();
    let mut sums = Sums { covered_us: 10_000_000, explained: Some((explained, 10_000_000)), ..Sums::default() };
    for (item, executions, ms, rows) in statements {
        let values = [(Measure::Executions, *executions), (Measure::ElapsedUs, ms * 1_000), (Measure::Rows, *rows)];
        sums.by_query.insert((Item(*item), false), Sum { values: Values::of(values), status: Status::EXACT });
    }
    sums.about.sampled = Some(Sampled { samples: 10, us: 10_000_000, ..Sampled::default() });
    sums.waits.insert((Some(Item(1)), "data reads: IO DataFileRead".to_owned()), 6_000_000);
    sums.waits.insert((Some(Item(2)), "CPU".to_owned()), 2_000_000);
    sums
}

const LOAD: [(u128, u64, u64, u64); 4] = [(1, 100, 6_000, 300), (2, 400, 1_500, 400), (3, 10, 300, 10), (4, 5, 200, 5)];

fn texts() -> Texts {
    let text = |item, text: &str| {
        (
            Item(item),
            QueryText { item: Item(item), database: Some("crm".to_owned()), object: None, text: Some(text.to_owned()) },
        )
    };
    Texts::from([
        text(1, "SELECT first FROM a"),
        text(2, "UPDATE second\n   SET b = $1"),
        text(
            3,
            "DELETE \u{1b}[2J\u{7}third \u{202e}and a text that is far longer than any line of a terminal of eighty columns is wide",
        ),
        text(4, "COMMIT"),
    ])
}

fn view(top: usize, (width, height): (u16, u16)) -> LiveView {
    let target = "postgres://db.example/crm".to_owned();
    let slot = "10 s".to_owned();
    let mut view = LiveView::of(Setup { target, slot, top, keeps: true, has_colors: false });
    view.resize(Rect::new(0, 0, width, height));
    view
}

fn feed(view: &mut LiveView, begin: i64, sums: &Sums) {
    view.take(&Told {
        slot: &slot(begin),
        sums,
        texts: &texts(),
        alerts: &[],
        counted: &std::collections::BTreeMap::new(),
    });
}

fn type_in(view: &mut LiveView, text: &str) {
    for sign in text.chars() {
        assert_eq!(view.press(Press::Sign(sign)), None);
    }
}

/// The lines of a terminal that shows the view.
fn lines(view: &LiveView) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(view.area.width, view.area.height)).unwrap();
    terminal.draw(|frame| *frame.buffer_mut() = picture(view)).unwrap();
    let drawn = terminal.backend().buffer();
    let line = |y: u16| (0..view.area.width).map(|x| drawn[(x, y)].symbol()).collect::<String>();
    let lines: Vec<String> = (0..view.area.height).map(line).collect();
    assert!(!lines.concat().contains(is_harmful), "{lines:#?}");
    lines
}

/// The words of the line that begins with a sign, or of the heading.
fn words_of(view: &LiveView, first: &str) -> Vec<String> {
    let lines = lines(view);
    let found = lines.iter().rev().find(|line| line.split_whitespace().next() == Some(first));
    let found = found.unwrap_or_else(|| panic!("no line '{first}': {lines:#?}"));
    found.split_whitespace().map(str::to_owned).collect()
}

#[track_caller]
fn ends_with(view: &LiveView, first: &str, words: &str) {
    let line = words_of(view, first).join(" ");
    assert!(line.ends_with(words), "{line}");
}

#[test]
fn the_answer_the_chart_and_the_statements_are_those_of_the_slots() {
    let mut view = view(2, (80, 24));
    assert!(lines(&view).concat().contains("The figures come with the end of the first slot."));
    feed(&mut view, 0, &sums(&LOAD));
    let shown = lines(&view);
    assert!(
        shown[0].starts_with("watch postgres://db.example/crm")
            && shown[0].contains("00:00:00Z to 00:00:10Z, 1 slot of 10 s"),
        "{}",
        shown[0]
    );
    let answer = shown.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join(" ");
    for words in [
        "'SELECT first FROM a' costs most: 60.0 % of the database time, in 100 executions of 60 ms on average.",
        "The nearest limit is data reads: sessions spent 75.0 % of their time on it",
        "Statements explain 80.0 % of the database time.",
    ] {
        assert!(answer.contains(words), "'{words}' is missing: {shown:#?}");
    }
    ends_with(&view, "#", "Share ▼ Calls/s Mean Rows/s Status");
    ends_with(&view, "1", "SELECT first FROM a 60.0 % 10.0 60 ms 30.0 exact");
    ends_with(&view, "2", "UPDATE second SET b = $1 15.0 % 40.0 4 ms 40.0 exact");
    ends_with(&view, "·", "others: 2 statements 5.00 % 1.50 33 ms 1.50 exact");
    assert!(shown[23].starts_with("q end"), "{}", shown[23]);
    // Bars of three columns: the statement with most of it is higher than the second, as its time is longer.
    let high =
        |sign: &str| shown.iter().filter(|line| line.get(8..).is_some_and(|bars| bars.starts_with(sign))).count();
    assert!(high("111") >= 2 * high("222") && high("222") >= 1, "{shown:#?}");
    // Twice the time of the same load changes no rate and no share.
    feed(&mut view, 10, &sums(&LOAD));
    ends_with(&view, "1", "SELECT first FROM a 60.0 % 10.0 60 ms 30.0 exact");
    assert!(lines(&view)[0].contains("00:00:00Z to 00:00:20Z, 2 slots"));
    assert_eq!(view.press(Press::Sign('c')), None);
    let shown = lines(&view).join("\n");
    assert!(shown.contains("Sessions at work: 1 data reads, 2 CPU"), "{shown}");
}

#[test]
fn keys_change_order_and_unit() {
    let mut view = view(10, (100, 30));
    feed(&mut view, 0, &sums(&LOAD));
    ends_with(&view, "4", "COMMIT 2.00 % 0.500 40 ms 0.500 exact");
    type_in(&mut view, "s");
    ends_with(&view, "#", "Share Calls/s ▼ Mean Rows/s Status");
    ends_with(&view, "1", "UPDATE second SET b = $1 15.0 % 40.0 4 ms 40.0 exact");
    type_in(&mut view, "s");
    ends_with(&view, "#", "Share Time/s ▼ Calls/s Mean Rows/s Status");
    ends_with(&view, "1", "SELECT first FROM a 60.0 % 600 ms 10.0 60 ms 30.0 exact");
    type_in(&mut view, "s");
    ends_with(&view, "#", "Share Calls/s Mean Rows/s ▼ Status");
    type_in(&mut view, "s");
    ends_with(&view, "#", "Share ▼ Calls/s Mean Rows/s Status");
    type_in(&mut view, "uu");
    ends_with(&view, "#", "Share ▼ Calls/call Mean Rows/call Status");
    ends_with(&view, "1", "60.0 % 1.00 60 ms 3.00 exact");
    type_in(&mut view, "uu");
    ends_with(&view, "#", "Share ▼ Calls Mean Rows Status");
    ends_with(&view, "2", "15.0 % 400 4 ms 400 exact");
}

#[test]
fn a_paused_view_stands_still_and_knows_what_it_missed() {
    let mut view = view(10, (80, 24));
    feed(&mut view, 0, &sums(&LOAD));
    type_in(&mut view, " ");
    let other = sums(&[(4, 1_000, 8_000, 0)]);
    feed(&mut view, 10, &other);
    feed(&mut view, 20, &other);
    assert!(lines(&view)[0].contains("PAUSED, 2 slots since; 00:00:00Z to 00:00:10Z"), "{}", lines(&view)[0]);
    ends_with(&view, "1", "SELECT first FROM a 60.0 % 10.0 60 ms 30.0 exact");
    type_in(&mut view, " ");
    assert!(lines(&view)[0].contains("00:00:30Z, 3 slots"), "{}", lines(&view)[0]);
    ends_with(&view, "1", "COMMIT 54.0 % 66.8 8 ms 0.167 exact");
}

#[test]
fn a_reset_begins_anew_where_the_last_slot_ended() {
    let mut view = view(10, (80, 24));
    feed(&mut view, 0, &sums(&LOAD));
    type_in(&mut view, "r");
    let shown = lines(&view).join("\n");
    assert!(shown.contains("The sums begin anew at 00:00:10Z; what was watched before is in the store."), "{shown}");
    assert!(!shown.contains("SELECT first") && shown.contains("no slot yet"), "{shown}");
    feed(&mut view, 10, &sums(&[(2, 10, 5_000, 0)]));
    assert_eq!(view.press(Press::Escape), None);
    let shown = lines(&view).join("\n");
    assert!(
        shown.contains("00:00:10Z to 00:00:20Z, 1 slot") && !shown.contains("anew") && !shown.contains("SELECT first"),
        "{shown}"
    );
    ends_with(&view, "1", "UPDATE second SET b = $1 50.0 % 1.00 500 ms 0 exact");
}

#[test]
fn texts_are_cut_and_drive_no_terminal_however_small_it_is() {
    for size in [(80, 24), (40, 10), (20, 5), (1, 1), (200, 60)] {
        let mut view = view(10, size);
        feed(&mut view, 0, &sums(&LOAD));
        view.say("warning: \u{1b}[2J\u{9b}0m");
        for keys in ["", "c", "s", "uuuu", "?"] {
            type_in(&mut view, keys);
            assert_eq!(lines(&view).len(), usize::from(size.1), "{size:?}");
        }
    }
    let mut narrow = view(10, (40, 10));
    feed(&mut narrow, 0, &sums(&LOAD));
    let shown = lines(&narrow);
    assert!(shown.iter().any(|line| line.contains("'SELECT first FROM a' costs most")), "{shown:#?}");
    ends_with(&narrow, "1", "SELECT first FROM a 60.0 % 10.0");
    let mut wide = view(10, (80, 24));
    feed(&mut wide, 0, &sums(&LOAD));
    let line = words_of(&wide, "3").join(" ");
    assert!(line.starts_with("3 DELETE \u{fffd}[2J\u{fffd}third \u{fffd}and a") && line.contains("… 3.00 %"), "{line}");
}

#[test]
fn a_statement_is_chosen_and_shown_with_its_whole_text() {
    let mut view = view(10, (80, 24));
    feed(&mut view, 0, &sums(&LOAD));
    feed(&mut view, 10, &sums(&LOAD[..1]));
    for _ in 0..3 {
        assert_eq!(view.press(Press::Down), None);
    }
    // It stays the chosen one though the order changes.
    type_in(&mut view, "s");
    assert_eq!(view.chosen, Some((Item(3), false)));
    assert_eq!(view.press(Press::Enter), None);
    let shown = lines(&view).join("\n");
    for words in [
        "Statement 000000000000000000000003, database crm",
        "DELETE \u{fffd}[2J\u{fffd}third",
        "columns is wide",
        "this statement",
    ] {
        assert!(shown.contains(words), "'{words}' is missing: {shown}");
    }
    let calls = lines(&view)
        .iter()
        .rfind(|line| line.starts_with("Calls "))
        .unwrap()
        .split_whitespace()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    // Of 10 executions in 20 seconds, where all statements have 615.
    assert_eq!(calls, ["Calls", "10", "0.500", "1.00", "1.63"]);
    view.resize(Rect::new(0, 0, 80, 6));
    let last = "These figures are exact";
    assert!(!lines(&view).concat().contains(last) && lines(&view).concat().contains("below)"));
    for _ in 0..30 {
        assert_eq!(view.press(Press::PageDown), None);
    }
    assert!(lines(&view).concat().contains(last), "{:#?}", lines(&view));
    assert_eq!(view.press(Press::Up), None);
    assert!(lines(&view).concat().contains("below)"), "a line back is seen at once");
    assert_eq!((view.press(Press::Escape), view.page.clone()), (None, Page::Statements));
}

#[test]
fn moments_get_names_and_the_end_is_asked_for() {
    let mut view = view(10, (80, 24));
    feed(&mut view, 0, &sums(&LOAD));
    type_in(&mut view, "mquiet\u{1b}");
    assert!(lines(&view)[23].contains("Name of the present moment (Enter, or Esc): quiet_"), "{}", lines(&view)[23]);
    assert_eq!(view.press(Press::Backspace), None);
    assert_eq!(view.press(Press::Enter), Some(Wish::Mark("quie".to_owned())));
    view.mark(5 * SECOND, "quie");
    let shown = lines(&view).join("\n");
    assert!(shown.contains("'quie' is 00:00:05Z") && shown.contains('▲'), "{shown}");
    type_in(&mut view, "m");
    assert_eq!(view.press(Press::Enter), Some(Wish::Mark("marked after 00:00:10Z".to_owned())));
    type_in(&mut view, "mx");
    assert_eq!((view.press(Press::Escape), view.typed.clone()), (None, None));
    view.setup.keeps = false;
    type_in(&mut view, "m");
    assert!(view.typed.is_none() && view.news().is_some_and(|news| news.contains("--no-store")));
    assert_eq!(view.press(Press::Sign('q')), Some(Wish::End));
    assert_eq!(view.press(Press::Interrupt), Some(Wish::Interrupt));
}

#[test]
fn messages_are_shown_and_kept_for_the_help() {
    let mut view = view(10, (80, 24));
    view.say("warning: first");
    view.say("warning: second");
    let shown = lines(&view).join("\n");
    assert!(shown.contains("warning: second") && !shown.contains("warning: first"), "{shown}");
    type_in(&mut view, "?");
    let shown = lines(&view).join("\n");
    assert!(
        shown.contains("pause the view") && shown.find("warning: second") < shown.find("warning: first"),
        "{shown}"
    );
}
