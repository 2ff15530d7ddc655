//! Cold tables: nothing of them in the server's cache, nor in the operating system's where that is in our power.

use std::path::{Path, PathBuf};

use plimsoll_engine::process;
use plimsoll_engine::server::cold::forget;
use plimsoll_engine::server::place::CONTROL;
use plimsoll_engine::server::restart::restart;
use plimsoll_engine::{Cold, ColdFollower, ErrorKind, RequestAccess, Result, Table, Workspace};

use super::connect::Connector;
use super::connection::Connection;
use super::statements::{filled, sql};
use super::{displace, session};

/// The forks of a relation, by the ends of their files' names.
const FORKS: [&str; 3] = ["", "_vm", "_fsm"];

pub(super) struct ColdMaker<'a> {
    pub(super) connector: &'a Connector,
    pub(super) data_directory: Option<&'a Path>,
    pub(super) table_directory: Option<&'a Path>,
    pub(super) follower: &'a mut dyn ColdFollower,
}

impl ColdMaker<'_> {
    /// By a restart if a command is given. Else the tables are written anew where nobody else reads them, and what stays cached
    /// is displaced. Then they leave the operating system's cache.
    pub(super) fn make_cold(
        &mut self,
        workspace: &Workspace,
        run: &Workspace,
        tables: &[Table],
        cold: &Cold,
    ) -> Result<Vec<String>> {
        let connector = self.connector;
        let mut done = restart(cold, connector.clock.as_ref(), self.follower, || started_at(connector))?;
        let mut connection = session::connect(self.connector, workspace, run, RequestAccess::OWN)?;
        self.follower.working(connection.link.cancel());
        if cold.restart_command.is_none() {
            if !cold.shared {
                for table in tables {
                    self.follower.check()?;
                    // What building the indexes and ANALYZE leave in the cache is `displace`'s matter.
                    connection
                        .work(&filled("rewrite a table", &[("schema", workspace.name()), ("table", &table.name)]))?;
                }
                done.push("copy".to_owned());
            }
            self.follower.check()?;
            let free_bytes = self.table_directory.and_then(process::free_bytes);
            if (cold.shared || any_stays_cached(&mut connection, tables)?)
                && displace::displace(&mut connection, run, free_bytes)?
            {
                done.push("displace".to_owned());
            }
        }
        if self.drop_from_os_cache(&mut connection, tables)? {
            done.push("drop-os-cache".to_owned());
        }
        Ok(done)
    }

    /// Writes back and forgets all files of the tables; false if not all of them are ours to read.
    fn drop_from_os_cache(&mut self, connection: &mut Connection, tables: &[Table]) -> Result<bool> {
        let Some(directory) = self.data_directory else { return Ok(false) };
        self.follower.check()?;
        match connection.run(session::CHECKPOINT) {
            // Not everybody may; what a restart or a rewrite left is in the files already.
            Err(error) if error.kind != ErrorKind::Permission => return Err(error),
            _ => {}
        }
        let mut dropped = true;
        for table in tables {
            self.follower.check()?;
            for row in connection.rows(sql("files of a table"), &[&table.name])? {
                let Some(path) = row.text(0) else { continue };
                dropped &= files(&directory.join(path)).iter().all(|file| forget(file));
            }
        }
        Ok(dropped)
    }
}

/// True if rewriting leaves a noticeable part of one of the tables in shared buffers.
fn any_stays_cached(connection: &mut Connection, tables: &[Table]) -> Result<bool> {
    for table in tables {
        if connection.row(sql("whether a table stays cached"), &[&table.name])?.is_true(0) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// When the server was started, in its own words. Asked by a session that ends at once: one that stays would hold up a
/// restart, and one that works for a run would be an orphan after it.
fn started_at(connector: &Connector) -> Result<String> {
    connector.connect(CONTROL)?.value(sql("when it was started"), &[])
}

/// The files of a relation: every fork, in segments of a gigabyte. The first is there in any case.
fn files(first: &Path) -> Vec<PathBuf> {
    let mut files = vec![first.to_owned()];
    for fork in FORKS {
        let name = |end: &str| PathBuf::from(format!("{}{fork}{end}", first.display()));
        if !fork.is_empty() {
            files.extend(Some(name("")).filter(|file| file.exists()));
        }
        files.extend((1u32..).map(|segment| name(&format!(".{segment}"))).take_while(|file| file.exists()));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn every_segment_of_every_fork_is_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["16", "16.1", "16.2", "16_vm", "16_fsm", "16_fsm.1", "161", "16.4"] {
            File::create(folder.path().join(name)).unwrap();
        }
        let mut found: Vec<String> = files(&folder.path().join("16"))
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into())
            .collect();
        found.sort();
        assert_eq!(found, ["16", "16.1", "16.2", "16_fsm", "16_fsm.1", "16_vm"]);
    }
}
