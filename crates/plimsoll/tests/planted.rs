//! A planted secret, given in every way in which one can be given, is searched in everything that can be seen: outputs, stores, reports,
//! temporary files, command lines and environments of children.
//!
//! `PLIMSOLL_PLANTED=all cargo test -p plimsoll --test planted -- --nocapture` does everything in each way, and prints what was
//! searched; without that, each way is tried once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use common::Scene;
use plimsoll_engine::process::tree;
use plimsoll_testbed::tds::{Encryption, Identity, Refusal, TdsServer, answers};
use plimsoll_testbed::{MariaDb, Postgres};

/// It has signs that URLs, shells, option files and JSON write in other ways.
const SECRET: &str = "pl4nted/s3cret@&1:x";
const TOKEN: &str = "eyJ0.pl4nted-access-token.of-more-than-20-signs";
/// Files of a scene in which the test itself has put the secret.
const GIVEN: [&str; 3] = ["password", ".pgpass", ".my.cnf"];

/// How a secret is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Url,
    File,
    Environment,
    EngineEnvironment,
    OptionFile,
    Prompt,
}

const WAYS: [Way; 6] = [Way::Url, Way::File, Way::Environment, Way::EngineEnvironment, Way::OptionFile, Way::Prompt];

/// A server with a user `owner` that has the secret for a password.
enum Server {
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Server {
    fn postgres() -> Self {
        let server = Postgres::builder().start().unwrap();
        server.psql(&format!("CREATE ROLE owner SUPERUSER LOGIN PASSWORD '{SECRET}'")).unwrap();
        Self::Postgres(server)
    }

    fn mariadb() -> Self {
        let server = MariaDb::builder().start().unwrap();
        server
            .sql(&format!(
                "CREATE USER owner@'127.0.0.1' IDENTIFIED BY '{SECRET}'; GRANT ALL ON *.* TO owner@'127.0.0.1' WITH GRANT OPTION"
            ))
            .unwrap();
        Self::MariaDb(server)
    }

    fn url(&self, user: &str) -> String {
        match self {
            Self::Postgres(server) => server.tcp_url(user, "", "postgres").replace(":@", "@"),
            Self::MariaDb(server) => server.tcp_url(user, "", "test").replace(":@", "@"),
        }
    }
}

fn encoded() -> String {
    SECRET
        .bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The secret in a text, in one of the forms in which somebody would find it.
fn is_in(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let forms = [SECRET.to_owned(), encoded(), SECRET.replace('/', "\\/").replace(':', "\\:"), TOKEN.to_owned()];
    forms.iter().any(|form| text.contains(form) || text.to_lowercase().contains(&form.to_lowercase()))
}

/// What was looked at, and where the secret was seen.
#[derive(Default)]
struct Search {
    looked_at: BTreeSet<String>,
    seen: BTreeSet<String>,
}

impl Search {
    fn look(&mut self, place: String, bytes: &[u8]) {
        if is_in(bytes) {
            self.seen.insert(place.clone());
        }
        self.looked_at.insert(place);
    }

    /// All files below a folder but those with which the secret was given.
    fn folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if path.is_dir() {
                self.folder(&path);
            } else if !GIVEN.contains(&name.as_str())
                && let Ok(bytes) = fs::read(&path)
            {
                self.look(format!("file {name}"), &bytes);
            }
        }
    }

    /// The children of a process, and their children.
    fn children(&mut self, of: u32, way: Way) {
        for pid in tree(of) {
            let read = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            let name = String::from_utf8_lossy(&read("comm")).trim().to_owned();
            // What the user has typed or set is the user's; for a moment a child is still a copy of ourselves.
            let is_ours = fs::read_link(format!("/proc/{pid}/exe"))
                .is_ok_and(|program| program == Path::new(env!("CARGO_BIN_EXE_plimsoll")));
            if pid != of && !is_ours {
                self.look(format!("environment of {name}"), &read("environ"));
            }
            if !is_ours || way != Way::Url {
                self.look(format!("command line of {name}"), &read("cmdline"));
            }
        }
    }
}

/// The program with these words, which get the secret in that way.
fn command(scene: &Scene, server: &Server, way: Way, words: &[&str]) -> Command {
    let mut url = server.url("owner");
    let write = |name: &str, text: &str| {
        fs::write(scene.path(name), text).unwrap();
        fs::set_permissions(scene.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    };
    if way == Way::Url {
        url = url.replace("owner@", &format!("owner:{}@", encoded()));
    }
    let mut all: Vec<String> = words.iter().map(|word| word.replace("URL", &url)).collect();
    if way == Way::File {
        write("password", SECRET);
        all.extend(["--password-file".to_owned(), "password".to_owned()]);
    }
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut command = scene.command(&all);
    if way == Way::Prompt {
        // A terminal of its own, on which the secret is typed.
        let program = command.get_program().to_string_lossy().into_owned();
        let line: Vec<String> = [program.as_str()].iter().chain(&all).map(|word| format!("'{word}'")).collect();
        let environment: Vec<_> =
            command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
        command = Command::new("script");
        command.args(["--quiet", "--return", "--echo", "never", "--command", &line.join(" "), "/dev/null"]);
        command.current_dir(scene.folder());
        for (name, value) in environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
    match (way, server) {
        (Way::Environment, _) => drop(command.env("PLIMSOLL_PASSWORD", SECRET)),
        (Way::EngineEnvironment, Server::Postgres(_)) => drop(command.env("PGPASSWORD", SECRET)),
        (Way::EngineEnvironment, Server::MariaDb(_)) => drop(command.env("MYSQL_PWD", SECRET)),
        (Way::OptionFile, Server::Postgres(_)) => {
            write(".pgpass", &format!("*:*:*:*:{}\n", SECRET.replace(':', "\\:")));
        }
        (Way::OptionFile, Server::MariaDb(_)) => write(".my.cnf", &format!("[client]\npassword=\"{SECRET}\"\n")),
        _ => {}
    }
    fs::create_dir_all(scene.path("tmp")).unwrap();
    command.env("TMPDIR", scene.path("tmp")).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "1");
    command
}

/// Runs a command to its end, and looks at its children and files all the while; gives its exit code.
fn watch(search: &mut Search, scene: &Scene, mut command: Command, way: Way) -> i32 {
    let open = |name: &str| Stdio::from(fs::File::options().create(true).append(true).open(scene.path(name)).unwrap());
    command.stdout(open("out.txt")).stderr(open("err.txt"));
    command.stdin(if way == Way::Prompt { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().unwrap();
    if let Some(stdin) = &mut child.stdin {
        // It has to have asked, as what is typed before that is forgotten.
        common::wait_until(|| {
            let asked = fs::read_to_string(scene.path("out.txt")).unwrap_or_default().contains("Password for");
            asked || child_has_ended(scene)
        });
        thread::sleep(Duration::from_millis(200));
        stdin.write_all(format!("{SECRET}\n").as_bytes()).unwrap();
    }
    loop {
        search.children(child.id(), way);
        search.folder(&scene.path("tmp"));
        if let Some(status) = child.try_wait().unwrap() {
            search.folder(scene.folder());
            return status.code().unwrap_or(-1);
        }
        thread::sleep(Duration::from_millis(4));
    }
}

fn child_has_ended(scene: &Scene) -> bool {
    fs::read_to_string(scene.path("out.txt")).unwrap_or_default().contains("error:")
}

const SMALL: [&str; 9] =
    ["--target", "URL", "--short", "--repetitions", "1", "--set", "volume=1MiB", "--set", "tables=1"];

/// What is done in each way: with the dump tools, and against a server that refuses.
fn work(search: &mut Search, server: &Server, way: Way, is_all: bool) {
    let scene = Scene::new();
    let run = |test: &'static str| [&["run", test][..], &SMALL, &["--allow-create-database", "--json"]].concat();
    // The dump tools get the secret from us, in whatever way we have got it.
    let mut tried = vec![if is_all || way == Way::File { (run("import"), 0) } else { (run("read-scan"), 0) }];
    if is_all {
        tried.extend([
            (run("read-scan"), 0),
            (vec!["doctor", "URL"], 0),
            (vec!["doctor", "URL", "--self-test"], 0),
            (vec!["clean", "URL"], 0),
        ]);
    }
    for (words, code) in tried {
        let command = command(&scene, server, way, &words);
        let ended = watch(search, &scene, command, way);
        let said = || fs::read_to_string(scene.path("err.txt")).unwrap();
        // A self-test tells what the server lacks.
        assert!(ended == code || words.contains(&"--self-test"), "{way:?} {words:?}: {ended}\n{}", said());
    }
    for report in ["--html", "--markdown", "--csv"] {
        let said = scene.say(&["report", "latest", report, &format!("report{report}")]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    for words in [&["show", "latest", "--full"][..], &["show", "latest", "--json"], &["runs", "--json"]] {
        let said = scene.say(words);
        search.look(words.join(" "), format!("{}{}", said.out, said.err).as_bytes());
    }
    // A user who is not there, and a password that is wrong: servers repeat what they get.
    let strange = server.url("owner").replace("owner@", &format!("{}:wrong@", encoded()));
    let said = scene.say(&["run", "read-scan", "--target", &strange]);
    assert_eq!(said.code, 4, "{said:?}");
    search.folder(scene.folder());
    let mode = |name: &str| fs::metadata(scene.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("runs.db"), mode("report--html")), (0o600, 0o600));
}

#[test]
fn a_planted_secret_is_seen_nowhere() {
    let is_all = std::env::var_os("PLIMSOLL_PLANTED").is_some();
    let mut search = Search::default();
    for server in [Server::postgres(), Server::mariadb()] {
        for way in WAYS {
            work(&mut search, &server, way, is_all);
        }
    }
    by_token(&mut search);
    let _ = writeln!(io::stdout(), "{} things were searched: {:?}", search.looked_at.len(), search.looked_at);
    assert!(search.seen.is_empty(), "the secret is in {:?}", search.seen);
}

/// A token, by a command, at a server that repeats it when it refuses the log-in.
fn by_token(search: &mut Search) {
    let scene = Scene::new();
    let identity = Identity::make("localhost", scene.folder()).unwrap();
    let server = TdsServer::builder()
        .encryption(Encryption::Full, identity)
        .admission(|login| {
            let token = login.token.clone().unwrap_or_default();
            Err(Refusal {
                class: 14,
                ..Refusal::new(18456, &format!("Login failed for token '{token}', {token}\u{2028}."))
            })
        })
        .start(|request, _| answers::usual(request))
        .unwrap();
    let url = format!(
        "mssql://localhost:{}/sales?serverCertificate={}",
        server.port(),
        scene.path("certificate.pem").display()
    );
    fs::write(scene.path("password"), TOKEN).unwrap();
    fs::create_dir_all(scene.path("tmp")).unwrap();
    let mut command =
        scene.command(&["run", "read-scan", "--target", &url, "--json", "--token-command", "cat password"]);
    command.env("TMPDIR", scene.path("tmp"));
    assert_eq!(watch(search, &scene, command, Way::File), 4);
    assert_eq!(server.logins()[0].token.as_deref(), Some(TOKEN));
    assert!(fs::read_to_string(scene.path("out.txt")).unwrap().contains("Login failed for token '***', ***"));
}

/// A crash, or Ctrl-\\, would write the memory with the secrets into the current folder.
#[test]
fn no_core_is_left_where_the_shell_allows_them() {
    let scene = Scene::new();
    // Somebody who never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://u@127.0.0.1:{}/", silent.local_addr().unwrap().port());
    let ours = scene.command(&["doctor", &url]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited && exec \"$@\"", "sh"]).arg(ours.get_program()).args(ours.get_args());
    shell.current_dir(scene.folder()).env("HOME", scene.folder()).env("PLIMSOLL_PASSWORD", SECRET);
    let mut child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // It is there, and has begun its work.
    let _peer = silent.accept().unwrap();
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");
}

/// Without the password, a server would say that it is wrong.
#[test]
fn a_password_that_is_not_utf_8_is_refused_and_not_dropped() {
    let scene = Scene::new();
    let mut doctor = scene.command(&["doctor", "mysql://ann@127.0.0.1:1/d"]);
    let said = common::said(&doctor.env("PLIMSOLL_PASSWORD", OsStr::from_bytes(b"pl4nted-\xe9")).output().unwrap());
    said.failed(2, &["PLIMSOLL_PASSWORD is not UTF-8"]);
    assert!(!said.err.contains("pl4nted"), "{said:?}");
}
