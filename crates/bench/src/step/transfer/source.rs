//! A database that is moved, and what it becomes.

use plimsoll_engine::{Error, ErrorKind, Result, Transfer, Workspace, process};
use plimsoll_measurement::units;

use crate::dataset::{self, DatasetSpec};
use crate::step::context::{Keep, Target};
use crate::step::kind::contradiction;

/// A database among others, by the volume that its points tell it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Size {
    /// Its volume on a full target.
    pub bytes: u64,
    /// What is moved along with it, if that is more.
    pub along: Option<u64>,
}

impl Size {
    /// What people read: the size, if there are several, and the part.
    pub fn label(size: Option<&Self>, part: &str) -> String {
        let Some(Self { bytes, along }) = size else { return part.to_owned() };
        let along = along.map_or_else(String::new, |bytes| format!(" of {}", units::format_bytes(bytes)));
        format!("{}{along}: {part}", units::format_bytes(*bytes))
    }
}

/// Bytes of this machine's temporary folder that a backup leaves free: the server may have its files on the same disk.
pub(crate) const FREE_RESERVE: u64 = 256 << 20;

pub(crate) struct Source {
    /// Which it is, if there are several.
    pub size: Option<Size>,
    pub wanted: DatasetSpec,
    pub workspace: Workspace,
    pub target: Workspace,
    pub volume: u64,
    /// Content of all that is moved, and its pages: where an engine backs up whole servers, as much as these would have.
    pub content_bytes: u64,
    pub page_bytes: Option<u64>,
    /// Content and bytes of the database alone, where those are of all that its server has.
    pub own: Option<(u64, u64)>,
}

impl Source {
    /// Makes the database and fills it; `before_indexes` says that its pages count before it has those.
    pub fn fill(
        &mut self,
        target: &Target<'_>,
        keep: &mut Keep<'_>,
        transfer: &mut dyn Transfer,
        before_indexes: bool,
    ) -> Result<()> {
        transfer.make(&self.workspace)?;
        let empty = transfer.bytes(&self.workspace);
        let tables = dataset::load(target, keep, &self.workspace, self.wanted)?;
        self.content_bytes = tables.iter().map(|(_, row_summary)| row_summary.content_bytes).sum();
        self.page_bytes = if before_indexes {
            let (mut session, _watched) = target.session(&self.workspace)?;
            let mut pages = Some(0);
            for (table, _) in &tables {
                let size = session.table_size(table)?;
                pages = pages.zip(size).map(|(pages, size)| pages + size.table_bytes);
            }
            pages
        } else {
            transfer.bytes(&self.workspace).zip(empty).map(|(bytes, empty)| bytes.saturating_sub(empty))
        };
        self.page_bytes = self.page_bytes.filter(|bytes| *bytes > 0);
        keep.fact("tables", self.wanted.tables);
        keep.fact("content_bytes", self.content_bytes);
        Ok(())
    }

    /// The new database has to hold what this one does.
    pub fn verify(&self, target: &Target<'_>, keep: &mut Keep<'_>, workspace: &Workspace) -> Result<()> {
        keep.log.activity("comparing the new database with the first");
        match dataset::verify(target, keep, workspace, self.wanted)? {
            Some(_) => Ok(()),
            None => Err(contradiction("the new database does not hold what the first one does")),
        }
    }
}

/// A dump is made on this machine, where texts take more room than rows; so are backups.
pub(crate) fn guard_folder(what: &str, needed: u64) -> Result<()> {
    let folder = std::env::temp_dir();
    match process::free_bytes(&folder) {
        Some(free) if free < needed => Err(Error::new(
            ErrorKind::Safety,
            format!(
                "the {what} may take {}, and {} has only {} free",
                units::format_bytes(needed),
                folder.display(),
                units::format_bytes(free)
            ),
        )
        .hint("let TMPDIR name a folder with more room, or move less with --set volume=...")),
        _ => Ok(()),
    }
}
