//! Instances by their services and days.

use crate::catalog::Catalog;
use crate::instance::InstanceEdition;
use crate::{CatalogError, Date};

impl Catalog {
    /// All editions of services of instances, by service, then oldest first.
    pub fn instance_editions(&self) -> &[InstanceEdition] {
        &self.instances
    }

    /// The edition of a service that stood on a day; without one, the newest.
    ///
    /// # Errors
    /// [`CatalogError::UnknownService`], or [`CatalogError::BeforeEditions`] for an earlier day than the oldest edition's.
    pub fn instances_on(&self, service: &str, day: Option<Date>) -> Result<&InstanceEdition, CatalogError> {
        let all: Vec<_> = self.instances.iter().filter(|edition| edition.service == service).collect();
        let [oldest, ..] = all.as_slice() else {
            let known = self.instances.iter().map(|edition| edition.service.clone()).collect();
            return Err(CatalogError::UnknownService { name: service.to_owned(), known });
        };
        let stood = all.iter().rev().find(|edition| day.is_none_or(|day| edition.as_of <= day));
        stood.copied().ok_or_else(|| CatalogError::BeforeEditions {
            service: service.to_owned(),
            oldest: oldest.as_of.to_string(),
        })
    }
}
