//! Whole databases: what is sent to make, copy, restore and remove them, their owners, and levels.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::transfer::{COPY, RESTORE};
use plimsoll_engine::value::Value::{BigInt, Float, Null, Text};
use plimsoll_engine::{
    Cancel, Error, ErrorKind, Follow, Levels, Move, RequestAccess, Result, Transfer, Workspace, Workspaces as _,
};

use super::scripted::{Said, Script};
use super::{URL, clock, granting, mark, refusal};
use crate::copies::{self, Copies};
use crate::database::MssqlDatabase;
use crate::level::MssqlLevels;
use crate::program::{self, Side};
use crate::sql::Product;
use crate::transfer::MssqlTransfer;
use plimsoll_engine::server::place::Owner;

/// Words of the text that asks for the owner of a run's schema.
const RUN_WORKSPACE: &str = "GROUP BY s.schema_id";

fn done() -> [Said; 1] {
    [Said::Rows(Vec::new())]
}

fn names(names: &[&'static str]) -> Said {
    Said::Rows(names.iter().map(|name| vec![Text(name)]).collect())
}

/// A server on which long work is done at once.
fn script() -> Script {
    Script::default()
        .on("SET LOCK_TIMEOUT", done())
        .on("LEFT JOIN sys.master_files", done())
        .on("msdb.dbo.backupset", [names(&["/backups/plimsoll_copy_a1a.bak"])])
        .row("IS_SRVROLEMEMBER", &[BigInt(1)])
        .row("'Edition'", &[Text("Standard"), Text("S2"), BigInt(250 << 30), Null])
        .row("@@SPID", &[BigInt(77)])
        .row("SpaceUsed", &[BigInt(1000)])
        .row("r.percent_complete", &[Float(50.0)])
}

fn run() -> Workspace {
    Workspace::run("a1").unwrap()
}

fn transfer(script: &Script, product: Product) -> MssqlTransfer {
    let (_, clock) = clock();
    MssqlTransfer::new(&Arc::new(script.connector(URL, &clock)), &run(), (product, "sales"), MssqlDatabase::open_boxed)
}

/// Notes the stages.
#[derive(Default)]
struct Stages(Vec<&'static str>);

impl Follow for Stages {
    fn stage(&mut self, name: &'static str) -> Result<()> {
        self.0.push(name);
        Ok(())
    }

    fn working(&mut self, _: Arc<dyn Cancel>) {}

    fn look(&mut self, bytes: &mut dyn FnMut() -> Option<u64>) -> Result<()> {
        bytes();
        Ok(())
    }
}

/// The statements that change something, in their order.
fn changes(script: &Script) -> Vec<String> {
    let changing = ["CREATE", "BACKUP", "RESTORE", "DROP", "xp_delete_file", "ALTER", "sp_delete", "sp_add"];
    let is_change = |sql: &String| changing.iter().any(|word| sql.contains(word));
    script.asked().into_iter().filter(is_change).collect()
}

#[test]
fn on_a_machine_a_copy_is_a_backup_and_its_restore() {
    let script = script().on("BACKUP DATABASE", done()).on("RESTORE DATABASE", done());
    let mut transfer = transfer(&script, Product::Server);
    assert_eq!(transfer.methods(), ["backup-restore"]);
    let mut stages = Stages::default();
    transfer.copy(&run().copy('a'), &run().copy('b'), "backup-restore", &mut stages).unwrap();
    let sent = changes(&script);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[0].starts_with("BACKUP DATABASE [plimsoll_copy_a1a] TO DISK = N'plimsoll_copy_a1a.bak'"), "{sent:?}");
    assert!(sent[1].contains("RESTORE DATABASE [plimsoll_copy_a1b] FROM DISK = N'plimsoll_copy_a1a.bak'"), "{sent:?}");
    assert!(sent[1].contains("MOVE N'plimsoll of sales' TO @data"), "{sent:?}");
    assert_eq!(stages.0, [COPY]);
    // Those who work are named by their run, and end with it.
    assert!(script.names().iter().any(|name| name == "plimsoll work plimsoll_run_a1"));
}

#[test]
fn a_restore_comes_from_the_backup_before_it() {
    let script = script().on("BACKUP DATABASE", done()).on("RESTORE DATABASE", done());
    let mut transfer = transfer(&script, Product::Server);
    let (folder, mut stages) = (Path::new("/nowhere"), Stages::default());
    let error = transfer.restore(folder, &run().copy('b'), &mut stages).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Internal);
    transfer.back_up(&run().copy('a'), folder, &mut stages).unwrap();
    assert!(stages.0.is_empty());
    let restored = transfer.restore(folder, &run().copy('b'), &mut stages).unwrap();
    assert!(restored.elsewhere.is_none() && restored.workspace == run().copy('b'));
    assert_eq!((stages.0.as_slice(), changes(&script).len()), (&[RESTORE][..], 2));
    // Who could not remove backups again, makes none, and hears it before anything is loaded.
    for answer in [BigInt(0), Null] {
        let script = self::script().row("IS_SRVROLEMEMBER", &[answer]);
        let mut transfer = self::transfer(&script, Product::Server);
        let refusals = [
            transfer.find_tools(Move::Copy).unwrap_err(),
            transfer.find_tools(Move::Restore).unwrap_err(),
            transfer.back_up(&run().copy('a'), folder, &mut stages).unwrap_err(),
            transfer.copy(&run().copy('a'), &run().copy('b'), "backup-restore", &mut stages).unwrap_err(),
        ];
        for error in refusals {
            assert_eq!(error.kind, ErrorKind::Permission);
            assert!(error.hint.unwrap().contains("sysadmin ADD MEMBER [ann]") && changes(&script).is_empty());
        }
    }
    assert!(self::transfer(&self::script(), Product::Server).find_tools(Move::Copy).unwrap().is_empty());
    // Whose databases could not be known again, makes none either.
    for move_ in [Move::Copy, Move::Restore, Move::Import] {
        let refused = |is_administrator: i64| {
            let script = self::script()
                .on("LEFT JOIN sys.master_files", [names(&[""])])
                .row("IS_SRVROLEMEMBER", &[BigInt(is_administrator)]);
            let error = self::transfer(&script, Product::Server).find_tools(move_).unwrap_err();
            assert!(error.message.contains("none is made") && changes(&script).is_empty(), "{error}");
            (error.kind, error.hint.unwrap())
        };
        if move_ == Move::Import {
            let (kind, hint) = refused(0);
            assert!(kind == ErrorKind::Permission && hint.contains("GRANT CREATE ANY DATABASE TO [ann]"), "{hint}");
        }
        // A grant changes nothing for who may do anything.
        let (kind, hint) = refused(1);
        assert!(kind == ErrorKind::Unsupported && hint.contains("to an administrator either"), "{hint}");
    }
    // One that is not found again is said to lie about.
    let lost =
        self::script().on("BACKUP DATABASE", done()).on("msdb.dbo.backupset", [names(&["plimsoll_copy_a1a.bak"])]);
    let error = self::transfer(&lost, Product::Server).back_up(&run().copy('a'), folder, &mut stages).unwrap_err();
    assert!(error.hint.unwrap().contains("plimsoll_copy_a1a.bak"));
    // What the server has against it is told, and nothing else is tried.
    let refusing = script.refuses("BACKUP DATABASE", 262);
    let error = self::transfer(&refusing, Product::Server).back_up(&run().copy('a'), folder, &mut stages).unwrap_err();
    assert!(error.kind == ErrorKind::Permission && error.hint.unwrap().contains("dbcreator"));
}

#[test]
fn a_database_goes_with_its_backups_and_only_if_it_is_ours() {
    let copy = run().copy('a');
    let script = script()
        .on("LEFT JOIN sys.master_files", [names(&["plimsoll of sales"])])
        .on(
            "msdb.dbo.backupset",
            // Others back up our databases as well, into files that are theirs.
            [names(&[
                "/backups/o'clock.bak",
                "/backups/xplimsoll_copy_a1a.bak",
                "/backups/plimsoll_copy_a1a.bak.old",
                "/o'clock/plimsoll_copy_a1a.bak",
                "E:\\b\\plimsoll_copy_a1a.bak",
            ])],
        )
        .on("xp_delete_file", done())
        .on("sp_delete_database_backuphistory", done())
        .on("DROP DATABASE", done());
    transfer(&script, Product::Server).remove(&copy).unwrap();
    let sent = changes(&script);
    assert_eq!(sent[0], "EXEC master.sys.xp_delete_file 0, N'/o''clock/plimsoll_copy_a1a.bak'");
    assert_eq!(sent[1], "EXEC master.sys.xp_delete_file 0, N'E:\\b\\plimsoll_copy_a1a.bak'");
    assert!(sent[2].starts_with("EXEC msdb.dbo.sp_delete_database_backuphistory"), "{sent:?}");
    assert!(sent[3].ends_with("DROP DATABASE [plimsoll_copy_a1a]") && sent.len() == 4, "{sent:?}");
    // What msdb keeps of them stands in nobody's way.
    let kept = script.clone().refuses("sp_delete_database_backuphistory", 229);
    let before = changes(&kept).len();
    transfer(&kept, Product::Server).remove(&copy).unwrap();
    assert!(changes(&kept)[before..].last().unwrap().ends_with("DROP DATABASE [plimsoll_copy_a1a]"));
    let script = script.on("sp_delete_database_backuphistory", done());
    // A backup that can't be removed keeps its database, so that it is found again.
    let stuck = script.clone().on("xp_delete_file", [Said::Fault(refusal(229))]);
    let before = changes(&stuck).len();
    let error = transfer(&stuck, Product::Server).remove(&copy).unwrap_err();
    assert!(
        error.message.contains("/o'clock/plimsoll_copy_a1a.bak") && changes(&stuck).len() == before + 1,
        "{error:?}"
    );
    for first in ["sales", "plimsoll of archive"] {
        let foreign = self::script().on("LEFT JOIN sys.master_files", [names(&[first])]);
        let error = transfer(&foreign, Product::Server).remove(&copy).unwrap_err();
        assert!(error.kind == ErrorKind::Safety && changes(&foreign).is_empty(), "{error:?}");
        assert_eq!(transfer(&foreign, Product::Server).make(&copy).unwrap_err().kind, ErrorKind::Safety);
    }
}

#[test]
fn a_database_is_made_with_its_mark_and_the_schema_of_its_run() {
    let server = script().on("CREATE DATABASE", done()).on("CREATE SCHEMA", done());
    transfer(&server, Product::Server).make(&run().copy('a')).unwrap();
    let sent = changes(&server);
    assert!(sent[0].contains("ON PRIMARY (NAME = ' + QUOTENAME(N'plimsoll of sales')"), "{sent:?}");
    assert!(sent[1].contains("CREATE SCHEMA ' + QUOTENAME(N'plimsoll_run_a1')") && sent.len() == 2, "{sent:?}");
    let azure = script()
        .on("d.state_desc", done())
        .on("CREATE DATABASE", done())
        .on("CREATE SCHEMA", done())
        .on("IF NOT EXISTS", done());
    transfer(&azure, Product::Database).make(&run().copy('a')).unwrap();
    let sent = changes(&azure);
    let level = "(EDITION = 'Standard', MAXSIZE = 250 GB, SERVICE_OBJECTIVE = 'S2')";
    assert_eq!(sent[0], format!("CREATE DATABASE [plimsoll_copy_a1a] {level}"));
    assert!(sent[1].contains("@name = N'plimsoll', @value = N'sales'") && sent.len() == 3, "{sent:?}");
    // In a pool it goes into the same, and of a level that nobody knows none is made.
    let pooled = azure.row("'Edition'", &[Text("Standard"), Text("ElasticPool"), BigInt(250 << 30), Text("pool 1")]);
    let before = changes(&pooled).len();
    transfer(&pooled, Product::Database).make(&run().copy('a')).unwrap();
    let text = "CREATE DATABASE [plimsoll_copy_a1a] (SERVICE_OBJECTIVE = ELASTIC_POOL(name = [pool 1]))";
    assert_eq!(changes(&pooled)[before], text);
    for row in [[Null, Null, Null, Null], [Text("Standard"), Text("ElasticPool"), Null, Null]] {
        let unknown = script().on("d.state_desc", done()).row("'Edition'", &row);
        let error = transfer(&unknown, Product::Database).make(&run().copy('a')).unwrap_err();
        assert!(error.kind == ErrorKind::Unsupported && changes(&unknown).is_empty(), "{error:?}");
    }
}

#[test]
fn azure_copies_by_itself_and_is_waited_for() {
    let state = |state| Said::Rows(vec![vec![Text(state)]]);
    let script = script()
        .on("d.state_desc", [Said::Rows(Vec::new()), state("COPYING"), state("COPYING"), state("ONLINE")])
        .row("c.percent_complete", &[Float(25.0), Text("plimsoll_copy_a1a")])
        .on("AS COPY OF", done())
        .on("IF NOT EXISTS", done());
    let mut transfer = transfer(&script, Product::Database);
    assert_eq!(transfer.methods(), ["as-copy-of"]);
    let mut stages = Stages::default();
    transfer.copy(&run().copy('a'), &run().copy('b'), "as-copy-of", &mut stages).unwrap();
    assert_eq!(changes(&script)[0], "CREATE DATABASE [plimsoll_copy_a1b] AS COPY OF [plimsoll_copy_a1a]");
    assert_eq!(script.asked().iter().filter(|sql| sql.contains("d.state_desc")).count(), 4);
    // One that the server could not finish is said to be so, and nothing is waited for without an end.
    let none = || Said::Rows(Vec::new());
    for (states, words) in [
        (vec![none(), state("SUSPECT")], "SUSPECT"),
        (vec![none(), state("RESTORING"), state("RECOVERY_PENDING")], "RECOVERY_PENDING"),
        (vec![none(), state("EMERGENCY")], "EMERGENCY"),
        (vec![none(), state("COPYING"), none()], "gone again"),
        (vec![none()], "not there"),
    ] {
        let script = script.clone().on("d.state_desc", states);
        let copied = self::transfer(&script, Product::Database).copy(
            &run().copy('a'),
            &run().copy('b'),
            "as-copy-of",
            &mut stages,
        );
        let error = copied.unwrap_err();
        assert!(error.message.contains(words), "{error:?}");
        assert!(error.hint.unwrap().contains("sys.dm_operation_status"));
    }
}

/// In Azure a database has its own resources, so that a copy is looked at from within; on a machine it is the server's.
#[test]
fn a_copy_in_azure_is_a_target_of_its_own() {
    let script = granting().on("SET NOCOUNT", done());
    let copy = run().copy('b');
    let azure = transfer(&script, Product::Database);
    assert!(azure.copies_are_cold());
    let inside = azure.inside(&copy).unwrap();
    assert_eq!(inside.workspace, run());
    assert!(script.databases().contains(&copy.name().to_owned()), "{:?}", script.databases());
    inside.elsewhere.unwrap().session_with(&run(), &run(), RequestAccess::OWN).unwrap();
    let machine = transfer(&script, Product::Server);
    assert!(!machine.copies_are_cold());
    let inside = machine.inside(&copy).unwrap();
    assert!(inside.elsewhere.is_none() && inside.workspace == copy);
}

/// An observer that has been interrupted.
struct Interrupted;

impl Follow for Interrupted {
    fn stage(&mut self, _: &'static str) -> Result<()> {
        Ok(())
    }

    fn working(&mut self, _: Arc<dyn Cancel>) {}

    fn look(&mut self, _: &mut dyn FnMut() -> Option<u64>) -> Result<()> {
        Err(Error::new(ErrorKind::Cancelled, "the run was interrupted"))
    }
}

/// The first cancel may come before the statement has begun.
#[test]
fn a_move_is_cancelled_until_it_ends() {
    let script = script().on("BACKUP DATABASE", done()).lasts("BACKUP DATABASE", 3);
    let mut transfer = transfer(&script, Product::Server);
    let error = transfer.back_up(&run().copy('a'), Path::new("/nowhere"), &mut Interrupted).unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Cancelled, "the run was interrupted"));
}

/// Azure backs up by itself, some time after a database was made.
#[test]
fn a_database_in_azure_is_restored_once_it_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let (az, asked) = (folder.path().join("az"), folder.path().join("asked"));
    let answering = |shown: &str| {
        let text = format!(
            "#!/bin/sh\necho \"$*\" >> {}\ncase \"$2 $3\" in 'server list') printf 'g\\tsrv\\n';; 'db show') {shown};; esac\n",
            asked.display()
        );
        fs::write(&az, text).unwrap();
        fs::set_permissions(&az, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let second = folder.path().join("second").display().to_string();
    // Nothing yet, then a moment that has not come yet.
    answering(&format!(
        "if [ -e {second} ]; then echo 2026-11-22T08:00:09.5+00:00; else touch {second}; echo None; fi"
    ));
    let now = |time| Said::Rows(vec![vec![Text(time)]]);
    let times = [now("2026-11-22T08:00:01"), now("2026-11-22T08:00:08"), now("2026-11-22T08:00:30")];
    let script = script()
        .on("SYSUTCDATETIME", times)
        .on("d.state_desc", [Said::Rows(Vec::new()), Said::Rows(vec![vec![Text("ONLINE")]])])
        .on("IF NOT EXISTS", done());
    let (counted, clock) = clock();
    let mut transfer = MssqlTransfer::new(
        &Arc::new(script.connector(URL, &clock)),
        &run(),
        (Product::Database, "sales"),
        MssqlDatabase::open_boxed,
    );
    transfer.tool = Some(az.clone());
    let mut stages = Stages::default();
    transfer.back_up(&run().copy('a'), folder.path(), &mut stages).unwrap();
    assert_eq!(counted.waited(), Duration::from_secs(30));
    assert!(stages.0.is_empty());
    transfer.restore(folder.path(), &run().copy('b'), &mut stages).unwrap();
    assert_eq!(stages.0, [RESTORE]);
    let said = fs::read_to_string(&asked).unwrap();
    let restore = said.lines().last().unwrap();
    assert!(restore.starts_with("sql db restore") && restore.contains("--time 2026-11-22T08:00:30"), "{said}");
    // An interrupt ends the waiting, and so does an end of patience.
    answering("echo None");
    assert_eq!(
        transfer.back_up(&run().copy('a'), folder.path(), &mut Interrupted).unwrap_err().kind,
        ErrorKind::Cancelled
    );
    let error = transfer.back_up(&run().copy('a'), folder.path(), &mut Stages::default()).unwrap_err();
    assert!(error.kind == ErrorKind::Busy && error.hint.unwrap().contains("earliestRestoreDate"));
}

fn somebody() -> Owner {
    Owner::Somebody("it does not bear our mark".to_owned())
}

#[test]
fn in_azure_a_database_is_ours_by_its_mark_or_by_what_is_in_it() {
    let copy = run().copy('b');
    let state = |state: &'static str| script().row("d.state_desc", &[Text(state)]);
    let owner = |script: &Script| {
        let (_, clock) = clock();
        Copies::new(&script.connector(URL, &clock), Product::Database, "sales").owner(&copy).unwrap()
    };
    // Whether the schema of the copy's run is in the target's database.
    let here = |script: Script| script.row(RUN_WORKSPACE, &[Text(mark())]);
    let elsewhere = |script: Script| script.on(RUN_WORKSPACE, done());
    let strangers = |script: Script| script.row(RUN_WORKSPACE, &[Text("")]);
    let copying = |from| state("COPYING").row("c.percent_complete", &[Float(1.0), Text(from)]);
    let online = || state("ONLINE").on("CAST(p.value", done());
    for (script, expected) in [
        (script().on("d.state_desc", done()), Owner::Nobody),
        (state("ONLINE").row("CAST(p.value", &[Text("sales")]), Owner::We),
        // Another database's run, whose lease says nothing here.
        (state("ONLINE").row("CAST(p.value", &[Text("archive")]), somebody()),
        (here(online().row("o.is_ms_shipped", &[BigInt(0)])), Owner::We),
        (here(online().row("o.is_ms_shipped", &[BigInt(3)])), somebody()),
        (here(copying("plimsoll_copy_a1a")), Owner::We),
        (here(copying("plimsoll_copy_z9a")), somebody()),
        (here(state("COPYING").on("c.percent_complete", done())), somebody()),
        (here(state("RESTORING")), Owner::We),
        // Of a run that has its place and its lease in another database of the server, or a stranger's.
        (elsewhere(online().row("o.is_ms_shipped", &[BigInt(0)])), somebody()),
        (strangers(online().row("o.is_ms_shipped", &[BigInt(0)])), somebody()),
        (elsewhere(copying("plimsoll_copy_a1a")), somebody()),
        (strangers(copying("plimsoll_copy_a1a")), somebody()),
        (elsewhere(state("RESTORING")), somebody()),
    ] {
        assert_eq!(owner(&script), expected);
    }
}

/// Else what bears no mark yet could not be told from a stranger's any more.
#[test]
fn a_run_s_place_in_azure_outlives_its_databases() {
    let script = script()
        .on(
            "LEFT(d.name, 14)",
            [names(&["plimsoll_copy_zz9a", "plimsoll_copy_a1b", "plimsoll_copy_", "plimsoll_copy_b2a"])],
        )
        .row("d.state_desc", &[Text("RESTORING")])
        .row(RUN_WORKSPACE, &[Text(mark())]);
    let (_, clock) = clock();
    let connector = script.connector(URL, &clock);
    let copies = |product| Copies::new(&connector, product, "sales");
    let any = |id| copies(Product::Database).any_of_run(&Workspace::run(id).unwrap());
    assert_eq!(any("a1").unwrap(), Some(run().copy('b')));
    assert_eq!(any("c3").unwrap(), None);
    // On a machine the mark is there from the first moment on.
    assert_eq!(copies(Product::Server).any_of_run(&run()).unwrap(), None);
    // Who may not see databases has made none.
    let _blind = script.clone().refuses("LEFT(d.name, 14)", 916);
    assert_eq!(any("a1").unwrap(), None);
}

#[test]
fn databases_in_azure_go_before_the_places_of_their_runs() {
    let script = super::azure()
        .on("LEFT(d.name, 14)", [names(&["plimsoll_copy_a1b"])])
        .row("LEFT(s.name, 9)", &[Text("plimsoll_run_a1"), Text(mark())])
        .row("d.state_desc", &[Text("RESTORING")])
        .row(RUN_WORKSPACE, &[Text(mark())])
        .row("APPLOCK_TEST", &[BigInt(1)])
        .row("sp_getapplock", &[BigInt(0)])
        .on("sp_releaseapplock", done())
        .on("LIKE N'plimsoll work %'", done())
        .on("DROP DATABASE", done());
    let (_, clock) = clock();
    let database = MssqlDatabase::open(script.connector(URL, &clock)).unwrap();
    let listed: Vec<Workspace> = database.workspaces().unwrap().into_iter().map(|status| status.workspace).collect();
    assert_eq!(listed, [run().copy('b'), run()]);
    let error = database.remove(&run()).unwrap_err();
    assert!(error.kind == ErrorKind::Safety && error.message.contains("plimsoll_copy_a1b"), "{error:?}");
    assert!(!script.asked().iter().any(|sql| sql.contains("DROP")));
    assert!(database.remove(&run().copy('b')).unwrap());
    assert!(script.asked().iter().any(|sql| sql == "DROP DATABASE [plimsoll_copy_a1b]"));
}

#[test]
fn databases_are_listed_with_the_leases_of_their_runs() {
    let (_, clock) = clock();
    let script = script().on("WHERE f.file_id = 1 AND LEFT", [names(&["plimsoll_copy_a1a", "plimsoll_copy_"])]).on(
        "APPLOCK_TEST",
        [Said::Rows(vec![vec![BigInt(1)]]), Said::Rows(vec![vec![BigInt(1)]]), Said::Rows(vec![vec![BigInt(0)]])],
    );
    let connector = script.connector(URL, &clock);
    let copies = Copies::new(&connector, Product::Server, "sales");
    let mut control = super::control(&connector);
    let mut leased = || copies::statuses(&mut control, copies.list().unwrap()).unwrap().remove(0).leased;
    assert!(!leased() && leased());
}

#[test]
fn levels_are_asked_for_by_names_only() {
    let (_, clock) = clock();
    let script = at("S2");
    let mut levels = MssqlLevels::new(&Arc::new(script.connector(URL, &clock)), "sa]les");
    assert_eq!(levels.current().unwrap().as_deref(), Some("S2"));
    levels.ask("P1").unwrap();
    let text = "ALTER DATABASE [sa]]les] MODIFY (EDITION = 'Premium', MAXSIZE = 250 GB, SERVICE_OBJECTIVE = 'P1')";
    assert_eq!(changes(&script), [text]);
    for level in ["", "S3'", "S3; DROP DATABASE x", "S\u{e4}"] {
        assert_eq!(levels.ask(level).unwrap_err().kind, ErrorKind::Usage);
    }
    assert_eq!(changes(&script).len(), 1);
    // A change that is under way is not the end of the run's.
    let busy = script.refuses("ALTER DATABASE", 40802);
    let mut levels = MssqlLevels::new(&Arc::new(busy.connector(URL, &clock)), "sales");
    assert_eq!(levels.ask("S3").unwrap_err().kind, ErrorKind::Busy);
}

/// A database at this level, of 250 GB at most.
fn at(level: &'static str) -> Script {
    script().row("'ServiceObjective'", &[Text(level), BigInt(250 << 30)]).on("ALTER DATABASE", done())
}

#[test]
fn a_level_comes_back_as_it_was() {
    let sent = |first: &'static str, asked: &[&str]| {
        let (script, (_, clock)) = (at(first), clock());
        let mut levels = MssqlLevels::new(&Arc::new(script.connector(URL, &clock)), "sales");
        levels.current().unwrap();
        // What is in effect meanwhile may have another size.
        let script = script.row("'ServiceObjective'", &[Text("P1"), BigInt(1 << 40)]);
        levels.current().unwrap();
        for level in asked {
            levels.ask(level).unwrap();
        }
        let sent = changes(&script);
        sent.iter().map(|text| text.trim_start_matches("ALTER DATABASE [sales] MODIFY ").to_owned()).collect::<Vec<_>>()
    };
    // Within an edition its size is nobody's concern.
    assert_eq!(sent("S2", &["S3", "S2"]), ["(SERVICE_OBJECTIVE = 'S3')", "(SERVICE_OBJECTIVE = 'S2')"]);
    assert_eq!(sent("HS_Gen5_2", &["HS_Gen5_4"]), ["(SERVICE_OBJECTIVE = 'HS_Gen5_4')"]);
    assert_eq!(
        sent("S2", &["P1", "S2"]),
        [
            "(EDITION = 'Premium', MAXSIZE = 250 GB, SERVICE_OBJECTIVE = 'P1')",
            "(EDITION = 'Standard', MAXSIZE = 250 GB, SERVICE_OBJECTIVE = 'S2')"
        ]
    );
    // Nothing was asked for yet.
    assert_eq!(sent("S2", &["S2"]), [""; 0]);
}

#[test]
fn a_level_that_could_not_be_given_back_is_not_changed() {
    let (_, clock) = clock();
    for (first, asked, words) in [
        ("GP_Gen5_2", "HS_Gen5_2", "no way back"),
        ("HS_Gen5_2", "GP_Gen5_2", "no way back"),
        ("S2", "ElasticPool", "elastic pool"),
        ("ElasticPool", "S2", "elastic pool"),
    ] {
        let script = at(first);
        let mut levels = MssqlLevels::new(&Arc::new(script.connector(URL, &clock)), "sales");
        let error = levels.ask(asked).unwrap_err();
        assert!(error.kind == ErrorKind::Unsupported && error.message.contains(words), "{error:?}");
        assert_eq!(changes(&script), [""; 0]);
    }
    let pooled = at("ElasticPool");
    let error = MssqlLevels::new(&Arc::new(pooled.connector(URL, &clock)), "sales").current().unwrap_err();
    assert_eq!(error.message, "a database in an elastic pool has no level of its own");
}

/// Whoever lists processes sees no password.
#[test]
fn sqlpackage_hears_its_arguments_where_nobody_else_does() {
    let (_, clock) = clock();
    let connector = Script::default().connector(URL, &clock);
    let folder = tempfile::tempdir().unwrap();
    let (tool, heard) = (folder.path().join("sqlpackage"), folder.path().join("heard"));
    fs::write(&tool, format!("#!/bin/sh\ntest \"$*\" = @/dev/stdin && cat \"${{1#@}}\" > {}\n", heard.display()))
        .unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("dump.bacpac");
    let command = program::sqlpackage(&tool, "Export", Side::Source, &run().copy('a'), &file, &connector).unwrap();
    assert!(!format!("{command:?}").contains("pl4nted"));
    plimsoll_engine::server::tool::run(command, clock.as_ref(), || Ok(())).unwrap();
    let heard = fs::read_to_string(heard).unwrap();
    for line in
        ["/Action:Export", "/SourceServerName:\"tcp:h,1433\"", "/SourceUser:\"ann\"", "/SourcePassword:\"pl4nted\""]
    {
        assert!(heard.lines().any(|said| said == line), "{line}: {heard}");
    }
}
