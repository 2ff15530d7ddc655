//! What stands above the line, driven by a script: the identity that a server states, what it lets us see, leases,
//! orphans, counters.

mod azure;
mod failover;
mod grammar;
mod moving;
mod permissions;
mod queries;
mod requests;
mod rights;
mod sampling;
mod scripted;
mod self_test;
mod shapes;

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use plimsoll_clock::Clock;
use plimsoll_engine::value::Value::{self, BigInt, Float, Null, Text};
use plimsoll_engine::{ClaimMode, ErrorKind, Lease, Mark, RequestAccess, Result, Session, WeakIsolation, Workspace};
use plimsoll_measurement::{Counter, FileRow};
use scripted::{Counted, Said, Script, refusal};

use super::abilities::{Ability, PRIVILEGES};
use super::connect::Connector;
use super::control::Control;
use super::counters;
use super::describe::{self, Server};
use super::session::MssqlSession;
use super::sql::Product;
use super::wire::Fault;
use plimsoll_engine::server::lease::ServerLease;
use plimsoll_engine::server::place::{self, CONTROL};

const URL: &str = "mssql://ann:pl4nted@h/sales?dropCleanBuffers=true";
const MICROSOFT: &str = "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64)\n\tOct 8 2022";

fn clock() -> (Arc<Counted>, Arc<dyn Clock>) {
    let counted = Arc::new(Counted::new());
    (Arc::clone(&counted), counted)
}

fn control(connector: &Connector) -> Control {
    Control::connect(connector, CONTROL).unwrap()
}

/// What a server of Microsoft's of this version says of itself.
fn identity(version: &'static str) -> [Value<'static>; 6] {
    [Text(version), Text("Developer Edition"), BigInt(3), Text(MICROSOFT), Text("H1"), Text("sales")]
}

/// A server of Microsoft's on a machine, with a user that may see and do everything.
fn everything() -> Script {
    let file = |name, kind, read, written| {
        vec![Text(name), BigInt(kind), BigInt(5), BigInt(read), BigInt(1500), BigInt(7), BigInt(written), BigInt(250)]
    };
    let anywhere = |name, read, place: [&'static str; 3]| {
        let mut file = file(name, 0, read, 1 << 20);
        file.extend(place.map(Text));
        file.extend([BigInt(1_000), BigInt(1280), BigInt(5)]);
        file
    };
    Script::default()
        .row("SERVERPROPERTY", &identity("16.0.1000.6"))
        .row(
            "sys.databases",
            &[
                Text("FULL"),
                BigInt(1),
                Text("OFF"),
                Text("DISABLED"),
                BigInt(160),
                Text("Latin1_General_CI_AS"),
                Text("CHECKSUM"),
                BigInt(0),
                BigInt(0),
                BigInt(0),
            ],
        )
        .on(
            "f.growth",
            [Said::Rows(vec![
                vec![Text("sales"), Text("ROWS"), BigInt(64 << 20), BigInt(-1), BigInt(8192), BigInt(0)],
                vec![Text("sales_log"), Text("LOG"), BigInt(8 << 20), BigInt(-1), BigInt(10), BigInt(1)],
            ])],
        )
        .row("'Updateability'", &[Text("READ_WRITE")])
        .row("DECLARE @names", &[Text("a,b")])
        .row("dm_os_schedulers", &[BigInt(8)])
        .row("dm_os_volume_stats", &[BigInt(5 << 30)])
        .row("HAS_PERMS_BY_NAME", &[BigInt(1); 8])
        .on(
            "dm_io_virtual_file_stats",
            [Said::Rows(vec![file("sales", 0, 10 << 20, 1 << 20), file("sales_log", 1, 0, 4 << 20)])],
        )
        .on(
            "master_files",
            [Said::Rows(vec![
                anywhere("sales", 10 << 20, ["sales", "D:\\data\\sales.mdf", "5:1:0x1A"]),
                anywhere("sales", 2 << 20, ["other", "D:\\data\\other.mdf", "6:1:0x1B"]),
            ])],
        )
        .on(
            "session_wait_stats",
            [Said::Rows(vec![vec![Text("PAGEIOLATCH_SH"), BigInt(12), BigInt(340), BigInt(20), BigInt(45)]])],
        )
        .on(
            "dm_os_wait_stats",
            [Said::Rows(vec![vec![Text("WRITELOG"), BigInt(3), BigInt(30), BigInt(1), BigInt(12)]])],
        )
        .row("dm_exec_query_stats", &[BigInt(2), BigInt(128)])
        .row("sys.allocation_units", &[BigInt(81_920), BigInt(0)])
        .row("cpu_time", &[BigInt(1234)])
}

/// A database in Azure.
fn azure() -> Script {
    everything()
        .row(
            "SERVERPROPERTY",
            &[
                Text("12.0.2000.8"),
                Text("SQL Azure"),
                BigInt(5),
                Text("Microsoft SQL Azure (RTM) - 12.0.2000.8"),
                Text("srv"),
                Text("sales"),
                Text("READ_WRITE"),
            ],
        )
        .row("database_service_objectives", &[Text("Standard"), Text("S2"), Null, Text("S2")])
        .row(
            "resource_governance",
            &[
                Text("SQLDB_OP"),
                BigInt(50),
                Null,
                BigInt(1),
                BigInt(1200),
                BigInt(120),
                BigInt(2_621_440),
                BigInt(640),
                BigInt(640),
                BigInt(1 << 20),
            ],
        )
        .row("MaxSizeInBytes", &[BigInt(250 << 30), BigInt(50 << 30)])
        .on(
            "dm_db_wait_stats",
            [Said::Rows(vec![vec![Text("WRITELOG"), BigInt(3), BigInt(30), BigInt(1), BigInt(12)]])],
        )
        .on("dm_db_resource_stats", [Said::Rows(vec![vec![BigInt(20), Float(12.5), Float(80.0), Null, Float(40.0)]])])
}

fn described(script: &Script) -> Result<Server> {
    let (_, clock) = clock();
    let connector = script.connector(URL, &clock);
    describe::describe(&mut control(&connector), &connector)
}

#[test]
fn a_server_says_who_it_is() {
    let server = described(&everything()).unwrap();
    let description = &server.description;
    assert_eq!((description.engine.as_str(), description.version.as_str()), ("sqlserver", "16.0.1000.6"));
    assert_eq!((description.cpus, description.page_bytes, description.local), (Some(8), 8192, false));
    assert_eq!(description.fingerprint, "H1/sales");
    assert!(matches!(&description.weak_isolation, WeakIsolation::Effective(name) if name.contains("NOLOCK")));
    let setting = |name: &str| description.settings[name].as_str();
    assert_eq!(
        (setting("product"), setting("recovery_model"), setting("compatibility_level")),
        ("SQL Server", "FULL", "160")
    );
    assert_eq!(setting("file sales"), "rows, 64 MB, grows by 64 MB");
    assert_eq!(setting("file sales_log"), "log, 8 MB, grows by 10 %");
    assert_eq!((description.warnings.clone(), server.free_bytes), (Vec::new(), Some(5 << 30)));
    assert!(server.capabilities.iter().all(|capability| capability.works), "{:#?}", server.capabilities);
    // What only Azure has is not looked for.
    assert!(!server.capabilities.iter().any(|capability| capability.name.contains("level")));
}

#[test]
fn a_database_in_azure_states_its_level_and_its_limits() {
    let script = azure();
    let server = described(&script).unwrap();
    let setting = |name: &str| server.description.settings[name].as_str();
    assert_eq!(
        (setting("product"), setting("service_objective"), setting("dtu_limit")),
        ("Azure SQL Database", "S2", "50")
    );
    assert_eq!((setting("primary_max_log_rate_bytes_per_s"), setting("primary_group_max_iops")), ("2621440", "640"));
    assert!(!server.description.settings.contains_key("cpu_limit"));
    assert_eq!(server.free_bytes, Some(200 << 30));
    assert!(server.abilities.has(Ability::DropBuffers) && server.abilities.has(Ability::SeeResources));
    // A server's disk can't be seen there.
    assert!(!script.asked().iter().any(|sql| sql.contains("dm_os_volume_stats")));
    // No limit is no lack of knowledge.
    let server = described(&azure().row("MaxSizeInBytes", &[BigInt(-1), BigInt(50 << 30)])).unwrap();
    assert!(server.free_bytes.is_none() && server.abilities.has(Ability::SeeSpace));
}

/// Express stops at a size of its own, however much room the disk has.
#[test]
fn express_has_a_largest_size() {
    let express = |version: &'static str, used: i64| {
        let mut says = identity(version);
        says[2] = BigInt(4);
        let script = everything().row("SERVERPROPERTY", &says).row("'SpaceUsed'", &[BigInt(used)]);
        described(&script).unwrap().free_bytes
    };
    // The disk has 5 GB.
    assert_eq!(express("16.0.1000.6", 8 << 30), Some(2 << 30));
    assert_eq!(express("16.0.1000.6", 11 << 30), Some(0));
    assert_eq!(express("16.0.1000.6", 1 << 30), Some(5 << 30));
    assert_eq!(express("17.0.1000.7", 8 << 30), Some(5 << 30));
}

/// Each view that is not to be seen costs what depends on it, and says so with what would give it.
#[test]
fn what_is_missing_costs_what_depends_on_it_and_no_more() {
    for (words, number, name, ability) in [
        ("dm_io_virtual_file_stats", 300, "file statistics", Ability::SeeFiles),
        ("dm_exec_query_stats", 297, "plan cache statistics", Ability::SeePlans),
        ("session_wait_stats", 208, "waits of sessions", Ability::SeeOwnWaits),
        ("dm_os_wait_stats", 300, "waits of the server", Ability::SeeWaits),
        ("dm_os_schedulers", 300, "CPUs of the server", Ability::SeeSchedulers),
        ("dm_os_volume_stats", 300, "free space", Ability::SeeSpace),
        ("sys.allocation_units", 208, "sizes of tables", Ability::SeeSizes),
        ("DECLARE @names", 102, "bulk protocol", Ability::LoadInBulk),
    ] {
        let server = described(&everything().refuses(words, number)).unwrap();
        let missing: Vec<&str> = server
            .capabilities
            .iter()
            .filter(|capability| !capability.works)
            .map(|capability| capability.name)
            .collect();
        assert_eq!(missing, [name]);
        assert!(!server.abilities.has(ability));
        let warning = &server.description.warnings[0];
        assert!(warning.starts_with(&format!("{name} not available: ")) && warning.ends_with(')'), "{warning}");
    }
    let none = everything().row("HAS_PERMS_BY_NAME", &[BigInt(0); 8]);
    let server = described(&none).unwrap();
    let grants: Vec<String> =
        server.capabilities.iter().filter(|c| !c.works).filter_map(|c| c.remedy.clone()).collect();
    assert_eq!(grants.len(), 6, "{grants:?}");
    assert!(grants[0].contains("GRANT CREATE SCHEMA, CREATE TABLE TO [ann]"), "{grants:?}");
}

#[test]
fn another_server_that_speaks_the_language_is_measured_as_far_as_it_goes() {
    let about = "Babelfish for PostgreSQL with SQL Server Compatibility - 12.0.2000.8\nOct 22 2023";
    let script = Script::default()
        .row(
            "SERVERPROPERTY",
            &[Text("12.0.2000.8"), Text("Standard"), BigInt(2), Text(about), Text("B"), Text("sales"), Null],
        )
        .refuses("HAS_PERMS_BY_NAME", 195);
    let server = described(&script).unwrap();
    assert_eq!(server.description.settings["product"], "another server that speaks TDS");
    assert!(server.description.version.contains("Babelfish") && server.description.cpus.is_none());
    assert!(server.description.warnings[0].contains("not Microsoft's SQL Server"));
    assert!(matches!(server.description.weak_isolation, WeakIsolation::NoEffect(_)));
    // Nobody said that places can't be made.
    assert!(server.abilities.has(Ability::MakePlaces) && !server.abilities.has(Ability::DropBuffers));
    // What it permits it need not have.
    let permits = script.row("HAS_PERMS_BY_NAME", &[BigInt(1); 8]).refuses("sys.dm_exec_requests", 208);
    let server = described(&permits).unwrap();
    assert!(server.abilities.has(Ability::EndSessions) && !server.abilities.has(Ability::SeeSessions));
    // A server that breaks while it is asked is no server without views.
    let broken = everything().on("dm_os_schedulers", [Said::Fault(Fault::Closed("reset".to_owned()))]);
    assert_eq!(described(&broken).unwrap_err().kind, ErrorKind::Lost);
}

#[test]
fn several_servers_are_tried_in_turn() {
    let (_, clock) = clock();
    let script = everything().login_fails(Fault::Closed("os error: Connection refused".to_owned()));
    let connector = script.connector("mssql://ann:x@h1,h2:7/d", &clock);
    assert!(Control::connect(&connector, CONTROL).is_ok());
    assert_eq!(script.names().len(), 2);
    let script = script.login_fails(Fault::TimedOut).login_fails(Fault::Closed("x: Connection refused".to_owned()));
    let error = Control::connect(&script.connector("mssql://ann:x@h1,h2:7/d", &clock), CONTROL).err().unwrap();
    assert_eq!(error.message, "cannot connect to h2:7: Connection refused");
}

#[test]
fn counters_are_those_of_the_database_s_files_and_of_the_session() {
    let (_, clock) = clock();
    let script = azure();
    let connector = script.connector(URL, &clock);
    let abilities = described(&script).unwrap().abilities;
    let readings = counters::sample(&mut control(&connector), clock.as_ref(), abilities).unwrap();
    let value = |metric| readings.iter().find(|reading| reading.metric == metric).map(|reading| reading.value);
    assert_eq!(value(Counter::CacheMissPages), Some(1280.0));
    assert_eq!(value(Counter::DeviceReadBytes), Some(f64::from(10 << 20)));
    assert_eq!(value(Counter::DeviceWriteBytes), Some(f64::from(5 << 20)));
    assert_eq!(value(Counter::LogWriteBytes), Some(f64::from(4 << 20)));
    assert_eq!((value(Counter::DataReadStallSeconds), value(Counter::LogWriteStallSeconds)), (Some(1.5), Some(0.25)));
    assert_eq!(value(Counter::EngineCpuSeconds), Some(1.234));
    // What only the memory test wants is not asked for in every other's time.
    assert!(value(Counter::MemoryPercent).is_none() && !script.asked().iter().any(|sql| sql.contains("TOP (1)")));
    let memory = script.clone().row("TOP (1) CAST(r.avg_memory_usage_percent", &[Float(40.0)]);
    let connector_again = memory.connector(URL, &clock);
    let memory = counters::sample_memory(&mut control(&connector_again), clock.as_ref(), abilities).unwrap().unwrap();
    assert_eq!((memory.metric, memory.value), (Counter::MemoryPercent, 40.0));
    // Azure has no view of other databases' files.
    let own = azure().refuses("master_files", 208).connector(URL, &clock);
    let own = counters::views(&mut control(&own), clock.as_ref(), abilities).unwrap().files;
    assert_eq!((own.len(), own[1].kind, own[1].writes), (2, "log", Some(7)));
    let views = counters::views(&mut control(&connector), clock.as_ref(), abilities).unwrap();
    let place = |file: &FileRow| [&file.database, &file.path, &file.handle].map(Clone::clone);
    let other = ["other", "D:\\data\\other.mdf", "6:1:0x1B"].map(|text| Some(text.to_owned()));
    assert_eq!((views.files[1].name.as_str(), place(&views.files[1])), ("sales", other));
    assert_eq!(views.files[1].size_bytes, Some(10 << 20));
    assert_eq!((views.waits[0].signal_seconds, views.waits[0].longest_seconds), (Some(0.02), Some(0.045)));
    assert_eq!(
        (views.waits[0].name.as_str(), views.waits[0].count, views.waits[0].seconds),
        ("PAGEIOLATCH_SH", 12, 0.34)
    );
    let resources = &views.resources_15_s[0];
    assert_eq!((resources.cpu_percent, resources.log_write_percent), (Some(12.5), None));
    assert_eq!(clock.now().since(resources.end), Duration::from_secs(20));

    // Without permission nothing is zero.
    let poor = everything().refuses("dm_io_virtual_file_stats", 300).refuses("cpu_time", 208);
    let abilities = described(&poor).unwrap().abilities;
    let connector = poor.connector(URL, &clock);
    assert_eq!(counters::sample(&mut control(&connector), clock.as_ref(), abilities).unwrap(), []);
}

#[test]
fn physical_reads_of_a_table_are_those_of_its_plans() {
    let (_, clock) = clock();
    let abilities = described(&everything()).unwrap().abilities;
    let misses = |row: &[Value<'static>]| {
        let script = everything().row("dm_exec_query_stats", row);
        let connector = script.connector(URL, &clock);
        counters::table_misses(&mut control(&connector), "[plimsoll_run_x].t", abilities).unwrap()
    };
    assert_eq!(misses(&[BigInt(3), BigInt(77)]), Some(77));
    assert_eq!(misses(&[BigInt(0), Null]), None);
    assert_eq!(misses(&[BigInt(2), Null]), None);
}

fn lease(script: &Script, mode: ClaimMode) -> Result<Option<Box<dyn Lease>>> {
    let (_, clock) = clock();
    let connector = Arc::new(script.connector(URL, &clock));
    ServerLease::claim(&connector, &Workspace::run("a1").unwrap(), mode)
}

/// The mark of the place of the run `a1`.
pub(super) fn mark() -> &'static str {
    static MARK: LazyLock<String> =
        LazyLock::new(|| Mark::of("plimsoll_run_a1", "00112233445566778899aabbccddeeff").to_string());
    &MARK
}

/// A server that grants locks, with a schema of ours.
fn granting() -> Script {
    everything()
        .row("'Exclusive', @LockOwner", &[BigInt(0)])
        .row("'Shared', @LockOwner", &[BigInt(1)])
        .row("@LockTimeout = 10000", &[BigInt(0)])
        .on("sp_releaseapplock", [Said::Rows(Vec::new())])
        .row("sys.extended_properties", &[Text(mark())])
        .on("CREATE SCHEMA", [Said::Rows(Vec::new())])
        .on("SELECT 1", [Said::Rows(Vec::new())])
}

fn kinds(asked: &[String]) -> Vec<&'static str> {
    let kind = |sql: &String| {
        [("10000", "gate"), ("'Exclusive', @LockOwner", "exclusive"), ("'Shared'", "shared"), ("release", "release")]
            .into_iter()
            .find(|(words, _)| sql.contains(words))
            .map(|(_, kind)| kind)
    };
    asked.iter().filter_map(kind).collect()
}

#[test]
fn a_lease_is_taken_changed_and_given_back_without_a_gap() {
    let script = granting();
    let mut held = lease(&script, ClaimMode::Exclusive).unwrap().unwrap();
    assert_eq!(script.names(), ["plimsoll lease plimsoll_run_a1"]);
    held.share().unwrap();
    held.share().unwrap();
    drop(held);
    // The gate is held from before the one lock is given back until after the other is taken.
    let expected = ["gate", "exclusive", "release", "gate", "release", "shared", "release", "release"];
    assert_eq!(kinds(&script.asked()), expected);
}

#[test]
fn a_lease_is_refused_as_it_should_be() {
    let taken = granting().row("'Exclusive', @LockOwner = 'Session', @LockTimeout = 0", &[BigInt(-1)]);
    assert!(lease(&taken, ClaimMode::Exclusive).unwrap().is_none());
    // What is documented is told apart, and from what isn't.
    for (answer, kind) in [
        (BigInt(-2), ErrorKind::Cancelled),
        (BigInt(-3), ErrorKind::Busy),
        (BigInt(-999), ErrorKind::Permission),
        (BigInt(-7), ErrorKind::Unsupported),
        (BigInt(2), ErrorKind::Unsupported),
        (Null, ErrorKind::Unsupported),
    ] {
        for words in ["'Exclusive', @LockOwner = 'Session', @LockTimeout = 0", "@LockTimeout = 10000"] {
            let free = granting().row("APPLOCK_TEST", &[BigInt(1)]);
            let error = lease(&free.row(words, &[answer]), ClaimMode::Exclusive).err().unwrap();
            assert!(error.kind == kind && error.hint.is_some(), "{answer:?} {words}: {error:?}");
        }
    }
    // Some servers answer so of a lock that somebody holds.
    let held = granting().row("APPLOCK_TEST", &[BigInt(0)]);
    let held = held.row("'Exclusive', @LockOwner = 'Session', @LockTimeout = 0", &[BigInt(-999)]);
    assert!(lease(&held, ClaimMode::Exclusive).unwrap().is_none());
    let held = granting().row("@LockTimeout = 10000", &[BigInt(-1)]);
    assert!(lease(&held, ClaimMode::Exclusive).err().unwrap().message.contains("gate"));
    assert!(lease(&granting().row("'Exclusive', @LockOwner", &[BigInt(1)]), ClaimMode::Exclusive).unwrap().is_some());
    let foreign = granting().row("sys.extended_properties", &[Text("somebody's")]);
    let error = lease(&foreign, ClaimMode::Exclusive).err().unwrap();
    assert!(error.kind == ErrorKind::Safety && error.hint.unwrap().contains("sp_addextendedproperty"));
    let nobody = granting().on("sys.extended_properties", [Said::Rows(Vec::new())]);
    assert!(lease(&nobody, ClaimMode::Shared).unwrap().is_none());
    assert!(lease(&nobody, ClaimMode::Exclusive).unwrap().is_some());
    assert!(nobody.asked().iter().any(|sql| sql.contains("CREATE SCHEMA ' + QUOTENAME(N'plimsoll_run_a1')")));
    // Somebody who may not make a schema hears what would let him.
    let error = lease(&nobody.refuses("CREATE SCHEMA", 2760), ClaimMode::Exclusive).err().unwrap();
    assert!(error.kind == ErrorKind::Permission && error.hint.unwrap().contains("GRANT CREATE TABLE"));
}

/// After a lost connection the server holds the lock until it notices, and others may stand in the gate.
#[test]
fn a_lease_is_renewed_with_patience() {
    let (counted, clock) = clock();
    let answer = |code| Said::Rows(vec![vec![BigInt(code)]]);
    for (lock, gate, renewed) in [(0, vec![-1, -1, 0], true), (0, vec![-1], false), (-1, vec![0], false)] {
        let script = granting();
        let connector = Arc::new(script.connector(URL, &clock));
        let mut held =
            ServerLease::claim(&connector, &Workspace::run("a1").unwrap(), ClaimMode::Exclusive).unwrap().unwrap();
        let script = script
            .on("SELECT 1", [Said::Fault(Fault::Closed("reset".to_owned()))])
            .on("'Exclusive', @LockOwner = 'Session', @LockTimeout = 0", [answer(lock)])
            .on("@LockTimeout = 10000", gate.into_iter().map(answer));
        drop(script);
        let before = counted.waited();
        let outcome = held.renew();
        let waited = counted.waited().saturating_sub(before);
        assert_eq!(outcome.is_ok(), renewed, "{outcome:?}");
        if let Err(error) = outcome {
            assert!(error.kind == ErrorKind::Busy && waited >= Duration::from_mins(1), "{error:?} {waited:?}");
            assert!(waited <= Duration::from_secs(90), "{waited:?}");
        }
    }
}

#[test]
fn only_sessions_of_dead_runs_are_ended() {
    let (_, clock) = clock();
    let script = granting()
        .on(
            "LIKE N'plimsoll work %'",
            [Said::Rows(vec![
                vec![BigInt(51), Text("plimsoll work plimsoll_run_dead")],
                vec![BigInt(52), Text("plimsoll work plimsoll_run_live")],
                vec![BigInt(53), Text("plimsoll work something else")],
            ])],
        )
        .on("@LockTimeout = 0", [Said::Rows(vec![vec![BigInt(0)]]), Said::Rows(vec![vec![BigInt(-1)]])])
        .on("s.program_name = @P2", [Said::Rows(vec![vec![BigInt(1)]]), Said::Rows(vec![vec![BigInt(0)]])])
        .on("KILL", [Said::Rows(Vec::new())]);
    let connector = script.connector(URL, &clock);
    assert_eq!(place::end_orphans(&mut control(&connector), clock.as_ref()).unwrap(), 1);
    let killed: Vec<String> = script.asked().into_iter().filter(|sql| sql.starts_with("KILL")).collect();
    assert_eq!(killed, ["KILL 51"]);
    // Leases are known in their own database only, so nobody looks at the sessions of another one.
    let looks: Vec<String> = script.asked().into_iter().filter(|sql| sql.contains("dm_exec_sessions")).collect();
    assert!(looks.len() >= 3, "{looks:?}");
    assert!(looks.iter().all(|sql| sql.contains("AND s.database_id = DB_ID()") && !sql.contains(" OR ")), "{looks:?}");
    // One that still undoes what it did is not gone.
    let undoing = script
        .on("@LockTimeout = 0", [Said::Rows(vec![vec![BigInt(0)]])])
        .on("s.program_name = @P2", [Said::Rows(vec![vec![BigInt(1)]])]);
    let error = place::end_orphans(&mut control(&undoing.connector(URL, &clock)), clock.as_ref()).unwrap_err();
    assert!(error.kind == ErrorKind::Busy && error.message.contains("session 51"), "{error:?}");
    // Who only tidies up does not wait for ever either.
    assert!(undoing.asked().iter().any(|sql| sql == "SET LOCK_TIMEOUT 60000"));
    // Who may not see sessions finds none.
    let blind = granting().refuses("LIKE N'plimsoll work %'", 300);
    assert_eq!(place::end_orphans(&mut control(&blind.connector(URL, &clock)), clock.as_ref()).unwrap(), 0);
}

#[test]
fn a_session_names_our_tables_with_their_place_and_leaves_the_user_s_alone() {
    let (_, clock) = clock();
    let script = granting()
        .on("SET NOCOUNT", [Said::Rows(Vec::new())])
        .on("sys.tables", [Said::Rows(vec![vec![Text("Mine")]])])
        .on("SELECT a FROM", [Said::Rows(Vec::new())])
        .on("DELETE", [Said::Rows(Vec::new())])
        .on("ROLLBACK", [Said::Rows(Vec::new())]);
    let connector = script.connector(URL, &clock);
    let workspace = Workspace::run("a1").unwrap();
    let abilities = described(&script).unwrap().abilities;
    let open = |access| MssqlSession::open(&connector, &workspace, &workspace, access, abilities).unwrap();
    let mut own = open(RequestAccess::OWN);
    own.execute("SELECT a FROM mine, theirs", &[]).unwrap();
    let mut reader = open(RequestAccess { existing: true, writes: false });
    reader.execute("SELECT a FROM mine, theirs", &[]).unwrap();
    let error = reader.execute("DELETE FROM theirs", &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Safety);
    let mut writer = open(RequestAccess { existing: true, writes: true });
    writer.execute("DELETE FROM theirs", &[]).unwrap();
    // A transaction that a deadlock has ended is gone, and that is no error.
    writer.execute("ROLLBACK", &[]).unwrap();
    assert_eq!(script.asked().last().unwrap(), "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION");
    let sent: Vec<String> = script.asked().into_iter().filter(|sql| sql.contains("theirs")).collect();
    assert_eq!(
        sent,
        [
            "SELECT a FROM [plimsoll_run_a1].mine, [plimsoll_run_a1].theirs",
            "SELECT a FROM [plimsoll_run_a1].mine, theirs",
            "DELETE FROM theirs"
        ]
    );
    assert_eq!(script.names().last().unwrap(), "plimsoll work plimsoll_run_a1");
}

/// Rows for a load, and then perhaps no more can be made.
struct Source(i32, bool);

impl plimsoll_engine::database::RowSource for Source {
    fn next(&mut self, row: &mut plimsoll_engine::value::Row) -> Result<bool> {
        if self.0 == 0 {
            return if self.1 {
                Err(plimsoll_engine::error::Error::new(ErrorKind::Internal, "no more"))
            } else {
                Ok(false)
            };
        }
        self.0 -= 1;
        row.push(Value::Int(self.0));
        Ok(true)
    }
}

#[test]
fn a_server_without_the_bulk_protocol_gets_its_rows_by_statements() {
    let (_, clock) = clock();
    let done = || [Said::Rows(Vec::new())];
    let script = granting()
        .row("DECLARE @names", &[Text("b")])
        .on("SET NOCOUNT", done())
        .on("TRANSACTION", done())
        .on("INSERT INTO [plimsoll_run_a1].[t] ([RowId]) VALUES (", done());
    let abilities = described(&script).unwrap().abilities;
    let connector = script.connector(URL, &clock);
    let workspace = Workspace::run("a1").unwrap();
    let mut session = MssqlSession::open(&connector, &workspace, &workspace, RequestAccess::OWN, abilities).unwrap();
    let table = plimsoll_engine::table::Table::new("t", &[("RowId", plimsoll_engine::table::ColumnType::Int)]);
    assert_eq!(Session::load(&mut session, &table, &mut Source(450, false)).unwrap().rows, 450);
    let sent = |from: usize| -> Vec<String> {
        script.asked().iter().skip(from).filter_map(|sql| sql.split(' ').next().map(str::to_owned)).collect()
    };
    let all = script.asked().len();
    assert_eq!(sent(all - 5), ["BEGIN", "INSERT", "INSERT", "INSERT", "COMMIT"]);
    let error = Session::load(&mut session, &table, &mut Source(250, true)).unwrap_err();
    assert_eq!(error.message, "no more");
    assert_eq!(sent(all), ["BEGIN", "INSERT", "IF"]);
}

/// The table of docs/ENGINES.md, made of what the driver knows.
fn table_of_capabilities() -> String {
    let mut table =
        "| capability | without it | SQL Server, Managed Instance | Azure SQL Database |\n|---|---|---|---|\n"
            .to_owned();
    for known in PRIVILEGES.iter() {
        let grant = |product| known.remedy(product, "user").replace('|', "\\|");
        let here = if known.azure_only { "does not exist there".to_owned() } else { grant(Product::Server) };
        let azure = grant(Product::Database);
        let _ = writeln!(table, "| {} | {} | {here} | {azure} |", known.name, known.cost);
    }
    table
}

#[test]
fn the_documents_have_the_table_of_capabilities() {
    let document = include_str!("../../../../../docs/ENGINES.md");
    let table = table_of_capabilities();
    assert!(document.contains(&table), "docs/ENGINES.md should have this table:\n{table}");
}
