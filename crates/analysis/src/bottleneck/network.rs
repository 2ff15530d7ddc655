//! A closed network of queues: what the rate would be if something were faster.
//!
//! A fixed number of sessions go round: they think, wait for things that take their time whatever the load (latencies),
//! and queue at stations that serve one after the other (a quota of CPU, a limit of I/Os a second). What each request
//! needs of a station is its *demand*: utilisation divided by the rate (the utilisation law). The response time of a
//! station grows with the sessions that are there already (the arrival theorem). This is solved by Schweitzer's
//! approximation. As limits serve evenly, the session in service has half of its time left on average.
//!
//! Sources: Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984), chapters 3 and 6; Reiser and Lavenberg,
//! Mean-value analysis of closed multichain queuing networks, Journal of the ACM 27 (1980) 313-322; Schweitzer, Approximate analysis
//! of multiclass closed networks of queues (1979); the residual time as in Reiser, A queueing network analysis of computer
//! communication networks with window flow control, IEEE Transactions on Communications 27 (1979) 1199-1209.

//!
//! A session that reads ahead uses several stations at once and waits for the slowest. Then a request takes less than the sum of its
//! demands, by a norm between the sum and the largest one, which is fitted like the rest; our own way to join the two bounds of
//! Lazowska's chapter 5.

/// Rounds after which the approximation stands still for all that is to be measured.
const MOST_ROUNDS: usize = 400;
const PRECISION: f64 = 1e-9;
/// Halvings of an interval until it is a point.
const HALVINGS: usize = 60;
/// Sessions that are not searched beyond.
const MOST_SESSIONS: f64 = 1e6;
/// Beyond this norm a sum is its largest part.
const HIGHEST_NORM: f64 = 64.0;

/// Sessions, stations, and the time that passes elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Sessions.
    pub sessions: f64,
    /// Seconds of a station's time that each request needs.
    pub demands: Vec<f64>,
    /// Seconds that pass for each request whatever the load.
    pub elsewhere: f64,
    /// The norm by which demands add up in sessions that do several things at once; `None` for one after the other.
    pub overlap: Option<f64>,
}

impl Network {
    /// The network that delivers `rate` requests a second with these utilisations (from 0 to 1) of its stations. `None` if the
    /// rate is not positive and finite.
    pub fn fitted(sessions: f64, utilisations: &[f64], rate: f64) -> Option<Self> {
        if !(rate.is_finite() && rate > 0.0 && sessions.is_finite()) {
            return None;
        }
        let demands: Vec<f64> = utilisations.iter().map(|used| used.clamp(0.0, 1.0) / rate).collect();
        let mut network = Self { sessions: sessions.max(1.0), demands, elsewhere: 0.0, overlap: None };
        if network.rate() >= rate {
            // The more time passes elsewhere, the lower the rate.
            let (mut low, mut high) = (0.0, network.sessions / rate);
            for _ in 0..HALVINGS {
                network.elsewhere = f64::midpoint(low, high);
                if network.rate() > rate { low = network.elsewhere } else { high = network.elsewhere }
            }
            return Some(network);
        }
        if network.demands.iter().sum::<f64>() * rate >= network.sessions {
            // The higher the norm, the more is done at once and the higher the rate.
            let (mut low, mut high) = (1.0, HIGHEST_NORM);
            for _ in 0..HALVINGS {
                let norm = f64::midpoint(low, high);
                network.overlap = Some(norm);
                if network.rate() < rate { low = norm } else { high = norm }
            }
            return Some(network);
        }
        // Queues that are shorter than by chance: as if there were more sessions.
        let (mut low, mut high) = (network.sessions, MOST_SESSIONS);
        for _ in 0..HALVINGS {
            network.sessions = f64::midpoint(low, high);
            if network.rate() < rate { low = network.sessions } else { high = network.sessions }
        }
        Some(network)
    }

    /// Requests a second.
    pub fn rate(&self) -> f64 {
        self.solved().0
    }

    /// Seconds that a request spends at a station, those in its queue included.
    pub fn time_at(&self, station: usize) -> f64 {
        self.solved().1.get(station).copied().unwrap_or(0.0)
    }

    /// Requests a second, and the time that each spends at the stations.
    fn solved(&self) -> (f64, Vec<f64>) {
        let total: f64 = self.demands.iter().sum::<f64>() + self.elsewhere;
        if total <= 0.0 {
            return (f64::INFINITY, self.demands.clone());
        }
        if let Some(norm) = self.overlap {
            let largest = self.demands.iter().copied().fold(0.0, f64::max);
            let parts: f64 = self.demands.iter().map(|demand| (demand / largest).powf(norm)).sum();
            let rate = self.sessions / (largest * parts.powf(1.0 / norm) + self.elsewhere);
            return (rate, self.demands.clone());
        }
        let others = (self.sessions - 1.0) / self.sessions;
        let mut queues: Vec<f64> = self.demands.iter().map(|demand| self.sessions * demand / total).collect();
        let (mut rate, mut times) = (0.0, self.demands.clone());
        for _ in 0..MOST_ROUNDS {
            times = self
                .demands
                .iter()
                .zip(&queues)
                .map(|(demand, queue)| {
                    let half_served = (rate * demand).min(1.0) * others / 2.0;
                    demand * (1.0 + (others * queue - half_served).max(0.0))
                })
                .collect();
            let next = self.sessions / (self.elsewhere + times.iter().sum::<f64>());
            for (queue, time) in queues.iter_mut().zip(&times) {
                *queue = f64::midpoint(*queue, next * time);
            }
            let still = (next - rate).abs() <= PRECISION * next;
            rate = next;
            if still {
                break;
            }
        }
        // No station does more than it can.
        let most = self.demands.iter().copied().fold(0.0, f64::max);
        (if most > 0.0 { rate.min(1.0 / most) } else { rate }, times)
    }

    /// How much higher the rate would be if the stations' demands and the time elsewhere were these, in percent; lower is negative.
    pub fn gain_percent(&self, demands: Vec<f64>, elsewhere: f64) -> f64 {
        let changed = Self { demands, elsewhere: elsewhere.max(0.0), ..*self };
        100.0 * (changed.rate() / self.rate() - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gain_of(network: &Network, station: usize) -> f64 {
        let mut demands = network.demands.clone();
        demands[station] /= 1.2;
        network.gain_percent(demands, network.elsewhere)
    }

    #[test]
    fn a_lone_session_never_queues() {
        // 10 ms at one station, 5 at another, 5 elsewhere.
        let network = Network { sessions: 1.0, demands: vec![0.010, 0.005], elsewhere: 0.005, overlap: None };
        assert!((network.rate() - 50.0).abs() < 1e-6);
        let fitted = Network::fitted(1.0, &[0.5, 0.25], 50.0).unwrap();
        assert!((fitted.elsewhere - 0.005).abs() < 1e-9, "{fitted:?}");
    }

    #[test]
    fn the_station_that_is_full_is_the_one_that_counts() {
        let network = Network::fitted(32.0, &[1.0, 0.6], 1000.0).unwrap();
        assert!((gain_of(&network, 0) - 20.0).abs() < 1.0, "{}", gain_of(&network, 0));
        assert!(gain_of(&network, 1).abs() < 0.5);
        // The next limit is near: it ends the gain.
        let network = Network::fitted(32.0, &[1.0, 0.92], 1000.0).unwrap();
        assert!((5.0..9.0).contains(&gain_of(&network, 0)), "{}", gain_of(&network, 0));
    }

    #[test]
    fn with_much_time_elsewhere_nothing_counts() {
        let network = Network::fitted(8.0, &[0.3, 0.2], 100.0).unwrap();
        assert!(gain_of(&network, 0).abs() < 1.5 && gain_of(&network, 1).abs() < 1.0);
    }

    #[test]
    fn who_reads_ahead_waits_for_the_slowest() {
        let network = Network::fitted(1.0, &[0.98, 0.66], 10.0).unwrap();
        assert!((network.rate() - 10.0).abs() < 0.01 && network.overlap.is_some(), "{network:?}");
        assert!((14.0..20.0).contains(&gain_of(&network, 0)), "{}", gain_of(&network, 0));
        assert!(gain_of(&network, 1) < 2.5, "{}", gain_of(&network, 1));
    }

    #[test]
    fn without_a_rate_there_is_no_network() {
        assert_eq!(Network::fitted(4.0, &[0.5], 0.0), None);
        assert_eq!(Network::fitted(4.0, &[0.5], f64::NAN), None);
    }
}
