//! Where the files of a temporary lab are: a folder that goes with the process, and if that was killed, with the next run in a
//! lab or the next `clean`. A locked file in it tells that its process lives.

use std::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};

use plimsoll_engine::temporary::{self, Folder};
use plimsoll_engine::{Result, Workspace};

const PREFIX: &str = "plimsoll-lab-";
/// What names of files in it begin with.
const FILE: &str = "lab";

#[derive(Debug)]
pub struct Home(Folder);

impl Home {
    /// Makes a folder.
    pub fn make() -> Result<Self> {
        let parent = std::env::temp_dir();
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
    /// A run has removed what was its own, unless somebody moved the folder. If something else is left, somebody put it there.
    fn drop(&mut self) {
        self.0.remove(is_part);
    }
}

/// Files of a lab's places, with what SQLite has beside them.
fn is_part(name: &str, kind: FileType) -> bool {
    let place = name.strip_prefix(FILE).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('.'));
    kind.is_file()
        && place.is_some_and(|(place, ending)| {
            Workspace::from_name(place).is_some() && ["db", "lock"].iter().any(|known| ending.starts_with(known))
        })
}

/// Folders of killed labs, which nobody has put anything else into.
pub fn leftovers() -> Vec<PathBuf> {
    let abandoned = temporary::abandoned(&std::env::temp_dir(), PREFIX, is_part);
    abandoned.iter().map(|folder| folder.path().to_owned()).collect()
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
        // What a lab has there, and what somebody else calls nearly so.
        fs::write(killed.join("lab.plimsoll_run_a1.db-wal"), "").unwrap();
        let (held, noted) = make("plimsoll-lab-noted");
        drop(held);
        fs::write(noted.join("lab.notes.txt"), "").unwrap();
        let (held, nested) = make("plimsoll-lab-nested");
        drop(held);
        fs::create_dir(nested.join("lab.plimsoll_run_a1.db")).unwrap();
        let other = make("somebody-elses").1;
        remove_abandoned(parent.path());
        assert!(!killed.exists() && lives.exists() && other.exists() && filled.exists() && named.exists());
        assert!(noted.exists() && nested.exists());
    }
}
