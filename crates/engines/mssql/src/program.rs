//! Programs that move databases: `sqlpackage` for dumps (BACPAC), `az` for what only Azure's control plane does.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll_engine::process::{self, memory_file};
use plimsoll_engine::server::tool;
use plimsoll_engine::temporary::{self, Folder};
use plimsoll_engine::{Error, ErrorKind, Result, Workspace};

use super::connect::Connector;
use super::copies;
use super::token;

/// Which database a program reads from or writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Target,
}

/// The program `sqlpackage`, with its version.
pub(super) fn find_sqlpackage() -> Result<(PathBuf, String)> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".dotnet/tools"));
    let folders: Vec<PathBuf> = home.into_iter().chain([PathBuf::from("/opt/sqlpackage")]).collect();
    let package = "it by 'dotnet tool install --global microsoft.sqlpackage'";
    let program = tool::find("sqlpackage", &folders, package)?;
    let version = tool::version_asked_by(&program, &["/Version"]).unwrap_or_else(|| "sqlpackage".to_owned());
    Ok((program, version))
}

/// The program `az`, with its version.
pub(super) fn find_az() -> Result<(PathBuf, String)> {
    let path = std::env::var("PATH").ok();
    let program = token::find_az(path.as_deref()).ok_or_else(|| tool::missing("az", "the Azure CLI (azure-cli)"))?;
    let version = tool::version(&program).unwrap_or_else(|| "az".to_owned());
    Ok((program, version))
}

/// `sqlpackage` with its arguments. They hold a password, so they go by a file that has no name, and not where everybody sees
/// them.
pub(super) fn sqlpackage(
    program: &Path,
    action: &str,
    side: Side,
    database: &Workspace,
    file: &Path,
    connector: &Connector,
) -> Result<Command> {
    let failed =
        |error: io::Error| Error::new(ErrorKind::Internal, format!("sqlpackage can't be told what to do: {error}"));
    let mut arguments = memory_file("arguments").map_err(failed)?;
    let told = connector.arguments()?;
    can_be_told(&told)?;
    let text = response(action, side, database, file, &told);
    arguments.write_all(text.as_bytes()).and_then(|()| arguments.rewind()).map_err(failed)?;
    let mut command = process::program(program);
    command.arg("@/dev/stdin").stdin(arguments).stdout(Stdio::null());
    Ok(command)
}

/// An error for values that would need more than quotes: how `sqlpackage` reads them then is not documented.
pub(super) fn can_be_told(told: &[(&'static str, String)]) -> Result<()> {
    match told.iter().find(|(_, value)| value.contains(['\\', '"', '\n', '\r'])) {
        None => Ok(()),
        Some((name, _)) => {
            let message =
                format!("sqlpackage can't be told a {name} with a backslash, a quotation mark or a new line in it");
            Err(Error::new(ErrorKind::Unsupported, message)
                .hint("use a user and a password without them, and a port in place of an instance"))
        }
    }
}

/// The arguments, one a line, each value in quotes. None of the values holds any itself.
fn response(action: &str, side: Side, database: &Workspace, file: &Path, told: &[(&'static str, String)]) -> String {
    let (side, other) = match side {
        Side::Source => ("Source", "Target"),
        Side::Target => ("Target", "Source"),
    };
    let quoted = |value: &str| format!("\"{value}\"");
    let mut lines = vec![format!("/Action:{action}")];
    for (name, value) in told {
        // A token is nobody's side.
        let side = if *name == "AccessToken" { "" } else { side };
        lines.push(format!("/{side}{name}:{}", quoted(value)));
    }
    lines.push(format!("/{side}DatabaseName:{}", quoted(database.name())));
    lines.push(format!("/{other}File:{}", quoted(&file.to_string_lossy())));
    lines.push(String::new());
    lines.join("\n")
}

/// A file for a dump of this database, in a folder that only we may enter; removed with this value.
pub(super) struct Dump {
    folder: Folder,
    pub(super) file: PathBuf,
}

impl Dump {
    pub(super) fn new(copy: &Workspace) -> Result<Self> {
        copies::forget_dump(copy)?;
        let folder = copies::dump_folder(copy);
        let made = DirBuilder::new().mode(0o700).create(&folder).and_then(|()| Folder::claim(folder));
        let folder = made.map_err(|error| temporary::failed("a folder for the dump", &error))?;
        // The tool takes no other ending.
        Ok(Self { file: folder.path().join(copies::DUMP), folder })
    }

    /// Moves what the tool wrote into a file that has no name.
    pub(super) fn give(self, into: &File) -> Result<()> {
        let copied = File::open(&self.file).and_then(|mut from| io::copy(&mut from, &mut into.try_clone()?));
        copied.map(drop).map_err(|error| kept(&error))
    }

    /// Puts what a file without a name holds where the tool finds it.
    pub(super) fn take(&self, from: &File) -> Result<()> {
        let copy = || {
            let mut from = from.try_clone()?;
            from.rewind()?;
            io::copy(&mut from, &mut File::create_new(&self.file)?)
        };
        copy().map(drop).map_err(|error| kept(&error))
    }

    /// Bytes that it has by now.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(fs::metadata(&self.file).ok()?.len())
    }
}

fn kept(error: &io::Error) -> Error {
    Error::new(ErrorKind::DiskFull, format!("the dump can't be kept: {error}"))
        .hint("let TMPDIR name a folder with more room, or move less with --set volume=...")
}

impl Drop for Dump {
    fn drop(&mut self) {
        self.folder.remove(|name, _| name == copies::DUMP);
    }
}

/// Resource group and name of the server with this host name.
pub(super) fn azure_server(az: &Path, host: &str) -> Result<[String; 2]> {
    let is_name = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let query = format!("[?fullyQualifiedDomainName=='{}'].[resourceGroup,name]", host.to_ascii_lowercase());
    let mut list = process::program(az);
    list.args(["sql", "server", "list", "--query", &query, "--output", "tsv"]);
    let output = process::output(list.stdin(Stdio::null()).stderr(Stdio::null()));
    let found = output.ok().filter(|output| is_name && output.status.success()).and_then(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (group, name) = text.lines().next()?.trim().split_once('\t')?;
        Some([group.to_owned(), name.to_owned()])
    });
    found.ok_or_else(|| {
        Error::new(ErrorKind::Missing, "az does not know the server, or nobody is logged in there")
            .hint("run 'az login', and 'az account set' for the subscription that has the server")
    })
}

/// The earliest moment to which Azure can restore a database (ISO 8601, UTC, whole seconds); `None` if it says none yet.
pub(super) fn earliest_restore(az: &Path, [group, server]: &[String; 2], from: &Workspace) -> Option<String> {
    let mut show = process::program(az);
    show.args(["sql", "db", "show", "--resource-group", group, "--server", server, "--name", from.name()]).args([
        "--query",
        "earliestRestoreDate",
        "--output",
        "tsv",
    ]);
    let output = process::output(show.stdin(Stdio::null()).stderr(Stdio::null()));
    let output = output.ok().filter(|output| output.status.success())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let moment = said.trim().get(..19)?;
    let is_moment = moment.starts_with(|c: char| c.is_ascii_digit()) && moment.as_bytes()[10] == b'T';
    is_moment.then(|| moment.to_owned())
}

/// `az` restoring a database as it was at a moment (ISO 8601, UTC).
pub(super) fn restore(
    az: &Path,
    [group, server]: &[String; 2],
    from: &Workspace,
    to: &Workspace,
    time: &str,
) -> Command {
    let mut command = process::program(az);
    command.args(["sql", "db", "restore", "--resource-group", group, "--server", server]);
    command.args(["--name", from.name(), "--dest-name", to.name(), "--time", time, "--output", "none"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_lines_with_values_in_quotes() {
        let told = [("ServerName", "tcp:h,1433".to_owned()), ("Password", "a b'c".to_owned())];
        let workspace = Workspace::run("x").unwrap().copy('a');
        let text = response("Import", Side::Target, &workspace, Path::new("/tmp/d.bacpac"), &told);
        assert_eq!(
            text,
            "/Action:Import\n/TargetServerName:\"tcp:h,1433\"\n/TargetPassword:\"a b'c\"\n\
             /TargetDatabaseName:\"plimsoll_copy_xa\"\n/SourceFile:\"/tmp/d.bacpac\"\n"
        );
        let token = [("AccessToken", "t".to_owned())];
        let text = response("Export", Side::Source, &workspace, Path::new("/tmp/d.bacpac"), &token);
        assert!(text.starts_with("/Action:Export\n/AccessToken:\"t\"\n/SourceDatabaseName:"), "{text}");
    }

    /// How it would read them is a guess, and a wrong one may tell the password to somebody.
    #[test]
    fn what_needs_more_than_quotes_is_refused() {
        for password in ["a\"b", "a\\b", "a\nb"] {
            let error = can_be_told(&[("User", "ann".to_owned()), ("Password", password.to_owned())]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unsupported);
            assert!(error.message.contains("Password") && !error.message.contains(password), "{error}");
        }
        assert!(can_be_told(&[("Password", "it's; fine, {really}".to_owned())]).is_ok());
    }

    #[test]
    fn a_restore_says_from_where_to_where_and_when() {
        let workspace = Workspace::run("x").unwrap();
        let server = ["g 1".to_owned(), "srv".to_owned()];
        let command =
            restore(Path::new("az"), &server, &workspace.copy('a'), &workspace.copy('b'), "2026-11-22T08:00:00");
        let arguments: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(
            arguments.join(" "),
            "sql db restore --resource-group g 1 --server srv --name plimsoll_copy_xa --dest-name plimsoll_copy_xb \
             --time 2026-11-22T08:00:00 --output none"
        );
    }

    #[test]
    fn a_dump_has_a_folder_of_its_own_that_goes_with_it() {
        let workspace = Workspace::run("dumptest").unwrap().copy('z');
        // What a run that was killed has left: the system has let go of the lock.
        let folder = copies::dump_folder(&workspace);
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        drop(Folder::claim(folder.clone()).unwrap());
        fs::write(folder.join(copies::DUMP), "rows").unwrap();
        let dump = Dump::new(&workspace).unwrap();
        assert_eq!(dump.bytes(), None);
        fs::write(&dump.file, "rows").unwrap();
        assert_eq!(dump.bytes(), Some(4));
        drop(dump);
        assert!(!copies::dump_folder(&workspace).exists());
    }
}
