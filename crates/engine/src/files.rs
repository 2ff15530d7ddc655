//! Files that users name: read to a limit, and only where they are files. A device may never end, and a pipe may never begin.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Bytes of a file with a password, a certificate or settings.
pub const SMALL: u64 = 4 << 20;
/// Bytes of a file with a definition.
pub const LARGE: u64 = 8 << 20;

/// The content of a file of at most so many bytes.
///
/// # Errors
/// What the thing at that path is, if it is no file; that it is too large; those of the system.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {} MB", most >> 20)));
    }
    Ok(content)
}

/// The same as text.
///
/// # Errors
/// Those of [`read`], and for what is no text.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| io::Error::other("it is no text in UTF-8"))
}

/// A file to be read.
///
/// # Errors
/// What the thing at that path is, if it is no file; those of the system.
pub fn open(path: &Path) -> io::Result<File> {
    // Nobody need write to a pipe for it to be opened, and a terminal does not become ours.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        // A socket can't be opened; what it is says more than that.
        Err(error) => return Err(path.metadata().ok().and_then(|it| refusal(it.file_type())).unwrap_or(error)),
        Ok(file) => file,
    };
    match refusal(file.metadata()?.file_type()) {
        Some(error) => Err(error),
        None => Ok(file),
    }
}

/// What a thing is that is no file.
fn refusal(kind: std::fs::FileType) -> Option<io::Error> {
    let name = match kind {
        kind if kind.is_file() => return None,
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a pipe (FIFO)",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "no regular file",
    };
    Some(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {name}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn what_is_no_file_is_named_and_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let _listener = UnixListener::bind(&socket).unwrap();
        for (path, word) in [
            (pipe.as_path(), "it is a pipe (FIFO)"),
            (&socket, "it is a socket"),
            (folder.path(), "it is a folder"),
            (Path::new("/dev/zero"), "it is a device"),
        ] {
            assert_eq!(read(path, SMALL).unwrap_err().to_string(), word);
        }
        assert_eq!(read(&folder.path().join("no"), SMALL).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_is_read_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&path, "text").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read_text(&link, SMALL).unwrap(), "text");
        // A hole takes no room on the disk.
        File::options().write(true).open(&path).unwrap().set_len(SMALL + 1).unwrap();
        assert_eq!(read(&path, SMALL).unwrap_err().to_string(), "it has more than 4 MB");
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path, SMALL).is_err());
    }
}
