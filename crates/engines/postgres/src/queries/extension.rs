//! The extension `pg_stat_statements` as it was found: where it is, and which version.

use plimsoll_engine::{Error, ErrorKind, Result, foreign};

use crate::connection::Connection;
use crate::statements::sql;

/// The first version of the server with the extension's own counts of drops and resets.
const FIRST_VERSION: u32 = 140_000;
/// The version of the extension that has them, and tells statements of clients from those within functions.
const FIRST_EXTENSION: (u32, u32) = (1, 9);
/// The version that says when the counts of a statement began.
const STAMPED_EXTENSION: (u32, u32) = (1, 11);

/// The extension as it was found.
pub struct Extension {
    pub schema: String,
    pub version: String,
    number: (u32, u32),
    /// The most statements that it keeps.
    pub most: Option<usize>,
    pub tracked: String,
    /// Whether statements have the numbers by which they are counted.
    pub is_numbered: bool,
    /// Roles and databases whose sessions are not counted, as a setting of theirs says so.
    left_out: Option<String>,
}

impl Extension {
    /// Where it is; an error says what is missing and what mends it.
    pub fn find(connection: &mut Connection, version: u32) -> Result<Self> {
        let (extension, may_look) = Self::look(connection, version)?;
        if !may_look {
            let message = "the user may not see what others ran (pg_read_all_stats)";
            return Err(
                Error::new(ErrorKind::Permission, message).hint("GRANT pg_read_all_stats TO the user of the URL")
            );
        }
        Ok(extension)
    }

    /// The same, and whether the user may see what others ran.
    pub fn look(connection: &mut Connection, version: u32) -> Result<(Self, bool)> {
        if version < FIRST_VERSION {
            let message = "PostgreSQL before version 14 does not say how often it dropped statements or counted anew";
            return Err(Error::new(ErrorKind::Unsupported, message).hint("watch a server of version 14 or later"));
        }
        let row = connection.row(sql("extension of statements"), &[])?;
        let missing = |message: &str, hint: &str| Error::new(ErrorKind::ToolMissing, message).hint(hint);
        let is_loaded = row.text(3).is_some();
        let (Some(schema), Some(version)) = (row.text(0), row.text(1)) else {
            let hint = match (is_loaded, row.is_true(2)) {
                (true, _) => {
                    "it is loaded: whoever may make extensions in this database runs CREATE EXTENSION pg_stat_statements; or name a database \
                     that has it"
                }
                (false, true) => {
                    "add pg_stat_statements to shared_preload_libraries, restart the server, and run CREATE EXTENSION pg_stat_statements in \
                     this database"
                }
                (false, false) => {
                    "install the server's package of extensions (often called contrib), add pg_stat_statements to shared_preload_libraries, \
                     restart the server, and run CREATE EXTENSION pg_stat_statements in this database"
                }
            };
            return Err(missing("the extension pg_stat_statements is not in this database", hint));
        };
        if !is_loaded {
            let hint = "add pg_stat_statements to shared_preload_libraries and restart the server";
            return Err(missing("the extension pg_stat_statements is there, and the server has not loaded it", hint));
        }
        let number = number_of(version);
        if number < FIRST_EXTENSION {
            let message = format!("the extension pg_stat_statements is of version {version}, and 1.9 is needed");
            return Err(missing(&message, "its owner runs ALTER EXTENSION pg_stat_statements UPDATE"));
        }
        let extension = Self {
            schema: schema.to_owned(),
            version: version.to_owned(),
            number,
            most: row.get(3),
            tracked: row.text(4).unwrap_or_default().to_owned(),
            is_numbered: row.text(6) != Some("off"),
            left_out: row.text(7).map(foreign::masked),
        };
        Ok((extension, row.is_true(5)))
    }

    /// Why it counts no statements, where a setting says so.
    pub fn is_off(&self) -> Option<&'static str> {
        if !self.is_numbered {
            return Some("compute_query_id is off: no statement has the number by which it is counted; set it to auto");
        }
        (self.tracked == "none").then_some(
            "pg_stat_statements.track is none: only sessions that set it for themselves are counted; set it to top",
        )
    }

    /// Whose sessions it does not count, in a sentence. Their time is in that of the server, and so it is missing from what is known.
    pub fn left_out(&self) -> Option<String> {
        let who = self.left_out.as_ref()?;
        Some(format!(
            "statements of some sessions are not counted, as pg_stat_statements.track or compute_query_id is set for them: {who}; \
             ALTER ROLE or ALTER DATABASE ... RESET takes that back"
        ))
    }

    /// Words for the gaps of its statements.
    pub fn words(&self) -> [(&'static str, String); 4] {
        let is_stamped = self.number >= STAMPED_EXTENSION;
        let (read, write, since) = if is_stamped {
            ("shared_blk_read_time", "shared_blk_write_time", "stats_since")
        } else {
            ("blk_read_time", "blk_write_time", "NULL")
        };
        let words =
            [("read_ms", read), ("write_ms", write), ("since", since)].map(|(gap, word)| (gap, word.to_owned()));
        let [read, write, since] = words;
        [("extension", self.schema.clone()), read, write, since]
    }
}

/// `1.10` as numbers.
fn number_of(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::filled;

    #[test]
    fn versions_of_the_extension_are_numbers() {
        assert!(number_of("1.10") > number_of("1.9") && number_of("1.8") < FIRST_EXTENSION && number_of("x") == (0, 0));
        let of = |version: &str| Extension {
            schema: "my stats".to_owned(),
            version: version.to_owned(),
            number: number_of(version),
            most: None,
            tracked: String::new(),
            is_numbered: true,
            left_out: None,
        };
        let sql = |version: &str| {
            let words = of(version).words();
            let words: Vec<(&str, &str)> = words.iter().map(|(gap, word)| (*gap, word.as_str())).collect();
            filled("counters of statements", &words)
        };
        assert!(sql("1.10").contains("THEN blk_read_time") && sql("1.10").contains("FROM NULL::timestamptz"));
        assert!(
            sql("1.12").contains("THEN shared_blk_read_time") && sql("1.12").contains("FROM stats_since::timestamptz")
        );
        assert!(sql("1.9").contains("\"my stats\".pg_stat_statements(false)"));
    }
}
