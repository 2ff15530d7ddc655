//! A peer between client and server that takes time, lets only so many bytes a second through, or only so many requests at a time.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are passed on at once.
const PORTION: usize = 16 * 1024;

/// What it does to what passes.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// For each portion in one direction.
    pub delay: Duration,
    /// Of both directions together.
    pub bytes_per_s: Option<f64>,
    /// Requests under way at the server.
    pub pool: Option<u32>,
}

/// The peer. It stops to listen when it is dropped; connections end with their client.
pub struct Proxy {
    port: u16,
    ended: Arc<AtomicBool>,
}

/// What all connections share.
struct Way {
    manner: Manner,
    /// When what is under way has passed.
    free_at: Mutex<Instant>,
    /// Requests that may still go to the server.
    places: Mutex<u32>,
    left: Condvar,
}

impl Proxy {
    /// In front of the server at this port of the loopback interface.
    pub fn start(server: u16, manner: Manner) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let places = manner.pool.unwrap_or(u32::MAX);
        let way = Arc::new(Way {
            manner,
            free_at: Mutex::new(Instant::now()),
            places: Mutex::new(places),
            left: Condvar::new(),
        });
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let way = Arc::clone(&way);
                // Whoever goes ends the threads of his own connection.
                thread::spawn(move || drop(way.serve(client, server)));
            }
        });
        Ok(Self { port, ended })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // The one that listens sees it then.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Way {
    fn serve(self: Arc<Self>, client: TcpStream, server: u16) -> io::Result<()> {
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server))?;
        for side in [&client, &server] {
            side.set_nodelay(true)?;
        }
        // Whether this connection has a place at the server.
        let has_place = Arc::new(Mutex::new(false));
        let (way, place) = (Arc::clone(&self), Arc::clone(&has_place));
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        let requests = thread::spawn(move || {
            let done = way.pass(&mut from, &mut to, || way.enter(&place));
            let _ = to.shutdown(Shutdown::Both);
            done
        });
        let (mut from, mut to) = (server, client);
        let done = self.pass(&mut from, &mut to, || self.leave(&has_place));
        let _ = to.shutdown(Shutdown::Both);
        let _ = requests.join();
        self.leave(&has_place);
        done
    }

    fn pass(&self, from: &mut TcpStream, to: &mut TcpStream, before: impl Fn()) -> io::Result<()> {
        let mut portion = vec![0; PORTION];
        loop {
            let count = from.read(&mut portion)?;
            if count == 0 {
                return Ok(());
            }
            before();
            if let Some(rate) = self.manner.bytes_per_s {
                let takes = Duration::from_secs_f64(count as f64 / rate);
                let until = {
                    let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
                    *free_at = (*free_at).max(Instant::now()) + takes;
                    *free_at
                };
                thread::sleep(until.saturating_duration_since(Instant::now()));
            }
            thread::sleep(self.manner.delay);
            to.write_all(&portion[..count])?;
        }
    }

    /// A request gets a place at the server. The parts of a request share one.
    fn enter(&self, has_place: &Mutex<bool>) {
        if *has_place.lock().unwrap_or_else(PoisonError::into_inner) {
            return;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        while *places == 0 {
            places = self.left.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
        *places -= 1;
        *has_place.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Its answer gives the place back.
    fn leave(&self, has_place: &Mutex<bool>) {
        let mut has_place = has_place.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *has_place) {
            *self.places.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            self.left.notify_one();
        }
    }
}
