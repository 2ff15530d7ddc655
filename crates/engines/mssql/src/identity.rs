//! Who a server says that it is.

use plimsoll_engine::Row;

use super::control::{text_of, whole};
use super::sql::Product;

/// What [`super::sql::IDENTITY`] answered. Every value may be missing on a server that only speaks the language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    /// `16.0.1000.6`.
    version: Option<String>,
    /// `Developer Edition (64-bit)`.
    pub(super) edition_name: Option<String>,
    /// Its number for kinds of servers.
    engine_edition: Option<i64>,
    pub(super) product: Product,
    /// True for a server of Microsoft's; others speak the language.
    pub(super) is_microsoft: bool,
    /// What it calls itself.
    pub(super) about: String,
    pub(super) server: Option<String>,
    pub(super) database: Option<String>,
}

impl Identity {
    pub(super) fn of(row: Option<&Row>) -> Self {
        let stated = |index: usize| row.and_then(|row| text_of(row, index));
        let engine_edition = row.and_then(|row| whole(row, 2));
        let about = stated(3).unwrap_or_default();
        Self {
            version: stated(0),
            edition_name: stated(1),
            engine_edition,
            product: match engine_edition {
                Some(5 | 12) => Product::Database,
                Some(8) => Product::Instance,
                _ => Product::Server,
            },
            is_microsoft: about.starts_with("Microsoft") && !about.contains("Babelfish"),
            about: about.lines().next().unwrap_or_default().trim().to_owned(),
            server: stated(4),
            database: stated(5),
        }
    }

    /// The major version; 16 is 2022. Azure's services all say 12.
    pub(super) fn major(&self) -> Option<i64> {
        self.version.as_ref()?.split('.').next()?.parse().ok()
    }

    /// Which of the statements' editions it is; `None` for another maker's server, and for a release that is not known.
    pub(super) fn edition(&self) -> Option<&'static str> {
        self.product.edition(self.major()).filter(|_| self.is_microsoft)
    }

    pub(super) const fn product_name(&self) -> &'static str {
        match self.engine_edition {
            _ if !self.is_microsoft => "another server that speaks TDS",
            Some(5) => "Azure SQL Database",
            Some(6) => "Azure Synapse Analytics",
            Some(8) => "Azure SQL Managed Instance",
            Some(9) => "Azure SQL Edge",
            Some(11) => "Azure Synapse serverless",
            Some(12) => "SQL database in Fabric",
            _ => "SQL Server",
        }
    }

    /// The version for a record, with the name of a server that is not Microsoft's.
    pub(super) fn version(&self) -> String {
        match (self.version.as_deref(), self.is_microsoft) {
            (Some(version), true) => version.to_owned(),
            (version, _) => {
                let first_words: String = self.about.chars().take(60).collect();
                format!("{} ({first_words})", version.unwrap_or("unknown"))
            }
        }
    }
}
