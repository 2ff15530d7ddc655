//! The SQL of the tests. Most of it is the same on every engine and stands here; a dialect overrides what differs.

use crate::table::{Column, ColumnType, Table};

/// Rows of a table that a sample of a column looks at at most: a table that nobody has counted may be of any size.
pub const MOST_SAMPLED: u32 = 1_000_000;

/// Requests for a single row of a table, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleRow {
    /// A new row.
    Insert,
    /// New values for all columns but the key.
    Update,
    /// The row goes.
    Delete,
    /// All its columns are read.
    Read,
}

impl SingleRow {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Insert, Self::Update, Self::Delete, Self::Read];

    /// The name of the procedure that makes the request of a table.
    pub fn procedure(self, table: &Table) -> String {
        let what = match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Read => "read",
        };
        format!("plimsoll_{what}_{}", table.name)
    }

    /// The types of its parameters, in their order.
    pub fn parameters(self, table: &Table) -> Vec<ColumnType> {
        let mut types = table.types();
        match self {
            Self::Insert => {}
            // The key comes last.
            Self::Update => types.rotate_left(1),
            Self::Delete | Self::Read => types.truncate(1),
        }
        types
    }
}

/// Ten-thousandths as a decimal.
pub fn decimal(units: i64) -> String {
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    format!("{sign}{}.{:04}", units / 10_000, units % 10_000)
}

/// The SQL texts of one engine.
pub trait Dialect: Send + Sync {
    /// The engine's type for a column.
    fn type_name(&self, kind: ColumnType) -> String;

    /// The placeholder of parameter `number`, from 1.
    fn placeholder(&self, number: usize) -> String;

    /// True if placeholders have no numbers: then each takes a parameter of its own, in the order in which they stand.
    fn is_positional(&self) -> bool {
        false
    }

    /// A column's name as it stands in statements: quoted where the engine has words of its own that look like it.
    fn column(&self, name: &str) -> String {
        name.to_owned()
    }

    /// The same for a table's name.
    fn table(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Names of columns, with commas between them.
    fn columns(&self, columns: &[Column]) -> String {
        let names: Vec<String> = columns.iter().map(|column| self.column(&column.name)).collect();
        names.join(", ")
    }

    /// A literal of money, given in ten-thousandths, as the engine stores it.
    fn money_literal(&self, units: i64) -> String {
        decimal(units)
    }

    /// What stands behind the columns of a new table.
    fn table_options(&self) -> &'static str {
        ""
    }

    /// `CREATE TABLE` with the primary key on the first column and no other index, or a heap.
    fn create_table(&self, table: &Table) -> String {
        let primary = format!("PRIMARY KEY ({})", self.column(table.key()));
        let columns = columns_of(table, |column| (self.column(&column.name), self.type_name(column.kind)), primary);
        format!("CREATE TABLE {} ({columns}){}", self.table(&table.name), self.table_options())
    }

    /// Removes a table if it is there.
    fn drop_table(&self, table: &Table) -> String {
        format!("DROP TABLE IF EXISTS {}", self.table(&table.name))
    }

    /// How many rows a table has.
    fn count_rows(&self, table: &Table) -> String {
        format!("SELECT count(*) FROM {}", self.table(&table.name))
    }

    /// Counts the rows that meet the seeds' scan predicate: no index helps, the whole table is read, and each row is
    /// touched. `weak` asks for the weakest isolation where that is said in the statement itself.
    fn scan(&self, table: &str, weak: bool) -> String {
        let _ = weak;
        let [bit, tiny, int, money] = ["Bit1", "TinyInt1", "Int3", "Money2"].map(|name| self.column(name));
        format!(
            "SELECT count(*) FROM {} WHERE {bit} IS NOT NULL AND {tiny} BETWEEN 10 AND 240 \
             AND {int} BETWEEN 100000 AND 2000000000 AND {money} BETWEEN {} AND {}",
            self.table(table),
            self.money_literal(0),
            self.money_literal(10_000_000 * 10_000),
        )
    }

    /// The name under which the source of a chunked write is made. It is an ordinary table, or one that the engine holds in
    /// memory where a large copy would drive an ordinary one out of its cache.
    fn source_table(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Copies `source` (keys 1 to `source_rows`) `times` times into `target` with new keys from `first_key` on, in one
    /// statement. The parts follow one another, so keys rise.
    fn copy_chunk(&self, target: &Table, source: &str, source_rows: u64, times: u64, first_key: u64) -> String {
        let others = self.columns(&target.columns[1..]);
        let (key, source) = (self.column(target.key()), self.table(source));
        let parts: Vec<String> = (0..times)
            .map(|part| {
                let offset = first_key - 1 + part * source_rows;
                format!("SELECT {key} + {offset}, {others} FROM {source}")
            })
            .collect();
        format!("INSERT INTO {} ({key}, {others}) {}", self.table(&target.name), parts.join(" UNION ALL "))
    }

    /// The words for a join of all pairs, in the order in which the tables stand where the engine takes that from the text.
    fn cross_join(&self) -> &'static str {
        "CROSS JOIN"
    }

    /// Counts the pairs of the seeds' forced loop join: outer rows with keys from parameter 1 to 2, inner rows with keys
    /// from 1 to parameter 3. Keys are dense, so a range stands for the seeds' `TOP N ... ORDER BY RowId`, and a third
    /// power is written as a product, which every engine computes in integers.
    fn join(&self, table: &str) -> String {
        let (p1, p2, p3) = (self.placeholder(1), self.placeholder(2), self.placeholder(3));
        let (join, table) = (self.cross_join(), self.table(table));
        let [key, one, two, three, four, five] =
            ["RowId", "Int1", "Int2", "Int3", "Int4", "Int5"].map(|name| self.column(name));
        format!(
            "SELECT count(*) FROM {table} t1 {join} {table} t2 \
             WHERE t1.{key} BETWEEN {p1} AND {p2} AND t2.{key} <= {p3} \
             AND abs(((t1.{one} * t2.{two}) + t1.{three}) - ((t2.{one} * t1.{two}) + t2.{four})) < 17 \
             AND abs(((t1.{five} % 5) * (t1.{five} % 5) * (t1.{five} % 5)) - (t2.{five} % 25)) < 7"
        )
    }

    /// The same, with the same parameters, as one statement that the engine spreads over its CPUs by itself; `None` where it
    /// can't be made to.
    fn join_in_parallel(&self, table: &str) -> Option<String> {
        let _ = table;
        None
    }

    /// A statement that keeps a session's queries on one CPU, where the engine would else spread a query by itself.
    fn without_parallelism(&self) -> Option<&'static str> {
        None
    }

    /// A statement that gives a session the weakest isolation, where [`Dialect::scan`] doesn't say it itself.
    fn weak_isolation(&self) -> Option<&'static str> {
        None
    }

    /// Reads `keys` rows by their keys and touches a value of each.
    fn lookup_keys(&self, table: &Table, keys: usize) -> String {
        let places: Vec<String> = (1..=keys).map(|number| self.placeholder(number)).collect();
        let value = self.column(&table.columns[table.columns.len() - 1].name);
        let key = self.column(table.key());
        format!("SELECT count({value}) FROM {} WHERE {key} IN ({})", self.table(&table.name), places.join(", "))
    }

    /// Begins a transaction that reads only, or one that will write too.
    fn begin(&self, writes: bool) -> &'static str {
        let _ = writes;
        "BEGIN"
    }

    /// Values of a column that are not NULL as texts, each with the name of its type. They are of all rows, or of some tens of
    /// thousands that the engine chooses by `seed`.
    fn sample_column(&self, table: &str, column: &str, seed: u64) -> String;

    /// The same for a column of a type that [`Dialect::sample_column`] can't look at, with texts for values. `None` where there are
    /// no such types.
    fn sample_long_column(&self, table: &str, column: &str, seed: u64) -> Option<String> {
        let _ = (table, column, seed);
        None
    }

    /// A new row; a parameter for each column.
    fn insert_row(&self, table: &Table) -> String {
        let places: Vec<String> = (1..=table.columns.len()).map(|number| self.placeholder(number)).collect();
        format!("INSERT INTO {} VALUES ({})", self.table(&table.name), places.join(", "))
    }

    /// Inserts so many rows of 1 into a table of one column, each in a transaction of its own, in a loop inside the server: nothing goes to
    /// and fro between them. `None` where the engine has no server, or no such loop without an object for it.
    fn insert_in_loop(&self, table: &Table, rows: u64) -> Option<String> {
        let _ = (table, rows);
        None
    }

    /// New values for all columns but the key, which is the last parameter.
    fn update_row(&self, table: &Table) -> String {
        let set = |(column, number): (&Column, usize)| {
            format!("{} = {}", self.column(&column.name), self.placeholder(number))
        };
        let sets: Vec<String> = table.columns[1..].iter().zip(1..).map(set).collect();
        let (place, key) = (self.placeholder(table.columns.len()), self.column(table.key()));
        format!("UPDATE {} SET {} WHERE {key} = {place}", self.rows_of(table), sets.join(", "))
    }

    /// Removes the row with the key of parameter 1.
    fn delete_row(&self, table: &Table) -> String {
        format!("DELETE FROM {} WHERE {} = {}", self.rows_of(table), self.column(table.key()), self.placeholder(1))
    }

    /// The rows of a table itself, where those of others may come with them.
    fn rows_of(&self, table: &Table) -> String {
        self.table(&table.name)
    }

    /// All columns of the row with the key of parameter 1.
    fn read_row(&self, table: &Table) -> String {
        format!("{} WHERE {} = {}", self.read_all(table), self.column(table.key()), self.placeholder(1))
    }

    /// A request for a single row, as a text.
    fn single_row(&self, request: SingleRow, table: &Table) -> String {
        match request {
            SingleRow::Insert => self.insert_row(table),
            SingleRow::Update => self.update_row(table),
            SingleRow::Delete => self.delete_row(table),
            SingleRow::Read => self.read_row(table),
        }
    }

    /// The same as a call of the procedure that [`Session::make_procedures`](crate::Session::make_procedures) made for it,
    /// with the same parameters; `None` where there are none.
    fn call(&self, request: SingleRow, table: &Table) -> Option<String> {
        let _ = (request, table);
        None
    }

    /// True if users of this engine make such requests by procedures as a rule.
    fn prefers_procedures(&self) -> bool {
        false
    }

    /// All columns of all rows, in no order.
    fn read_all(&self, table: &Table) -> String {
        format!("SELECT {} FROM {}", self.columns(&table.columns), self.table(&table.name))
    }

    /// All columns of the rows with keys from parameter 1 to 2 in which another column, a whole number, lies between
    /// parameters 3 and 4 (64 bits).
    fn read_range(&self, table: &Table, column: &str) -> String {
        let place = |number| self.placeholder(number);
        let (key, column) = (self.column(table.key()), self.column(column));
        let between =
            format!("{column} BETWEEN {} AND {}", self.cast_to_bigint(&place(3)), self.cast_to_bigint(&place(4)));
        format!("{} WHERE {key} BETWEEN {} AND {} AND {between}", self.read_all(table), place(1), place(2))
    }

    /// A parameter of 64 bits beside a narrower column.
    fn cast_to_bigint(&self, place: &str) -> String {
        place.to_owned()
    }

    /// All columns of the rows with keys from parameter 1 to 2, in order.
    fn read_rows(&self, table: &Table) -> String {
        let (columns, key) = (self.columns(&table.columns), self.column(table.key()));
        let (p1, p2, table) = (self.placeholder(1), self.placeholder(2), self.table(&table.name));
        format!("SELECT {columns} FROM {table} WHERE {key} BETWEEN {p1} AND {p2} ORDER BY {key}")
    }
}

/// What a new table has in its parentheses: columns, each with its name and its type as the engine writes them, and the primary key.
pub fn columns_of(table: &Table, column: impl Fn(&Column) -> (String, String), primary: String) -> String {
    let null = if table.is_heap { "NULL" } else { "NOT NULL" };
    let columns = table.columns.iter().map(|one| {
        let (name, kind) = column(one);
        format!("{name} {kind} {null}")
    });
    columns.chain((!table.is_heap).then_some(primary)).collect::<Vec<_>>().join(", ")
}
