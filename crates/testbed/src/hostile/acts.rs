//! What is done at which stage: general misbehaviour at each, and each protocol's own.

use super::bytes::{Speech, encoded, long, wild};
use super::mysql::MySql;
use super::postgres::Postgres;
use super::tds::Tds;
use super::what::{Act, Case, Protocol, Stage};

/// All cases of a protocol. The peers know the secret, and say it wherever they can.
pub fn cases(protocol: Protocol, secret: &str) -> Vec<Case> {
    let speech: &dyn Speech = match protocol {
        Protocol::Postgres => &Postgres,
        Protocol::MySql => &MySql,
        Protocol::Tds => &Tds,
    };
    let of_stage = |stage| {
        let own = general(speech).into_iter().chain(match stage {
            Stage::First => words(speech, secret),
            Stage::Handshake => records(),
            Stage::Authentication | Stage::LogIn => [words(speech, secret), rounds(speech, secret)].concat(),
            Stage::Answer => [words(speech, secret), results(speech, secret)].concat(),
        });
        own.map(move |(name, act)| Case { protocol, stage, name, act })
    };
    Stage::ALL.into_iter().flat_map(of_stage).collect()
}

type Named = (&'static str, Act);

/// What knows no protocol, or the frame of its messages alone.
fn general(speech: &dyn Speech) -> Vec<Named> {
    let notice = speech.notice("one of many");
    let half = notice[..notice.len() / 2].to_vec();
    let largest = speech.largest();
    vec![
        ("silence", Act::Nothing),
        ("goes", Act::Close),
        ("breaks the line", Act::Reset),
        ("one byte", Act::Once(notice[..1].to_vec())),
        ("half a message, then silence", Act::Once(half.clone())),
        ("half a message, then goes", Act::Last(half)),
        ("a message in trickles", Act::Trickle(notice.clone())),
        ("zeros without end", Act::Endless(Vec::new(), vec![0])),
        ("ones without end", Act::Endless(Vec::new(), vec![0xff])),
        ("noise", Act::Noise(1)),
        ("more noise", Act::Noise(77)),
        ("speaks HTTP", Act::Last(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec())),
        ("speaks SSH", Act::Once(b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec())),
        ("the largest length, then silence", Act::Once(largest.clone())),
        ("the largest length, and all of it", Act::Endless(largest.clone(), vec![b'x'])),
        (
            "the largest messages without end",
            Act::Endless(Vec::new(), [&largest[..], long(0xffff).as_bytes()].concat()),
        ),
        ("an impossible length", Act::Endless(speech.smallest(), speech.smallest())),
        ("notices without end", Act::Endless(Vec::new(), notice)),
        ("long notices without end", Act::Endless(Vec::new(), speech.notice(&long(20_000)))),
        ("settings without end", Act::Endless(Vec::new(), speech.setting(&long(100)))),
    ]
}

/// Words that should not be seen as they are.
fn words(speech: &dyn Speech, secret: &str) -> Vec<Named> {
    vec![
        ("an error with the secret", Act::Last(speech.error(&format!("no entry for '{secret}'")))),
        ("an error with the encoded secret", Act::Last(speech.error(&format!("no entry for {}", encoded(secret))))),
        ("an error with control characters", Act::Last(speech.error(&wild(secret)))),
        ("a long error", Act::Last(speech.error(&long(60_000)))),
        ("an error of 10 MB", Act::Last(speech.error(&format!("{secret}{}", long(10 << 20))))),
        ("errors without end", Act::Endless(Vec::new(), speech.error(secret))),
        ("notices with the secret", Act::Last(speech.notice(&wild(secret)).repeat(3))),
        ("settings with the secret", Act::Last([speech.setting(&wild(secret)), speech.error("no")].concat())),
    ]
}

/// Records of TLS (RFC 5246, 6.2): of a handshake, in pieces and never whole, and alerts that mean nothing.
fn records() -> Vec<Named> {
    let record = |kind: u8, body: &[u8]| [&[kind, 3, 3], &(body.len() as u16).to_be_bytes()[..], body].concat();
    vec![
        ("a handshake that never ends", Act::Endless(record(22, &[2, 0xff, 0xff, 0xff]), record(22, &[0; 0x4000]))),
        ("empty records without end", Act::Endless(Vec::new(), record(22, &[]))),
        ("warnings without end", Act::Endless(Vec::new(), record(21, &[1, 0]))),
        ("a refusal of TLS", Act::Last(record(21, &[2, 40]))),
        ("data before the handshake", Act::Endless(Vec::new(), record(23, &[0; 0x4000]))),
    ]
}

/// Proofs.
fn rounds(speech: &dyn Speech, secret: &str) -> Vec<Named> {
    vec![
        ("proofs without end", Act::Reply(speech.round())),
        ("proofs without end, unheard", Act::Endless(Vec::new(), speech.round())),
        ("a proof of which nobody has heard", Act::Last(speech.strange_proof(&wild(secret)))),
        ("such proofs without end", Act::Endless(Vec::new(), speech.strange_proof(&long(1000)))),
    ]
}

/// Answers.
fn results(speech: &dyn Speech, secret: &str) -> Vec<Named> {
    let (result, end) = (speech.result(), speech.end());
    let with = |bytes: Vec<u8>| [&result[..], &bytes[..]].concat();
    vec![
        ("rows without end", Act::Endless(result.clone(), speech.row("a name"))),
        ("long rows without end", Act::Endless(result.clone(), speech.row(&long(1 << 20)))),
        ("empty rows without end", Act::Endless(result.clone(), speech.empty_row())),
        ("a row that never ends", Act::Endless(with(speech.largest_row()), vec![b'x'])),
        ("results without end", Act::Endless(Vec::new(), with([speech.row("a name"), end.clone()].concat()))),
        ("ends without end", Act::Endless(Vec::new(), end)),
        ("columns without end", Act::Endless(Vec::new(), speech.columns())),
        ("wants rows without end", Act::Endless(Vec::new(), speech.wants_rows())),
        ("rows with the secret", Act::Last(with(speech.row(&wild(secret))))),
    ]
}
