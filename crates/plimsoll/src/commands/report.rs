//! `plimsoll report`: stored runs as HTML, Markdown or CSV.

use std::collections::BTreeSet;
use std::fs::{File, Metadata, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};

use plimsoll_measurement::{RunRecord, exit};
use plimsoll_report::{csv, html, markdown};
use plimsoll_store::{Filter, RunStore, SHORTEST_PREFIX};
use rustix::buffer::spare_capacity;
use rustix::fs::{OFlags, XattrFlags, fcntl_setfl};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use super::compare::against_first;
use super::compare::conditions::refusal;
use super::compare::rounds::Rounds;
use super::multiples;
use super::runs::stored;
use crate::args::Report;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Settings;
use crate::{heard, outlet};

/// Writes the reports that were asked for.
pub fn report(options: &Report, settings: &Settings, printer: &Printer) -> Result<u8, Failure> {
    apart(&[&options.html, &options.markdown, &options.csv])?;
    let store = settings.read_store()?;
    let mut records = records(options, store.as_ref())?;
    let rounds = Rounds::of(store.as_ref(), &options.runs, &records)?;
    if let Some(base) = &options.base {
        put_first(&mut records, base)?;
    }
    multiples::apply(&options.multiples, store.as_ref(), &mut records)?;
    let compared = if options.campaign.is_empty() { against_first(&records, &rounds) } else { Vec::new() };
    if let Some(path) = &options.html {
        let page = html::report_compared(&records, (refusal, &compared), &made_now(&options.title));
        write(path, &page, printer)?;
    }
    if let Some(path) = &options.markdown {
        write(path, &markdown::report_compared(&records, (refusal, &compared)), printer)?;
    }
    if let Some(path) = &options.csv {
        write(path, &csv::table(&records, &options.rows).unwrap_or_default(), printer)?;
    }
    Ok(exit::DONE)
}

/// Two reports can't have one file.
fn apart(paths: &[&Option<PathBuf>]) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    let twice = paths.iter().filter_map(|path| path.as_ref()).find(|path| !seen.insert(place(path)));
    twice.map_or(Ok(()), |path| {
        Err(Failure::usage(format!("two reports would be written to {}", path.display()))
            .hint("give each a file of its own"))
    })
}

/// A file by its folder and name, however these are spelled.
pub fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let by_folder = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
}

/// The HTML page of these runs, made now.
pub fn page(records: &[RunRecord], title: &str) -> String {
    html::report(records, refusal, &made_now(title))
}

/// What stands at the head of a page that is made now.
pub fn made_now(title: &str) -> html::Options {
    let now = jiff::Timestamp::now();
    html::Options { title: title.to_owned(), generated_at: Some(format!("{now:.0}")) }
}

fn records(options: &Report, store: &RunStore) -> Result<Vec<RunRecord>, Failure> {
    let mut ids = options.runs.clone();
    for campaign in &options.campaign {
        let found = store.summaries(&Filter { campaign: Some(campaign.clone()), ..Filter::default() })?;
        if found.is_empty() {
            return Err(Failure::usage(format!("no run belongs to the campaign '{campaign}'"))
                .hint("'plimsoll runs' lists the stored runs"));
        }
        ids.extend(found.into_iter().rev().map(|run| run.run_id));
    }
    ids.iter().map(|id| stored(store, id).map_err(Failure::from)).collect()
}

/// Puts the runs first that others are held against: a run, or all of a target.
fn put_first(records: &mut [RunRecord], base: &str) -> Result<(), Failure> {
    let target = plimsoll_engine::Target::parse(base).map(|target| target.display().to_owned());
    let is_run = |record: &RunRecord| base.len() >= SHORTEST_PREFIX && record.run_id.starts_with(base);
    let is_base = |record: &RunRecord| match &target {
        Ok(target) => record.target == *target,
        Err(_) => is_run(record),
    };
    if !records.iter().any(is_base) {
        return Err(Failure::usage(format!("--base {base} is neither a run nor a target of this report"))
            .hint("name one of its runs by its id, or a target by its URL"));
    }
    records.sort_by_key(|record| !is_base(record));
    Ok(())
}

/// Writes a file beside its final name and renames it, so that a full disk leaves no half report. `-` is standard output; a
/// link leads to its file, and what is no ordinary file (a pipe, a device) is written to as it is.
pub fn write(path: &Path, text: &str, printer: &Printer) -> Result<(), Failure> {
    if path == Path::new("-") {
        printer.result(text);
        return Ok(());
    }
    let failed = |error: &std::io::Error| Failure::writing(path, error);
    let target = resolved(path)?;
    let there = target.metadata().ok();
    spare_database(&target)?;
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let file = as_it_is(&target).map_err(|error| failed(&error))?;
        return outlet::pour(file, text).map_err(|error| match heard::exit_code() {
            Some(code) if error.kind() == std::io::ErrorKind::TimedOut => {
                Failure::usage(format!("cannot write {}: nobody read it", path.display())).code(code)
            }
            _ => failed(&error),
        });
    }
    let mut file = beside(&target).map_err(|error| failed(&error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    // A report is for its owner only, as a temporary file is, or for whom the one before it was for.
    if let Some(there) = there {
        readable_as(&target, &there, file.as_file()).map_err(|error| failed(&error))?;
    }
    file.persist(&target).map_err(|error| failed(&error.error))?;
    printer.remark(&format!("wrote {}", path.display()));
    Ok(())
}

/// Gives a new file the owner, the rights and the access list of one that is there.
fn readable_as(there: &Path, known: &Metadata, file: &File) -> std::io::Result<()> {
    // Only root may give a file away; to a group also who is in it.
    let is_same_group =
        fchown(file, Some(known.uid()), Some(known.gid())).is_ok() || fchown(file, None, Some(known.gid())).is_ok();
    let mut list = Vec::with_capacity(LONGEST_LIST);
    let has_list = rustix::fs::getxattr(there, ACCESS_LIST, spare_capacity(&mut list)).is_ok();
    // With a list, what stands for the group are the most rights of all whom it names.
    let rights = known.mode() & if has_list || !is_same_group { 0o707 } else { 0o777 };
    file.set_permissions(Permissions::from_mode(rights))?;
    if has_list && is_same_group {
        // Where it can't be kept, nobody gets a right by it.
        let _ = rustix::fs::fsetxattr(file, ACCESS_LIST, &list, XattrFlags::empty());
    }
    Ok(())
}

/// The attribute with the list of who else may use a file, and how long it may be (acl(5), xattr(7)).
const ACCESS_LIST: &str = "system.posix_acl_access";
const LONGEST_LIST: usize = 1 << 16;

/// Where links lead. What is not there is made where it is named.
fn resolved(path: &Path) -> Result<PathBuf, Failure> {
    // The system may keep us from links that others planted (`fs.protected_symlinks`): only where it follows them are they followed.
    if let Some(error) = path.metadata().err().filter(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
        return Err(Failure::writing(path, &error));
    }
    path.canonicalize().or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => match path.read_link() {
            Ok(next) => resolved(&path.parent().unwrap_or(Path::new("")).join(next)),
            Err(_) => Ok(path.to_owned()),
        },
        _ => Err(Failure::writing(path, &error)),
    })
}

/// Fails if an SQLite database is there: nobody means to put a report in place of the result store, or of a target.
fn spare_database(path: &Path) -> Result<(), Failure> {
    // What lies beside one is a part of it: its log has what was kept last.
    let text = path.as_os_str().to_string_lossy();
    let whole = ["-wal", "-shm", "-journal", ".lock"].into_iter().find_map(|end| text.strip_suffix(end));
    let locked = text.strip_suffix(".lock").map(|place| format!("{place}.db"));
    let parts = [Some(&*text), whole, locked.as_deref()];
    let database = parts.into_iter().flatten().find(|path| is_database(Path::new(path)));
    let reason = match database {
        Some(database) if database == text => format!("{text} is an SQLite database, which a report would overwrite"),
        Some(database) => format!("{text} is a part of the SQLite database {database}, which a report would overwrite"),
        None => return Ok(()),
    };
    Err(Failure::usage(reason).hint("name another file for the report"))
}

fn is_database(path: &Path) -> bool {
    let mut head = [0; DATABASE.len()];
    // Files of the kernel are empty by their length, and some of them wait for what is to be read.
    let has_head = path.metadata().is_ok_and(|there| there.is_file() && there.len() >= head.len() as u64);
    has_head && File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == DATABASE
}

/// How each SQLite database begins (sqlite.org/fileformat.html).
const DATABASE: [u8; 16] = *b"SQLite format 3\0";

/// Opens a device, or a pipe if somebody reads it: nobody is waited for.
fn as_it_is(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = std::fs::OpenOptions::new().write(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => std::io::Error::other("no process reads this pipe"),
        _ => error,
    })?;
    // A reader that is slow is waited for.
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// Fails if a report could not be written there, before anything long is begun for it.
pub fn try_path(path: &Path) -> Result<(), Failure> {
    let special = path == Path::new("-") || path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir());
    if special {
        return Ok(());
    }
    let path = &*resolved(path)?;
    spare_database(path)?;
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder", path.display())).hint("name a file in it"));
    }
    beside(path).map(drop).map_err(|error| Failure::writing(path, &error))
}

/// A temporary file in the folder of `path`; its errors do not name it.
fn beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let made = tempfile::Builder::new().prefix(".plimsoll-").tempfile_in(folder);
    made.map_err(|error| std::io::Error::from(error.kind()))
}
