//! Databases of a MariaDB server, and of a MySQL server where one is chosen.

use std::collections::BTreeMap;

use plimsoll_engine::{Database, Intents, Workspace};
use plimsoll_mysql::MySql;
use plimsoll_testbed::{MariaDb, Product};

use super::{Field, Gardener, Luck, Marking, Planted, harvest, open};

/// What somebody has in a database of ours, or has that depends on it. `D` stands for the database, `@` for the look-alike's number.
const CONTENTS: [&str; 26] = [
    "CREATE TABLE D.mine (a int)",
    "CREATE TABLE D.mine (a int) COMMENT = 'plimsoll: table t of D'",
    "CREATE TABLE D.mine LIKE D.t",
    "CREATE TABLE D.mine AS SELECT 1 AS a",
    "CREATE VIEW D.mine AS SELECT 1 AS a",
    "CREATE FUNCTION D.mine() RETURNS int DETERMINISTIC RETURN 1",
    "CREATE PROCEDURE D.mine() SELECT 1",
    "CREATE PROCEDURE D.plimsoll_read_t() SELECT 1",
    "CREATE PROCEDURE D.mine() COMMENT 'plimsoll: procedure plimsoll_read_t of D' SELECT 1",
    "CREATE EVENT D.mine ON SCHEDULE EVERY 1 YEAR DO SELECT 1",
    "CREATE TRIGGER D.mine BEFORE INSERT ON D.t FOR EACH ROW SET NEW.b = 1",
    "CREATE TABLE D.T LIKE D.t",
    "CREATE TABLE D.`ť` LIKE D.t",
    "CREATE TABLE D.T (a int) COMMENT = 'plimsoll: table t of D'",
    "CREATE TABLE D.mine (a int) COMMENT = 'PLIMSOLL: TABLE mine of D'",
    "CREATE TABLE D.PLIMSOLL_MARK (a int)",
    "CREATE TABLE D.Plimsoll_Mark (a int) COMMENT = 'plimsoll: table plimsoll_mark of D'",
    "CREATE TABLE D.`plimsoll_märk` (a int)",
    "CREATE VIEW D.PLIMSOLL_MARK AS SELECT 1 AS a",
    "CREATE PROCEDURE D.PLIMSOLL_READ_T() COMMENT 'plimsoll: procedure plimsoll_read_t of D' SELECT 1",
    "CREATE VIEW others.v@ AS SELECT a FROM D.t",
    "CREATE TABLE others.f@ (a int, FOREIGN KEY (a) REFERENCES D.t (a))",
    "CREATE TRIGGER others.g@ AFTER INSERT ON others.base FOR EACH ROW DELETE FROM D.t WHERE a = 0",
    "CREATE PROCEDURE others.p@() SELECT count(*) FROM D.t",
    "CREATE EVENT others.e@ ON SCHEDULE EVERY 1 YEAR DO DELETE FROM D.t",
    "CREATE VIEW others.w@ AS SELECT 1 AS a FROM others.base WHERE EXISTS (SELECT 1 FROM D.t)",
];

struct Databases {
    server: MariaDb,
    gardener: Gardener,
}

impl Databases {
    fn start() -> Self {
        let server = MariaDb::builder().buffer_pool_mb(64).start().unwrap();
        let grants = "CREATE DATABASE others; CREATE TABLE others.base (a int PRIMARY KEY); CREATE USER stranger@localhost; \
             GRANT ALL ON `plimsoll\\_%`.* TO stranger@localhost";
        server.sql(grants).unwrap();
        let database = open(&MySql, &server.socket_url("test"), &Intents::default());
        Self { server, gardener: Gardener::at(&*database) }
    }
}

impl Field for Databases {
    fn database(&self) -> Box<dyn Database> {
        open(&MySql, &self.server.socket_url("test"), &Intents::default())
    }

    /// It may do everything in databases of our names, and see nothing of others.
    fn restricted(&self) -> Option<Box<dyn Database>> {
        let url = self.server.socket_url("").replace("plimsoll@", "stranger@");
        Some(open(&MySql, &url, &Intents::default()))
    }

    fn plant(&mut self, luck: &mut Luck, number: usize) -> Planted {
        let run = Workspace::run(&format!("l{number:06}")).unwrap();
        let workspace = match luck.below(5) {
            0 => Workspace::data(number as u64),
            1 => run.copy('a'),
            _ => run,
        };
        let (marking, place) = (Marking::any(luck), workspace.leased_by());
        let text = marking.text(workspace.name(), luck).replace('\'', "''");
        let contents = luck.once_in(2).then(|| *luck.one(&CONTENTS));
        self.gardener.run(&format!("CREATE DATABASE {workspace}"));
        if marking != Marking::None {
            self.gardener
                .run(&format!("CREATE TABLE {workspace}.plimsoll_mark (a int PRIMARY KEY) COMMENT = '{text}'"));
        }
        if luck.once_in(2) || contents.is_some() {
            self.gardener.run(&format!(
                "CREATE TABLE {workspace}.t (a int PRIMARY KEY, b int) COMMENT = 'plimsoll: table t of {place}'"
            ));
        }
        if let Some(contents) = contents {
            let sql = contents.replace("D.", &format!("{workspace}.")).replace(" of D'", &format!(" of {place}'"));
            self.gardener.run(&sql.replace('@', &number.to_string()));
        }
        Planted {
            workspace,
            ours: marking == Marking::Whole && contents.is_none(),
            what: format!("{marking:?}, {contents:?}"),
        }
    }

    fn state(&mut self) -> BTreeMap<String, String> {
        // One row for each thing, by the database that it is in.
        let sql = "SELECT CONCAT(SCHEMA_NAME, ' '), '' FROM information_schema.SCHEMATA \
             UNION ALL SELECT CONCAT(TABLE_SCHEMA, ' ', TABLE_NAME), CONCAT(TABLE_TYPE, TABLE_COMMENT) FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA LIKE 'plimsoll%' OR TABLE_SCHEMA = 'others' \
             UNION ALL SELECT CONCAT(ROUTINE_SCHEMA, ' r ', ROUTINE_NAME), ROUTINE_COMMENT FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA LIKE 'plimsoll%' \
             UNION ALL SELECT CONCAT(EVENT_SCHEMA, ' e ', EVENT_NAME), '' FROM information_schema.EVENTS \
             UNION ALL SELECT CONCAT(TRIGGER_SCHEMA, ' t ', TRIGGER_NAME), '' FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA LIKE 'plimsoll%' \
             UNION ALL SELECT CONCAT(CONSTRAINT_SCHEMA, ' c ', TABLE_NAME, CONSTRAINT_NAME), '' FROM information_schema.TABLE_CONSTRAINTS \
             WHERE CONSTRAINT_SCHEMA LIKE 'plimsoll%' OR CONSTRAINT_SCHEMA = 'others' \
             UNION ALL SELECT CONCAT(TABLE_SCHEMA, ' i ', TABLE_NAME, INDEX_NAME), '' FROM information_schema.STATISTICS WHERE TABLE_SCHEMA LIKE 'plimsoll%'";
        self.gardener.state(sql)
    }

    fn clear(&mut self, planted: &[Planted]) {
        self.gardener.run("SET foreign_key_checks = 0");
        for one in planted.iter().filter(|one| !one.ours) {
            self.gardener.run(&format!("DROP DATABASE {}", one.workspace));
        }
        self.gardener.run("DROP DATABASE others");
        self.gardener.run("CREATE DATABASE others");
        self.gardener.run("CREATE TABLE others.base (a int PRIMARY KEY)");
        self.gardener.run("SET foreign_key_checks = 1");
    }
}

#[test]
fn databases_that_look_like_ours() {
    let mut databases = Databases::start();
    let name = if databases.server.product() == Product::MySql { "mysql" } else { "mariadb" };
    harvest(name, &mut databases);
}
