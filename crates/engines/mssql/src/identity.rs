//! Who a server says that it is.

use plimsoll_engine::Row;

use super::control::{text_of, whole};
use super::sql::Product;

/// Its number for Express.
const EXPRESS: i64 = 4;

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

    /// True if it knows `ENABLE_PARALLEL_PLAN_PREFERENCE`, which came with 2016 SP1 CU2 (13.0.4422) and 2017. Microsoft's pages do not
    /// name the hint; a server without it refuses the statement (error 10715).
    pub(super) fn prefers_parallel(&self) -> bool {
        let version: Vec<u32> =
            self.version.iter().flat_map(|it| it.split('.')).map_while(|it| it.parse().ok()).collect();
        self.is_microsoft && (self.product != Product::Server || version.as_slice() >= [13, 0, 4422].as_slice())
    }

    /// The most bytes of data that a database may have: Express has a limit. 10 GB, and 50 GB from 2025 on
    /// (sql-server/editions-and-components-of-sql-server-2025).
    pub(super) fn largest_database(&self) -> Option<u64> {
        let limit = if self.major() >= Some(17) { 50_u64 << 30 } else { 10 << 30 };
        (self.is_microsoft && self.engine_edition == Some(EXPRESS)).then_some(limit)
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

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::Value;

    fn server(version: &str, engine_edition: i64, about: &str) -> Identity {
        let mut row = Row::default();
        let texts = [Value::Text(version), Value::Text("Edition"), Value::BigInt(engine_edition), Value::Text(about)];
        texts.into_iter().chain([Value::Text("H1"), Value::Text("sales")]).for_each(|value| row.push(value));
        Identity::of(Some(&row))
    }

    #[test]
    fn a_build_says_what_a_server_knows() {
        const MICROSOFT: &str = "Microsoft SQL Server";
        for (version, engine_edition, about, edition, prefers_parallel, gigabytes) in [
            ("13.0.1601.5", 3, MICROSOFT, Some("2016"), false, None),
            ("13.0.4411.0", 3, MICROSOFT, Some("2016"), false, None),
            ("13.0.4422.0", 3, MICROSOFT, Some("2016"), true, None),
            ("14.0.1000.169", 4, MICROSOFT, Some("2017"), true, Some(10)),
            ("16.0.1000.6", 4, MICROSOFT, Some("2022"), true, Some(10)),
            ("17.0.1000.7", 4, MICROSOFT, Some("2025"), true, Some(50)),
            ("12.0.2000.8", 5, "Microsoft SQL Azure", Some("azure-sql-database"), true, None),
            ("12.0.2000.8", 8, "Microsoft SQL Azure", Some("managed-instance"), true, None),
            ("12.0.5000.0", 3, MICROSOFT, None, false, None),
            ("16.0.1000.6", 4, "Another server", None, false, None),
            ("", 3, MICROSOFT, None, false, None),
        ] {
            let server = server(version, engine_edition, about);
            assert_eq!((server.edition(), server.prefers_parallel()), (edition, prefers_parallel), "{version}");
            assert_eq!(server.largest_database(), gigabytes.map(|number: u64| number << 30), "{version}");
        }
        assert_eq!(Identity::of(None).edition(), None);
    }
}
