//! A chart over time in a terminal: bars of signs on top of each other. Each series has a sign of its own beside its colour, so that the
//! chart says the same without colours.

use plimsoll_report::model::format;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::super::metrics::Metric;
use super::super::sums::{Key, Sum};
use super::super::{limits, names};
use super::data::{Data, Piece};
use super::lines::{put, put_right, width};

/// So many series have a sign of their own; the others have one together.
pub const TOP: usize = 5;

/// The sign of what is not among them.
pub const OTHERS: &str = "·";

/// The sign of a time of which nothing is known.
const UNKNOWN: &str = "?";

/// The sign of a moment that was marked.
const MARK: &str = "▲";

/// Columns before the bars, with the scale.
const SCALE: u16 = 8;

/// Columns of the times, which stand beside the title where there is room.
const TIMES: usize = 24;

/// Bars are so wide at most.
const WIDEST: usize = 3;

/// Colours of a series and of its sign.
const COLORS: [(Color, Color); TOP + 1] = [
    (Color::Blue, Color::White),
    (Color::Yellow, Color::Black),
    (Color::Magenta, Color::White),
    (Color::Cyan, Color::Black),
    (Color::Green, Color::Black),
    (Color::DarkGray, Color::White),
];

/// One slot: a value for each series, from the bottom up; `None` if nothing is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub from_us: i64,
    pub to_us: i64,
    pub values: Option<Vec<f64>>,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub title: String,
    pub bars: Vec<Bar>,
}

/// The sign of a series.
pub const fn sign(place: usize) -> &'static str {
    const SIGNS: [&str; TOP] = ["1", "2", "3", "4", "5"];
    if place < TOP { SIGNS[place] } else { OTHERS }
}

/// How a series looks. Without colours every second one is turned over, so that neighbours differ in more than a sign.
pub fn style(place: usize, has_colors: bool) -> Style {
    let (back, sign) = COLORS[place.min(TOP)];
    if has_colors {
        Style::new().bg(back).fg(sign)
    } else if place.is_multiple_of(2) {
        Style::new().add_modifier(Modifier::REVERSED)
    } else {
        Style::new()
    }
}

/// A time of day by the server's clock.
pub fn clock(us: i64) -> String {
    let moment = names::moment(us);
    moment.get(11..19).map_or_else(String::new, |time| format!("{time}Z"))
}

/// A value by the second: time as sessions.
fn per_second(value: u64, metric: Metric, us: u64) -> f64 {
    let scale = if metric.is_time() { 1.0 } else { 1e6 };
    value as f64 / us as f64 * scale
}

fn title(metric: Metric, of: &str) -> String {
    let unit = if metric.is_time() { "in sessions at work" } else { "a second" };
    format!("{} {unit}: {of}", metric.label)
}

/// A metric by those of the statements of a list that have most of it, and all others.
pub fn by_statement(data: &Data, listed: &[(Key, Sum)], metric: Metric) -> Chart {
    let clients = listed.iter().filter(|((_, is_nested), _)| !is_nested).map(|(key, _)| key);
    let top: Vec<&Key> = clients.take(TOP).collect();
    let bar = |piece: &Piece| {
        let all = piece.value(None, metric).unwrap_or(0);
        // One that is not kept of this slot is among the others.
        let mut values: Vec<u64> = top.iter().map(|key| piece.value(Some(key), metric).unwrap_or(0)).collect();
        let listed = values.iter().fold(0, |sum: u64, value| sum.saturating_add(*value));
        values.resize(TOP, 0);
        values.push(all.saturating_sub(listed));
        let of = |value: u64| per_second(value, metric, piece.covered_us);
        let values = (piece.covered_us > 0).then(|| values.into_iter().map(of).collect());
        Bar { from_us: piece.from_us, to_us: piece.to_us, values }
    };
    Chart { title: title(metric, "statements 1 to 5, others ·"), bars: data.pieces.iter().map(bar).collect() }
}

/// Sessions at work by the classes of what most of them waited for.
pub fn by_wait(data: &Data) -> Chart {
    let classes = limits::classes(&data.sums);
    let top: Vec<&str> = classes.iter().take(TOP).map(|(class, _)| *class).collect();
    let bar = |piece: &Piece| {
        let of = |us: u64| us as f64 / piece.sampled_us as f64;
        let mut values: Vec<f64> =
            top.iter().map(|class| of(piece.classes.get(*class).copied().unwrap_or(0))).collect();
        values.resize(TOP, 0.0);
        let others = piece.classes.iter().filter(|(class, _)| !top.contains(&class.as_str())).map(|(_, us)| of(*us));
        values.push(others.sum());
        Bar { from_us: piece.from_us, to_us: piece.to_us, values: (piece.sampled_us > 0).then_some(values) }
    };
    let named = top.iter().enumerate().map(|(place, class)| format!("{} {class}", sign(place)));
    let named: Vec<String> = named.collect();
    let title = if named.is_empty() {
        "Sessions at work by what they waited for: none was seen".to_owned()
    } else {
        format!("Sessions at work: {}", named.join(", "))
    };
    Chart { title, bars: data.pieces.iter().map(bar).collect() }
}

/// A metric of one statement.
pub fn of_one(data: &Data, key: &Key, metric: Metric) -> Chart {
    let bar = |piece: &Piece| {
        let value = piece.value(Some(key), metric).filter(|_| piece.covered_us > 0);
        let values = value.map(|value| vec![per_second(value, metric, piece.covered_us)]);
        Bar { from_us: piece.from_us, to_us: piece.to_us, values }
    };
    Chart { title: title(metric, "this statement"), bars: data.pieces.iter().map(bar).collect() }
}

/// Where each series ends, in lines from the bottom: what there is at all has a line at least.
fn ends(values: &[f64], most: f64, lines: u16) -> Vec<u16> {
    let mut sum = 0.0;
    let end = |value: &f64| {
        sum += value;
        let lines = f64::from(lines);
        (sum / most * lines).round().min(lines) as u16
    };
    let mut ends: Vec<u16> = if most > 0.0 { values.iter().map(end).collect() } else { vec![0; values.len()] };
    if ends.last() == Some(&0)
        && let Some(largest) = (0..values.len()).max_by(|one, other| values[*one].total_cmp(&values[*other]))
        && values[largest] > 0.0
    {
        ends.iter_mut().skip(largest).for_each(|end| *end = 1);
    }
    ends
}

/// Draws the last bars for which there is room, with the moments that were marked.
pub fn draw(chart: &Chart, marks_us: &[i64], has_colors: bool, buffer: &mut Buffer, area: Rect) {
    if area.height < 3 || area.width <= SCALE {
        return;
    }
    let faint = Style::new().add_modifier(Modifier::DIM);
    let field = Rect { x: area.x + SCALE, y: area.y + 1, width: area.width - SCALE, height: area.height - 2 };
    let room = usize::from(field.width);
    let wide = (room / chart.bars.len().max(1)).clamp(1, WIDEST);
    let bars = &chart.bars[chart.bars.len().saturating_sub(room / wide)..];
    let totals = bars.iter().filter_map(|bar| bar.values.as_ref()).map(|values| values.iter().sum::<f64>());
    let most = totals.fold(0.0, f64::max);
    let (scale, axis) = (Rect { width: SCALE - 1, ..area }, Rect { y: area.bottom() - 1, height: 1, ..field });
    put_right(buffer, scale, 1, &format::number(most).unwrap_or_default(), faint);
    put_right(buffer, scale, area.height - 1, "0", faint);
    put(buffer, axis, (0, 0), &"─".repeat((bars.len() * wide).min(room)), faint);
    let span = bars.first().zip(bars.last()).filter(|_| width(&chart.title) + TIMES <= area.width.into());
    let span =
        span.map_or_else(String::new, |(first, last)| format!("{} to {}", clock(first.from_us), clock(last.to_us)));
    put_right(buffer, area, 0, &span, faint);
    put(buffer, area, (0, 0), &chart.title, Style::new());
    for (place, bar) in bars.iter().enumerate() {
        let x = u16::try_from(place * wide).unwrap_or(u16::MAX);
        let bar_area = Rect { x: field.x + x, width: u16::try_from(wide).unwrap_or(1), ..field };
        match &bar.values {
            Some(values) => stack(&ends(values, most, field.height), has_colors, buffer, bar_area),
            None => put(buffer, bar_area, (0, field.height - 1), UNKNOWN, faint),
        }
        if marks_us.iter().any(|at| (bar.from_us..bar.to_us).contains(at)) {
            put(buffer, axis, (x, 0), MARK, Style::new().add_modifier(Modifier::BOLD));
        }
    }
}

/// One bar.
fn stack(ends: &[u16], has_colors: bool, buffer: &mut Buffer, area: Rect) {
    let mut begin = 0;
    for (place, end) in ends.iter().enumerate() {
        for line in begin..*end {
            let signs = sign(place).repeat(area.width.into());
            put(buffer, area, (0, area.height - 1 - line), &signs, style(place, has_colors));
        }
        begin = *end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_end_where_their_sum_ends() {
        assert_eq!(ends(&[2.0, 1.0, 1.0], 4.0, 8), [4, 6, 8]);
        assert_eq!(ends(&[2.0, 1.0, 1.0], 8.0, 8), [2, 3, 4]);
        assert_eq!(ends(&[0.0, 0.01, 0.0], 8.0, 8), [0, 1, 1], "what there is at all is seen");
        assert_eq!(ends(&[0.0, 0.0], 8.0, 8), [0, 0]);
        assert_eq!(ends(&[0.0], 0.0, 8), [0]);
    }

    #[test]
    fn bars_have_signs_scale_times_and_marks() {
        let bar = |from: i64, values: Option<Vec<f64>>| Bar {
            from_us: from * 1_000_000,
            to_us: (from + 10) * 1_000_000,
            values,
        };
        let bars = vec![bar(0, Some(vec![2.0, 2.0])), bar(10, None), bar(20, Some(vec![1.0, 0.0]))];
        let chart = Chart { title: "Time".to_owned(), bars };
        let area = Rect::new(0, 0, 60, 6);
        let mut buffer = Buffer::empty(area);
        draw(&chart, &[25_000_000], false, &mut buffer, area);
        let line = |y: u16| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        assert_eq!(line(0), format!("Time{}00:00:00Z to 00:00:30Z", " ".repeat(34)));
        assert_eq!([line(1), line(2), line(3)], ["   4.00 222", "        222", "        111"]);
        assert_eq!([line(4), line(5)], ["        111?  111", "      0 ──────▲──"]);
    }
}
