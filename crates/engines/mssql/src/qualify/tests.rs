//! Texts of T-SQL, and what becomes of them.

use super::*;

fn ours(sql: &str) -> String {
    qualify(sql, "p", &KnownTables::All, &OwnObjects::default())
}

#[test]
fn tables_get_their_place_and_nothing_else_does() {
    for (sql, expected) in [
        ("SELECT a FROM t", "SELECT a FROM [p].t"),
        ("select t.a from t, u where t.b = u.b, v", "select t.a from [p].t, [p].u where t.b = u.b, v"),
        ("SELECT a FROM t x JOIN [u] y ON x.a = y.a", "SELECT a FROM [p].t x JOIN [p].[u] y ON x.a = y.a"),
        ("INSERT INTO t VALUES (1, 'FROM u')", "INSERT INTO [p].t VALUES (1, 'FROM u')"),
        (
            "INSERT INTO t (a, b) SELECT a, b FROM u UNION ALL SELECT a, b FROM u",
            "INSERT INTO [p].t (a, b) SELECT a, b FROM [p].u UNION ALL SELECT a, b FROM [p].u",
        ),
        ("UPDATE t SET a = 1 WHERE b = 2", "UPDATE [p].t SET a = 1 WHERE b = 2"),
        ("DELETE FROM t WHERE a IN (SELECT a FROM u)", "DELETE FROM [p].t WHERE a IN (SELECT a FROM [p].u)"),
        ("DELETE t WHERE a = 1", "DELETE [p].t WHERE a = 1"),
        ("ALTER TABLE t SWITCH TO u", "ALTER TABLE [p].t SWITCH TO [p].u"),
        (
            "ALTER TABLE t SWITCH PARTITION 1 TO [u] PARTITION 2",
            "ALTER TABLE [p].t SWITCH PARTITION 1 TO [p].[u] PARTITION 2",
        ),
        (
            "ALTER TABLE t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = h, DATA_CONSISTENCY_CHECK = ON))",
            "ALTER TABLE [p].t SET (SYSTEM_VERSIONING = ON (HISTORY_TABLE = [p].h, DATA_CONSISTENCY_CHECK = ON))",
        ),
        ("CREATE TABLE t (a int, b int)", "CREATE TABLE [p].t (a int, b int)"),
        ("DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS [p].t"),
        ("CREATE INDEX i ON t (a)", "CREATE INDEX i ON [p].t (a)"),
        ("SELECT count(*) FROM (SELECT 1 AS one) t", "SELECT count(*) FROM (SELECT 1 AS one) t"),
        ("SELECT 1 FROM (SELECT a FROM t) x, u", "SELECT 1 FROM (SELECT a FROM [p].t) x, [p].u"),
        ("SELECT a FROM dbo.t", "SELECT a FROM dbo.t"),
        ("SELECT a FROM #t JOIN @u x ON 1 = 1", "SELECT a FROM #t JOIN @u x ON 1 = 1"),
        ("SELECT value FROM STRING_SPLIT('a', ',')", "SELECT value FROM STRING_SPLIT('a', ',')"),
        ("WITH c AS (SELECT a FROM t) SELECT a FROM c", "WITH c AS (SELECT a FROM [p].t) SELECT a FROM c"),
        (
            "SELECT a -- FROM u\n FROM t /* FROM /* x */ u */ WITH (NOLOCK)",
            "SELECT a -- FROM u\n FROM [p].t /* FROM /* x */ u */ WITH (NOLOCK)",
        ),
        ("SELECT DISTINCT 1 FROM t, u", "SELECT DISTINCT 1 FROM [p].t, [p].u"),
        ("SELECT a FROM t WHERE a IS DISTINCT FROM b", "SELECT a FROM [p].t WHERE a IS DISTINCT FROM b"),
        ("SELECT a FROM sys.tables t CROSS APPLY sys.f(t.a) u", "SELECT a FROM sys.tables t CROSS APPLY sys.f(t.a) u"),
        ("TRUNCATE TABLE t", "TRUNCATE TABLE [p].t"),
        (
            "CREATE TABLE t (a int REFERENCES u (a) ON DELETE CASCADE)",
            "CREATE TABLE [p].t (a int REFERENCES [p].u (a) ON DELETE CASCADE)",
        ),
        ("BEGIN TRANSACTION", "BEGIN TRANSACTION"),
        // Names in brackets are names, whatever they say.
        (
            "SELECT [From], [RowCount] FROM [Update] WHERE [Key] IN (@P1)",
            "SELECT [From], [RowCount] FROM [p].[Update] WHERE [Key] IN (@P1)",
        ),
        (
            "INSERT INTO [t] ([Table]) SELECT [Table] FROM [Select] UNION ALL SELECT [Table] FROM [u]",
            "INSERT INTO [p].[t] ([Table]) SELECT [Table] FROM [p].[Select] UNION ALL SELECT [Table] FROM [p].[u]",
        ),
        ("DROP TABLE IF EXISTS [t]", "DROP TABLE IF EXISTS [p].[t]"),
        ("UPDATE [x] SET [a] = 1 FROM [t] [x]", "UPDATE [x] SET [a] = 1 FROM [p].[t] [x]"),
    ] {
        assert_eq!(ours(sql), expected);
    }
}

/// What a definition made by these texts is found where it is used.
#[test]
fn functions_sequences_and_types_of_the_place_are_used_there() {
    let mut made = OwnObjects::default();
    for sql in [
        "CREATE FUNCTION f_one (@a int) RETURNS int AS BEGIN RETURN @a END",
        "CREATE OR ALTER FUNCTION [Tvf] (@a int) RETURNS TABLE AS RETURN SELECT a FROM t",
        "CREATE SEQUENCE sq AS bigint START WITH 1",
        "CREATE TYPE tt AS TABLE (a int)",
        "CREATE TYPE alias FROM int",
        "CREATE FUNCTION dbo.other (@a int) RETURNS int AS BEGIN RETURN @a END",
    ] {
        made.by(sql);
    }
    for (sql, expected) in [
        ("SELECT f_one(id), other(id) FROM t", "SELECT [p].f_one(id), other(id) FROM [p].t"),
        ("SELECT a FROM tvf(@P1) x JOIN t ON 1 = 1", "SELECT a FROM [p].tvf(@P1) x JOIN [p].t ON 1 = 1"),
        ("SELECT 1 FROM t CROSS APPLY [tvf](t.a) x", "SELECT 1 FROM [p].t CROSS APPLY [p].[tvf](t.a) x"),
        (
            "INSERT INTO a (id, v) SELECT NEXT VALUE FOR sq, @P1",
            "INSERT INTO [p].a (id, v) SELECT NEXT VALUE FOR [p].sq, @P1",
        ),
        ("SELECT NEXT VALUE FOR dbo.sq", "SELECT NEXT VALUE FOR dbo.sq"),
        (
            "DECLARE @t tt; INSERT INTO @t VALUES (1); SELECT a FROM @t",
            "DECLARE @t [p].tt; INSERT INTO @t VALUES (1); SELECT a FROM @t",
        ),
        ("DECLARE @a AS alias = 1", "DECLARE @a AS [p].alias = 1"),
        ("CREATE TABLE u (a alias NOT NULL, tt int)", "CREATE TABLE [p].u (a [p].alias NOT NULL, tt int)"),
        (
            "CREATE PROCEDURE q @t tt READONLY AS SELECT a FROM @t",
            "CREATE PROCEDURE [p].q @t [p].tt READONLY AS SELECT a FROM @t",
        ),
        ("SELECT a tt, t.f_one, sq FROM t", "SELECT a tt, t.f_one, sq FROM [p].t"),
        (
            "DROP FUNCTION f_one; DROP SEQUENCE sq; DROP TYPE tt",
            "DROP FUNCTION [p].f_one; DROP SEQUENCE [p].sq; DROP TYPE [p].tt",
        ),
    ] {
        assert_eq!(qualify(sql, "p", &KnownTables::All, &made), expected);
    }
}

/// What would be looked for in `dbo` if it had no place.
#[test]
fn statements_of_a_batch_have_their_tables_in_the_place() {
    for (sql, expected) in [
        ("SET NOCOUNT ON; UPDATE a SET v = v + 1", "SET NOCOUNT ON; UPDATE [p].a SET v = v + 1"),
        ("SET NOCOUNT ON DELETE a", "SET NOCOUNT ON DELETE [p].a"),
        ("SET NOCOUNT ON; INSERT a VALUES (77, 77)", "SET NOCOUNT ON; INSERT [p].a VALUES (77, 77)"),
        ("SET NOCOUNT ON; DELETE TOP (1) a", "SET NOCOUNT ON; DELETE TOP (1) [p].a"),
        (
            "SET IDENTITY_INSERT a ON; INSERT a (id) VALUES (1)",
            "SET IDENTITY_INSERT [p].a ON; INSERT [p].a (id) VALUES (1)",
        ),
        (
            "IF EXISTS (SELECT 1 FROM a JOIN b ON 1=1) DELETE a",
            "IF EXISTS (SELECT 1 FROM [p].a JOIN [p].b ON 1=1) DELETE [p].a",
        ),
        (
            "CREATE TABLE c (a int REFERENCES u (a) ON DELETE NO ACTION ON UPDATE SET NULL)",
            "CREATE TABLE [p].c (a int REFERENCES [p].u (a) ON DELETE NO ACTION ON UPDATE SET NULL)",
        ),
        (
            "MERGE a USING b ON a.id = b.id WHEN MATCHED THEN UPDATE SET v = 1 WHEN NOT MATCHED THEN INSERT VALUES (1, 1);",
            "MERGE [p].a USING [p].b ON a.id = b.id WHEN MATCHED THEN UPDATE SET v = 1 WHEN NOT MATCHED THEN INSERT VALUES (1, 1);",
        ),
        (
            "WITH b AS (SELECT 1 AS id) SELECT * FROM b; DELETE FROM b",
            "WITH b AS (SELECT 1 AS id) SELECT * FROM b; DELETE FROM [p].b",
        ),
        (
            "WITH b AS (SELECT 1 AS id) SELECT * FROM b DELETE FROM b",
            "WITH b AS (SELECT 1 AS id) SELECT * FROM b DELETE FROM [p].b",
        ),
        (
            "WITH b AS (SELECT id FROM t) INSERT INTO u SELECT id FROM b",
            "WITH b AS (SELECT id FROM [p].t) INSERT INTO [p].u SELECT id FROM b",
        ),
        ("WITH b AS (SELECT id FROM t) DELETE FROM b", "WITH b AS (SELECT id FROM [p].t) DELETE FROM b"),
        ("FETCH NEXT FROM cu INTO @i", "FETCH NEXT FROM cu INTO @i"),
        (
            "SELECT a FROM t ORDER BY a OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY; SELECT a FROM u",
            "SELECT a FROM [p].t ORDER BY a OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY; SELECT a FROM [p].u",
        ),
        (
            "SELECT STUFF((SELECT ',' + b.v FROM b FOR XML PATH(''), TYPE).value('.', 'x'), 1, 1, '') FROM a",
            "SELECT STUFF((SELECT ',' + b.v FROM [p].b FOR XML PATH(''), TYPE).value('.', 'x'), 1, 1, '') FROM [p].a",
        ),
        ("UPDATE t SET v = 1 FROM @t AS t", "UPDATE t SET v = 1 FROM @t AS t"),
        ("DELETE x FROM #t x WHERE x.id = 1", "DELETE x FROM #t x WHERE x.id = 1"),
        ("UPDATE [#t] SET v = 1", "UPDATE [#t] SET v = 1"),
        (
            "CREATE FUNCTION f () RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT a FROM t",
            "CREATE FUNCTION [p].f () RETURNS TABLE WITH SCHEMABINDING AS RETURN SELECT a FROM [p].t",
        ),
        ("DELETE TOP (5) PERCENT FROM a", "DELETE TOP (5) PERCENT FROM [p].a"),
        ("DROP INDEX IF EXISTS uci ON a, ncci ON b", "DROP INDEX IF EXISTS uci ON [p].a, ncci ON [p].b"),
    ] {
        assert_eq!(ours(sql), expected);
    }
}

#[test]
fn what_looks_like_a_table_and_is_none() {
    for (sql, expected) in [
        ("CREATE TYPE ttt FROM int", "CREATE TYPE [p].ttt FROM int"),
        ("CREATE SYNONYM s FOR t", "CREATE SYNONYM [p].s FOR [p].t"),
        ("DECLARE @p sysname = N'q'; EXEC @p N'x'", "DECLARE @p sysname = N'q'; EXEC @p N'x'"),
        ("EXEC @r = q N'x'", "EXEC @r = [p].q N'x'"),
    ] {
        assert_eq!(ours(sql), expected);
    }
}

#[test]
fn all_that_a_schema_holds_is_made_and_dropped_in_the_place() {
    for (sql, expected) in [
        ("DROP TABLE t, [u], v", "DROP TABLE [p].t, [p].[u], [p].v"),
        ("DROP TABLE IF EXISTS t, u SELECT 1, 2 FROM v", "DROP TABLE IF EXISTS [p].t, [p].u SELECT 1, 2 FROM [p].v"),
        ("DROP VIEW v, w; DROP PROCEDURE IF EXISTS q", "DROP VIEW [p].v, [p].w; DROP PROCEDURE IF EXISTS [p].q"),
        ("CREATE VIEW v (a) AS SELECT a FROM t", "CREATE VIEW [p].v (a) AS SELECT a FROM [p].t"),
        ("CREATE OR ALTER VIEW v AS SELECT a FROM t", "CREATE OR ALTER VIEW [p].v AS SELECT a FROM [p].t"),
        ("CREATE SEQUENCE s START WITH 1", "CREATE SEQUENCE [p].s START WITH 1"),
        (
            "CREATE FUNCTION f (@a int) RETURNS TABLE AS RETURN SELECT a FROM t",
            "CREATE FUNCTION [p].f (@a int) RETURNS TABLE AS RETURN SELECT a FROM [p].t",
        ),
        (
            "CREATE TRIGGER r ON t AFTER INSERT, UPDATE AS INSERT INTO u SELECT a FROM inserted",
            "CREATE TRIGGER [p].r ON [p].t AFTER INSERT, UPDATE AS INSERT INTO [p].u SELECT a FROM inserted",
        ),
        (
            "CREATE PROCEDURE q @a int WITH EXECUTE AS OWNER AS SELECT a FROM t WHERE b = @a",
            "CREATE PROCEDURE [p].q @a int WITH EXECUTE AS OWNER AS SELECT a FROM [p].t WHERE b = @a",
        ),
        ("EXEC q 1, 'a'", "EXEC [p].q 1, 'a'"),
        ("EXECUTE @status = [q] @P1", "EXECUTE @status = [p].[q] @P1"),
        ("EXEC sp_executesql N'SELECT 1'", "EXEC sp_executesql N'SELECT 1'"),
        ("EXEC ('SELECT 1')", "EXEC ('SELECT 1')"),
        ("EXEC dbo.q", "EXEC dbo.q"),
        ("SET IDENTITY_INSERT t ON", "SET IDENTITY_INSERT [p].t ON"),
        ("UPDATE STATISTICS t", "UPDATE STATISTICS [p].t"),
        (
            "SELECT 1 FROM t JOIN u ON 1 = 1 JOIN v ON 2 = @P1 JOIN w ON 1 = 1",
            "SELECT 1 FROM [p].t JOIN [p].u ON 1 = 1 JOIN [p].v ON 2 = @P1 JOIN [p].w ON 1 = 1",
        ),
        (
            "SELECT a.n FROM (t a JOIN u b ON a.id = b.id) WHERE a.id = 1",
            "SELECT a.n FROM ([p].t a JOIN [p].u b ON a.id = b.id) WHERE a.id = 1",
        ),
        (
            "SELECT 1 FROM ((t JOIN u ON 1 = 1) JOIN (v x JOIN w y ON 1 = 1) ON 1 = 1), z",
            "SELECT 1 FROM (([p].t JOIN [p].u ON 1 = 1) JOIN ([p].v x JOIN [p].w y ON 1 = 1) ON 1 = 1), [p].z",
        ),
        (
            "SELECT 1 FROM ((SELECT a FROM t) UNION (SELECT a FROM u)) x",
            "SELECT 1 FROM ((SELECT a FROM [p].t) UNION (SELECT a FROM [p].u)) x",
        ),
        ("WITH c (a) AS (SELECT id FROM t) SELECT a FROM c", "WITH c (a) AS (SELECT id FROM [p].t) SELECT a FROM c"),
        (
            "WITH b AS (SELECT 1 a), c(a, d) AS (SELECT a, 2 FROM b) SELECT a FROM c, t",
            "WITH b AS (SELECT 1 a), c(a, d) AS (SELECT a, 2 FROM b) SELECT a FROM c, [p].t",
        ),
        ("SELECT TRIM(' ' FROM n) FROM t", "SELECT TRIM(' ' FROM n) FROM [p].t"),
        (
            "SELECT a FROM t FOR SYSTEM_TIME FROM @a TO @b WHERE c = 1",
            "SELECT a FROM [p].t FOR SYSTEM_TIME FROM @a TO @b WHERE c = 1",
        ),
        (
            "INSERT INTO t SELECT a FROM (DELETE FROM u OUTPUT deleted.a) x",
            "INSERT INTO [p].t SELECT a FROM (DELETE FROM [p].u OUTPUT deleted.a) x",
        ),
    ] {
        assert_eq!(ours(sql), expected);
    }
}

#[test]
fn an_alias_is_no_table() {
    for (sql, expected) in [
        ("UPDATE x SET a = 1 FROM t x WHERE x.b = 2", "UPDATE x SET a = 1 FROM [p].t x WHERE x.b = 2"),
        ("UPDATE [X] SET a = 1 FROM t AS x, u", "UPDATE [X] SET a = 1 FROM [p].t AS x, [p].u"),
        ("UPDATE x SET a = 1 FROM u JOIN t x ON 1 = 1", "UPDATE x SET a = 1 FROM [p].u JOIN [p].t x ON 1 = 1"),
        ("UPDATE x SET a = 1 FROM dbo.t x", "UPDATE x SET a = 1 FROM dbo.t x"),
        ("UPDATE TOP (5) x SET a = 1 FROM t x", "UPDATE TOP (5) x SET a = 1 FROM [p].t x"),
        ("DELETE x FROM t x", "DELETE x FROM [p].t x"),
        ("DELETE x FROM (t x JOIN u y ON x.a = y.a)", "DELETE x FROM ([p].t x JOIN [p].u y ON x.a = y.a)"),
        ("DELETE FROM x FROM t AS x", "DELETE FROM x FROM [p].t AS x"),
        ("DELETE TOP (5) x FROM t x", "DELETE TOP (5) x FROM [p].t x"),
        ("DELETE TOP (5) FROM t", "DELETE TOP (5) FROM [p].t"),
        ("DELETE TOP (5) t WHERE a = 1", "DELETE TOP (5) [p].t WHERE a = 1"),
        ("UPDATE x SET a = 1 FROM (SELECT a FROM t) x", "UPDATE x SET a = 1 FROM (SELECT a FROM [p].t) x"),
        // The table itself, and an alias of another statement.
        (
            "UPDATE t SET a = u.a FROM t JOIN u ON t.b = u.b",
            "UPDATE [p].t SET a = u.a FROM [p].t JOIN [p].u ON t.b = u.b",
        ),
        ("SELECT 1 FROM t x; UPDATE x SET a = 1", "SELECT 1 FROM [p].t x; UPDATE [p].x SET a = 1"),
    ] {
        assert_eq!(ours(sql), expected);
    }
}

#[test]
fn a_merge_has_a_table_and_a_source() {
    for (sql, expected) in [
        (
            "MERGE t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.b;",
            "MERGE [p].t USING [p].u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = u.b;",
        ),
        (
            "MERGE INTO t AS x USING u AS y ON x.a = y.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (y.a);",
            "MERGE INTO [p].t AS x USING [p].u AS y ON x.a = y.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (y.a);",
        ),
        (
            "MERGE TOP (5) INTO t USING (SELECT a FROM u) y ON t.a = y.a WHEN NOT MATCHED THEN INSERT VALUES (y.a);",
            "MERGE TOP (5) INTO [p].t USING (SELECT a FROM [p].u) y ON t.a = y.a WHEN NOT MATCHED THEN INSERT VALUES (y.a);",
        ),
        (
            "MERGE t WITH (HOLDLOCK) USING (VALUES (1)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE;",
            "MERGE [p].t WITH (HOLDLOCK) USING (VALUES (1)) AS s (a) ON t.a = s.a WHEN MATCHED THEN DELETE;",
        ),
        (
            "SELECT t.a FROM t INNER MERGE JOIN u ON t.a = u.a",
            "SELECT t.a FROM [p].t INNER MERGE JOIN [p].u ON t.a = u.a",
        ),
    ] {
        assert_eq!(ours(sql), expected);
    }
}

#[test]
fn the_users_tables_stay_theirs() {
    let known = KnownTables::These(["mine".to_owned(), "a]b \"c".to_owned()].into());
    for (sql, expected) in [
        ("SELECT * FROM [Mine] x, [theirs]", "SELECT * FROM [p].[Mine] x, [theirs]"),
        ("UPDATE [a]]b \"c] SET [Key] = 1", "UPDATE [p].[a]]b \"c] SET [Key] = 1"),
        ("DELETE FROM \"a]b \"\"c\" WHERE [a] = 1", "DELETE FROM [p].\"a]b \"\"c\" WHERE [a] = 1"),
        ("SELECT * FROM Mine, theirs", "SELECT * FROM [p].Mine, theirs"),
        ("INSERT INTO theirs SELECT * FROM mine", "INSERT INTO theirs SELECT * FROM [p].mine"),
        ("CREATE TABLE new (a int)", "CREATE TABLE [p].new (a int)"),
        ("SELECT * INTO new FROM theirs", "SELECT * INTO [p].new FROM theirs"),
    ] {
        assert_eq!(qualify(sql, "p", &known, &OwnObjects::default()), expected);
    }
}

#[test]
fn what_only_reads_is_told_from_what_does_more() {
    for reads in [
        "SELECT a FROM t WHERE b = 'delete'",
        "WITH c AS (SELECT 1 a) SELECT * FROM c -- drop",
        "SELECT [update] FROM t",
        "(SELECT 1) UNION (SELECT 2);",
        "DECLARE @a int = 1; SET @a = 2; SELECT a FROM t WHERE b = @a ORDER BY a OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
        "SELECT 0x1F, 1.5e-3, .5, 1e, $2.50, 1 AS x FROM t WHERE a=1AND b=2",
        "BEGIN TRANSACTION",
        " commit ",
        "ROLLBACK",
        "",
    ] {
        assert_eq!(first_write_keyword(reads), None, "{reads}");
    }
    for (more, word) in [
        ("SELECT 1; drop table t", "drop"),
        ("SELECT * INTO x FROM y", "INTO"),
        ("EXEC p", "EXEC"),
        ("empty_the_shop", "empty_the_shop"),
        ("  /* x */ [dbo].[p] 1", "[dbo]"),
        ("SELECT 1; p", "p"),
        ("SELECT NEXT VALUE FOR s", "NEXT"),
        ("SELECT next /* x */ value FOR s", "next"),
        ("RECEIVE * FROM q", "RECEIVE"),
        ("SELECT 1 RECEIVE * FROM q", "RECEIVE"),
        ("SEND ON CONVERSATION @h", "SEND"),
        ("SELECT 1; END CONVERSATION @h", "END"),
        ("ENABLE TRIGGER r ON t", "ENABLE"),
        ("SELECT 1 DISABLE TRIGGER r ON t", "TRIGGER"),
        ("SELECT 1DELETE FROM t", "DELETE"),
        ("SELECT 1.5DELETE FROM t", "DELETE"),
        ("SELECT 1eDELETE FROM t", "DELETE"),
        ("SELECT 1e5delete FROM t", "delete"),
        ("SELECT .5edelete FROM t", "delete"),
        ("SELECT $DELETE FROM t", "DELETE"),
        ("SELECT $1.DELETE FROM t", "DELETE"),
        ("SELECT 0xUPDATE t SET a = 1", "UPDATE"),
        ("SELECT 1 --\r'\nDELETE FROM t --'", "--\r'"),
        ("COMMIT; DELETE FROM t", "COMMIT"),
        ("{call p}", "{"),
        ("1", "1"),
    ] {
        assert_eq!(first_write_keyword(more), Some(word), "{more}");
    }
}
