//! What a server may take of us after the log-in: its answer to a question has an end in time and in size.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use plimsoll_engine::ErrorKind;
use plimsoll_engine::server::canceller::Canceller;
use plimsoll_engine::server::socket::Socket;
use plimsoll_engine::server::stream::Stream;

use crate::connection::Connection;
use crate::error::Errors;
use crate::wire_connection::WireConnection;

/// A connection to a server that says this without end, or nothing.
fn connection(endless: &'static [u8], patience: Duration) -> Connection {
    let (mut server, client) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        let portion = endless.repeat(64 * 1024 / endless.len().max(1));
        while !portion.is_empty() && server.write_all(&portion).is_ok() {}
        while server.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
    });
    let socket = Socket::from(client);
    let canceller = Canceller::new(socket.breaker(), &std::sync::Arc::default(), || Ok(()));
    let mut line = WireConnection::new(Stream::new(socket));
    line.trust();
    let errors = Errors { address: "here".to_owned(), database: "d".to_owned(), user: "ann".to_owned() };
    Connection::new(line, errors, canceller, patience)
}

#[test]
fn an_answer_without_end_has_one_for_us() {
    let much = Duration::from_mins(5);
    for (endless, words) in [
        (&b"D\0\0\0\x0b\0\x01\0\0\0\x01x"[..], "the answer to a question would take more than 16 MB"),
        (b"D\0\0\0\x06\0\0", "the answer to a question would take more than 16 MB"),
        (b"N\0\0\0\x07M!\0", "what comes beside an answer would take more than 64 MB"),
        (b"D\x7f\xff\xff\xff", "a message would take more than 64 MB"),
    ] {
        let error = connection(endless, much).rows("SELECT 1", &[]).unwrap_err();
        assert_eq!((error.kind, error.message), (ErrorKind::Lost, format!("the connection to here was lost: {words}")));
    }
    let error = connection(b"D\0\0\0\x06\0\0", much).run("DROP TABLE t").unwrap_err();
    assert!(error.message.ends_with("would take more than 64 MB"), "{error}");
    // What a test asks is passed over as long as it comes.
    let end = "D\0\0\0\x0b\0\x01\0\0\0\x01x".repeat(2_000_000) + "Z\0\0\0\x05I";
    let (mut server, client) = UnixStream::pair().unwrap();
    let saying = thread::spawn(move || server.write_all(end.as_bytes()));
    let mut reading = connection(b"", much);
    reading.link.line.stream = Stream::new(Socket::from(client));
    reading.work("SELECT x FROM t").unwrap();
    saying.join().unwrap().unwrap();
}

#[test]
fn a_server_that_does_not_answer_a_question_is_left() {
    let mut connection = connection(b"", Duration::from_millis(50));
    let error = connection.rows("SELECT 1", &[]).unwrap_err();
    assert_eq!(error.message, "the connection to here was lost: it was not done within 0.05 s");
    assert_eq!(connection.set("SET x TO 1").unwrap_err().kind, ErrorKind::Lost);
}
