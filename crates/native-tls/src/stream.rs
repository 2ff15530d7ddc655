//! A TLS connection over a stream that may say "not now": whatever could not be sent or read then is done at the next call.

use std::fmt;
use std::io::{self, Read, Write};

use rustls::ClientConnection;

use crate::certificate::Certificate;
use crate::error::{Error, Result};

/// A handshake that failed, or has to wait for its stream.
#[derive(Debug)]
pub enum HandshakeError<S> {
    /// It failed.
    Failure(Error),
    /// The stream would block; the handshake goes on from here.
    WouldBlock(MidHandshakeTlsStream<S>),
}

/// A handshake in the middle.
pub struct MidHandshakeTlsStream<S>(TlsStream<S>);

impl<S: Read + Write> MidHandshakeTlsStream<S> {
    pub(crate) fn new(connection: ClientConnection, stream: S) -> Self {
        Self(TlsStream { connection: Box::new(connection), stream })
    }

    /// Goes on.
    ///
    /// # Errors
    /// If it fails, or the stream would block again.
    pub fn handshake(mut self) -> std::result::Result<TlsStream<S>, HandshakeError<S>> {
        match self.0.shake_hands() {
            Ok(()) => Ok(self.0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(HandshakeError::WouldBlock(self)),
            Err(error) => Err(HandshakeError::Failure(error.into())),
        }
    }
}

impl<S> MidHandshakeTlsStream<S> {
    /// The stream beneath.
    pub const fn get_ref(&self) -> &S {
        &self.0.stream
    }

    /// The stream beneath.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.0.stream
    }
}

impl<S> fmt::Debug for MidHandshakeTlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MidHandshakeTlsStream").finish_non_exhaustive()
    }
}

/// An encrypted stream.
pub struct TlsStream<S> {
    connection: Box<ClientConnection>,
    stream: S,
}

impl<S> fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsStream").finish_non_exhaustive()
    }
}

impl<S> TlsStream<S> {
    /// The stream beneath.
    pub const fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream beneath.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The application protocol that both sides agreed on, if they did.
    pub fn negotiated_alpn(&self) -> Result<Option<Vec<u8>>> {
        Ok(self.connection.alpn_protocol().map(<[u8]>::to_vec))
    }

    /// The server's certificate.
    pub fn peer_certificate(&self) -> Result<Option<Certificate>> {
        Ok(self.connection.peer_certificates().and_then(<[_]>::first).map(Certificate::of))
    }
}

impl<S: Read + Write> TlsStream<S> {
    /// Sends and receives until both sides have what a handshake needs.
    fn shake_hands(&mut self) -> io::Result<()> {
        while self.connection.is_handshaking() {
            self.send()?;
            if self.connection.is_handshaking() {
                self.receive()?;
            }
        }
        // The last message of ours ends the handshake for the server.
        self.send()
    }

    /// Sends everything that waits to be sent.
    fn send(&mut self) -> io::Result<()> {
        self.send_waiting()?;
        self.stream.flush()
    }

    /// Like [`Self::send`], without a flush of the stream beneath.
    fn send_waiting(&mut self) -> io::Result<()> {
        while self.connection.wants_write() {
            if self.connection.write_tls(&mut self.stream)? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    /// Reads what is there and takes it apart; false at the end of the stream.
    fn receive(&mut self) -> io::Result<bool> {
        let read = self.connection.read_tls(&mut self.stream)?;
        if let Err(error) = self.connection.process_new_packets() {
            // The other side is told why, if it still listens.
            let _ = self.send();
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if read == 0 && self.connection.is_handshaking() {
            let why = "the connection was closed during the TLS handshake";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        Ok(read > 0)
    }

    /// Says goodbye and sends what is left.
    pub fn shutdown(&mut self) -> io::Result<()> {
        self.connection.send_close_notify();
        self.send()
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A server that hangs up without a word has ended the stream; TDS knows the ends of its messages itself.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                done => return done,
            }
            // An answer may depend on what we still have to send.
            if self.connection.wants_write() {
                self.send()?;
            }
            self.receive()?;
        }
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What was taken before goes out first, so that no more is held than one call brings.
        self.send_waiting()?;
        let taken = self.connection.writer().write(bytes)?;
        match self.send_waiting() {
            // It was taken: the next call, or a flush, sends the rest.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            sent => sent?,
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}
