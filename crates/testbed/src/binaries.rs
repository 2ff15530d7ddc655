//! Where PostgreSQL's programs are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Installation, Product, TestbedError};

/// Distributions that keep several major versions side by side put them under this folder, outside PATH.
const VERSIONED: &str = "/usr/lib/postgresql";

/// PostgreSQL's programs on this machine, all of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub(crate) initdb: PathBuf,
    pub(crate) pg_ctl: PathBuf,
    pub(crate) psql: PathBuf,
}

impl Binaries {
    /// Those of the version that the environment chooses; else looks in PATH, then in the versioned folders, the newest first.
    pub fn find() -> Result<Self, TestbedError> {
        if let Some(chosen) = Installation::chosen(&[Product::PostgreSql])? {
            return Self::of(&chosen);
        }
        let folders = folders();
        folders.iter().find_map(|folder| Self::in_folder(folder, &folders)).ok_or(TestbedError::MissingBinaries)
    }

    /// Those of an installation, which may lack psql: any version's will do.
    pub(crate) fn of(installation: &Installation) -> Result<Self, TestbedError> {
        installation.stated_version()?;
        Self::in_folder(&installation.programs(), &folders()).ok_or(TestbedError::MissingBinaries)
    }

    /// The folder that holds them; pgbench is there too where it is installed.
    pub fn folder(&self) -> &Path {
        self.pg_ctl.parent().unwrap_or(Path::new("/"))
    }

    /// The programs of one folder. Links are followed first, as the server looks for its own files beside the real program.
    fn in_folder(folder: &Path, path: &[PathBuf]) -> Option<Self> {
        let real = |name: &str| folder.join(name).canonicalize().ok().filter(|file| file.is_file());
        let pg_ctl = real("pg_ctl")?;
        real("postgres")?;
        let beside = pg_ctl.with_file_name("psql");
        let mut clients = path.iter().map(|folder| folder.join("psql"));
        let psql = if beside.is_file() { beside } else { clients.find(|client| client.is_file())? };
        Some(Self { initdb: real("initdb")?, pg_ctl, psql })
    }
}

/// Where programs are looked for.
fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).chain(newest_first(Path::new(VERSIONED))).collect()
}

/// The `bin` folders under `root/<major version>/`, highest version first.
fn newest_first(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    found.sort();
    found.into_iter().rev().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(folder: &Path, programs: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for name in programs {
            fs::write(folder.join(name), "").unwrap();
        }
    }

    #[test]
    fn the_newest_version_comes_first_by_number() {
        let root = tempfile::tempdir().unwrap();
        let bin = |version: &str| root.path().join(version).join("bin");
        for version in ["9", "15", "16-old", "17"] {
            install(&bin(version), &[]);
        }
        let expected = ["17", "15", "9"].map(bin);
        assert_eq!(newest_first(root.path()), expected);
        assert!(newest_first(&root.path().join("absent")).is_empty());
    }

    #[test]
    fn a_folder_counts_only_with_all_programs_and_psql_may_be_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let (server, client) = (root.path().join("server"), root.path().join("client"));
        install(&server, &["initdb", "pg_ctl"]);
        install(&client, &["psql"]);
        assert_eq!(Binaries::in_folder(&server, std::slice::from_ref(&client)), None);
        install(&server, &["postgres"]);
        assert_eq!(Binaries::in_folder(&server, &[]), None);
        let found = Binaries::in_folder(&server, std::slice::from_ref(&client)).unwrap();
        assert_eq!(found.psql, client.join("psql"));
    }
}
