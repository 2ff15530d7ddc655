//! Markdown (GitHub flavour): a summary of all runs, then each run with its tables.

use plimsoll_measurement::RunRecord;

use crate::accuracy::{self, Accuracy};
use crate::campaign::campaign;
use crate::grid::Grid;
use crate::steadiness::{self, steadiness};
use crate::words::{self, flag_meaning, flag_symbol, plain};
use crate::{cpu, evidence, facts, moved, requests};

/// A report over the runs, in the order given.
pub fn report(records: &[RunRecord]) -> String {
    let mut page = Page { lines: vec!["# Plimsoll report".to_owned()] };
    page.table(summary(records));
    page.campaign(records);
    for record in records {
        page.run(record);
    }
    page.lines.join("\n") + "\n"
}

/// How exact the lab is: a table for published levels, one for completed ones.
pub fn accuracy(rows: &[Accuracy]) -> String {
    let mut page = Page { lines: Vec::new() };
    for (title, grid) in accuracy::tables(rows).into_iter().filter(|(_, grid)| grid.is_some()) {
        page.paragraph(format!("## {title}"));
        page.table(grid);
    }
    page.lines.join("\n").trim_start().to_owned() + "\n"
}

fn summary(records: &[RunRecord]) -> Option<Grid> {
    let mut grid = Grid::default()
        .text("Test")
        .text("Target")
        .number("Headline")
        .text("Interval")
        .number("Truth")
        .number("Error, %")
        .text("Behind it")
        .text("Limit")
        .text("Started")
        .text("State");
    for record in records {
        let figure = record.result.as_ref();
        let [truth, error] = figure.map(facts::truth).unwrap_or_default();
        grid.row(vec![
            plain(&record.test).into(),
            plain(&record.target).into(),
            figure.map(|figure| words::value(record, figure)).into(),
            figure.map(words::interval).into(),
            truth,
            error,
            figure.map(words::basis).into(),
            words::verdict(&record.verdict).into(),
            words::moment(&record.started_at).into(),
            words::state(record).into(),
        ]);
    }
    grid.compact()
}

/// The heading of a part of a run's story.
const PART: &str = "### ";

/// The lines so far.
struct Page {
    lines: Vec<String>,
}

impl Page {
    /// A paragraph: an empty line, then the text.
    fn paragraph(&mut self, text: String) {
        self.lines.extend([String::new(), text]);
    }

    fn campaign(&mut self, records: &[RunRecord]) {
        let Some(campaign) = campaign(records) else { return };
        self.paragraph("## Tests by target".to_owned());
        self.table(campaign.columns);
        self.table(Some(campaign.values));
        if let Some(shares) = campaign.shares {
            self.paragraph(format!("In percent of {}:", safe(&campaign.base)));
            self.table(Some(shares));
        }
    }

    fn run(&mut self, record: &RunRecord) {
        self.paragraph(format!("## {} on {}", safe(&record.test), safe(&record.target)));
        if let Some(error) = &record.error {
            self.paragraph(format!("**Error ({}):** {}", safe(&error.kind), safe(&error.message)));
            if let Some(hint) = &error.hint {
                self.paragraph(format!("Hint: {}", safe(hint)));
            }
        }
        let warnings = words::warnings(record);
        if !warnings.is_empty() {
            self.paragraph("**Warnings**".to_owned());
            self.list(&warnings);
        }
        self.delivered(record);
        self.bound(record);
        self.part("How steady it was");
        let steady = steadiness(record);
        self.tables([("Repetitions", facts::repetitions(record)), ("Steadiness", steadiness::table(&steady))]);
        self.list(&steadiness::remarks(&steady));
        self.tables([("Per minute", facts::minutes(record))]);
        self.conditions(record);
    }

    /// The heading of a part of the story; those without content go when the next comes.
    fn part(&mut self, title: &str) {
        self.leave_empty_part();
        self.paragraph(format!("{PART}{title}"));
    }

    fn leave_empty_part(&mut self) {
        if self.lines.last().is_some_and(|line| line.starts_with(PART)) {
            self.lines.truncate(self.lines.len() - 2);
        }
    }

    fn headline(&mut self, record: &RunRecord) {
        let Some(figure) = &record.result else { return self.paragraph(safe(&words::no_result(record))) };
        let (title, value) = (words::title(&figure.metric), words::value(record, figure));
        let spread = format!("{}, {}", words::interval(figure), words::basis(figure));
        self.paragraph(format!("{}: **{}**, {spread}", safe(&title), safe(&value)));
        let truth = record.expected.iter().flat_map(|truth| [words::truth(truth), words::why_true(truth)]);
        let truth: Vec<String> = truth.filter(|sentence| !sentence.is_empty()).collect();
        for sentence in figure.note.iter().chain(&truth) {
            self.paragraph(safe(sentence));
        }
    }

    fn delivered(&mut self, record: &RunRecord) {
        self.part("What was delivered");
        self.headline(record);
        self.tables([("Figures", facts::figures(record)), ("Requests", requests::mix(record))]);
        if let Some(sentence) = requests::exactness(record) {
            self.paragraph(safe(&sentence));
        }
        let ladder = record.cpu_table.as_ref();
        self.tables([
            ("Phases", requests::phases(record)),
            ("Stages", moved::stages(record)),
            ("Sizes", moved::sizes(record)),
            ("Working sets", facts::memory(record)),
            ("CPU ladder", ladder.and_then(cpu::table)),
        ]);
        if let Some(ladder) = ladder {
            let sentences: Vec<String> =
                cpu::anchors(ladder).into_iter().chain([cpu::HOW_TO_READ.to_owned()]).collect();
            self.paragraph(safe(&sentences.join(" ")));
        }
    }

    fn bound(&mut self, record: &RunRecord) {
        self.part("What bound it");
        if let Some(verdict) = words::verdict(&record.verdict) {
            let meaning = words::limit_meaning(record.verdict.limit.as_deref());
            self.paragraph(format!("**Limit: {}** {meaning}", safe(&verdict)).trim_end().to_owned());
            self.list(&record.verdict.evidence);
        }
        if let Some((sentence, _)) = words::client(record) {
            self.paragraph(safe(&sentence));
        }
        self.tables([
            (words::GAINS, evidence::gains(record)),
            ("Used of each ceiling", evidence::used(record)),
            ("Segments", evidence::segments(record)),
            ("Waits", requests::waits(record)),
            ("Files", requests::files(record)),
            ("Files against limits of their own", requests::file_limits(record)),
            ("Resources", facts::resources(record)),
        ]);
    }

    fn conditions(&mut self, record: &RunRecord) {
        self.part("Under which conditions");
        self.tables([
            ("Cold start", facts::cold_starts(record)),
            ("Ceilings", evidence::ceilings(record)),
            ("Not known", evidence::gaps(record)),
            ("Parameters", facts::parameters(record)),
            ("Environment", facts::environment(record)),
            ("Origin", facts::origin(record)),
        ]);
        self.leave_empty_part();
    }

    fn tables<const N: usize>(&mut self, sections: [(&str, Option<Grid>); N]) {
        for (title, grid) in sections {
            if grid.is_some() {
                self.paragraph(format!("#### {title}"));
                self.table(grid);
            }
        }
    }

    fn list(&mut self, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.lines.push(String::new());
        self.lines.extend(items.iter().map(|item| format!("- {}", safe(item))));
    }

    fn table(&mut self, grid: Option<Grid>) {
        let Some(grid) = grid else { return };
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        self.paragraph(line(grid.columns.iter().map(|column| safe(&column.title)).collect()));
        let sides = grid.columns.iter().map(|column| (if column.numeric { "---:" } else { "---" }).to_owned());
        self.lines.push(line(sides.collect()));
        self.lines.extend(grid.rows.iter().map(|row| line(row.iter().map(|cell| safe(&cell.marked())).collect())));
        for flag in grid.flags() {
            self.paragraph(format!("{} {}: {}", flag_symbol(flag), safe(flag), safe(&flag_meaning(flag))));
        }
    }
}

/// Text that Markdown shows as it stands: no markup, no HTML, no new cell.
fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in plain(text).chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' => safe.extend(['\\', letter]),
            other => safe.push(other),
        }
    }
    safe
}
