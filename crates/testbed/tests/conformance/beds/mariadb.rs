//! MariaDB, or MySQL where tests run on it: private servers.

use std::sync::OnceLock;

use plimsoll_engine::{Database, Engine, ErrorKind, Workspace};
use plimsoll_mysql::MySql;
use plimsoll_testbed::MariaDb;

use super::{PLANTED, open};

pub struct Bed;

/// One server for all tests that leave it running.
fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| MariaDb::builder().buffer_pool_mb(64).start().unwrap())
}

impl super::Bed for Bed {
    fn engine(&self) -> &'static dyn Engine {
        &MySql
    }

    fn url(&self) -> String {
        server().socket_url("test")
    }

    fn endless(&self) -> &'static str {
        "WITH d AS (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 \
         UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) \
         SELECT count(*) FROM d a, d b, d c, d e, d f, d g, d h, d i, d j, d k, d l, d m"
    }

    fn has_all_floats(&self) -> bool {
        false
    }

    fn plant(&self, workspace: &Workspace) {
        server()
            .sql(&format!("CREATE DATABASE {workspace}; CREATE TABLE {workspace}.mine AS SELECT 42 AS answer"))
            .unwrap();
    }

    fn is_planted(&self, workspace: &Workspace) -> bool {
        server().sql(&format!("SELECT answer FROM {workspace}.mine")).is_ok_and(|answer| answer == "42")
    }

    fn refused(&self) -> Vec<(String, ErrorKind)> {
        let right = server().password();
        let url = |password: &str, database: &str| server().tcp_url(server().superuser(), password, database);
        let mut refused = vec![
            (url(PLANTED, "test"), ErrorKind::Authenticate),
            (url(right, "nosuch"), ErrorKind::Missing),
            // Port 1 is nobody's.
            (format!("mysql://u:{PLANTED}@127.0.0.1:1/d"), ErrorKind::Connect),
            (format!("mysql://u:{PLANTED}@host.invalid/d"), ErrorKind::Connect),
            (format!("mysql://u:{PLANTED}@h/d?nosuch=1"), ErrorKind::Usage),
        ];
        if !server().has_tls().unwrap() {
            refused.push((format!("{}?ssl-mode=REQUIRED", url(right, "test")), ErrorKind::Connect));
        }
        refused
    }

    fn server(&self) -> Option<Box<dyn super::Server>> {
        Some(Box::new(Server(MariaDb::builder().buffer_pool_mb(16).start().unwrap())))
    }
}

struct Server(MariaDb);

impl super::Server for Server {
    fn open(&self) -> Box<dyn Database> {
        open(&MySql, &self.0.socket_url("test")).unwrap()
    }

    fn kill(&self) {
        self.0.kill().unwrap();
    }

    fn restart(&self) {
        self.0.restart().unwrap();
    }

    fn restart_command(&self) -> String {
        self.0.restart_command()
    }
}
