//! Physical backups by `pg_basebackup`, which takes the whole cluster, and a server of our own that is started on one. It has a
//! socket in our folder alone, small settings of its own, and the user of the first server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use plimsoll_engine::server::restored::{BACKUP, Site, folder_bytes};
use plimsoll_engine::server::tool;
use plimsoll_engine::transfer::{RESTORE, START};
use plimsoll_engine::{Database, Error, ErrorKind, Follow, Restored, Result, Workspace, process};

use super::connect::Connector;
use super::connection::Connection;
use super::statements::{QUOTING, sql};

/// Where packages put the programs of a version, beside those in PATH.
const FOLDERS: [&str; 2] = ["/usr/lib/postgresql", "/usr/pgsql"];
/// The user that the server runs as where we are root.
const USER: &str = "postgres";
/// Number in the socket's name; nobody listens on a port.
const PORT: u16 = 5432;
/// Files of the backup that would make the server follow another one.
const FOLLOWING: [&str; 2] = ["standby.signal", "recovery.signal"];

pub(super) type Open = fn(Connector) -> Result<Box<dyn Database>>;

/// What was found on this machine and at the server.
pub(super) struct Restorer {
    base_backup: PathBuf,
    server: PathBuf,
    /// A server that takes up prepared transactions needs room for them.
    prepared_transactions: String,
}

impl Restorer {
    /// Finds the programs of the server's version, and makes sure that the server will give us a backup.
    pub(super) fn find(connection: &mut Connection, version: u32) -> Result<(Self, Vec<String>)> {
        let wanted = version / 10_000;
        let find = |name: &str, package: &str, fits: &dyn Fn(u32) -> bool| {
            let mut found = tool::candidates(name, &version_folders());
            found.retain(|program| tool::major_version(program).is_some_and(fits));
            let missing = || tool::missing(&format!("{name} of version {wanted}"), &format!("{package}-{wanted}"));
            found.into_iter().next().ok_or_else(missing)
        };
        let base_backup = find("pg_basebackup", "postgresql-client", &|version| version >= wanted)?;
        let server = find("postgres", "postgresql", &|version| version == wanted)?;
        let versions = [&base_backup, &server].into_iter().filter_map(|tool| tool::version(tool)).collect();
        let prepared_transactions = check(connection)?;
        Ok((Self { base_backup, server, prepared_transactions }, versions))
    }

    pub(super) fn back_up(&self, connector: &Connector, folder: &Path, follow: &mut dyn Follow) -> Result<()> {
        let mut command = process::program(&self.base_backup);
        connector.configure(&mut command)?;
        let backup = folder.join(BACKUP);
        // A slot would stay at the server if we were killed. A checkpoint at once, as we measure and not the server's pace.
        command.args(["--wal-method=stream", "--no-slot", "--checkpoint=fast", "--no-password", "--label=plimsoll"]);
        // What it has begun goes with our folder, and not by a name that may lead elsewhere by then.
        command.arg("--no-clean");
        command.arg("--pgdata").arg(&backup).current_dir(folder).env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        tool::run(command, connector.clock.as_ref(), || follow.look(&mut || Some(folder_bytes(&backup))))
            .map_err(refused)
    }

    /// Brings the files back and starts a server on them.
    pub(super) fn restore(
        &self,
        connector: &Connector,
        folder: &Path,
        (workspace, open): (&Workspace, Open),
        follow: &mut dyn Follow,
    ) -> Result<Restored> {
        let site = Site::new(folder, USER, &format!(".s.PGSQL.{PORT}"))?;
        follow.stage(RESTORE)?;
        site.bring_back(follow)?;
        follow.stage(START)?;
        site.write("postgresql.conf", &self.settings(&site))?;
        // Settings of the first server's, which may name its folders.
        site.write("postgresql.auto.conf", "")?;
        // Nobody else gets to the socket.
        site.write("pg_hba.conf", "local all all trust\n")?;
        site.write("pg_ident.conf", "")?;
        for name in FOLLOWING {
            // It is there only if the first server is a standby.
            let _ = fs::remove_file(site.data().join(name));
        }
        let mut command = process::program(&self.server);
        command.arg("-D").arg(site.data()).env("LC_ALL", "C");
        let socket = site.socket_folder();
        site.start(command, &connector.clock, follow, workspace, || open(connector.at_socket(&socket, PORT)))
    }

    /// Among them that no worker follows a publication: it would take the first server's changes from under it.
    fn settings(&self, site: &Site) -> String {
        let folder = site.socket_folder().to_string_lossy().replace('\'', "''");
        let prepared = &self.prepared_transactions;
        format!(
            "listen_addresses = ''\nunix_socket_directories = '{folder}'\nunix_socket_permissions = 0700\nport = {PORT}\n\
             max_connections = 20\nshared_buffers = '64MB'\nmax_prepared_transactions = {prepared}\nmax_wal_senders = 0\n\
             archive_mode = off\nautovacuum = off\nrestart_after_crash = off\nlogging_collector = off\nssl = off\n\
             huge_pages = off\ndynamic_shared_memory_type = mmap\nmax_logical_replication_workers = 0\n\
             max_worker_processes = 0\n"
        )
    }
}

/// What a server has to allow for a backup, as far as it can be asked; gives its room for prepared transactions.
pub(super) fn check(connection: &mut Connection) -> Result<String> {
    let row = connection.row(sql("rights and settings for backups"), &[])?;
    let text = |index| row.text(index).unwrap_or_default();
    if !row.is_true(0) {
        let user = text(1);
        let message = format!("a backup of the cluster needs the right REPLICATION, which {user} does not have");
        return Err(Error::new(ErrorKind::Permission, message).hint(format!(
            "ALTER ROLE {} REPLICATION, and in pg_hba.conf a line for the database 'replication' and this user",
            QUOTING.name(user)
        )));
    }
    if text(2) == "0" || text(3) == "minimal" {
        return Err(Error::new(ErrorKind::Unsupported, "this server gives no backups")
            .hint("it needs max_wal_senders of 2 or more and wal_level = replica"));
    }
    if text(5) != "0" {
        return Err(Error::new(ErrorKind::Unsupported, "this cluster has tablespaces in other folders")
            .hint("a cluster with files in several places can't be restored yet"));
    }
    Ok(text(4).to_owned())
}

/// What the program says when the server does not let it in for replication.
fn refused(error: Error) -> Error {
    let says = |words: &str| error.message.contains(words);
    if says("pg_hba.conf") || says("replication role") || says("permission denied") {
        return Error { kind: ErrorKind::Permission, ..error }
            .hint("pg_hba.conf needs a line such as 'host replication USER ADDRESS scram-sha-256' for this user");
    }
    error
}

/// Bytes of all databases of the cluster, and of the log that comes along.
pub(super) fn cluster_bytes(connection: &mut Connection) -> Option<u64> {
    connection.value(sql("size of the cluster"), &[]).ok()
}

pub(super) fn version_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = FOLDERS
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path().join("bin"))))
        .collect();
    folders.sort();
    folders
}
