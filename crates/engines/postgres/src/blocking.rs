//! The driver's asynchronous log-in over a blocking socket. TLS, passwords and channel binding are the driver's own in that
//! way, with its errors; only then do we take the line over. No runtime is needed, as nothing ever has to wait: what
//! would, blocks.

use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use plimsoll_engine::server::socket::Socket;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

/// A socket that is lent to the driver.
#[derive(Debug, Clone)]
pub(super) struct Lent(Arc<Mutex<Socket>>);

impl Lent {
    pub(super) fn new(socket: Socket) -> Self {
        Self(Arc::new(Mutex::new(socket)))
    }

    /// The socket, while nobody else uses it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Socket> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The socket itself, if it has been given back.
    pub(super) fn into_inner(self) -> Option<Socket> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsyncRead for Lent {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // TLS reads on while there is something, so the end of that has to be told from the end of patience.
        match self.lock().read_now(buffer.initialize_unfilled()) {
            Ok(count) => buffer.advance(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
            Err(error) => return Poll::Ready(Err(error)),
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Lent {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.lock().write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Runs to its end what waits for this socket only; an error if that takes too long.
pub(super) fn finish<T>(socket: &Lent, work: impl Future<Output = T>) -> io::Result<T> {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = work.as_mut().poll(&mut context) {
            return Ok(value);
        }
        socket.lock().wait()?;
    }
}

type Protected = <MakeRustlsConnect as MakeTlsConnect<Lent>>::Stream;

/// A line under TLS, of which the driver has one half and we the other.
#[derive(Clone)]
pub(super) struct Tls(Arc<Mutex<Protected>>);

impl Tls {
    fn with<T>(
        &self,
        work: impl FnOnce(Pin<&mut Protected>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(Pin::new(&mut *stream), &mut Context::from_waker(Waker::noop()))
    }

    pub(super) fn read(&self, socket: &Lent, buffer: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(buffer);
        finish(socket, poll_fn(|_| self.with(|stream, context| stream.poll_read(context, &mut buffer))))??;
        Ok(buffer.filled().len())
    }

    pub(super) fn write_all(&self, socket: &Lent, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let write = poll_fn(|_| self.with(|stream, context| stream.poll_write(context, bytes)));
            match finish(socket, write)?? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => bytes = &bytes[count..],
            }
        }
        finish(socket, poll_fn(|_| self.with(AsyncWrite::poll_flush)))?
    }
}

impl AsyncRead for Tls {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.with(|stream, context| stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for Tls {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(AsyncWrite::poll_shutdown)
    }
}

impl TlsStream for Tls {
    fn channel_binding(&self) -> ChannelBinding {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).channel_binding()
    }
}

/// Makes the TLS side of a line and keeps a half of it for us.
pub(super) struct Keeper {
    connect: <MakeRustlsConnect as MakeTlsConnect<Lent>>::TlsConnect,
    kept: Arc<Mutex<Option<Tls>>>,
}

impl Keeper {
    /// For a host of this name; our half appears in the second value if the server wants TLS.
    pub(super) fn new(tls: &MakeRustlsConnect, host: &str) -> (Self, Arc<Mutex<Option<Tls>>>) {
        let Ok(connect) = MakeTlsConnect::<Lent>::make_tls_connect(&mut tls.clone(), host);
        let kept = Arc::default();
        (Self { connect, kept: Arc::clone(&kept) }, kept)
    }
}

impl TlsConnect<Lent> for Keeper {
    type Stream = Tls;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Tls>> + Send>>;

    fn connect(self, stream: Lent) -> Self::Future {
        Box::pin(async move {
            let tls = Tls(Arc::new(Mutex::new(self.connect.connect(stream).await?)));
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(tls.clone());
            Ok(tls)
        })
    }
}
