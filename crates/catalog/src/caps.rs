//! Limits that disks share, by their services, editions and names.

use crate::CatalogError;
use crate::cap::{CapAt, CapEdition};
use crate::catalog::Catalog;

impl Catalog {
    /// All editions of services whose limits disks share, by service, then oldest first.
    pub fn cap_editions(&self) -> &[CapEdition] {
        &self.caps
    }

    /// All sizes of all editions, in the same order.
    pub fn caps(&self) -> impl Iterator<Item = CapAt<'_>> {
        self.caps.iter().flat_map(|edition| {
            let sizes = edition.classes.iter().flat_map(|class| class.sizes.iter().map(move |size| (class, size)));
            sizes.map(move |(class, size)| CapAt { edition, class, size })
        })
    }

    /// A machine's size or a kind of account by name, case aside, in the newest edition that has it: `cap("azure-vm", "E8bds_v5")`.
    ///
    /// # Errors
    /// [`CatalogError::UnknownService`] or [`CatalogError::UnknownLevel`], which list what there is.
    pub fn cap(&self, service: &str, name: &str) -> Result<CapAt<'_>, CatalogError> {
        let of_service: Vec<_> = self.caps().filter(|at| at.edition.service.eq_ignore_ascii_case(service)).collect();
        if of_service.is_empty() {
            let mut known: Vec<_> = self.caps.iter().map(|edition| edition.service.clone()).collect();
            known.dedup();
            return Err(CatalogError::UnknownService { name: service.to_owned(), known });
        }
        let named = of_service.iter().rev().find(|at| at.size.is_named(name)).copied();
        named.ok_or_else(|| {
            let known = of_service.iter().map(|at| at.size.name.clone()).collect();
            CatalogError::UnknownLevel { service: service.to_owned(), name: name.to_owned(), known }
        })
    }
}
