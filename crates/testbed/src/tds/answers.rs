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

/// The same of a database in Azure at this level.
pub fn azure(request: &Request, objective: &str) -> Reply {
    let text = Datum::from;
    let sql = request.sql();
    if sql.contains("EngineEdition") {
        let words = ["12.0.2000.8", "SQL Azure"].map(text);
        let rest = ["Microsoft SQL Azure (RTM) - 12.0.2000.8", "srv", "sales"].map(text);
        return one(words.into_iter().chain([Datum::from(5)]).chain(rest).collect());
    }
    if sql.contains("database_service_objectives") {
        return one(vec![text("GeneralPurpose"), text(objective), Datum::Null, text(objective)]);
    }
    usual(request)
}

/// Columns of the tables that all tests load: whole numbers, bits, texts and so on, in their order.
pub fn family() -> Vec<Column> {
    let kind = |name: &str| match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "Bit" => Kind::BitNull,
        "TinyInt" => Kind::IntegerNull(1),
        "SmallInt" => Kind::IntegerNull(2),
        "Float" => Kind::FloatNull(8),
        "Money" => Kind::MoneyNull(8),
        "DateTime" => Kind::DateTime2(3),
        "VarChar" => Kind::VarChar(Some(120)),
        _ => Kind::IntegerNull(4),
    };
    let names = "RowId Bit1 Bit2 Bit3 Bit4 TinyInt1 TinyInt2 SmallInt1 SmallInt2 Int1 Int2 Int3 Int4 Int5 Float1 Float2 \
                 Money1 Money2 Money3 DateTime1 DateTime2 VarChar1 VarChar2 VarChar3 VarChar4";
    names.split(' ').map(|name| Column::new(name, kind(name))).collect()
}

/// True for a request for a single row by its key, as a procedure of ours makes it.
pub fn is_point_select(request: &Request) -> bool {
    matches!(request, Request::Call(call) if call.sql.contains("[plimsoll_read_"))
}

/// The answers of a server that has what was loaded, counts its reads, and finds every row that is asked for.
pub fn working(request: &Request) -> Reply {
    let sql = request.sql();
    if let Request::Call(call) = request
        && is_point_select(request)
    {
        let columns = family();
        let key = call.parameters.first().map_or(Datum::Null, |(_, key)| key.clone());
        let row = std::iter::once(key).chain(columns.iter().skip(1).map(|_| Datum::Null)).collect();
        return Reply::rows(columns, vec![row]);
    }
    if sql.contains("sys.allocation_units") {
        return one(vec![Datum::from(1 << 20), Datum::from(0)]);
    }
    if sql.contains("dm_io_virtual_file_stats") {
        let file = |name: &str, kind| {
            let counts = [kind, 10, 1 << 30, 1000, 10, 1 << 30, 1000].map(Datum::from);
            [Datum::from(name)].into_iter().chain(counts).collect::<Vec<_>>()
        };
        let columns = (0..8)
            .map(|index| Column::new("", if index == 0 { Kind::NVarChar(Some(256)) } else { Kind::IntegerNull(8) }));
        return Reply::rows(columns.collect(), vec![file("sales", 0), file("sales_log", 1)]);
    }
    if sql.starts_with("SELECT COUNT_BIG(*) FROM [plimsoll_") {
        return one(vec![Datum::from(1234)]);
    }
    usual(request)
}
