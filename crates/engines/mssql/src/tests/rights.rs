//! Rights, played from documentation: a user with few of them finds each reading there, or absent with the right that it needs. The
//! played server refuses a statement by the right that `data/mssql-views.toml` says its views need.

use std::fmt::Write as _;
use std::sync::Arc;

use plimsoll_clock::Clock;
use plimsoll_engine::{Credentials, Database, Target};
use plimsoll_testbed::tds::rights::{OWNER, Rights};
use plimsoll_testbed::tds::{Datum, Reply, Request, TdsServer, answers};
use toml::Table as Toml;

use super::clock;
use crate::connect::{ByDriver, Connector};
use crate::database::MssqlDatabase;
use crate::url::Location;

const VIEWS: &str = include_str!("../../data/mssql-views.toml");

const SERVER: &str = "VIEW SERVER STATE";
const SERVER_22: &str = "VIEW SERVER PERFORMANCE STATE";
const AZURE: &str = "VIEW DATABASE PERFORMANCE STATE";
const EVERYBODY: &str = "";
/// What a product has not got.
const NOWHERE: &str = "-";

/// Each reading or ability, with the smallest right that it needs on SQL Server 2019, on 2022 and in Azure SQL Database.
const NEEDS: [(&str, [&str; 3]); 16] = [
    ("making workspaces", ["CREATE SCHEMA", "CREATE SCHEMA", "CREATE SCHEMA"]),
    ("file statistics", [SERVER, SERVER_22, AZURE]),
    ("plan cache statistics", [SERVER, SERVER_22, AZURE]),
    ("waits of sessions", [EVERYBODY, SERVER_22, AZURE]),
    ("waits of the server", [SERVER, SERVER_22, AZURE]),
    ("other sessions", [SERVER, SERVER_22, AZURE]),
    ("ending sessions", ["ALTER ANY CONNECTION", "ALTER ANY CONNECTION", "KILL DATABASE CONNECTION"]),
    ("CPUs of the server", [SERVER, SERVER_22, AZURE]),
    ("free space", [SERVER, SERVER_22, EVERYBODY]),
    ("sizes of tables", [EVERYBODY, EVERYBODY, EVERYBODY]),
    ("bulk protocol", [EVERYBODY, EVERYBODY, EVERYBODY]),
    ("stored procedures", ["CREATE PROCEDURE", "CREATE PROCEDURE", "CREATE PROCEDURE"]),
    ("checkpoint", ["CHECKPOINT", "CHECKPOINT", "CHECKPOINT"]),
    ("emptying the cache", ["sysadmin", "ALTER SERVER STATE", "##MS_ServerStateManager##"]),
    ("limits of the level", [NOWHERE, NOWHERE, AZURE]),
    ("use of the level's resources", [NOWHERE, NOWHERE, AZURE]),
];

/// The views behind those readings that come from views.
const FROM_VIEWS: [(&str, &[&str]); 9] = [
    ("file statistics", &["sys.dm_io_virtual_file_stats"]),
    ("plan cache statistics", &["sys.dm_exec_query_stats", "sys.dm_exec_sql_text"]),
    ("waits of sessions", &["sys.dm_exec_session_wait_stats"]),
    ("waits of the server", &["sys.dm_os_wait_stats", "sys.dm_db_wait_stats"]),
    ("CPUs of the server", &["sys.dm_os_schedulers"]),
    ("free space", &["sys.dm_os_volume_stats"]),
    ("sizes of tables", &["sys.partitions", "sys.allocation_units"]),
    ("limits of the level", &["sys.dm_user_db_resource_governance"]),
    ("use of the level's resources", &["sys.dm_db_resource_stats"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Server2019,
    Server2022,
    Azure,
}

const PLACES: [(At, &str); 3] = [
    (At::Server2019, "SQL Server 2019"),
    (At::Server2022, "SQL Server 2022"),
    (At::Azure, "Azure SQL Database (S2 or larger, not in a pool)"),
];

impl At {
    fn rights(self, held: &[&str]) -> Rights {
        match self {
            Self::Server2019 => Rights::at_server(15, held),
            Self::Server2022 => Rights::at_server(16, held),
            Self::Azure => Rights::in_azure(held),
        }
    }

    /// Users by what they have beside SELECT; each right is held by itself.
    const fn people(self) -> &'static [&'static str] {
        match self {
            Self::Server2019 => &["SELECT", OWNER, "VIEW DATABASE STATE", SERVER],
            Self::Server2022 => {
                &["SELECT", OWNER, "VIEW DATABASE STATE", "VIEW DATABASE PERFORMANCE STATE", SERVER, SERVER_22]
            }
            Self::Azure => &["SELECT", OWNER, "VIEW DATABASE STATE", AZURE, "##MS_ServerStateReader##"],
        }
    }

    /// The right that a view needs here by its documented permission; `None` if it is everybody's, or shows everybody what is
    /// its own.
    fn needed(self, permission: &str) -> Option<&str> {
        let parts: Vec<&str> = permission.split("; ").collect();
        let behind = |prefix: &str| parts.iter().find_map(|part| part.strip_prefix(prefix));
        let own = behind("own session: none").or(behind("own database: none"));
        if own.is_some_and(|until| until.is_empty() || self == Self::Server2019) {
            return None;
        }
        let special = match self {
            Self::Server2019 => None,
            Self::Server2022 => behind("from 2022 "),
            Self::Azure => behind("in Azure SQL Database "),
        };
        let right = special.unwrap_or(parts[0]);
        if right.starts_with("public") || right.starts_with("own ") {
            return None;
        }
        match right {
            // Microsoft's announcement of the smaller rights puts all views into two groups, of performance and of security; it is for
            // Azure as well, where the views' own pages name the greater right.
            "VIEW DATABASE STATE" => Some(AZURE),
            "owner of the database, or dbmanager in master" => Some(OWNER),
            right => Some(right),
        }
    }
}

fn views() -> Toml {
    VIEWS.parse().unwrap()
}

fn permission<'a>(views: &'a Toml, view: &str) -> &'a str {
    views[view].as_table().unwrap()["permission"].as_str().unwrap()
}

/// The views that a text names.
fn named<'a>(views: &'a Toml, sql: &str) -> Vec<&'a str> {
    let is_part = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == '.';
    let words: Vec<&str> = sql.split(|sign| !is_part(sign)).collect();
    views.keys().map(String::as_str).filter(|view| words.contains(view)).collect()
}

/// Answers a user with these rights.
fn play(at: At, rights: &Rights, views: &Toml, request: &Request) -> Reply {
    let sql = request.sql();
    if let Some(told) = rights.told(request) {
        return told;
    }
    let needed = named(views, sql).into_iter().filter_map(|view| at.needed(permission(views, view)));
    if let Some(refused) = needed.into_iter().find_map(|right| rights.refusal(right)) {
        return refused;
    }
    let numbers = |count: usize| answers::one(vec![Datum::from(1 << 30); count]);
    if sql.contains("sys.dm_os_schedulers") {
        return answers::one(vec![Datum::from(8)]);
    }
    if sql.contains("sys.dm_os_volume_stats") || sql.contains("'MaxSizeInBytes'") {
        return numbers(if at == At::Azure { 2 } else { 1 });
    }
    if sql.contains("sys.dm_user_db_resource_governance") {
        let mut row = vec![Datum::from("SQLDB_OP"), Datum::from(50), Datum::Float(1.0)];
        row.extend([1, 2, 3, 4, 5, 6, 7].map(Datum::from));
        return answers::one(row);
    }
    if at == At::Azure {
        return answers::azure(request, "S2");
    }
    if sql.contains("EngineEdition") {
        let version = if at == At::Server2019 { "15.0.4430.1" } else { "16.0.1000.6" };
        let words = [version, "Developer Edition"].map(Datum::from);
        let rest = ["Microsoft SQL Server", "H1", "sales"].map(Datum::from);
        return answers::one(words.into_iter().chain([Datum::from(3)]).chain(rest).collect());
    }
    answers::usual(request)
}

fn opened(at: At, rights: Rights, clock: &Arc<dyn Clock>) -> MssqlDatabase {
    let views = views();
    let server = TdsServer::builder().start(move |request, _| play(at, &rights, &views, request)).unwrap();
    let url = format!("mssql://ann:x@127.0.0.1:{}/sales?encrypt=false&dropCleanBuffers=true", server.port());
    let location = Location::parse(&Target::parse(&url).unwrap()).unwrap();
    let dial = Box::new(ByDriver);
    let connector = Connector::new(location, &Credentials::default(), &|_| None, dial, clock).unwrap();
    MssqlDatabase::open(connector).unwrap()
}

/// What of the table is there for a user, and what each lacks.
fn present(at: At, held: &str) -> Vec<(&'static str, Option<&'static str>)> {
    let rights = at.rights(&["SELECT", held]);
    let of = |(name, needs): &(&'static str, [&'static str; 3])| match needs[at as usize] {
        NOWHERE => None,
        right => Some((*name, (right != EVERYBODY && !rights.has(right)).then_some(right))),
    };
    NEEDS.iter().filter_map(of).collect()
}

#[test]
fn each_reading_is_there_or_absent_with_the_right_that_it_needs() {
    let (_, clock) = clock();
    for (at, _) in PLACES {
        for held in at.people() {
            let rights = at.rights(&["SELECT", held]);
            let database = opened(at, rights, &clock);
            let capabilities = database.capabilities();
            let expected = present(at, held);
            assert_eq!(capabilities.len(), expected.len(), "{at:?} {held}");
            for (name, lacks) in expected {
                let what = format!("{at:?}, {held}: {name}");
                let capability = capabilities.iter().find(|capability| capability.name == name).expect(&what);
                assert_eq!(capability.works, lacks.is_none(), "{what}");
                let Some(right) = lacks else { continue };
                // The line of `doctor`, and the warning of a run, name the right or one that it comes with.
                let remedy = capability.remedy.as_deref().unwrap();
                let greater = right.replace(" PERFORMANCE", "");
                assert!(remedy.contains(right) || remedy.contains(&greater), "{what} {remedy}");
                let warnings = &database.description().warnings;
                let warned = warnings.iter().any(|warning| warning.contains(name) && warning.contains(remedy));
                // That a cache is not emptied only a run with a cold start has to hear.
                assert_eq!(warned, name != "emptying the cache", "{what} {warnings:#?}");
            }
        }
    }
}

/// The rights of the table above are those of the documented views.
#[test]
fn rights_are_those_of_the_views() {
    let views = views();
    for (name, of) in FROM_VIEWS {
        let (_, needs) = NEEDS.iter().find(|(known, _)| *known == name).unwrap();
        for view in of {
            let products = views[*view].as_table().unwrap()["products"].as_array().unwrap();
            for (at, _) in PLACES {
                let product = if at == At::Azure { "database" } else { "server" };
                if products.iter().any(|known| known.as_str() == Some(product)) {
                    let needed = at.needed(permission(&views, view)).unwrap_or(EVERYBODY);
                    assert_eq!(needed, needs[at as usize], "{name}: {view} {at:?}");
                }
            }
        }
    }
}

/// The tables of docs/ENGINES.md.
fn tables() -> String {
    let mut text = String::new();
    for (at, title) in PLACES {
        let people = at.people();
        let _ = write!(text, "| {title} |");
        for held in people {
            let _ = write!(text, " {} |", if *held == "SELECT" { "SELECT only" } else { held });
        }
        let _ = writeln!(text, "\n|---|{}", "---|".repeat(people.len()));
        let columns: Vec<_> = people.iter().map(|held| present(at, held)).collect();
        for (row, (name, _)) in columns[0].iter().enumerate() {
            let _ = write!(text, "| {name} |");
            for column in &columns {
                let right = column[row].1.map(|right| right.replace("CREATE SCHEMA", "CREATE SCHEMA, CREATE TABLE"));
                let cell = right.map_or_else(|| "present".to_owned(), |right| format!("needs {right}"));
                let _ = write!(text, " {cell} |");
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text.trim_end().to_owned()
}

#[test]
fn the_documents_have_the_tables_of_rights() {
    let document = include_str!("../../../../../docs/ENGINES.md");
    let tables = tables();
    assert!(document.contains(&tables), "docs/ENGINES.md should have these tables:\n{tables}");
}
