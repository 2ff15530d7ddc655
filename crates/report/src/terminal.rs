//! Text for a terminal: readable without colour, wrapped to a width, the answer first.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle};
use plimsoll_measurement::RunRecord;

use crate::build::{self, Compared, RunSummary};
use crate::model::format::{flag_meaning, flag_symbol, heading, marked, number, plain, value};
use crate::model::{
    Align, Bar, BarChart, Block, Group, Line, Look, Part, Picture, Report, Sentence, Series, Spot, Strip, Table, Tone,
};

/// How the text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences for colour and weight may be used. They never carry meaning alone.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Whether the details are shown too, instead of how to get them.
    pub full: bool,
}

const BOLD: &str = "1";
const RED: &str = "31";
const YELLOW: &str = "33";
const DIM: &str = "2";

/// More rows than this are shown by files only.
const MOST_ROWS: usize = 400;

/// A run: the answer, one table, and the details or how to get them.
pub fn run(record: &RunRecord, style: Style) -> String {
    report(&build::run(record), style)
}

/// A list of runs, one to a row.
pub fn runs(runs: &[RunSummary], style: Style) -> String {
    build::list(runs).map_or_else(|| "No runs.\n".to_owned(), |table| drawn(&table, style))
}

/// The headlines of several runs side by side, each with what it should be where that was published.
pub fn side_by_side(records: &[RunRecord], style: Style) -> String {
    report(&build::side_by_side(records), style)
}

/// Runs against a first one: which is better, what held each back, what differs, and each figure of both.
pub fn comparison(comparisons: &[Compared<'_>], style: Style) -> String {
    let reports: Vec<String> = build::comparison(comparisons).iter().map(|one| report(one, style)).collect();
    reports.join("\n")
}

/// Any report.
pub fn report(report: &Report, style: Style) -> String {
    let mut page = Page { style, text: String::new(), is_titled: false };
    page.line(&style.paint(BOLD, &report.heading()));
    report.about.iter().for_each(|about| page.line(&style.paint(DIM, about)));
    let (open, details) = report.split();
    let shown = if style.full { details.as_slice() } else { &[] };
    for part in open.iter().chain(shown) {
        page.part(part);
    }
    if !style.full && !details.is_empty() {
        let titles: Vec<&str> = details.iter().map(|part| part.title.as_str()).collect();
        let of_run = || report.run_id.as_ref().map(|id| format!("plimsoll show {id} --full"));
        let how = report.more.clone().or_else(of_run).map_or_else(String::new, |how| format!(": {how}"));
        page.gap();
        page.wrapped("", &format!("More ({}){how}", titles.join(", ")), DIM);
    }
    page.text
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color && !code.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Name, bar or course, and amount.
type Drawing = (String, String, String);

/// The text so far, and how to go on.
struct Page {
    style: Style,
    text: String,
    is_titled: bool,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    /// An empty line, but not below the title of a part.
    fn gap(&mut self) {
        if !std::mem::take(&mut self.is_titled) && !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn part(&mut self, part: &Part) {
        if !part.title.is_empty() {
            self.gap();
            self.line(&self.style.paint(BOLD, &part.title.to_uppercase()));
            self.is_titled = true;
        }
        let mut was_sentence = false;
        for block in &part.blocks {
            let is_sentence = matches!(block, Block::Sentence(_));
            match block {
                Block::Sentence(sentence) => {
                    if !was_sentence {
                        self.gap();
                    }
                    self.sentence(sentence);
                }
                Block::Table(table) => self.table(table),
                Block::Picture(picture) => self.picture(picture),
                Block::Text(title, text) => {
                    self.heading(title);
                    text.lines().for_each(|line| self.line(&plain(line)));
                }
            }
            was_sentence = is_sentence;
        }
    }

    fn sentence(&mut self, sentence: &Sentence) {
        let (lead, color) = match sentence.tone {
            Tone::Headline => ("", BOLD),
            Tone::Plain => ("", ""),
            Tone::Evidence => ("  - ", ""),
            Tone::Quiet => ("", DIM),
            Tone::Warning => ("! ", YELLOW),
            Tone::Error => ("✕ ", RED),
        };
        self.wrapped(lead, &sentence.text, color);
    }

    fn heading(&mut self, title: &str) {
        self.gap();
        if !title.is_empty() {
            self.line(&self.style.paint(BOLD, title));
        }
    }

    fn table(&mut self, table: &Table) {
        self.heading(&table.title);
        self.text += &drawn(table, self.style);
        for flag in table.flags() {
            let meaning = format!("{}: {}", plain(flag), flag_meaning(flag));
            self.wrapped(&format!("{} ", flag_symbol(flag)), &meaning, "");
        }
    }

    /// Bars and courses as far as letters can draw them; nothing of other pictures.
    fn picture(&mut self, picture: &Picture) {
        let lines: Vec<Drawing> = match picture {
            Picture::Bars(chart) => bars(chart, self.style.width),
            Picture::Strips(panel) => panel.strips.iter().take(STRIPS).flat_map(courses).collect(),
            Picture::Lines(chart) if !chart.x.kind.is_logarithmic() && !chart.y.kind.is_logarithmic() => {
                let lines = chart.lines.iter().filter(|line| line.look != Look::Guide);
                titled(&chart.y.title, lines.filter_map(|line| course(line, None)))
            }
            Picture::Lines(_) | Picture::Scatter(_) => Vec::new(),
        };
        if lines.is_empty() {
            return;
        }
        self.heading(picture.title());
        let widest = |part: fn(&Drawing) -> &String| lines.iter().map(|line| letters(part(line))).max();
        let (names, drawings) = (widest(|line| &line.0).unwrap_or(0).min(NAMES), widest(|line| &line.1).unwrap_or(0));
        for (name, drawing, amount) in &lines {
            let name: String = name.chars().take(NAMES).collect();
            let line = format!("{}  {}  {amount}", padded(&name, names), padded(drawing, drawings));
            self.line(line.trim_end());
        }
    }

    /// A paragraph within the width. The first line starts with `lead`, the others are indented as far.
    fn wrapped(&mut self, lead: &str, text: &str, color: &str) {
        let indent = " ".repeat(letters(lead));
        let room = self.style.width.saturating_sub(indent.len()).max(20);
        let mut lines: Vec<String> = vec![String::new()];
        for word in plain(text).split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => *line += word,
                Some(line) if letters(line) + 1 + letters(word) <= room => line.extend([" ", word]),
                _ => lines.push(word.to_owned()),
            }
        }
        for (at, line) in lines.iter().enumerate() {
            let start = if at == 0 { lead } else { &indent };
            self.line(&format!("{start}{}", self.style.paint(color, line)));
        }
    }
}

/// Letters of the longest bar or course, and of the longest name beside one.
const DRAWING: usize = 40;
/// And of the longest where there is little room.
const LEAST_DRAWING: usize = 8;
const NAMES: usize = 32;

/// The first strips of a panel say most: what was delivered, and what was used.
const STRIPS: usize = 2;

fn letters(text: &str) -> usize {
    text.chars().count()
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(letters(text))))
}

/// Name, bar and value of each bar; the longest, or the limit of all, fills the room.
fn bars(chart: &BarChart, width: usize) -> Vec<Drawing> {
    let lengths = chart.bars().map(|bar| bar.value.value).chain(chart.limit);
    let longest = lengths.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let all = || chart.groups.iter().flat_map(|group| group.bars.iter().map(move |(_, one)| (group, one)));
    let names = all().map(|(group, bar)| letters(&chart.name(group, bar))).max().unwrap_or(0).min(NAMES);
    let values = all().map(|(_, bar)| letters(&value(&bar.value))).max().unwrap_or(0);
    // Names and values have two blanks beside them.
    let room = width.saturating_sub(names + values + 4).clamp(LEAST_DRAWING, DRAWING);
    let bar = |group: &Group, bar: &Bar| {
        let length = (bar.value.value / longest * room as f64).round() as usize;
        (chart.name(group, bar), "█".repeat(length.min(room)), value(&bar.value))
    };
    chart.groups.iter().flat_map(|group| group.bars.iter().map(move |(_, one)| bar(group, one))).collect()
}

/// What a strip shows, then name, course and summary of each series over its time.
fn courses(strip: &Strip) -> Vec<Drawing> {
    let line = |series: &Series| {
        let spot = |(from, to, y): &(f64, f64, f64)| Spot { x: f64::midpoint(*from, *to), y: *y, ..Spot::default() };
        let spots = series.steps.iter().map(spot).collect();
        course(&Line { name: series.name.clone(), look: Look::Guide, spots }, strip.mark)
    };
    titled(&strip.axis.title, strip.series.iter().filter_map(line))
}

/// Lines below their title; no title without a line.
fn titled(title: &str, lines: impl Iterator<Item = Drawing>) -> Vec<Drawing> {
    let mut lines = lines.peekable();
    let title = lines.peek().is_some().then(|| (title.to_owned(), String::new(), String::new()));
    title.into_iter().chain(lines).collect()
}

/// Name, course and range of a line; the course reaches up to its highest value, or to `ceiling` if that is higher.
fn course(line: &Line, ceiling: Option<f64>) -> Option<Drawing> {
    let known = || line.spots.iter().filter(|spot| spot.y.is_finite());
    let drawing = sparks(&known().collect::<Vec<_>>(), ceiling.unwrap_or(0.0))?;
    let (low, high) = known().fold((f64::INFINITY, 0.0_f64), |(low, high), spot| (low.min(spot.y), high.max(spot.y)));
    Some((format!("  {}", line.name), drawing, format!("{} to {}", number(low)?, number(high)?)))
}

/// Means of equal parts of the time as blocks of eight heights, from zero to the highest or to `top`; a blank where nothing is
/// known.
fn sparks(spots: &[&Spot], top: f64) -> Option<String> {
    let (from, to, parts) = (spots.first()?.x, spots.last()?.x, spots.len().min(DRAWING));
    let mut sums = vec![(0.0, 0.0); parts];
    for spot in spots {
        let part = ((spot.x - from) / (to - from) * parts as f64) as usize;
        let (sum, count) = &mut sums[part.min(parts - 1)];
        (*sum, *count) = (*sum + spot.y, *count + 1.0);
    }
    let means: Vec<f64> =
        sums.into_iter().map(|(sum, count)| if count > 0.0 { sum / count } else { f64::NAN }).collect();
    let highest = means.iter().copied().filter(|mean| mean.is_finite()).fold(top, f64::max);
    let spark = |mean: f64| match mean {
        mean if !mean.is_finite() => ' ',
        mean => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][((mean / highest * 7.0).round() as usize).min(7)],
    };
    let known = means.iter().filter(|mean| mean.is_finite()).count();
    (known > 2 && highest > 0.0).then(|| means.into_iter().map(spark).collect())
}

/// Characters in the longest line if columns stand two apart.
fn width(table: &Table, texts: &[Vec<String>]) -> usize {
    let widest =
        |at: usize| texts.iter().map(|row| letters(&row[at])).chain([letters(&heading(&table.columns, at))]).max();
    (0..table.columns.len()).filter_map(widest).map(|widest| widest + 2).sum()
}

/// The table with rules above and below, within the width: without the columns that can be spared, if it must be.
fn drawn(table: &Table, style: Style) -> String {
    let mut table = table.clone();
    let more = table.rows.len().saturating_sub(MOST_ROWS);
    table.rows.truncate(MOST_ROWS);
    let texts = loop {
        let texts: Vec<Vec<String>> = table
            .rows
            .iter()
            .map(|row| row.iter().zip(&table.columns).map(|(cell, column)| marked(cell, column)).collect())
            .collect();
        let spare = table.columns.iter().map(|column| column.spare).max().filter(|spare| *spare > 0);
        match spare.and_then(|spare| table.columns.iter().position(|column| column.spare == spare)) {
            Some(least) if width(&table, &texts) > style.width => {
                let keep: Vec<bool> = (0..table.columns.len()).map(|at| at != least).collect();
                table.retain(&keep);
            }
            _ => break texts,
        }
    };
    let mut drawing = comfy_table::Table::new();
    drawing.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    drawing.set_content_arrangement(ContentArrangement::Dynamic);
    drawing.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
    drawing.set_header((0..table.columns.len()).map(|at| heading(&table.columns, at)));
    for row in texts {
        drawing.add_row(row);
    }
    for (column, drawn) in table.columns.iter().zip(drawing.column_iter_mut()) {
        drawn.set_padding((0, 1));
        if column.align == Align::Right {
            drawn.set_cell_alignment(CellAlignment::Right);
        }
    }
    let rest = (more > 0).then(|| format!("and {more} more rows, which the files of 'plimsoll report' have\n"));
    format!("{}\n{}", drawing.trim_fmt(), rest.unwrap_or_default())
}
