//! What a SQL Server answers to the driver's questions about itself, for scripts that are about something else.

use super::request::Request;
use super::token::Reply;
use super::types::{Column, Datum, Kind};

/// One row of these values.
pub fn one(values: Vec<Datum>) -> Reply {
    let column = |value: &Datum| {
        let kind = match value {
            Datum::Integer(_) => Kind::IntegerNull(8),
            Datum::Float(_) => Kind::FloatNull(8),
            _ => Kind::NVarChar(Some(800)),
        };
        Column::new("", kind)
    };
    Reply::rows(values.iter().map(column).collect(), vec![values])
}

/// A result without rows.
pub fn none() -> Reply {
    Reply::rows(vec![Column::new("", Kind::IntegerNull(8))], Vec::new())
}

/// What a SQL Server answers to a user that may do everything; anything else is done, and nothing comes of it.
pub fn usual(request: &Request) -> Reply {
    let text = Datum::from;
    let sql = request.sql();
    if let Request::Bulk(bulk) = request {
        return Reply::count(bulk.rows.len() as u64);
    }
    if sql.contains("HAS_PERMS_BY_NAME") {
        return one(vec![Datum::from(1); 9]);
    }
    if sql.contains("ORIGINAL_LOGIN") {
        return one(["ann", "dbo", "H1", "H1", "H1"].map(text).to_vec());
    }
    if sql.contains("SERVERPROPERTY") {
        let about = "Microsoft SQL Server 2022 (RTM) - 16.0.1000.6 (X64)";
        let words = ["16.0.1000.6", "Developer Edition"].map(text);
        let rest = [about, "H1", "sales"].map(text);
        return one(words.into_iter().chain([Datum::from(3)]).chain(rest).collect());
    }
    if sql.contains("DECLARE @names") {
        return one(vec![text("a,b")]);
    }
    if sql.contains("SELECT @taken") {
        return one(vec![Datum::from(0)]);
    }
    if sql.contains("sys.") && sql.contains("SELECT") {
        return none();
    }
    Reply::count(0)
}
