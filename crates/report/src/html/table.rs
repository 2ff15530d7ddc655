//! Grids as HTML tables: flush numbers, flags as symbols with tooltip and legend.

use std::collections::BTreeSet;

use maud::{Markup, html};

use crate::grid::{Cell, Grid};
use crate::words::{UNKNOWN, flag_meaning, flag_symbol, plain};

/// More rows than this are folded away.
const ROWS_IN_THE_OPEN: usize = 16;

/// Names up to this length aren't broken at their hyphens.
const KEPT_TOGETHER: usize = 20;

/// A heading and the grid below it; nothing without a grid. Long grids are folded.
pub fn section(title: &str, grid: Option<&Grid>) -> Markup {
    let Some(grid) = grid else { return Markup::default() };
    if grid.rows.len() > ROWS_IN_THE_OPEN {
        return folded(&format!("{title} ({} rows)", grid.rows.len()), Some(grid));
    }
    html! { h4 { (title) } (table(grid)) (legend(&[grid])) }
}

/// The grid behind a line that opens it.
pub fn folded(title: &str, grid: Option<&Grid>) -> Markup {
    let Some(grid) = grid else { return Markup::default() };
    html! { details { summary { (title) } (table(grid)) (legend(&[grid])) } }
}

/// The grid as a table, without the legend of its flags.
pub fn table(grid: &Grid) -> Markup {
    let groups = groups(grid);
    html! {
        div.scroll {
            table {
                thead {
                    @if groups.iter().any(|(name, _)| !name.is_empty()) {
                        tr { @for (name, span) in &groups { th.group[!name.is_empty()] colspan=(span) scope="colgroup" { (name) } } }
                    }
                    tr { @for column in &grid.columns { th.number[column.numeric] scope="col" { (breakable(&column.title)) } } }
                }
                tbody {
                    @for row in &grid.rows {
                        tr.short[row.iter().any(|cell| cell.flags.iter().any(|flag| flag == "short"))] {
                            @for (cell, column) in row.iter().zip(&grid.columns) { (drawn(cell, column.numeric)) }
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

/// What the symbols mean that stand in the grids, each once.
pub fn legend(grids: &[&Grid]) -> Markup {
    let mut flags: Vec<&str> = grids.iter().flat_map(|grid| grid.flags()).collect();
    let mut seen = BTreeSet::new();
    flags.retain(|flag| seen.insert(*flag));
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

fn drawn(cell: &Cell, numeric: bool) -> Markup {
    let reasons: Vec<String> =
        cell.flags.iter().map(|flag| format!("{}: {}", plain(flag), flag_meaning(flag))).collect();
    let text = cell.text.as_deref().unwrap_or(UNKNOWN);
    html! {
        td.number[numeric].name[!numeric && is_name(text)].flagged[!reasons.is_empty()] title=[(!reasons.is_empty()).then(|| reasons.join("; "))] {
            @for flag in &cell.flags { span.sign { (flag_symbol(flag)) } }
            (text)
        }
    }
}

/// Neighbouring columns of one block, and how many they are.
fn groups(grid: &Grid) -> Vec<(&'static str, usize)> {
    let mut groups: Vec<(&'static str, usize)> = Vec::new();
    for column in &grid.columns {
        match groups.last_mut() {
            Some((name, span)) if *name == column.group => *span += 1,
            _ => groups.push((column.group, 1)),
        }
    }
    groups
}
