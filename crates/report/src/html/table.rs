//! Tables of the model as HTML: flush numbers, flags as symbols with tooltip and legend.

use maud::{Markup, html};

use crate::model::format::{cell as text_of, flag_meaning, flag_symbol, heading, plain};
use crate::model::{Align, Cell, Column, Table};

/// More rows than this are folded away.
const ROWS_IN_THE_OPEN: usize = 16;

/// Names up to this length aren't broken at their hyphens.
const KEPT_TOGETHER: usize = 20;

/// The table below its title. Long ones are folded.
pub fn section(table: &Table) -> Markup {
    let content = html! { (drawn(table)) (legend(table)) };
    html! {
        @if table.rows.len() > ROWS_IN_THE_OPEN {
            details { summary { (table.title) " (" (table.rows.len()) " rows)" } (content) }
        } @else {
            @if !table.title.is_empty() { h4 { (table.title) } }
            (content)
        }
    }
}

fn drawn(table: &Table) -> Markup {
    let groups = groups(table);
    let is_short = |cell: &Cell| cell.flags.iter().any(|flag| flag == "short");
    html! {
        div.scroll {
            table {
                thead {
                    @if groups.iter().any(|(name, _)| !name.is_empty()) {
                        tr { @for (name, span) in &groups { th class=[(!name.is_empty()).then_some("group")] colspan=(span) scope="colgroup" { (name) } } }
                    }
                    tr {
                        @for (at, column) in table.columns.iter().enumerate() {
                            th class=[(column.align == Align::Right).then_some("number")] scope="col" title=[column.page.map(|page| format!("explained in {page}"))] {
                                (breakable(&heading(&table.columns, at)))
                            }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr class=[row.iter().any(is_short).then_some("short")] {
                            @for (cell, column) in row.iter().zip(&table.columns) { (in_row(cell, column)) }
                        }
                    }
                }
            }
        }
    }
}

/// A heading that may be broken within the name of a target, which is one long word.
fn breakable(title: &str) -> Markup {
    html! {
        @for part in title.split_inclusive(['/', '@', ':']) {
            @if is_name(part) { span.name { (part) } } @else { (part) }
            @if part.len() < title.len() { wbr; }
        }
    }
}

/// One short word with hyphens, such as a test's name.
fn is_name(text: &str) -> bool {
    text.contains('-') && text.len() <= KEPT_TOGETHER && !text.contains(char::is_whitespace)
}

/// What the symbols mean that stand in the table, each once.
fn legend(table: &Table) -> Markup {
    let flags = table.flags();
    html! {
        @if !flags.is_empty() {
            ul.legend.flags {
                @for flag in flags {
                    li { span.sign { (flag_symbol(flag)) } b { (plain(flag)) } ": " (flag_meaning(flag)) }
                }
            }
        }
    }
}

fn in_row(cell: &Cell, column: &Column) -> Markup {
    let reasons: Vec<String> =
        cell.flags.iter().map(|flag| format!("{}: {}", plain(flag), flag_meaning(flag))).collect();
    let (text, numeric) = (text_of(cell, column), column.align == Align::Right);
    let classes = [("number", numeric), ("name", !numeric && is_name(&text)), ("flagged", !reasons.is_empty())];
    let classes: Vec<&str> = classes.into_iter().filter(|(_, is)| *is).map(|(class, _)| class).collect();
    html! {
        td class=[(!classes.is_empty()).then(|| classes.join(" "))] title=[(!reasons.is_empty()).then(|| reasons.join("; "))] {
            @for flag in &cell.flags { span.sign { (flag_symbol(flag)) } }
            @match &cell.link {
                Some(link) => a href={ "#" (link) } { (text) },
                None => (text),
            }
        }
    }
}

/// Neighbouring columns of one block, and how many they are.
fn groups(table: &Table) -> Vec<(&'static str, usize)> {
    table.columns.chunk_by(|one, other| one.group == other.group).map(|block| (block[0].group, block.len())).collect()
}
