//! Keeps a private server until standard input ends: to try things by hand, and to test what happens when its owner is
//! killed. It is PostgreSQL, or MariaDB if the first argument is `mariadb`. Further arguments are settings, such as
//! `shared_buffers=256MB` or `innodb_buffer_pool_size=256M`. Prints the URL over the socket, the URL over TCP and the shell
//! command that restarts the server.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};

use plimsoll_testbed::{MariaDb, Postgres};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let settings = words.iter().filter_map(|setting| setting.split_once('='));
    if words.first().is_some_and(|word| word == "mariadb") {
        let server =
            settings.fold(MariaDb::builder(), |builder, (name, value)| builder.setting(name, value)).start()?;
        let tcp = server.tcp_url(server.superuser(), server.password(), "test");
        writeln!(stdout(), "{}\n{tcp}\n{}", server.socket_url("test"), server.restart_command())?;
        stdin().read_to_end(&mut Vec::new())?;
        return Ok(());
    }
    let server = settings.fold(Postgres::builder(), |builder, (name, value)| builder.setting(name, value)).start()?;
    let tcp = server.tcp_url(server.superuser(), server.password(), "postgres");
    writeln!(stdout(), "{}\n{tcp}\n{}", server.socket_url("postgres"), server.restart_command())?;
    stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
