//! Answers of a server with anything in them. The valid ones are recorded from the server that speaks TDS.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::*;

/// What a server says to the greeting, to the log-in and to a query.
type Answers = [Vec<u8>; 3];

/// A message of the client's, whole; `None` if the client has gone.
fn message(client: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    loop {
        let mut header = [0; 8];
        client.read_exact(&mut header).ok()?;
        let mut body = vec![0; usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(header.len())];
        client.read_exact(&mut body).ok()?;
        message.extend_from_slice(&header);
        message.extend_from_slice(&body);
        if header[1] & 1 != 0 {
            return Some(message);
        }
    }
}

/// What the server answers to whoever logs in and asks once.
fn recorded(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Answers {
    let server = TdsServer::builder().start(move |_, _| reply()).unwrap();
    let between = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut endpoint = endpoint(&server);
    let port = endpoint.port.replace(between.local_addr().unwrap().port()).unwrap();
    let forwarder = thread::spawn(move || {
        let (mut client, _) = between.accept().unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
        [(); 3].map(|()| {
            server.write_all(&message(&mut client).unwrap()).unwrap();
            let answer = message(&mut server).unwrap();
            client.write_all(&answer).unwrap();
            answer
        })
    });
    let mut client = Client::connect(&endpoint, &login(), "plimsoll test").unwrap();
    let _ = client.run("SELECT 1");
    forwarder.join().unwrap()
}

/// Answers each connection with what stands there at the time, and says no more after that.
fn server(answers: Arc<Mutex<Vec<Vec<u8>>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let answers = answers.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for answer in &answers {
                if message(&mut client).is_none() || client.write_all(answer).is_err() {
                    break;
                }
            }
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    port
}

#[test]
fn strange_answers_are_refused() {
    let refusal = || Reply::error(Refusal::new(207, "Invalid column name 'x'."));
    let valid = [recorded(two_rows), recorded(Reply::default), recorded(refusal)];
    let part = |number: usize| {
        valid.iter().map(move |answers| [&[number as u8], answers[number].as_slice()].concat()).collect::<Vec<_>>()
    };
    let answers = Arc::new(Mutex::new(valid[0].to_vec()));
    let endpoint = Endpoint { host: "127.0.0.1".to_owned(), port: Some(server(Arc::clone(&answers))), instance: None };
    let columns: Vec<ColumnType> = types().iter().map(|(.., asked, _)| *asked).collect();
    let target = plimsoll_fuzz::Target::new("mssql-answers", 300).seeds((0..3).flat_map(part));
    target.bytes(|input| {
        let Some((number, answer)) = input.split_first() else { return };
        let number = usize::from(*number) % valid.len();
        {
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            // A message that isn't whole would wait for its rest for ever.
            *answers = [&valid[0][..number], &[answer.to_vec()]].concat();
        }
        let Ok(mut client) = Client::connect(&endpoint, &login(), "plimsoll test") else { return };
        let _ = client.rows("SELECT 1", &[], &columns);
    });
}
