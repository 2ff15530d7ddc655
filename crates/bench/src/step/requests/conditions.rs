//! What all phases of a repetition have in common.

use plimsoll_engine::RequestAccess;

use crate::parameters::Parameters;
use crate::workload::mix::{Kind, Mix};

/// The conditions of requests.
pub(super) struct Conditions<'a> {
    pub parameters: &'a Parameters,
    /// What sessions may reach.
    pub access: RequestAccess,
    /// Whether batches are loaded, which end when they have added too much.
    pub is_bulk: bool,
    /// Whether whole tables come or go, for which the other sessions of a thread would have to wait.
    pub moves_tables: bool,
    /// CPUs that the client may use.
    pub cpus: u32,
}

impl<'a> Conditions<'a> {
    pub(super) fn new(parameters: &'a Parameters, access: RequestAccess, mix: &Mix, cpus: u32) -> Self {
        let is_bulk = mix.kinds().contains(&Kind::BulkLoad);
        let moves_tables = is_bulk || mix.kinds().contains(&Kind::TableSelect);
        Self { parameters, access, is_bulk, moves_tables, cpus }
    }
}
