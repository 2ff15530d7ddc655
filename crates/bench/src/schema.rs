//! The built-in tables: the seeds' typed family of about 410 bytes a row, the same with longer texts, and the small table
//! of the CPU ladder.

use plimsoll_engine::{Column, ColumnType, Table};

/// Data content of the family's columns that are no texts.
const NUMBERS_BYTES: u64 = 90;

/// How wide the rows of the [`family`] are. Everything but the texts is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Width {
    /// As the seeds had them: 90 bytes of numbers and four texts of 80 bytes on average.
    #[default]
    Seeds,
    /// Texts of 202.5 bytes on average: fewer rows to a page, to see whether a figure depends on it.
    Wide,
}

impl Width {
    /// The names of the widths in parameters: mean bytes of data content.
    pub const NAMES: [&str; 2] = ["410", "900"];

    /// The width of that name; the seeds' without one.
    pub fn from_name(name: &str) -> Self {
        if name == Self::NAMES[1] { Self::Wide } else { Self::Seeds }
    }

    /// Shortest and longest text.
    pub const fn text_bytes(self) -> (u16, u16) {
        match self {
            Self::Seeds => (40, 120),
            Self::Wide => (95, 310),
        }
    }

    /// Mean data content of a row.
    pub const fn row_bytes(self) -> u64 {
        let (shortest, longest) = self.text_bytes();
        NUMBERS_BYTES + 2 * (shortest as u64 + longest as u64)
    }
}

/// The table family of all tests but the CPU ladder (reference, A1): every basic type, no large objects, all in the row,
/// clustered primary key only. The columns of the published scan predicate keep their names.
pub fn family(name: &str, width: Width) -> Table {
    use ColumnType::{Bit, DateTime, Float, Int, Money, SmallInt, Text, TinyInt};
    let text = Text(width.text_bytes().1);
    let groups = [
        ("Bit", Bit, 4),
        ("TinyInt", TinyInt, 2),
        ("SmallInt", SmallInt, 2),
        ("Int", Int, 5),
        ("Float", Float, 2),
        ("Money", Money, 3),
        ("DateTime", DateTime, 2),
        ("VarChar", text, 4),
    ];
    let mut table = Table::new(name, &[("RowId", Int)]);
    for (name, kind, count) in groups {
        table.columns.extend((1..=count).map(|number| Column { name: format!("{name}{number}"), kind }));
    }
    table
}

/// The table of the CPU ladder (reference, 2.11): integers only, so that joining it costs nothing but CPU.
pub fn cpu(name: &str) -> Table {
    use ColumnType::Int;
    Table::new(name, &[("RowId", Int), ("Int1", Int), ("Int2", Int), ("Int3", Int), ("Int4", Int), ("Int5", Int)])
}
