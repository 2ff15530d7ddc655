//! What a live view looks like: its state as the signs of a terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use plimsoll_report::model::format;

use super::super::names::percent;
use super::super::sums::Key;
use super::super::{limits, show};
use super::chart::{self, clock};
use super::data::Data;
use super::detail;
use super::lines::{cut, paragraph, put, put_right, width};
use super::rows::{self, Row, Rows};
use super::view::{AROUND, LiveView, Page, detail_chart};

/// Lines of the chart at least, with its title and its axis. Otherwise there is none.
const LEAST_CHART: u16 = 6;

/// Lines of the table at least beside a chart.
const LEAST_TABLE: u16 = 7;

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The whole view, as large as its terminal.
pub fn picture(view: &LiveView) -> Buffer {
    let mut buffer = Buffer::empty(view.area);
    if view.area.is_empty() {
        return buffer;
    }
    let area = view.area;
    title(view, &mut buffer);
    let inner = Rect { y: area.y + 1, height: area.height.saturating_sub(AROUND), ..area };
    match &view.page {
        Page::Statements => statements(view, &mut buffer, inner),
        Page::Statement(key, from) => statement(view, *key, *from, &mut buffer, inner),
        Page::Help(from) => page(&view.help(), *from, &mut buffer, inner),
    }
    if area.height > 1 {
        let last = Rect { y: area.bottom() - 1, height: 1, ..area };
        match &view.typed {
            Some(typed) => {
                put(&mut buffer, last, (0, 0), &format!("Name of the present moment (Enter, or Esc): {typed}_"), BOLD);
            }
            None => put(&mut buffer, last, (0, 0), keys(&view.page, area.width), REVERSED),
        }
    }
    buffer
}

const fn keys(page: &Page, width: u16) -> &'static str {
    match (page, width) {
        (Page::Statement(..) | Page::Help(_), _) => "Esc back  up/down scroll  s metric  space pause  q end",
        (Page::Statements, 80..) => "q end  space pause  s sort  u unit  c chart  Enter text  r reset  m mark  ? help",
        (Page::Statements, _) => "? help  q end  space pause  s sort  u unit",
    }
}

/// The first line: what is watched and since when, and whether the view stands still.
fn title(view: &LiveView, buffer: &mut Buffer) {
    let data = view.data();
    let span = data.span_us.map_or_else(
        || "no slot yet".to_owned(),
        |(from_us, to_us)| format!("{} to {}, {}", clock(from_us), clock(to_us), show::slots(data.slots)),
    );
    let state = match view.behind() {
        Some(slots) => format!("PAUSED, {} since; {span}", show::slots(slots)),
        None => format!("{span} of {}", view.setup.slot),
    };
    let area = view.area;
    put(buffer, area, (0, 0), &" ".repeat(area.width.into()), REVERSED);
    put_right(buffer, area, 0, &state, REVERSED);
    let room = usize::from(area.width).saturating_sub(width(&state) + 2);
    let area = Rect { width: u16::try_from(room).unwrap_or(0), ..area };
    put(buffer, area, (0, 0), &format!("watch {}", view.setup.target), REVERSED.add_modifier(Modifier::BOLD));
}

/// The answer in some sentences: what costs most, what limit is nearest, and how much is known.
fn answer(data: &Data) -> String {
    if data.slots == 0 {
        return "The figures come with the end of the first slot.".to_owned();
    }
    let known = match data.sums.coverage_percent() {
        Some(share) => format!("Statements explain {} of the database time.", percent(Some(share))),
        None => "How much of the load statements explain is not known.".to_owned(),
    };
    let active = data.sums.active_sessions().map(|active| format!("{active:.2} sessions were active on average."));
    let missing = data.sums.unknown.iter().copied().collect::<Vec<_>>().join(", ");
    let missing = (!missing.is_empty()).then(|| format!("Some work may be missing: {missing}."));
    let said = [
        Some(show::headline(&data.sums, &data.texts)),
        limits::nearest(&data.sums),
        Some(known),
        limits::held_up(&data.sums, &data.texts),
        missing,
        active,
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Lines of the chart above a table of so many rows: what these leave, but no less than nine of twenty lines and no more than two thirds.
fn chart_height(left: u16, rows: usize) -> u16 {
    let table = u16::try_from(rows + 1).unwrap_or(u16::MAX).max(LEAST_TABLE);
    let height = left.saturating_sub(table).clamp(left * 9 / 20, left * 2 / 3).min(left.saturating_sub(LEAST_TABLE));
    if height < LEAST_CHART { 0 } else { height }
}

fn statements(view: &LiveView, buffer: &mut Buffer, area: Rect) {
    let data = view.data();
    let most = match area.height {
        0..=8 => 2,
        9..=18 => 3,
        _ => 5,
    };
    let answer = paragraph(&answer(data), area.width.into(), most);
    for (line, y) in answer.iter().zip(0..) {
        put(buffer, area, (0, y), line, BOLD);
    }
    let news = u16::from(view.news().is_some());
    if let Some(message) = view.news() {
        let y = area.height.saturating_sub(1);
        put(buffer, area, (0, y), message, BOLD);
    }
    let above = u16::try_from(answer.len()).unwrap_or(0);
    let left = Rect { y: area.y + above, height: area.height.saturating_sub(above + news), ..area };
    let metric = view.manner.metric(data);
    let ranked = data.ranked(metric);
    let listed = &ranked[..ranked.len().min(view.manner.top)];
    let drawn = if view.is_of_waits { chart::by_wait(data) } else { chart::by_statement(data, listed, metric) };
    let rows = rows::of(data, &ranked, &view.manner, area.width.into());
    let chart_height = chart_height(left.height, rows.lines.len());
    let chart_area = Rect { height: chart_height, ..left };
    chart::draw(&drawn, &data.marks_us, view.setup.has_colors, buffer, chart_area);
    let below = Rect { y: left.y + chart_height, height: left.height - chart_height, ..left };
    table(view, &rows, chart_height > 0 && !view.is_of_waits, buffer, below);
}

/// The heading, as many statements as there is room for, with the chosen one among them, and the sum of the others as the last line.
fn table(view: &LiveView, rows: &Rows, is_legend: bool, buffer: &mut Buffer, area: Rect) {
    let underlined = Style::new().add_modifier(Modifier::UNDERLINED);
    let labels: Vec<&str> = rows.columns.iter().map(|column| column.label.as_str()).collect();
    let heading = line(rows, "#", "Statement", &labels);
    put(buffer, area, (0, 0), &heading, underlined);
    let (listed, others): (Vec<&Row>, Vec<&Row>) = rows.lines.iter().partition(|row| row.key.is_some());
    let room = usize::from(area.height.saturating_sub(1)).saturating_sub(others.len());
    let chosen = listed.iter().position(|row| row.key.is_some() && row.key == view.chosen);
    let from = chosen.map_or(0, |chosen| (chosen + 1).saturating_sub(room));
    let shown = listed.into_iter().skip(from).take(room).chain(others);
    for (row, y) in shown.zip(1..) {
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        let is_chosen = row.key.is_some() && row.key == view.chosen;
        let style = if is_chosen { REVERSED } else { Style::new() };
        put(buffer, area, (0, y), &line(rows, &row.sign, &row.text, &cells), style);
        let is_drawn = row.key.is_none() || row.place.is_some_and(|place| place < chart::TOP);
        if let Some(place) = row.place.filter(|_| is_legend && is_drawn) {
            let x = u16::try_from(rows.sign_width.saturating_sub(1)).unwrap_or(0);
            put(buffer, area, (x, y), chart::sign(place), chart::style(place, view.setup.has_colors));
        }
    }
}

/// A line of the table: the text flush left, figures flush right.
fn line(rows: &Rows, sign: &str, text: &str, cells: &[&str]) -> String {
    let blanks = |taken: usize, room: usize| " ".repeat(room.saturating_sub(taken));
    let text = cut(text, rows.text_width);
    let mut line =
        format!("{}{sign} {text}{}", blanks(width(sign), rows.sign_width), blanks(width(&text), rows.text_width));
    for (column, cell) in rows.columns.iter().zip(cells) {
        let room = blanks(width(cell), column.width);
        let (left, right) = if column.is_text { (*cell, room.as_str()) } else { (room.as_str(), *cell) };
        line.extend(["  ", left, right]);
    }
    line
}

/// One statement: its metric over time, its figures and its text.
fn statement(view: &LiveView, key: Key, from: usize, buffer: &mut Buffer, area: Rect) {
    let data = view.data();
    let height = detail_chart(view.area);
    let drawn = chart::of_one(data, &key, view.manner.metric(data));
    chart::draw(&drawn, &data.marks_us, view.setup.has_colors, buffer, Rect { height, ..area });
    let below = Rect { y: area.y + height, height: area.height.saturating_sub(height), ..area };
    page(&detail::lines(data, &key, area.width.into()), from, buffer, below);
}

/// Lines of a page from one of them on, and how many are below.
fn page(lines: &[String], from: usize, buffer: &mut Buffer, area: Rect) {
    let room = usize::from(area.height);
    for (line, y) in lines.iter().skip(from).take(room).zip(0..) {
        put(buffer, area, (0, y), line, Style::new());
    }
    let below = lines.len().saturating_sub(from + room);
    if below > 0 && room > 0 {
        put_right(buffer, area, area.height - 1, &format!(" ({} below)", format::count(below, "line")), REVERSED);
    }
}
