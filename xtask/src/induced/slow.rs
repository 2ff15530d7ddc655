//! Delays of a server's calls on its files, by the role of the file: a library that is loaded before the server's own (`slow.c`).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use super::causes::Means;
use super::limits::ran;

/// Bytes that the library maps.
const MAPPED_BYTES: u64 = 4096;
/// Roles of files and kinds of calls, as the library counts them.
const NUMBERS: usize = 1 + 4 * 3;

/// The library, and the file from which it reads its delays.
pub struct Slow {
    folder: tempfile::TempDir,
    delays: File,
}

impl Slow {
    /// Compiles it. An error says what this machine does not let us do.
    pub fn make() -> Result<Self, String> {
        let said = |error: std::io::Error| format!("no library for delays: {error}");
        let folder = tempfile::tempdir().map_err(said)?;
        ran(Command::new("chmod").arg("755").arg(folder.path()))?;
        let source = folder.path().join("slow.c");
        fs::write(&source, include_str!("slow.c")).map_err(said)?;
        let library = folder.path().join("slow.so");
        ran(Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl"))?;
        let path = folder.path().join("delays");
        let delays = File::create(&path).map_err(said)?;
        delays.set_len(MAPPED_BYTES).map_err(said)?;
        ran(Command::new("chmod").arg("644").arg(&path))?;
        Ok(Self { folder, delays })
    }

    /// Variables of the environment in which a server is slowed.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        let path = |name: &str| -> PathBuf { self.folder.path().join(name) };
        [("LD_PRELOAD", path("slow.so").display().to_string()), ("PLIMSOLL_SLOW", path("delays").display().to_string())]
    }

    /// The delays that count from now on.
    pub fn set(&self, means: &Means) -> Result<(), String> {
        let us = |ms: Option<f64>| (ms.unwrap_or(0.0) * 1e3) as u32;
        let temporary = us(means.temporary_ms);
        let delays = [
            [us(means.data_read_ms), us(means.data_write_ms), 0],
            [0, us(means.log_write_ms), us(means.log_sync_ms)],
            [0, 0, us(means.binary_log_sync_ms)],
            [temporary, temporary, 0],
        ];
        let mut numbers = vec![u32::from(delays.as_flattened().iter().any(|us| *us > 0))];
        numbers.extend(delays.as_flattened());
        debug_assert_eq!(numbers.len(), NUMBERS);
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.delays.write_all_at(&bytes, 0).map_err(|error| format!("delays can't be set: {error}"))
    }
}
