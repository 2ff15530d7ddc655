//! What we may do, and what is not done although we could: emptying a cache that others use.

use std::sync::Arc;

use plimsoll_engine::value::Value::{self, BigInt, Null, Text};
use plimsoll_engine::{
    Cancel, ClaimMode, Cold, ColdFollower, ErrorKind, RequestAccess, Result, Session, Workspace, Workspaces as _,
};

use super::scripted::{Said, Script, refusal};
use super::{URL, azure, clock, control, described, everything, granting, identity};
use crate::abilities::Ability;
use crate::cold;
use crate::database::MssqlDatabase;
use crate::describe::{self};
use crate::session::MssqlSession;
use crate::wire::{Fault, ServerError};

const PLAIN_URL: &str = "mssql://ann:pl4nted@h/sales";

/// In a pool and on small levels others would lose their cache as well, and what is not known counts as such.
#[test]
fn the_cache_of_others_is_left_alone_in_azure() {
    let shares: [[Value<'static>; 4]; 9] = [
        [Text("Standard"), Text("ElasticPool"), Text("pool1"), Text("ElasticPool")],
        [Text("Standard"), Text("S2"), Text("pool1"), Text("S2")],
        [Text("Standard"), Text("S2"), Null, Text("ElasticPool")],
        [Text("Standard"), Text("ElasticPool"), Null, Text("S2")],
        [Text("Standard"), Text("S2"), Null, Null],
        [Text("Standard"), Null, Null, Text("S2")],
        [Text("Basic"), Text("Basic"), Null, Text("Basic")],
        [Text("Standard"), Text("S0"), Null, Text("S0")],
        [Text("Standard"), Text("s1"), Null, Text("S1")],
    ];
    for row in shares {
        let script = azure().row("database_service_objectives", &row);
        assert!(!described(&script).unwrap().abilities.has(Ability::DropBuffers), "{row:?}");
    }
    let unknown = azure().on("database_service_objectives", [Said::Rows(Vec::new())]);
    assert!(!described(&unknown).unwrap().abilities.has(Ability::DropBuffers));
    let refused = azure().refuses("database_service_objectives", 300);
    assert!(!described(&refused).unwrap().abilities.has(Ability::DropBuffers));
}

#[derive(Default)]
struct Listener(Vec<String>);

impl ColdFollower for Listener {
    fn working(&mut self, _: Arc<dyn Cancel>) {}
    fn check(&mut self) -> Result<()> {
        Ok(())
    }
    fn restarted(&mut self) -> Result<()> {
        Ok(())
    }
    fn warn(&mut self, warning: String) {
        self.0.push(warning);
    }
}

#[test]
fn the_server_s_cache_is_emptied_only_by_consent_and_a_refusal_is_said() {
    let permissions = |sysadmin: i64, version: &'static str| {
        let mut row = [BigInt(1); 8];
        row[7] = BigInt(sysadmin);
        everything().row("SERVERPROPERTY", &identity(version)).row("HAS_PERMS_BY_NAME", &row)
    };
    let done = || [Said::Rows(Vec::new())];
    let allowed = |script: Script| script.on("CHECKPOINT", done()).on("DBCC", done()).row("HAS_PERMS", &[BigInt(1); 8]);
    for (name, script, url, methods, words) in [
        ("consent", allowed(everything()), URL, 1, ""),
        ("none", allowed(everything()), PLAIN_URL, 0, "dropCleanBuffers=true"),
        ("refused", allowed(everything()).refuses("DBCC", 2571), URL, 0, "refuses DBCC DROPCLEANBUFFERS"),
        ("before 2022", permissions(0, "15.0.2000.5").on("DBCC", done()), URL, 0, "sysadmin"),
        ("in Azure", azure().refuses("database_service_objectives", 300), URL, 0, "never in an elastic pool"),
    ] {
        let (_, clock) = clock();
        let connector = script.connector(url, &clock);
        let server = describe::describe(&mut control(&connector), &connector).unwrap();
        assert!(!server.description.warnings.iter().any(|warning| warning.contains("cache")), "{name}");
        let (mut listener, run) = (Listener::default(), Workspace::run("a1").unwrap());
        let cold = Cold::default();
        let known = (server.product, server.abilities);
        let made = cold::make_cold(&connector, clock.as_ref(), known, &run, &cold, &mut listener).unwrap();
        assert_eq!((made.len(), listener.0.len()), (methods, 1 - methods), "{name}: {:?}", listener.0);
        assert!(listener.0.iter().all(|warning| warning.contains(words)), "{name}: {:?}", listener.0);
        let sent = script.asked().iter().any(|sql| sql.contains("DROPCLEANBUFFERS"));
        assert_eq!(sent, name == "consent" || name == "refused", "{name}");
    }
    assert!(described(&permissions(1, "13.0.1601.5")).unwrap().abilities.has(Ability::DropBuffers));
    assert!(described(&permissions(0, "16.0.1000.6")).unwrap().abilities.has(Ability::DropBuffers));
}

#[test]
fn a_permission_that_the_server_does_not_state_is_tried() {
    let server = described(&everything().row("HAS_PERMS_BY_NAME", &[Null; 8])).unwrap();
    for ability in [Ability::MakePlaces, Ability::Checkpoint, Ability::SeeSessions, Ability::EndSessions] {
        assert!(server.abilities.has(ability), "{ability:?}");
    }
    // From 2022 on there are smaller permissions.
    let mut row = [BigInt(0); 8];
    row[4] = BigInt(1);
    assert!(described(&everything().row("HAS_PERMS_BY_NAME", &row)).unwrap().abilities.has(Ability::SeeSessions));
    // What is asked of a whole server is not asked in Azure.
    let script = azure();
    described(&script).unwrap();
    let asked = script.asked();
    let asked: Vec<&String> = asked.iter().filter(|sql| sql.contains("HAS_PERMS_BY_NAME")).collect();
    let of_database = |sql: &&String| !sql.contains("NULL, NULL") && sql.contains("QUOTENAME(DB_NAME())");
    assert!(asked.len() == 2 && asked.iter().all(of_database));
}

/// That a check gets no further says nothing of a statement; what is wrong with it has another number.
#[test]
fn a_check_that_the_server_can_t_make_is_no_complaint() {
    let several = |numbers: &[u32]| {
        let server_error = |number: &u32| ServerError {
            number: *number,
            state: 1,
            class: 16,
            line: None,
            message: format!("error {number}."),
        };
        Fault::Server(numbers.iter().map(server_error).collect())
    };
    for (fault, kind) in [
        (refusal(11_501), None),
        (refusal(11_530), None),
        (refusal(2812), None),
        (several(&[11_513, 11_501]), None),
        (refusal(208), Some(ErrorKind::Statement)),
        (refusal(11_500), Some(ErrorKind::Statement)),
        (several(&[102, 11_501]), Some(ErrorKind::Statement)),
        (several(&[11_501, 208]), Some(ErrorKind::Statement)),
        (Fault::Closed("reset".to_owned()), Some(ErrorKind::Lost)),
    ] {
        let (_, clock) = clock();
        let script = granting()
            .on("SET NOCOUNT", [Said::Rows(Vec::new())])
            .on("sp_describe_undeclared_parameters", [Said::Fault(fault.clone())]);
        let connector = script.connector(URL, &clock);
        let workspace = Workspace::run("a1").unwrap();
        let abilities = described(&script).unwrap().abilities;
        let access = RequestAccess::OWN;
        let mut session = MssqlSession::open(&connector, &workspace, &workspace, access, abilities).unwrap();
        assert_eq!(session.check("SELECT 1").err().map(|error| error.kind), kind, "{fault:?}");
    }
}

#[test]
fn a_workspace_that_may_not_be_made_is_a_missing_right_whatever_the_servers_number_says() {
    let (_, clock) = clock();
    let script = granting()
        .row("HAS_PERMS_BY_NAME", &[BigInt(0); 8])
        .on("sys.extended_properties", [Said::Rows(Vec::new())])
        .refuses("EXEC (@make)", 33_557_097);
    let database = MssqlDatabase::open(script.connector(URL, &clock)).unwrap();
    let error = database.claim(&Workspace::run("a1").unwrap(), ClaimMode::Exclusive).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Permission, "{error:?}");
    assert!(error.hint.unwrap().contains("GRANT CREATE SCHEMA, CREATE TABLE TO [ann]"));
}
