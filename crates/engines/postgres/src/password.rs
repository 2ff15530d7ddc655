//! Where a password comes from: the URL, the program, PGPASSWORD, a password file (PostgreSQL manual, 34.15 and 34.16).

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::{fs, io};

use plimsoll_engine::files;
use plimsoll_engine::target::{Credentials, Environment, Secret};

use super::hosts::Host;

#[derive(Debug, Clone, Copy)]
pub(super) struct Login<'a> {
    pub(super) host: &'a str,
    pub(super) port: &'a str,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// A password, if there is one, and what the user should know of the search.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) password: Option<Secret>,
    pub(super) warning: Option<String>,
}

impl From<Secret> for Found {
    fn from(password: Secret) -> Self {
        Self { password: Some(password), warning: None }
    }
}

/// Searches everywhere but in the URL: a password there goes before all others.
pub(super) fn find(
    login: Login<'_>,
    credentials: &Credentials,
    passfile: Option<&str>,
    environment: Environment<'_>,
) -> Found {
    let given = credentials.password.clone().or_else(|| environment("PGPASSWORD").map(Secret::new));
    if given.is_some() {
        return Found { password: given, warning: None };
    }
    let path = passfile.map(PathBuf::from).or_else(|| environment("PGPASSFILE").map(PathBuf::from));
    let path = path.or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".pgpass")));
    path.map_or_else(Found::default, |path| from_file(login, &path))
}

fn from_file(login: Login<'_>, path: &std::path::Path) -> Found {
    let warn = |text: &str| Found {
        password: None,
        warning: Some(format!("the password file {} was ignored: {text}", path.display())),
    };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::default(),
        Err(_) => return warn("it can't be read"),
    };
    if !metadata.is_file() {
        return warn("it is not a plain file");
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return warn("its group or everybody may read it; chmod 0600 mends that");
    }
    match files::read_text(path, files::SMALL) {
        Ok(text) => {
            Found { password: text.lines().find_map(|line| from_line(login, line)).map(Secret::new), warning: None }
        }
        Err(_) => warn("it can't be read"),
    }
}

/// The lines of a password file that have these hosts' passwords; none has a new line in it.
pub(super) fn lines(hosts: &[Host]) -> Option<String> {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace(':', "\\:");
    let mut lines = Vec::new();
    for host in hosts {
        let Some(password) = &host.password else { continue };
        let password = password.expose();
        if password.contains(['\n', '\r']) {
            return None;
        }
        let name = host.searched();
        // libpq looks for the folder of its sockets by another name.
        let names = if name.starts_with('/') { vec![name.as_str(), "localhost"] } else { vec![name.as_str()] };
        for name in if hosts.len() == 1 { vec!["*"] } else { names } {
            let name = if name == "*" { name.to_owned() } else { escaped(name) };
            lines.push(format!("{name}:{}:*:*:{}\n", host.port, escaped(password)));
        }
    }
    Some(lines.concat())
}

/// The password of a line `host:port:database:user:password`, if the line is for this login. `*` stands for everything;
/// a backslash takes the next character as it is.
fn from_line(login: Login<'_>, line: &str) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![(String::new(), false)];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        // The password is the rest of the line, so colons in it are its own.
        let last = fields.len() == 5;
        let field = fields.last_mut()?;
        match character {
            '\\' => {
                field.0.extend(characters.next());
                field.1 = true;
            }
            ':' if !last => fields.push((String::new(), false)),
            _ => field.0.push(character),
        }
    }
    let [host, port, database, user, password] = fields.try_into().ok()?;
    let meets = |field: &(String, bool), value: &str| (field.0 == "*" && !field.1) || field.0 == value;
    let host = meets(&host, login.host) || (login.host.starts_with('/') && host.0 == "localhost");
    let all = host && meets(&port, login.port) && meets(&database, login.database) && meets(&user, login.user);
    all.then_some(password.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login { host: "db", port: "5432", database: "sales", user: "ann" };

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    fn search(file: &tempfile::NamedTempFile) -> Found {
        find(LOGIN, &Credentials::default(), file.path().to_str(), &|_| None)
    }

    #[test]
    fn a_line_of_ours_is_read_as_it_was_written() {
        let host = |name: &str, password: &str| Host {
            name: name.to_owned(),
            address: None,
            port: 5432,
            password: Some(Secret::new(password)),
        };
        let found = |lines: &str, login| lines.lines().find_map(|line| from_line(login, line));
        for password in ["simple", "a:b\\c d#'\"", "*"] {
            let one = lines(&[host("elsewhere", password)]).unwrap();
            assert_eq!(found(&one, LOGIN).as_deref(), Some(password));
            let two = lines(&[host("db", password), host("d:b", "another"), host("/tmp", "third")]).unwrap();
            let at = |host| found(&two, Login { host, ..LOGIN });
            assert_eq!(
                [at("db"), at("d:b"), at("else")],
                [Some(password.to_owned()), Some("another".to_owned()), None]
            );
            assert_eq!(at("localhost").as_deref(), Some("third"));
        }
        assert_eq!(lines(&[host("db", "two\nlines")]), None);
    }

    #[test]
    fn lines_match_by_field_and_wildcard() {
        let text =
            "# db:5432:sales:ann:no\ndb:5433:sales:ann:no\n*:*:\\*:ann:no\ndb:*:sales:ann:a\\:b:c\\\\\n*:*:*:*:late";
        let found = search(&file(text, 0o600));
        assert_eq!(found.password.unwrap().expose(), "a:b:c\\");
        assert!(search(&file("other:*:*:*:no", 0o600)).password.is_none());
    }

    #[test]
    fn a_file_that_others_may_read_is_ignored_with_a_warning() {
        let found = search(&file("*:*:*:*:planted", 0o640));
        assert!(found.password.is_none() && found.warning.as_ref().unwrap().contains("0600"));
        assert!(!format!("{found:?}").contains("planted"));
    }

    #[test]
    fn sources_have_an_order() {
        let file = file("*:*:*:*:file", 0o600);
        let environment = |name: &str| (name == "PGPASSWORD").then(|| "environment".to_owned());
        let given = Credentials { password: Some(Secret::new("given")), ..Credentials::default() };
        let word = |credentials: &Credentials, environment: Environment<'_>| {
            find(LOGIN, credentials, file.path().to_str(), environment).password.map(|word| word.expose().to_owned())
        };
        assert_eq!(word(&given, &environment).as_deref(), Some("given"));
        assert_eq!(word(&Credentials::default(), &environment).as_deref(), Some("environment"));
        assert_eq!(word(&Credentials::default(), &|_| None).as_deref(), Some("file"));
    }
}
