//! Markdown (GitHub flavour): the answer and one table of each report, its details folded.

use plimsoll_measurement::{RunRecord, foreign};

use crate::build;
use crate::model::format::{flag_meaning, flag_symbol, heading, marked, plain};
use crate::model::{Align, Block, Part, Report, Sentence, Table, Tone};

/// A report over the runs, in the order given; those that a refusal keeps apart have nothing in common.
pub fn report(records: &[RunRecord], refusal: build::Refusal) -> String {
    documents(&build::report(records, refusal))
}

/// The same with what is better and why first, where the runs are held against the first of them.
pub fn report_compared(records: &[RunRecord], (refusal, compared): (build::Refusal, &[build::Compared<'_>])) -> String {
    documents(&build::report_compared(records, refusal, compared))
}

/// Any report as a document.
pub fn document(report: &Report) -> String {
    documents(std::slice::from_ref(report))
}

fn documents(reports: &[Report]) -> String {
    let mut page = Page { lines: vec!["# Plimsoll report".to_owned()] };
    for one in reports {
        page.report(one);
    }
    foreign::page(page.lines.join("\n") + "\n")
}

/// The tables of a report, open and by their titles.
pub fn tables(report: &Report) -> String {
    let mut page = Page { lines: Vec::new() };
    for block in report.parts.iter().flat_map(|part| &part.blocks) {
        if let Block::Table(table) = block {
            page.paragraph(format!("## {}", safe(&table.title)));
            page.table(table);
        }
    }
    foreign::page(page.lines.join("\n").trim_start().to_owned() + "\n")
}

/// The lines so far.
struct Page {
    lines: Vec<String>,
}

impl Page {
    /// A paragraph: an empty line, then the text.
    fn paragraph(&mut self, text: String) {
        self.lines.extend([String::new(), text]);
    }

    fn report(&mut self, report: &Report) {
        self.paragraph(format!("## {}", safe(&report.heading())));
        if !report.about.is_empty() {
            self.paragraph(safe(&report.about.join(", ")));
        }
        let (open, details) = report.split();
        for part in open {
            self.blocks(part);
        }
        for part in details {
            let mut inner = Self { lines: Vec::new() };
            inner.blocks(part);
            if !inner.lines.is_empty() {
                self.paragraph(format!("<details><summary>{}</summary>", safe(&part.title)));
                self.lines.append(&mut inner.lines);
                self.paragraph("</details>".to_owned());
            }
        }
    }

    fn blocks(&mut self, part: &Part) {
        let mut in_list = false;
        for block in &part.blocks {
            let is_item = matches!(block, Block::Sentence(one) if one.tone == Tone::Evidence);
            match block {
                Block::Sentence(one) if is_item && in_list => self.lines.push(format!("- {}", safe(&one.text))),
                Block::Sentence(one) => self.paragraph(sentence(one)),
                Block::Table(table) => {
                    if !table.title.is_empty() {
                        self.paragraph(format!("#### {}", safe(&table.title)));
                    }
                    self.table(table);
                }
                Block::Text(title, text) => {
                    self.paragraph(format!("#### {}", safe(title)));
                    self.lines.push(String::new());
                    self.lines.extend(text.lines().map(|line| format!("    {}", plain(line))));
                }
                Block::Picture(_) => {}
            }
            in_list = is_item;
        }
    }

    fn table(&mut self, table: &Table) {
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        self.paragraph(line((0..table.columns.len()).map(|at| safe(&heading(&table.columns, at))).collect()));
        let side = |right: bool| (if right { "---:" } else { "---" }).to_owned();
        self.lines.push(line(table.columns.iter().map(|column| side(column.align == Align::Right)).collect()));
        for row in &table.rows {
            let cells = row.iter().zip(&table.columns).map(|(cell, column)| safe(&marked(cell, column)));
            self.lines.push(line(cells.collect()));
        }
        for flag in table.flags() {
            self.paragraph(format!("{} {}: {}", flag_symbol(flag), safe(flag), safe(&flag_meaning(flag))));
        }
    }
}

fn sentence(one: &Sentence) -> String {
    let text = safe(&one.text);
    match one.tone {
        Tone::Headline | Tone::Error => format!("**{text}**"),
        Tone::Evidence => format!("- {text}"),
        Tone::Warning => format!("**Warning:** {text}"),
        Tone::Plain | Tone::Quiet => text,
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
