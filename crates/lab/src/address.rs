//! What a lab target's URL says: `lab:<service>/<level>[@<edition>][?options]`, or `lab:PATH.toml[?options]` for a
//! user's own hardware.
//!
//! | option | values | default |
//! |---|---|---|
//! | `clock` | `virtual`, `real` | `virtual` |
//! | `scale` | `1/64`, `1`: volumes and memory shrink by it, rates stay | `1/64` |
//! | `seed` | a whole number: latencies, neighbours, faults | 1 |
//! | `neighbour` | `on`, `off`: whether others disturb a level that is known to be disturbed | `on` |
//! | `file` | a path: files of our own go beside it and stay where data is kept | a temporary folder |
//! | `fault` | see [`Fault::FORMS`]; several with commas between | none |
//! | `size_gib`, `iops`, `mb_per_s` | what is wanted of a disk whose limits follow from its size or are bought apart | as the disk has it |

use std::path::{Path, PathBuf};

use plimsoll_catalog::DiskChoice;
use plimsoll_engine::{Error, ErrorKind, Result};

use crate::fault::Fault;

const OPTIONS: [&str; 9] = ["clock", "scale", "seed", "neighbour", "file", "fault", "size_gib", "iops", "mb_per_s"];

const LARGEST_SCALE: u64 = 4096;

/// Which hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A level of the catalogue.
    Level {
        service: String,
        level: String,
        /// The edition; the newest that has the level if `None`.
        edition: Option<String>,
    },
    File(PathBuf),
}

/// A parsed URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// Which hardware.
    pub subject: Subject,
    /// Whether time is virtual.
    pub is_virtual: bool,
    /// What volumes and memory are divided by.
    pub scale: u64,
    /// Seed of everything random.
    pub seed: u64,
    /// What is wanted of a disk.
    pub choice: DiskChoice,
    /// Whether others disturb a level.
    pub neighbour: bool,
    /// Where files go; a temporary folder if `None`.
    pub file: Option<PathBuf>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

impl Address {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Self> {
        let rest = url.split_once(':').map_or(url, |(_, rest)| rest);
        let (subject, query) = rest.split_once('?').map_or((rest, ""), |(subject, query)| (subject, query));
        let mut address = Self {
            subject: subject_of(subject)?,
            is_virtual: true,
            scale: 64,
            seed: 1,
            choice: DiskChoice::default(),
            neighbour: true,
            file: None,
            faults: Vec::new(),
        };
        let mut seen: Vec<&str> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if seen.contains(&name) {
                return Err(usage(format!("the option '{name}' is given twice")));
            }
            address.set(name, value)?;
            seen.push(name);
        }
        Ok(address)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let wrong =
            |expected: &str| usage(format!("{name} can't be '{value}'")).hint(format!("{name} takes {expected}"));
        let either = |yes: &str, no: &str| {
            [yes, no].contains(&value).then_some(value == yes).ok_or_else(|| wrong(&format!("{yes} or {no}")))
        };
        match name {
            "clock" => self.is_virtual = either("virtual", "real")?,
            "scale" => {
                let divisor =
                    if value == "1" { Some(1) } else { value.strip_prefix("1/").and_then(|n| n.parse().ok()) };
                self.scale = divisor
                    .filter(|divisor| (1..=LARGEST_SCALE).contains(divisor))
                    .ok_or_else(|| wrong("1, or 1/N with N up to 4096"))?;
            }
            "seed" => self.seed = value.parse().map_err(|_| wrong("a whole number"))?,
            _ if DiskChoice::NAMES.contains(&name) => self.choice.set(name, value).map_err(usage)?,
            "neighbour" => self.neighbour = either("on", "off")?,
            "file" if value.is_empty() => return Err(wrong("a path")),
            "file" => self.file = Some(PathBuf::from(value)),
            "fault" => {
                let faults =
                    value.split(',').map(|text| Fault::parse(text).map_err(|why| usage(format!("fault: {why}"))));
                self.faults = faults.collect::<Result<_>>()?;
            }
            _ => return Err(usage(format!("there is no option '{name}'")).hint(nearest(name))),
        }
        Ok(())
    }
}

fn subject_of(text: &str) -> Result<Subject> {
    let form = "write lab:azure-sql-db/S2, lab:azure-sql-db/S2@v12-ga-2015-01, or lab:my-hardware.toml";
    if Path::new(text).extension().is_some_and(|extension| extension == "toml") {
        return Ok(Subject::File(PathBuf::from(text)));
    }
    let (name, edition) = match text.rsplit_once('@') {
        Some((name, edition)) if !edition.is_empty() => (name, Some(edition.to_owned())),
        Some(_) => return Err(usage("nothing follows the '@' of the edition").hint(form)),
        None => (text, None),
    };
    match name.split_once('/') {
        Some((service, level)) if !service.is_empty() && !level.is_empty() => {
            Ok(Subject::Level { service: service.to_owned(), level: level.to_owned(), edition })
        }
        _ => Err(usage(format!("'{text}' names no service and level")).hint(form)),
    }
}

fn usage(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, message)
}

fn nearest(name: &str) -> String {
    let score = |candidate: &&&str| (strsim::jaro_winkler(name, candidate) * 1000.0) as u64;
    OPTIONS.iter().max_by_key(score).filter(|candidate| score(candidate) > 700).map_or_else(
        || format!("the options are {}", OPTIONS.join(", ")),
        |candidate| format!("did you mean '{candidate}'?"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_a_level_or_a_file() {
        let address =
            Address::parse("lab:azure-sql-db/S2@v12-ga-2015-01?clock=real&scale=1/16&seed=7&file=/tmp/x.db").unwrap();
        let level = |edition: Option<&str>| Subject::Level {
            service: "azure-sql-db".to_owned(),
            level: "S2".to_owned(),
            edition: edition.map(str::to_owned),
        };
        assert_eq!(address.subject, level(Some("v12-ga-2015-01")));
        assert_eq!((address.is_virtual, address.scale, address.seed), (false, 16, 7));
        assert_eq!(address.file, Some(PathBuf::from("/tmp/x.db")));
        let plain = Address::parse("lab:azure-sql-db/S2").unwrap();
        assert_eq!((plain.subject, plain.is_virtual, plain.scale, plain.file), (level(None), true, 64, None));
        assert_eq!(Address::parse("lab:a/b@c.toml").unwrap().subject, Subject::File(PathBuf::from("a/b@c.toml")));
    }

    #[test]
    fn nonsense_is_refused_with_what_would_be_right() {
        for bad in [
            "lab:",
            "lab:S2",
            "lab:/S2",
            "lab:azure-sql-db/",
            "lab:azure-sql-db/S2@",
            "lab:a/b?clock=sun",
            "lab:a/b?scale=0",
            "lab:a/b?scale=2",
            "lab:a/b?scale=1/0",
            "lab:a/b?scale=1/-4",
            "lab:a/b?scale=1/99999",
            "lab:a/b?seed=-1",
            "lab:a/b?neighbour=1",
            "lab:a/b?seed=1&seed=2",
            "lab:a/b?file=",
            "lab:a/b?fault=quake:3",
            "lab:a/b?speed=9",
        ] {
            assert_eq!(Address::parse(bad).unwrap_err().kind, ErrorKind::Usage, "{bad}");
        }
        assert_eq!(Address::parse("lab:a/b?skale=1/4").unwrap_err().hint.unwrap(), "did you mean 'scale'?");
    }
}
