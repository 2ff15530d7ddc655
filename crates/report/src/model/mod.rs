//! The report as data, between records and faces: parts by rank, in them sentences, pictures and tables with typed cells.
//!
//! Builders make it from records, with all arithmetic and choice; faces lay it out and format its cells, and compute nothing. Every
//! subject fills the same parts in the same order: the answer in sentences, one picture, one table, details.

pub mod format;
mod picture;
mod table;

pub use picture::{
    Axis, Band, Bar, BarChart, Disc, Gap, Group, INK, Kind, LARGEST, Line, LineChart, Look, Mark, Panel, Picture,
    Scatter, Series, Shape, Spot, Strip, Tone as Color,
};
pub use table::{Align, Bound, Cell, Column, Content as CellContent, Form, Table, Value, number, scaled, text};

use plimsoll_measurement::Basis;

/// What one run, a campaign, a comparison or a history has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Name within a document, for links to it.
    pub id: String,
    /// What it is about: the test and its target.
    pub title: String,
    /// Id of the run; absent where it is of several.
    pub run_id: Option<String>,
    /// When, with what and how it was made.
    pub about: Vec<String>,
    /// How its figures came about.
    pub basis: Basis,
    /// What it says in a line, where it is one of several.
    pub line: Option<String>,
    /// What shows the details where they are folded away; absent where that follows from the run.
    pub more: Option<String>,
    /// What it says, in the order of the ranks.
    pub parts: Vec<Part>,
}

impl Report {
    /// A report of measured figures that says nothing yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds the parts that say something.
    pub fn add_all(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.parts.extend(parts.into_iter().filter(|part| !part.blocks.is_empty()));
    }

    /// The title, and the basis where the figures were not measured.
    pub fn heading(&self) -> String {
        format!("{}{}", self.title, format::marked_basis(self.basis))
    }

    /// The parts that stand open, and the details.
    pub fn split(&self) -> (Vec<&Part>, Vec<&Part>) {
        self.parts.iter().partition(|part| part.rank != Rank::Detail)
    }
}

/// How soon a reader needs a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// Sentences: the headline, what bound it, what would raise it, what makes it doubtful.
    Answer,
    /// One picture.
    Picture,
    /// One table.
    Table,
    /// All else, folded away.
    Detail,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// How soon a reader needs it.
    pub rank: Rank,
    /// Heading of a detail; empty above the others.
    pub title: String,
    /// What it says, in order.
    pub blocks: Vec<Block>,
}

/// A piece of a part.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A sentence.
    Sentence(Sentence),
    /// A chart.
    Picture(Picture),
    /// A table.
    Table(Table),
    /// Text that is shown as it stands: title and text.
    Text(String, String),
}

/// A sentence, and what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// What it is for.
    pub tone: Tone,
    /// The sentence.
    pub text: String,
}

/// What a sentence is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// The figure that was asked for.
    Headline,
    /// What else belongs to the answer.
    Plain,
    /// An observation that proves it.
    Evidence,
    /// How to read something.
    Quiet,
    /// What makes the answer doubtful.
    Warning,
    /// Why there is no answer.
    Error,
}

impl Part {
    /// The open part of this rank.
    pub const fn of(rank: Rank) -> Self {
        Self { rank, title: String::new(), blocks: Vec::new() }
    }

    /// Details under a heading.
    pub fn detail(title: &str) -> Self {
        Self { title: title.to_owned(), ..Self::of(Rank::Detail) }
    }

    /// Adds a sentence, if there is one.
    pub fn say(&mut self, tone: Tone, text: impl Into<Option<String>>) {
        let text = text.into().map(|text| format::plain(&text)).filter(|text| !text.is_empty());
        self.blocks.extend(text.map(|text| Block::Sentence(Sentence { tone, text })));
    }

    /// Adds a table under its title, if there is one.
    pub fn table(&mut self, title: &str, table: Option<Table>) {
        self.blocks.extend(table.map(|table| Block::Table(Table { title: title.to_owned(), ..table })));
    }

    /// Adds the pictures that have anything to show.
    pub fn pictures(&mut self, pictures: impl IntoIterator<Item = Picture>) {
        self.blocks.extend(pictures.into_iter().filter(|picture| !picture.is_empty()).map(Block::Picture));
    }

    /// The first wanted block of these details, which is then no detail any more.
    pub fn promoted<const N: usize>(rank: Rank, details: [&mut Self; N], is_wanted: impl Fn(&Block) -> bool) -> Self {
        let mut open = Self::of(rank);
        for part in details {
            if let Some(at) = part.blocks.iter().position(&is_wanted) {
                open.blocks.push(part.blocks.remove(at));
                break;
            }
        }
        open
    }
}
