//! Single stations with Poisson arrivals: M/M/c by Erlang's formula, M/D/c by iteration.

/// The iteration of M/D/c ends when no probability changes by more.
const PRECISION: f64 = 1e-12;

/// More steps are not taken: a station that close to saturation has no practical mean.
const MOST_STEPS: usize = 200_000;

/// The probability that a customer waits in M/M/c: Erlang's C formula, by the recursion of his B formula (Erlang 1917; Cooper,
/// Introduction to queueing theory, 1981). `offered` is arrival rate x service time. 1 where the station is saturated.
pub fn erlang_c(servers: u32, offered: f64) -> f64 {
    let servers_f = f64::from(servers);
    if offered >= servers_f {
        return 1.0;
    }
    let blocked = (1..=servers).fold(1.0, |blocked, n| offered * blocked / (f64::from(n) + offered * blocked));
    let busy = offered / servers_f;
    blocked / (1.0 - busy * (1.0 - blocked))
}

/// Mean wait in the queue of M/M/c in seconds: C / (c / S - λ). `None` where the station is saturated or has no servers.
pub fn exponential_wait(servers: u32, rate: f64, service_s: f64) -> Option<f64> {
    let free = f64::from(servers) / service_s - rate;
    (servers > 0 && rate >= 0.0 && free > 0.0).then(|| erlang_c(servers, rate * service_s) / free)
}

/// Mean wait in the queue of M/D/c in seconds. `None` where the station is saturated or has no servers.
///
/// Method (Crommelin, Delay probability formulae when the holding times are constant, 1932): who is in service now has left after one
/// service time, so the number in the system a service time later is the queue of now and what arrived meanwhile. The distribution that
/// this leaves as it is, is the answer; it is found by repeating the step. The mean wait is the mean queue / λ.
pub fn deterministic_wait(servers: u32, rate: f64, service_s: f64) -> Option<f64> {
    let (count, offered) = (servers as usize, rate * service_s);
    if count == 0 || offered <= 0.0 || offered >= f64::from(servers) {
        return None;
    }
    let busy = offered / f64::from(servers);
    // The tail falls at least as fast as exp(-2 (1 - rho) / rho) for each customer.
    let states = count + (40.0 * busy / (1.0 - busy)).ceil() as usize + 60;
    let mut arrivals = Vec::with_capacity(states);
    let mut term = (-offered).exp();
    for n in 0..states {
        arrivals.push(term);
        term *= offered / (n + 1) as f64;
    }
    let mut now = arrivals.clone();
    for _ in 0..MOST_STEPS {
        // The queue that is left when all in service have gone.
        let queue: Vec<f64> = (0..states)
            .map(|n| if n == 0 { now[..=count].iter().sum() } else { *now.get(n + count).unwrap_or(&0.0) })
            .collect();
        let longest = queue.iter().rposition(|p| *p > 0.0).unwrap_or(0);
        let mut next = vec![0.0; states];
        for (waiting, p) in queue.iter().enumerate().take(longest + 1) {
            for (came, q) in arrivals[..states - waiting].iter().enumerate() {
                next[waiting + came] += p * q;
            }
        }
        let sum: f64 = next.iter().sum();
        for probability in &mut next {
            *probability /= sum;
        }
        let change = next.iter().zip(&now).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        now = next;
        if change < PRECISION {
            let queue: f64 = now.iter().enumerate().skip(count).map(|(n, p)| (n - count) as f64 * p).sum();
            return Some(queue / rate);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value / expected - 1.0).abs() < 1e-4), "{value:?} for {expected}");
    }

    /// One server: rho / (1 - rho) and half of it (Pollaczek and Khinchine). More: tables of Hillier and Lo, Tables of M/D/c.
    #[test]
    fn waits_agree_with_closed_forms_and_tables() {
        for rho in [0.1, 0.5, 0.8, 0.9, 0.95] {
            near(exponential_wait(1, rho, 1.0), rho / (1.0 - rho));
            near(deterministic_wait(1, rho, 1.0), rho / (1.0 - rho) / 2.0);
        }
        // Two servers: W = rho^2 / (1 - rho^2) service times.
        near(exponential_wait(2, 1.6, 1.0), 0.64 / 0.36);
        near(exponential_wait(8, 6.4, 1.0), 0.286_034_87);
        near(deterministic_wait(4, 3.2, 1.0), 0.386_1);
        near(deterministic_wait(8, 7.2, 1.0), 0.450_0);
    }

    #[test]
    fn the_unit_of_time_does_not_matter_and_saturation_has_no_mean() {
        near(deterministic_wait(4, 3_200.0, 1e-3), deterministic_wait(4, 3.2, 1.0).unwrap() * 1e-3);
        for wait in [exponential_wait, deterministic_wait] {
            assert_eq!((wait(4, 4.0, 1.0), wait(0, 1.0, 1.0)), (None, None));
        }
        assert!((erlang_c(4, 5.0) - 1.0).abs() < f64::EPSILON);
    }
}
