//! Packages: what `cargo package` makes of the crates, in one archive that builds alone.
//!
//! A package has no `[patch]`: cargo leaves it out, and with it the crates that stand in for `native-tls` and `openssl`. So the
//! packages go into one folder, the stand-ins among them, with a manifest that puts them in place again. Whoever builds there
//! has the same TLS as the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::complain;
use crate::tasks::{INTERNAL, Outcome, USAGE, cargo, root, run, target_folder};

/// What nobody installs.
const KEPT_HERE: [&str; 4] = ["--exclude", "xtask", "--exclude", "plimsoll-testbed"];
/// The library whose place another crate takes: it must not come back.
const REPLACED: &str = "name = \"openssl-sys\"";

/// Packages every crate and archives the packages; with `--build`, builds the archive in an empty folder. Other arguments are
/// those of `cargo package`.
pub fn package(arguments: &[&str]) -> Outcome {
    let (own, others): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|argument| **argument == "--build");
    let packages = target_folder().join("package");
    let failed = |error: io::Error| {
        complain(&format!("{}: {error}", packages.display()));
        INTERNAL
    };
    for old in crates_in(&packages) {
        fs::remove_file(old).map_err(failed)?;
    }
    run(cargo().args(["package", "--workspace", "--no-verify"]).args(KEPT_HERE).args(others))?;
    let folder = packages.join(format!("plimsoll-{}-packages", env!("CARGO_PKG_VERSION")));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(failed)?;
    }
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut names: Vec<String> = Vec::new();
    for file in crates_in(&packages) {
        run(Command::new("tar").arg("-xzf").arg(&file).arg("-C").arg(&folder))?;
        names.extend(file.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    let ours = fs::read_to_string(root().join("Cargo.toml")).map_err(failed)?;
    fs::write(folder.join("Cargo.toml"), manifest(&names, &ours)).map_err(failed)?;
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).map_err(failed)?;
    let archive = folder.with_extension("tar.gz");
    let name = folder.file_name().unwrap_or_default();
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&packages).arg(name))?;
    complain(&format!("{} packages are in {}", names.len(), archive.display()));
    if own.is_empty() { Ok(()) } else { build(&archive, name.as_ref()) }
}

/// Files of packages in a folder.
fn crates_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|end| end == "crate")).collect()
}

/// A manifest that has the packages in place of those of a registry, and our profiles.
fn manifest(names: &[String], ours: &str) -> String {
    let members: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let is_program =
        |name: &&String| name.strip_prefix("plimsoll-").is_some_and(|rest| rest.starts_with(char::is_numeric));
    let program = names.iter().find(is_program).cloned().unwrap_or_default();
    let mut text = format!(
        "# The packages of Plimsoll: `cargo install --locked --path {program}` builds and installs the program.\n\
         [workspace]\nresolver = \"3\"\nmembers = [{}]\ndefault-members = [{program:?}]\n\n[patch.crates-io]\n",
        members.join(", ")
    );
    for folder in names {
        let name = folder.rsplit_once('-').map_or(folder.as_str(), |(name, _)| name);
        text.push_str(&format!("{name} = {{ path = {folder:?} }}\n"));
    }
    let mut in_profile = false;
    for line in ours.lines() {
        if line.starts_with('[') {
            in_profile = line.starts_with("[profile.");
            text.push_str(if in_profile { "\n" } else { "" });
        }
        if in_profile && !line.is_empty() && !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Builds an archive where nothing else is.
fn build(archive: &Path, name: &Path) -> Outcome {
    let failed = |error: io::Error| {
        complain(&format!("can't build the packages: {error}"));
        INTERNAL
    };
    let empty = tempfile::tempdir().map_err(failed)?;
    run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(empty.path()))?;
    let folder = empty.path().join(name);
    run(cargo().current_dir(&folder).args(["build", "--package", "plimsoll"]))?;
    let lock = fs::read_to_string(folder.join("Cargo.lock")).map_err(failed)?;
    if lock.contains(REPLACED) {
        complain("the packages were built with OpenSSL: the crates that stand in for it were not used");
        return Err(USAGE);
    }
    complain("the packages build alone, with our own TLS");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_take_the_place_of_a_registrys() {
        let names = ["openssl-0.10.82", "plimsoll-0.1.0", "plimsoll-lab-0.1.0"].map(str::to_owned);
        let ours = "[workspace]\nx = 1\n\n# Why.\n[profile.release]\nstrip = \"symbols\"\n\n[patch.crates-io]\ny = 2\n";
        assert_eq!(
            manifest(&names, ours),
            "# The packages of Plimsoll: `cargo install --locked --path plimsoll-0.1.0` builds and installs the program.\n\
             [workspace]\nresolver = \"3\"\nmembers = [\"openssl-0.10.82\", \"plimsoll-0.1.0\", \"plimsoll-lab-0.1.0\"]\n\
             default-members = [\"plimsoll-0.1.0\"]\n\n[patch.crates-io]\nopenssl = { path = \"openssl-0.10.82\" }\n\
             plimsoll = { path = \"plimsoll-0.1.0\" }\nplimsoll-lab = { path = \"plimsoll-lab-0.1.0\" }\n\n\
             [profile.release]\nstrip = \"symbols\"\n"
        );
    }
}
