//! SQL Server as the program meets it, by a server of our own that speaks TDS: every way to be refused or left ends with one
//! sentence, the right exit code and no secret.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use common::{Said, Scene};
use plimsoll_testbed::tds::{
    Column, Datum, Encryption, Identity, Kind, Outcome, Refusal, Reply, Request, TdsServer, answers,
};

const PLANTED: &str = "planted-pa55word";

/// Runs a test there, with the password in the environment.
fn run(scene: &Scene, target: &str) -> Said {
    let mut command = scene.command(&[
        "run",
        "read-scan",
        "--short",
        "--repetitions",
        "1",
        "--set",
        "volume=1MiB",
        "--target",
        target,
    ]);
    common::said(&command.env("PLIMSOLL_PASSWORD", PLANTED).output().unwrap())
}

fn url(server: &TdsServer, query: &str) -> String {
    format!("mssql://ann@localhost:{}/sales{query}", server.port())
}

/// Asserts what a failed run says, and that the secret is nowhere.
fn failed(scene: &Scene, said: &Said, code: i32, words: &[&str]) {
    said.failed(code, words);
    let store = std::fs::read(scene.store()).unwrap_or_default();
    assert!(!said.out.contains(PLANTED) && !said.err.contains(PLANTED), "{said:#?}");
    assert!(!store.windows(PLANTED.len()).any(|part| part == PLANTED.as_bytes()));
}

#[test]
fn a_run_goes_over_the_line_from_its_begin_to_its_end() {
    let scene = Scene::new();
    let server =
        TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| answers::working(request)).unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false"));
    assert_eq!(said.code, 0, "{said:#?}");
    // Nobody said that others may lose their cache.
    assert!(!server.requests().iter().any(|request| request.sql().contains("DROPCLEANBUFFERS")));
    assert!(format!("{said:?}").contains("dropCleanBuffers=true"), "{said:#?}");
    let server =
        TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| answers::working(request)).unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false&dropCleanBuffers=true"));
    assert_eq!(said.code, 0, "{said:#?}");
    assert!(server.server_errors().is_empty(), "{:?}", server.server_errors());
    let requests = server.requests();
    let loaded: usize = requests
        .iter()
        .filter_map(|request| match request {
            Request::Bulk(bulk) => Some(bulk.rows.len()),
            _ => None,
        })
        .sum();
    assert!(loaded > 1000, "{loaded}");
    let texts: Vec<&str> = requests.iter().map(Request::sql).collect();
    let first = |words: &str| texts.iter().position(|sql| sql.contains(words)).unwrap_or_else(|| panic!("no {words}"));
    let order = [
        "N'CREATE SCHEMA ' + QUOTENAME(N'plimsoll_run_",
        "PRIMARY KEY CLUSTERED ([RowId])",
        "UPDATE STATISTICS [plimsoll_run_",
        "DBCC DROPCLEANBUFFERS",
        "SELECT COUNT_BIG(*) FROM [plimsoll_run_",
    ];
    let workspaces: Vec<usize> = order.iter().map(|words| first(words)).collect();
    assert!(workspaces.is_sorted(), "{workspaces:?}");
    assert!(
        server
            .logins()
            .iter()
            .all(|login| login.application.starts_with("plimsoll") && login.workstation == "plimsoll")
    );
}

#[test]
fn nobody_at_the_port() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let said = run(&scene, &format!("mssql://ann@127.0.0.1:{port}/sales"));
    failed(&scene, &said, 4, &[&format!("cannot connect to 127.0.0.1:{port}"), "firewall"]);
}

#[test]
fn a_certificate_that_is_not_to_be_trusted() {
    let scene = Scene::new();
    let identity = Identity::make("elsewhere.example", scene.folder()).unwrap();
    let server = TdsServer::builder()
        .encryption(Encryption::Full, identity)
        .start(|request, _| answers::usual(request))
        .unwrap();
    let said = run(&scene, &url(&server, ""));
    failed(&scene, &said, 4, &["no safe connection to localhost", "certificate", "trustServerCertificate=true"]);
    assert!(server.logins().is_empty());
}

/// What excludes each other is wrong usage, and nobody is asked.
#[test]
fn a_certificate_and_the_name_in_it() {
    let scene = Scene::new();
    let target = "mssql://ann@localhost:1/sales?hostNameInCertificate=a.example&serverCertificate=/etc/hostname";
    failed(&scene, &run(&scene, target), 2, &["exclude each other"]);
}

#[test]
fn a_wrong_password() {
    let scene = Scene::new();
    let refusal = Refusal { class: 14, ..Refusal::new(18456, "Login failed for user 'ann'.") };
    let server = TdsServer::builder()
        .admission(move |_| Err(refusal.clone()))
        .start(|request, _| answers::usual(request))
        .unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false"));
    failed(&scene, &said, 4, &["Login failed for user 'ann' (error 18456, state 1)", "SQLCMDPASSWORD"]);
    assert_eq!(server.logins()[0].password, PLANTED);
}

#[test]
fn a_database_that_is_not_there() {
    let scene = Scene::new();
    let text = "Cannot open database \"sales\" requested by the login. The login failed.";
    let refusal = Refusal { class: 11, ..Refusal::new(4060, text) };
    let server = TdsServer::builder()
        .admission(move |_| Err(refusal.clone()))
        .start(|request, _| answers::usual(request))
        .unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false"));
    failed(&scene, &said, 4, &["Cannot open database", "error 4060", "[sales]"]);
}

#[test]
fn a_login_that_may_only_read() {
    let scene = Scene::new();
    let server = TdsServer::builder().start(|request, _| {
        if request.sql().contains("CREATE SCHEMA") && !request.sql().contains("HAS_PERMS") {
            let text =
                "The specified schema name \"plimsoll\" either does not exist or you do not have permission to use it.";
            return Reply::error(Refusal::new(2760, text));
        }
        answers::usual(request)
    });
    let server = server.unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false"));
    failed(&scene, &said, 5, &["permission", "GRANT CREATE TABLE, CREATE SCHEMA", "[ann]"]);
}

#[test]
fn a_server_that_hangs_up_in_the_middle_of_a_result() {
    let scene = Scene::new();
    let server = TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| {
        let Reply(mut said) = answers::usual(request);
        if request.sql().contains("SERVERPROPERTY") {
            said.insert(0, Outcome::CutAfter(120));
        }
        Reply(said)
    });
    let server = server.unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false"));
    failed(&scene, &said, 7, &["the connection to localhost", "was lost"]);

    // The same in the middle of a run.
    let scene = Scene::new();
    let server = TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| {
        let Reply(mut said) = answers::usual(request);
        if matches!(request, Request::Bulk(_)) {
            said.insert(0, Outcome::CutAfter(3));
        }
        Reply(said)
    });
    let server = server.unwrap();
    let said = run(&scene, &url(&server, "?encrypt=false"));
    failed(&scene, &said, 7, &["the connection to localhost", "was lost"]);
}

#[test]
fn a_connection_string_is_a_target_too() {
    let scene = Scene::new();
    let refusal = Refusal { class: 14, ..Refusal::new(18456, "Login failed for user 'ann'.") };
    let server = TdsServer::builder()
        .admission(move |_| Err(refusal.clone()))
        .start(|request, _| answers::usual(request))
        .unwrap();
    let target = format!(
        "Server=tcp:127.0.0.1,{};Database=sales;User Id=ann;Password=\"{PLANTED};x\";Encrypt=false",
        server.port()
    );
    let said = run(&scene, &target);
    failed(&scene, &said, 4, &["warning: the URL holds a password", "error 18456"]);
    assert_eq!(server.logins()[0].password, format!("{PLANTED};x"));
    let said = scene.say(&["run", "read-scan", "--target", "mssql://ann@h\\SQL2022/sales"]);
    said.failed(2, &["?instance=SQL2022"]);
}

#[test]
fn doctor_says_what_is_missing_what_it_costs_and_what_would_give_it() {
    let scene = Scene::new();
    let server = TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| {
        let sql = request.sql();
        if ["dm_io_virtual_file_stats", "dm_os_schedulers"].iter().any(|view| sql.contains(view)) {
            return Reply::error(Refusal::new(
                300,
                "VIEW SERVER STATE permission was denied on object 'server', database 'master'.",
            ));
        }
        answers::usual(request)
    });
    let server = server.unwrap();
    let mut command = scene.command(&["doctor", &url(&server, "?encrypt=false")]);
    let said = common::said(&command.env("PLIMSOLL_PASSWORD", PLANTED).output().unwrap());
    assert_eq!(said.code, 0, "{said:#?}");
    for words in [
        "server                 sqlserver 16.0.1000.6",
        "--  file statistics",
        "; write-chunk, memory, retest, import, level-change can't run; in master: GRANT VIEW SERVER STATE TO [ann]",
        "ok  plan cache statistics",
        "ok  making workspaces",
    ] {
        assert!(said.out.contains(words), "'{words}' is missing: {said:#?}");
    }
    assert!(!said.out.contains(PLANTED) && !said.err.contains(PLANTED));
    let mut things: Vec<&str> = said.out.lines().filter_map(|line| line.get(4..26)).map(str::trim).collect();
    let all = things.len();
    things.sort_unstable();
    things.dedup();
    assert_eq!(things.len(), all, "a thing is said twice: {said:#?}");
    // What it says of tests is so, and they say what they would need before they load anything.
    let loads = || server.requests().iter().filter(|request| matches!(request, Request::Bulk(_))).count();
    for test in ["write-chunk", "memory"] {
        let words = ["run", test, "--short", "--target", &url(&server, "?encrypt=false")];
        let said = common::said(&scene.command(&words).env("PLIMSOLL_PASSWORD", PLANTED).output().unwrap());
        failed(&scene, &said, 5, &["cache miss pages", "file statistics", "GRANT VIEW SERVER STATE TO [ann]"]);
        assert_eq!(loads(), 0);
    }
}

#[test]
fn the_memory_test_ends_before_it_loads_where_sizes_are_not_seen() {
    let scene = Scene::new();
    let server = TdsServer::builder().tables(|_| Some(answers::family())).start(|request, _| {
        let sql = request.sql();
        if sql.contains("sys.allocation_units") {
            return Reply::error(Refusal::new(208, "Invalid object name 'sys.allocation_units'."));
        }
        if sql.contains("OBJECT_ID") {
            return answers::one(vec![Datum::from(7)]);
        }
        answers::working(request)
    });
    let server = server.unwrap();
    let words = ["run", "memory", "--short", "--target", &url(&server, "?encrypt=false")];
    let said = common::said(&scene.command(&words).env("PLIMSOLL_PASSWORD", PLANTED).output().unwrap());
    failed(&scene, &said, 2, &["memory needs sizes of tables", "every user of SQL Server sees it"]);
    assert!(!server.requests().iter().any(|request| matches!(request, Request::Bulk(_))));
}

/// What files of an instance do while it is sampled: by the server's clock each look is 150 ms behind the one before, whatever ours says.
#[test]
fn a_live_instance_is_sampled_and_planned() {
    let looks = Arc::new(AtomicI64::new(0));
    let seen = Arc::clone(&looks);
    let server = TdsServer::builder().start(move |request, _| {
        let sql = request.sql();
        if sql.contains("SERVERPROPERTY") {
            let words = ["12.0.2000.8", "SQL Azure"].map(Datum::from);
            let rest = ["Microsoft SQL Azure (RTM) - 12.0.2000.8", "H1", "master"].map(Datum::from);
            return answers::one(words.into_iter().chain([Datum::from(8)]).chain(rest).collect());
        }
        if !sql.contains("v.database_id AS int") {
            return answers::usual(request);
        }
        let number = seen.fetch_add(1, Ordering::SeqCst);
        let file = |database: &str, id: i64, name: &str, log: i64, ios: i64, gb: i64| -> Vec<Datum> {
            let counts = [log, ios * number, ios * number * 8_192, ios * number * 3, 0, 0, 0].map(Datum::from);
            let path = format!("https://x.blob.core.windows.net/a/{name}");
            let place = [database, path.as_str(), name].map(Datum::from);
            let rest = [1_000 + 150 * number, gb << 17, id].map(Datum::from);
            [vec![Datum::from(name)], counts.into(), place.into(), rest.into()].concat()
        };
        let rows = vec![
            file("shop", 5, "rows", 0, 72, 100),
            file("shop", 5, "log", 1, 3, 40),
            file("tempdb", 2, "tempdev", 0, 9_000, 30),
        ];
        let kinds = rows[0].iter().map(|value| match value {
            Datum::Integer(_) => Kind::IntegerNull(8),
            _ => Kind::NVarChar(Some(800)),
        });
        Reply::rows(kinds.map(|kind| Column::new("", kind)).collect(), rows)
    });
    let server = server.unwrap();
    let scene = Scene::new();
    let target = format!("mssql://ann@localhost:{}/master?encrypt=false", server.port());
    let plan = |more: &[&str]| {
        let words =
            ["plan", "mi", "--files", &target, "--date", "2018-12-18", "--sample", "500ms", "--interval", "100ms"];
        common::said(&scene.command(&[&words[..], more].concat()).env("PLIMSOLL_PASSWORD", PLANTED).output().unwrap())
    };
    let said = plan(&["--json"]);
    assert_eq!(said.code, 0, "{said:#?}");
    let plan_of = said.json().remove(0);
    let rows = &plan_of["files"][0];
    assert_eq!((rows["highest_iops"].as_f64(), rows["read_ms"].as_f64()), (Some(480.0), Some(3.0)), "{rows}");
    // How many looks there are is up to the machine; each is 96 % of 500.
    let intervals = rows["intervals"].as_u64();
    assert!(intervals >= Some(1) && rows["intervals_at_limit"].as_u64() == intervals, "{rows}");
    assert_eq!(rows["series"]["iops"].as_array().map(|all| all.len() as u64), intervals);
    assert!(
        plan_of["files"][2].get("highest_iops").is_none(),
        "tempdb is on a disk of its own: {}",
        plan_of["files"][2]
    );
    assert_eq!(plan_of["instance"]["file_gb"].as_f64(), Some(170.0));
    let text = plan(&["--full", "--html", "plan.html"]);
    assert_eq!(text.code, 0, "{text:#?}");
    let sentences = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        // How many intervals there are is up to the machine.
        "shop.rows uses 96.0 % of its IOPS, and stood at a limit in ",
        ": with 129 GB it would have 1,100 IOPS",
        "what was seen of shop.rows is the least",
        "Sampled on",
    ] {
        assert!(sentences.contains(words), "'{words}' is missing: {text:#?}");
    }
    assert!(std::fs::read_to_string(scene.path("plan.html")).unwrap().contains("How much of its limit each file used"));
    assert!(!format!("{said:?}{text:?}").contains(PLANTED));
    assert!(server.server_errors().is_empty(), "{:?}", server.server_errors());
}
