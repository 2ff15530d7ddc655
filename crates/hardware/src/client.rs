//! The client: so many CPU-seconds a second for all its sessions together, and what a statement costs it before the server
//! hears of it. The quota is that of a [`CpuSpec`], at most one core for each session.
//!
//! Left out: what the size of an answer costs, the network, and what a client does while it waits.

use serde::{Deserialize, Serialize};

use crate::CpuSpec;
use crate::cpu::LONGEST_PAGE;

/// What a client has and needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClientSpec {
    /// CPU-seconds a second for all sessions together; one session uses at most one core of it.
    pub cores: f64,
    /// Picoseconds of its CPU for each statement.
    pub request_ps: u64,
}

impl ClientSpec {
    /// The quota of it alone.
    pub(crate) const fn cpu(&self) -> CpuSpec {
        CpuSpec { cores: self.cores, statement_ps: self.request_ps, ..CpuSpec::unlimited() }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        if self.request_ps == 0 || self.request_ps > LONGEST_PAGE {
            return Err("the time of a request must be more than 0 and at most 1s".to_owned());
        }
        self.cpu().check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_a_price_is_none() {
        let client = |cores, request_ps| ClientSpec { cores, request_ps }.check();
        assert_eq!(client(1.0, 40_000_000), Ok(()));
        assert!(client(1.0, 0).unwrap_err().contains("the time of a request"));
        assert!(client(0.0, 1).unwrap_err().contains("cores"));
    }
}
