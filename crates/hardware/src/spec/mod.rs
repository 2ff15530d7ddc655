//! Specifications: what a machine consists of, from a catalogue's level or from a user's TOML file.

mod error;
mod raised;
mod read;
mod table;
mod value;

use std::path::Path;

pub use error::SpecError;
pub use raised::Raise;

use crate::{Cap, ClientSpec, CpuSpec, DeviceSpec};

/// The page size where none is given, in bytes.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// What a machine consists of: limits, latencies, memory, CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its name, for reports.
    pub name: String,
    /// The database's page size in bytes: a power of two from 512 to 65536.
    pub page_bytes: u64,
    /// Memory for the buffer pool in bytes; `None` if it is not limited.
    pub memory: Option<u64>,
    /// The CPU quota and what work costs.
    pub cpu: CpuSpec,
    /// Where the database lies.
    pub data: DeviceSpec,
    /// Where the log lies.
    pub log: DeviceSpec,
    /// Where temporary files lie; `None`: on the data device, under its limits.
    pub temp: Option<DeviceSpec>,
    /// What whole databases go through when the service moves them, past the device of the data; `None`: through that.
    pub movement: Option<DeviceSpec>,
    /// Limits that devices share.
    pub caps: Vec<Cap>,
    /// The client, where what it needs is part of the model; `None`: it takes no time.
    pub client: Option<ClientSpec>,
}

impl Spec {
    /// A machine on which nothing takes time.
    pub fn unlimited(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            page_bytes: PAGE_BYTES,
            memory: None,
            cpu: CpuSpec::unlimited(),
            data: DeviceSpec::unlimited(),
            log: DeviceSpec::unlimited(),
            temp: None,
            movement: None,
            caps: Vec::new(),
            client: None,
        }
    }

    /// Reads a user's own hardware. `file_name` is for messages, and for the name where the text has none.
    ///
    /// Sizes, times and bandwidths have a unit (binary: MB is 2^20 bytes), I/Os a second are numbers. Whatever is left
    /// out is not limited and takes no time. A limit is a rate or `{ rate, burst = { rate, lasts | credit } }`; a latency
    /// is a time or quantiles (`min`, `p50`, `p99_9`, `max`); `iops` and `bandwidth` exist with `read_` and `write_` too.
    /// Only sessions whose `temp_store` is `file` use `[temp]`: the others hold what is temporary in memory.
    ///
    /// ```
    /// let spec = plimsoll_hardware::Spec::parse("mine.toml", r#"
    /// name = "my-hardware"
    /// page_size = "4KiB"
    /// memory = "2GiB"
    ///
    /// [cpu]                           # not limited if left out
    /// cores = 2
    /// step_time = "25ns"              # of a step of the engine's virtual machine
    /// page_time = "10us"              # of a page read from a device
    /// statement_time = "40us"         # of each statement, whatever it does
    ///
    /// [caps.vm]                       # shared by the devices that name it
    /// iops = 8_000
    /// bandwidth = "200MiB/s"
    ///
    /// [data]                          # a volume of several disks
    /// disks = 16
    /// layout = "striped"              # or "spanned"
    /// columns = 16
    /// stripe_unit = "64KiB"
    /// caps = ["vm"]
    /// governor = { bandwidth = "100MiB/s" }    # in front of the whole volume
    ///
    /// [data.disk]                     # each of them
    /// iops = { rate = 500, burst = { rate = 3_500, lasts = "30m" } }
    /// bandwidth = "60MiB/s"
    /// read_latency = "5ms"
    /// write_latency = { p50 = "2ms", p90 = "3ms", p99 = "8ms", max = "20ms" }
    /// neighbour = { rates = [0.25, 1.0], dwell = "60s" }    # factors of the limits
    /// largest_io = "256KiB"           # a larger one counts as several
    ///
    /// [log]                           # one disk: its keys stand here
    /// write_bandwidth = "48MiB/min"
    /// write_latency = "4ms"
    /// neighbour = { low = 0.9, high = 1.1, step = 0.01, every = "30s" }    # drift
    /// caps = ["vm"]
    ///
    /// [temp.blob]                     # temporary files: limits by the size of the file; without [temp]: on the data device
    /// file_size = "150GiB"
    /// tiers = [
    ///   { name = "small", up_to = "128GiB", iops = 500, bandwidth = "100MiB/s" },
    ///   { name = "large", up_to = "256GiB", iops = 1_100, bandwidth = "125MiB/s" },
    /// ]
    ///
    /// [movement]                      # restores and changes of level; without it they go to the data device
    /// bandwidth = "150MiB/min"
    ///
    /// [client]                        # takes no time if left out
    /// cores = 0.5
    /// request_time = "200us"          # of its CPU, for each statement before the server hears of it
    /// "#)?;
    /// assert_eq!(spec.data.volume.disks.len(), 16);
    /// # Ok::<(), plimsoll_hardware::SpecError>(())
    /// ```
    pub fn parse(file_name: &str, text: &str) -> Result<Self, SpecError> {
        let stem = Path::new(file_name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(file_name);
        let spec = read::spec(file_name, stem, text)?;
        // What only the whole can show; single values were checked where they stand.
        spec.check().map_err(|error| SpecError { place: file_name.to_owned(), ..error })?;
        Ok(spec)
    }

    /// Whether a machine can be built of it; the first thing that is wrong, with the key it is about.
    pub fn check(&self) -> Result<(), SpecError> {
        let at = |key: &str, check: Result<(), String>| {
            check.map_err(|problem| SpecError::new(&self.name, Some(key), problem))
        };
        at("page_size", check_page(self.page_bytes))?;
        at("memory", check_memory(self.memory))?;
        at("cpu", self.cpu.check())?;
        at("client", self.client.map_or(Ok(()), |client| client.check()))?;
        let names: Vec<&str> = self.caps.iter().map(|cap| cap.name.as_str()).collect();
        for (place, cap) in self.caps.iter().enumerate() {
            at(&format!("caps.{}", cap.name), cap.limits.check())?;
            if names[..place].contains(&cap.name.as_str()) {
                return at("caps", Err(format!("cap '{}' is there twice", cap.name)));
            }
        }
        let devices = [
            ("data", Some(&self.data)),
            ("log", Some(&self.log)),
            ("temp", self.temp.as_ref()),
            ("movement", self.movement.as_ref()),
        ];
        for (key, device) in devices {
            let Some(device) = device else { continue };
            at(key, device.check())?;
            if let Some(unknown) = device.caps.iter().find(|cap| !names.contains(&cap.as_str())) {
                let error =
                    SpecError::new(&self.name, Some(&format!("{key}.caps")), format!("unknown cap '{unknown}'"));
                return Err(error.nearest(unknown, &names));
            }
        }
        Ok(())
    }
}

pub(crate) fn check_page(bytes: u64) -> Result<(), String> {
    if bytes.is_power_of_two() && (512..=65_536).contains(&bytes) {
        Ok(())
    } else {
        Err(format!("a page of {bytes} bytes must be a power of two from 512 to 65536"))
    }
}

pub(crate) fn check_memory(bytes: Option<u64>) -> Result<(), String> {
    match bytes {
        Some(bytes) if !(64 << 10..=1 << 50).contains(&bytes) => Err("must be between 64KiB and 1024TiB".to_owned()),
        _ => Ok(()),
    }
}
