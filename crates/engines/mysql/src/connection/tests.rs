//! What a server may take of us after the log-in: its answer to a question has an end in time and in size.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use plimsoll_engine::ErrorKind;
use plimsoll_engine::server::canceller::Canceller;

use crate::connection::Connection;
use crate::error::Errors;
use crate::login::Welcome;
use crate::product::Server;
use crate::wire_connection::WireConnection;

/// A result with one column of text.
const RESULT: &[u8] = b"\x01\0\0\x01\x01\x1e\0\0\x02\x03def\0\0\0\x04name\x04name\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0";

/// A connection to a server that says this, and then that without end.
fn connection(first: &'static [u8], endless: &'static [u8], patience: Duration) -> Connection {
    let (mut server, client) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let portion = endless.repeat(64 * 1024 / endless.len().max(1));
        let _ = server.write_all(first);
        while !portion.is_empty() && server.write_all(&portion).is_ok() {}
        while server.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
    });
    let mut line = WireConnection::new(client.into());
    line.trust();
    let errors = Errors { address: "here".to_owned(), user: "ann".to_owned(), has_password: true };
    let welcome = Welcome { caches_metadata: false, server: Server::from_version("9.7.0").unwrap(), id: 1 };
    let canceller = Canceller::new(line.stream.socket().breaker(), &Arc::default(), || Ok(()));
    Connection::new(line, errors, welcome, (canceller, Arc::default()), patience)
}

#[test]
fn an_answer_without_end_has_one_for_us() {
    let much = Duration::from_mins(5);
    let lost = |words: &str| format!("the connection to here was lost: {words}");
    for (endless, words) in [
        (&b"\x02\0\0\x03\x01x"[..], "the answer to a question would take more than 16 MB"),
        (b"\x01\0\0\x03\xfb", "the answer to a question would take more than 16 MB"),
    ] {
        let error = connection(RESULT, endless, much).ask("SELECT 1").unwrap_err();
        assert_eq!((error.kind, error.message), (ErrorKind::Lost, lost(words)));
    }
    let error = connection(RESULT, b"\x02\0\0\x03\x01x", much).run("DROP TABLE t").unwrap_err();
    assert_eq!(error.message, lost("what comes beside an answer would take more than 64 MB"));
}

#[test]
fn a_server_that_does_not_answer_a_question_is_left() {
    let mut connection = connection(b"", b"", Duration::from_millis(50));
    let error = connection.ask("SELECT 1").unwrap_err();
    assert_eq!(error.message, "the connection to here was lost: it was not done within 0.05 s");
    assert!(!connection.ping());
}
