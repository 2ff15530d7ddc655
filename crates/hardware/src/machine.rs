//! The machine at work: devices, caps and CPU of one [`Spec`], and what they were busy with.

use plimsoll_measurement::Moment;

use crate::cpu::{Cpu, CpuWork};
use crate::device::{CapState, Device};
use crate::meter::Meter;
use crate::{Done, Io, Spec};

/// What a file is for, hence on which device it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The database itself.
    Data,
    /// The log or journal.
    Log,
    /// Temporary files; on the data device itself where the specification has no device for them.
    Temp,
    /// Whole databases that the service moves; on the data device where the specification has nothing else for them.
    Movement,
}

/// What the resource view shows as a percentage of its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// The CPU quota.
    Cpu,
    /// Reads and writes on the data device.
    DataIo,
    /// Everything on the log device.
    LogWrite,
}

/// The state of modelled hardware. Calls should come in the order of their time: a limit's backlog never moves back.
#[derive(Debug, Clone)]
pub struct Machine {
    data: Device,
    log: Device,
    temp: Option<Device>,
    movement: Option<Device>,
    caps: Vec<CapState>,
    cpu: Cpu,
    client: Option<Cpu>,
}

impl Machine {
    /// A machine at time 0, idle, with full credit. Expects a specification that passes [`Spec::check`]: a cap that the
    /// specification does not have would not bind.
    pub fn new(spec: &Spec, seed: u64) -> Self {
        let caps: Vec<CapState> = spec.caps.iter().map(CapState::new).collect();
        Self {
            data: Device::new(&spec.data, &caps, seed, 0),
            log: Device::new(&spec.log, &caps, seed, 1),
            temp: spec.temp.as_ref().map(|temp| Device::new(temp, &caps, seed, 2)),
            movement: spec.movement.as_ref().map(|movement| Device::new(movement, &caps, seed, 3)),
            cpu: Cpu::new(&spec.cpu),
            client: spec.client.map(|client| Cpu::new(&client.cpu())),
            caps,
        }
    }

    /// Books an I/O and says when it is done.
    pub fn submit(&mut self, now: Moment, role: Role, io: Io) -> Done {
        let own = match role {
            Role::Log => Some(&mut self.log),
            Role::Temp => self.temp.as_mut(),
            Role::Movement => self.movement.as_mut(),
            Role::Data => None,
        };
        let device = own.unwrap_or(&mut self.data);
        device.submit(now, io, &mut self.caps)
    }

    /// Books CPU work of one session. When the session has done it: after the work itself at the speed of one core, or
    /// when the quota has it through, if later.
    pub fn compute(&mut self, now: Moment, work: CpuWork) -> Moment {
        self.cpu.work(now, work, false)
    }

    /// The same of a session that holds up others: it waits for no work of sessions that don't.
    pub fn compute_first(&mut self, now: Moment, work: CpuWork) -> Moment {
        self.cpu.work(now, work, true)
    }

    /// Books what a statement costs a session's client. When the client has made it; `now` where it takes no time.
    pub fn request(&mut self, now: Moment) -> Moment {
        let one = CpuWork { statements: 1, ..CpuWork::default() };
        self.client.as_mut().map_or(now, |client| client.work(now, one, false))
    }

    /// Tells the device how large its file is, for blobs whose limits follow it. False if no tier holds such a file;
    /// then the old limits stay.
    pub fn resize(&mut self, now: Moment, role: Role, file_bytes: u64) -> bool {
        match role {
            Role::Data => self.data.resize(now, file_bytes),
            Role::Log => self.log.resize(now, file_bytes),
            // The size of a temporary file, or of one on its way, says nothing about the database's.
            Role::Temp => self.temp.as_mut().is_none_or(|temp| temp.resize(now, file_bytes)),
            Role::Movement => self.movement.as_mut().is_none_or(|movement| movement.resize(now, file_bytes)),
        }
    }

    /// From now on this is another machine. What was booked on a device, the CPU or a cap of the same name stays booked,
    /// and what they were busy with stays known; credit begins full, and latencies are drawn anew from `seed`.
    pub fn become_like(&mut self, now: Moment, spec: &Spec, seed: u64) {
        let old = std::mem::replace(self, Self::new(spec, seed));
        self.data.take_over(now, &old.data);
        self.log.take_over(now, &old.log);
        self.cpu.take_over(now, &old.cpu);
        if let (Some(new), Some(old)) = (&mut self.client, &old.client) {
            new.take_over(now, old);
        }
        for (new, old) in [(&mut self.temp, old.temp), (&mut self.movement, old.movement)] {
            if let (Some(new), Some(old)) = (new, old) {
                new.take_over(now, &old);
            }
        }
        for cap in &mut self.caps {
            if let Some(old) = old.caps.iter().find(|old| old.name == cap.name) {
                cap.take_over(now, old);
            }
        }
    }

    /// How much of a resource was in use. For a device: its own use of the busiest limit on its way, caps included.
    pub fn meter(&self, resource: Resource) -> &Meter {
        match resource {
            Resource::Cpu => &self.cpu.meter,
            Resource::DataIo => &self.data.meter,
            Resource::LogWrite => &self.log.meter,
        }
    }

    /// How much of a shared cap all its devices together used; `None` if there is no cap of this name.
    pub fn cap_meter(&self, name: &str) -> Option<&Meter> {
        self.caps.iter().find(|cap| cap.name == name).map(|cap| &cap.meter)
    }
}
