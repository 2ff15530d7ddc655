//! Files of databases, as a list of them has them.

/// The database of temporary tables. Its files are on the instance's own disk, so no blob holds them.
pub const TEMPDB: &str = "tempdb";

/// Databases of the server itself, beside tempdb.
const SYSTEM: [&str; 3] = ["master", "model", "msdb"];

/// A file of a database.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseFile {
    /// The database.
    pub database: String,
    /// The file's logical name.
    pub name: String,
    /// What is in it.
    pub kind: FileKind,
    /// The filegroup that it belongs to, by name or number.
    pub filegroup: Option<String>,
    /// How large it is, in GB, whether that is used or not.
    pub size_gb: f64,
    /// How much of it is used, in GB.
    pub used_gb: Option<f64>,
    /// By how much it grows when it is full, in GB.
    pub growth_gb: Option<f64>,
    /// Reads and writes a second, at its busiest.
    pub iops: Option<f64>,
    /// MB read and written a second, at its busiest.
    pub mb_per_s: Option<f64>,
    /// MB written a second, at its busiest; absent where only both together are known.
    pub written_mb_per_s: Option<f64>,
    /// How long a read takes, in ms.
    pub read_ms: Option<f64>,
    /// How long a write takes, in ms.
    pub write_ms: Option<f64>,
    /// How often it was seen near one of its limits.
    pub at_limit: Option<AtLimit>,
    /// Whether it is the first data file of its database, which each has; by the ending of its path.
    pub is_primary: Option<bool>,
    /// The IOPS and MB/s that it is held to, by whoever made the list.
    pub said: [Option<f64>; 2],
}

/// Intervals in which a file was at 90 % of a limit or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLimit {
    /// So many.
    pub intervals: u64,
    /// Of so many; absent where that was not said.
    pub of: Option<u64>,
    /// In so many it did far more than the limit; absent where only the highest of all is known.
    pub above: Option<u64>,
}

/// What is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Rows.
    Data,
    /// The log.
    Log,
    /// What a server keeps in a folder, as tables in memory. Its size can't be set.
    Container,
}

/// Endings of paths whose content is known.
const ENDINGS: [(&str, FileKind); 4] =
    [("mdf", FileKind::Data), ("ndf", FileKind::Data), ("ldf", FileKind::Log), ("xtp", FileKind::Container)];

impl FileKind {
    /// What the ending of a path says; `None` where it says nothing.
    pub fn of_path(path: &str) -> Option<Self> {
        let (_, ending) = path.rsplit_once('.')?;
        ENDINGS.iter().find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|(_, kind)| *kind)
    }

    /// Whether the ending of a path is that of a database's first data file, or of another one; `None` where it is neither.
    pub fn is_primary(path: &str) -> Option<bool> {
        let (_, ending) = path.rsplit_once('.')?;
        let is = |known: &str| ending.eq_ignore_ascii_case(known);
        if is("mdf") { Some(true) } else { is("ndf").then_some(false) }
    }

    /// As lists have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Log => "log",
            Self::Container => "container",
        }
    }
}

impl DatabaseFile {
    /// Whether rates that are known of some of these files are known of all.
    pub fn have_rates_alike(files: &[&Self]) -> bool {
        let are_alike = |of: fn(&Self) -> Option<f64>| {
            let known = files.iter().filter(|file| of(file).is_some()).count();
            known == 0 || known == files.len()
        };
        are_alike(|file| file.iops) && are_alike(|file| file.mb_per_s)
    }

    /// A file of which nothing but its size is known.
    pub fn new(database: &str, name: &str, kind: FileKind, size_gb: f64) -> Self {
        Self {
            database: database.to_owned(),
            name: name.to_owned(),
            kind,
            filegroup: None,
            size_gb,
            used_gb: None,
            growth_gb: None,
            iops: None,
            mb_per_s: None,
            written_mb_per_s: None,
            read_ms: None,
            write_ms: None,
            at_limit: None,
            is_primary: None,
            said: [None; 2],
        }
    }

    /// MB a second by which a log grew, at its busiest: what was written, or else all that it is known to have done.
    pub fn grew_mb_per_s(&self) -> Option<f64> {
        self.written_mb_per_s.or(self.mb_per_s)
    }

    /// Database and file, as sentences name it: `shop.data1`.
    pub fn label(&self) -> String {
        format!("{}.{}", self.database, self.name)
    }

    /// Whether it holds temporary tables.
    pub fn is_of_tempdb(&self) -> bool {
        self.database.eq_ignore_ascii_case(TEMPDB)
    }

    /// Whether it is of one of the server's own databases, tempdb left out.
    pub fn is_of_system(&self) -> bool {
        SYSTEM.iter().any(|name| self.database.eq_ignore_ascii_case(name))
    }

    /// Whether it is of the database of which new ones are copies.
    pub fn is_of_model(&self) -> bool {
        self.database.eq_ignore_ascii_case("model")
    }

    /// Whether both are of one database.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.database.eq_ignore_ascii_case(&other.database)
    }
}
