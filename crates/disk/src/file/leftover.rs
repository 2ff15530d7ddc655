//! A test file that no run works with: a run was killed, or was asked to keep it.

use std::path::Path;

use plimsoll_engine::Result;

use super::mark::State;
use super::{FileSpec, NAME, TestFile, existing};

/// A test file with our mark, locked against runs as long as this lives.
#[derive(Debug)]
pub struct Leftover {
    file: TestFile,
    /// Whether it is laid out to its end, so that a run can use it again.
    pub is_complete: bool,
}

impl Leftover {
    /// The one in a folder; `None` if there is none.
    ///
    /// # Errors
    /// If what has its name is not ours, or if a run works with it.
    pub fn find(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let Some((file, mark)) = existing(&path)? else { return Ok(None) };
        let spec = FileSpec {
            folder: folder.to_owned(),
            bytes: mark.bytes,
            seed: mark.seed,
            buffered: true,
            keep: true,
            anew: false,
        };
        let mut file = TestFile::new(path, file, mark.inode, &spec);
        file.stays = true;
        Ok(Some(Self { file, is_complete: mark.state == State::Ready }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Removes it.
    ///
    /// # Errors
    /// If it can't be removed, or if somebody has changed it meanwhile.
    pub fn remove(mut self) -> Result<()> {
        self.file.stays = false;
        self.file.remove()
    }
}
