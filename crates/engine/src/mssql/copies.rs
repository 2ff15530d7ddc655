//! Whole databases of our own: which there are, whose they are, and how they go.
//!
//! On a machine a database is ours if its first file is named by our mark, which says from which database it was made: there the
//! lease of its run is a lock. In Azure files have no names of one's own. There a database is ours if it bears the mark as
//! an extended property, which goes with copies and restores; or, while it is being filled, if nothing is in it that lies
//! outside the schema of its run; or, while it can't be opened, if it is being copied from one of ours.

use std::fs;
use std::path::PathBuf;

use super::connect::Connector;
use super::place::{CONTROL, Control, Owner, text_of};
use super::sql::{self, Product};
use crate::database::{Place, PlaceStatus};
use crate::error::{Error, ErrorKind, Result};
use crate::table::ColumnType::{Float, Text};
use crate::value::Value;

/// Where a server's own databases are listed.
const MASTER: &str = "master";
const ONLINE: &str = "ONLINE";

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
    pub(super) fn in_master<T>(&self, work: impl FnOnce(&mut Control<'_>) -> Result<T>) -> Result<T> {
        let master = self.connector.to(MASTER);
        work(&mut Control::connect(&master, CONTROL)?)
    }

    /// Does something in a database of ours.
    pub(super) fn within<T>(&self, copy: &Place, work: impl FnOnce(&mut Control<'_>) -> Result<T>) -> Result<T> {
        let inside = self.connector.to(copy.name());
        work(&mut Control::connect(&inside, CONTROL)?)
    }

    /// The databases that are ours and whose runs worked from here; whether their leases are held is not known yet.
    pub(super) fn list(&self) -> Result<Vec<Place>> {
        let [mark, _] = sql::file_marks(self.home);
        let names = match self.product {
            Product::Server => {
                let mark = [Value::Text(&mark)];
                self.connector_control(|control| control.names(sql::COPIES, &mark))?
            }
            Product::Database => self.in_master(|control| control.names(sql::AZURE_COPIES, &[]))?,
            Product::Instance => Vec::new(),
        };
        let mut places: Vec<Place> = names.iter().filter_map(|name| Place::from_name(name)).collect();
        if self.product == Product::Database {
            let mut ours = Vec::new();
            for place in places {
                if self.owner(&place)? == Owner::We {
                    ours.push(place);
                }
            }
            places = ours;
        }
        Ok(places)
    }

    fn connector_control<T>(&self, work: impl FnOnce(&mut Control<'_>) -> Result<T>) -> Result<T> {
        work(&mut Control::connect(self.connector, CONTROL)?)
    }

    /// Whose a database is.
    pub(super) fn owner(&self, copy: &Place) -> Result<Owner> {
        let name = [Value::Text(copy.name())];
        if self.product != Product::Database {
            let [mark, _] = sql::file_marks(self.home);
            let first = self.connector_control(|control| control.names(sql::FIRST_FILE, &name))?;
            return Ok(match first.first() {
                None => Owner::Nobody,
                Some(first) if *first == mark => Owner::We,
                Some(_) => Owner::Somebody,
            });
        }
        let Some(state) = self.state(copy)? else { return Ok(Owner::Nobody) };
        if state != ONLINE {
            // The other side of a copy is the database that it is made from.
            let rows = self.in_master(|control| control.rows(sql::COPYING, &name, &[Float, Text(128)]))?;
            let partner = rows.first().and_then(|row| Place::from_name(&text_of(row, 1)?));
            let is_ours = partner.is_some_and(|partner| partner.leased_by() == copy.leased_by());
            return Ok(if is_ours { Owner::We } else { Owner::Somebody });
        }
        self.within(copy, |control| {
            let marks = control.names(sql::MARK, &[])?;
            if let Some(mark) = marks.first() {
                return Ok(if mark == self.home { Owner::We } else { Owner::Somebody });
            }
            let schema = copy.leased_by();
            let others = control.number(sql::OTHERS_WITHIN, &[Value::Text(schema.name())])?;
            Ok(if others == Some(0) { Owner::We } else { Owner::Somebody })
        })
    }

    /// The state of a database in Azure; `None` if it isn't there.
    pub(super) fn state(&self, copy: &Place) -> Result<Option<String>> {
        let names = self.in_master(|control| control.names(sql::STATE, &[Value::Text(copy.name())]))?;
        Ok(names.into_iter().next())
    }

    /// True once a database in Azure lets us in.
    pub(super) fn is_open(&self, copy: &Place) -> Result<bool> {
        match self.state(copy)?.as_deref() {
            Some(ONLINE) => {}
            Some("SUSPECT") => {
                let message = format!("the server could not finish making the database {copy}");
                return Err(
                    Error::new(ErrorKind::Statement, message).hint("sys.dm_operation_status in master says why")
                );
            }
            _ => return Ok(false),
        }
        match self.within(copy, |_| Ok(())) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind, ErrorKind::Connect | ErrorKind::Lost | ErrorKind::Missing) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes an empty database.
    pub(super) fn create(&self, copy: &Place) -> Result<()> {
        let text = match self.product {
            Product::Database => sql::create_azure_database(copy.name()),
            _ => sql::create_database(copy.name(), self.home),
        };
        self.in_master(|control| control.run(&text).map(drop))
    }

    /// Marks a database in Azure that came without its mark.
    pub(super) fn mark(&self, copy: &Place) -> Result<()> {
        if self.product != Product::Database {
            return Ok(());
        }
        self.within(copy, |control| control.run(&sql::mark_database(self.home)).map(drop))
    }

    /// Drops a database if it is there and ours, with its backups, and what a dump of it left on this machine.
    pub(super) fn drop(&self, copy: &Place) -> Result<()> {
        match self.owner(copy)? {
            Owner::Nobody => return forget_dump(copy),
            Owner::We => {}
            Owner::Somebody => {
                let message = format!("the database {copy} does not bear our mark, so it is not touched");
                return Err(Error::new(ErrorKind::Safety, message).hint("if it is ours after all, drop it by hand"));
            }
        }
        forget_dump(copy)?;
        if self.product == Product::Database {
            return self.in_master(|control| control.run(&sql::drop_azure_database(copy.name())).map(drop));
        }
        self.in_master(|control| {
            // Before the database goes: without it nobody would look for them. Who may not look for them has made none.
            let files = match backups(control, copy) {
                Err(error) if error.kind == ErrorKind::Permission => Vec::new(),
                files => files?,
            };
            for file in &files {
                control.run(&sql::delete_backup(file)).map_err(|error| {
                    let kept = format!("the backup {file} of {copy} can't be removed: {}", error.message);
                    Error { message: kept, ..error }
                        .hint("remove that file on the server by hand, then run plimsoll clean")
                })?;
            }
            if !files.is_empty() {
                control.run(&sql::forget_backups(copy.name()))?;
            }
            control.run(&sql::drop_database(copy.name())).map(drop)
        })
    }

    /// An error for those who could not find their backups again.
    pub(super) fn can_see_backups(&self, copy: &Place) -> Result<()> {
        self.in_master(|control| backups(control, copy)).map(drop)
    }

    /// Bytes that a database has filled.
    pub(super) fn bytes(&self, copy: &Place) -> Option<u64> {
        let used = self.within(copy, |control| control.number(sql::USED, &[])).ok()??;
        u64::try_from(used).ok()
    }
}

/// Files of backups that the server has made of a database.
fn backups(control: &mut Control<'_>, copy: &Place) -> Result<Vec<String>> {
    control.names(sql::BACKUP_FILES, &[Value::Text(copy.name())]).map_err(|error| match error.kind {
        ErrorKind::Permission => error.hint(
            "in msdb: CREATE USER for the log-in, GRANT SELECT ON dbo.backupset and dbo.backupmediafamily; backups are removed \
             by what is written there",
        ),
        _ => error,
    })
}

/// The databases as places, with whether their leases are held.
pub(super) fn statuses(control: &mut Control<'_>, places: Vec<Place>) -> Result<Vec<PlaceStatus>> {
    let mut statuses = Vec::new();
    for place in places {
        statuses.push(PlaceStatus { leased: control.is_leased(&place.leased_by())?, place });
    }
    Ok(statuses)
}

/// Folder of a dump on this machine: the tool that writes it wants a name.
pub(super) fn dump_folder(copy: &Place) -> PathBuf {
    std::env::temp_dir().join(copy.name())
}

/// Removes what a dump left on this machine, if there is something.
pub(super) fn forget_dump(copy: &Place) -> Result<()> {
    let folder = dump_folder(copy);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::new(ErrorKind::Permission, format!("{} can't be removed: {error}", folder.display()))
                .hint("remove it by hand"))
        }
        _ => Ok(()),
    }
}
