//! What connections of a server share: how it behaves, and what it was asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;

use super::login::LoginRequest;
use super::packet::Cutting;
use super::request::Request;
use super::token::{Refusal, Reply};
use super::types::Column;
use crate::grammar::Grammar;

/// What of the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing; the server can't.
    None,
    /// The log-in.
    LoginOnly,
    /// Everything from the log-in on.
    Full,
    /// Everything from the first byte on (TDS 8.0).
    Strict,
}

/// What becomes of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attention {
    /// It is confirmed at once.
    Confirmed,
    /// It is confirmed after a while.
    Late(Duration),
    /// Nobody hears it.
    Ignored,
}

pub(super) type Admission = dyn Fn(&LoginRequest) -> Result<(), Refusal> + Send + Sync;
pub(super) type Routes = dyn Fn(&LoginRequest) -> Option<(String, u16)> + Send + Sync;
pub(super) type Script = dyn Fn(&Request, &LoginRequest) -> Reply + Send + Sync;
pub(super) type Tables = dyn Fn(&str) -> Option<Vec<Column>> + Send + Sync;

/// How a server behaves.
pub(super) struct Settings {
    pub(super) encryption: Encryption,
    pub(super) attention: Attention,
    pub(super) cutting: Cutting,
    pub(super) admission: Box<Admission>,
    pub(super) tables: Box<Tables>,
    pub(super) routes: Box<Routes>,
    pub(super) forgets: bool,
    pub(super) stalls_loads: bool,
    /// What texts are held against; nothing for a server that takes any.
    pub(super) grammar: Option<Arc<Grammar>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            encryption: Encryption::None,
            attention: Attention::Confirmed,
            cutting: Cutting::PLAIN,
            admission: Box::new(|_| Ok(())),
            tables: Box::new(|_| None),
            routes: Box::new(|_| None),
            forgets: false,
            stalls_loads: false,
            grammar: None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Record {
    pub(super) requests: Vec<Request>,
    pub(super) logins: Vec<LoginRequest>,
    pub(super) attentions: usize,
    pub(super) server_errors: Vec<String>,
    /// Texts that the grammar refused, each with what is wrong with it.
    pub(super) refused: Vec<String>,
}

pub(super) fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) script: Box<Script>,
    pub(super) record: Arc<Mutex<Record>>,
}
