//! Before anything is asked: PRELOGIN (MS-TDS 2.2.6.5) and LOGIN7 (2.2.6.4).

use std::io;

use super::bytes::{Reader, bad, put_short_text, wide};
use super::token::{self, DONE, Refusal};
use super::types::COLLATION;

/// What encryption is said to be, by its numbers.
pub(super) mod encrypt {
    pub(in super::super) const OFF: u8 = 0x00;
    pub(in super::super) const ON: u8 = 0x01;
    pub(in super::super) const NOT_SUPPORTED: u8 = 0x02;
    pub(in super::super) const REQUIRED: u8 = 0x03;
}

/// Options of PRELOGIN.
const ENCRYPTION: u8 = 1;
const FEDERATED: u8 = 6;
const END: u8 = 0xFF;

/// The feature of a federated log-in.
const FEDERATED_FEATURE: u8 = 0x02;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prelogin {
    pub(super) encryption: u8,
    pub(super) is_federated: bool,
}

impl Prelogin {
    pub(super) fn read(body: &[u8]) -> io::Result<Self> {
        let mut found = Self { encryption: encrypt::NOT_SUPPORTED, is_federated: false };
        let mut reader = Reader(body);
        loop {
            let option = reader.u8()?;
            if option == END {
                return Ok(found);
            }
            // Big endian, unlike everything else.
            let mut number = || Ok::<usize, io::Error>(usize::from(reader.u8()?) << 8 | usize::from(reader.u8()?));
            let (offset, length) = (number()?, number()?);
            let value = body.get(offset..offset + length).ok_or_else(|| bad("a PRELOGIN option lies outside"))?;
            match (option, value) {
                (ENCRYPTION, [value, ..]) => found.encryption = *value,
                (FEDERATED, [value, ..]) => found.is_federated = *value != 0,
                _ => {}
            }
        }
    }

    /// The answer: version 16, this encryption, and a federated log-in if one was asked for.
    pub(super) fn answer(self, encryption: u8) -> Vec<u8> {
        let mut options: Vec<(u8, Vec<u8>)> = vec![
            (0, vec![16, 0, 0x10, 0x00, 0, 0]),
            (ENCRYPTION, vec![encryption]),
            (2, vec![0]),
            (3, Vec::new()),
            (4, vec![0]),
        ];
        if self.is_federated {
            options.push((FEDERATED, vec![1]));
        }
        let mut offset = options.len() * 5 + 1;
        let mut body = Vec::new();
        for (option, value) in &options {
            body.push(*option);
            body.extend_from_slice(&(offset as u16).to_be_bytes());
            body.extend_from_slice(&(value.len() as u16).to_be_bytes());
            offset += value.len();
        }
        body.push(END);
        body.extend(options.into_iter().flat_map(|(_, value)| value));
        body
    }
}

/// The user that wants to log in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginRequest {
    /// The user's name; empty with a token.
    pub user: String,
    /// The password.
    pub password: String,
    /// The name of the program.
    pub application: String,
    /// The name of the client's machine.
    pub workstation: String,
    /// The database.
    pub database: String,
    /// The access token, where there is one.
    pub token: Option<String>,
    /// Bytes of a packet, as the client wants them.
    pub packet_bytes: u32,
    /// True if a replica for readers will do.
    pub read_only: bool,
}

impl LoginRequest {
    pub(super) fn read(body: &[u8]) -> io::Result<Self> {
        let fixed = body.get(..94).ok_or_else(|| bad("a LOGIN7 is too short"))?;
        let pair = |at: usize| {
            let number = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
            (number(at), number(at + 2))
        };
        let bytes = |at: usize| {
            let (offset, units) = pair(at);
            body.get(offset..offset + units * 2).ok_or_else(|| bad("a text of LOGIN7 lies outside"))
        };
        let text = |at: usize| wide(bytes(at)?);
        // Each byte has its halves swapped and then 0xA5 laid over it.
        let password: Vec<u8> = bytes(44)?.iter().map(|byte| (byte ^ 0xA5).rotate_left(4)).collect();
        let token = if fixed[27] & 0x10 == 0 { None } else { federated(body, pair(56).0)? };
        Ok(Self {
            workstation: text(36)?,
            user: text(40)?,
            password: wide(&password)?,
            application: text(48)?,
            database: text(68)?,
            token,
            packet_bytes: u32::from_le_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]),
            read_only: fixed[26] & 0x20 != 0,
        })
    }
}

/// The token of a federated log-in among the features (2.2.6.4); their place stands at `at`.
fn federated(body: &[u8], at: usize) -> io::Result<Option<String>> {
    let offset = Reader(body.get(at..).unwrap_or_default()).u32()? as usize;
    let mut reader = Reader(body.get(offset..).unwrap_or_default());
    loop {
        let feature = reader.u8()?;
        if feature == END {
            return Ok(None);
        }
        let length = reader.u32()? as usize;
        let mut data = Reader(reader.take(length)?);
        if feature == FEDERATED_FEATURE {
            data.u8()?;
            let length = data.u32()? as usize;
            return wide(data.take(length)?).map(Some);
        }
    }
}

/// The answer to a log-in that is granted. A gateway names the server to go to next.
pub(super) fn granted(login: &LoginRequest, packet_bytes: usize, next: Option<(&str, u16)>) -> Vec<u8> {
    let mut out = Vec::new();
    let database = if login.database.is_empty() { "master" } else { &login.database };
    token::put_change(1, database, "master", &mut out);
    let changed = format!("Changed database context to '{database}'.");
    token::put_message(0xAB, &Refusal { number: 5701, state: 2, class: 0, message: changed }, &mut out);
    token::put_collation(COLLATION, &mut out);
    token::put_change(2, "us_english", "", &mut out);
    // LOGINACK: SQL, TDS 7.4, and version 16.
    let mut body = vec![1, 0x74, 0, 0, 4];
    put_short_text(&mut body, "Microsoft SQL Server");
    body.extend_from_slice(&[16, 0, 0x10, 0]);
    token::put_counted(0xAD, &body, &mut out);
    token::put_change(4, &packet_bytes.to_string(), "4096", &mut out);
    if let Some((host, port)) = next {
        token::put_route(host, port, &mut out);
    }
    if login.token.is_some() {
        // FEATUREEXTACK: the log-in by token was heard.
        out.extend_from_slice(&[0xAE, FEDERATED_FEATURE, 0, 0, 0, 0, END]);
    }
    token::put_done(DONE, 0, 0, 0, &mut out);
    out
}

/// The answer to a log-in that is refused.
pub(super) fn refused(refusal: &Refusal) -> Vec<u8> {
    let mut out = Vec::new();
    token::put_message(0xAA, refusal, &mut out);
    token::put_done(DONE, token::done::ERROR, 0, 0, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MS-TDS 4.1.
    #[test]
    fn a_prelogin_is_the_documents() {
        let body = [
            0x00, 0x00, 0x1A, 0x00, 0x06, 0x01, 0x00, 0x20, 0x00, 0x01, 0x02, 0x00, 0x21, 0x00, 0x01, 0x03, 0x00, 0x22,
            0x00, 0x04, 0x04, 0x00, 0x26, 0x00, 0x01, 0xFF, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0xB8, 0x0D,
            0x00, 0x00, 0x01,
        ];
        assert_eq!(Prelogin::read(&body).unwrap(), Prelogin { encryption: encrypt::ON, is_federated: false });
        let answer = Prelogin { encryption: 1, is_federated: true }.answer(encrypt::REQUIRED);
        assert_eq!(Prelogin::read(&answer).unwrap(), Prelogin { encryption: encrypt::REQUIRED, is_federated: true });
    }

    /// MS-TDS 4.2: the client has no name of a user and logs in by its Windows account.
    #[test]
    fn a_login_is_the_documents() {
        let body = [
            0x88, 0x00, 0x00, 0x00, 0x02, 0x00, 0x09, 0x72, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x01,
            0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xE0, 0x03, 0x00, 0x00, 0xE0, 0x01, 0x00, 0x00, 0x09, 0x04, 0x00, 0x00,
            0x5E, 0x00, 0x08, 0x00, 0x6E, 0x00, 0x02, 0x00, 0x72, 0x00, 0x00, 0x00, 0x72, 0x00, 0x07, 0x00, 0x80, 0x00,
            0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x04, 0x00, 0x88, 0x00, 0x00, 0x00, 0x88, 0x00, 0x00, 0x00,
            0x00, 0x50, 0x8B, 0xE2, 0xB7, 0x8F, 0x88, 0x00, 0x00, 0x00, 0x88, 0x00, 0x00, 0x00, 0x88, 0x00, 0x00, 0x00,
            0x00, 0x00, 0x00, 0x00, 0x73, 0x00, 0x6B, 0x00, 0x6F, 0x00, 0x73, 0x00, 0x74, 0x00, 0x6F, 0x00, 0x76, 0x00,
            0x31, 0x00, 0x73, 0x00, 0x61, 0x00, 0x4F, 0x00, 0x53, 0x00, 0x51, 0x00, 0x4C, 0x00, 0x2D, 0x00, 0x33, 0x00,
            0x32, 0x00, 0x4F, 0x00, 0x44, 0x00, 0x42, 0x00, 0x43, 0x00,
        ];
        let login = LoginRequest::read(&body).unwrap();
        assert_eq!((login.workstation.as_str(), login.user.as_str()), ("skostov1", "sa"));
        assert_eq!((login.application.as_str(), login.database.as_str()), ("OSQL-32", ""));
        assert_eq!((login.password.as_str(), login.packet_bytes, login.token), ("", 4096, None));
    }
}
