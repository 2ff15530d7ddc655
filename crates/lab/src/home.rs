//! Where the files of a temporary lab are: a folder that goes with the process, and if that was killed, with the next lab
//! that is opened. A locked file in it tells that its process lives.

use std::io;
use std::path::{Path, PathBuf};

use plimsoll_engine::Result;
use plimsoll_engine::temporary::{self, Folder};

const PREFIX: &str = "plimsoll-lab-";
/// What names of files in it begin with.
const FILE: &str = "lab";

#[derive(Debug)]
pub struct Home(Folder);

impl Home {
    /// Makes a folder, and removes those of killed processes.
    pub fn make() -> Result<Self> {
        let parent = std::env::temp_dir();
        remove_abandoned(&parent);
        let failed = |error: io::Error| temporary::failed("a folder for the lab", &error);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent).map_err(failed)?;
        Folder::claim(folder.keep()).map(Self).map_err(failed)
    }

    /// The file that the lab's own files are named after.
    pub fn file(&self) -> PathBuf {
        self.0.path().join(FILE)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.0.remove(is_part);
    }
}

/// Files of a lab, with what SQLite has beside them.
fn is_part(name: &str) -> bool {
    name.starts_with(FILE)
}

/// Removes the folders of killed labs; returns how many. What can't be looked at or removed stays.
pub fn remove_leftovers() -> u32 {
    remove_abandoned(&std::env::temp_dir())
}

/// Removes folders of ours that nobody holds the lock of.
fn remove_abandoned(parent: &Path) -> u32 {
    let abandoned = temporary::abandoned(parent, PREFIX, is_part);
    abandoned.iter().map(|folder| u32::from(folder.remove(is_part))).sum()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_folder_of_a_killed_process_goes_and_that_of_a_living_one_stays() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            (Folder::claim(folder.clone()).unwrap(), folder)
        };
        let killed = make("plimsoll-lab-killed").1;
        let (_living, lives) = make("plimsoll-lab-lives");
        let (held, filled) = make("plimsoll-lab-filled");
        drop(held);
        fs::write(filled.join("letters"), "").unwrap();
        let named = parent.path().join("plimsoll-lab-named");
        fs::create_dir(&named).unwrap();
        fs::write(named.join("lock"), "").unwrap();
        let other = make("somebody-elses").1;
        remove_abandoned(parent.path());
        assert!(!killed.exists() && lives.exists() && other.exists() && filled.exists() && named.exists());
    }
}
