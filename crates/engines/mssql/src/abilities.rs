//! What we can see and do at a server, and what that takes (`data/privileges.toml`).

use std::sync::LazyLock;

use plimsoll_engine::capability::{Capability, Need};
use plimsoll_engine::data::rows;
use serde::Deserialize;

use super::sql::{Product, QUOTING};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Abilities(u32);

/// One of them, by its bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(super) enum Ability {
    MakePlaces,
    SeeFiles,
    SeePlans,
    SeeOwnWaits,
    SeeSessions,
    EndSessions,
    SeeSchedulers,
    SeeSpace,
    SeeSizes,
    LoadInBulk,
    Checkpoint,
    DropBuffers,
    SeeLimits,
    SeeResources,
    MakeProcedures,
    SeeWaits,
    /// Nobody is told of it, as nothing gives it: the server knows the hint for parallel plans.
    PreferParallelPlans,
}

impl Abilities {
    /// True if it was found to work.
    pub(super) const fn has(self, ability: Ability) -> bool {
        self.0 & (1 << ability as u32) != 0
    }

    pub(super) fn set(&mut self, ability: Ability, works: bool) {
        if works {
            self.0 |= 1 << ability as u32;
        }
    }

    /// What is permitted and does not work all the same.
    pub(super) const fn unset(&mut self, ability: Ability) {
        self.0 &= !(1 << ability as u32);
    }
}

/// What is known of an ability before a server was asked.
#[derive(Deserialize)]
pub(super) struct Privilege {
    pub(super) ability: Ability,
    pub(super) name: String,
    pub(super) cost: String,
    #[serde(default)]
    gives: Vec<Need>,
    #[serde(default)]
    pub(super) azure_only: bool,
    /// What gives it on a server or an instance, and in Azure SQL Database. `{user}` stands for the user.
    #[serde(default = "state")]
    grant: String,
    #[serde(default = "database_state")]
    azure_grant: String,
}

/// What gives most of them.
fn state() -> String {
    "in master: GRANT VIEW SERVER STATE TO [{user}]; from 2022 on GRANT VIEW SERVER PERFORMANCE STATE TO [{user}] does"
        .to_owned()
}

fn database_state() -> String {
    "GRANT VIEW DATABASE STATE TO [{user}]; in Basic, S0, S1 and pools, in master: ALTER SERVER ROLE ##MS_ServerStateReader## ADD MEMBER [{user}]".to_owned()
}

/// All of them. A test reads the table as well, so that it can't be empty.
pub(super) static PRIVILEGES: LazyLock<Vec<Privilege>> =
    LazyLock::new(|| rows(include_str!("../data/privileges.toml")));

impl Privilege {
    /// What gives it to the user.
    pub(super) fn remedy(&self, product: Product, user: &str) -> String {
        let grant = if product == Product::Database { &self.azure_grant } else { &self.grant };
        grant.replace("[{user}]", &QUOTING.name(user))
    }
}

pub(super) fn table(abilities: Abilities, product: Product, is_microsoft: bool, user: &str) -> Vec<Capability> {
    let of_product = PRIVILEGES.iter().filter(|known| product == Product::Database || !known.azure_only);
    let capability = |known: &'static Privilege| {
        // A right with a name of its own is one that other makers' servers know as well.
        let elsewhere = || {
            let right = known.remedy(product, user);
            let right = if right.starts_with("GRANT ") { format!(": {right} gives it") } else { String::new() };
            format!("this server lacks it, or the user lacks the right to it{right}")
        };
        let remedy = Some(if is_microsoft { known.remedy(product, user) } else { elsewhere() });
        Capability {
            name: &known.name,
            works: abilities.has(known.ability),
            cost: &known.cost,
            remedy,
            gives: &known.gives,
        }
    };
    of_product.map(capability).collect()
}
