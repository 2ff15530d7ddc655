//! Makes the test file so that it never has its name without its mark: it has no name, or another one, until the mark is in it and
//! durable. What a killed run leaves is known to the next one, or has no name of ours.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// What is done to a file before it has its name: it is locked and marked.
pub type Begin<'a> = &'a dyn Fn(&File) -> io::Result<()>;

/// So many files that were left under names of their own are passed by.
const MOST_LEFT: u32 = 100;

/// Makes the file for its owner alone. Nothing that has the name is replaced or followed.
///
/// # Errors
/// Those of the system and of `begin`; `AlreadyExists` if something has the name by now.
pub fn make(path: &Path, begin: Begin<'_>) -> io::Result<File> {
    match without_a_name(path, begin)? {
        Some(file) => Ok(file),
        None => under_another_name(path, begin),
    }
}

/// A file that has no name until it gets its own. `None` where the file system has no such files, or no way to name one.
#[cfg(target_os = "linux")]
pub fn without_a_name(path: &Path, begin: Begin<'_>) -> io::Result<Option<File>> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;

    let folder = path.parent().unwrap_or(Path::new("."));
    let mut options = options();
    let Ok(file) = options.custom_flags(OFlags::TMPFILE.bits().cast_signed()).open(folder) else { return Ok(None) };
    begin(&file)?;
    // By its number, as only root may name a file by its descriptor alone.
    let number = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, number, CWD, path, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error == rustix::io::Errno::EXIST => Err(error.into()),
        Err(_) => Ok(None),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn without_a_name(_: &Path, _: Begin<'_>) -> io::Result<Option<File>> {
    Ok(None)
}

/// A file that has another name until it gets its own.
pub fn under_another_name(path: &Path, begin: Begin<'_>) -> io::Result<File> {
    let (file, other) = beside(path)?;
    let named = begin(&file).and_then(|()| give_name(&other, path));
    if named.is_err() {
        // Nobody else knows this name.
        let _ = std::fs::remove_file(&other);
    }
    named.map(|()| file)
}

/// A new file with a name that nothing has.
fn beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let own = std::process::id();
    let mut last = None;
    for number in 0..MOST_LEFT {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".new-{own}-{number}"));
        let other = PathBuf::from(name);
        let mut options = options();
        match options.create_new(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(&other) {
            Ok(file) => return Ok((file, other)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// Renames, unless something has the new name.
#[cfg(target_os = "linux")]
fn give_name(other: &Path, path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    renameat_with(CWD, other, CWD, path, RenameFlags::NOREPLACE).map_err(Into::into)
}

#[cfg(not(target_os = "linux"))]
fn give_name(other: &Path, path: &Path) -> io::Result<()> {
    std::fs::hard_link(other, path)?;
    std::fs::remove_file(other)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    type Method = fn(&Path, Begin<'_>) -> io::Result<Option<File>>;

    /// All methods that this file system has.
    fn methods(folder: &Path) -> Vec<Method> {
        let other: Method = |path, begin| under_another_name(path, begin).map(Some);
        let probe = folder.join("probe");
        let has_first = without_a_name(&probe, &|_| Ok(())).unwrap().is_some();
        fs::remove_file(&probe)
            .map_or_else(|_| vec![other], |()| if has_first { vec![without_a_name, other] } else { vec![other] })
    }

    fn write(mut file: &File) -> io::Result<()> {
        io::Write::write_all(&mut file, b"mark")
    }

    #[test]
    fn the_name_comes_after_what_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for method in methods(folder.path()) {
            let path = folder.path().join("file");
            let begin = |file: &File| {
                assert!(!path.exists(), "it has its name before its mark");
                write(file)
            };
            method(&path, &begin).unwrap().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"mark");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is beside it");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn what_has_the_name_is_neither_replaced_nor_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("file"), folder.path().join("elsewhere"));
        for method in methods(folder.path()) {
            fs::write(&path, "another's").unwrap();
            assert_eq!(method(&path, &write).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(&path).unwrap(), "another's");
            fs::remove_file(&path).unwrap();
            symlink(&elsewhere, &path).unwrap();
            assert_eq!(method(&path, &write).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert!(!elsewhere.exists() && path.is_symlink());
            fs::remove_file(&path).unwrap();
            // A mark that can't be written leaves nothing.
            assert!(method(&path, &|_| Err(io::ErrorKind::StorageFull.into())).is_err());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn names_that_others_left_are_passed_by() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let left = beside(&path).unwrap().1;
        under_another_name(&path, &write).unwrap();
        assert!(path.exists() && left.exists());
    }
}
