//! A volume of the lab: disks of the catalogue put together as they are bought, or hardware of one's own. Operations take the time that
//! the model says, in virtual time. So a suite can be tried before anything is bought, and what a real volume came to can be held
//! against its model.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use plimsoll_engine::{Description, Error, ErrorKind, Result, WeakIsolation, files};
use plimsoll_hardware::{Disk, Done, Io, Limits, Machine, Role, Spec};
use plimsoll_measurement::units::format_bytes;
use plimsoll_measurement::{Ceiling, Moment};

use crate::bought::{self, Promise, Purchase};

/// Scheme of a modelled volume as the target of a run.
pub const SCHEME: &str = "lab";

/// Operations begin at multiples of so many bytes: sectors of the usual size.
pub const SECTOR_BYTES: u64 = 512;

/// A modelled volume, as its target says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    target: String,
    promise: Promise,
    seed: u64,
}

impl Model {
    /// Reads what follows the scheme: `16 x azure-managed-disk/P30?columns=8&vm=E8bds_v5`, or `my-hardware.toml`. The test file is to
    /// have so many bytes.
    ///
    /// # Errors
    /// For an unknown disk or option, for hardware that is described wrongly, and for a file that does not fit.
    pub fn parse(target: &str, file_bytes: u64) -> Result<Self> {
        let rest = target.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(':')).unwrap_or(target);
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut purchase, mut seed, mut of_disk) = (Purchase::default(), 1, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = || Some(value.to_owned());
            let number = || value.parse::<u64>().map_err(|_| usage(format!("{key}={value} is not a whole number")));
            match key {
                "vm" => purchase.vm = text(),
                "account" => purchase.account = text(),
                "layout" => purchase.layout = text(),
                "columns" => purchase.columns = Some(number()? as usize),
                "allocation_unit" => purchase.unit = text(),
                "seed" => seed = number()?,
                // What is wanted of a disk is the catalogue's to read.
                _ => of_disk.push(pair),
            }
        }
        let is_file = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"));
        let promise = if is_file {
            if !query.is_empty() && !query.starts_with("seed=") {
                return Err(usage(format!("{name} says all of the hardware but seed=N")));
            }
            of_file(name, file_bytes)?
        } else {
            let query = if of_disk.is_empty() { String::new() } else { format!("?{}", of_disk.join("&")) };
            purchase.disks = format!("{name}{query}");
            bought::promise(&purchase, file_bytes)?
        };
        let model = Self { target: target.to_owned(), promise, seed };
        model.holds(file_bytes)?;
        Ok(model)
    }

    /// The limits that it has for this file, and what would get more out of the same disks.
    pub fn promise(&self) -> &Promise {
        &self.promise
    }

    /// Whether the file fits on it.
    fn holds(&self, file_bytes: u64) -> Result<()> {
        let disks = &self.promise.spec.device(Role::Data).volume.disks;
        let room = disks.iter().map(|disk| disk.bytes).sum::<Option<u64>>();
        let is_blob = disks.iter().any(|disk| disk.blob.is_some());
        if is_blob && !Machine::new(&self.promise.spec, self.seed).resize(Moment::default(), self.device(), file_bytes)
        {
            return Err(usage(format!("no tier of these blobs holds a file of {}", format_bytes(file_bytes))));
        }
        match room.filter(|room| *room < file_bytes) {
            Some(room) => {
                let [room, file] = [room, file_bytes].map(format_bytes);
                Err(usage(format!("the volume holds {room}, not a test file of {file}"))
                    .hint("ask for a smaller file with --size"))
            }
            None => Ok(()),
        }
    }

    fn device(&self) -> plimsoll_hardware::DeviceId {
        self.promise.spec.device_for(Role::Data)
    }

    /// The volume as the target of a run.
    pub fn describe(&self) -> Description {
        let isolation = WeakIsolation::NoEffect("a volume isolates nothing".to_owned());
        Description {
            embedded: true,
            settings: [("hardware".to_owned(), self.promise.spec.name.clone())].into(),
            warnings: ["the volume is modelled: the figures are those of its model, not of any disk".to_owned()]
                .into_iter()
                .chain(self.promise.times.clone())
                .collect(),
            fingerprint: self.target.clone(),
            ..Description::new("volume", "modelled".to_owned(), 4096, isolation)
        }
        .shown()
    }

    /// The volume at work, with a file of so many bytes on it.
    pub fn at_work(&self, file_bytes: u64) -> Volume {
        let mut machine = Machine::new(&self.promise.spec, self.seed);
        let device = self.device();
        // It was looked at before that a tier holds it.
        machine.resize(Moment::default(), device, file_bytes);
        Volume { machine: Mutex::new(machine), device, bytes: file_bytes }
    }
}

/// A modelled volume at work, for all lanes of a run.
#[derive(Debug)]
pub struct Volume {
    machine: Mutex<Machine>,
    device: plimsoll_hardware::DeviceId,
    bytes: u64,
}

impl Volume {
    /// Bytes of the test file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Books an operation. The lanes' threads take turns in virtual time, so calls come in its order.
    pub fn submit(&self, now: Moment, io: Io) -> Done {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner).submit(now, self.device, io)
    }
}

/// Hardware of one's own: its device of the data.
fn of_file(name: &str, file_bytes: u64) -> Result<Promise> {
    let text = files::read_text(Path::new(name), files::SMALL).map_err(|error| {
        usage(format!("can't read the hardware in {name}: {error}")).hint("docs/LAB.md shows hardware of your own")
    })?;
    let spec = Spec::parse(name, &text).map_err(|error| {
        let hint = error.hint.clone().unwrap_or_else(|| "docs/LAB.md shows hardware of your own".to_owned());
        usage(error.to_string()).hint(hint)
    })?;
    let ceilings: Vec<Ceiling> = bought::named(&spec, file_bytes);
    let device = spec.device(Role::Data);
    let is_free = |disk: &Disk| Disk { bytes: None, ..disk.clone() } == Disk::default();
    if device.volume.disks.iter().all(is_free) && device.governor == Limits::default() && device.caps.is_empty() {
        return Err(usage(format!("{name} limits no I/Os of the data: there is nothing to measure"))
            .hint("give a limit, such as iops = 500 under [data]; docs/LAB.md shows more"));
    }
    let disks = device.volume.disks.len();
    Ok(Promise { ceilings, disks, bytes: 0, advice: Vec::new(), times: None, spec })
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
        .hint("such as 'lab:16 x azure-unmanaged-disk/standard@2014-06?columns=8', or lab:my-hardware.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn a_target_says_disks_and_how_they_are_put_together() {
        let limits = |target: &str| {
            let model = Model::parse(target, GIB).unwrap();
            model.promise().ceilings.iter().map(|ceiling| ceiling.value).collect::<Vec<_>>()
        };
        let sixteen = "lab:16 x azure-unmanaged-disk/standard@2014-06";
        assert_eq!(limits(sixteen)[..1], [8_000.0]);
        assert_eq!(limits(&format!("{sixteen}?columns=8"))[..1], [4_000.0]);
        assert_eq!(limits(&format!("{sixteen}?layout=spanned&seed=3"))[..1], [500.0]);
        assert_eq!(limits("lab:azure-managed-disk/PV2?iops=14740&mb_per_s=313")[..1], [14_740.0]);
        assert_eq!(limits("lab:48 x azure-unmanaged-disk/standard?account=standard")[..1], [20_000.0]);
    }

    #[test]
    fn times_that_nobody_published_are_called_assumed() {
        let said = |target: &str| Model::parse(target, GIB).unwrap().describe().warnings;
        let unknown = said("lab:16 x azure-unmanaged-disk/standard@2014-06");
        assert_eq!(
            unknown[1],
            "in the model a read takes 5.00 ms (assumed) and a write 5.00 ms (assumed) on average; their spread is assumed"
        );
        let known = said("lab:azure-managed-disk/P30");
        assert!(known[1].contains("a write") && !known[1].contains("(assumed) and a write"), "{known:?}");
    }

    #[test]
    fn what_is_no_volume_says_what_would_be() {
        let refused = |target: &str, bytes| Model::parse(target, bytes).unwrap_err().message;
        assert!(refused("lab:P30", GIB).contains("written SERVICE/NAME"));
        assert!(refused("lab:azure-managed-disk/P30?columns=two", GIB).contains("columns=two is not a whole number"));
        assert!(refused("lab:azure-managed-disk/P30?speed=9", GIB).contains("speed"));
        let small = refused("lab:azure-managed-disk/P1", 5 * GIB);
        assert_eq!(small, "the volume holds 4.00 GB, not a test file of 5.00 GB");
        assert!(refused("lab:/nowhere/x.toml", GIB).starts_with("can't read the hardware in /nowhere/x.toml"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        std::fs::write(&file, "[cpu]\ncores = 1\nstatement_time = \"1ms\"\n").unwrap();
        assert!(refused(&format!("lab:{}", file.display()), GIB).contains("limits no I/Os of the data"));
        std::fs::write(&file, "[data]\niops = 300\n").unwrap();
        let own = Model::parse(&format!("lab:{}?seed=4", file.display()), GIB).unwrap();
        assert_eq!((own.promise().ceilings[0].value, own.seed), (300.0, 4));
        assert!(refused(&format!("lab:{}?vm=E8bds_v5", file.display()), GIB).contains("says all of the hardware"));
    }
}
