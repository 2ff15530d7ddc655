//! Whatever a file on the command line is: it is read to a limit, or named as what it is, and nobody waits for it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt as _;

use common::Scene;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat};

fn pipe(scene: &Scene, name: &str) -> String {
    let path = scene.path(name);
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path.display().to_string()
}

#[test]
fn what_is_no_file_is_named_and_not_waited_for() {
    let scene = Scene::new();
    let (pipe, definition) = (pipe(&scene, "pipe"), pipe(&scene, "pipe.toml"));
    let zero = scene.path("zero.toml");
    std::os::unix::fs::symlink("/dev/zero", &zero).unwrap();
    let (zero, sqlite) = (zero.display().to_string(), scene.sqlite());
    let is_pipe = &["it is a pipe (FIFO)"][..];
    let is_device = &["it is a device"][..];
    for (words, code, said) in [
        (vec!["run", &definition, "--target", &sqlite], 2, is_pipe),
        (vec!["run", &zero, "--target", &sqlite], 2, is_device),
        (vec!["run", "read-scan", "--target", &format!("lab:{definition}")], 2, is_pipe),
        (vec!["run", "read-scan", "--target", &format!("lab:{zero}")], 2, is_device),
        (vec!["run", "read-scan", "--target", "postgres://ann@127.0.0.1:1/d", "--password-file", &pipe], 2, is_pipe),
        (vec!["doctor", "postgres://ann@127.0.0.1:1/d", "--password-file", "/dev/zero"], 2, is_device),
        (vec!["doctor", &format!("postgres://ann@h:1/d?sslmode=verify-full&sslrootcert={pipe}")], 2, is_pipe),
        (vec!["doctor", &format!("mysql://ann@h:1/d?ssl-mode=VERIFY_CA&ssl-ca={pipe}")], 2, is_pipe),
        (vec!["doctor", &format!("mssql://ann:x@h:1/d?serverCertificate={pipe}")], 2, is_pipe),
        (vec!["runs", "--store", &pipe], 7, &["is a pipe (FIFO), not a result store"]),
        (vec!["runs", "--store", "/dev/zero"], 7, &["is a device, not a result store"]),
        (vec!["run", "read-scan", "--target", &sqlite, "--store", &pipe], 7, &["is a pipe (FIFO), not a result store"]),
        (vec!["runs", "--merge", &pipe], 7, &["is a pipe (FIFO), not a result store"]),
    ] {
        scene.say(&words).failed(code, said);
    }
    // The machine's root certificates are where the environment says.
    for (variable, value) in
        [("SSL_CERT_FILE", pipe.as_str()), ("SSL_CERT_FILE", "/dev/zero"), ("SSL_CERT_DIR", "/dev")]
    {
        for url in ["postgres://ann@h:1/d?sslmode=verify-full&sslrootcert=system", "mssql://ann:x@127.0.0.1:1/d"] {
            let said = common::said(&scene.command(&["doctor", url]).env(variable, value).output().unwrap());
            let is_refused = said.code == 2 && said.err.contains(variable) && said.err.contains("is no regular file");
            assert!(is_refused || url.starts_with("mssql") && said.code == 4, "{url} {value}: {said:?}");
        }
    }
    // An option file that can't be read is a warning; nobody is there.
    for (url, variable) in [("postgres://ann@127.0.0.1:1/d", "PGPASSFILE"), ("mysql://ann@127.0.0.1:1/d", "HOME")] {
        let mut command = scene.command(&["doctor", url]);
        std::fs::create_dir_all(scene.path("home")).unwrap();
        if variable == "HOME" {
            self::pipe(&scene, "home/.my.cnf");
            command.env("HOME", scene.path("home"));
        } else {
            command.env(variable, &pipe);
        }
        common::said(&command.output().unwrap()).failed(4, &["cannot connect"]);
    }
}

#[test]
fn a_store_is_for_its_owner_alone() {
    let scene = Scene::new();
    let said =
        scene.say(&["run", "read-scan", "--target", &scene.sqlite(), "--set", "volume=1MiB", "--repetitions", "1"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(scene.say(&["report", "latest", "--html", "report.html"]).code, 0);
    for name in ["runs.db", "report.html"] {
        let mode = std::fs::metadata(scene.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
    }
    // No report takes the place of a database, whichever way it is named.
    std::os::unix::fs::symlink(scene.store(), scene.path("link")).unwrap();
    for (option, path) in
        [("--csv", scene.store()), ("--html", scene.path("link")), ("--markdown", scene.path("data.db"))]
    {
        std::fs::copy(scene.store(), scene.path("data.db")).unwrap();
        let path = path.display().to_string();
        scene.say(&["report", "latest", option, &path]).failed(2, &["is an SQLite database", "name another file"]);
    }
    for part in ["-wal", "-shm", "-journal", ".lock"] {
        let path = format!("{}{part}", scene.store().display());
        scene.say(&["report", "latest", "--csv", &path]).failed(2, &["is a part of the SQLite database"]);
    }
    // Two have a file each, however it is spelled.
    let both = ["report", "latest", "--html", "both.html", "--csv", "./both.html"];
    scene.say(&both).failed(2, &["two reports would be written to", "a file of its own"]);
    // Nor does one that a link leads to.
    std::fs::write(scene.path("data.db-wal"), "what was kept last").unwrap();
    std::os::unix::fs::symlink(scene.path("data.db-wal"), scene.path("page.html")).unwrap();
    for option in ["--html", "--csv", "--markdown"] {
        let path = scene.path("page.html").display().to_string();
        scene.say(&["report", "latest", option, &path]).failed(2, &["is a part of the SQLite database"]);
    }
    assert_eq!(std::fs::read_to_string(scene.path("data.db-wal")).unwrap(), "what was kept last");
    std::os::unix::fs::symlink("loop", scene.path("loop")).unwrap();
    let path = scene.path("loop").display().to_string();
    scene.say(&["report", "latest", "--html", &path]).failed(2, &["loop"]);
    assert_eq!(scene.say(&["runs"]).code, 0);
    // A link that leads nowhere yet leads to a store for its owner.
    std::os::unix::fs::symlink(scene.path("elsewhere.db"), scene.path("later.db")).unwrap();
    let later = scene.path("later.db").display().to_string();
    let said = scene.say(&["runs", "--merge", &scene.store().display().to_string(), "--store", &later]);
    assert_eq!(said.code, 0, "{said:?}");
    let mode = std::fs::metadata(scene.path("elsewhere.db")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

/// Locks of a process on a file end when the process closes it once, whoever took them: another program that looks into the store would take
/// it for unused then, and remove its log.
/// A list lets somebody in whom the mode does not show, and nobody of the group whose place its mask takes.
#[test]
fn a_report_is_for_whom_the_one_before_it_was_for() {
    let scene = Scene::new();
    let run = ["run", "read-scan", "--target", &scene.sqlite(), "--set", "volume=1MiB", "--repetitions", "1"];
    assert_eq!(scene.say(&run).code, 0);
    let path = scene.path("listed.html");
    std::fs::write(&path, "").unwrap();
    let entry =
        |[tag, rights]: [u16; 2], id: u32| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    let nobody_else = u32::MAX;
    // Version 2: the owner, a user, the group, the mask, and others.
    let list = [
        2_u32.to_le_bytes().to_vec(),
        entry([1, 6], nobody_else),
        entry([2, 6], 65_534),
        entry([4, 0], nobody_else),
        entry([16, 6], nobody_else),
        entry([32, 0], nobody_else),
    ]
    .concat();
    rustix::fs::setxattr(&path, "system.posix_acl_access", &list, XattrFlags::empty()).unwrap();
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(), 0o660);
    let report = || assert_eq!(scene.say(&["report", "latest", "--html", "listed.html"]).code, 0);
    report();
    let mut kept = vec![0; 256];
    let length = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut kept[..]).unwrap();
    assert_eq!((&kept[..length], mode()), (&list[..], 0o660));
    // Nobody becomes somebody else by a report.
    rustix::fs::removexattr(&path, "system.posix_acl_access").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4750)).unwrap();
    report();
    assert_eq!(mode(), 0o750);
}

#[test]
fn the_store_is_no_target() {
    let scene = Scene::new();
    let store = scene.store();
    let target = format!("sqlite:{}", store.display());
    // It is not there yet.
    for words in [&["run", "insert", "--short", "--target", &target][..], &["doctor", &target]] {
        scene.say(words).failed(2, &["is the result store", "--store FILE"]);
    }
    let other = scene.path("other name.db");
    let kept = ["run", "probe", "--short", "--target", "lab:azure-sql-db/S2"];
    assert_eq!(scene.say(&kept).code, 0);
    std::fs::hard_link(&store, &other).unwrap();
    let linked = format!("sqlite:{}", other.display());
    let of_lab = format!("lab:azure-sql-db/S2?file={}", store.display());
    for target in [&target, &linked, &of_lab] {
        for words in [
            &["run", "insert", "--short", "--target", target][..],
            &["doctor", target, "--self-test"],
            &["clean", target],
            &["plan", "mi", "--files", target],
        ] {
            scene.say(words).failed(2, &["is the result store", "--store FILE"]);
        }
    }
    // A store with two names is refused by itself.
    std::fs::remove_file(other).unwrap();
    assert_eq!(scene.say(&["runs", "--json"]).json().len(), 1);
}

/// SQLite takes these for something else than files. Stores and what lies beside them by another name are none of it.
#[test]
fn a_store_has_the_name_that_was_given() {
    let scene = Scene::new();
    let foreign = scene.path("v.db");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE letters (text)").unwrap();
    let before = std::fs::read(&foreign).unwrap();
    let run = ["run", "update", "--short", "--repetitions", "1", "--target", "lab:azure-sql-db/S2@v12-retest"];
    for store in ["file:v.db", ":memory:", "file::memory:?cache=shared"] {
        let store = ["--store", store];
        assert_eq!(scene.say(&[&run[..], &["--set", "duration=1s"], &store].concat()).code, 0, "{store:?}");
        assert_eq!(scene.say(&[&["runs", "--json"][..], &store].concat()).json().len(), 1, "{store:?}");
        assert!(scene.path(store[1]).is_file(), "{store:?}");
    }
    assert_eq!(std::fs::read(&foreign).unwrap(), before);
}
