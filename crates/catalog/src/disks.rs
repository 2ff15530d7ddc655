//! Disks by their services, editions and names.

use crate::catalog::Catalog;
use crate::disk::{DiskClass, DiskEdition, DiskLevel};
use crate::disk_parse::disk_level;
use crate::provisioned::{DiskChoice, Provisioned};
use crate::{CatalogError, Date};

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

    /// The edition of a disk service that stood on a day; without one, the newest.
    ///
    /// # Errors
    /// [`CatalogError::UnknownService`], or [`CatalogError::BeforeEditions`] for an earlier day than the oldest edition's.
    pub fn disks_on(&self, service: &str, day: Option<Date>) -> Result<&DiskEdition, CatalogError> {
        let editions = self.disk_editions_of(service)?;
        let stood = editions.iter().rev().find(|edition| day.is_none_or(|day| edition.as_of <= day));
        stood.copied().ok_or_else(|| CatalogError::BeforeEditions {
            service: service.to_owned(),
            oldest: editions[0].as_of.to_string(),
        })
    }

    /// A disk by name or alias, case aside; without an edition, in the newest that has it. Where its limits follow from its size, or are
    /// bought apart, `choice` says what was chosen.
    ///
    /// # Errors
    /// An unknown service, edition or level, or a level that the edition lacks; each lists what there is.
    /// [`CatalogError::NoSuchDisk`] for what such a disk can't have.
    pub fn disk(
        &self,
        service: &str,
        level: &str,
        edition: Option<&str>,
        choice: DiskChoice,
    ) -> Result<DiskLevel, CatalogError> {
        let asked = edition.map(|name| self.disk_edition(service, Some(name))).transpose()?;
        let editions = self.disk_editions_of(service)?;
        let having: Vec<_> = editions.iter().copied().filter(|edition| edition.has(level)).collect();
        let Some(newest) = having.last() else {
            let known = names(&editions);
            return Err(CatalogError::UnknownLevel { service: service.to_owned(), name: level.to_owned(), known });
        };
        let edition = asked.unwrap_or(newest);
        if !edition.has(level) {
            return Err(CatalogError::NotInEdition {
                service: service.to_owned(),
                edition: edition.name.clone(),
                level: level.to_owned(),
                known: names(&[edition]),
                elsewhere: having.iter().map(|edition| edition.name.clone()).collect(),
            });
        }
        let fixed = edition.levels.iter().find(|known| known.is_named(level));
        let ruled = edition.classes.iter().find_map(|class| class.rule(level).map(|rule| (class, rule)));
        let refused = |problem| CatalogError::NoSuchDisk { disk: format!("{service}/{level}"), problem };
        match (fixed, ruled) {
            (Some(fixed), _) if choice == DiskChoice::default() => Ok(fixed.clone()),
            (_, Some((class, rule))) => {
                let limits = rule.limits(choice).map_err(refused)?;
                Ok(disk_level(edition, class, &rule.name, &rule.aliases, limits))
            }
            _ => Err(refused("its limits are fixed, so size_gib, iops and mb_per_s can't be chosen".to_owned())),
        }
    }

    /// A disk as people write it: `SERVICE/NAME`, with `@EDITION` and `?iops=14740&mb_per_s=313` where they are needed.
    ///
    /// # Errors
    /// Those of [`Catalog::disk`], and [`CatalogError::NoSuchDisk`] for a text of another form.
    pub fn disk_as(&self, text: &str) -> Result<DiskLevel, CatalogError> {
        let refused = |problem: String| CatalogError::NoSuchDisk { disk: text.to_owned(), problem };
        let (name, query) = text.split_once('?').unwrap_or((text, ""));
        let (name, edition) = name.rsplit_once('@').map_or((name, None), |(name, edition)| (name, Some(edition)));
        let (service, level) =
            name.split_once('/').ok_or_else(|| refused("a disk is written SERVICE/NAME".to_owned()))?;
        let mut choice = DiskChoice::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            choice.set(name, value).map_err(refused)?;
        }
        self.disk(service, level, edition, choice)
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

impl DiskEdition {
    fn has(&self, name: &str) -> bool {
        self.levels.iter().any(|known| known.is_named(name))
            || self.classes.iter().any(|class| class.rule(name).is_some())
    }
}

impl DiskClass {
    /// The rule for disks of this name.
    fn rule(&self, name: &str) -> Option<&Provisioned> {
        self.provisioned.as_ref().filter(|rule| rule.is_named(name))
    }
}

/// Each name once, in order.
fn names(editions: &[&DiskEdition]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for edition in editions {
        let levels = edition.levels.iter().map(|level| &level.name);
        let rules = edition.classes.iter().filter_map(|class| class.provisioned.as_ref()).map(|rule| &rule.name);
        for name in levels.chain(rules) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}
