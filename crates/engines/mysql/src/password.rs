//! Where user and password come from: the URL, the program, `MYSQL_PWD`, the option file of the servers' own clients.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use plimsoll_engine::target::{Credentials, Environment, Secret};
use plimsoll_engine::{Error, ErrorKind, Result, files};

/// Groups of an option file that all clients read.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// What was found, and what the user should know of the search.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) warning: Option<String>,
}

/// Searches everywhere but in the URL, which goes before all others.
///
/// # Errors
/// If the URL names an option file that can't be used.
pub(super) fn find(
    credentials: &Credentials,
    defaults_file: Option<&str>,
    environment: Environment<'_>,
) -> Result<Found> {
    let usual = || environment("HOME").map(|home| PathBuf::from(home).join(".my.cnf"));
    let mut found = match (defaults_file.map(Path::new), usual()) {
        // As with the servers' own clients, that stands for none.
        (Some(path), _) if path == Path::new("/dev/null") => Found::default(),
        (Some(path), _) => from_file(path).and_then(|found| found.ok_or_else(|| ignored(path, "it is not there")))?,
        (None, Some(path)) => match from_file(&path) {
            Ok(found) => found.unwrap_or_default(),
            Err(error) => Found { warning: Some(error.message), ..Found::default() },
        },
        (None, None) => Found::default(),
    };
    let given = credentials.password.clone().or_else(|| environment("MYSQL_PWD").map(Secret::new));
    found.password = given.or(found.password);
    Ok(found)
}

fn ignored(path: &Path, why: &str) -> Error {
    Error::new(ErrorKind::Usage, format!("the option file {} can't be used: {why}", path.display()))
        .hint("name a file of mode 0600 with a group [client], or /dev/null for none")
}

/// What a file has; `None` if there is none.
fn from_file(path: &Path) -> Result<Option<Found>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(ignored(path, "it can't be read")),
    };
    let text = match files::read_text(path, files::SMALL) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(ignored(path, "it can't be read")),
        Err(error) => return Err(ignored(path, &error.to_string())),
    };
    let found = from_text(&text);
    if found.password.is_some() && metadata.permissions().mode() & 0o077 != 0 {
        return Err(ignored(path, "it holds a password and its group or everybody may read it; chmod 0600 mends that"));
    }
    Ok(Some(found))
}

/// An option file with this password, as the servers' own programs read it; `None` where no quotes can be put around it.
pub(super) fn option_file(password: &str) -> Option<String> {
    let quote = ['"', '\''].into_iter().find(|quote| !password.contains(*quote))?;
    let escaped = password.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t");
    Some(format!("[client]\npassword={quote}{escaped}{quote}\n[mariadb-backup]\npassword={quote}{escaped}{quote}\n"))
}

/// The last value of a key counts, as in the servers' own clients.
fn from_text(text: &str) -> Found {
    let (mut found, mut ours) = (Found::default(), false);
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            ours = GROUPS.contains(&group.trim());
        } else if let (true, Some((key, value))) = (ours, line.split_once('=')) {
            match key.trim() {
                "user" => found.user = Some(unquoted(value.trim())),
                "password" => found.password = Some(Secret::new(unquoted(value.trim()))),
                _ => {}
            }
        }
    }
    found
}

/// A value without the quotes around it; what follows a '#' behind a blank is a comment where there are none.
fn unquoted(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return inner.replace("\\\\", "\\");
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "[mysqld]\npassword=no\n[client]\nuser = ann # who\npassword=\"se#cret\"\n#password=no\n[other]\nuser=x\n";

    fn file(mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), TEXT).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn an_option_file_of_ours_is_read_as_it_was_written() {
        for password in ["simple", "a#b \\c", "it's", "say \"no\""] {
            let found = from_text(&option_file(password).unwrap());
            assert_eq!(found.password.unwrap().expose(), password);
        }
        assert!(option_file("'\"").is_none());
    }

    #[test]
    fn the_clients_groups_count() {
        let found = from_text(TEXT);
        assert_eq!((found.user.as_deref(), found.password.unwrap().expose()), (Some("ann"), "se#cret"));
        assert!(from_text("[client]\nuser").user.is_none());
    }

    #[test]
    fn sources_have_an_order_and_an_open_file_is_ignored() {
        let (kept, open) = (file(0o600), file(0o640));
        let environment = |name: &str| (name == "MYSQL_PWD").then(|| "environment".to_owned());
        let given = Credentials { password: Some(Secret::new("given")), ..Credentials::default() };
        let word = |credentials: &Credentials, file: &tempfile::NamedTempFile, environment: Environment<'_>| {
            let found = find(credentials, file.path().to_str(), environment).unwrap();
            assert!(!format!("{found:?}").contains("se#cret"));
            (found.password.map(|word| word.expose().to_owned()), found.warning.is_some())
        };
        assert_eq!(word(&given, &kept, &environment), (Some("given".to_owned()), false));
        assert_eq!(word(&Credentials::default(), &kept, &environment), (Some("environment".to_owned()), false));
        assert_eq!(word(&Credentials::default(), &kept, &|_| None), (Some("se#cret".to_owned()), false));
        // Who names a file is told why it is not used; of the usual one there is a warning.
        let none = Credentials::default();
        for (path, why) in
            [(open.path(), "chmod 0600"), (Path::new("/nowhere"), "not there"), (Path::new("/dev/zero"), "device")]
        {
            let error = find(&none, path.to_str(), &|_| None).unwrap_err();
            assert!(error.message.contains(&*path.to_string_lossy()) && error.message.contains(why), "{error}");
        }
        let home = tempfile::tempdir().unwrap();
        let at_home = |name: &str| (name == "HOME").then(|| home.path().to_str().unwrap().to_owned());
        assert!(find(&none, None, &at_home).unwrap().warning.is_none());
        fs::copy(open.path(), home.path().join(".my.cnf")).unwrap();
        let found = find(&none, None, &at_home).unwrap();
        assert!(found.password.is_none() && found.warning.unwrap().contains("chmod 0600"));
    }
}
