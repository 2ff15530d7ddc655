//! Places as files: how they are claimed, made and removed. What is made is noted before, and marked as it is made: first the lock
//! file, then the database. Removal goes the other way, so that at every moment a mark or a note says whose the rest is.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::time::Duration;

use plimsoll_engine::server::place::{UNUSABLE_HINT, listed, unusable_words};
use plimsoll_engine::{
    ClaimMode, Error, ErrorKind, Mark, Part, Result, Workspace, WorkspaceKind, WorkspaceStatus, process,
};
use rusqlite::OpenFlags;

use super::errors::{from_io, from_sqlite};
use super::files::SqliteDatabase;
use super::lease::{self, FileLease, Found, UNMARKED, WITHOUT_LOCK, foreign};
use super::location;
use super::owner::{APPLICATION_ID, Ownership, identity, kind_of_stranger, ownership, strangers};

/// How often a claim is tried, and how long it waits in between. A session that asks whether a place is leased holds
/// its lock for a moment, and that must not look like a lease.
const CLAIM_ATTEMPTS: u32 = 4;
const CLAIM_WAIT: Duration = Duration::from_millis(5);
/// A program that is being ended may take so many waits.
const END_ATTEMPTS: u32 = 100;

/// A place whose lease we hold.
pub(super) struct Guard {
    pub(super) lease: FileLease,
    mark: Mark,
    owner: Ownership,
}

impl SqliteDatabase {
    /// Takes the lease on a place as `claim` promises.
    pub(super) fn take(&self, workspace: &Workspace, mode: ClaimMode) -> Result<Option<FileLease>> {
        if mode == ClaimMode::Exclusive {
            return self.patiently(|| self.take_alone(workspace));
        }
        let lock = self.location.lock(workspace);
        let Some(lease) = self.patiently(|| FileLease::take(&lock, mode))? else {
            // A file without a lock file is not ours, which is said.
            if fs::symlink_metadata(&lock).is_err() && self.is_anything_there(workspace) {
                self.connect_to_ours(workspace)?;
            }
            return Ok(None);
        };
        match self.connect_to_ours(workspace) {
            Ok(connection) => drop(connection),
            Err(error) if error.kind == ErrorKind::Missing => return Ok(None),
            Err(error) => return Err(error),
        }
        // A run that can do without a data set with something of others in it does.
        Ok(self.unfit(workspace)?.is_none().then_some(lease))
    }

    /// What is not ours in a data set that was kept, if something is: its tables would be loaded anew.
    fn unfit(&self, workspace: &Workspace) -> Result<Option<String>> {
        if workspace.kind() != WorkspaceKind::Data {
            return Ok(None);
        }
        let expected = self.intents.expected(&self.location.object(workspace))?;
        let others = strangers(&self.location.database(workspace), &expected)?;
        Ok((!others.is_empty()).then(|| listed(&others)))
    }

    fn take_alone(&self, workspace: &Workspace) -> Result<Option<FileLease>> {
        let held = if self.is_anything_there(workspace) {
            self.hold(workspace)?
        } else {
            let mark = self.intents.begin(&self.location.object(workspace))?;
            let lease = FileLease::make(&self.location.lock(workspace), &mark.to_string())?;
            lease.map(|lease| Guard { lease, mark, owner: Ownership::Nobody })
        };
        let Some(Guard { lease, mark, owner }) = held else { return Ok(None) };
        if owner != Ownership::Ours {
            let path = self.location.database(workspace);
            check_whole(workspace, &path, &self.intents.expected(&self.location.object(workspace))?)?;
            location::delete_database(&path)?;
            self.intents.begin(&self.location.object(workspace))?;
            self.make_file(&path, &mark)?;
        } else if let Some(others) = self.unfit(workspace)? {
            let reason = format!("has what is not known to be ours: {others}");
            return Err(Error::new(ErrorKind::Safety, unusable_words("file", workspace, &reason)).hint(UNUSABLE_HINT));
        }
        self.intents.made(&mark)?;
        Ok(Some(lease))
    }

    /// Tries again for a short while.
    fn patiently<T>(&self, take: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
        for _ in 1..CLAIM_ATTEMPTS {
            match take() {
                // Another process may be in the middle of making it.
                Ok(None) => {}
                Err(error) if error.kind == ErrorKind::Safety => {}
                taken => return taken,
            }
            self.clock.sleep(CLAIM_WAIT);
        }
        take()
    }

    fn is_anything_there(&self, workspace: &Workspace) -> bool {
        let path = self.location.database(workspace);
        let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
        is_there(&path) || is_there(&self.location.lock(workspace)) || !location::left_alone(&path).is_empty()
    }

    /// Takes the exclusive lease on a place that is there. `None` if somebody else's stands against it; an error if it is not ours.
    fn hold(&self, workspace: &Workspace) -> Result<Option<Guard>> {
        let holder = workspace.leased_by();
        let lock = self.location.lock(&holder);
        let Some(lease) = FileLease::take(&lock, ClaimMode::Exclusive)? else {
            if fs::symlink_metadata(&lock).is_ok() {
                return Ok(None);
            }
            return Err(foreign(&self.location.database(workspace), WITHOUT_LOCK));
        };
        let mark = self.mark_in(&lease, &holder)?;
        let owner = self.owner(workspace, &mark)?;
        match owner {
            Ownership::Foreign(reason) => Err(foreign(&self.location.database(workspace), &reason)),
            owner => Ok(Some(Guard { lease, mark, owner })),
        }
    }

    /// The mark in a lock file that we hold. One that was never written is the one that we noted.
    fn mark_in(&self, lease: &FileLease, holder: &Workspace) -> Result<Mark> {
        let (object, text) = (self.location.object(holder), lease.text()?);
        if let Some(mark) = Mark::read(&text) {
            if mark.object() == object {
                return Ok(mark);
            }
            return Err(foreign(&self.location.lock(holder), &format!("it bears the mark of {}", mark.object())));
        }
        match self.intents.begun(&object)? {
            Some(mark) if mark.to_string().starts_with(&text) => {
                lease.write(&mark.to_string())?;
                Ok(mark)
            }
            _ if text.is_empty() => Err(foreign(&self.location.lock(holder), UNMARKED)),
            _ => Err(foreign(&self.location.lock(holder), "what stands in it is no whole mark of ours")),
        }
    }

    /// The owner of a place's database, by the mark of the run or of the place. What bears none yet is ours if we noted it.
    fn owner(&self, workspace: &Workspace, mark: &Mark) -> Result<Ownership> {
        let path = self.location.database(workspace);
        Ok(match ownership(&path, mark)? {
            Ownership::Unfinished if self.intents.begun(&self.location.object(workspace))?.is_none() => {
                Ownership::Foreign(UNMARKED.to_owned())
            }
            Ownership::Nobody => match location::left_alone(&path).first() {
                Some(beside) => Ownership::Foreign(format!("{} lies there without it", beside.display())),
                None => Ownership::Nobody,
            },
            owner => owner,
        })
    }

    /// Deletes a place's database with all that is in it, after a last look at it.
    fn delete(&self, workspace: &Workspace, mark: &Mark) -> Result<()> {
        let path = self.location.database(workspace);
        let seen = identity(&path);
        check_whole(workspace, &path, &self.intents.expected(&self.location.object(workspace))?)?;
        if let Ownership::Foreign(reason) = self.owner(workspace, mark)? {
            return Err(foreign(&path, &reason));
        }
        if identity(&path) != seen {
            return Err(foreign(&path, "another file took its place just now"));
        }
        location::delete_database(&path)
    }

    /// Removes a place as `remove` promises.
    pub(super) fn remove_place(&self, workspace: &Workspace) -> Result<bool> {
        let object = self.location.object(workspace);
        let is_copy = workspace.kind() == WorkspaceKind::Copy;
        if !self.is_anything_there(workspace) {
            self.intents.over(&object);
            return Ok(true);
        }
        let Some(Guard { lease, mark, .. }) = self.hold(workspace)? else { return Ok(false) };
        if !is_copy {
            self.without_copies(workspace)?;
        }
        self.without_holders(&self.location.database(workspace))?;
        self.delete(workspace, &mark)?;
        if !is_copy {
            // Last, as it says whose the rest is.
            location::delete(&self.location.lock(workspace))?;
        }
        drop(lease);
        self.intents.over(&object);
        Ok(true)
    }

    /// An error if another process has a file open, after a short while in which one that is about to end may do so.
    fn without_holders(&self, path: &Path) -> Result<()> {
        for _ in 1..END_ATTEMPTS {
            if process::holders(path).is_empty() {
                return Ok(());
            }
            self.clock.sleep(CLAIM_WAIT);
        }
        let Some(pid) = process::holders(path).first().copied() else { return Ok(()) };
        Err(Error::new(ErrorKind::Busy, format!("{} is kept, as process {pid} has it open", path.display()))
            .hint("end that process, then run plimsoll clean again"))
    }

    /// The lock file of a run says whose its copies are, so it goes after them.
    fn without_copies(&self, run: &Workspace) -> Result<()> {
        let mut workspaces = self.location.workspaces()?.into_iter();
        let Some(copy) = workspaces.find(|place| place != run && place.leased_by() == *run) else { return Ok(()) };
        Err(Error::new(ErrorKind::Safety, format!("{run} is kept, as {copy} is there, which belongs to it"))
            .hint("run plimsoll clean, which says why that stays"))
    }

    /// Everything with a name of ours in the folder.
    pub(super) fn statuses(&self) -> Result<Vec<WorkspaceStatus>> {
        let mut statuses = Vec::new();
        for workspace in self.location.workspaces()? {
            let found = lease::find(&self.location.lock(&workspace.leased_by()));
            let leased = matches!(found, Found::Leased);
            let not_ours = match found {
                Found::Leased => None,
                Found::Stranger(error) => Some(error),
                Found::Free(lease) => self.why_not_ours(&workspace, lease.as_ref())?.map(Error::safety),
            };
            statuses.push(WorkspaceStatus { workspace, leased, not_ours });
        }
        Ok(statuses)
    }

    fn why_not_ours(&self, workspace: &Workspace, lease: Option<&FileLease>) -> Result<Option<String>> {
        let path = self.location.database(workspace);
        let Some(lease) = lease else {
            return Ok(Some(format!("{}: {WITHOUT_LOCK}", path.display())));
        };
        let owner = match self.mark_in(lease, &workspace.leased_by()) {
            Ok(mark) => self.owner(workspace, &mark)?,
            Err(error) if error.kind == ErrorKind::Safety => return Ok(Some(error.message)),
            Err(error) => return Err(error),
        };
        Ok(match owner {
            Ownership::Foreign(reason) => Some(format!("{}: {reason}", path.display())),
            _ => None,
        })
    }

    /// Makes an empty database with the mark in its header. The first page that is written has it, so that whatever has a header
    /// and no mark isn't ours.
    fn make_file(&self, path: &Path, mark: &Mark) -> Result<()> {
        create_new(path)?;
        let connection = self.connect(path, OpenFlags::empty())?;
        let prepare = || {
            connection.pragma_update(None, "page_size", self.options.page_bytes as i64)?;
            connection.execute_batch(&format!(
                "BEGIN; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}; COMMIT",
                mark.number()
            ))
        };
        prepare().map_err(|error| from_sqlite(error, self.location.folder()))?;
        self.check(path, &connection)
    }

    /// Makes an empty database for the run that holds the lease, in place of one that may be there.
    ///
    /// # Errors
    /// If what is there is not ours.
    pub fn make_copy(&self, copy: &Workspace) -> Result<()> {
        let mark = self.begin_copy(copy)?;
        self.make_file(&self.path(copy), &mark)?;
        self.finish_copy(copy)
    }

    /// Notes that a database is about to be made for the run that holds the lease, and makes room for it. Whoever makes its file
    /// makes a new one, and [finishes](Self::finish_copy) it.
    ///
    /// # Errors
    /// If what is there is not ours.
    pub fn begin_copy(&self, copy: &Workspace) -> Result<Mark> {
        self.delete_copy(copy)?;
        self.intents.begin(&self.location.object(copy))?;
        self.mark_of(copy)
    }

    /// Notes that a database of the run is whole, and bears the mark that came with its pages.
    ///
    /// # Errors
    /// If it doesn't.
    pub fn finish_copy(&self, copy: &Workspace) -> Result<()> {
        let mark = self.mark_of(copy)?;
        match self.owner(copy, &mark)? {
            Ownership::Ours => self.intents.made(&Mark::of(&self.location.object(copy), mark.token())),
            // Its pages are in a log still, or it is empty; the note says that it is ours.
            Ownership::Unfinished => Ok(()),
            Ownership::Nobody => Err(foreign(&self.path(copy), "it is gone")),
            Ownership::Foreign(reason) => Err(foreign(&self.path(copy), &reason)),
        }
    }

    /// Deletes a database of the run that holds the lease; nobody may have it open.
    ///
    /// # Errors
    /// If it is not ours.
    pub fn delete_copy(&self, copy: &Workspace) -> Result<()> {
        let path = self.location.database(copy);
        if fs::symlink_metadata(&path).is_err() && location::left_alone(&path).is_empty() {
            return Ok(());
        }
        let mark = self.mark_of(copy)?;
        if let Ownership::Foreign(reason) = self.owner(copy, &mark)? {
            return Err(foreign(&path, &reason));
        }
        self.delete(copy, &mark)?;
        self.intents.over(&self.location.object(copy));
        Ok(())
    }
}

/// An error if anything in a place is not ours: all of it is named.
fn check_whole(workspace: &Workspace, path: &Path, expected: &[Part]) -> Result<()> {
    let strangers = strangers(path, expected)?;
    if strangers.is_empty() {
        return Ok(());
    }
    let message =
        format!("{workspace} is kept, as it would take along what is not known to be ours: {}", listed(&strangers));
    Err(Error::new(ErrorKind::Safety, message)
        .hint(format!("move what is yours out of {} and its folder, then run plimsoll clean", path.display())))
}

/// Makes an empty file that isn't there, and follows no link.
pub(super) fn create_new(path: &Path) -> Result<()> {
    if let Some(kind) = kind_of_stranger(path)? {
        return Err(foreign(path, &format!("it is {kind}")));
    }
    OpenOptions::new().write(true).create_new(true).open(path).map(drop).map_err(|error| from_io(&error, "make", path))
}
