//! How a server comes into its folder: by Maven, or as packages of another suite of Debian's that are unpacked and not installed.
//!
//! A folder is filled under another name and renamed when it is whole, so that one that was cut short is none.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_testbed::{Installation, Product};

use crate::quiet::{limited, quiet};
use crate::tasks;

/// Where a server comes from.
pub enum Source {
    /// An archive in a Java package.
    Maven { group: &'static str, artifact: &'static str, versions: &'static str },
    /// Packages of a suite.
    Debian { suite: &'static str, packages: &'static [&'static str] },
}

/// Unpacks what a package brings; stated, so that every Maven does the same.
const UNPACK: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack-dependencies";

/// Fills the folder of an installation; an error is the reason why that did not work.
pub fn fetch(source: &Source, installation: &Installation) -> Result<(), String> {
    let parent = installation.folder.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(|error| format!("{} can't be made: {error}", parent.display()))?;
    let work = tempfile::Builder::new().prefix("fetching-").tempdir_in(parent).map_err(|error| error.to_string())?;
    crate::complain(&format!("{} is fetched", installation.folder.display()));
    let root = match source {
        Source::Maven { group, artifact, versions } => maven(work.path(), group, artifact, versions)?,
        Source::Debian { suite, packages } => debian(work.path(), suite, packages)?,
    };
    arrange(&root, installation.product)
        .and_then(|()| {
            if installation.folder.exists() {
                fs::remove_dir_all(&installation.folder)?;
            }
            fs::rename(&root, &installation.folder)
        })
        .map_err(|error| format!("what came can't be put into {}: {error}", installation.folder.display()))
}

/// The folder with what a Java package holds; archives in it are unpacked.
fn maven(work: &Path, group: &str, artifact: &str, versions: &str) -> Result<PathBuf, String> {
    for (program, package) in [("mvn", "maven"), ("xz", "xz-utils")] {
        tasks::provide(program, &[package])
            .map_err(|_| format!("{program} is missing; install the package {package}"))?;
    }
    let project = format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>plimsoll</groupId><artifactId>servers</artifactId>\
         <version>1</version><dependencies><dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>\
         <version>{versions}</version></dependency></dependencies></project>"
    );
    let unpacked = work.join("unpacked");
    let pom = work.join("pom.xml");
    fs::write(&pom, project).map_err(|error| error.to_string())?;
    let mut mvn = limited("mvn");
    mvn.args(["--batch-mode", "--quiet", "--file"]).arg(pom).arg(UNPACK);
    quiet(mvn.arg(format!("-DoutputDirectory={}", unpacked.display())))?;
    if let Some(archive) = find(&unpacked, &|path| path.extension().is_some_and(|end| end == "txz")) {
        let root = work.join("root");
        fs::create_dir(&root).map_err(|error| error.to_string())?;
        quiet(Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(&root))?;
        return Ok(root);
    }
    let share = find(&unpacked, &|path| path.ends_with("share") && path.is_dir());
    share.and_then(|share| share.parent().map(Path::to_owned)).ok_or_else(|| "no server is in what came".to_owned())
}

/// The folder with the packages and all that they need: what is installed here is left alone.
fn debian(work: &Path, suite: &str, packages: &[&str]) -> Result<PathBuf, String> {
    let mirror = mirror(&quiet(Command::new("apt-get").args(["--print-uris", "update"]))?)
        .ok_or("apt-get knows no source of packages")?;
    let config = apt_configuration(work, &mirror, suite).map_err(|error| error.to_string())?;
    let apt_get = || {
        let mut command = limited("apt-get");
        command.arg("--config-file").arg(&config).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    quiet(apt_get().arg("update"))?;
    quiet(apt_get().args(["install", "--download-only", "--yes", "--no-install-recommends"]).args(packages))?;
    let root = work.join("root");
    for package in files(&work.join("cache/archives")) {
        if package.extension().is_some_and(|end| end == "deb") {
            quiet(Command::new("dpkg-deb").arg("--extract").arg(package).arg(&root))?;
        }
    }
    Ok(root)
}

/// The first source that is not for security alone, out of `'URI' NAME SIZE` lines.
fn mirror(printed: &str) -> Option<String> {
    let sources = printed.lines().filter_map(|line| line.strip_prefix('\'')?.split_once("/dists/"));
    sources.map(|(before, _)| before).find(|before| !before.contains("security")).map(str::to_owned)
}

/// A configuration that sees one suite, and neither what is installed here nor its lists.
fn apt_configuration(work: &Path, mirror: &str, suite: &str) -> io::Result<PathBuf> {
    for folder in ["state/lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(work.join(folder))?;
    }
    fs::write(work.join("status"), "")?;
    let keys = "/usr/share/keyrings/debian-archive-keyring.gpg";
    let signed = if Path::new(keys).is_file() { format!("[signed-by={keys}] ") } else { String::new() };
    fs::write(work.join("sources.list"), format!("deb {signed}{mirror} {suite} main\n"))?;
    let path = |name: &str| work.join(name).display().to_string();
    let mut text = String::new();
    for (name, value) in [
        ("Dir::Etc::sourcelist", path("sources.list").as_str()),
        ("Dir::Etc::sourceparts", "-"),
        ("Dir::State", &path("state")),
        ("Dir::State::status", &path("status")),
        ("Dir::Cache", &path("cache")),
        // The folder belongs to whoever runs this.
        ("APT::Sandbox::User", "root"),
        // A mirror may be as of a day.
        ("Acquire::Check-Valid-Until", "false"),
        ("Acquire::Languages", "none"),
    ] {
        // Writing to a String can't fail.
        let _ = writeln!(text, "{name} \"{value}\";");
    }
    let config = work.join("apt.conf");
    fs::write(&config, text)?;
    Ok(config)
}

/// Sees to it that the folder `bin` has programs that start as they are, for all users.
fn arrange(root: &Path, product: Product) -> io::Result<()> {
    fs::set_permissions(root, fs::Permissions::from_mode(0o755))?;
    match product {
        Product::PostgreSql => Ok(()),
        Product::MariaDb => {
            // The package keeps no permissions; the server looks for its files beside the folder it is told.
            let inner = root.join("server");
            fs::create_dir(&inner)?;
            for name in ["bin", "scripts", "share", "libs"] {
                fs::rename(root.join(name), inner.join(name))?;
            }
            for program in files(&inner.join("bin")).into_iter().chain(files(&inner.join("scripts"))) {
                fs::set_permissions(program, fs::Permissions::from_mode(0o755))?;
            }
            script(root, "mariadbd", "\"$root/server/bin/mariadbd\" \"$@\" --basedir=\"$root/server\"")?;
            let install = "\"$root/server/scripts/mariadb-install-db\" \"$@\" --basedir=\"$root/server\"";
            script(root, "mariadb-install-db", install)?;
            for name in ["mariadb", "mariadb-dump"] {
                script(root, name, &format!("\"$root/server/bin/{name}\" \"$@\""))?;
            }
            Ok(())
        }
        Product::MySql => {
            // Its own loader starts it with its own libraries. A process is called as the loader is.
            fs::create_dir(root.join("loader"))?;
            for (name, folder, more) in
                [("mysqld", "sbin", " --basedir=\"$root/usr\""), ("mysql", "bin", ""), ("mysqldump", "bin", "")]
            {
                symlink("../usr/lib64/ld-linux-x86-64.so.2", root.join("loader").join(name))?;
                let start = format!(
                    "\"$root/loader/{name}\" --library-path \"$root/usr/lib/x86_64-linux-gnu\" \
                     \"$root/usr/{folder}/{name}\" \"$@\"{more}"
                );
                script(root, name, &start)?;
            }
            Ok(())
        }
    }
}

/// A program of the folder that starts another.
fn script(root: &Path, name: &str, start: &str) -> io::Result<()> {
    let folder = root.join("bin");
    fs::create_dir_all(&folder)?;
    let text = format!("#!/bin/sh\nroot=$(dirname \"$(dirname \"$(readlink -f \"$0\")\")\")\nexec {start}\n");
    let path = folder.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The first path below a folder that fits.
fn find(folder: &Path, fits: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let entries = files(folder);
    let here = entries.iter().find(|path| fits(path)).cloned();
    here.or_else(|| entries.iter().find_map(|path| find(path, fits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_one_that_apt_uses() {
        let printed = "'http://security.example/debian-security/dists/stable-security/InRelease' a 0 \n\
                       'http://mirror.example/debian/dists/stable/InRelease' b 0 \n";
        assert_eq!(mirror(printed).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(mirror("nothing at all"), None);
    }

    #[test]
    fn programs_of_a_folder_start_as_they_are() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["bin", "scripts", "share", "libs"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("bin/mariadbd"), "#!/bin/sh\necho \"$@\"\n").unwrap();
        arrange(root.path(), Product::MariaDb).unwrap();
        let said = quiet(Command::new(root.path().join("bin/mariadbd")).args(["--port", "1 2"])).unwrap();
        let folder = root.path().canonicalize().unwrap();
        assert_eq!(said.trim(), format!("--port 1 2 --basedir={}/server", folder.display()));
    }
}
