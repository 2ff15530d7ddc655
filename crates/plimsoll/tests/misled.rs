//! What users and administrators may set on a server so that our questions would get other answers: functions that fit better than the
//! system's, and a limit of the rows of every answer. Both once made `clean` remove a table of somebody else.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;

use common::{Scene, wait_until};
use plimsoll_testbed::{MariaDb, Postgres, Product};

/// A run that is killed while it has a table in its workspace.
fn killed(scene: &Scene, target: &str, has_begun: impl Fn() -> bool) {
    let file = scene.path("killed.toml");
    let text = "name = \"killed\"\nsteps = [\"requests\"]\n[setup]\nstatements = [\"CREATE TABLE t1 (a int PRIMARY KEY)\"]\n\
                [[request]]\nstatements = [\"SELECT a FROM t1\"]\n[parameters]\nsessions = 1\nduration = \"10m\"\n";
    fs::write(&file, text).unwrap();
    let mut child = scene.spawn(&["run", &file.display().to_string(), "--target", target]);
    wait_until(has_begun);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn functions_of_users_do_not_stand_in_for_the_systems() {
    let (scene, server) = (Scene::new(), Postgres::builder().start().unwrap());
    let target = server.socket_url("postgres");
    server
        .psql(
            "CREATE TABLE payroll (a int); CREATE TABLE called (name text); CREATE ROLE mallory; \
             GRANT CREATE ON SCHEMA public TO mallory; GRANT INSERT ON called TO mallory; SET ROLE mallory; \
             CREATE FUNCTION public.format(a text, b name, c name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN \
             IF a = '%I.%I' THEN RETURN 'public.payroll'; END IF; RETURN pg_catalog.format(a, b::text, c::text); END $$; \
             CREATE FUNCTION public.strpos(a text, b name) RETURNS int LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO public.called VALUES (current_user); RETURN 0; EXCEPTION WHEN OTHERS THEN RETURN 0; END $$; \
             CREATE FUNCTION public.obj_description(a oid, b name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN \
             INSERT INTO public.called VALUES (current_user); RETURN NULL; EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$",
        )
        .unwrap();
    // Where names are looked for in front of the system's as well.
    server.psql("ALTER DATABASE postgres SET search_path = public, pg_catalog").unwrap();
    let tables = || server.psql("SELECT count(*) FROM pg_tables WHERE tablename = 't1'").unwrap();
    killed(&scene, &target, || tables().trim() == "1");
    wait_until(|| {
        let clean = scene.say(&["clean", &target]);
        assert!(clean.code == 0, "{clean:#?}");
        tables().trim() == "0"
    });
    scene.say(&["doctor", &target]);
    let said =
        scene.say(&["run", "insert", "--short", "--set", "duration=1s", "--repetitions", "1", "--target", &target]);
    assert_eq!(said.code, 0, "{said:#?}");
    assert_eq!(server.psql("SELECT count(*) FROM payroll").unwrap().trim(), "0", "it is there");
    assert_eq!(server.psql("SELECT count(*) FROM called").unwrap().trim(), "0");
}

#[test]
fn a_limit_of_rows_hides_nothing_from_a_look_before_removal() {
    let (scene, server) = (Scene::new(), MariaDb::builder().start().unwrap());
    let target = server.socket_url("mysql");
    let place = || server.sql("SHOW DATABASES LIKE 'plimsoll%'").unwrap().lines().last().unwrap_or_default().to_owned();
    let has_table =
        || server.sql("SHOW PROCESSLIST").unwrap().contains("plimsoll_run") && place().starts_with("plimsoll");
    killed(&scene, &target, || {
        has_table() && server.sql(&format!("SHOW TABLES IN {}", place())).unwrap().contains("t1")
    });
    let place = place();
    server.sql(&format!("CREATE TABLE {place}.invoice (a int); INSERT INTO {place}.invoice VALUES (42)")).unwrap();
    server.sql("SET GLOBAL sql_select_limit = 1").unwrap();
    wait_until(|| {
        let clean = scene.say(&["clean", &target]);
        assert!(!clean.out.contains("removed plimsoll"), "{clean:#?}");
        clean.code == 6 && clean.err.contains("invoice") || clean.out.contains("invoice")
    });
    assert_eq!(server.sql(&format!("SELECT a FROM {place}.invoice")).unwrap().trim(), "42");
    // Reads into the client are whole as well.
    let said = scene.say(&[
        "run",
        "client-read",
        "--short",
        "--set",
        "volume=4MiB",
        "--repetitions",
        "1",
        "--target",
        &target,
    ]);
    assert_eq!(said.code, 0, "{said:#?}");
}

/// Settings of a server by which its sessions would end after each transaction, or at the first error of a statement.
#[test]
fn settings_that_end_sessions_are_set_aside() {
    let run = |target: &str, test: &str, more: &[&str]| {
        let scene = Scene::new();
        let words = ["run", test, "--short", "--repetitions", "1", "--set", "volume=1MiB", "--target", target];
        let said = scene.say(&[&words[..], more].concat());
        assert_eq!(said.code, 0, "{said:#?}");
    };
    let maria = MariaDb::builder().buffer_pool_mb(16).start().unwrap();
    maria.sql("SET GLOBAL completion_type = 'RELEASE'").unwrap();
    run(&maria.socket_url(""), "insert", &["--set", "duration=1s"]);
    if maria.product() == Product::MariaDb {
        maria.sql("SET GLOBAL sql_if_exists = ON").unwrap();
        run(&maria.socket_url(""), "copy", &["--allow-create-database"]);
    }
    let postgres = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    postgres.psql("ALTER DATABASE postgres SET exit_on_error = on").unwrap();
    run(&postgres.socket_url("postgres"), "read-scan", &[]);
}

/// A user's path means with `existing` what it means in the user's own sessions, whatever schemas are called.
#[test]
fn a_path_with_commas_in_names_is_not_taken_apart() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    let schemas = r#"CREATE SCHEMA "a,pg_catalog,b"; CREATE TABLE "a,pg_catalog,b".mine (meant int);
                     CREATE SCHEMA "a,b"; CREATE TABLE "a,b".mine (other int);
                     ALTER DATABASE postgres SET search_path = pg_catalog, 'a,pg_catalog,b', "$user", "pg_catalog""#;
    server.psql(schemas).unwrap();
    let scene = Scene::new();
    fs::write(
        scene.path("theirs.toml"),
        "name = \"theirs\"\ntitle = \"Theirs\"\nabout = \"One.\"\nsteps = [\"requests\"]\nexisting = true\n[parameters]\nsessions = 1\n\
         duration = \"1s\"\n[[request]]\nname = \"one\"\nstatements = [\"SELECT meant FROM mine\"]\n",
    )
    .unwrap();
    let said = scene.say(&["run", "./theirs.toml", "--repetitions", "1", "--target", &server.socket_url("postgres")]);
    assert_eq!(said.code, 0, "{said:#?}");
}

/// All functions, operators and views of the system once more in a schema of a user's, each of which counts whoever calls it.
const PLANTED: &str = r"
CREATE SCHEMA evil;
CREATE SEQUENCE evil.called;
DO $do$ DECLARE one record; BEGIN
  FOR one IN SELECT p.proname AS name, pg_get_function_identity_arguments(p.oid) AS arguments, pg_get_function_result(p.oid) AS result
      FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' LOOP
    BEGIN
      EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS $f$ BEGIN PERFORM pg_catalog.nextval(''evil.called''); '
        'RAISE EXCEPTION ''planted''; END $f$', one.name, one.arguments, one.result);
    EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP;
  FOR one IN SELECT o.oprname AS name, o.oprleft::regtype AS l, o.oprright::regtype AS r, p.proname AS f FROM pg_operator o
      JOIN pg_proc p ON p.oid = o.oprcode WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprkind = 'b' LOOP
    BEGIN
      EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.%I)', one.name, one.l, one.r, one.f);
    EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP;
  FOR one IN SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'pg_catalog'::regnamespace AND c.relkind IN ('r', 'v') LOOP
    BEGIN
      EXECUTE format('CREATE VIEW evil.%I AS SELECT t.* FROM pg_catalog.%I t, (SELECT pg_catalog.nextval(''evil.called'')) called',
        one.name, one.name);
    EXCEPTION WHEN OTHERS THEN NULL; END;
  END LOOP;
END $do$";

/// A database's owner says where its sessions look for names, and may put those of the system behind others. Whoever logs in with more rights
/// than the owner would run what the owner wrote (CVE-2018-1058).
#[test]
fn nothing_that_a_user_made_answers_in_place_of_the_system() {
    let server = Postgres::builder().shared_buffers_mb(16).start().unwrap();
    server.psql("CREATE DATABASE theirs").unwrap();
    server.psql_in("theirs", PLANTED).unwrap();
    server.psql("ALTER DATABASE theirs SET search_path = evil, pg_catalog").unwrap();
    let called = || server.psql_in("theirs", "SELECT is_called FROM evil.called");
    let planted = server.psql_in("theirs", "SELECT pg_backend_pid()");
    assert!(planted.is_err_and(|error| error.to_string().contains("planted")), "the plant works");
    assert_eq!(called().unwrap().trim(), "t");
    server.psql_in("theirs", "ALTER SEQUENCE evil.called RESTART").unwrap();
    let (scene, target) = (Scene::new(), server.socket_url("theirs"));
    fs::write(
        scene.path("theirs.toml"),
        "name = \"theirs\"\ntitle = \"Theirs\"\nabout = \"One.\"\nsteps = [\"requests\"]\nexisting = true\n[parameters]\nsessions = 2\n\
         duration = \"1s\"\n[[request]]\nname = \"one\"\nstatements = [\"SELECT length('abc') + 1\"]\n",
    )
    .unwrap();
    let common = ["--short", "--repetitions", "1", "--set", "duration=1s", "--target", &target];
    for (words, more) in [
        (&["doctor", &target][..], &[][..]),
        (&["doctor", &target, "--self-test"], &[]),
        (&["run", "insert", "./theirs.toml"], &common),
        (&["run", "read-scan", "write-chunk", "--set", "volume=4MiB", "--target", &target], &common[..3]),
        (&["plan", "mi", "--files", &target, "--sample", "300ms", "--interval", "100ms"], &[]),
        (&["clean", &target], &[]),
    ] {
        let said = scene.say(&[words, more].concat());
        // Nobody else works there.
        let is_idle = words[0] == "plan" && said.err.contains("no file was read or written");
        assert!(said.code == 0 || is_idle, "{words:?}: {said:#?}");
        assert_eq!(called().unwrap().trim(), "f", "{words:?} called what a user made: {said:#?}");
    }
}
