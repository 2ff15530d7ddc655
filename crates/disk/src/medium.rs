//! What the cells of a run work on: a test file by one of the engines, or a modelled volume.

use std::fs::File;
use std::sync::Arc;

use plimsoll_engine::Result;
use plimsoll_measurement::SyncMode;

use crate::engine::IoEngine;
use crate::file::{HEADER_BYTES, TestFile};
use crate::modelled::{SECTOR_BYTES, Volume};

/// What the cells of a run work on.
pub enum Medium {
    /// A file, and by what operations are made.
    File(TestFile, IoEngine),
    /// A modelled volume.
    Modelled(Box<Volume>),
}

/// The same as the operations of one kind use it.
pub enum Opened<'a> {
    /// The file, opened for them.
    File(Arc<File>, IoEngine),
    /// The modelled volume.
    Modelled(&'a Volume),
}

impl Medium {
    /// Where operations begin, and on how many bytes they work.
    pub fn range(&self) -> (u64, u64) {
        match self {
            Self::File(file, _) => (HEADER_BYTES, file.bytes()),
            Self::Modelled(volume) => (0, volume.bytes()),
        }
    }

    /// Operations begin and end at multiples of so many bytes.
    pub fn alignment(&self) -> u64 {
        match self {
            Self::File(file, _) => file.alignment(),
            Self::Modelled(_) => SECTOR_BYTES,
        }
    }

    /// Takes out of memory what an earlier cell left there.
    pub fn drop_cache(&self) {
        if let Self::File(file, _) = self {
            file.drop_cache();
        }
    }

    /// Opens it for operations.
    ///
    /// # Errors
    /// Those of [`TestFile::open`].
    pub fn open(&self, sync: SyncMode) -> Result<Opened<'_>> {
        Ok(match self {
            Self::File(file, engine) => Opened::File(Arc::new(file.open(sync)?), *engine),
            Self::Modelled(volume) => Opened::Modelled(volume),
        })
    }

    /// Removes what was made for it.
    ///
    /// # Errors
    /// Those of [`TestFile::remove`].
    pub fn remove(&mut self) -> Result<()> {
        match self {
            Self::File(file, _) => file.remove(),
            Self::Modelled(_) => Ok(()),
        }
    }
}
