//! SQL Server: a server that somebody has, by the URL in `PLIMSOLL_TEST_MSSQL_URL`. The user has to be allowed to make schemas
//! and tables; what is made is removed.

use plimsoll_engine::{ColumnType, Engine, ErrorKind, Value, Workspace};
use plimsoll_mssql::Mssql;

use super::{Bench, PLANTED, open};

pub struct Bed;

fn url() -> String {
    std::env::var("PLIMSOLL_TEST_MSSQL_URL").unwrap()
}

/// The URL's parts: user, password, host and port, database, parameters with their question mark.
fn parts() -> [String; 5] {
    let url = url();
    let rest = url.split_once("://").unwrap().1;
    let (before, query) =
        rest.split_once('?').map_or((rest, String::new()), |(before, query)| (before, format!("?{query}")));
    let (authority, database) = before.split_once('/').unwrap();
    let (user, host) = authority.rsplit_once('@').unwrap();
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    [user, password, host, database]
        .map(str::to_owned)
        .into_iter()
        .chain([query])
        .collect::<Vec<_>>()
        .try_into()
        .unwrap()
}

impl super::Bed for Bed {
    fn engine(&self) -> &'static dyn Engine {
        &Mssql
    }

    fn url(&self) -> String {
        url()
    }

    fn endless(&self) -> &'static str {
        "SELECT COUNT_BIG(*) FROM sys.all_columns a CROSS JOIN sys.all_columns b CROSS JOIN sys.all_columns c \
         CROSS JOIN sys.all_columns d"
    }

    fn has_all_floats(&self) -> bool {
        false
    }

    fn plant(&self, workspace: &Workspace) {
        let mut bench = Bench::within(open(&Mssql, &url()).unwrap(), "planter");
        let make = format!(
            "EXEC(N'CREATE SCHEMA [{workspace}]'); CREATE TABLE {workspace}.mine (answer int); INSERT INTO {workspace}.mine VALUES (42)"
        );
        bench.session.execute(&make, &[]).unwrap();
    }

    /// Looks, and takes away what it planted.
    fn is_planted(&self, workspace: &Workspace) -> bool {
        let mut bench = Bench::within(open(&Mssql, &url()).unwrap(), "planter");
        let mut answer = 0;
        let read =
            bench.session.query(&format!("SELECT answer FROM {workspace}.mine"), &[], &[ColumnType::Int], &mut |row| {
                if let Value::Int(number) = row.get(0) {
                    answer = number;
                }
                Ok(())
            });
        let clear = format!("DROP TABLE {workspace}.mine; EXEC(N'DROP SCHEMA [{workspace}]')");
        read.is_ok() && answer == 42 && bench.session.execute(&clear, &[]).is_ok()
    }

    fn refused(&self) -> Vec<(String, ErrorKind)> {
        let [user, password, host, _, query] = parts();
        let database = parts()[3].clone();
        vec![
            (format!("mssql://{user}:{PLANTED}@{host}/{database}{query}"), ErrorKind::Authenticate),
            (format!("mssql://{user}:{password}@{host}/nosuch{query}"), ErrorKind::Missing),
            // Port 1 is nobody's.
            (format!("mssql://u:{PLANTED}@127.0.0.1:1/d"), ErrorKind::Connect),
            (format!("mssql://u:{PLANTED}@host.invalid/d"), ErrorKind::Connect),
            (format!("mssql://u:{PLANTED}@h/d?nosuch=1"), ErrorKind::Usage),
        ]
    }

    /// Nobody's server is killed.
    fn server(&self) -> Option<Box<dyn super::Server>> {
        None
    }
}
