//! Whole databases of our own: which there are, which run owns them, and how they go.
//!
//! On a machine a database is ours if its first file is named by our mark, which says from which database it was made.
//! There the lease of its run is a lock. In Azure files have no names of one's own. There a database is ours if it
//! bears the mark as an extended property, which goes with copies and restores. Without a mark it is ours only if its
//! run has a place in the target's database. Nothing may be in it that lies outside the schema of its run, as while it
//! is being filled. While it can't be opened, it is ours if it is being restored, or copied from one of ours.

use std::path::PathBuf;

use plimsoll_engine::{Error, ErrorKind, Result, Value, Workspace, WorkspaceStatus, temporary};

use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::level;
use super::sql::{self, Level, Product};
use super::workspace;
use plimsoll_engine::server::place::{CONTROL, Keeper as _, Owner};

/// Where a server's own databases are listed.
const MASTER: &str = "master";
const ONLINE: &str = "ONLINE";
const RESTORING: &str = "RESTORING";

/// How far a database in Azure is that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Making {
    /// It is not there, or not yet.
    Absent,
    /// The server works on it.
    Worked,
    /// It is there and lets nobody in.
    Shut,
    /// It lets us in.
    Open,
}

/// The databases that were made from the target's.
pub(super) struct Copies<'a> {
    connector: &'a Connector,
    product: Product,
    /// The target's database by the name that it has.
    home: &'a str,
}

impl<'a> Copies<'a> {
    pub(super) const fn new(connector: &'a Connector, product: Product, home: &'a str) -> Self {
        Self { connector, product, home }
    }

    /// Does something where databases are made and removed.
    pub(super) fn in_master<T>(&self, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
        let master = self.connector.to(MASTER);
        work(&mut Control::connect(&master, CONTROL)?)
    }

    /// Does something in a database of ours.
    pub(super) fn within<T>(&self, copy: &Workspace, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
        let inside = self.connector.to(copy.name());
        work(&mut Control::connect(&inside, CONTROL)?)
    }

    /// The databases that are ours and that belong to runs that worked from here; whether their leases are held is not
    /// known yet.
    pub(super) fn list(&self) -> Result<Vec<Workspace>> {
        let [mark, _] = sql::file_marks(self.home);
        let names = match self.product {
            Product::Server => {
                let mark = [Value::Text(&mark)];
                self.connector_control(|control| control.names(sql::COPIES, &mark))?
            }
            Product::Database => self.in_master(|control| control.names(sql::AZURE_COPIES, &[]))?,
            Product::Instance => Vec::new(),
        };
        let mut workspaces: Vec<Workspace> = names.iter().filter_map(|name| Workspace::from_name(name)).collect();
        if self.product == Product::Database {
            let mut ours = Vec::new();
            for workspace in workspaces {
                if self.owner(&workspace)? == Owner::We {
                    ours.push(workspace);
                }
            }
            workspaces = ours;
        }
        Ok(workspaces)
    }

    fn connector_control<T>(&self, work: impl FnOnce(&mut Control) -> Result<T>) -> Result<T> {
        work(&mut Control::connect(self.connector, CONTROL)?)
    }

    pub(super) fn owner(&self, copy: &Workspace) -> Result<Owner> {
        let name = [Value::Text(copy.name())];
        if self.product != Product::Database {
            let [mark, _] = sql::file_marks(self.home);
            let first = self.connector_control(|control| control.names(sql::FIRST_FILE, &name))?;
            return Ok(match first.first() {
                None => Owner::Nobody,
                Some(first) if *first == mark => Owner::We,
                Some(_) => somebody(),
            });
        }
        let Some(state) = self.state(copy)? else { return Ok(Owner::Nobody) };
        if state != ONLINE {
            if !self.has_place_of(copy)? {
                return Ok(somebody());
            }
            if state == RESTORING {
                return Ok(Owner::We);
            }
            // The other side of a copy is the database that it is made from.
            let rows = self.in_master(|control| control.rows(sql::COPYING, &name))?;
            let partner = rows.first().and_then(|row| Workspace::from_name(&text_of(row, 1)?));
            let is_ours = partner.is_some_and(|partner| partner.leased_by() == copy.leased_by());
            return Ok(if is_ours { Owner::We } else { somebody() });
        }
        self.within(copy, |control| {
            let marks = control.names(sql::MARK, &[])?;
            if let Some(mark) = marks.first() {
                return Ok(if mark == self.home { Owner::We } else { somebody() });
            }
            let schema = copy.leased_by();
            let others = control.number(sql::OTHERS_WITHIN, &[Value::Text(schema.name())])?;
            Ok(if others == Some(0) && self.has_place_of(copy)? { Owner::We } else { somebody() })
        })
    }

    /// True if the run of a copy has its place in the target's database. A run from elsewhere has it there, with a lease that
    /// can't be seen from here.
    fn has_place_of(&self, copy: &Workspace) -> Result<bool> {
        self.connector_control(|control| Ok(control.owner(&copy.leased_by())? == Owner::We))
    }

    /// A copy of a run that is there; for Azure, where those without a mark are known by the run's place only.
    pub(super) fn any_of_run(&self, run: &Workspace) -> Result<Option<Workspace>> {
        if self.product != Product::Database {
            return Ok(None);
        }
        let names = match self.in_master(|control| control.names(sql::AZURE_COPIES, &[])) {
            Err(error) if matches!(error.kind, ErrorKind::Lost | ErrorKind::Cancelled) => return Err(error),
            // A user that may not see databases has made none.
            names => names.unwrap_or_default(),
        };
        for copy in names.iter().filter_map(|name| Workspace::from_name(name)).filter(|copy| copy.leased_by() == *run) {
            if self.owner(&copy)? == Owner::We {
                return Ok(Some(copy));
            }
        }
        Ok(None)
    }

    /// The state of a database in Azure; `None` if it isn't there.
    pub(super) fn state(&self, copy: &Workspace) -> Result<Option<String>> {
        let names = self.in_master(|control| control.names(sql::STATE, &[Value::Text(copy.name())]))?;
        Ok(names.into_iter().next())
    }

    /// How far a database in Azure is that is being made.
    pub(super) fn making(&self, copy: &Workspace) -> Result<Making> {
        match self.state(copy)?.as_deref() {
            None => return Ok(Making::Absent),
            Some(ONLINE) => {}
            Some(state @ ("SUSPECT" | "RECOVERY_PENDING" | "EMERGENCY")) => return Err(unfinished(copy, state)),
            Some(_) => return Ok(Making::Worked),
        }
        match self.within(copy, |_| Ok(())) {
            Ok(()) => Ok(Making::Open),
            Err(error) if matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost | ErrorKind::Missing) => {
                Ok(Making::Shut)
            }
            Err(error) => Err(error),
        }
    }

    /// The level of the target's database, for others that are measured beside it.
    fn home_level(&self) -> Result<Level> {
        let rows = self.connector_control(|control| control.rows(sql::HOME_LEVEL, &[]))?;
        let text = |index| rows.first().and_then(|row| text_of(row, index));
        if let Some(pool) = text(3) {
            return Ok(Level::Pool(pool));
        }
        let named = |name: &String| level::is_name(name);
        let max_bytes = rows.first().and_then(|row| whole(row, 2)).and_then(|bytes| u64::try_from(bytes).ok());
        let objective = text(1).filter(|name| named(name) && !level::is_pooled(name));
        let Some((edition, objective)) = text(0).filter(named).zip(objective) else {
            let message = "the level of the target's database can't be seen, so no other is made of the same";
            return Err(Error::new(ErrorKind::Unsupported, message).hint(
                "connect as a user with the right to see sys.database_service_objectives: the database's owner does",
            ));
        };
        Ok(Level::Own { edition, objective, max_bytes })
    }

    /// Makes an empty database; in Azure of the target's own level.
    pub(super) fn create(&self, copy: &Workspace) -> Result<()> {
        let text = if self.product == Product::Database {
            sql::make_azure_database(copy.name(), &self.home_level()?)
        } else {
            let [data, log] = sql::file_marks(self.home);
            sql::MAKE_DATABASE.filled(&[("copy", copy.name()), ("data", &data), ("log", &log)])
        };
        self.in_master(|control| control.run(&text).map(drop))
    }

    /// Marks a database in Azure that came without its mark.
    pub(super) fn mark(&self, copy: &Workspace) -> Result<()> {
        if self.product != Product::Database {
            return Ok(());
        }
        self.within(copy, |control| control.run_filled(sql::MARK_DATABASE, &[("home", self.home)]).map(drop))
    }

    /// Drops a database if it is there and ours, with its backups, and what a dump of it left on this machine.
    pub(super) fn drop(&self, copy: &Workspace) -> Result<()> {
        match self.owner(copy)? {
            Owner::Nobody => return forget_dump(copy),
            Owner::We | Owner::Unfinished => {}
            Owner::Somebody(reason) => {
                let message = format!("the database {copy} is not ours and not touched: {reason}");
                return Err(Error::new(ErrorKind::Safety, message).hint("if it is ours after all, drop it by hand"));
            }
        }
        forget_dump(copy)?;
        let name = [("copy", copy.name())];
        if self.product == Product::Database {
            return self.in_master(|control| control.run_filled(sql::DROP_AZURE_DATABASE, &name).map(drop));
        }
        self.in_master(|control| {
            // Before the database goes: without it nobody would look for them. A user that may not look for them has made none.
            let files = match backups(control, copy) {
                Err(error) if error.kind == ErrorKind::Permission => Vec::new(),
                files => files?,
            };
            for file in &files {
                control.run_filled(sql::DELETE_BACKUP, &[("file", file)]).map_err(|error| {
                    let kept = format!("the backup {file} of {copy} can't be removed: {}", error.message);
                    Error { message: kept, ..error }
                        .hint(
                            "remove that file on the server by hand, then run plimsoll clean; on Linux Microsoft supports no \
                             extended procedures, of which xp_delete_file is one",
                        )
                })?;
            }
            // What msdb says of files that are gone does no harm.
            if !files.is_empty()
                && let Err(error) = control.run_filled(sql::FORGET_BACKUPS, &name)
            {
                tracing::warn!(%error, "msdb still lists the removed backups of {copy}");
            }
            control.run_filled(sql::DROP_DATABASE, &name).map(drop)
        })
    }

    /// An error where a database that is made would not be known as ours again, and so could not be removed.
    pub(super) fn would_be_known(&self) -> Result<()> {
        if self.product != Product::Server {
            return Ok(());
        }
        let first = self.connector_control(|control| control.names(sql::FIRST_FILE, &[Value::Text(self.home)]))?;
        if first.first().is_none_or(|name| !name.is_empty()) {
            return Ok(());
        }
        let message =
            "the files of databases can't be seen, by which Plimsoll knows those that it makes, so none is made";
        if self.in_master(is_administrator)? {
            let all = "this server does not show them to an administrator either, as SQL Server does";
            return Err(Error::new(ErrorKind::Unsupported, message).hint(all));
        }
        Err(Error::new(ErrorKind::Permission, message).hint(
            self.connector
                .errors
                .filled("in master: GRANT CREATE ANY DATABASE TO [{user}]; on SQL Server it shows sys.master_files"),
        ))
    }

    /// An error for a user that could not remove backups again.
    pub(super) fn can_remove_backups(&self) -> Result<()> {
        self.in_master(|control| {
            if is_administrator(control)? {
                return Ok(());
            }
            let message = "only a server's administrator can remove backups again, so none is made";
            Err(Error::new(ErrorKind::Permission, message).hint(
                control
                    .errors
                    .filled("in master: ALTER SERVER ROLE sysadmin ADD MEMBER [{user}]; import needs no backup"),
            ))
        })
    }

    /// An error for a backup that has just been made and would not be found again.
    pub(super) fn finds_backups(&self, copy: &Workspace) -> Result<()> {
        if !self.in_master(|control| backups(control, copy))?.is_empty() {
            return Ok(());
        }
        let message = format!("the backup of {copy} is not to be found in msdb, so it could not be removed");
        let by_hand =
            format!("remove {} from the server's own folder for backups by hand", sql::backup_file(copy.name()));
        Err(Error::new(ErrorKind::Unsupported, message).hint(by_hand))
    }

    /// Bytes that a database has filled.
    pub(super) fn bytes(&self, copy: &Workspace) -> Option<u64> {
        let used = self.within(copy, |control| control.number(sql::USED, &[])).ok()??;
        u64::try_from(used).ok()
    }
}

/// Files of backups that we have had the server make of a database. Those of others stay: it is theirs to remove them.
fn backups(control: &mut Control, copy: &Workspace) -> Result<Vec<String>> {
    let mut files = control.names(sql::BACKUP_FILES, &[Value::Text(copy.name())]).map_err(|error| match error.kind {
        ErrorKind::Permission => error.hint(
            "in msdb: CREATE USER for the log-in, GRANT SELECT ON dbo.backupset and dbo.backupmediafamily; backups are removed \
             by what is written there",
        ),
        _ => error,
    })?;
    let own = ['/', '\\'].map(|separator| format!("{separator}{}", sql::backup_file(copy.name())));
    files.retain(|file| own.iter().any(|own| file.ends_with(own)));
    Ok(files)
}

/// The owner of a database without our mark.
fn somebody() -> Owner {
    Owner::Somebody("it does not bear our mark".to_owned())
}

/// The error of a database that is never going to be there.
pub(super) fn unfinished(copy: &Workspace, how: &str) -> Error {
    let message = format!("the server could not finish making the database {copy}: it is {how}");
    Error::new(ErrorKind::Statement, message).hint("sys.dm_operation_status in master says why")
}

/// The databases as places, with whether their leases are held.
pub(super) fn statuses(control: &mut Control, workspaces: Vec<Workspace>) -> Result<Vec<WorkspaceStatus>> {
    let status = |workspace: Workspace| {
        Ok(WorkspaceStatus {
            leased: workspace::is_leased(control, &workspace.leased_by())?,
            workspace,
            not_ours: None,
        })
    };
    workspaces.into_iter().map(status).collect()
}

/// Folder of a dump on this machine: the tool that writes it wants a name.
pub(super) fn dump_folder(copy: &Workspace) -> PathBuf {
    std::env::temp_dir().join(copy.name())
}

/// The file of a dump in its folder.
pub(super) const DUMP: &str = "dump.bacpac";

/// Removes what a dump of a dead process left on this machine, if there is something of ours.
pub(super) fn forget_dump(copy: &Workspace) -> Result<()> {
    let folder = dump_folder(copy);
    let is_part = |name: &str, _| name == DUMP;
    let left = temporary::abandoned(&std::env::temp_dir(), copy.name(), is_part);
    if left.iter().find(|left| left.path() == folder).is_some_and(|left| !left.remove(is_part)) {
        return Err(Error::new(ErrorKind::Permission, format!("{} can't be removed", folder.display()))
            .hint("remove it by hand"));
    }
    Ok(())
}

/// Whether this user may do anything on the server.
fn is_administrator(control: &mut Control) -> Result<bool> {
    Ok(control.number(sql::IS_ADMINISTRATOR, &[])? == Some(1))
}
