//! Keeps a private PostgreSQL until standard input ends: to try things by hand, and to test what happens when its owner
//! is killed. Arguments are settings, such as `shared_buffers=256MB`. Prints the URL over the socket, the URL over TCP and
//! the shell command that restarts the server.

use std::error::Error;
use std::io::{Read, Write, stdin, stdout};

use plimsoll_testbed::Postgres;

fn main() -> Result<(), Box<dyn Error>> {
    let settings: Vec<String> = std::env::args().skip(1).collect();
    let builder = settings.iter().filter_map(|setting| setting.split_once('='));
    let server = builder.fold(Postgres::builder(), |builder, (name, value)| builder.setting(name, value)).start()?;
    let tcp = server.tcp_url(server.superuser(), server.password(), "postgres");
    writeln!(stdout(), "{}\n{tcp}\n{}", server.socket_url("postgres"), server.restart_command())?;
    stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
