//! Schemas of a server that speaks TDS. What is in them is answered from a list, and what is dropped is taken out of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use plimsoll_engine::{Database, Intents, Workspace};
use plimsoll_mssql::Mssql;
use plimsoll_testbed::tds::{Column, Datum, Kind, Reply, Request, TdsServer, answers};

use super::{Field, Luck, Marking, Planted, harvest, open};

/// Kinds of objects as the server calls them, and names.
const KINDS: [(&str, &str); 11] = [
    // The server may take such a name for one of ours.
    ("SQL_STORED_PROCEDURE", "PLIMSOLL_READ_T"),
    ("SQL_STORED_PROCEDURE", "plimsöll_read_t"),
    ("VIEW", "theirs"),
    ("SQL_STORED_PROCEDURE", "theirs"),
    ("SQL_SCALAR_FUNCTION", "theirs"),
    ("SQL_INLINE_TABLE_VALUED_FUNCTION", "theirs"),
    ("SYNONYM", "theirs"),
    ("SEQUENCE_OBJECT", "theirs"),
    ("FOREIGN KEY", "theirs"),
    ("SERVICE_QUEUE", "theirs"),
    ("TYPE_TABLE", "theirs"),
];

#[derive(Default)]
struct Schema {
    /// `None` without the property.
    mark: Option<String>,
    stranger: Option<(&'static str, &'static str)>,
    tables: Vec<&'static str>,
}

type Schemas = Arc<Mutex<BTreeMap<String, Schema>>>;

struct Scripted {
    schemas: Schemas,
    server: TdsServer,
}

fn rows(rows: Vec<Vec<Datum>>, width: usize) -> Reply {
    let column = || Column::new("", Kind::NVarChar(Some(800)));
    Reply::rows((0..width).map(|_| column()).collect(), rows)
}

fn text(text: &str) -> Datum {
    Datum::from(text)
}

/// What stands in brackets.
fn bracketed(sql: &str) -> Vec<&str> {
    sql.split('[').skip(1).filter_map(|rest| rest.split(']').next()).collect()
}

fn answer(request: &Request, schemas: &Schemas) -> Reply {
    let mut schemas = schemas.lock().unwrap();
    let sql = request.sql();
    let named = match request {
        Request::Call(call) => call.parameters.iter().find_map(|(_, value)| match value {
            Datum::Text(name) => schemas.get(name.as_str()),
            _ => None,
        }),
        _ => None,
    };
    let names = |names: &[&'static str]| rows(names.iter().map(|name| vec![text(name)]).collect(), 1);
    if sql.contains("APPLOCK_TEST") {
        return answers::one(vec![Datum::from(1)]);
    }
    if sql.contains("LEFT(s.name, 9)") {
        let row =
            |(name, schema): (&String, &Schema)| vec![text(name), schema.mark.as_deref().map_or(Datum::Null, text)];
        return rows(schemas.iter().map(row).collect(), 2);
    }
    if sql.contains("GROUP BY s.schema_id") {
        let mark = named.map(|schema| vec![text(schema.mark.as_deref().unwrap_or_default())]);
        return rows(mark.into_iter().collect(), 1);
    }
    if sql.contains("N'FOREIGN KEY'") {
        let stranger = named.and_then(|schema| schema.stranger);
        return rows(stranger.map(|(kind, name)| vec![text(kind), text(name)]).into_iter().collect(), 2);
    }
    if sql.contains("FROM sys.tables t WHERE t.schema_id") {
        return names(named.map_or(&[], |schema| schema.tables.as_slice()));
    }
    if sql.starts_with("DROP TABLE") {
        let named = bracketed(sql);
        if let Some(schema) = schemas.get_mut(named[0]) {
            schema.tables.retain(|table| *table != named[1]);
        }
    } else if sql.starts_with("DROP SCHEMA") {
        schemas.remove(bracketed(sql)[0]);
    }
    answers::usual(request)
}

impl Field for Scripted {
    fn database(&self) -> Box<dyn Database> {
        let url = format!("mssql://ann:pw@127.0.0.1:{}/sales?encrypt=false", self.server.port());
        open(&Mssql, &url, &Intents::default())
    }

    fn plant(&mut self, luck: &mut Luck, number: usize) -> Planted {
        let run = Workspace::run(&format!("l{number:06}")).unwrap();
        let workspace = if luck.once_in(5) { Workspace::data(number as u64) } else { run };
        let marking = Marking::any(luck);
        let mark = (marking != Marking::None).then(|| marking.text(workspace.name(), luck));
        let stranger = luck.once_in(2).then(|| *luck.one(&KINDS));
        let tables = if luck.once_in(3) { Vec::new() } else { vec!["t", "plimsoll_manifest"] };
        let what = format!("{marking:?}, {stranger:?}");
        self.schemas.lock().unwrap().insert(workspace.name().to_owned(), Schema { mark, stranger, tables });
        Planted { workspace, ours: marking == Marking::Whole && stranger.is_none(), what }
    }

    fn state(&mut self) -> BTreeMap<String, String> {
        let schemas = self.schemas.lock().unwrap();
        let state = |(name, schema): (&String, &Schema)| {
            (name.clone(), format!("{:?} {:?} {:?}", schema.mark, schema.stranger, schema.tables))
        };
        schemas.iter().map(state).collect()
    }

    fn clear(&mut self, _: &[Planted]) {
        self.schemas.lock().unwrap().clear();
    }
}

#[test]
fn schemas_of_a_server_that_speaks_tds() {
    let schemas = Schemas::default();
    let answered = Arc::clone(&schemas);
    let server = TdsServer::builder().takes_anything().start(move |request, _| answer(request, &answered)).unwrap();
    harvest("tds", &mut Scripted { schemas, server });
}
