//! Whole databases: what is sent to make, copy, restore and remove them, whose they are, and levels.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use super::scripted::{Said, Script};
use super::{URL, clock, refusal};
use crate::database::{Cancel, Place};
use crate::error::{ErrorKind, Result};
use crate::level::Levels;
use crate::mover::{COPY, Follow, Mover, RESTORE};
use crate::mssql::copies::{self, Copies};
use crate::mssql::level::MssqlLevels;
use crate::mssql::mover::MssqlMover;
use crate::mssql::place::Owner;
use crate::mssql::program::{self, Side};
use crate::mssql::sql::Product;
use crate::value::Value::{BigInt, Float, Text};

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
        .on("msdb.dbo.backupset", done())
        .row("@@SPID", &[BigInt(77)])
        .row("SpaceUsed", &[BigInt(1000)])
        .row("r.percent_complete", &[Float(50.0)])
}

fn run() -> Place {
    Place::run("a1").unwrap()
}

fn mover(script: &Script, product: Product) -> MssqlMover {
    let (_, clock) = clock();
    MssqlMover::new(&Arc::new(script.connector(URL, &clock)), &clock, &run(), (product, "sales"))
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
    let mut mover = mover(&script, Product::Server);
    assert_eq!(mover.ways(), ["backup-restore"]);
    let mut stages = Stages::default();
    mover.copy(&run().copy('a'), &run().copy('b'), "backup-restore", &mut stages).unwrap();
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
    let mut mover = mover(&script, Product::Server);
    let (folder, mut stages) = (Path::new("/nowhere"), Stages::default());
    let error = mover.restore(folder, &run().copy('b'), &mut stages).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Internal);
    mover.back_up(&run().copy('a'), folder, &mut stages).unwrap();
    assert!(stages.0.is_empty());
    let restored = mover.restore(folder, &run().copy('b'), &mut stages).unwrap();
    assert!(restored.elsewhere.is_none() && restored.place == run().copy('b'));
    assert_eq!((stages.0.as_slice(), changes(&script).len()), (&[RESTORE][..], 2));
    // Whose backups could not be found again, makes none.
    let blind = script.clone().refuses("msdb.dbo.backupset", 229);
    let before = changes(&blind).len();
    let error = self::mover(&blind, Product::Server).back_up(&run().copy('a'), folder, &mut stages).unwrap_err();
    assert!(error.hint.unwrap().contains("in msdb") && changes(&blind).len() == before);
    let script = script.on("msdb.dbo.backupset", done());
    // What the server has against it is told, and nothing else is tried.
    let refusing = script.refuses("BACKUP DATABASE", 262);
    let error = self::mover(&refusing, Product::Server).back_up(&run().copy('a'), folder, &mut stages).unwrap_err();
    assert!(error.kind == ErrorKind::Permission && error.hint.unwrap().contains("dbcreator"));
}

#[test]
fn a_database_goes_with_its_backups_and_only_if_it_is_ours() {
    let copy = run().copy('a');
    let script = script()
        .on("LEFT JOIN sys.master_files", [names(&["plimsoll of sales"])])
        .on("msdb.dbo.backupset", [names(&["/backups/o'clock.bak"])])
        .on("xp_delete_file", done())
        .on("sp_delete_database_backuphistory", done())
        .on("DROP DATABASE", done());
    mover(&script, Product::Server).remove(&copy).unwrap();
    let sent = changes(&script);
    assert_eq!(sent[0], "EXEC master.sys.xp_delete_file 0, N'/backups/o''clock.bak'");
    assert!(sent[1].starts_with("EXEC msdb.dbo.sp_delete_database_backuphistory"), "{sent:?}");
    assert!(sent[2].ends_with("DROP DATABASE [plimsoll_copy_a1a]") && sent.len() == 3, "{sent:?}");
    // A backup that can't be removed keeps its database, so that it is found again.
    let stuck = script.clone().on("xp_delete_file", [Said::Fault(refusal(229))]);
    let before = changes(&stuck).len();
    let error = mover(&stuck, Product::Server).remove(&copy).unwrap_err();
    assert!(error.message.contains("/backups/o'clock.bak") && changes(&stuck).len() == before + 1, "{error:?}");
    for first in ["sales", "plimsoll of archive"] {
        let foreign = self::script().on("LEFT JOIN sys.master_files", [names(&[first])]);
        let error = mover(&foreign, Product::Server).remove(&copy).unwrap_err();
        assert!(error.kind == ErrorKind::Safety && changes(&foreign).is_empty(), "{error:?}");
        assert_eq!(mover(&foreign, Product::Server).make(&copy).unwrap_err().kind, ErrorKind::Safety);
    }
}

#[test]
fn a_database_is_made_with_its_mark_and_the_schema_of_its_run() {
    let server = script().on("CREATE DATABASE", done()).on("CREATE SCHEMA", done());
    mover(&server, Product::Server).make(&run().copy('a')).unwrap();
    let sent = changes(&server);
    assert!(sent[0].contains("ON PRIMARY (NAME = [plimsoll of sales]"), "{sent:?}");
    assert!(sent[1].contains("CREATE SCHEMA [plimsoll_run_a1]") && sent.len() == 2, "{sent:?}");
    let azure = script()
        .on("d.state_desc", done())
        .on("CREATE DATABASE", done())
        .on("CREATE SCHEMA", done())
        .on("IF NOT EXISTS", done());
    mover(&azure, Product::Database).make(&run().copy('a')).unwrap();
    let sent = changes(&azure);
    assert_eq!(sent[0], "CREATE DATABASE [plimsoll_copy_a1a]");
    assert!(sent[1].contains("@name = N'plimsoll', @value = N'sales'") && sent.len() == 3, "{sent:?}");
}

#[test]
fn azure_copies_by_itself_and_is_waited_for() {
    let state = |state| Said::Rows(vec![vec![Text(state)]]);
    let script = script()
        .on("d.state_desc", [Said::Rows(Vec::new()), state("COPYING"), state("COPYING"), state("ONLINE")])
        .row("c.percent_complete", &[Float(25.0), Text("plimsoll_copy_a1a")])
        .on("AS COPY OF", done())
        .on("IF NOT EXISTS", done());
    let mut mover = mover(&script, Product::Database);
    assert_eq!(mover.ways(), ["as-copy-of"]);
    let mut stages = Stages::default();
    mover.copy(&run().copy('a'), &run().copy('b'), "as-copy-of", &mut stages).unwrap();
    assert_eq!(changes(&script)[0], "CREATE DATABASE [plimsoll_copy_a1b] AS COPY OF [plimsoll_copy_a1a]");
    assert_eq!(script.asked().iter().filter(|sql| sql.contains("d.state_desc")).count(), 4);
    // One that the server could not finish is said to be so.
    let suspect = script.on("d.state_desc", [Said::Rows(Vec::new()), state("SUSPECT")]);
    let error = self::mover(&suspect, Product::Database)
        .copy(&run().copy('a'), &run().copy('b'), "as-copy-of", &mut stages)
        .unwrap_err();
    assert!(error.hint.unwrap().contains("sys.dm_operation_status"));
}

#[test]
fn in_azure_a_database_is_ours_by_its_mark_or_by_what_is_in_it() {
    let copy = run().copy('b');
    let state = |state: &'static str| script().row("d.state_desc", &[Text(state)]);
    let owner = |script: &Script| {
        let (_, clock) = clock();
        Copies::new(&script.connector(URL, &clock), Product::Database, "sales").owner(&copy).unwrap()
    };
    let online = || state("ONLINE").on("CAST(p.value", done());
    for (script, expected) in [
        (script().on("d.state_desc", done()), Owner::Nobody),
        (state("ONLINE").row("CAST(p.value", &[Text("sales")]), Owner::We),
        // Another database's run, whose lease says nothing here.
        (state("ONLINE").row("CAST(p.value", &[Text("archive")]), Owner::Somebody),
        (online().row("o.is_ms_shipped", &[BigInt(0)]), Owner::We),
        (online().row("o.is_ms_shipped", &[BigInt(3)]), Owner::Somebody),
        (state("COPYING").row("c.percent_complete", &[Float(1.0), Text("plimsoll_copy_a1a")]), Owner::We),
        (state("COPYING").row("c.percent_complete", &[Float(1.0), Text("plimsoll_copy_z9a")]), Owner::Somebody),
        (state("COPYING").on("c.percent_complete", done()), Owner::Somebody),
    ] {
        assert_eq!(owner(&script), expected);
    }
}

#[test]
fn databases_are_listed_with_the_leases_of_their_runs() {
    let (_, clock) = clock();
    let script = script()
        .on(
            "JOIN sys.master_files f ON f.database_id = d.database_id WHERE f.file_id = 1 AND LEFT",
            [names(&["plimsoll_copy_a1a", "plimsoll_copy_"])],
        )
        .on(
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
    let script = script().row("'ServiceObjective'", &[Text("S2")]).on("ALTER DATABASE", done());
    let mut levels = MssqlLevels::new(&Arc::new(script.connector(URL, &clock)), "sa]les");
    assert_eq!(levels.current().unwrap().as_deref(), Some("S2"));
    levels.ask("P1").unwrap();
    assert_eq!(changes(&script), ["ALTER DATABASE [sa]]les] MODIFY (EDITION = 'Premium', SERVICE_OBJECTIVE = 'P1')"]);
    for level in ["", "S3'", "S3; DROP DATABASE x", "S\u{e4}"] {
        assert_eq!(levels.ask(level).unwrap_err().kind, ErrorKind::Usage);
    }
    assert_eq!(changes(&script).len(), 1);
    // A change that is under way is not the end of the run's.
    let busy = script.refuses("ALTER DATABASE", 40802);
    let mut levels = MssqlLevels::new(&Arc::new(busy.connector(URL, &clock)), "sales");
    assert_eq!(levels.ask("S3").unwrap_err().kind, ErrorKind::Busy);
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
    crate::tool::run(command, clock.as_ref(), || Ok(())).unwrap();
    let heard = fs::read_to_string(heard).unwrap();
    for line in
        ["/Action:Export", "/SourceServerName:\"tcp:h,1433\"", "/SourceUser:\"ann\"", "/SourcePassword:\"pl4nted\""]
    {
        assert!(heard.lines().any(|said| said == line), "{line}: {heard}");
    }
}
