//! The user a server runs as: ourselves, or somebody without power when we are root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::TestbedError;

/// A user of the machine by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Account {
    /// The user that a server has to run as: `None` means as ourselves; as root the user of the server's package, or
    /// nobody.
    pub(crate) fn for_server(package: &'static str) -> Result<Option<Self>, TestbedError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").map_err(TestbedError::io("read /etc/passwd"))?;
        let found = [package, "nobody"].iter().find_map(|name| Self::parse(&passwd, name));
        found.map(Some).ok_or(TestbedError::NoAccount(package))
    }

    /// An error for root where the user of a server's package is missing, as whose the server's own tools run.
    pub(crate) fn has_server_user(package: &'static str) -> Result<(), TestbedError> {
        let passwd = fs::read_to_string("/etc/passwd").map_err(TestbedError::io("read /etc/passwd"))?;
        let is_there = !rustix::process::geteuid().is_root() || Self::parse(&passwd, package).is_some();
        is_there.then_some(()).ok_or(TestbedError::NoAccount(package))
    }

    /// Finds a user in the text of passwd(5): `name:password:uid:gid:...`.
    fn parse(passwd: &str, name: &str) -> Option<Self> {
        passwd.lines().map(|line| line.split(':')).find_map(|mut fields| {
            (fields.next()? == name).then_some(())?;
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Self { uid, gid })
        })
    }
}

/// Makes a file this user's.
pub(crate) fn give_to(account: Option<Account>, path: &Path) -> io::Result<()> {
    account.map_or(Ok(()), |Account { uid, gid }| chown(path, Some(uid), Some(gid)))
}

/// A command that will run as this user; std clears the supplementary groups as well.
pub(crate) fn command_as(account: Option<Account>, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some(Account { uid, gid }) = account {
        command.uid(uid).gid(gid);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\npostgresql:x:7:8::/:\npostgres:x:101:104:PostgreSQL:/var:/bin/sh\n";
        assert_eq!(Account::parse(passwd, "postgres"), Some(Account { uid: 101, gid: 104 }));
        assert_eq!(Account::parse(passwd, "nobody"), None);
        assert_eq!(Account::parse("postgres:x:many:1", "postgres"), None);
    }
}
