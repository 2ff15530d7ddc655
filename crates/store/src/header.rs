//! Whose a file is, by its header and by what lies beside it, before SQLite opens it. SQLite belongs to nobody: to open a file is enough for
//! it to write what lies in `-wal` or `-journal` into it, and to remove them.

use std::collections::BTreeMap;
use std::fs::{File, FileType};
use std::io::{BufReader, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;

use crate::StoreError;
use crate::schema::APPLICATION_ID;

/// First bytes of every SQLite file. Source: sqlite.org/fileformat2.html, section 1.3.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header has the application id.
const APPLICATION_ID_AT: usize = 68;
/// Where it has the number of its changes, and of its pages.
const CHANGES_AT: usize = 24;
const PAGES_AT: usize = 28;
/// First bytes of a journal that is to be played back, and where it has the pages that the file had before. Source: the same, section 3.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
const PAGES_BEFORE_AT: usize = 16;

/// Where the header says whether the file uses a write-ahead log (2).
const WRITE_VERSION_AT: usize = 18;
/// First number of the index of a log (in the order of bytes of the machine), and of a log but for its last bit. Sources:
/// sqlite.org/walformat.html, section 2.1; sqlite.org/fileformat2.html, section 4.1.
const INDEX_VERSION: u32 = 3_007_000;
const LOG_MAGIC: u32 = 0x377f_0682;
const LOG_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// Looks whether SQLite may open this file as a store of ours: one that is there says that it is ours, and beside one that is to be made
/// there is nothing.
///
/// # Errors
/// [`StoreError::NotAStore`] with what is in the way, and those of the file system.
pub(crate) fn look(path: &Path) -> Result<Open, StoreError> {
    // Held to the end, so that of several threads one looks.
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let file = file_at(path);
    if file.is_none_or(|file| !open.contains_key(&file)) {
        look_closely(path)?;
    }
    if let Some(file) = file {
        *open.entry(file).or_default() += 1;
    }
    Ok(Open(file))
}

/// Device and number of each store that this process has open, and how often. It looks into none of these: who closes a file gives up the
/// locks that SQLite holds on it in the same process (fcntl(2)).
static OPEN: Mutex<BTreeMap<(u64, u64), u32>> = Mutex::new(BTreeMap::new());

/// A store counts as open as long as this lives, which has to be longer than its connections.
#[derive(Debug)]
pub(crate) struct Open(Option<(u64, u64)>);

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = self.0
            && let Some(times) = open.get_mut(&file)
        {
            *times -= 1;
            if *times == 0 {
                open.remove(&file);
            }
        }
    }
}

fn look_closely(path: &Path) -> Result<(), StoreError> {
    // SQLite has its files beside the one that a link leads to.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let kind = path.symlink_metadata().map(|there| there.file_type());
    // It would wait for ever for somebody to write to a pipe.
    if let Ok(kind) = kind
        && !kind.is_file()
        && !kind.is_symlink()
    {
        return Err(StoreError::no_file(&path, kind));
    }
    let all = ["-journal", "-wal", "-shm"].map(|end| {
        let name = beside(&path, end);
        let kind: Option<FileType> = name.symlink_metadata().ok().map(|there| there.file_type());
        (name, kind)
    });
    let there = || all.iter().filter_map(|(name, kind)| Some((name, (*kind)?)));
    if let Some((name, _)) = there().find(|(_, kind)| !kind.is_file()) {
        return Err(StoreError::in_the_way(name, "is no file, and SQLite would use it for the store"));
    }
    let mut header = [0; 100];
    let mut read = beginning(&path, &mut header)?;
    if read == 0 {
        // A journal of a file that was empty holds nothing of anybody.
        let holds = |name: &Path| {
            let mut start = [0; 28];
            let read = beginning(name, &mut start).unwrap_or(0);
            let pages = start[PAGES_BEFORE_AT..PAGES_BEFORE_AT + 4] != [0; 4];
            !name.as_os_str().as_encoded_bytes().ends_with(b"-journal")
                || read < 20
                || start[..8] != JOURNAL_MAGIC
                || pages
        };
        let Some((name, _)) = there().find(|(name, _)| holds(name)) else { return Ok(()) };
        // Another process may have made the store meanwhile.
        read = beginning(&path, &mut header)?;
        if read == 0 {
            return Err(StoreError::in_the_way(name, "is of another database, and SQLite would remove it"));
        }
    }
    if read < header.len() || !header.starts_with(MAGIC) {
        return Err(StoreError::not_sqlite(&path));
    }
    match id(&header) {
        APPLICATION_ID => {}
        other => return Err(StoreError::foreign(&path, other)),
    }
    if path.metadata().is_ok_and(|there| there.nlink() > 1) {
        // SQLite has a log for each name, and what is in one of them does not count under the other.
        return Err(StoreError::in_the_way(&path, "has several names (hard links), under which runs would be lost"));
    }
    let is_ours = |name: &Path| {
        let end = name.as_os_str().as_encoded_bytes();
        if end.ends_with(b"-wal") {
            return log_is_of(name, &header);
        }
        let mut start = [0; 4];
        let read = beginning(name, &mut start)?;
        // A store with a log has no journal; one that is about to get its log may have one.
        let uses_log = header[WRITE_VERSION_AT] == 2;
        let is_index = read == 0 || start == [0; 4] || u32::from_ne_bytes(start) == INDEX_VERSION;
        Ok(if end.ends_with(b"-journal") { !uses_log } else { is_index })
    };
    for (name, _) in there() {
        if !is_ours(name)? {
            return Err(StoreError::in_the_way(
                name,
                "is of another database, and SQLite would take it for the store's own",
            ));
        }
    }
    Ok(())
}

/// Device and number of a file; `None` where there is none.
pub(crate) fn file_at(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|there| (there.dev(), there.ino()))
}

/// Whether a log that was just written to has lost its beginning. SQLite holds no locks on a log, so that it may be opened and closed here.
pub(crate) fn is_log_emptied(path: &Path) -> bool {
    let mut start = [0; 4];
    beginning(path, &mut start).is_ok_and(|read| read < start.len() || u32::from_be_bytes(start) & !1 != LOG_MAGIC)
}

/// What SQLite has beside a file, which is not reached by a link.
pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(end);
    name.into()
}

/// The application id in a header.
fn id(header: &[u8]) -> i32 {
    let id: [u8; 4] = std::array::from_fn(|at| header.get(APPLICATION_ID_AT + at).copied().unwrap_or(0));
    i32::from_be_bytes(id)
}

/// Whether a write-ahead log can be that of a store with this header: it is empty, or it has pages of the same size, and where the first
/// page is in it, that page says that it is ours and was written after the one that the store has, or before it without a gap.
fn log_is_of(path: &Path, header: &[u8; 100]) -> Result<bool, StoreError> {
    let mut start = [0; LOG_HEADER_BYTES];
    match beginning(path, &mut start)? {
        // One that was begun and not yet written.
        0 => return Ok(true),
        LOG_HEADER_BYTES => {}
        _ => return Ok(false),
    }
    let mut log = BufReader::new(File::open(path).map_err(StoreError::io(path))?);
    log.read_exact(&mut start).map_err(StoreError::io(path))?;
    let number = |from: usize| u32::from_be_bytes(std::array::from_fn(|at| start[from + at]));
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u32::from(bytes),
    };
    if start == [0; LOG_HEADER_BYTES] {
        return Ok(true);
    }
    if number(0) & !1 != LOG_MAGIC || number(8) != page_bytes {
        return Ok(false);
    }
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes as usize];
    let number_in = |bytes: &[u8], from: usize| u32::from_be_bytes(std::array::from_fn(|at| bytes[from + at]));
    let mut writes: Option<(u32, u32)> = None;
    let mut has_size = true;
    while log.read_exact(&mut frame).is_ok() {
        let is_first = frame[..4] == [0, 0, 0, 1];
        let is_of_this_log = frame[8..16] == start[16..24];
        if is_first && is_of_this_log {
            let page = &frame[FRAME_HEADER_BYTES..];
            if id(page) != APPLICATION_ID {
                return Ok(false);
            }
            let changes = number_in(page, CHANGES_AT);
            writes = Some((writes.map_or(changes, |(first, _)| first), changes));
        }
        // At the end of a change it says how many pages there are; a file that grows has another first page.
        let pages = number_in(&frame, 4);
        has_size &= !is_of_this_log || pages == 0 || pages == number_in(header, PAGES_AT);
    }
    // A log goes on from what the file had when it began, and the file has nothing that was not in its log. The first page counts its changes,
    // at most one for each time that it is written.
    let own = number_in(header, CHANGES_AT);
    Ok(writes.map_or(has_size, |(first, last)| first <= own.saturating_add(1) && own <= last))
}

/// The first bytes of a file, as many as there are; none of one that is not there.
fn beginning(path: &Path, bytes: &mut [u8]) -> Result<usize, StoreError> {
    let opened = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        opened => opened.map_err(StoreError::io(path))?,
    };
    let mut read = 0;
    while read < bytes.len() {
        match file.read(&mut bytes[read..]).map_err(StoreError::io(path))? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}
