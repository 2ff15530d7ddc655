//! What reads texts of users and answers of servers, with anything for them.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use plimsoll_engine::server::canceller::Canceller;
use plimsoll_engine::server::link::Refused;
use plimsoll_engine::server::socket::Socket;
use plimsoll_engine::server::stream::Stream;
use plimsoll_engine::{ColumnType, Row, Secret, Target, Value};
use postgres_types::Type;

use crate::answer;
use crate::connection::{BINARY, Connection, Failed, Outcome};
use crate::error::{Errors, statement};
use crate::login::{ChannelRule, Login, end_point, log_in};
use crate::url::Location;
use crate::wire;
use crate::wire_connection::WireConnection;

#[test]
fn urls() {
    let corpus = include_str!("../../../fuzz/corpus/targets.txt");
    let words = ["postgres://", "sslmode=", "host=", ",", "options="];
    plimsoll_fuzz::Target::new("postgres-urls", 10_000).lines(corpus).words(words).texts(|text| {
        if let Ok(target) = Target::parse(text) {
            // It may be refused, in words that can be shown.
            match Location::parse(&target) {
                Ok(location) => assert!(["user", "host"].iter().all(|key| location.get(key) != Some(""))),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    });
}

const KINDS: &[&str] = &["login", "text", "rows", "prepare", "execute", "certificate"];
const TYPES: &[ColumnType] = &[
    ColumnType::Int,
    ColumnType::Bit,
    ColumnType::TinyInt,
    ColumnType::SmallInt,
    ColumnType::BigInt,
    ColumnType::Float,
    ColumnType::Money,
    ColumnType::DateTime,
    ColumnType::Text(100),
];

/// Reads a row in every way.
fn read(columns: &[Type], row: &[u8]) -> Outcome<()> {
    if row.len().is_multiple_of(11) {
        return Err(Failed::Receiver(statement("enough")));
    }
    let sizes = answer::sizes(None, columns).map_err(Failed::Ours)?;
    let counted = answer::content_bytes(row, &sizes);
    assert!(counted.is_none_or(|counted| counted <= 16 * columns.len() as u64 + row.len() as u64));
    for first in 0..TYPES.len() {
        let types: Vec<ColumnType> = (0..columns.len()).map(|column| TYPES[(first + column) % TYPES.len()]).collect();
        let _ = answer::sizes(Some(&types), columns).map(|sizes| answer::content_bytes(row, &sizes));
        let _ = wire::decode(row, columns, &types, &mut Row::default());
    }
    Ok(())
}

#[test]
fn answers() {
    let corpus = include_str!("../../../fuzz/corpus/postgres-answers.txt");
    let target = plimsoll_fuzz::Target::new("postgres-answers", 3_000).answers(corpus, KINDS);
    target.words(["SCRAM-SHA-256", "\0", "SELECT 1\0", "C42P01\0"]).bytes(|input| {
        let Some((kind, answer)) = input.split_first() else { return };
        let kind = KINDS[usize::from(*kind) % KINDS.len()];
        if kind == "certificate" {
            assert!(end_point(answer).is_none_or(|hash| [32, 48, 64].contains(&hash.len())));
            return;
        }
        let (mut server, client) = UnixStream::pair().expect("a pair of sockets");
        // All that the server says, and then it is gone.
        server.write_all(answer).and_then(|()| server.shutdown(Shutdown::Write)).expect("it fits");
        let socket = Socket::from(client);
        let canceller = Canceller::new(socket.breaker(), &std::sync::Arc::default(), || Ok(()));
        let mut line = WireConnection::new(Stream::new(socket));
        let errors = Errors { address: "here".to_owned(), database: "d".to_owned(), user: "ann".to_owned() };
        if kind == "login" {
            let password = Some(Secret::new("secret"));
            let login = Login { user: "ann".to_owned(), password, options: None, channel: ChannelRule::IfPossible };
            if let Err(Refused::Error(error)) = log_in(&mut line, &login, "d", "plimsoll", &errors) {
                assert!(!error.to_string().contains("secret"));
            }
            return;
        }
        let mut connection = Connection::new(line, errors, canceller, Duration::from_mins(1));
        match (kind, answer.len() % 3) {
            ("text", 0) => {
                let mut packets = answer.len() % 5;
                let _ = connection.copy("COPY t FROM STDIN", &mut |out| {
                    out.extend_from_slice(b"x");
                    packets = packets.saturating_sub(1);
                    if answer.len().is_multiple_of(7) { Err(statement("enough")) } else { Ok(packets > 0) }
                });
            }
            ("text", _) => {
                // It is not even sent.
                assert!(connection.run("SELECT \0").is_err());
                let _ = connection.run("SELECT 1");
            }
            ("rows", 0) => drop(connection.value::<u64>("SELECT 1", &[])),
            ("rows", 1) => drop(connection.ask(0..2)),
            ("rows", _) => {
                let rows = connection.rows("SELECT 1", &["a"]).unwrap_or_default();
                assert!(rows.len() <= answer.len());
                assert!(rows.iter().all(|row| !row.is_true(0) || row.get::<u64>(0).is_none()));
                assert!(rows.iter().all(|row| row.get::<u64>(usize::MAX).is_none()));
                assert!(connection.link.traffic().received_bytes <= answer.len() as u64);
            }
            ("execute", _) => {
                let asked = connection.query("SELECT 1", read);
                if let Err(failed) = asked {
                    assert!(!connection.fail(failed).to_string().is_empty());
                }
            }
            _ => {
                let prepared = match connection.prepare("s", "SELECT 1") {
                    Ok(prepared) => prepared,
                    Err(failed) => return drop(connection.fail(failed)),
                };
                let columns = prepared.columns.clone();
                let mut ended = connection.execute(&prepared, &[], BINARY, |row| read(&columns, row));
                if matches!(ended, Err(Failed::Ours(_))) {
                    let parameter = [Value::Int(answer.len() as i32)];
                    ended = connection.execute(&prepared, &parameter, BINARY, |row| read(&columns, row));
                }
                if let Err(failed) = ended {
                    let is_half = matches!(failed, Failed::Receiver(_));
                    assert!(!connection.fail(failed).to_string().is_empty());
                    if is_half {
                        connection.abandon();
                    }
                }
            }
        }
    });
}
