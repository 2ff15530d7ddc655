//! Text for a terminal: readable without colour, wrapped to a width, the headline first.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table};
use plimsoll_measurement::{CpuTable, Figure, RunRecord};

use crate::accuracy::{self, Accuracy};
use crate::grid::{Cell, Grid};
use crate::history::History;
use crate::steadiness::{self, steadiness};
use crate::words::{self, GAINS, UNKNOWN, flag_meaning, flag_symbol, number, plain};
use crate::{cpu, evidence, facts, families, moved, requests};

/// How the text is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences for colour and weight may be used. They never carry meaning alone.
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
}

/// A run in a list of runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSummary {
    /// The run's identifier.
    pub run_id: String,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Name of the test.
    pub test: String,
    /// The target's URL without secrets.
    pub target: String,
    /// The headline figure with its unit; absent if nothing complete was measured.
    pub headline: Option<String>,
    /// What bound it; absent without enough evidence.
    pub limit: Option<String>,
    /// How the run ended.
    pub state: String,
}

impl From<&RunRecord> for RunSummary {
    fn from(record: &RunRecord) -> Self {
        Self {
            run_id: record.run_id.clone(),
            started_at: record.started_at.clone(),
            test: record.test.clone(),
            target: record.target.clone(),
            headline: record.result.as_ref().map(|figure| words::value(record, figure)),
            limit: words::limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also),
            state: words::state(record),
        }
    }
}

pub use words::{bound_by as bound, ended as state, limit_in_a_cell as limit};

/// One figure of a run against the same figure of another.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared: `read_rate`, ...
    pub metric: String,
    /// What counts as 1.
    pub baseline: String,
    /// What is held against it.
    pub candidate: String,
    /// Candidate over baseline; absent if either side has no figure.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub high: Option<f64>,
    /// Confidence of the interval, 0.95 for 95 %.
    pub confidence: f64,
    /// What it means, in a word or a sentence.
    pub verdict: String,
    /// What has to be known of the runs before the ratio is trusted.
    pub notes: Vec<String>,
}

const BOLD: &str = "1";
const RED: &str = "31";
const YELLOW: &str = "33";
const DIM: &str = "2";

/// A run: what was delivered (headline with its interval, and what else the test found), what bound it, how steady it was,
/// under which conditions; warnings, and the error if there is one.
pub fn run(record: &RunRecord, style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    page.line(&style.paint(BOLD, &format!("{} on {}", plain(&record.test), plain(&record.target))));
    let began = words::moment(&record.started_at);
    let (engine, version) = (plain(&record.engine), plain(record.engine_version.as_deref().unwrap_or_default()));
    page.line(&style.paint(DIM, &format!("{}  {began}", plain(&record.run_id))));
    page.line(&style.paint(DIM, &format!("{engine} {version}, {}, {}", words::time(record), words::state(record))));
    page.gap();
    match &record.result {
        Some(figure) => page.headline(record, figure),
        None => page.line(&format!("  {}", words::no_result(record))),
    }
    if let Some(truth) = &record.expected {
        page.wrapped("  ", &words::truth(truth));
        page.wrapped("  ", &words::why_true(truth));
    }
    page.delivered(record);
    page.bound(record);
    page.grid("Repetitions", facts::repetitions(record));
    let steady = steadiness(record);
    page.grid("Steadiness", steadiness::table(&steady));
    for remark in steadiness::remarks(&steady) {
        page.wrapped("", &remark);
    }
    page.conditions(record);
    page.messages(record);
    page.text
}

/// A list of runs, one to a row.
pub fn runs(runs: &[RunSummary], style: Style) -> String {
    if runs.is_empty() {
        return "No runs.\n".to_owned();
    }
    let mut grid = Grid::default()
        .text("Run")
        .text("Started (UTC)")
        .text("Test")
        .text("Target")
        .number("Headline")
        .text("Limit")
        .text("State");
    for run in runs {
        grid.row(vec![
            plain(&run.run_id).into(),
            words::minute(&run.started_at).into(),
            plain(&run.test).into(),
            plain(&run.target).into(),
            run.headline.as_deref().map(plain).into(),
            run.limit.as_deref().map(plain).into(),
            plain(&run.state).into(),
        ]);
    }
    // That all came to their end is the least that there is to say.
    let all_complete = runs.iter().all(|run| run.state == "complete");
    for title in all_complete.then_some("State").into_iter().chain(["Started (UTC)", "Limit"]) {
        if grid.width() > style.width {
            grid.drop_column(title);
        }
    }
    drawn(&grid, style)
}

/// The headline, what bound it and how long it took to get it.
pub fn in_a_line(record: &RunRecord) -> String {
    let headline = record.result.as_ref();
    let headline = headline.map_or_else(|| words::no_result(record), |figure| words::value(record, figure));
    let limit = words::limit_in_a_cell(record.verdict.limit.as_deref(), &record.verdict.also);
    let limit = limit.map_or_else(String::new, |limit| format!(", limit: {limit}"));
    format!("{headline}{limit}, {}", words::time(record))
}

/// The headlines of several runs side by side, each with what it should be where that was published.
pub fn side_by_side(records: &[RunRecord], style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    for family in families::families(records) {
        let runs: Vec<&RunRecord> = family.iter().map(|(record, _)| *record).collect();
        let names = families::labels(&runs).into_iter().zip(&family);
        let grid = facts::headlines(names.map(|(name, (record, figure))| (name, *record, *figure)));
        page.grid(&words::title(&family[0].1.metric), grid);
    }
    page.text
}

/// How exact the lab is, a row for each measurement; what rests on published figures comes first.
pub fn accuracy(rows: &[Accuracy], style: Style) -> String {
    if rows.is_empty() {
        return "Nothing was measured.\n".to_owned();
    }
    let mut page = Page { style, text: String::new() };
    for (title, grid) in accuracy::tables(rows) {
        page.grid(title, grid);
    }
    page.text
}

/// A figure over the runs of a test: the answer, the levels, what changed with them, and the runs.
pub fn history(history: &History, style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    let what = format!("{} of {} on {}", words::title(&history.metric), plain(&history.test), plain(&history.target));
    page.line(&style.paint(BOLD, &what));
    page.wrapped("  ", &history.answer());
    page.grid("Levels", history.levels());
    for remark in history.remarks() {
        page.wrapped("", &remark);
    }
    page.grid("Runs", history.table());
    for sentence in &history.left_out {
        page.wrapped("! ", sentence);
    }
    page.text
}

/// Comparisons, each with its ratio, the ratio's interval and what it means.
pub fn comparison(comparisons: &[Comparison], style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    for one in comparisons {
        page.heading(&words::title(&one.metric), "candidate against baseline");
        page.wrapped("  baseline   ", &one.baseline);
        page.wrapped("  candidate  ", &one.candidate);
        page.line(&style.paint(BOLD, &format!("  ratio      {}", ratio(one))));
        page.wrapped("  verdict    ", &one.verdict);
        for note in &one.notes {
            page.wrapped("  ! ", note);
        }
    }
    page.text
}

fn ratio(one: &Comparison) -> String {
    let Some(ratio) = one.ratio.filter(|ratio| ratio.is_finite()) else { return UNKNOWN.to_owned() };
    let change = words::signed_percent((ratio - 1.0) * 100.0).unwrap_or_default();
    let ends = one.low.zip(one.high).and_then(|(low, high)| words::ends(ratio, low, high));
    let interval = ends.map_or_else(
        || "no interval".to_owned(),
        |ends| format!("{} interval {ends}", words::confidence(one.confidence)),
    );
    format!("{} ({change}), {interval}", number(ratio).unwrap_or_default())
}

/// The CPU ladder of one run, with its flags explained.
pub fn cpu_table(table: &CpuTable, style: Style) -> String {
    let mut page = Page { style, text: String::new() };
    page.grid("CPU ladder", cpu::table(table));
    if page.text.is_empty() {
        return "No rung was measured.\n".to_owned();
    }
    for sentence in cpu::anchors(table) {
        page.wrapped("", &sentence);
    }
    page.wrapped("", cpu::HOW_TO_READ);
    page.text
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The text so far, and how to go on.
struct Page {
    style: Style,
    text: String,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text += text;
        self.text.push('\n');
    }

    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, title: &str, rest: &str) {
        self.gap();
        let title = self.style.paint(BOLD, title);
        self.line(&if rest.is_empty() { title } else { format!("{title}: {rest}") });
    }

    fn headline(&mut self, record: &RunRecord, figure: &Figure) {
        let value = self.style.paint(BOLD, &words::value(record, figure));
        self.line(&format!("  {}  {value}", words::title(&figure.metric)));
        self.line(&format!("  {}, {}", words::interval(figure), words::basis(figure)));
        if let Some(note) = &figure.note {
            self.wrapped("  ", note);
        }
    }

    fn delivered(&mut self, record: &RunRecord) {
        self.grid("Figures", facts::figures(record));
        self.grid("Requests", requests::mix(record));
        if let Some(sentence) = requests::exactness(record) {
            self.wrapped("", &sentence);
        }
        self.grid("Phases", requests::phases(record));
        self.grid("Stages", moved::stages(record));
        self.grid("Sizes", moved::sizes(record));
        self.grid("CPU ladder", record.cpu_table.as_ref().and_then(cpu::table));
        for sentence in record.cpu_table.iter().flat_map(cpu::anchors) {
            self.wrapped("", &sentence);
        }
        self.grid("Working sets", facts::memory(record));
    }

    fn bound(&mut self, record: &RunRecord) {
        if let Some(verdict) = words::verdict(&record.verdict) {
            self.heading("Limit", &verdict);
            record.verdict.evidence.iter().for_each(|sentence| self.wrapped("  - ", sentence));
        }
        if let Some((sentence, warns)) = words::client(record) {
            self.gap();
            self.wrapped(if warns { "! " } else { "" }, &sentence);
        }
        self.grid(GAINS, evidence::gains(record));
        self.grid("Used of each ceiling", evidence::used(record));
        if record.verdict.segments.len() > MOST_STRETCHES {
            self.grid("Stretches by limit", evidence::time_by_limit(record));
        } else {
            self.grid("Segments", evidence::segments(record).map(without_evidence));
        }
        self.grid("Waits", requests::waits(record));
        self.grid("Files", requests::files(record));
        self.grid("Files against limits of their own", requests::file_limits(record));
    }

    fn conditions(&mut self, record: &RunRecord) {
        self.grid("Cold start", facts::cold_starts(record));
        self.grid("Ceilings", evidence::ceilings(record));
        self.grid("Not known", evidence::gaps(record));
        if let Some(cost) = evidence::sampling(record) {
            self.gap();
            self.wrapped("Sampling: ", &cost);
        }
    }

    fn grid(&mut self, title: &str, grid: Option<Grid>) {
        let Some(grid) = grid else { return };
        self.heading(title, "");
        self.text += &drawn(&grid, self.style);
        for flag in grid.flags() {
            self.wrapped(&format!("{} ", flag_symbol(flag)), &format!("{}: {}", plain(flag), flag_meaning(flag)));
        }
    }

    fn messages(&mut self, record: &RunRecord) {
        let warnings = words::warnings(record);
        if !warnings.is_empty() {
            let title = self.style.paint(YELLOW, "Warnings");
            self.heading(&title, "");
        }
        for warning in &warnings {
            self.wrapped("  ! ", warning);
        }
        if let Some(error) = &record.error {
            let title = self.style.paint(RED, &format!("Error ({})", plain(&error.kind)));
            self.heading(&title, "");
            self.wrapped("  ", &error.message);
            error.hint.iter().for_each(|hint| self.wrapped("  hint: ", hint));
        }
    }

    /// A paragraph within the width. The first line starts with `lead`, the others are indented as far.
    fn wrapped(&mut self, lead: &str, text: &str) {
        let indent = " ".repeat(lead.chars().count());
        let room = self.style.width.saturating_sub(indent.len()).max(20);
        let mut line = String::new();
        let mut start = lead;
        for word in plain(text).split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                self.line(&format!("{start}{line}"));
                line.clear();
                start = &indent;
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        self.line(&format!("{start}{line}"));
    }
}

/// More segments than this are summed up by limit; files have them all.
const MOST_STRETCHES: usize = 12;

/// Stretches without their sentences, which are those of the verdict again and too long for a column.
fn without_evidence(mut segments: Grid) -> Grid {
    segments.drop_column("Evidence");
    segments
}

/// Columns that a narrow terminal can do without, the first to go first.
const SPARED: [&str; 15] = [
    "Repetitions",
    "Version",
    "Who says so",
    "Mean, s",
    "Timings",
    "Accesses",
    "Started (UTC)",
    "Rows examined",
    "Range",
    "Start lag p99",
    "p99.99",
    "p90",
    "Rows",
    "MB",
    "p99.9",
];

/// The grid with rules above and below, within the width.
fn drawn(grid: &Grid, style: Style) -> String {
    let mut grid = grid.clone();
    for title in SPARED {
        if grid.width() > style.width {
            grid.drop_column(title);
        }
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY.row_separator(LineStyle::none()));
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(style.width).unwrap_or(u16::MAX));
    table.set_header(grid.columns.iter().map(|column| column.title.as_str()));
    for row in &grid.rows {
        table.add_row(row.iter().map(Cell::marked));
    }
    for (column, drawn) in grid.columns.iter().zip(table.column_iter_mut()) {
        drawn.set_padding((0, 1));
        if column.numeric {
            drawn.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt() + "\n"
}
