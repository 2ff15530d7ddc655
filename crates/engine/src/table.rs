//! Tables as every engine understands them: typed columns, the first of which is the clustered primary key.

/// A column's type. Each engine has a table that maps these to its own types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// True or false.
    Bit,
    /// 0 to 255.
    TinyInt,
    /// 16 bits, signed.
    SmallInt,
    /// 32 bits, signed.
    Int,
    /// 64 bits, signed.
    BigInt,
    /// IEEE 754, 64 bits.
    Float,
    /// Four decimals; an integer of ten-thousandths in 64 bits.
    Money,
    /// Whole milliseconds since 1970-01-01T00:00:00Z.
    DateTime,
    /// Printable ASCII without trailing blanks, at most this many bytes.
    Text(u16),
}

impl ColumnType {
    /// Bytes of a value's content; `None` where each has its own.
    pub const fn content_bytes(self) -> Option<u8> {
        match self {
            Self::Bit | Self::TinyInt => Some(1),
            Self::SmallInt => Some(2),
            Self::Int => Some(4),
            Self::BigInt | Self::Float | Self::Money | Self::DateTime => Some(8),
            Self::Text(_) => None,
        }
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Column {
    /// Its name, as written in the definition; engines may fold its case.
    pub name: String,
    /// Its type. No column of ours is nullable, but every engine must carry NULL.
    pub kind: ColumnType,
}

/// A table: its name and columns. The first column is the primary key, dense from 1, and there is no other index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Table {
    /// Its name within its place.
    pub name: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// A heap has no key, and its columns may be NULL.
    pub is_heap: bool,
}

impl Table {
    /// A table of columns given by name and type.
    pub fn new(name: impl Into<String>, columns: &[(&str, ColumnType)]) -> Self {
        let columns = columns.iter().map(|(name, kind)| Column { name: (*name).to_owned(), kind: *kind }).collect();
        Self { name: name.into(), columns, is_heap: false }
    }

    /// The same without a key.
    #[must_use]
    pub fn heap(self) -> Self {
        Self { is_heap: true, ..self }
    }

    /// The same columns under another name.
    #[must_use]
    pub fn named(&self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// Name of the primary key.
    pub fn key(&self) -> &str {
        &self.columns[0].name
    }

    /// The columns' types in order.
    pub fn types(&self) -> Vec<ColumnType> {
        self.columns.iter().map(|column| column.kind).collect()
    }
}
