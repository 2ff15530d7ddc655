//! The identity that the server states, and what it lets us see and do.

use std::collections::BTreeMap;
use std::time::Duration;

use plimsoll_engine::{Capability, Description, ErrorKind, Result, Row, Value, WeakIsolation};
use plimsoll_measurement::Ceiling;

use super::abilities::{self, Abilities, Ability, PRIVILEGES};
use super::connect::Connector;
use super::control::{Control, text_of, whole};
use super::identity::Identity;
use super::sql::{self, Product, Text};

/// Name of the engine in run records.
pub(super) const NAME: &str = "sqlserver";
/// Bytes of a page; there is one size.
pub(super) const PAGE_BYTES: u64 = 8_192;

/// What is to be said beside the counter "Target Server Memory": it said 3 GB at levels with much less memory
/// (reference, 2.13).
const NO_LIMIT: &str = "what the server aims at, which need not be what the level lets it use";

const MB: f64 = (1 << 20) as f64;

/// Names of the columns of [`sql::DATABASE_SETTINGS`] and of [`sql::GOVERNANCE`].
const SETTINGS: &str = "recovery_model is_read_committed_snapshot_on snapshot_isolation_state delayed_durability \
                        compatibility_level collation_name page_verify_option is_auto_shrink_on is_encrypted is_read_only";
const LIMITS: &str = "slo_name dtu_limit cpu_limit max_dop max_sessions primary_group_max_workers \
                      primary_max_log_rate_bytes_per_s primary_group_max_iops pool_max_iops max_transaction_size_kb";

/// A server as it was when the target was opened.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) description: Description,
    pub(super) product: Product,
    pub(super) abilities: Abilities,
    pub(super) capabilities: Vec<Capability>,
    pub(super) free_bytes: Option<u64>,
    /// Which of the statements' editions it is; `None` for another maker's server, and for a release that is not known.
    pub(super) edition: Option<&'static str>,
    /// The server by the name that it has.
    pub(super) name: String,
    /// The database by the name that it has.
    pub(super) database: String,
    /// What is in force there.
    pub(super) ceilings: Vec<Ceiling>,
}

pub(super) fn describe(control: &mut Control, connector: &Connector) -> Result<Server> {
    let abilities = Abilities::default();
    let mut probe = Probe { control, abilities, product: Product::Server, ceilings: Vec::new() };
    let identity = Identity::of(probe.one(sql::IDENTITY)?.as_ref());
    let product = identity.product;
    probe.product = product;

    let mut settings = BTreeMap::new();
    if let Some(edition) = &identity.edition_name {
        settings.insert("edition".to_owned(), edition.clone());
    }
    settings.insert("product".to_owned(), identity.product_name().to_owned());
    let mut warnings = connector.warnings.clone();
    if !identity.is_microsoft {
        let name = if identity.about.is_empty() { "a server that does not say its name" } else { &identity.about };
        warnings.push(format!(
            "this is not Microsoft's SQL Server but {name}: hints of statements may have no effect, \
             system views may lack figures, and a missing table may be noticed only when a statement runs"
        ));
    }
    let updateability = probe.one(sql::UPDATEABILITY)?.and_then(|row| text_of(&row, 0));
    if updateability.is_some_and(|can| can.eq_ignore_ascii_case("READ_ONLY")) {
        warnings.push("this database can only be read: tests that make tables fail; connect to the primary".to_owned());
    }
    probe.database_settings(&mut settings, &mut warnings)?;
    probe.files(&mut settings)?;
    let is_alone = probe.level(&mut settings)?;
    let mut ceilings = std::mem::take(&mut probe.ceilings);
    let cpus = probe.seen(Ability::SeeSchedulers, sql::SCHEDULERS)?;
    // In Azure a level may have less than what its server shows.
    if let Some(cpus) = cpus.filter(|_| product != Product::Database) {
        ceilings.extend(Ceiling::new("cpu", cpus as f64, "sys.dm_os_schedulers"));
    }
    if let Some(kilobytes) = probe.one(sql::TARGET_MEMORY)?.and_then(|row| whole(&row, 0)) {
        settings.insert("target_server_memory".to_owned(), format!("{} MB ({NO_LIMIT})", kilobytes / 1024));
    }
    probe.permissions(identity.major(), is_alone, connector.drop_clean_buffers)?;
    // A server of another maker may permit what it doesn't have.
    if !identity.is_microsoft && !probe.answers(sql::SESSIONS)? {
        probe.abilities.unset(Ability::SeeSessions);
    }
    for (ability, text) in [
        (Ability::SeeFiles, sql::FILE_STATISTICS),
        (Ability::SeeOwnWaits, sql::OWN_WAITS),
        (Ability::SeePlans, sql::PLAN_READS),
        (Ability::SeeSizes, sql::TABLE_SIZE),
    ] {
        let works = probe.answers(text)?;
        probe.abilities.set(ability, works);
    }
    let waits = if product == Product::Database { sql::DATABASE_WAITS } else { sql::SERVER_WAITS };
    let works = probe.answers(waits)?;
    probe.abilities.set(Ability::SeeWaits, works);
    let together = probe.one(sql::PUTS_TOGETHER)?.and_then(|row| text_of(&row, 0));
    probe.abilities.set(Ability::LoadInBulk, together.as_deref() == Some("a,b"));
    let may = probe.one(sql::MAY_MAKE_PROCEDURES)?.and_then(|row| whole(&row, 0));
    // A server that can't say may still allow it.
    probe.abilities.set(Ability::MakeProcedures, may != Some(0));
    let free_bytes = probe.free_bytes(identity.largest_database())?;
    probe.abilities.set(Ability::PreferParallelPlans, identity.prefers_parallel());

    let abilities = probe.abilities;
    let capabilities = abilities::table(abilities, product, identity.is_microsoft, &connector.errors.user);
    // Emptying the cache takes consent. Only a run with a cold start has to hear of it, and is told then.
    let said: Vec<&str> =
        PRIVILEGES.iter().filter(|it| it.ability != Ability::DropBuffers).map(|it| it.name.as_str()).collect();
    let missing = capabilities.iter().filter(|capability| said.contains(&capability.name));
    warnings.extend(missing.filter_map(Capability::warning));
    if connector.errors.seen.is_sent_on() {
        settings.insert("connection_policy".to_owned(), "redirect".to_owned());
    }
    let is_serverless = settings.get("service_objective").is_some_and(|objective| sleeps(objective));
    warnings.extend(connector.errors.seen.told(is_serverless));
    let server = identity.server.clone().unwrap_or_else(|| connector.errors.address.clone());
    let database = identity.database.clone().unwrap_or_else(|| connector.database().to_owned());
    let weak_isolation = if identity.is_microsoft {
        WeakIsolation::Effective("READ UNCOMMITTED (WITH (NOLOCK))".to_owned())
    } else {
        WeakIsolation::NoEffect("this server accepts the hint and may not heed it".to_owned())
    };
    let description = Description {
        settings,
        cpus: cpus.and_then(|cpus| u32::try_from(cpus).ok()).filter(|cpus| *cpus > 0),
        fingerprint: format!("{server}/{database}"),
        warnings,
        // The view has averages of fifteen seconds, and the last of them that was begun may have been so just before.
        memory_report_age: if product == Product::Database { Duration::from_secs(35) } else { Duration::ZERO },
        ..Description::new(NAME, identity.version(), PAGE_BYTES, weak_isolation)
    }
    .shown();
    Ok(Server {
        description,
        product,
        abilities,
        capabilities,
        free_bytes,
        edition: identity.edition(),
        name: server,
        database,
        ceilings,
    })
}

/// Limits in force, by the columns of [`sql::GOVERNANCE`]. Of two of a resource the lower is met.
fn governed(row: &Row) -> Vec<Ceiling> {
    let number = |index: usize| match row.get(index) {
        Value::Float(number) => Some(number),
        _ => whole(row, index).map(|number| number as f64),
    };
    let limits = [
        ("cpu", number(2), "cpu_limit"),
        ("sessions", number(4), "max_sessions"),
        ("workers", number(5), "primary_group_max_workers"),
        ("log_bandwidth", number(6).map(|bytes| bytes / MB), "primary_max_log_rate"),
        ("data_iops", number(7), "primary_group_max_io"),
        ("data_iops", number(8), "pool_max_io"),
    ];
    let mut ceilings: Vec<Ceiling> = Vec::new();
    for (resource, value, column) in limits {
        let source = format!("sys.dm_user_db_resource_governance, {column}");
        let Some(ceiling) = value.and_then(|value| Ceiling::new(resource, value, source)) else { continue };
        match ceilings.iter_mut().find(|known| known.resource == resource) {
            Some(known) if known.value <= ceiling.value => {}
            Some(known) => *known = ceiling,
            None => ceilings.push(ceiling),
        }
    }
    ceilings
}

/// True for a service objective with databases that share a server.
fn shares(objective: &str) -> bool {
    let objective = objective.trim();
    objective.is_empty()
        || ["ElasticPool", "Basic", "S0", "S1"].iter().any(|small| objective.eq_ignore_ascii_case(small))
}

/// True for a service objective of the serverless tier, which pauses a database that nobody uses and wakes it at the next log-in
/// (azure/azure-sql/database/serverless-tier-overview).
fn sleeps(objective: &str) -> bool {
    ["GP_S_", "HS_S_"].iter().any(|serverless| objective.starts_with(serverless))
}

/// Keeps the values of a row under these names, of those that are known.
fn keep(settings: &mut BTreeMap<String, String>, names: &str, row: &Row) {
    for (index, name) in names.split(' ').enumerate() {
        let value = match row.get(index) {
            Value::Text(text) => text.to_owned(),
            Value::BigInt(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => continue,
        };
        settings.insert(name.to_owned(), value);
    }
}

/// Asks, and takes an error of the server for "no".
struct Probe<'a> {
    control: &'a mut Control,
    abilities: Abilities,
    product: Product,
    ceilings: Vec<Ceiling>,
}

impl Probe<'_> {
    /// The rows of a text; `None` if the server does not have it or does not let us.
    fn rows(&mut self, text: Text) -> Result<Option<Vec<Row>>> {
        if !text.is_for(self.product) {
            return Ok(None);
        }
        let values = vec![Value::Text("nothing is called so"); text.parameters()];
        match self.control.rows(text, &values) {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if error.kind == ErrorKind::Lost || error.kind == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                tracing::debug!(text = text.name(), %error, "not available");
                Ok(None)
            }
        }
    }

    fn one(&mut self, text: Text) -> Result<Option<Row>> {
        Ok(self.rows(text)?.and_then(|rows| rows.into_iter().next()))
    }

    fn answers(&mut self, text: Text) -> Result<bool> {
        Ok(self.rows(text)?.is_some())
    }

    /// A number that shows an ability by being there.
    fn seen(&mut self, ability: Ability, text: Text) -> Result<Option<i64>> {
        let number = self.one(text)?.and_then(|row| whole(&row, 0)).filter(|number| *number > 0);
        self.abilities.set(ability, number.is_some());
        Ok(number)
    }

    fn database_settings(&mut self, settings: &mut BTreeMap<String, String>, warnings: &mut Vec<String>) -> Result<()> {
        let Some(row) = self.one(sql::DATABASE_SETTINGS)? else { return Ok(()) };
        keep(settings, SETTINGS, &row);
        if text_of(&row, 3).is_some_and(|durability| durability == "FORCED") {
            warnings.push(
                "delayed durability is forced: commits are faster than they could safely be, and a crash loses the last ones".to_owned(),
            );
        }
        Ok(())
    }

    fn files(&mut self, settings: &mut BTreeMap<String, String>) -> Result<()> {
        for row in self.rows(sql::FILES)?.unwrap_or_default() {
            let (Some(name), Some(kind), Some(bytes)) = (text_of(&row, 0), text_of(&row, 1), whole(&row, 2)) else {
                continue;
            };
            let growth = match (whole(&row, 4), whole(&row, 5)) {
                (Some(0), _) => "does not grow".to_owned(),
                (Some(percent), Some(1)) => format!("grows by {percent} %"),
                (Some(pages), _) => format!("grows by {} MB", pages / 128),
                _ => "growth unknown".to_owned(),
            };
            settings.insert(format!("file {name}"), format!("{}, {} MB, {growth}", kind.to_lowercase(), bytes >> 20));
        }
        Ok(())
    }

    /// The level of a database in Azure and what is in force there; true only if it is known to share its server with none.
    fn level(&mut self, settings: &mut BTreeMap<String, String>) -> Result<bool> {
        let mut is_alone = false;
        if let Some(row) = self.one(sql::OBJECTIVE)? {
            keep(settings, "service_tier service_objective elastic_pool", &row);
            let alone = |index: usize| text_of(&row, index).is_some_and(|objective| !shares(&objective));
            is_alone = alone(1) && alone(3) && matches!(row.get(2), Value::Null);
        }
        if let Some(row) = self.one(sql::GOVERNANCE)? {
            self.abilities.set(Ability::SeeLimits, true);
            keep(settings, LIMITS, &row);
            self.ceilings = governed(&row);
        }
        let works = self.answers(sql::RESOURCES)?;
        self.abilities.set(Ability::SeeResources, works);
        Ok(is_alone)
    }

    fn permissions(&mut self, major: Option<i64>, is_alone: bool, consent: bool) -> Result<()> {
        // From 2022 on there are smaller permissions. A server that does not say its version may be a new one.
        let is_new = self.product == Product::Instance || major.is_none_or(|major| major >= 16);
        let is_azure = self.product == Product::Database;
        let text = match (is_azure, is_new) {
            (true, _) => sql::AZURE_PERMISSIONS,
            (_, true) => sql::PERMISSIONS_2022,
            _ => sql::PERMISSIONS,
        };
        let Some(row) = self.one(text)? else {
            // A server that can't say may still allow it; a place is tried anyway.
            self.abilities.set(Ability::MakePlaces, true);
            return Ok(());
        };
        // What the server does not say is tried.
        let may = |index: usize| whole(&row, index) != Some(0);
        let has = |index: usize| whole(&row, index) == Some(1);
        // In Azure the server's own role goes beside the database's permissions; elsewhere it is sysadmin.
        let (state, performance_state, role) = (may(3), has(4), has(7));
        let abilities = &mut self.abilities;
        abilities.set(Ability::MakePlaces, may(0) && may(1));
        abilities.set(Ability::Checkpoint, may(2) || (role && !is_azure));
        abilities.set(Ability::SeeSessions, state || performance_state || role);
        abilities.set(Ability::EndSessions, may(5) || (role && !is_azure));
        let may_drop = if is_azure { is_alone && may(6) } else { role || (is_new && may(6)) };
        abilities.set(Ability::DropBuffers, consent && may_drop);
        Ok(())
    }

    /// Bytes that the database may still take: of the level's largest size in Azure, else of the disk, and of the edition's largest
    /// size.
    fn free_bytes(&mut self, most_bytes: Option<u64>) -> Result<Option<u64>> {
        let largest = self.one(sql::LARGEST_SIZE)?;
        if largest.as_ref().and_then(|row| whole(row, 0)).is_some_and(|bytes| bytes <= 0) {
            // It is known that there is no limit.
            self.abilities.set(Ability::SeeSpace, true);
            return Ok(None);
        }
        let left = largest.and_then(|row| Some(whole(&row, 0)?.saturating_sub(whole(&row, 1)?)));
        let free = match left {
            None => self.one(sql::FREE_SPACE)?.and_then(|row| whole(&row, 0)),
            left => left,
        };
        let mut free = free.and_then(|bytes| u64::try_from(bytes).ok());
        // Pages that are free within the files may be filled as well, so that only used ones count.
        if let Some(most_bytes) = most_bytes
            && let Some(used) = self.one(sql::USED)?.and_then(|row| whole(&row, 0))
        {
            let left = most_bytes.saturating_sub(u64::try_from(used).unwrap_or(0));
            free = Some(free.map_or(left, |free| free.min(left)));
        }
        self.abilities.set(Ability::SeeSpace, free.is_some());
        Ok(free)
    }
}
