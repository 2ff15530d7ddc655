//! Schemas of a PostgreSQL database, and databases of its server.

use std::collections::BTreeMap;

use plimsoll_engine::{Database, Intents, Mark, Workspace};
use plimsoll_postgres::Postgres as Engine;
use plimsoll_testbed::Postgres;

use super::{Field, Gardener, Luck, Marking, Planted, harvest, open};

/// What somebody has in a schema of ours, or has that depends on it. `S` stands for the schema, `@` for the look-alike's number.
const CONTENTS: [&str; 33] = [
    "CREATE TABLE S.mine (a int)",
    "CREATE TABLE S.mine (a int); COMMENT ON TABLE S.mine IS 'plimsoll: table t of S'",
    "CREATE TABLE S.mine (LIKE S.t INCLUDING ALL)",
    "CREATE TABLE S.mine AS SELECT 1 AS a",
    "CREATE TABLE S.mine (a int) PARTITION BY RANGE (a)",
    "CREATE VIEW S.mine AS SELECT 1",
    "CREATE MATERIALIZED VIEW S.mine AS SELECT 1",
    "CREATE SEQUENCE S.mine",
    "CREATE FUNCTION S.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE PROCEDURE S.mine() LANGUAGE sql AS 'SELECT 1'",
    "CREATE AGGREGATE S.mine(int) (SFUNC = int4pl, STYPE = int)",
    "CREATE OPERATOR S.### (LEFTARG = int, RIGHTARG = int, FUNCTION = int4pl)",
    "CREATE TYPE S.mine AS ENUM ('a')",
    "CREATE TYPE S.mine AS (a int)",
    "CREATE DOMAIN S.mine AS int",
    "CREATE COLLATION S.mine FROM \"C\"",
    "CREATE TEXT SEARCH CONFIGURATION S.mine (COPY = simple)",
    "CREATE RULE r AS ON DELETE TO S.t DO NOTHING",
    "CREATE POLICY p ON S.t",
    "CREATE STATISTICS S.mine ON a, b FROM S.t",
    "CREATE TRIGGER g BEFORE UPDATE ON S.t FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE VIEW others.v@ AS SELECT a FROM S.t",
    "CREATE TABLE others.f@ (a int REFERENCES S.t)",
    "CREATE TABLE others.c@ () INHERITS (S.t)",
    "CREATE TABLE others.r@ (a S.t)",
    "CREATE TABLE others.h@ (LIKE S.t) PARTITION BY LIST (a); ALTER TABLE others.h@ ATTACH PARTITION S.t DEFAULT",
    "CREATE TABLE others.i@ (a int); ALTER TABLE S.t INHERIT others.i@",
    "CREATE TABLE S.mine (LIKE S.t INCLUDING ALL); ALTER TABLE S.t INHERIT S.mine",
    "CREATE TABLE S.\"T\" (a int); COMMENT ON TABLE S.\"T\" IS 'plimsoll: table t of S'",
    "ALTER DEFAULT PRIVILEGES IN SCHEMA S GRANT SELECT ON TABLES TO PUBLIC",
    "CREATE FUNCTION others.o@() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM S.t); END'",
    "CREATE FUNCTION others.p@() RETURNS int LANGUAGE sql SET search_path = 'S.' AS 'SELECT 1'",
    "CREATE FUNCTION others.n@(S.t) RETURNS int LANGUAGE sql AS 'SELECT 1'",
];

/// What somebody has in a database of ours.
const WITHIN: [&str; 12] = [
    "CREATE TABLE public.mine (a int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SELECT lo_create(0)",
    "SELECT lo_create(4711)",
    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 8000', current_database()); END $$",
    "DO $$ BEGIN EXECUTE format('ALTER ROLE stranger IN DATABASE %I SET jit = off', current_database()); END $$",
    "CREATE CAST (text AS bytea) WITHOUT FUNCTION",
    "ALTER OPERATOR FAMILY float_ops USING btree ADD OPERATOR 1 < (int4, int4)",
    "CREATE PUBLICATION mine",
    "CREATE TYPE public.mine AS ENUM ('a')",
];

struct Schemas {
    server: Postgres,
    gardener: Gardener,
}

impl Schemas {
    fn start() -> Self {
        let server = Postgres::builder().start().unwrap();
        server.psql("CREATE SCHEMA others; CREATE ROLE stranger LOGIN").unwrap();
        let database = open(&Engine, &server.socket_url("postgres"), &Intents::default());
        Self { server, gardener: Gardener::at(&*database) }
    }

    fn plant_database(&mut self, luck: &mut Luck, number: usize) -> Planted {
        let workspace = Workspace::run(&format!("l{number:06}")).unwrap().copy('a');
        let (marking, filled) = (Marking::any(luck), luck.once_in(2));
        let text = marking.text(workspace.name(), luck);
        self.gardener.run(&format!("CREATE DATABASE {workspace} TEMPLATE template0"));
        self.gardener.run(&format!("COMMENT ON DATABASE {workspace} IS '{}'", text.replace('\'', "''")));
        let inside = if filled { *luck.one(&WITHIN) } else { "SELECT 1" };
        self.server.psql_in(workspace.name(), inside).unwrap();
        Planted {
            workspace,
            ours: marking == Marking::Whole && !filled,
            what: format!("database, {marking:?}, {inside}"),
        }
    }
}

impl Field for Schemas {
    fn database(&self) -> Box<dyn Database> {
        open(&Engine, &self.server.socket_url("postgres"), &Intents::default())
    }

    fn restricted(&self) -> Option<Box<dyn Database>> {
        let url = self.server.socket_url("postgres").replace("plimsoll@", "stranger@");
        Some(open(&Engine, &url, &Intents::default()))
    }

    fn plant(&mut self, luck: &mut Luck, number: usize) -> Planted {
        if luck.once_in(25) {
            return self.plant_database(luck, number);
        }
        let workspace = if luck.once_in(5) {
            Workspace::data(number as u64)
        } else {
            Workspace::run(&format!("l{number:06}")).unwrap()
        };
        let marking = Marking::any(luck);
        let text = marking.text(workspace.name(), luck).replace('\'', "''");
        let contents = luck.once_in(2).then(|| *luck.one(&CONTENTS));
        let mut sql = format!(
            "CREATE SCHEMA S; CREATE TABLE S.t (a int PRIMARY KEY, b text); COMMENT ON TABLE S.t IS 'plimsoll: table t of S'; \
             COMMENT ON SCHEMA S IS '{}'",
            if marking == Marking::None { "" } else { &text }
        );
        if let Some(contents) = contents {
            sql = format!("{sql}; {}", contents.replace('@', &number.to_string()));
        }
        let sql = sql.replace("S.", &format!("{workspace}.")).replace(" of S'", &format!(" of {workspace}'"));
        let sql = sql.replace("SCHEMA S", &format!("SCHEMA {workspace}"));
        self.gardener.run(&sql);
        Planted {
            workspace,
            ours: marking == Marking::Whole && contents.is_none(),
            what: format!("{marking:?}, {contents:?}"),
        }
    }

    fn state(&mut self) -> BTreeMap<String, String> {
        let sql = "SELECT nspname::text, concat_ws('|', obj_description(n.oid, 'pg_namespace'), \
             (SELECT string_agg(concat_ws(' ', relname, relkind, relchecks, relhasrules, relhastriggers, relnatts, reltuples), ',' ORDER BY relname) \
               FROM pg_class c WHERE relnamespace = n.oid), \
             (SELECT count(*) FROM pg_proc WHERE pronamespace = n.oid), (SELECT count(*) FROM pg_type WHERE typnamespace = n.oid), \
             (SELECT count(*) FROM pg_operator WHERE oprnamespace = n.oid), (SELECT count(*) FROM pg_constraint WHERE connamespace = n.oid), \
             (SELECT count(*) FROM pg_ts_config WHERE cfgnamespace = n.oid), (SELECT count(*) FROM pg_collation WHERE collnamespace = n.oid), \
             (SELECT count(*) FROM pg_statistic_ext WHERE stxnamespace = n.oid)) FROM pg_namespace n \
           WHERE nspname LIKE 'plimsoll%' OR nspname = 'others' \
           UNION ALL SELECT datname::text, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database";
        self.gardener.state(sql)
    }

    fn clear(&mut self, planted: &[Planted]) {
        for one in planted.iter().filter(|one| !one.ours) {
            if one.what.starts_with("database") {
                self.gardener.run(&format!("DROP DATABASE {}", one.workspace));
            } else {
                self.gardener.run(&format!("DROP SCHEMA {} CASCADE", one.workspace));
            }
        }
        self.gardener.run("DROP SCHEMA others CASCADE; CREATE SCHEMA others");
    }
}

#[test]
fn schemas_and_databases_that_look_like_ours() {
    // A mark that a run writes is one that these tests write.
    assert!(Mark::read(&Mark::new("a").to_string()).is_some());
    harvest("postgres", &mut Schemas::start());
}
