//! Disks by their services, editions and names.

use crate::CatalogError;
use crate::catalog::Catalog;
use crate::disk::{DiskEdition, DiskLevel};

impl Catalog {
    /// All editions of services that sell disks, by service, then oldest first.
    pub fn disk_editions(&self) -> &[DiskEdition] {
        &self.disks
    }

    /// All disks of all editions, in the same order.
    pub fn disk_levels(&self) -> impl Iterator<Item = &DiskLevel> {
        self.disks.iter().flat_map(|edition| &edition.levels)
    }

    /// An edition of a disk service, case aside; without a name, the newest.
    ///
    /// # Errors
    /// [`CatalogError::UnknownService`] or [`CatalogError::UnknownEdition`], which list what there is of disks.
    pub fn disk_edition(&self, service: &str, name: Option<&str>) -> Result<&DiskEdition, CatalogError> {
        let editions = self.disk_editions_of(service)?;
        // Never empty.
        let Some(name) = name else { return Ok(editions[editions.len() - 1]) };
        editions.iter().find(|edition| edition.name.eq_ignore_ascii_case(name)).copied().ok_or_else(|| {
            let known = editions.iter().map(|edition| edition.name.clone()).collect();
            CatalogError::UnknownEdition { service: service.to_owned(), name: name.to_owned(), known }
        })
    }

    /// A disk by name or alias, case aside; without an edition, in the newest that has it.
    ///
    /// # Errors
    /// An unknown service, edition or level, or a level that the edition lacks; each lists what there is.
    pub fn disk(&self, service: &str, level: &str, edition: Option<&str>) -> Result<&DiskLevel, CatalogError> {
        let asked = edition.map(|name| self.disk_edition(service, Some(name))).transpose()?;
        let editions = self.disk_editions_of(service)?;
        let named = |edition: &&'_ DiskEdition| edition.levels.iter().any(|known| known.is_named(level));
        let having: Vec<_> = editions.iter().copied().filter(named).collect();
        let Some(newest) = having.last() else {
            let known = names(editions.iter().flat_map(|edition| &edition.levels));
            return Err(CatalogError::UnknownLevel { service: service.to_owned(), name: level.to_owned(), known });
        };
        let edition = asked.unwrap_or(newest);
        edition.levels.iter().find(|known| known.is_named(level)).ok_or_else(|| CatalogError::NotInEdition {
            service: service.to_owned(),
            edition: edition.name.clone(),
            level: level.to_owned(),
            known: names(edition.levels.iter()),
            elsewhere: having.iter().map(|edition| edition.name.clone()).collect(),
        })
    }

    /// The editions of a disk service, oldest first; never none.
    fn disk_editions_of(&self, service: &str) -> Result<Vec<&DiskEdition>, CatalogError> {
        let of_service = |edition: &&DiskEdition| edition.service.eq_ignore_ascii_case(service);
        let editions: Vec<_> = self.disks.iter().filter(of_service).collect();
        if editions.is_empty() {
            let mut known: Vec<_> = self.disks.iter().map(|edition| edition.service.clone()).collect();
            known.dedup();
            return Err(CatalogError::UnknownService { name: service.to_owned(), known });
        }
        Ok(editions)
    }
}

/// Each name once, in order.
fn names<'a>(levels: impl Iterator<Item = &'a DiskLevel>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for level in levels {
        if !names.contains(&level.name) {
            names.push(level.name.clone());
        }
    }
    names
}
