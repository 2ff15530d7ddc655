//! Closed networks by exact mean value analysis, with stations of several servers.

/// A station of a closed network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centre {
    /// Service that a customer needs there in each round, in seconds: visits x service.
    pub demand_s: f64,
    /// Equal servers.
    pub servers: u32,
}

/// The solution of a closed network.
#[derive(Debug, Clone, PartialEq)]
pub struct Solved {
    /// Rounds a second of all customers together.
    pub rate: f64,
    /// Time in the stations for each round, in seconds; think time is not part of it.
    pub response_s: f64,
    /// Share of each station's servers in use.
    pub utilisation: Vec<f64>,
}

/// Exact mean value analysis with one class of customers (Reiser and Lavenberg, Mean-value analysis of closed multichain queuing networks,
/// Journal of the ACM 27 (1980) 313-322). It holds where queues are first come, first served and services exponential; think times may have
/// any distribution. For stations of c servers the probabilities of up to c - 1 customers are carried along.
pub fn mean_value_analysis(customers: u32, think_s: f64, centres: &[Centre]) -> Solved {
    let mut queues = vec![0.0; centres.len()];
    let mut few: Vec<Vec<f64>> = centres.iter().map(|centre| vec![0.0; centre.servers.max(1) as usize]).collect();
    for probabilities in &mut few {
        probabilities[0] = 1.0;
    }
    let (mut rate, mut response_s) = (0.0, 0.0);
    for present in 1..=customers {
        let times: Vec<f64> = centres
            .iter()
            .zip(&queues)
            .zip(&few)
            .map(|((centre, queue), few)| {
                let servers = f64::from(centre.servers.max(1));
                let idle: f64 = few.iter().enumerate().map(|(n, p)| (servers - 1.0 - n as f64) * p).sum();
                centre.demand_s / servers * (1.0 + queue + idle)
            })
            .collect();
        response_s = times.iter().sum();
        rate = f64::from(present) / (think_s + response_s);
        for (((centre, time), queue), few) in centres.iter().zip(&times).zip(&mut queues).zip(&mut few) {
            *queue = rate * time;
            let servers = f64::from(centre.servers.max(1));
            let offered = rate * centre.demand_s;
            for n in (1..few.len()).rev() {
                few[n] = offered / n as f64 * few[n - 1];
            }
            let others: f64 = few.iter().enumerate().skip(1).map(|(n, p)| (servers - n as f64) * p).sum();
            // Rounding may take it below zero near saturation, where it is zero for all that matters.
            few[0] = (1.0 - (offered + others) / servers).max(0.0);
        }
    }
    let utilisation = centres.iter().map(|centre| rate * centre.demand_s / f64::from(centre.servers.max(1))).collect();
    Solved { rate, response_s, utilisation }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine repairman, M/M/c with N customers: its states are known one by one.
    fn repairman(customers: u32, think_s: f64, demand_s: f64, servers: u32) -> f64 {
        let mut weights = vec![1.0];
        for n in 1..=customers {
            let arriving = f64::from(customers - n + 1) / think_s;
            let leaving = f64::from(n.min(servers)) / demand_s;
            weights.push(weights[n as usize - 1] * arriving / leaving);
        }
        let sum: f64 = weights.iter().sum();
        let busy: f64 = weights.iter().enumerate().map(|(n, w)| f64::from((n as u32).min(servers)) * w / sum).sum();
        busy / demand_s
    }

    #[test]
    fn one_station_agrees_with_its_states() {
        for (customers, think_s, demand_s, servers) in
            [(1, 1.0, 0.5, 1), (20, 1.0, 0.1, 1), (30, 1.0, 0.1, 4), (9, 0.2, 0.1, 8)]
        {
            let solved = mean_value_analysis(customers, think_s, &[Centre { demand_s, servers }]);
            let exact = repairman(customers, think_s, demand_s, servers);
            assert!((solved.rate / exact - 1.0).abs() < 1e-9, "{solved:?}, {exact}");
        }
    }

    #[test]
    fn the_bounds_of_a_balanced_network_hold() {
        // Three equal stations without think time: X = N / (D (N + 2)).
        let centres = [Centre { demand_s: 0.1, servers: 1 }; 3];
        let solved = mean_value_analysis(7, 0.0, &centres);
        assert!((solved.rate - 7.0 / (0.1 * 9.0)).abs() < 1e-9, "{solved:?}");
        assert!((solved.response_s * solved.rate - 7.0).abs() < 1e-9);
        assert!((solved.utilisation[0] - 7.0 / 9.0).abs() < 1e-9);
    }
}
