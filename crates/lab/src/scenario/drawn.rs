//! Workloads, and hardware that is drawn to go with them.

use std::time::Duration;

use plimsoll_hardware::Spec;

use super::class::{Class, Half};
use super::demand::{Demand, Hardware, Headroom, Prices};
use super::draw::Draw;
use super::family::Family;
use super::workload::Workload;
use super::{SECONDS, Scenario};
use crate::fault::Fault;

const MOST_SESSIONS: f64 = 64.0;

/// What is drawn beside the rest, by which no other number changes.
const LENGTHS: u64 = 0x6c65_6e67;
const COMPUTING: u64 = 0x636f_7265;

/// Requests a second that are few: they are made for five times as long.
const FEW: f64 = 100.0;

impl Family {
    /// The scenario of a seed.
    pub fn scenario(self, half: Half, aims_at: Class, seed: u64) -> Scenario {
        let mut draw = Draw::new(seed);
        let workload = Workload::of(self, &mut draw, aims_at);
        let demand = workload.demand;
        let (prices, rate, sessions, pace) = self.pace(&mut draw, aims_at, &demand);
        // A rate of few requests is a matter of chance in a short time; some of the others last a minute as well.
        let is_long = rate < FEW || draw.beside(LENGTHS).chance(0.2);
        let seconds = if is_long { 5 * SECONDS } else { SECONDS };
        let mut room = self.headroom(&mut draw, aims_at, &demand, pace);
        if let Pace::Computing(cores) = pace {
            room.cpu = cores / (rate * prices.cpu_seconds(&demand));
        }
        let is_wide = |room: f64| room <= 1.0 || room > 1.6;
        let device = if demand.log_bytes > 0.0 { "log" } else { "data" };
        let wide = if device == "log" { is_wide(room.log) } else { is_wide(room.iops) && is_wide(room.bandwidth) };
        let may_have = matches!(pace, Pace::Full) && wide;
        let hardware = Hardware {
            page_bytes: workload.page_bytes,
            memory_bytes: (workload.memory_pages.round() as u64).max(64) * workload.page_bytes,
            rate,
            demand,
            prices,
            room,
            neighbour: (may_have && draw.chance(0.5)).then_some(device),
            log_by_number: draw.chance(0.4),
        };
        let (mut faults, name) = (Vec::new(), format!("{}-{seed}", self.name()));
        if aims_at == Class::Device {
            // A whole number of them falls into the time that is measured, whenever it begins.
            let every = f64::from(seconds) / draw.scale(4.0, 20.0).round();
            let millis = |seconds: f64| Duration::from_millis((seconds * 1e3).round() as u64);
            faults.push(Fault::DeviceFreeze(millis(every), millis(every * draw.between(0.12, 0.35))));
        }
        let pace = match pace {
            Pace::Offered => format!("rate = {}\narrivals = \"poisson\"\n", rate.round()),
            Pace::Thinking(seconds) => format!("think = \"{:.3}ms\"\narrivals = \"poisson\"\n", seconds * 1e3),
            Pace::Full | Pace::Latency | Pace::Computing(_) => String::new(),
        };
        let test = format!(
            "name = \"{name}\"\ntitle = \"{} from {sessions} sessions\"\nsteps = [\"requests\"]\ncopies = {}\n\n{}\n[parameters]\nsessions = {sessions}\nduration = \"{seconds}s\"\nseed = {{luck}}\n{pace}",
            self.name(),
            workload.copies,
            workload.text
        );
        let text = hardware.text(&name);
        // A text that could not be read would be a mistake above, which the tests of this module would show.
        let spec = Spec::parse("scenario.toml", &text).unwrap_or_else(|_| Spec::unlimited(name));
        Scenario {
            half,
            family: self,
            aims_at,
            seed,
            luck: seed,
            hardware: text,
            spec,
            faults,
            locked_keys: workload.locked_keys,
            test,
        }
    }

    /// Prices, requests a second, sessions, and how they are made.
    fn pace(self, draw: &mut Draw, aims_at: Class, demand: &Demand) -> (Prices, f64, u64, Pace) {
        let prices = Prices::draw(draw);
        let seconds = prices.seconds(demand);
        let pace = match aims_at {
            Class::Nothing => match draw.one(&[0, 1, 2]) {
                0 => Pace::Latency,
                1 => Pace::Thinking(draw.scale(0.005, 0.05)),
                _ => Pace::Offered,
            },
            Class::Memory | Class::Device | Class::Locks => {
                if aims_at != Class::Locks && draw.chance(0.35) {
                    Pace::Full
                } else {
                    Pace::Latency
                }
            }
            _ => Pace::Full,
        };
        if self == Self::RangeScans {
            return (prices, draw.scale(25.0, 60.0), 4, pace);
        }
        // What a hot row lets through, from however many sessions.
        if aims_at == Class::Locks {
            let held = prices.log_ms / 1e3 + 2.0 * prices.statement_us / 1e6;
            return (prices, 1.0 / held, draw.between(6.0, 24.0) as u64, pace);
        }
        let wanted = draw.scale(500.0, 2000.0);
        match pace {
            Pace::Latency => {
                let sessions = if aims_at == Class::Nothing { draw.between(1.0, 6.0) } else { draw.between(8.0, 20.0) };
                let sessions = sessions.floor().min((2500.0 * seconds).ceil().max(1.0));
                let mut other = draw.beside(COMPUTING);
                if aims_at == Class::Nothing && demand.log_bytes <= 0.0 && other.chance(0.6) {
                    // Each has a core for itself, on which it computes for half of its time or more.
                    let prices = prices.with_cpu(demand, other.scale(1.0, 8.0));
                    let cores = sessions * other.one(&[1.0, 1.5, 2.0]);
                    return (prices, sessions / prices.seconds(demand), sessions as u64, Pace::Computing(cores));
                }
                (prices, sessions / seconds, sessions as u64, pace)
            }
            Pace::Thinking(think) => {
                let sessions = (wanted * (think + seconds)).ceil().clamp(4.0, MOST_SESSIONS);
                (prices, sessions / (think + seconds), sessions as u64, pace)
            }
            Pace::Full | Pace::Offered | Pace::Computing(_) => {
                // Where two limits are near each other, a few sessions wait at one while the other idles.
                let few = draw.between(16.0, 32.0).round();
                let crowd = draw.between(2.2, 4.0);
                let rate = wanted.min(MOST_SESSIONS / (crowd * seconds));
                (prices, rate, (rate * seconds * crowd).ceil().clamp(few, MOST_SESSIONS) as u64, pace)
            }
        }
    }

    fn headroom(self, draw: &mut Draw, aims_at: Class, demand: &Demand, pace: Pace) -> Headroom {
        let mut used = vec![Class::Cpu, Class::Client];
        if demand.reads > 0.0 {
            used.extend([Class::DataIops, Class::DataBandwidth]);
        }
        if demand.log_bytes > 0.0 {
            used.push(Class::LogWrite);
        }
        let mut room = Headroom::draw(draw, aims_at, &used);
        match (aims_at, pace) {
            // Transactions hold their locks while they wait for anything: all of it has to be quick.
            (Class::Locks, _) => {
                room.times(12.0);
                room.client = None;
            }
            // A limit takes part in the time of every request: where sessions are few it has to be far away.
            (Class::Nothing, Pace::Latency | Pace::Computing(_)) => room.times(14.0),
            (_, Pace::Latency) => room.times(5.0),
            (_, Pace::Thinking(_)) => room.times(1.3),
            // Two that bind together.
            (Class::Memory, _) => room.set(Class::DataIops, 1.0),
            (Class::Device, _) => {
                let other = if demand.log_bytes > 0.0 { Class::LogWrite } else { Class::Cpu };
                room.set(other, 1.0);
            }
            _ => {}
        }
        if self == Self::RangeScans {
            room.cpu = room.cpu.max(4.0);
        }
        room
    }
}

#[derive(Debug, Clone, Copy)]
enum Pace {
    /// As fast as possible from enough sessions for a limit to bind.
    Full,
    /// As fast as possible from so few that latencies decide.
    Latency,
    /// The same where the time is that of a core, of which there are enough: so many.
    Computing(f64),
    /// With a pause after each, in seconds.
    Thinking(f64),
    /// By a schedule.
    Offered,
}
