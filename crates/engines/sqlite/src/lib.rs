//! SQLite: a file of our own beside the one that the target names, on the same disk.
//!
//! A target is `sqlite:PATH[?option=value&...]`, relative or absolute, or `sqlite:///absolute/path`. PATH itself is
//! never created and never opened for writing, unless `plimsoll watch` is told to save there; it need not exist. A place is the file `PATH.<workspace>.db` with SQLite's
//! own companions, and `PATH.<workspace>.lock` carries its lease.
//!
//! Options are SQLite's own pragmas and hold for every session:
//!
//! | option | values | default |
//! |---|---|---|
//! | `cache_size` | pages, or KiB if negative; not 0 | SQLite's: -2000 |
//! | `page_size` | a power of two from 512 to 65536 | SQLite's: 4096 |
//! | `journal_mode` | `wal`, `delete`, `truncate`, `persist`, `memory`, `off` | `wal` |
//! | `synchronous` | `off`, `normal`, `full`, `extra` (or 0 to 3) | `full` |
//! | `mmap_size` | bytes | SQLite's: 0 |
//!
//! Everything else stays as SQLite has it, temporary tables excepted: they are held in memory, because the source of a
//! chunked write must come from there (see [`SqliteDialect`]).
//!
//! SQLite's numbers know no NaN (it becomes NULL) and no negative zero (it becomes zero); binding a NaN is an error here.

mod counted;
mod database;
mod describe;
mod dialect;
mod errors;
mod existing;
mod files;
mod lease;
mod load;
mod location;
pub mod modelled;
mod native;
mod options;
mod owner;
mod places;
mod saving;
mod self_test;
mod session;
mod statements;
mod texts;
mod transfer;
mod tree;
mod values;

use std::path::PathBuf;
use std::sync::Arc;

use plimsoll_clock::Clock;

pub use dialect::SqliteDialect;
pub use files::SqliteDatabase;

use plimsoll_engine::{Credentials, Database, Engine, Notation, Result, Target};

/// The engine in this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sqlite;

/// The file that a target names.
///
/// # Errors
/// What is wrong with the URL.
pub fn file_of(target: &Target) -> Result<PathBuf> {
    options::parse(target.url().expose()).map(|(path, _)| path.to_owned())
}

impl Engine for Sqlite {
    fn products(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    fn notation(&self) -> Notation {
        Notation {
            schemes: self.schemes(),
            is_path: true,
            shown: "cache_size journal_mode mmap_size page_size synchronous",
            pairs: None,
        }
    }

    fn open(&self, target: &Target, credentials: &Credentials, clock: Arc<dyn Clock>) -> Result<Box<dyn Database>> {
        Ok(Box::new(SqliteDatabase::open(target.url().expose(), clock)?.noting(&credentials.intents)))
    }
}
