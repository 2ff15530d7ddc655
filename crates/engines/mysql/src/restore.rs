//! Physical backups by `mariadb-backup`, which copies the files of the whole server from beside it, and a server of our
//! own that is started on them. The server is reached by a socket in our folder alone, without its tables of rights, as
//! nobody else gets there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_engine::server::restored::{BACKUP, Site, folder_bytes};
use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{RESTORE, START};
use plimsoll_engine::{Database, Error, ErrorKind, Follow, Restored, Result, Workspace, process};

use super::connect::Connector;
use super::connection::Connection;
use super::product::{Product, version_of};
use super::statements::text;

/// The user that the server runs as where we are root.
const USER: &str = "mysql";
const SOCKET: &str = "socket";
/// Settings that the files were made with; part of the backup.
const SETTINGS: &str = "backup-my.cnf";
/// Where the programs are beside PATH: below the folder that the server was installed in, and where packages put them.
const FOLDERS: [&str; 5] = ["bin", "sbin", "/usr/sbin", "/usr/local/sbin", "/usr/libexec"];

/// The series in what a program or a server says of its version, such as 10.11 of `mariadbd  Ver 10.11.19-MariaDB-0+deb12u1`: files
/// of one are not for another.
fn series(said: &str) -> Option<(u32, u32)> {
    let before = said.split("-MariaDB").next()?;
    let number = before.rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let mut parts = number.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Opens the server that a connector leads to.
pub(super) type Open = fn(Connector) -> Result<Box<dyn Database>>;

pub(super) struct Restorer {
    backup: PathBuf,
    server: PathBuf,
    data: PathBuf,
}

impl Restorer {
    /// Finds the programs, and makes sure that the server's files are where the program can read them: `run` is the name of a
    /// database that is there.
    pub(super) fn find(
        connection: &mut Connection,
        connector: &Connector,
        product: Product,
        run: &Workspace,
    ) -> Result<(Self, Vec<String>)> {
        if product != Product::MariaDb {
            let message = "physical backups of MySQL are not made yet";
            return Err(Error::new(ErrorKind::Unsupported, message).hint("PostgreSQL, MariaDB and SQLite can"));
        }
        let version = connection.server.version.clone();
        let (major, minor) = series(&version).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("the server's version '{version}' has no number"))
        })?;
        let base = PathBuf::from(connection.ask_one(text("program directory"))?.unwrap_or_default());
        let folders: Vec<PathBuf> = FOLDERS.iter().map(|folder| base.join(folder)).collect();
        let find = |name: &str, package: &str| {
            let fits =
                |program: &PathBuf| version_of(program).is_some_and(|said| series(&said) == Some((major, minor)));
            let missing = || tool::missing(&format!("{name} of version {major}.{minor}"), package);
            tool::candidates(name, &folders).into_iter().find(fits).ok_or_else(missing)
        };
        let (backup, server) = (find("mariadb-backup", "mariadb-backup")?, find("mariadbd", "mariadb-server")?);
        let data = PathBuf::from(connection.ask_one(text("data directory"))?.unwrap_or_default());
        // A loopback address may lead elsewhere, and a folder of that name be another server's.
        if !connector.loopback || !data.join(run.name()).is_dir() {
            let message = "mariadb-backup copies the server's files, and they are not to be seen from here";
            return Err(Error::new(ErrorKind::Unsupported, message)
                .hint("run Plimsoll on the server's own machine, as a user with the right to read its files"));
        }
        let versions = [&backup, &server].into_iter().filter_map(|tool| version_of(tool)).collect();
        Ok((Self { backup, server, data }, versions))
    }

    /// Bytes of all files of the server.
    pub(super) fn bytes(&self) -> u64 {
        folder_bytes(&self.data)
    }

    pub(super) fn back_up(&self, connector: &Connector, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        let mut command = process::program(&self.backup);
        connector.configure(&mut command, Product::MariaDb)?;
        directed(&mut command, "--backup", folder);
        let backup = folder.join(BACKUP);
        tool::run(command, connector.clock.as_ref(), || follow.look(&mut || Some(folder_bytes(&backup))))
            .map_err(refused)
    }

    /// Makes the files of the backup agree with each other, brings them back and starts a server on them.
    pub(super) fn restore(
        &self,
        (connector, open): (&Connector, Open),
        folder: &Path,
        workspace: &Workspace,
        follow: &mut dyn Follow,
    ) -> Result<Restored> {
        let site = Site::new(folder, USER, SOCKET)?;
        follow.stage(RESTORE)?;
        let mut prepare = self.program("--prepare", folder);
        prepare.arg(option("--tmpdir", folder));
        tool::run_within(folder, prepare, connector.clock.as_ref(), || follow.look(&mut || None))?;
        site.bring_back(follow)?;
        follow.stage(START)?;
        let (data, socket) = (site.data(), site.socket_folder().join(SOCKET));
        let mut command = process::program(&self.server);
        command.arg(option("--defaults-file", &data.join(SETTINGS))).arg(option("--datadir", &data));
        // The settings that came with the backup may name folders of the first server's, which this one must never touch.
        for name in ["--innodb-undo-directory", "--innodb-data-home-dir", "--innodb-log-group-home-dir"] {
            command.arg(option(name, &data));
        }
        command.arg(option("--socket", &socket)).arg(option("--pid-file", &site.socket_folder().join("pid")));
        command.arg(option("--tmpdir", &site.socket_folder()));
        command.args(["--skip-networking", "--skip-grant-tables", "--skip-log-bin", "--skip-slave-start"]);
        command.args(["--innodb-buffer-pool-size=64M", "--innodb-buffer-pool-load-at-startup=OFF"]);
        command.arg("--innodb-buffer-pool-dump-at-shutdown=OFF");
        site.start(command, &connector.clock, follow, workspace, || open(connector.at_socket(&socket)))
    }

    fn program(&self, what: &str, folder: &Path) -> Command {
        let mut command = process::program(&self.backup);
        // Nobody's option files: what the run does must not depend on them.
        command.arg("--no-defaults");
        directed(&mut command, what, folder);
        command
    }
}

/// Says what is to be done, and in which folder.
fn directed(command: &mut Command, what: &str, folder: &Path) {
    command.arg(what).arg(option("--target-dir", &folder.join(BACKUP)));
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
}

fn option(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

/// What the program says when it lacks a right, at the server or to its files.
fn refused(error: Error) -> Error {
    let says = |words: &str| error.message.to_lowercase().contains(words);
    if says("denied") || says("privilege") {
        return Error { kind: ErrorKind::Permission, ..error }.hint(
            "it needs GRANT RELOAD, PROCESS, LOCK TABLES, BINLOG MONITOR ON *.* to this user, and may have to be run as root or \
             as the server's own user",
        );
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_programs_say_their_series() {
        for (said, expected) in [
            ("10.11.19-MariaDB-0+deb12u1", Some((10, 11))),
            ("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", Some((10, 11))),
            ("mariadb-backup based on MariaDB server 11.4.2-MariaDB debian-linux-gnu (x86_64)", Some((11, 4))),
            ("11.8.3-MariaDB-log", Some((11, 8))),
            ("mariadbd", None),
            ("", None),
        ] {
            assert_eq!(series(said), expected, "{said}");
        }
    }
}
