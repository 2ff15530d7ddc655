//! Causes as data (`causes.toml`): what holds a server back, by which means it is induced, and how it is lifted for the control.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Rows of the table: some 100 MB, far more than the server's cache.
pub const ROWS: u32 = 400_000;

/// How much more of a rate or a quota the control has, and by what its delays are divided: what verdicts promise the gain of.
const MORE: f64 = 1.2;
/// The same between client and server, and for the client: the advice is a way or a request that takes 20 % less.
const LESS: f64 = 1.25;

/// By what a seed multiplies rates, quotas and delays.
const SEEDS: [f64; 3] = [1.0, 0.8, 1.25];

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    /// PostgreSQL.
    PostgreSql,
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::PostgreSql, Self::MariaDb, Self::MySql];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PostgreSql => "PostgreSQL",
            Self::MariaDb => "MariaDB",
            Self::MySql => "MySQL",
        }
    }

    /// Whose spelling its settings and statements have.
    pub const fn family(self) -> &'static str {
        match self {
            Self::PostgreSql => "postgresql",
            Self::MariaDb | Self::MySql => "mysql",
        }
    }

    /// The table, for a session in any database.
    pub const fn table(self) -> &'static str {
        match self {
            Self::PostgreSql => "accounts",
            Self::MariaDb | Self::MySql => "test.accounts",
        }
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Causes {
    request: BTreeMap<String, Request>,
    /// The causes.
    pub cause: Vec<Cause>,
}

/// What sessions ask for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    statements: Vec<toml::Value>,
    #[serde(default)]
    writes: bool,
    transaction: Option<bool>,
}

/// What holds a server back.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// What is done, in words.
    pub name: String,
    /// The servers it can be done to. A seed takes one of them.
    pub on: Vec<Product>,
    request: String,
    #[serde(default = "all_rows")]
    rows: u32,
    sessions: u32,
    /// Requests a second by a schedule.
    rate: Option<u32>,
    /// What is done.
    #[serde(default)]
    pub means: Means,
    lifted: Option<Means>,
    lifted_request: Option<String>,
    lifted_rows: Option<u32>,
    lifted_rate: Option<u32>,
    /// What a verdict names first if it is right.
    #[serde(default)]
    pub right: Vec<String>,
    /// What it may name beside that.
    #[serde(default)]
    pub also: Vec<String>,
    /// What the evidence of a verdict without a name has to say.
    pub says: Option<String>,
    /// Words of which a comparison of the two runs has to have one where it says what held the slower one back.
    #[serde(default)]
    pub held: Vec<String>,
    /// What differs between the two runs, in words of which a comparison has to have one.
    #[serde(default)]
    pub differs: Vec<String>,
}

const fn all_rows() -> u32 {
    ROWS
}

/// What is done to a server, and to us.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Means {
    /// Quotas, in cores.
    pub server_cpus: Option<f64>,
    /// The same of our client.
    pub client_cpus: Option<f64>,
    /// Cores that the server may use, counted from the first.
    pub server_cores: Option<u32>,
    /// Reads a second at the device of the data.
    pub data_reads: Option<f64>,
    /// MB of reads a second there.
    pub data_read_mb: Option<f64>,
    /// Writes a second at the device of the log.
    pub log_writes: Option<f64>,
    /// MB of writes a second there.
    pub log_write_mb: Option<f64>,
    /// Memory, with what the system caches for the server, in MB.
    pub memory_mb: Option<u32>,
    /// What calls on files take longer, in ms.
    pub data_read_ms: Option<f64>,
    /// The same for writes of data.
    pub data_write_ms: Option<f64>,
    /// The same for writes of the log.
    pub log_write_ms: Option<f64>,
    /// The same for syncs of the log.
    pub log_sync_ms: Option<f64>,
    /// The same for syncs of the binary log.
    pub binary_log_sync_ms: Option<f64>,
    /// The same for reads and writes of temporary files.
    pub temporary_ms: Option<f64>,
    /// What a proxy takes for a request and its answer together, in ms.
    pub proxy_ms: Option<f64>,
    /// What it lets through, in MB (10^6 bytes) a second.
    pub proxy_mb_per_s: Option<f64>,
    /// Requests that it lets through at a time.
    pub proxy_pool: Option<u32>,
    /// Whether it is our client that is stopped, and not the server.
    pub stops_client: bool,
    /// How long it is stopped at a time, in ms.
    pub stop_ms: Option<f64>,
    /// How long it works between two stops, about, in ms.
    pub stop_rest_ms: Option<f64>,
    /// What others do at the server.
    pub others: Vec<Other>,
    /// The server's settings, by the family of its product.
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
    /// Statements before the run.
    pub statements: Vec<String>,
    /// Statements once all of this is in force, such as what fills the memory that is left.
    pub warms: Vec<String>,
    /// What undoes the statements before, by the family of the product.
    pub undo: BTreeMap<String, String>,
}

/// A session of somebody else, that does the same again and again.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Other {
    /// What it does first.
    pub statements: String,
    /// What ends it.
    #[serde(default)]
    pub release: String,
    /// How long it waits between the two, in ms.
    pub hold_ms: f64,
    /// How long it waits after both, in ms.
    pub rest_ms: f64,
    /// Whether it waits half to one and a half times as long.
    #[serde(default)]
    pub random: bool,
}

/// A run: what our sessions do and what is done to server and client meanwhile.
#[derive(Debug)]
pub struct Plan {
    /// What is done.
    pub means: Means,
    /// The definition of the test.
    pub definition: String,
}

impl Causes {
    /// Those of the file.
    pub fn read() -> Result<Self, String> {
        toml::from_str(include_str!("causes.toml")).map_err(|error| format!("causes.toml: {error}"))
    }

    /// Pairs of settings that differ by one thing.
    pub fn differences() -> Result<Self, String> {
        toml::from_str(include_str!("differences.toml")).map_err(|error| format!("differences.toml: {error}"))
    }

    /// A run with a cause on a server, and its control.
    pub fn plans(&self, cause: &Cause, product: Product, seed: usize, seconds: u32) -> Result<[Plan; 2], String> {
        let factor = SEEDS[seed % SEEDS.len()];
        let mut means = cause.means.clone();
        means.multiply(factor);
        let lifted = match &cause.lifted {
            Some(lifted) => {
                let mut lifted = lifted.clone();
                lifted.multiply(factor);
                lifted
            }
            None => means.lifted(),
        };
        let text = |request: &str, rows, rate| self.definition(cause, request, rows, rate, product, seconds);
        let definition = text(&cause.request, cause.rows, cause.rate)?;
        let control = text(
            cause.lifted_request.as_ref().unwrap_or(&cause.request),
            cause.lifted_rows.unwrap_or(cause.rows),
            cause.lifted_rate.or(cause.rate),
        )?;
        Ok([Plan { means, definition }, Plan { means: lifted, definition: control }])
    }

    fn definition(
        &self,
        cause: &Cause,
        request: &str,
        rows: u32,
        rate: Option<u32>,
        product: Product,
        seconds: u32,
    ) -> Result<String, String> {
        let request = self.request.get(request).ok_or_else(|| format!("there is no request '{request}'"))?;
        let mut kind = toml::Table::new();
        kind.insert("name".to_owned(), "request".into());
        kind.insert("statements".to_owned(), toml::Value::Array(request.statements.clone()));
        if let Some(transaction) = request.transaction {
            kind.insert("transaction".to_owned(), transaction.into());
        }
        let drawn = toml::Value::Array(vec![1_i64.into(), i64::from(rows).into()]);
        let uniform = toml::Table::from_iter([("uniform".to_owned(), drawn)]);
        kind.insert("parameters".to_owned(), toml::Table::from_iter([("aid".to_owned(), uniform.into())]).into());
        if !request.statements.iter().any(|statement| statement.to_string().contains(":aid")) {
            kind.remove("parameters");
        }
        let mut parameters = toml::Table::new();
        parameters.insert("sessions".to_owned(), i64::from(cause.sessions).into());
        parameters.insert("duration".to_owned(), format!("{seconds}s").into());
        if let Some(rate) = rate {
            parameters.insert("rate".to_owned(), i64::from(rate).into());
        }
        let mut all = toml::Table::new();
        all.insert("name".to_owned(), "induced".into());
        all.insert("steps".to_owned(), toml::Value::Array(vec!["requests".into()]));
        all.insert("existing".to_owned(), true.into());
        if request.writes {
            all.insert("writes".to_owned(), true.into());
        }
        all.insert("request".to_owned(), toml::Value::Array(vec![kind.into()]));
        all.insert("parameters".to_owned(), parameters.into());
        let text = toml::to_string(&all).map_err(|error| error.to_string())?;
        Ok(text.replace("ACCOUNTS", product.table()))
    }
}

impl Cause {
    /// The server that a seed takes.
    pub fn product(&self, seed: usize) -> Product {
        self.on[seed % self.on.len()]
    }

    /// Whether the control lifts as much as a verdict speaks of, so that its gain can be compared.
    pub fn is_scaled(&self) -> bool {
        let other = self.lifted.is_some() || self.lifted_request.is_some();
        !other && self.lifted_rows.is_none() && self.lifted_rate.is_none()
    }
}

impl Means {
    /// Rates and quotas, which the control raises.
    fn rates(&mut self) -> [&mut Option<f64>; 5] {
        let Self { server_cpus, data_reads, data_read_mb, log_writes, log_write_mb, .. } = self;
        [server_cpus, data_reads, data_read_mb, log_writes, log_write_mb]
    }

    /// Delays, which it shortens.
    fn delays(&mut self) -> [&mut Option<f64>; 6] {
        let Self { data_read_ms, data_write_ms, log_write_ms, log_sync_ms, binary_log_sync_ms, temporary_ms, .. } =
            self;
        [data_read_ms, data_write_ms, log_write_ms, log_sync_ms, binary_log_sync_ms, temporary_ms]
    }

    fn multiply(&mut self, factor: f64) {
        scale(self.rates(), factor);
        scale(self.delays(), factor);
        let Self { client_cpus, proxy_ms, proxy_mb_per_s, stop_ms, stop_rest_ms, others, .. } = self;
        scale([client_cpus, proxy_ms, proxy_mb_per_s, stop_ms, stop_rest_ms], factor);
        for other in others {
            other.hold_ms *= factor;
        }
    }

    /// The same with so many times its rates and quotas; `None` where it has none of them.
    pub fn with_more(&self, factor: f64) -> Option<Self> {
        let mut more = self.clone();
        more.rates().iter().any(|rate| rate.is_some()).then(|| {
            scale(more.rates(), factor);
            more
        })
    }

    fn lifted(&self) -> Self {
        let mut lifted = self.clone();
        scale(lifted.rates(), MORE);
        scale(lifted.delays(), 1.0 / MORE);
        let Self { client_cpus, proxy_ms, proxy_mb_per_s, .. } = &mut lifted;
        scale([client_cpus, proxy_mb_per_s], LESS);
        scale([proxy_ms], 1.0 / LESS);
        lifted
    }
}

fn scale<const N: usize>(values: [&mut Option<f64>; N], factor: f64) {
    for value in values.into_iter().flatten() {
        *value *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_its_runs_on_every_server() {
        let causes = Causes::read().unwrap();
        assert!(causes.cause.len() >= 40, "{}", causes.cause.len());
        for cause in &causes.cause {
            assert!(!cause.on.is_empty() && cause.right.is_empty() == cause.says.is_some(), "{}", cause.name);
            for (product, seed) in cause.on.iter().zip(0..) {
                let [run, control] = causes.plans(cause, *product, seed, 8).unwrap();
                let differ = format!("{:?}", run.means) != format!("{:?}", control.means);
                assert!(differ || run.definition != control.definition, "{} is not lifted", cause.name);
                assert!(run.definition.contains(product.table()) || !run.definition.contains("ACCOUNTS"));
            }
        }
    }

    #[test]
    fn every_difference_is_one_and_has_its_words() {
        let all = Causes::differences().unwrap();
        assert!(all.cause.len() >= 10, "{}", all.cause.len());
        for cause in &all.cause {
            assert!(!cause.held.is_empty() && !cause.differs.is_empty() && !cause.right.is_empty(), "{}", cause.name);
            let [slower, faster] = all.plans(cause, cause.on[0], 0, 8).unwrap();
            assert_eq!(slower.definition, faster.definition, "{}", cause.name);
            assert_ne!(format!("{:?}", slower.means), format!("{:?}", faster.means), "{}", cause.name);
        }
    }

    #[test]
    fn a_control_has_a_fifth_more_and_delays_a_fifth_less() {
        let means = Means { server_cpus: Some(0.5), log_sync_ms: Some(6.0), proxy_ms: Some(5.0), ..Means::default() };
        let lifted = means.lifted();
        assert_eq!((lifted.server_cpus, lifted.log_sync_ms, lifted.proxy_ms), (Some(0.6), Some(5.0), Some(4.0)));
    }
}
