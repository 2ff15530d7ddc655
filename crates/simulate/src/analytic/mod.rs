//! What theory knows exactly, to hold the simulator against: single stations, closed networks, the operational laws, and the universal
//! scalability law as a description of a grid of sessions.

mod closed;
mod open;
mod scalability;

pub use closed::{Centre, Solved, mean_value_analysis};
pub use open::{deterministic_wait, erlang_c, exponential_wait};
pub use scalability::Scalability;

/// Utilisation of a station with `servers` servers by the utilisation law: U = X S / c (Denning and Buzen, The operational analysis of
/// queueing network models, Computing Surveys 10 (1978) 225-261). Rate a second, service in seconds.
pub fn utilisation(rate: f64, service_s: f64, servers: u32) -> f64 {
    rate * service_s / f64::from(servers)
}

/// Customers in a system by Little's law: L = X W (Little, A proof for the queuing formula L = λW, Operations Research 9 (1961)
/// 383-387). Rate a second, time in the system in seconds.
pub fn customers(rate: f64, response_s: f64) -> f64 {
    rate * response_s
}

/// Rate of a closed system by the interactive response time law: X = N / (R + Z) (Denning and Buzen 1978). Times in seconds.
pub fn closed_rate(sessions: f64, response_s: f64, think_s: f64) -> f64 {
    sessions / (response_s + think_s)
}
