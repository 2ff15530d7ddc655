//! What an answer looks like: its columns by their names and types, without its values.

use mssql_tds::connection::tds_client::{ResultSet as _, StatementResult, TdsClient};
use mssql_tds::core::TdsResult;
use mssql_tds::datatypes::sql_string::EncodingType;
use mssql_tds::datatypes::sqldatatypes::TdsDataType;
use mssql_tds::query::metadata::ColumnMetadata;
use plimsoll_engine::{AnswerColumn, Shape, Value};

use super::sink::{Sink, Take};

/// Notes for each column whether a value was there.
struct Filled(Vec<bool>);

impl Filled {
    fn note(&mut self, column: usize) {
        if let Some(filled) = self.0.get_mut(column) {
            *filled = true;
        }
    }
}

impl Take for Filled {
    fn take(&mut self, column: usize, value: Value<'_>) {
        if value != Value::Null {
            self.note(column);
        }
    }

    fn take_other(&mut self, column: usize, _: &'static str, _: usize) {
        self.note(column);
    }

    fn take_text(&mut self, column: usize, _: &[u8], _: EncodingType) {
        self.note(column);
    }
}

/// Reads all results of a statement that has begun; the shape is the first one's.
pub(super) async fn read(driver: &mut TdsClient, mut result: StatementResult) -> TdsResult<Shape> {
    let mut first: Option<Shape> = None;
    loop {
        match result {
            StatementResult::Rows => {
                let columns: Vec<AnswerColumn> = driver.get_metadata().iter().map(column).collect();
                let mut sink = Sink(Filled(vec![false; columns.len()]));
                let mut rows = 0;
                while driver.next_row_into(&mut sink).await? {
                    rows += 1;
                }
                first.get_or_insert(Shape { columns, rows, filled: sink.0.0 });
            }
            StatementResult::NoRows { .. } => {}
            StatementResult::End => break,
        }
        result = driver.advance().await?;
    }
    driver.close_query().await?;
    Ok(first.unwrap_or_default())
}

fn column(column: &ColumnMetadata) -> AnswerColumn {
    AnswerColumn { name: column.column_name.clone(), kind: name_of(column).to_owned() }
}

/// The name of a column's type. Types that can be NULL have one number for several widths.
fn name_of(column: &ColumnMetadata) -> &'static str {
    use TdsDataType as T;
    let bytes = column.type_info.length;
    match column.data_type {
        T::Bit | T::BitN => "bit",
        T::Int1 => "tinyint",
        T::Int2 => "smallint",
        T::Int4 => "int",
        T::Int8 => "bigint",
        T::IntN => match bytes {
            1 => "tinyint",
            2 => "smallint",
            4 => "int",
            _ => "bigint",
        },
        T::Flt4 => "real",
        T::Flt8 => "float",
        T::FltN => {
            if bytes == 4 {
                "real"
            } else {
                "float"
            }
        }
        T::Money4 => "smallmoney",
        T::Money => "money",
        T::MoneyN => {
            if bytes == 4 {
                "smallmoney"
            } else {
                "money"
            }
        }
        T::DateTim4 => "smalldatetime",
        T::DateTime => "datetime",
        T::DateTimeN => {
            if bytes == 4 {
                "smalldatetime"
            } else {
                "datetime"
            }
        }
        T::DateN => "date",
        T::TimeN => "time",
        T::DateTime2N => "datetime2",
        T::DateTimeOffsetN => "datetimeoffset",
        T::Decimal | T::DecimalN => "decimal",
        T::Numeric | T::NumericN => "numeric",
        T::VarChar | T::BigVarChar => "varchar",
        T::Char | T::BigChar => "char",
        T::NVarChar => "nvarchar",
        T::NChar => "nchar",
        T::Text => "text",
        T::NText => "ntext",
        T::VarBinary | T::BigVarBinary => "varbinary",
        T::Binary | T::BigBinary => "binary",
        T::Image => "image",
        T::Guid => "uniqueidentifier",
        T::SsVariant => "sql_variant",
        T::Xml => "xml",
        T::Json => "json",
        T::Vector => "vector",
        T::Udt => "a type of the user's",
        _ => "a type that is not known",
    }
}
