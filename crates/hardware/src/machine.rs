//! The machine at work: devices, caps and CPU of one [`Spec`], and what they were busy with.

use plimsoll_measurement::Moment;

use crate::cpu::{Cpu, CpuWork};
use crate::device::{CapState, Device};
use crate::meter::Meter;
use crate::{DeviceId, DeviceSpec, Done, Io, Role, Spec};

/// What the resource view shows as a percentage of its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// The CPU quota.
    Cpu,
    /// Everything on the data's device.
    DataIo,
    /// Everything on the log's device.
    LogWrite,
}

/// The state of modelled hardware. Calls should come in the order of their time: a limit's backlog never moves back.
#[derive(Debug, Clone)]
pub struct Machine {
    devices: Vec<Device>,
    /// The devices' names, in the same order.
    names: Vec<String>,
    /// The devices of the roles, in the order of [`Role::ALL`].
    of_roles: [DeviceId; Role::ALL.len()],
    caps: Vec<CapState>,
    cpu: Cpu,
    client: Option<Cpu>,
}

impl Machine {
    /// A machine at time 0, idle, with full credit. Expects a specification that passes [`Spec::check`]: a cap that the
    /// specification does not have would not bind.
    pub fn new(spec: &Spec, seed: u64) -> Self {
        let caps: Vec<CapState> = spec.caps.iter().map(CapState::new).collect();
        let device =
            |(place, device): (usize, &DeviceSpec)| Device::new(device, &caps, seed, user(&device.name, place));
        Self {
            devices: spec.devices.iter().enumerate().map(device).collect(),
            names: spec.devices.iter().map(|device| device.name.clone()).collect(),
            of_roles: Role::ALL.map(|role| spec.device_for(role)),
            cpu: Cpu::new(&spec.cpu),
            client: spec.client.map(|client| Cpu::new(&client.cpu())),
            caps,
        }
    }

    /// The same without meters of its devices, for those who count by themselves and book millions of I/Os.
    #[must_use]
    pub fn unmetered(mut self) -> Self {
        for device in &mut self.devices {
            device.meter.switch_off();
        }
        self
    }

    /// The device that files of a role lie on. That of a file with a name is [`Spec::device_of`].
    pub const fn device(&self, role: Role) -> DeviceId {
        self.of_roles[role as usize]
    }

    /// Books an I/O on a device and says when it is done.
    ///
    /// # Panics
    /// If the device is that of another machine and there are fewer here.
    pub fn submit(&mut self, now: Moment, device: DeviceId, io: Io) -> Done {
        self.devices[device.0].submit(now, io, &mut self.caps)
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

    /// Tells a device how large the file on it is, because the limits of a blob follow its size. False if no tier holds
    /// such a file; then the old limits stay. Of files that share a device it is the database's that counts.
    ///
    /// # Panics
    /// As [`Machine::submit`].
    pub fn resize(&mut self, now: Moment, device: DeviceId, file_bytes: u64) -> bool {
        self.devices[device.0].resize(now, file_bytes)
    }

    /// From now on this is another machine. What was booked on a device, the CPU or a cap of the same name stays
    /// booked, and what they were busy with stays known. Credit begins full, and latencies are drawn anew from `seed`.
    pub fn become_like(&mut self, now: Moment, spec: &Spec, seed: u64) {
        let old = std::mem::replace(self, Self::new(spec, seed));
        for (device, name) in self.devices.iter_mut().zip(&self.names) {
            if let Some(place) = old.names.iter().position(|old| old == name) {
                device.take_over(now, &old.devices[place]);
            }
        }
        self.cpu.take_over(now, &old.cpu);
        if let (Some(new), Some(old)) = (&mut self.client, &old.client) {
            new.take_over(now, old);
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
            Resource::DataIo => &self.devices[self.device(Role::Data).0].meter,
            Resource::LogWrite => &self.devices[self.device(Role::Log).0].meter,
        }
    }
}

/// What tells the random streams of a machine's devices apart. Those of the roles have a number each, so that another device
/// beside them changes nothing about theirs.
fn user(name: &str, place: usize) -> u64 {
    Role::of_name(name).map_or(Role::ALL.len() + place, |role| role as usize) as u64
}
