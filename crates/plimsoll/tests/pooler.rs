//! Poolers in front of PostgreSQL: one that passes the server's sessions from client to client is refused before anything is done
//! through it, as a table's name would mean a table of the user's there.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use common::Scene;
use plimsoll_testbed::Postgres;

/// A pooler's port, in front of a server that trusts everybody. Each client has so many sessions of the server, and after each transaction
/// the next one of them.
fn pooler(server: u16, sessions: usize) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || drop(serve(client, server, sessions)));
        }
    });
    port
}

fn serve(mut client: TcpStream, server: u16, sessions: usize) -> io::Result<()> {
    let first = packet(&mut client, Vec::new())?;
    let mut sessions: Vec<TcpStream> =
        (0..sessions).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, server))).collect::<io::Result<_>>()?;
    for (number, session) in sessions.iter_mut().enumerate() {
        session.write_all(&first)?;
        // The pooler knows numbers of its own only.
        let mut own = |message: &mut Vec<u8>| {
            if message[0] == b'K' {
                message[5..9].copy_from_slice(&77_i32.to_be_bytes());
            }
            if number == 0 { client.write_all(message) } else { Ok(()) }
        };
        until_ready(session, &mut own)?;
    }
    if let [session] = &mut sessions[..] {
        let (mut from_client, mut to_server) = (client.try_clone()?, session.try_clone()?);
        thread::spawn(move || io::copy(&mut from_client, &mut to_server));
        return io::copy(session, &mut client).map(drop);
    }
    let mut turn = 0;
    loop {
        let message = message(&mut client)?;
        let session = &mut sessions[turn];
        session.write_all(&message)?;
        if matches!(message[0], b'Q' | b'S') {
            let is_idle = until_ready(session, &mut |message| client.write_all(message))?;
            turn = if is_idle { (turn + 1) % sessions.len() } else { turn };
        }
    }
}

/// Passes messages on until a session is ready; whether it is in no transaction.
fn until_ready(session: &mut TcpStream, each: &mut impl FnMut(&mut Vec<u8>) -> io::Result<()>) -> io::Result<bool> {
    loop {
        let mut message = message(session)?;
        each(&mut message)?;
        if message[0] == b'Z' {
            return Ok(message[5] == b'I');
        }
    }
}

fn message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut tag = [0];
    stream.read_exact(&mut tag)?;
    packet(stream, tag.to_vec())
}

fn packet(stream: &mut TcpStream, mut packet: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let begin = packet.len() + 4;
    packet.extend(length);
    packet.resize(begin + u32::from_be_bytes(length) as usize - 4, 0);
    stream.read_exact(&mut packet[begin..])?;
    Ok(packet)
}

#[test]
fn a_pooler_is_refused_unless_each_client_has_a_session_of_its_own() {
    let server = Postgres::builder().trusting(true).start().unwrap();
    let scene = Scene::new();
    server.psql("CREATE TABLE public.table0 (kept int); INSERT INTO public.table0 VALUES (1)").unwrap();
    let url = |port: u16, more: &str| {
        format!("postgres://{}@127.0.0.1:{port}/postgres?sslmode=disable{more}", server.superuser())
    };
    let run = |target: &str| {
        let words = ["run", "insert", "--short", "--json", "--repetitions", "1", "--set", "duration=1s", "--target"];
        scene.say(&[&words[..], &[target]].concat())
    };
    let (shared, own) = (pooler(server.port(), 2), pooler(server.port(), 1));
    for port in [shared, own] {
        run(&url(port, "")).failed(6, &["a connection pooler stands between", "pooler=session"]);
    }
    run(&url(shared, "&pooler=session")).failed(6, &["sessions pass from client to client"]);
    // Nothing was done through it.
    let left = server.psql("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'plimsoll%'").unwrap();
    assert_eq!(left.trim(), "");
    let said = run(&url(own, "&pooler=session"));
    assert_eq!(said.code, 0, "{said:#?}");
    run(&url(own, "&pooler=transaction")).failed(2, &["'pooler'"]);
    assert_eq!(server.psql("SELECT kept FROM public.table0").unwrap().trim(), "1");
}
