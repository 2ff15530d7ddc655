//! The grammar of T-SQL for tests: fetched by pip into a virtual environment in the cache folder.
//!
//! The folder is filled under another name and renamed when it is whole, so that one that was cut short is none.

use std::fs;
use std::path::Path;
use std::process::Command;

use plimsoll_testbed::grammar::{FOLDER, Place};

use crate::complain;
use crate::quiet::{limited, quiet};
use crate::tasks::{self, MISSING, Outcome};

/// The oldest Python that the packages' list is for.
const OLDEST: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// It is there already, or is fetched.
pub fn provide() -> Outcome {
    if Place::find().is_ok() {
        return Ok(());
    }
    let python = || tasks::answers(Command::new("python3").args(["-c", OLDEST]));
    if !python() {
        tasks::install("Python", &["python3", "python3-venv"])?;
    }
    if !python() {
        complain(
            "Python 3.11 or later with venv is not there (on Debian: apt-get install python3 python3-venv); install it, then run this again",
        );
        return Err(MISSING);
    }
    let folder = Place::folder().map_err(|error| missing(&error.to_string()))?;
    fetch(&folder).map_err(|reason| missing(&reason))
}

fn missing(reason: &str) -> u8 {
    complain(&format!(
        "the grammar of T-SQL can't be had: {reason}. Another folder for it can be set by {FOLDER}; then run this again"
    ));
    MISSING
}

fn fetch(folder: &Path) -> Result<(), String> {
    let parent = folder.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(|error| format!("{} can't be made: {error}", parent.display()))?;
    let work = tempfile::Builder::new().prefix("fetching-").tempdir_in(parent).map_err(|error| error.to_string())?;
    complain(&format!("{} is fetched", folder.display()));
    let (list, made) = (work.path().join("list.txt"), work.path().join("grammar"));
    fs::write(&list, Place::REQUIREMENTS).map_err(|error| error.to_string())?;
    quiet(Command::new("python3").args(["-m", "venv"]).arg(&made))?;
    let mut pip = limited(&made.join("bin/python").to_string_lossy());
    pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
    quiet(pip.args(["--only-binary", ":all:", "--require-hashes", "--requirement"]).arg(&list))?;
    Place::state(&made)
        .and_then(|()| if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) })
        .and_then(|()| fs::rename(&made, folder))
        .map_err(|error| format!("what came can't be put into {}: {error}", folder.display()))?;
    Place::find().map(drop).map_err(|error| error.to_string())
}
