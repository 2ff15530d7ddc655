//! Where the grammar is: a virtual environment of Python, and the list of what has been put into it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::TestbedError;
use crate::installation::cache;

/// Environment variable with the folder of the grammar.
pub const FOLDER: &str = "PLIMSOLL_GRAMMAR";

/// The file in the folder that says what is there.
const STATED: &str = "requirements.txt";

/// The folder of a grammar that is there.
#[derive(Debug, Clone)]
pub struct Place(PathBuf);

impl Place {
    /// The packages with their versions and hashes, for pip.
    pub const REQUIREMENTS: &str = include_str!("../../data/tsql/requirements.txt");

    /// The folder that the grammar belongs into.
    pub fn folder() -> Result<PathBuf, TestbedError> {
        cache(FOLDER, "grammar")
    }

    /// The grammar in its folder; an error unless it is there, in the versions that are wanted.
    pub fn find() -> Result<Self, TestbedError> {
        Self::in_folder(Self::folder()?)
    }

    fn in_folder(folder: PathBuf) -> Result<Self, TestbedError> {
        let stated = fs::read_to_string(folder.join(STATED)).unwrap_or_default();
        let place = Self(folder);
        let is_there = stated == Self::REQUIREMENTS && place.python().is_file();
        if is_there { Ok(place) } else { Err(TestbedError::MissingGrammar(place.0)) }
    }

    /// Says that what is wanted has been put into a folder.
    pub fn state(folder: &Path) -> std::io::Result<()> {
        fs::write(folder.join(STATED), Self::REQUIREMENTS)
    }

    /// The Python that knows the packages.
    pub(super) fn python(&self) -> PathBuf {
        self.0.join("bin/python")
    }

    /// A file beside the grammar.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_counts_only_whole_and_in_the_versions_that_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let find = || Place::in_folder(folder.path().to_owned());
        let error = find().unwrap_err();
        assert!(error.to_string().contains("run `cargo xtask test` once, or `cargo xtask grammar`"), "{error}");
        Place::state(folder.path()).unwrap();
        assert!(find().is_err());
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/python"), "").unwrap();
        assert!(find().is_ok());
        fs::write(folder.path().join(STATED), "sqlfluff==1.0").unwrap();
        assert!(find().is_err());
    }
}
