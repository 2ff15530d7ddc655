//! Statements that leave the run's own place, and those that stay.

use super::*;

#[test]
fn what_is_changed_in_another_place_is_seen() {
    for (sql, name) in [
        ("INSERT INTO public.t SELECT * FROM x.y", "public.t"),
        ("INSERT dbo.orders (id, cust) VALUES (9003, 1)", "dbo.orders"),
        ("INSERT INTO dbo\n.\norders (id) VALUES (1)", "dbo\n.\norders"),
        ("insert dbo . orders values (1)", "dbo . orders"),
        ("update only a.b set c = d.e", "a.b"),
        ("UPDATE [other].[t] SET a = 1", "[other].[t]"),
        ("UPDATE [dbo] . [orders] SET cust = 77 WHERE id = 25", "[dbo] . [orders]"),
        ("UPDATE TOP (1) dbo.orders SET cust = 5", "dbo.orders"),
        ("UPDATE o SET cust = 77 FROM dbo.orders AS o WHERE o.id = 26", "dbo.orders"),
        ("DELETE FROM \"My\".\"T\" WHERE a.b = 1", "\"My\".\"T\""),
        ("DELETE FROM `other`.`orders`", "`other`.`orders`"),
        ("DELETE dbo.orders WHERE id = 22", "dbo.orders"),
        ("DELETE trial..orders WHERE id = 11", "trial..orders"),
        ("DELETE TOP (1) dbo.orders", "dbo.orders"),
        ("DELETE TOP (1) FROM dbo.orders", "dbo.orders"),
        ("DELETE FROM dbo/* x */./* y */orders WHERE id = 13", "dbo/* x */./* y */orders"),
        ("DELETE x FROM dbo.orders x WHERE x.id = 6", "dbo.orders"),
        ("DELETE FROM o FROM dbo.orders AS o WHERE o.id = 27", "dbo.orders"),
        ("WITH x AS (DELETE FROM a.b RETURNING *) SELECT 1", "a.b"),
        ("WITH c AS (SELECT * FROM dbo.orders) DELETE FROM c WHERE id = 1", "dbo.orders"),
        ("MERGE dbo.orders AS t USING s ON t.id = s.id WHEN MATCHED THEN DELETE", "dbo.orders"),
        ("UPDATE t SET a = 1 FROM x.y WHERE t.a = y.a", "x.y"),
        ("SELECT * FROM public.t FOR UPDATE", "public.t"),
        ("SELECT id INTO dbo.newt FROM a", "dbo.newt"),
        ("CREATE VIEW v AS SELECT * FROM public.u", "public.u"),
        ("CREATE SYNONYM sy FOR dbo.orders", "dbo.orders"),
        ("SELECT NEXT VALUE FOR dbo.sq", "dbo.sq"),
        ("UPDATE t SET sales = 1 WHERE id IN (SELECT id FROM sales.orders)", "sales.orders"),
        ("DELETE FROM sales.orders WHERE sales > 1", "sales.orders"),
        ("ALTER TABLE t SWITCH PARTITION 1 TO dbo.u PARTITION 1", "dbo.u"),
        ("CREATE TABLE t (a int) WITH (SYSTEM_VERSIONING = ON (HISTORY_TABLE = dbo.h))", "dbo.h"),
        ("MERGE t USING dbo.s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = (SELECT 1 FROM dbo.u)", "dbo.u"),
        ("DROP TABLE ##shared", "##shared"),
        ("UPDATE [##shared] SET a = 1", "[##shared]"),
        ("DELETE FROM ##shared", "##shared"),
        ("SELECT * INTO ##all FROM t", "##all"),
        ("CREATE TABLE ##glob (id int)", "##glob"),
        ("SET IDENTITY_INSERT oth.v ON", "oth.v"),
        ("CREATE TABLE c (LIKE public.cust INCLUDING ALL)", "public.cust"),
        ("CREATE TABLE ds LIKE other.ds", "other.ds"),
        ("SELECT NEXTVAL(other.s) FROM w FOR UPDATE", "other.s"),
        ("INSERT INTO w SELECT SETVAL(other.s, 100)", "other.s"),
        ("CREATE TABLE w () INHERITS (public.t)", "public.t"),
        ("CREATE TABLE w () INHERITS (a, public.t)", "public.t"),
        ("CREATE TABLE w PARTITION OF public.parent FOR VALUES FROM (300) TO (400)", "public.parent"),
        ("UPDATE pg_settings SET setting='public' WHERE name='search_path'", "pg_settings"),
        ("DELETE FROM \"pg_description\"", "\"pg_description\""),
        ("DROP TABLE plimsoll_mark", "plimsoll_mark"),
        ("DELETE b FROM w AS other JOIN other.t AS b", "other.t"),
        ("UPDATE w other, other.t b SET b.v=9", "other.t"),
        ("CREATE TABLE w (id int, v int) ENGINE=MRG_MyISAM UNION(other.my)", "other.my"),
        ("CREATE TABLE w (id int) ENGINE=MERGE UNION=(a, other.my)", "other.my"),
        ("SELECT $\u{e9}$'$\u{e9}$; DELETE FROM public.orders; SELECT $\u{e9}$'$\u{e9}$", "public.orders"),
        ("DROP TABLE IF EXISTS a.b", "a.b"),
        ("DROP TABLE dbo . dropme", "dbo . dropme"),
        ("DROP TABLE IF EXISTS t, dbo.u", "dbo.u"),
        ("DROP VIEW v, [dbo].[w]; SELECT 1", "[dbo].[w]"),
        ("TRUNCATE a.b", "a.b"),
        ("TRUNCATE TABLE ..t", "t"),
        ("DELETE FROM ..t", "t"),
        ("CREATE TABLE dbo . made (id int)", "dbo . made"),
        ("CREATE VIEW dbo.vv AS SELECT 1 AS x", "dbo.vv"),
        ("CREATE OR REPLACE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "public.f"),
        ("CREATE SEQUENCE dbo.sqq", "dbo.sqq"),
        ("CREATE INDEX i ON a.b (c)", "a.b"),
        ("CREATE INDEX ixq ON dbo . orders (cust)", "dbo . orders"),
        ("CREATE TABLE t (a int REFERENCES dbo.u (id))", "dbo.u"),
        ("ALTER INDEX ALL ON dbo.orders REBUILD", "dbo.orders"),
        ("DROP INDEX ixx ON dbo.orders", "dbo.orders"),
        ("ALTER TABLE dbo . orders ADD zz int", "dbo . orders"),
        ("EXEC dbo.p 1", "dbo.p"),
        ("CALL vdb.p()", "vdb.p"),
        ("CREATE PROCEDURE p AS BEGIN DELETE FROM dbo.orders END", "dbo.orders"),
        ("DO $$ BEGIN DELETE FROM public.orders; END $$", "public.orders"),
        ("CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $f$ UPDATE public.t SET a = 1 $f$", "public.t"),
    ] {
        assert_eq!(leaves(sql), Some(Leaves::Names(name)), "{sql}");
    }
}

#[test]
fn a_text_in_a_text_and_procedures_of_the_servers_own_are_not_run() {
    for sql in [
        "EXEC ('DELETE FROM t')",
        "DECLARE @p sysname = N'dbo.vp'; EXEC @p",
        "DECLARE @x sysname = N'dbo.vp'; DECLARE @rc int; EXECUTE @rc = @x 1",
        "execute sp_executesql N'DELETE FROM t'",
        "EXEC sys.sp_executesql N'delete from dbo.orders where id = 10'",
        "EXEC sp_rename 'dbo.orders', 'x'",
        "EXEC sp_addextendedproperty 'plimsoll', 'x'",
        "DECLARE @s nvarchar(9) = N'x'; EXEC (@s)",
        "EXECUTE IMMEDIATE 'DELETE FROM vdb.victim WHERE id=1'",
        "PREPARE s FROM 'DROP TABLE vdb.victim'",
        "/*! DELETE FROM vdb.victim WHERE id=2 */",
        "SELECT 1 /*M! INTO x */",
        "DROP # x\nDATABASE zz9",
        "SELECT set_config('search_path', 'public', false)",
        "SELECT lo_unlink(777)",
        "DO $$BEGIN PERFORM \"set_config\"('search_path','public',true); END$$",
    ] {
        assert!(matches!(leaves(sql), Some(Leaves::Runs(_) | Leaves::Hides(_))), "{sql}");
    }
    for (sql, words) in [
        ("ALTER TABLE ALL IN TABLESPACE pg_default SET TABLESPACE ts2", "ALL IN"),
        ("ALTER TABLE w RENAME w2", "RENAME w2"),
        (
            "CREATE FUNCTION ff() RETURNS int LANGUAGE sql SET search_path=public AS $$DELETE FROM orders$$",
            "SET search_path",
        ),
        ("ALTER FUNCTION ff() SET \"search_path\" TO public", "SET \"search_path\""),
        ("SET standard_conforming_strings=off", "SET standard_conforming_strings"),
        ("EXECUTE AS USER = 'dbo'", "EXECUTE AS"),
        ("EXEC AS LOGIN = 'visitor'; SELECT 1", "EXEC AS"),
        ("CREATE TRIGGER tz ON DATABASE FOR CREATE_TABLE AS PRINT 'x'", "ON DATABASE"),
        ("CREATE TRIGGER tz ON ALL SERVER FOR LOGON AS PRINT 'x'", "ON ALL"),
        ("x: SHUTDOWN", "x"),
        ("CREATE SCHEMA zz9", "CREATE SCHEMA"),
        ("ALTER SCHEMA dbo TRANSFER a", "ALTER SCHEMA"),
        ("CREATE DATABASE x", "CREATE DATABASE"),
        ("DROP OWNED BY ann", "DROP OWNED"),
        ("USE other", "USE"),
        ("ATTACH DATABASE 'x.db' AS x", "ATTACH"),
        ("SET search_path = public", "SET search_path"),
        ("SET SESSION \"search_path\" TO public", "SET SESSION"),
        ("SET LOCAL SCHEMA 'public'", "SET LOCAL"),
        ("RESET search_path", "RESET"),
        ("DO $$begin set local search_path = public; end$$", "set local"),
        ("SET @a = 1, @@global.max_connections = 82", "SET @a"),
        ("CREATE OR REPLACE DATABASE precious", "CREATE OR"),
        ("CREATE FOREIGN DATA WRAPPER w", "CREATE FOREIGN"),
        ("GRANT SELECT ON a TO public", "GRANT"),
        ("COPY t TO PROGRAM 'touch x'", "COPY"),
        ("COMMENT ON TABLE t IS 'x'", "COMMENT"),
        ("ALTER TABLE t RENAME TO u", "RENAME TO"),
        ("PRAGMA main.user_version(5)", "PRAGMA main"),
        ("VACUUM main INTO 'x'", "VACUUM"),
        ("SET GLOBAL max_connections = 5", "SET GLOBAL"),
        ("ALTER TABLE t SET SCHEMA public", "SET SCHEMA"),
        ("DROP SCHEMA other CASCADE", "DROP SCHEMA"),
        ("DROP DATABASE IF EXISTS precious", "DROP DATABASE"),
        ("DROP ROLE somebody", "DROP ROLE"),
        ("ALTER SYSTEM SET work_mem = 5000", "ALTER SYSTEM"),
        ("SELECT 1; USE other", "USE"),
        ("KILL 5", "KILL"),
        ("PRAGMA user_version = 7", "PRAGMA user_version"),
        ("SELECT 1 INTO OUTFILE '/tmp/x'", "INTO OUTFILE"),
        ("IMPORT FOREIGN SCHEMA x FROM SERVER y INTO z", "IMPORT"),
        ("VACUUM INTO 'x.db'", "VACUUM"),
    ] {
        assert_eq!(leaves(sql), Some(Leaves::Goes(words)), "{sql}");
    }
}

#[test]
fn what_stays_in_the_place_is_let_through() {
    for sql in [
        "INSERT INTO t SELECT a.b FROM public.t a",
        "INSERT INTO t SELECT y.c FROM x.y",
        "INSERT INTO t SELECT a FROM ##shared",
        "UPDATE pe SET a.zip = 5",
        "DO $$ <<outer_l>> BEGIN <<inner_l>> LOOP EXIT outer_l; END LOOP; END $$",
        "UPDATE c SET name = d.name FROM (SELECT id, name FROM c WHERE id=:id) d WHERE c.id = d.id",
        "UPDATE c JOIN (SELECT id FROM c WHERE id = :id) d ON d.id = c.id SET c.v = d.v",
        "UPDATE users SET role = 'admin', schema = 1 WHERE id = 5",
        "CREATE PROCEDURE fill(n int) BEGIN DECLARE i int DEFAULT 0; WHILE i < n DO INSERT INTO c VALUES (i,i); SET i = i + 1; END WHILE; END",
        "CREATE TRIGGER g BEFORE UPDATE ON c FOR EACH ROW BEGIN SET NEW.name = OLD.name + 1; END",
        "CREATE PROCEDURE p(IN a int, OUT b int) BEGIN SET b = COALESCE(a, 0); END",
        "CREATE TEMP TABLE tmp ON COMMIT DROP AS SELECT 1",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "ALTER TABLE t RENAME COLUMN a TO b",
        "SELECT a -- delete public.t\n FROM t",
        "SELECT a INTO #mine FROM t; UPDATE #mine SET a = 1; DROP TABLE #mine",
        "DECLARE @rc int; EXEC @rc = p 1",
        "CREATE PROCEDURE p WITH EXECUTE AS OWNER AS SELECT 1",
        "GOTO done; done: SELECT 1",
        "MERGE t USING dbo.s AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a;",
        "CREATE PRIMARY XML INDEX i ON t (x)",
        "CREATE TABLE t AS SELECT * FROM public.orders o WHERE o.id < 10",
        "CREATE TABLE copy AS SELECT * FROM t",
        "INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = excluded.a",
        "INSERT INTO t VALUES (1) ON CONFLICT (id) DO UPDATE SET a = t.a + excluded.a",
        "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = t.a + 1",
        "INSERT INTO t VALUES (pg_catalog.clock_timestamp(), 1.5)",
        "CREATE TABLE t (a int) -- INTO a.b",
        "CREATE TABLE temp.t (a int)",
        "CREATE TABLE t (a int REFERENCES u (id) ON DELETE CASCADE ON UPDATE SET NULL)",
        "CREATE TABLE t (a int DEFAULT 1.5, [update] int, \"into\" int)",
        "CREATE VIEW v1 AS SELECT o.id FROM a o JOIN b p ON o.id = p.id",
        "CREATE VIEW v2 AS SELECT a.id FROM a JOIN b ON (a.id = b.id)",
        "CREATE PROCEDURE pz AS UPDATE a SET v = 1 FROM a JOIN b ON b.id = a.id",
        "CREATE TRIGGER tg ON a AFTER INSERT AS UPDATE b SET v = v + 1 FROM b JOIN inserted i ON b.id = i.id",
        "CREATE TRIGGER tg AFTER UPDATE ON a FOR EACH ROW UPDATE b SET v = NEW.v WHERE b.id = OLD.id",
        "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON t (a)",
        "UPDATE t SET a = u.a FROM u WHERE t.id = u.id",
        "UPDATE t AS x SET a = x.a + 1 WHERE x.id IN (SELECT y.id FROM u y, w z WHERE y.id = z.id)",
        "DELETE x FROM t x JOIN u ON u.id = x.id",
        "DELETE FROM t USING u WHERE t.id = u.id",
        "WITH c AS (SELECT id FROM t) DELETE FROM t WHERE t.id IN (SELECT c.id FROM c)",
        "MERGE t AS a USING (SELECT id FROM u) AS s ON a.id = s.id WHEN MATCHED THEN UPDATE SET a.v = s.id",
        "EXECUTE ready (1)",
        "EXEC p 1",
        "EXEC @r = p 1",
        "DROP INDEX i",
        "ALTER TABLE t ADD b int",
        "ALTER TABLE t DROP b",
        "DROP TABLE t; SELECT a.b FROM t a",
        "SELECT * FROM a.b JOIN c.d ON c.d = a.b",
        "DO $$ BEGIN FOR r IN SELECT id FROM t LOOP DELETE FROM u WHERE u.id = r.id; END LOOP; END $$",
        "DELETE FROM t WHERE name IN (SELECT table_name FROM information_schema.tables)",
        "UPDATE t1, t2 SET t1.a = t2.b WHERE t1.id = t2.id",
        "UPDATE t SET v = s.v FROM (SELECT 1 AS id, 2 AS v) s WHERE s.id = t.id",
        "UPDATE t SET v = x.v FROM t CROSS APPLY f(t.a) x",
        "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT s.n + 1 FROM s) INSERT INTO t SELECT s.n FROM s",
        "SELECT t.a FROM t WHERE t.id = 1 FOR UPDATE",
        "TRUNCATE t",
        "VACUUM t",
        "PRAGMA foreign_keys = ON",
        "UPDATE t SET password = 'x', role = 'y' WHERE a = 1",
        "ALTER TABLE t ALTER COLUMN n SET DEFAULT 5",
        "ALTER TABLE t RENAME COLUMN a TO b",
        "SET LOCAL work_mem = '64MB'",
        "SET @a = 1",
        "SET NOCOUNT ON; UPDATE #t SET v = 2 WHERE #t.id = 1",
        "DELETE a FROM a JOIN #t ON #t.id = a.id",
        "SELECT data #> '{a}' FROM t",
        "SAVE TRAN s1",
        "CREATE OR REPLACE VIEW v AS SELECT a FROM t",
        "BEGIN; INSERT INTO t VALUES (1); COMMIT",
        "CALL p(1)",
        "DECLARE @i int = 0; WHILE @i < 5 BEGIN INSERT INTO t VALUES (@i); SET @i = @i + 1 END",
        "CREATE TABLE t (a int REFERENCES u ON DELETE SET DEFAULT)",
        "START TRANSACTION",
        "SET NOCOUNT ON",
        "",
    ] {
        assert_eq!(leaves(sql), None, "{sql}");
    }
}

#[test]
fn any_text_is_read_without_harm() {
    for odd in
        ["", ".", "..", "a.", ".a", "a..b.", "/*", "--", "'", "\"", "[", "`", "$", "$a$", "exec", "drop", "é.ü update"]
    {
        let _ = leaves(odd);
    }
}

/// A statement has at most a megabyte. Read in the square of its length, this would take many minutes.
#[test]
fn a_long_text_is_read_once() {
    let long = "UPDATE t SET t.a = t.b, t.c = 1; SET @a = 1; DROP TABLE u, v; PRAGMA x; ".repeat(14_000);
    assert_eq!(leaves(&long), None);
}

#[test]
fn a_long_statement_is_gone_through_once() {
    let names = "n.a, n.b, ".repeat(50_000);
    let long = format!("CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW UPDATE n SET n.c = f({names} 1)");
    assert_eq!(leaves(&long), None);
}
