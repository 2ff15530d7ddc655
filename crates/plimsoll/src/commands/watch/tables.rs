//! The tables of the user's own database that slots are saved in and read from: a row for each statement and slot, as `watch export` writes it,
//! and texts by their hash.

use plimsoll_engine::{Error, SavedColumn, SavedTable, SavedType};

use super::metrics::METRICS;

/// What the name of the table of texts has behind that of the other one.
const TEXTS: &str = "_texts";

/// Servers take 63 bytes.
const LONGEST_NAME: usize = 63 - TEXTS.len();

/// The first four are the key: a statement's number has that of its database in it.
const FIRST: [SavedColumn; 10] = [
    column("session_id", SavedType::Word),
    column("slot_start_us", SavedType::Whole),
    column("id", SavedType::Word),
    column("nested", SavedType::Flag),
    column("slot_end_us", SavedType::Whole),
    column("seconds", SavedType::Float),
    column("slot_status", SavedType::Word),
    column("coverage_percent", SavedType::Float),
    column("server", SavedType::Text),
    column("database", SavedType::Text),
];
const KEY: usize = 4;
/// Behind the metrics that `watch export` has.
const LAST: [SavedColumn; 7] = [
    column("cpu_us", SavedType::Whole),
    column("status", SavedType::Word),
    column("text_id", SavedType::Word),
    column("sums", SavedType::Whole),
    column("explained_us", SavedType::Whole),
    column("total_us", SavedType::Whole),
    column("own_us", SavedType::Whole),
];
const OF_TEXTS: [SavedColumn; 2] = [column("text_id", SavedType::Word), column("text", SavedType::Text)];

const fn column(name: &'static str, kind: SavedType) -> SavedColumn {
    SavedColumn { name, kind }
}

/// The two tables.
#[derive(Debug)]
pub struct Tables {
    pub rows: SavedTable,
    pub texts: SavedTable,
}

impl Tables {
    /// By the name that the user gave.
    pub fn named(text: &str) -> Result<Self, Error> {
        let (schema, name) = SavedTable::parse(text, LONGEST_NAME)?;
        let metrics = METRICS.map(|metric| column(metric.name, SavedType::Whole));
        let columns = FIRST.into_iter().chain(metrics).chain(LAST).collect();
        let texts =
            SavedTable { schema: schema.clone(), name: format!("{name}{TEXTS}"), columns: OF_TEXTS.to_vec(), key: 1 };
        Ok(Self { rows: SavedTable { schema, name, columns, key: KEY }, texts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who has such a table goes on with it: part of the contract between versions.
    #[test]
    fn the_columns_never_change() {
        let tables = Tables::named("own.watched").unwrap();
        let names: Vec<&str> = tables.rows.columns.iter().map(|column| column.name).collect();
        assert_eq!(
            names.join(" "),
            "session_id slot_start_us id nested slot_end_us seconds slot_status coverage_percent server database executions \
             elapsed_us active_us sampled_us unseen_us rows reads writes cache_lookups temp_pages log_bytes io_read_us io_write_us \
             cpu_us status text_id sums explained_us total_us own_us"
        );
        assert_eq!((tables.rows.shown().as_str(), tables.texts.shown().as_str()), ("own.watched", "own.watched_texts"));
        assert!(Tables::named(&"w".repeat(57)).is_ok() && Tables::named(&"w".repeat(58)).is_err());
    }
}
