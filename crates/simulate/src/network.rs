//! Queueing networks with known answers, on the same event loop and stations as the server model: what is simulated here is compared with
//! [`crate::analytic`]. Customers come at random from outside, or a fixed number of them goes round with think times between.

use plimsoll_analysis::DEFAULT_CONFIDENCE;
use plimsoll_analysis::autocorrelation::{EffectiveSample, effective_sample};

use crate::events::{Events, Nanos, SECOND};
use crate::random::Stream;
use crate::station::Station;

/// How long a server takes for a customer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Service {
    /// Exponential, with this mean in seconds.
    Exponential(f64),
    /// Always so many seconds.
    Constant(f64),
}

/// Equal servers with one queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    /// How many.
    pub count: u32,
    /// What each takes for a customer.
    pub service: Service,
}

/// Where customers come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Source {
    /// From outside, so many a second, independently of each other (Poisson).
    Open {
        /// Customers a second.
        rate: f64,
    },
    /// A fixed number goes round.
    Closed {
        /// How many.
        customers: u32,
        /// Mean pause before each round in seconds, exponential.
        think_s: f64,
    },
}

/// A network: each customer visits the stations in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// Where customers come from.
    pub source: Source,
    /// The stations.
    pub stations: Vec<Servers>,
}

/// What was observed of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Customers that left a second.
    pub throughput: Mean,
    /// Mean time that a customer waited in queues, in seconds.
    pub wait_s: Mean,
    /// Mean time from a customer's arrival to its departure, in seconds.
    pub response_s: f64,
    /// Customers in the stations on average.
    pub customers: f64,
    /// Of each station the share of its servers' time that was used.
    pub utilisation: Vec<f64>,
    /// Of each station the mean service that it gave, in seconds.
    pub service_s: Vec<f64>,
}

/// A mean with its interval of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Mean {
    /// From means of batches.
    fn of(batches: &[f64]) -> Option<Self> {
        let sample: EffectiveSample = effective_sample(batches)?;
        let (low, high) = sample.interval(DEFAULT_CONFIDENCE)?;
        Some(Self { value: sample.mean, low, high })
    }

    /// True if the interval contains the value.
    pub fn covers(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Batches of a run, whose means give the interval.
const BATCHES: u64 = 40;

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrival,
    /// A customer comes back from its pause.
    Return(u32),
    Served {
        station: u32,
        customer: u32,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct Customer {
    came: Nanos,
    waited: Nanos,
}

struct State<'a> {
    network: &'a Network,
    events: Events<Event>,
    stations: Vec<Station<u32>>,
    customers: Vec<Customer>,
    free: Vec<u32>,
    services: Vec<Stream>,
    service_ns: Vec<u128>,
    served: Vec<u64>,
}

/// Runs a network until `customers` have left, after a tenth of as many that are not counted. `None` where nothing can be told: for a
/// network without stations, and for fewer than 400 customers.
pub fn simulate(network: &Network, customers: u64, seed: u64) -> Option<Observed> {
    let batch = customers / BATCHES;
    if network.stations.is_empty() || batch < 10 {
        return None;
    }
    let mut state = State::new(network, seed);
    let mut outside = Stream::new(seed, 0);
    match network.source {
        Source::Open { .. } => state.events.plan(0, Event::Arrival),
        Source::Closed { customers, think_s } => {
            state.customers = vec![Customer::default(); customers as usize];
            for customer in 0..customers {
                state.events.plan(outside.exponential(think_s * SECOND as f64), Event::Return(customer));
            }
        }
    }
    let (mut waits, mut rates) = (Vec::new(), Vec::new());
    let (mut left, mut waited, mut responded) = (0_u64, 0_u128, 0_u128);
    let (mut started, mut batch_started) = (None, 0);
    let mut response_total = 0_u128;
    while let Some(event) = state.events.next_before(Nanos::MAX) {
        let now = state.events.now();
        let done = match (event, network.source) {
            (Event::Arrival, Source::Open { rate }) => {
                state.events.plan_in(outside.exponential(SECOND as f64 / rate), Event::Arrival);
                let customer = state.free.pop().unwrap_or_else(|| {
                    state.customers.push(Customer::default());
                    state.customers.len() as u32 - 1
                });
                state.enter(customer);
                None
            }
            (Event::Arrival, Source::Closed { .. }) => None,
            (Event::Return(customer), _) => {
                state.enter(customer);
                None
            }
            (Event::Served { station, customer }, _) => state.served(station as usize, customer),
        };
        let Some(customer) = done else { continue };
        let Customer { came, waited: wait } = state.customers[customer as usize];
        match network.source {
            Source::Open { .. } => state.free.push(customer),
            Source::Closed { think_s, .. } => {
                state.events.plan_in(outside.exponential(think_s * SECOND as f64), Event::Return(customer));
            }
        }
        left += 1;
        waited += u128::from(wait);
        responded += u128::from(now - came);
        if started.is_none() && left == customers / 10 {
            started = Some(now);
            state.restart(now);
        } else if started.is_none() || left < batch {
            continue;
        } else {
            waits.push(waited as f64 / left as f64 / SECOND as f64);
            rates.push(left as f64 * SECOND as f64 / (now - batch_started) as f64);
            response_total += responded;
        }
        (left, waited, responded, batch_started) = (0, 0, 0, now);
        if waits.len() as u64 == BATCHES {
            break;
        }
    }
    let now = state.events.now();
    let span = (now - started?) as f64;
    let mut present = 0.0;
    let mut utilisation = Vec::new();
    for (station, servers) in state.stations.iter_mut().zip(&network.stations) {
        present += station.present_ns(now) as f64 / span;
        utilisation.push(station.busy_ns(now) as f64 / span / f64::from(servers.count));
    }
    let services = state.service_ns.iter().zip(&state.served);
    Some(Observed {
        throughput: Mean::of(&rates)?,
        wait_s: Mean::of(&waits)?,
        response_s: response_total as f64 / (batch * BATCHES) as f64 / SECOND as f64,
        customers: present,
        utilisation,
        service_s: services.map(|(ns, served)| *ns as f64 / *served as f64 / SECOND as f64).collect(),
    })
}

impl<'a> State<'a> {
    fn new(network: &'a Network, seed: u64) -> Self {
        let stations = network.stations.len();
        Self {
            network,
            events: Events::default(),
            stations: network.stations.iter().map(|servers| Station::new(servers.count)).collect(),
            customers: Vec::new(),
            free: Vec::new(),
            services: (1..=stations as u64).map(|user| Stream::new(seed, user)).collect(),
            service_ns: vec![0; stations],
            served: vec![0; stations],
        }
    }

    fn restart(&mut self, now: Nanos) {
        self.stations.iter_mut().for_each(|station| station.restart(now));
        self.service_ns.fill(0);
        self.served.fill(0);
    }

    fn enter(&mut self, customer: u32) {
        self.customers[customer as usize] = Customer { came: self.events.now(), waited: 0 };
        self.visit(0, customer);
    }

    fn visit(&mut self, station: usize, customer: u32) {
        if self.stations[station].arrive(self.events.now(), customer) {
            self.serve(station, customer);
        }
    }

    fn serve(&mut self, station: usize, customer: u32) {
        let service = match self.network.stations[station].service {
            Service::Exponential(mean) => self.services[station].exponential(mean * SECOND as f64),
            Service::Constant(time) => (time * SECOND as f64).round() as Nanos,
        };
        self.service_ns[station] += u128::from(service);
        self.served[station] += 1;
        self.events.plan_in(service, Event::Served { station: station as u32, customer });
    }

    /// The customer, if it leaves the network.
    fn served(&mut self, station: usize, customer: u32) -> Option<u32> {
        if let Some((next, waited)) = self.stations[station].depart(self.events.now()) {
            self.customers[next as usize].waited += waited;
            self.serve(station, next);
        }
        if station + 1 < self.stations.len() {
            self.visit(station + 1, customer);
            return None;
        }
        Some(customer)
    }
}
