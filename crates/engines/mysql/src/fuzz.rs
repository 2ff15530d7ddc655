//! What reads texts of users and answers of servers, with anything for them.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_engine::server::canceller::Canceller;
use plimsoll_engine::server::tls::{self, Protection, Trust};
use plimsoll_engine::{ColumnType, Row, Secret, Target};

use crate::connection::{Connection, Failed, Prepared};
use crate::error::{Errors, statement};
use crate::login::{self, Login, Welcome};
use crate::product::Server;
use crate::rows;
use crate::url::Location;
use crate::wire_connection::WireConnection;

#[test]
fn urls() {
    let corpus = include_str!("../../../fuzz/corpus/targets.txt");
    let words = ["mysql://", "ssl-mode=", "socket=", "charset="];
    plimsoll_fuzz::Target::new("mysql-urls", 10_000).lines(corpus).words(words).texts(|text| {
        if let Ok(target) = Target::parse(text) {
            // It may be refused, in words that can be shown.
            assert!(Location::parse(&target).err().is_none_or(|error| !error.to_string().is_empty()));
        }
    });
}

const KINDS: &[&str] = &["login", "text", "prepare", "execute"];
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

#[test]
fn answers() {
    let corpus = include_str!("../../../fuzz/corpus/mysql-answers.txt");
    let trust = Arc::new(tls::config(Trust::Anybody, None, "ssl-ca").expect("no file is read"));
    let target = plimsoll_fuzz::Target::new("mysql-answers", 3_000).answers(corpus, KINDS);
    target.words(["caching_sha2_password", "mysql_native_password", "client_ed25519", "\0", "#42S02"]).bytes(|input| {
        let Some((kind, answer)) = input.split_first() else { return };
        let (mut server, client) = UnixStream::pair().expect("a pair of sockets");
        // All that the server says, and then it is gone.
        server.write_all(answer).and_then(|()| server.shutdown(Shutdown::Write)).expect("it fits");
        let mut line = WireConnection::new(client.into());
        let errors = Errors { address: "here".to_owned(), user: "ann".to_owned(), has_password: true };
        let product = if kind & 0x80 == 0 { "5.5.5-10.11.6-MariaDB" } else { "9.7.0" };
        let password = Secret::new("secret");
        let login = Login {
            user: "ann",
            password: Some(&password),
            database: Some("d"),
            host: "localhost",
            mode: if kind & 0x40 == 0 { Protection::Off } else { Protection::IfPossible },
            tls: &trust,
            is_socket: false,
            name: "plimsoll",
        };
        let kind = KINDS[usize::from(*kind) % KINDS.len()];
        if kind == "login" {
            let refused = login::log_in(&mut line, &login, &errors).err();
            let error = refused.map(|refused| refused.into_error("here", "MySQL", Duration::from_secs(1)));
            assert!(error.is_none_or(|error| !error.to_string().contains("secret")));
            return;
        }
        let server = Server::from_version(product).expect("it is new enough");
        let welcome = Welcome { caches_metadata: product.contains("MariaDB"), server, id: 1 };
        let canceller = Canceller::new(line.stream.socket().breaker(), &Arc::default(), || Ok(()));
        let mut connection =
            Connection::new(line, errors, welcome, (canceller, Arc::default()), Duration::from_mins(1));
        match kind {
            "text" => match answer.len() % 3 {
                // Of what one leaves, the next takes the rest.
                0 => {
                    let rows = connection.ask("SELECT 1").unwrap_or_default();
                    assert!(rows.iter().flatten().flatten().all(|text| text.len() <= 3 * answer.len()));
                    let _ = connection.ask_one("SELECT 1");
                }
                1 => {
                    let mut packets = answer.len() % 5;
                    let loaded = connection.query("LOAD DATA", &mut |out| {
                        out.push(b'x');
                        packets = packets.saturating_sub(1);
                        if answer.len().is_multiple_of(7) { Err(statement("enough")) } else { Ok(packets > 0) }
                    });
                    let _ = loaded.map_err(|failed| connection.fail(failed));
                }
                _ => drop((connection.run("SELECT 1"), connection.ping())),
            },
            kind => {
                let prepared =
                    if kind == "prepare" { connection.prepare("SELECT ?").ok() } else { Some(Prepared::default()) };
                let Some(mut prepared) = prepared else { return };
                prepared.parameters = 0;
                let outcome = connection.execute(&mut prepared, &[], &mut |columns, bytes| {
                    if bytes.len().is_multiple_of(5) {
                        return Err(statement("enough"));
                    }
                    let sizes = rows::sizes(None, columns)?;
                    let counted = rows::content_bytes(bytes, &sizes);
                    assert!(counted.is_none_or(|counted| counted <= 16 * columns.len() as u64 + bytes.len() as u64));
                    for first in 0..TYPES.len() {
                        let types: Vec<ColumnType> =
                            (0..columns.len()).map(|column| TYPES[(first + column) % TYPES.len()]).collect();
                        let _ = rows::sizes(Some(&types), columns).map(|sizes| rows::content_bytes(bytes, &sizes));
                        let _ = rows::decode(bytes, columns, &types, &mut Row::default());
                    }
                    Ok(())
                });
                if let Err(failed) = outcome {
                    if matches!(failed, Failed::Receiver(_)) {
                        let _ = connection.drain();
                    }
                    assert!(!connection.fail(failed).to_string().is_empty());
                }
            }
        }
    });
}
