//! Which devices' figures stand for the data and for the log. A limit of a device is held against what that device itself counts: so of
//! the devices below a folder the one with a limit is looked at, if there is one.

use crate::deltas::{Limit, Scope};
use crate::host::{DeviceNumber, Placed, Role};

/// The devices that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Devices {
    /// Nobody knows where the data is: the device with limits, if only one has some, else the one that was busiest.
    Unknown(Option<DeviceNumber>),
    /// The device of the data, and that of the log, where it is another one.
    Known { data: DeviceNumber, log: Option<DeviceNumber> },
}

/// Those of what is placed so, under these limits.
pub(crate) fn devices(placed: &[Placed], limits: &[&Limit]) -> Devices {
    let limited = |limit: &&Limit| match limit.scope {
        Scope::CgroupDevice(_, device) => Some(device),
        Scope::Affinity | Scope::Cgroup(_) => None,
    };
    let limited: Vec<DeviceNumber> = limits.iter().filter_map(limited).collect();
    let of = |role: Role| {
        let devices = &placed.iter().find(|placed| placed.role == role)?.devices;
        devices.iter().find(|device| limited.contains(device)).or_else(|| devices.first()).copied()
    };
    if let Some(data) = of(Role::Data) {
        return Devices::Known { data, log: of(Role::Log).filter(|log| *log != data) };
    }
    let first = limited.first().copied();
    Devices::Unknown(first.filter(|first| limited.iter().all(|device| device == first)))
}

impl Devices {
    /// The beginning of the names of a device's columns and limits; `None` for a device that is not looked at.
    pub(crate) fn prefix(self, device: DeviceNumber) -> Option<&'static str> {
        match self {
            Self::Unknown(watched) => (watched == Some(device)).then_some(DISK),
            Self::Known { data, .. } if data == device => Some(DISK),
            Self::Known { log, .. } => (log == Some(device)).then_some(LOG_DISK),
        }
    }
}

/// Of the device with the data.
pub(crate) const DISK: &str = "disk";
/// Of the log's own device.
pub(crate) const LOG_DISK: &str = "log_disk";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deltas::Limited;
    use crate::host::IoKind;

    fn device(text: &str) -> DeviceNumber {
        DeviceNumber::parse(text).unwrap()
    }

    fn limit(at: &str) -> Limit {
        let scope = Scope::CgroupDevice("/slow".to_owned(), device(at));
        Limit { limited: Limited::Io(IoKind::Writes), scope, value: 60.0 }
    }

    fn placed(role: Role, devices: &[&str]) -> Placed {
        Placed { role, devices: devices.iter().map(|text| device(text)).collect() }
    }

    #[test]
    fn a_limit_is_that_of_the_files_on_its_device() {
        let apart = [placed(Role::Data, &["252:0", "8:0"]), placed(Role::Log, &["252:1", "8:0"])];
        let prefixes =
            |devices: Devices| ["252:0", "252:1", "8:0", "7:1"].map(|at| devices.prefix(device(at)).unwrap_or("-"));
        assert_eq!(prefixes(devices(&apart, &[])), ["disk", "log_disk", "-", "-"]);
        // Both are on the disk that is held.
        assert_eq!(prefixes(devices(&apart, &[&limit("8:0")])), ["-", "-", "disk", "-"]);
        assert_eq!(prefixes(devices(&apart, &[&limit("252:1")])), ["disk", "log_disk", "-", "-"]);
        // Somebody else's device says nothing.
        assert_eq!(prefixes(devices(&apart, &[&limit("7:1")])), ["disk", "log_disk", "-", "-"]);
    }

    #[test]
    fn where_nobody_knows_the_places_one_limited_device_is_taken() {
        let [one, other] = [limit("7:1"), limit("8:0")];
        assert_eq!(devices(&[], &[&one]), Devices::Unknown(Some(device("7:1"))));
        assert_eq!(devices(&[], &[&one, &other]), Devices::Unknown(None));
        let of_log = [placed(Role::Log, &["8:0"])];
        assert_eq!(devices(&of_log, &[]), Devices::Unknown(None), "the data's is what counts");
    }
}
