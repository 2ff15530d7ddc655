//! The description of a machine: its devices and what lies on them, caps, CPU, memory, and where its limits come from. It is
//! data: the catalogue or a user makes it, a [`crate::Machine`] runs it, and what limits it is read off it. As TOML it comes back to
//! the last bit.

use plimsoll_measurement::{LimitBasis, LimitScope, Provenance};
use serde::{Deserialize, Serialize};

use super::error::SpecError;
use crate::{
    Cap, ClientSpec, CpuSpec, DeviceId, DeviceSpec, LimitHolder, LimitKind, Origin, PlacedFile, Placement, Role,
};

/// The page size where none is given, in bytes.
const PAGE_BYTES: u64 = 4096;

/// What a machine consists of: limits, latencies, memory, CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Its name, for reports.
    pub name: String,
    /// The database's page size in bytes: a power of two from 512 to 65536.
    pub page_bytes: u64,
    /// Memory for the buffer pool in bytes; `None` if it is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The CPU quota and what work costs.
    pub cpu: CpuSpec,
    /// The devices.
    pub devices: Vec<DeviceSpec>,
    /// Which file lies on which of them. Data and log have a place in every machine.
    pub placement: Placement,
    /// Limits that devices share.
    #[serde(default)]
    pub caps: Vec<Cap>,
    /// The client, where what it needs is part of the model; `None`: it takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientSpec>,
    /// Where limits come from. A limit that is not among them is as given: this description says it.
    #[serde(default)]
    pub origins: Vec<Origin>,
}

impl Spec {
    /// A machine on which nothing takes time: data and log each on a device.
    pub fn unlimited(name: impl Into<String>) -> Self {
        let none = Self {
            name: name.into(),
            page_bytes: PAGE_BYTES,
            memory: None,
            cpu: CpuSpec::unlimited(),
            devices: Vec::new(),
            placement: Placement::default(),
            caps: Vec::new(),
            client: None,
            origins: Vec::new(),
        };
        none.with(Role::Data, DeviceSpec::unlimited()).with(Role::Log, DeviceSpec::unlimited())
    }

    /// The same with files of this role on a device of its own, which is called like the role.
    #[must_use]
    pub fn with(mut self, role: Role, device: DeviceSpec) -> Self {
        let device = DeviceSpec { name: role.name().to_owned(), ..device };
        self.placement.set(role, role.name());
        match self.devices.iter_mut().find(|known| known.name == device.name) {
            Some(known) => *known = device,
            None => self.devices.push(device),
        }
        self
    }

    /// The device that a file lies on; `None` for one without a place.
    pub fn device_of(&self, file: &PlacedFile) -> Option<DeviceId> {
        let name = self.placement.device_of(file)?;
        self.devices.iter().position(|device| device.name == name).map(DeviceId)
    }

    /// The device that files of a role lie on. Without one, which [`Spec::check`] refuses, the first.
    pub fn device_for(&self, role: Role) -> DeviceId {
        self.device_of(&role.into()).unwrap_or(DeviceId(0))
    }

    /// The device that files of a role lie on.
    ///
    /// # Panics
    /// Without any device, which [`Spec::check`] refuses.
    pub fn device(&self, role: Role) -> &DeviceSpec {
        &self.devices[self.device_for(role).0]
    }

    /// The same, to change it.
    ///
    /// # Panics
    /// As [`Spec::device`].
    pub fn device_mut(&mut self, role: Role) -> &mut DeviceSpec {
        let DeviceId(place) = self.device_for(role);
        &mut self.devices[place]
    }

    /// Whether files of this role lie elsewhere than the data.
    pub fn is_apart(&self, role: Role) -> bool {
        self.device_for(role) != self.device_for(Role::Data)
    }

    /// Where a limit comes from: what is said of it, else of all limits of its part, else that this description gives it.
    pub fn provenance(&self, holder: &LimitHolder, kind: Option<LimitKind>) -> Provenance {
        let said_of = |kind| self.origins.iter().find(|origin| origin.holder == *holder && origin.kind == kind);
        let said = said_of(kind).or_else(|| said_of(None));
        let given = || Provenance { scope: None, basis: LimitBasis::Given, source: self.name.clone(), date: None };
        let known = said.map_or_else(given, |origin| origin.provenance.clone());
        Provenance { scope: known.scope.or_else(|| self.scope_of(holder)), ..known }
    }

    /// What the limits of a part hold back by what the part is.
    fn scope_of(&self, holder: &LimitHolder) -> Option<LimitScope> {
        match holder {
            LimitHolder::Memory | LimitHolder::Cpu => Some(LimitScope::Instance),
            LimitHolder::Client => None,
            LimitHolder::Disks(name) => {
                let device = self.devices.iter().find(|device| device.name == *name)?;
                let is_blob = device.volume.disks.iter().any(|disk| disk.blob.is_some());
                Some(if is_blob { LimitScope::File } else { LimitScope::Device })
            }
            LimitHolder::Governor(_) => Some(LimitScope::Volume),
            LimitHolder::Cap(name) => self.caps.iter().find(|cap| cap.name == *name).map(|cap| cap.scope),
        }
    }

    /// Whether a machine can be built of it; the first thing that is wrong, with the key it is about.
    ///
    /// # Errors
    /// Names the specification, the key and the problem.
    pub fn check(&self) -> Result<(), SpecError> {
        let at = |key: &str, check: Result<(), String>| {
            check.map_err(|problem| SpecError::new(&self.name, Some(key), problem))
        };
        at("page_size", check_page(self.page_bytes))?;
        at("memory", check_memory(self.memory))?;
        at("cpu", self.cpu.check())?;
        at("client", self.client.map_or(Ok(()), |client| client.check()))?;
        let caps: Vec<&str> = self.caps.iter().map(|cap| cap.name.as_str()).collect();
        at("caps", check_names("cap", &caps))?;
        for cap in &self.caps {
            at(&format!("caps.{}", cap.name), cap.limits.check())?;
        }
        let devices: Vec<&str> = self.devices.iter().map(|device| device.name.as_str()).collect();
        at("devices", check_names("device", &devices))?;
        for device in &self.devices {
            let key = key_of(&device.name);
            at(&key, device.check())?;
            self.check_known("cap", &format!("{key}.caps"), device.caps.iter().map(String::as_str), &caps)?;
        }
        for role in [Role::Data, Role::Log] {
            let placed = self.placement.device_of(&role.into());
            at("placement", placed.map(|_| ()).ok_or_else(|| format!("'{}' has no device", role.name())))?;
        }
        for (file, device) in self.placement.iter() {
            let key = format!("placement.{}", String::from(file.clone()));
            self.check_known("device", &key, [device].into_iter(), &devices)?;
        }
        for origin in &self.origins {
            let known: (&str, &str, &[&str]) = match &origin.holder {
                LimitHolder::Memory | LimitHolder::Cpu | LimitHolder::Client => continue,
                LimitHolder::Disks(name) | LimitHolder::Governor(name) => ("device", name, &devices),
                LimitHolder::Cap(name) => ("cap", name, &caps),
            };
            self.check_known(known.0, "origins", [known.1].into_iter(), known.2)?;
        }
        Ok(())
    }

    /// Refuses the first name that is not among these.
    fn check_known<'a>(
        &self,
        what: &str,
        key: &str,
        mut names: impl Iterator<Item = &'a str>,
        known: &[&str],
    ) -> Result<(), SpecError> {
        match names.find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let error = SpecError::new(&self.name, Some(key), format!("unknown {what} '{name}'"));
                Err(error.nearest(name, known))
            }
        }
    }
}

/// The key of a device: those called like a role have a table of that name.
fn key_of(device: &str) -> String {
    Role::of_name(device).map_or_else(|| format!("devices.{device}"), |role| role.name().to_owned())
}

fn check_names(what: &str, names: &[&str]) -> Result<(), String> {
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("a {what} needs a name"));
        }
        if names[..place].contains(name) {
            return Err(format!("{what} '{name}' is there twice"));
        }
    }
    Ok(())
}

pub(super) fn check_page(bytes: u64) -> Result<(), String> {
    if bytes.is_power_of_two() && (512..=65_536).contains(&bytes) {
        Ok(())
    } else {
        Err(format!("a page of {bytes} bytes must be a power of two from 512 to 65536"))
    }
}

pub(super) fn check_memory(bytes: Option<u64>) -> Result<(), String> {
    match bytes {
        Some(bytes) if !(64 << 10..=1 << 50).contains(&bytes) => Err("must be between 64KiB and 1024TiB".to_owned()),
        _ => Ok(()),
    }
}
