//! Statements as users write them, out of a seed: each as it is written, and as it has to be sent, with the place in front of the
//! tables that are in it.

use plimsoll_fuzz::Random;

/// Tables that are in the place. Some of them are called as no other name may be without its signs.
pub const TABLES: [&str; 6] = ["t", "orders", "[Order Details]", "[a]]b]", "\"Key\"", "größen"];
/// What stands for rows and is in no place of ours.
const OTHERS: [&str; 5] =
    ["dbo.customers", "sys.objects", "sales.dbo.[Item List]", "#staged", "STRING_SPLIT(@P1, ',')"];
const COLUMNS: [&str; 8] = ["a", "b", "c", "id", "[Order]", "[x y]", "\"Group\"", "größe"];
/// A negative number stands in parentheses, as the grammar's dialect takes `TOP (10) -2.5` for a difference.
const VALUES: [&str; 12] = [
    "1",
    "(-2.5)",
    "1e-3",
    "0x1F",
    "N'FROM t'",
    "'it''s'",
    "@P1",
    "@P2",
    "NULL",
    "CURRENT_TIMESTAMP",
    "CAST('12.5' AS money)",
    "GETUTCDATE()",
];
const HINTS: [&str; 4] = ["NOLOCK", "UPDLOCK, HOLDLOCK", "INDEX (i)", "READPAST"];
const OPTIONS: [&str; 5] = ["MAXDOP 1", "RECOMPILE", "FORCE ORDER", "HASH JOIN, MAXDOP 2", "OPTIMIZE FOR UNKNOWN"];
/// What a text may have between its words.
const BETWEEN: [&str; 4] = [" ", "  ", "\n", " /* FROM t, u */ "];

/// A text twice.
pub struct Custom {
    random: Random,
    /// As it is written.
    pub written: String,
    /// As it is to be sent, with `[p]` for the place.
    pub sent: String,
    /// Aliases that were given so far, so that each is another.
    aliases: usize,
}

/// The statement, or several, of a seed.
pub fn statement(seed: u64) -> Custom {
    let random = Random::new(seed);
    let mut custom = Custom { random, written: String::new(), sent: String::new(), aliases: 0 };
    match custom.random.below(12) {
        0..4 => custom.select(2),
        4 | 5 => custom.insert(),
        6 | 7 => custom.update(),
        8 => custom.delete(),
        9 => custom.merge(),
        10 => custom.named_query(),
        _ => {
            custom.update();
            custom.put(";");
            custom.select(1);
        }
    }
    custom
}

impl Custom {
    /// Appends words, with a blank or what stands for one behind.
    fn put(&mut self, words: &str) {
        let between = if self.random.once_in(12) { *self.random.of(&BETWEEN) } else { " " };
        for text in [&mut self.written, &mut self.sent] {
            text.push_str(words);
            text.push_str(between);
        }
    }

    /// Appends the name of a table of ours.
    fn table(&mut self) {
        let name = *self.random.of(&TABLES);
        self.sent.push_str("[p].");
        self.put(name);
    }

    fn maybe(&mut self, times: usize, words: &str) {
        if self.random.once_in(times) {
            self.put(words);
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        // An alias that is a table's name elsewhere is one here.
        if self.random.once_in(6) { format!("[x {}]", self.aliases) } else { format!("x{}", self.aliases) }
    }

    /// Several parts with commas between them.
    fn list(&mut self, most: usize, mut part: impl FnMut(&mut Self)) {
        for number in 0..=self.random.below(most) {
            if number > 0 {
                self.put(",");
            }
            part(self);
        }
    }

    fn expression(&mut self, depth: usize) {
        match self.random.below(9) {
            0 | 1 => self.value(),
            2..5 => self.column(),
            5 => {
                self.put("(");
                self.expression(depth.saturating_sub(1));
                self.put("+");
                self.value();
                self.put(")");
            }
            6 => {
                self.put("CASE WHEN");
                self.condition(depth.saturating_sub(1));
                self.put("THEN 1 ELSE 0 END");
            }
            7 => {
                self.put("COALESCE(");
                self.column();
                self.put(", 0)");
            }
            _ if depth > 0 => {
                self.put("(SELECT MAX(");
                self.column();
                self.put(") FROM");
                self.table();
                self.maybe(2, "WHERE 1 = 1");
                self.put(")");
            }
            _ => self.put("@P3 % 7"),
        }
    }

    /// Appends one of several words.
    fn any(&mut self, words: &[&'static str]) {
        let word = *self.random.of(words);
        self.put(word);
    }

    fn value(&mut self) {
        self.any(&VALUES);
    }

    fn column(&mut self) {
        self.any(&COLUMNS);
    }

    fn condition(&mut self, depth: usize) {
        match self.random.below(8) {
            0 if depth > 0 => {
                self.put("EXISTS (");
                self.select(depth - 1);
                self.put(")");
            }
            1 if depth > 0 => {
                self.column();
                self.maybe(2, "NOT");
                self.put("IN (SELECT");
                self.column();
                self.put("FROM");
                self.table();
                self.put(")");
            }
            2 => {
                self.column();
                self.put("BETWEEN 1 AND @P2");
            }
            3 => {
                self.column();
                self.put("LIKE N'%FROM t%'");
            }
            4 => {
                self.column();
                self.put("IN (1, 2, @P1)");
            }
            5 => {
                self.put("(");
                self.condition(depth.saturating_sub(1));
                self.put("OR");
                self.condition(depth.saturating_sub(1));
                self.put(")");
            }
            6 => {
                self.column();
                self.put("IS NOT NULL");
            }
            _ => {
                self.expression(depth.saturating_sub(1));
                self.put(">=");
                self.value();
            }
        }
    }

    fn filter(&mut self, depth: usize) {
        if self.random.once_in(2) {
            self.put("WHERE");
            self.condition(depth);
            if self.random.once_in(3) {
                self.put("AND");
                self.condition(depth);
            }
        }
    }

    fn hint(&mut self) {
        if self.random.once_in(6) {
            let hint = *self.random.of(&HINTS);
            self.put(&format!("WITH ({hint})"));
        }
    }

    /// One that stands for rows: a table, a query, or something of the user's.
    fn source(&mut self, depth: usize) {
        let alias = self.alias();
        match self.random.below(8) {
            0 if depth > 0 => {
                self.put("(");
                self.select(depth - 1);
                self.put(&format!(") AS {alias}"));
            }
            1 => {
                let other = *self.random.of(&OTHERS);
                self.put(&format!("{other} {alias}"));
            }
            2 => self.put(&format!("(VALUES (1, 2), (3, 4)) AS {alias} (a, b)")),
            3 => self.table(),
            _ => {
                self.table();
                self.maybe(2, "AS");
                self.put(&alias);
                self.hint();
            }
        }
    }

    fn sources(&mut self, depth: usize) {
        self.put("FROM");
        self.source(depth);
        match self.random.below(5) {
            0 => {
                self.any(&["JOIN", "LEFT JOIN", "INNER HASH JOIN", "FULL OUTER JOIN"]);
                self.source(depth);
                self.put("ON");
                self.condition(depth.saturating_sub(1));
            }
            1 => {
                self.put(",");
                self.source(depth);
            }
            2 if depth > 0 => {
                self.put("CROSS APPLY (");
                self.select(depth - 1);
                let alias = self.alias();
                self.put(&format!(") {alias}"));
            }
            3 => {
                self.put("CROSS JOIN");
                self.source(depth);
            }
            _ => {}
        }
    }

    fn select(&mut self, depth: usize) {
        self.put("SELECT");
        self.maybe(6, "DISTINCT");
        self.maybe(5, "TOP (10)");
        self.list(3, |custom| custom.expression(depth));
        self.sources(depth);
        self.filter(depth);
        if self.random.once_in(6) {
            self.put("GROUP BY");
            self.list(2, Self::column);
            self.maybe(2, "HAVING COUNT(*) > 1");
        }
        if self.random.once_in(8) && depth > 0 {
            self.put("UNION ALL");
            self.select(depth - 1);
        }
        if depth == 2 && self.random.once_in(4) {
            self.put("ORDER BY");
            self.list(2, Self::column);
            self.maybe(2, "DESC");
            self.maybe(2, "OFFSET 5 ROWS FETCH NEXT @P1 ROWS ONLY");
        }
        if depth == 2 && self.random.once_in(6) {
            let option = *self.random.of(&OPTIONS);
            self.put(&format!("OPTION ({option})"));
        }
    }

    fn columns(&mut self) {
        self.put("(");
        self.list(3, Self::column);
        self.put(")");
    }

    fn output(&mut self, of: &str) {
        if self.random.once_in(4) {
            let column = *self.random.of(&COLUMNS);
            self.put(&format!("OUTPUT {of}.{column}"));
            self.maybe(3, "INTO @changed");
        }
    }

    fn insert(&mut self) {
        self.put("INSERT");
        self.maybe(6, "TOP (5)");
        self.maybe(2, "INTO");
        self.table();
        self.columns();
        self.output("inserted");
        match self.random.below(3) {
            0 => self.select(1),
            1 => {
                self.put("VALUES");
                self.list(3, |custom| {
                    custom.put("(");
                    custom.list(3, Self::value);
                    custom.put(")");
                });
            }
            _ => self.put("DEFAULT VALUES"),
        }
    }

    fn changes(&mut self) {
        self.put("SET");
        self.list(3, |custom| {
            custom.column();
            custom.any(&["=", "=", "+="]);
            custom.expression(1);
        });
    }

    /// The table itself, or an alias that says later what it stands for.
    fn update(&mut self) {
        self.put("UPDATE");
        self.maybe(5, "TOP (5)");
        if self.random.once_in(3) {
            let alias = self.alias();
            self.put(&alias);
            self.changes();
            self.put("FROM");
            self.table();
            self.put(&format!("AS {alias}"));
            if self.random.once_in(2) {
                self.put("JOIN");
                self.source(1);
                self.put("ON");
                self.condition(0);
            }
        } else {
            self.table();
            self.hint();
            self.changes();
            self.output("deleted");
        }
        self.filter(1);
    }

    fn delete(&mut self) {
        self.put("DELETE");
        self.maybe(4, "TOP (5)");
        if self.random.once_in(3) {
            let alias = self.alias();
            self.put(&format!("{alias} FROM"));
            self.table();
            self.put(&alias);
        } else {
            self.maybe(2, "FROM");
            self.table();
            self.output("deleted");
        }
        self.filter(1);
    }

    fn merge(&mut self) {
        self.put("MERGE");
        self.maybe(2, "INTO");
        self.table();
        self.maybe(4, "WITH (HOLDLOCK)");
        self.put("AS target USING");
        if self.random.once_in(2) {
            self.put("(");
            self.select(0);
            self.put(")");
        } else {
            self.table();
        }
        self.put("AS source ON target.id = source.id");
        if self.random.once_in(2) {
            self.put("WHEN MATCHED THEN UPDATE");
            self.changes();
        } else {
            self.put("WHEN NOT MATCHED BY SOURCE THEN DELETE");
        }
        self.maybe(2, "WHEN NOT MATCHED THEN INSERT (a, b) VALUES (source.a, 1)");
        self.output("inserted");
        self.put(";");
    }

    /// A query with a name, and a statement that reads by that name.
    fn named_query(&mut self) {
        self.put("WITH recent (a, b) AS (");
        self.select(1);
        self.put(")");
        if self.random.once_in(2) {
            self.put(", [t 2] AS (SELECT a FROM recent)");
        }
        match self.random.below(3) {
            0 => {
                self.put("INSERT INTO");
                self.table();
                self.put("(a) SELECT a FROM recent");
            }
            1 => {
                self.put("DELETE FROM");
                self.table();
                self.put("WHERE a IN (SELECT a FROM recent)");
            }
            _ => {
                self.put("SELECT r.a FROM recent AS r JOIN");
                self.source(1);
                self.put("ON r.a = 1");
            }
        }
    }
}
