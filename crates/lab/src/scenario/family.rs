//! Kinds of workloads.

use strum::{IntoStaticStr, VariantArray};

use super::class::{Class, Half};

/// A kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Family {
    /// Rows by key, all keys alike.
    PointReads,
    /// Whole small tables, one after the other.
    RangeScans,
    /// Rows changed by key, a commit each.
    Updates,
    /// Transactions that change one of very few rows.
    HotRows,
    /// Reads of a large table and changes of a small one.
    Mixed,
    /// Joins of a row of one table with one of another, by key.
    Lookups,
    /// Rows by key from large pages.
    LargePages,
    /// Rows of some KB added, a commit each.
    Inserts,
    /// Transactions that change two rows under two locks.
    Transfers,
    /// Rows by a second index.
    IndexReads,
    /// Rows that fill a page, by key.
    Documents,
    /// Rows with an indexed value that is changed by key, a commit each.
    IndexedUpdates,
    /// Transactions that change one of very few rows and read what is left.
    Reservations,
    /// Reads of a large table by index, and rows of a small one added or changed.
    Feed,
}

impl Family {
    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The half it belongs to.
    pub const fn half(self) -> Half {
        match self {
            Self::IndexReads | Self::Documents | Self::IndexedUpdates | Self::Reservations | Self::Feed => {
                Half::HeldOut
            }
            _ => Half::Developing,
        }
    }

    /// Those of a half.
    pub fn of(half: Half) -> impl Iterator<Item = Self> {
        Self::VARIANTS.iter().copied().filter(move |family| family.half() == half)
    }

    /// Whether its scenarios can aim at a class.
    pub fn aims_at(self, class: Class) -> bool {
        use Class::{Client, Cpu, DataBandwidth, DataIops, Device, Locks, LogWrite, Memory, Nothing};
        let classes: &[Class] = match self {
            Self::PointReads | Self::Lookups | Self::IndexReads => &[DataIops, Memory, Cpu, Client, Device, Nothing],
            Self::RangeScans => &[DataBandwidth],
            Self::LargePages | Self::Documents => &[DataBandwidth, Memory, Nothing],
            Self::Updates | Self::Inserts | Self::IndexedUpdates => &[LogWrite, Cpu, Client, Device, Nothing],
            Self::HotRows | Self::Reservations => &[Locks],
            Self::Transfers => &[Locks, LogWrite, Cpu],
            Self::Mixed | Self::Feed => &[DataIops, LogWrite, Cpu, Device, Nothing],
        };
        classes.contains(&class)
    }
}
