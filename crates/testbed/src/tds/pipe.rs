//! What carries the messages: a socket as it is, or TLS on it. The TLS handshake is wrapped into packets (MS-TDS
//! 2.2.6.5) or not.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::packet::{HEADER_BYTES, kind};
use crate::TestbedError;

/// A certificate of a server, which it has signed itself, and the key to it.
#[derive(Debug)]
pub struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Makes a certificate for a host in a folder, by the program `openssl`; `certificate.pem` stays there.
    pub fn make(host: &str, folder: &Path) -> Result<Self, TestbedError> {
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        let mut openssl = Command::new("openssl");
        openssl
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"])
            .arg(format!("/CN={host}"));
        openssl
            .args(["-addext", &format!("subjectAltName=DNS:{host}"), "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate);
        let failed = |what: String| TestbedError::io("make a certificate")(io::Error::other(what));
        let output = openssl.output().map_err(TestbedError::io("start openssl"))?;
        if !output.status.success() {
            return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(Self {
            certificate: CertificateDer::from_pem_file(&certificate).map_err(|error| failed(error.to_string()))?,
            key: PrivateKeyDer::from_pem_file(&key).map_err(|error| failed(error.to_string()))?,
        })
    }

    /// The server's side of TLS with it. TDS 8 names its protocol; before that there is no TLS 1.3, because its server
    /// speaks on after the handshake.
    ///
    /// # Errors
    /// If TLS can't be set up.
    pub fn config(&self, is_strict: bool) -> Result<Arc<ServerConfig>, TestbedError> {
        let failed = |error: rustls::Error| TestbedError::io("set up TLS")(io::Error::other(error));
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let versions = if is_strict { rustls::DEFAULT_VERSIONS } else { &[&rustls::version::TLS12] };
        let builder = builder.with_protocol_versions(versions).map_err(failed)?;
        let chain = vec![self.certificate.clone()];
        let mut config = builder.with_no_client_auth().with_single_cert(chain, self.key.clone_key()).map_err(failed)?;
        config.alpn_protocols = vec![b"tds/8.0".to_vec()];
        Ok(Arc::new(config))
    }
}

/// A socket that wraps what goes over it into PRELOGIN packets for as long as it is told to.
#[derive(Debug)]
pub(crate) struct Wrapped {
    socket: TcpStream,
    wraps: bool,
    /// Bytes of the packet at hand that have not been read.
    left: usize,
}

impl Read for Wrapped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.wraps {
            return self.socket.read(buffer);
        }
        if self.left == 0 {
            let mut header = [0; HEADER_BYTES];
            self.socket.read_exact(&mut header)?;
            self.left = usize::from(u16::from_be_bytes([header[2], header[3]])).saturating_sub(HEADER_BYTES);
        }
        let most = buffer.len().min(self.left);
        let read = self.socket.read(&mut buffer[..most])?;
        self.left -= read;
        Ok(read)
    }
}

impl Write for Wrapped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.wraps {
            return self.socket.write(bytes);
        }
        let taken = &bytes[..bytes.len().min(4096 - HEADER_BYTES)];
        let mut packet = vec![kind::PRELOGIN, 1];
        packet.extend_from_slice(&((taken.len() + HEADER_BYTES) as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 1, 0]);
        packet.extend_from_slice(taken);
        self.socket.write_all(&packet)?;
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

pub(crate) enum Pipe {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, Wrapped>>),
}

impl Pipe {
    /// Shakes hands over a socket.
    pub(crate) fn secure(socket: TcpStream, config: &Arc<ServerConfig>, wraps: bool) -> io::Result<Self> {
        let mut connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut wrapped = Wrapped { socket, wraps, left: 0 };
        while connection.is_handshaking() {
            connection.complete_io(&mut wrapped)?;
        }
        while connection.wants_write() {
            connection.write_tls(&mut wrapped)?;
        }
        wrapped.wraps = false;
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, wrapped))))
    }

    /// The socket beneath.
    pub(crate) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock.socket,
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
