//! The bytes of a connection: over a socket as they are, or under TLS from some moment on.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::socket::Socket;

/// A socket with or without TLS.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

impl Stream {
    /// Without TLS.
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    /// The socket beneath.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The socket, where bytes go over it as they are.
    pub fn plain(&mut self) -> Option<&mut Socket> {
        if self.tls.is_none() { Some(&mut self.socket) } else { None }
    }

    /// From here on under TLS. A caller that has read more than was asked for has to refuse that: it may be anybody's.
    pub fn protect(&mut self, config: &Arc<ClientConfig>, host: &str) -> io::Result<()> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut self.socket)?;
        }
        self.tls = Some(Box::new(connection));
        Ok(())
    }

    /// True under TLS.
    pub fn is_protected(&self) -> bool {
        self.tls.is_some()
    }

    /// The certificate that the server has shown.
    pub fn certificate(&self) -> Option<&[u8]> {
        Some(self.tls.as_ref()?.peer_certificates()?.first()?)
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.socket).read(buffer),
            None => self.socket.read(buffer),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.socket).write(bytes),
            None => self.socket.write(bytes),
        }
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => rustls::Stream::new(tls.as_mut(), &mut self.socket).flush(),
            None => Ok(()),
        }
    }
}
