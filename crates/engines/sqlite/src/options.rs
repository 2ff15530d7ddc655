//! What a target's URL says: the path, and SQLite's pragmas for our sessions.

use std::path::Path;

use plimsoll_engine::error::{Error, ErrorKind, Result};
use rusqlite::Connection;

const NAMES: [&str; 5] = ["cache_size", "journal_mode", "mmap_size", "page_size", "synchronous"];

/// The largest map that SQLite makes (its compile-time limit `SQLITE_MAX_MMAP_SIZE`).
const MAX_MMAP_BYTES: u64 = 0x7fff_0000;

const DEFAULT_PAGE_BYTES: u64 = 4096;

/// How a transaction is made to be all or nothing: SQLite's names of the ways.
const JOURNAL_MODES: [&str; 6] = [WAL, DELETE, "truncate", "persist", "memory", "off"];
pub(super) const WAL: &str = "wal";
pub(super) const DELETE: &str = "delete";

/// True if a file survives the death of a process in the midst of a transaction.
pub(super) fn survives_a_kill(journal_mode: &str) -> bool {
    !matches!(journal_mode, "memory" | "off")
}

/// The names of SQLite's `synchronous` levels; a level's number is its position.
const SYNCHRONOUS: [&str; 4] = ["off", "normal", "full", "extra"];

/// The pragmas of our sessions. `None` is SQLite's own default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) page_bytes: u64,
    pub(super) journal_mode: &'static str,
    pub(super) cache_size: Option<i32>,
    pub(super) synchronous: &'static str,
    pub(super) mmap_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { page_bytes: DEFAULT_PAGE_BYTES, journal_mode: WAL, cache_size: None, synchronous: "full", mmap_bytes: 0 }
    }
}

/// Splits a URL into the path and the options.
pub(super) fn parse(url: &str) -> Result<(&Path, Options)> {
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest);
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let path = match path.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => {
            return Err(usage("two slashes after 'sqlite:' must be followed by an absolute path")
                .hint("write sqlite:PATH, or sqlite:///absolute/path"));
        }
        None => path,
    };
    if path.is_empty() {
        return Err(usage("the target names no file").hint("write sqlite:PATH"));
    }
    let mut options = Options::default();
    let mut seen: Vec<&str> = Vec::new();
    for pair in query.iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if seen.contains(&name) {
            return Err(usage(format!("the option '{name}' is given twice")));
        }
        options.set(name, value)?;
        seen.push(name);
    }
    Ok((Path::new(path), options))
}

impl Options {
    /// SQLite's defaults, but for the size of a page.
    pub(super) fn with_pages(page_bytes: u64) -> Self {
        Self { page_bytes, ..Self::default() }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong =
            |expected: &str| usage(format!("{name} can't be '{value}'")).hint(format!("{name} takes {expected}"));
        match name {
            "cache_size" => {
                let size = value.parse().ok().filter(|size| *size != 0 && *size != i32::MIN);
                self.cache_size =
                    Some(size.ok_or_else(|| wrong("a number of pages, or a negative number of KiB, but not 0"))?);
            }
            "page_size" => {
                let size: Option<u64> = value.parse().ok();
                self.page_bytes = size
                    .filter(|size| size.is_power_of_two() && (512..=65_536).contains(size))
                    .ok_or_else(|| wrong("a power of two from 512 to 65536"))?;
            }
            "journal_mode" => {
                let mode = JOURNAL_MODES.into_iter().find(|mode| mode.eq_ignore_ascii_case(value));
                self.journal_mode = mode.ok_or_else(|| wrong("wal, delete, truncate, persist, memory or off"))?;
            }
            "synchronous" => {
                let number = value.parse().ok().and_then(|number: usize| SYNCHRONOUS.get(number).copied());
                let level = number.or_else(|| SYNCHRONOUS.into_iter().find(|level| level.eq_ignore_ascii_case(value)));
                self.synchronous = level.ok_or_else(|| wrong("off, normal, full or extra"))?;
            }
            "mmap_size" => {
                let bytes = value.parse().ok().filter(|bytes| *bytes <= MAX_MMAP_BYTES);
                self.mmap_bytes = bytes.ok_or_else(|| wrong(&format!("bytes from 0 to {MAX_MMAP_BYTES}")))?;
            }
            _ => return Err(usage(format!("there is no option '{name}'")).hint(nearest(name))),
        }
        Ok(())
    }

    /// Gives a connection its pragmas, all but the page size and the journal mode, which belong to the file.
    pub(super) fn apply(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.pragma_update(None, "temp_store", "memory")?;
        connection.pragma_update(None, "synchronous", self.synchronous)?;
        connection.pragma_update(None, "mmap_size", self.mmap_bytes as i64)?;
        if let Some(size) = self.cache_size {
            connection.pragma_update(None, "cache_size", size)?;
        }
        Ok(())
    }
}

/// Sets the journal mode and says whether the file has it now: SQLite keeps the old mode where it can't change it.
pub(super) fn set_journal_mode(connection: &Connection, mode: &str) -> rusqlite::Result<bool> {
    let actual: String = connection.pragma_update_and_check(None, "journal_mode", mode, |row| row.get(0))?;
    Ok(actual.eq_ignore_ascii_case(mode))
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

fn nearest(name: &str) -> String {
    let distance = |candidate: &&&str| (strsim::jaro_winkler(name, candidate) * 1000.0) as u64;
    NAMES.iter().max_by_key(distance).filter(|candidate| distance(candidate) > 700).map_or_else(
        || format!("the options are {}", NAMES.join(", ")),
        |candidate| format!("did you mean '{candidate}'?"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_in_three_forms() {
        for (url, path) in [
            ("sqlite:file.db", "file.db"),
            ("sqlite:some dir/file.db?cache_size=9", "some dir/file.db"),
            ("sqlite:/a/b.db", "/a/b.db"),
            ("sqlite:///a/b.db", "/a/b.db"),
        ] {
            assert_eq!(parse(url).unwrap().0, Path::new(path), "{url}");
        }
        for bad in ["sqlite://a/b.db", "sqlite:?cache_size=1", "sqlite://"] {
            assert_eq!(parse(bad).unwrap_err().kind, ErrorKind::Usage, "{bad}");
        }
    }

    #[test]
    fn options_are_the_pragmas() {
        let url = "sqlite:f?cache_size=-64&page_size=8192&journal_mode=TRUNCATE&synchronous=1&mmap_size=1048576";
        let (_, options) = parse(url).unwrap();
        assert_eq!(options.cache_size, Some(-64));
        assert_eq!(options.page_bytes, 8192);
        assert_eq!(options.journal_mode, "truncate");
        assert_eq!(options.synchronous, "normal");
        assert_eq!(options.mmap_bytes, 1 << 20);
        assert_eq!(parse("sqlite:f").unwrap().1, Options::default());
        assert_eq!(Options::default().synchronous, "full");
    }

    #[test]
    fn impossible_values_are_refused() {
        for bad in [
            "cache_size=0",
            "cache_size=many",
            "page_size=1000",
            "page_size=256",
            "page_size=131072",
            "journal_mode=none",
            "synchronous=4",
            "synchronous=",
            "mmap_size=-1",
            "mmap_size=9999999999",
            "cache_size=1&cache_size=2",
        ] {
            let error = parse(&format!("sqlite:f?{bad}")).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{bad}");
        }
    }

    #[test]
    fn an_unknown_option_brings_the_nearest_name() {
        let error = parse("sqlite:f?cachesize=5").unwrap_err();
        assert_eq!(error.message, "there is no option 'cachesize'");
        assert_eq!(error.hint.unwrap(), "did you mean 'cache_size'?");
        assert!(parse("sqlite:f?zzz=5").unwrap_err().hint.unwrap().starts_with("the options are cache_size,"));
    }
}
