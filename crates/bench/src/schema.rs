//! The built-in tables: the seeds' typed family of about 410 bytes a row, and the small table of the CPU ladder.

use plimsoll_engine::{ColumnType, Table};

/// Mean data content of a row of the [`family`] table: 90 bytes of numbers and four texts of 80 bytes on average.
pub const FAMILY_ROW_BYTES: u64 = 410;

/// Shortest and longest text of the family.
pub const TEXT_BYTES: (u16, u16) = (40, 120);

/// The table family of all tests but the CPU ladder (reference, A1): every basic type, no large objects, all in the row,
/// clustered primary key only. The columns of the published scan predicate keep their names.
pub fn family(name: &str) -> Table {
    use ColumnType::{Bit, DateTime, Float, Int, Money, SmallInt, Text, TinyInt};
    let text = Text(TEXT_BYTES.1);
    Table::new(
        name,
        &[
            ("RowId", Int),
            ("Bit1", Bit),
            ("Bit2", Bit),
            ("Bit3", Bit),
            ("Bit4", Bit),
            ("TinyInt1", TinyInt),
            ("TinyInt2", TinyInt),
            ("SmallInt1", SmallInt),
            ("SmallInt2", SmallInt),
            ("Int1", Int),
            ("Int2", Int),
            ("Int3", Int),
            ("Int4", Int),
            ("Int5", Int),
            ("Float1", Float),
            ("Float2", Float),
            ("Money1", Money),
            ("Money2", Money),
            ("Money3", Money),
            ("DateTime1", DateTime),
            ("DateTime2", DateTime),
            ("VarChar1", text),
            ("VarChar2", text),
            ("VarChar3", text),
            ("VarChar4", text),
        ],
    )
}

/// The table of the CPU ladder (reference, 2.11): integers only, so that joining it costs nothing but CPU.
pub fn cpu(name: &str) -> Table {
    use ColumnType::Int;
    Table::new(name, &[("RowId", Int), ("Int1", Int), ("Int2", Int), ("Int3", Int), ("Int4", Int), ("Int5", Int)])
}
