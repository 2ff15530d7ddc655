//! Texts of `/proc` and `/sys` that are read again and again.
//!
//! Such a file is made anew by the kernel whenever it is read from its start, so one that is kept open is read by `pread` at
//! offset 0. That costs a third of opening it each time.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Longest text that is read: a machine has no more to say, and a file that never ends must not fill memory.
#[cfg(target_os = "linux")]
const LONGEST_BYTES: usize = 16 << 20;
/// What is asked for at once. More than a page, as most files give as much as fits.
#[cfg(target_os = "linux")]
const CHUNK_BYTES: usize = 16 << 10;

/// The place that texts are read into, one after the other.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    /// Never made shorter, as longer ones have to be filled first.
    bytes: Vec<u8>,
    length: usize,
}

/// A file that stays open between readings.
#[derive(Debug)]
pub(super) struct KeptFile {
    path: PathBuf,
    file: Option<File>,
    keep: bool,
}

impl KeptFile {
    /// A file that is opened when it is first read.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, keep: true }
    }

    /// The same, but closed after each reading: for when there are so many that open files would run short.
    pub(super) fn unkept(path: PathBuf) -> Self {
        Self { path, file: None, keep: false }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it from its start. A file that was kept and fails, such as one of a control group that was removed and made again, is
    /// opened once more.
    pub(super) fn read<'b>(&mut self, buffer: &'b mut Buffer) -> io::Result<Cow<'b, str>> {
        if self.file.is_some() && fill_from(&mut self.file, &self.path, buffer).is_ok() {
            return Ok(text(buffer));
        }
        self.file = None;
        self.read_same(buffer)
    }

    /// Reads it from its start, but never another file of the same name: this matters for files of a process, because
    /// its number may be another's by now.
    pub(super) fn read_same<'b>(&mut self, buffer: &'b mut Buffer) -> io::Result<Cow<'b, str>> {
        let filled = fill_from(&mut self.file, &self.path, buffer);
        if !self.keep {
            self.file = None;
        }
        filled.map(|()| text(buffer))
    }
}

/// Reads a file once. `NotFound` where it isn't there, `Unsupported` where the kernel has it switched off.
pub(super) fn read_once<'b>(path: &Path, buffer: &'b mut Buffer) -> io::Result<Cow<'b, str>> {
    fill_from(&mut None, path, buffer).map(|()| text(buffer))
}

/// Names in these files may hold any bytes; what can't be read as text is a name that nobody looks for.
fn text(buffer: &Buffer) -> Cow<'_, str> {
    String::from_utf8_lossy(&buffer.bytes[..buffer.length])
}

/// What went wrong with a file, and what helps against it.
pub(super) fn failure(path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path} is not there"),
        io::ErrorKind::PermissionDenied => format!("{path} may be read by its owner and by root only"),
        _ => format!("{path}: {error}"),
    }
}

/// What is said of a text that is not what the documentation says.
pub(super) fn unlike(path: &Path) -> String {
    format!("{} is unlike what Linux documents", path.display())
}

#[cfg(target_os = "linux")]
fn fill_from(file: &mut Option<File>, path: &Path, buffer: &mut Buffer) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;

    let file = match file {
        Some(file) => file,
        None => file.insert(File::open(path)?),
    };
    let Buffer { bytes, length } = buffer;
    *length = 0;
    loop {
        if bytes.len() < *length + CHUNK_BYTES {
            bytes.resize(*length + CHUNK_BYTES, 0);
        }
        // A short answer isn't the end: the kernel hands over whole lines.
        match file.read_at(&mut bytes[*length..], *length as u64) {
            Ok(0) => return Ok(()),
            Ok(more) => *length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if *length > LONGEST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "is too long"));
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn fill_from(_: &mut Option<File>, _: &Path, _: &mut Buffer) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "only Linux has it"))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn a_kept_file_is_read_anew_and_one_that_was_replaced_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stat");
        let mut buffer = Buffer::default();
        let mut file = KeptFile::new(path.clone());
        assert_eq!(file.read(&mut buffer).unwrap_err().kind(), io::ErrorKind::NotFound);
        let long = "line\n".repeat(10_000);
        std::fs::write(&path, &long).unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), long);
        std::fs::write(&path, "short").unwrap();
        assert_eq!(file.read(&mut buffer).unwrap(), "short");
        assert!(file.file.is_some());
        let mut unkept = KeptFile::unkept(path);
        assert_eq!((unkept.read(&mut buffer).unwrap(), unkept.file.is_none()), ("short".into(), true));
    }

    #[test]
    fn odd_bytes_are_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("comm");
        std::fs::write(&path, b"1 (\xff\xfe) R").unwrap();
        assert!(read_once(&path, &mut Buffer::default()).unwrap().ends_with(") R"));
    }
}
