//! PostgreSQL: private servers.

use std::sync::OnceLock;

use plimsoll_engine::{Database, Engine, ErrorKind, Workspace};
use plimsoll_postgres::Postgres as Driver;
use plimsoll_testbed::Postgres;

use super::{PLANTED, open};

pub struct Bed;

/// One server for all tests that leave it running.
fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::builder().shared_buffers_mb(64).start().unwrap())
}

impl super::Bed for Bed {
    fn engine(&self) -> &'static dyn Engine {
        &Driver
    }

    fn url(&self) -> String {
        server().socket_url("postgres")
    }

    fn endless(&self) -> &'static str {
        "SELECT count(*) FROM generate_series(1, 100000000000) n"
    }

    fn has_all_floats(&self) -> bool {
        true
    }

    fn plant(&self, workspace: &Workspace) {
        server()
            .psql(&format!("CREATE SCHEMA {workspace}; CREATE TABLE {workspace}.mine AS SELECT 42 AS answer"))
            .unwrap();
    }

    fn is_planted(&self, workspace: &Workspace) -> bool {
        server().psql(&format!("SELECT answer FROM {workspace}.mine")).is_ok_and(|answer| answer == "42")
    }

    fn refused(&self) -> Vec<(String, ErrorKind)> {
        let right = server().password();
        let url = |password: &str, database: &str| server().tcp_url(server().superuser(), password, database);
        vec![
            (url(PLANTED, "postgres"), ErrorKind::Authenticate),
            (url(right, "nosuch"), ErrorKind::Missing),
            // Port 1 is nobody's.
            (format!("postgres://u:{PLANTED}@127.0.0.1:1/d"), ErrorKind::Connect),
            (format!("postgres://u:{PLANTED}@host.invalid/d"), ErrorKind::Connect),
            (format!("postgres://u:{PLANTED}@h/d?nosuch=1"), ErrorKind::Usage),
            (format!("{}?sslmode=require", url(right, "postgres")), ErrorKind::Connect),
        ]
    }

    fn server(&self) -> Option<Box<dyn super::Server>> {
        Some(Box::new(Server(Postgres::builder().shared_buffers_mb(16).start().unwrap())))
    }
}

struct Server(Postgres);

impl super::Server for Server {
    fn open(&self) -> Box<dyn Database> {
        open(&Driver, &self.0.socket_url("postgres")).unwrap()
    }

    fn kill(&self) {
        self.0.stop_immediate().unwrap();
    }

    fn restart(&self) {
        self.0.restart().unwrap();
    }

    fn restart_command(&self) -> String {
        self.0.restart_command()
    }
}
