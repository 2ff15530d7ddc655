//! From TOML to a [`Spec`]: which keys there are and where they belong.

use std::path::Path;

use plimsoll_measurement::LimitScope;
use plimsoll_measurement::vocabulary::Vocabulary as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::description::{Spec, check_memory, check_page};
use super::error::SpecError;
use super::table::{Document, Field, Table};
use super::value::{Unit, latency, limit, neighbour, size, span_ps};
use crate::{
    Blob, Cap, ClientSpec, CpuSpec, DeviceSpec, Disk, LARGEST_IO_BYTES, Layout, Limits, PlacedFile, Placement, Role,
    Tier, Volume,
};

const LIMITS: [&str; 6] = ["iops", "read_iops", "write_iops", "bandwidth", "read_bandwidth", "write_bandwidth"];
const DISK: [&str; 6] = ["read_latency", "write_latency", "neighbour", "largest_io", "size", "blob"];
const DEVICE: [&str; 7] = ["disks", "disk", "layout", "columns", "stripe_unit", "governor", "caps"];
/// What a cap can be about.
const CAPPED: [LimitScope; 3] = [LimitScope::Vm, LimitScope::Account, LimitScope::Instance];
const MOST_DISKS: usize = 1_000;
/// A stripe unit where none is given: the interleave that Storage Spaces takes by default.
const STRIPE_UNIT: u64 = 256 * 1024;

impl Spec {
    /// Reads a user's own hardware. `file_name` is for messages, and for the name where the text has none.
    ///
    /// Sizes, times and bandwidths have a unit (binary: MB is 2^20 bytes), I/Os a second are numbers. Whatever is left
    /// out is not limited and takes no time. A limit is a rate or `{ rate, burst = { rate, lasts | credit } }`; a
    /// latency is a time or quantiles (`min`, `p50`, `p99_9`, `max`); `iops` and `bandwidth` exist with `read_` and
    /// `write_` too. Only sessions of which `temp_store` is `file` use `[temp]`: the others hold what is temporary in
    /// memory.
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
    /// [caps.vm]                       # shared by the devices that name it; scope = "vm", "account" or "instance"
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
    /// assert_eq!(spec.device(plimsoll_hardware::Role::Data).volume.disks.len(), 16);
    /// # Ok::<(), plimsoll_hardware::SpecError>(())
    /// ```
    ///
    /// `[data]`, `[log]`, `[temp]` and `[movement]` are the short form: a device with the files that it is called after. Any number
    /// of devices, and files by name, have a general form:
    ///
    /// ```
    /// let spec = plimsoll_hardware::Spec::parse("mine.toml", r#"
    /// [devices.fast]                  # the keys of [data]
    /// iops = 5_000
    /// [devices.slow]
    /// iops = 500
    ///
    /// [placement]                     # data, log, temp, movement, or a file by its name
    /// data = "fast"
    /// log = "fast"
    /// temp = "slow"                   # temp and movement lie with the data where they are left out
    /// "archive.ndf" = "slow"
    /// "#)?;
    /// assert!(!spec.is_apart(plimsoll_hardware::Role::Log));
    /// # Ok::<(), plimsoll_hardware::SpecError>(())
    /// ```
    ///
    /// # Errors
    /// Names file, line and key, what is wrong and, as a hint, what would be right.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, SpecError> {
        let stem = Path::new(file_name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(file_name);
        let spec = spec(file_name, stem, text)?;
        // What only the whole can show; single values were checked where they stand.
        spec.check().map_err(|error| SpecError { place: file_name.to_owned(), ..error })?;
        Ok(spec)
    }
}

fn spec(file: &str, stem: &str, text: &str) -> Result<Spec, SpecError> {
    let document = Document { file, text };
    let parsed = DeTable::parse(text).map_err(|error| {
        document.error(error.span().map_or(0, |span| span.start), None, error.message().replace('\n', ", "))
    })?;
    let root = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
    let root = Field::root(document, &root).table()?;
    let keys = ["name", "page_size", "memory", "cpu", "data", "log", "temp", "movement", "caps", "client"];
    root.known(&[&keys[..], &["devices", "placement"]].concat())?;
    let mut spec = Spec::unlimited(stem);
    if let Some(name) = root.read("name", name)? {
        spec.name = name;
    }
    spec.page_bytes =
        root.read("page_size", |field| field.checked(size(field)?, check_page))?.unwrap_or(spec.page_bytes);
    spec.memory = root.read("memory", |field| field.checked(size(field)?, |bytes| check_memory(Some(bytes))))?;
    if let Some(cpu) = root.read("cpu", cpu)? {
        spec.cpu = cpu;
    }
    spec.client = root.read("client", client)?;
    spec.caps = root.read("caps", caps)?.unwrap_or_default();
    place_devices(&mut spec, &root)?;
    Ok(spec)
}

/// `[data]`, `[log]`, `[temp]` and `[movement]` are devices of these names, with the files that are called so on them; `[devices]`
/// has others, and `[placement]` says what lies on them.
fn place_devices(spec: &mut Spec, root: &Table<'_>) -> Result<(), SpecError> {
    let known_caps: Vec<&str> = spec.caps.iter().map(|cap| cap.name.as_str()).collect();
    let mut fields: Vec<(&str, Field<'_>)> = Vec::new();
    fields.extend(Role::ALL.iter().filter_map(|role| Some((role.name(), root.get(role.name())?))));
    if let Some(devices) = root.get("devices") {
        for (name, field) in devices.table()?.fields() {
            if name.trim().is_empty() {
                return Err(field.error("a device needs a name"));
            }
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(field.error(format!("device '{name}' is there twice: there is a table [{name}] as well")));
            }
            fields.push((name, field));
        }
        // Those of a role go first, so that it is the same machine whichever table they stand in.
        fields.sort_by_key(|(name, _)| Role::of_name(name).map_or(Role::ALL.len(), |role| role as usize));
    }
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let mut placement = Placement::default();
    for role in names.iter().filter_map(|name| Role::of_name(name)) {
        placement.set(role, role.name());
    }
    if let Some(files) = root.get("placement") {
        for (file, field) in files.table()?.fields() {
            let device = field.text()?;
            if !names.contains(&device) {
                return Err(field.error(format!("unknown device '{device}'")).nearest(device, &names));
            }
            placement.set(PlacedFile::from(file), device);
        }
    }
    if let Some((name, field)) = fields.iter().find(|(name, _)| placement.iter().all(|(_, device)| device != *name)) {
        let hint = format!("say data = \"{name}\" under [placement], or the name of a file");
        return Err(field.error("no file lies on this device").hint(hint));
    }
    let mut devices = Vec::new();
    for (name, field) in &fields {
        devices.push(DeviceSpec { name: (*name).to_owned(), ..device(field, &known_caps)? });
    }
    // What is left out is not limited.
    for (at, role) in [Role::Data, Role::Log].into_iter().enumerate() {
        if placement.device_of(&role.into()).is_none() {
            placement.set(role, role.name());
            devices.insert(at, DeviceSpec { name: role.name().to_owned(), ..DeviceSpec::unlimited() });
        }
    }
    (spec.devices, spec.placement) = (devices, placement);
    Ok(())
}

fn name(field: &Field<'_>) -> Result<String, SpecError> {
    match field.text()?.trim() {
        "" => Err(field.error("must not be empty")),
        name => Ok(name.to_owned()),
    }
}

fn cpu(field: &Field<'_>) -> Result<CpuSpec, SpecError> {
    let table = field.table()?;
    table.known(&["cores", "step_time", "page_time", "statement_time"])?;
    let none = CpuSpec::unlimited();
    let cores =
        table.read("cores", |field| field.checked(field.number()?, |cores| CpuSpec { cores, ..none }.check()))?;
    let price = |key: &str, what: &str, example: &str, at: fn(u64) -> CpuSpec| {
        table.read(key, |field| field.checked(span_ps(field, what, example)?, |ps| at(ps).check()))
    };
    let at_statement = |statement_ps| CpuSpec { statement_ps, ..CpuSpec::unlimited() };
    let statement_ps = price("statement_time", "the time of a statement", "40us", at_statement)?;
    let at_step = |ps| CpuSpec { step_ps: Some(ps), ..CpuSpec::unlimited() };
    let step_ps = price("step_time", "the time of a step", "25ns", at_step)?;
    if step_ps.is_none() && statement_ps.is_none_or(|statement_ps| statement_ps == 0) {
        let error = field.error("'step_time' is missing, so the CPU would not be limited");
        return Err(error.hint("say step_time = \"25ns\" or statement_time = \"40us\", or leave [cpu] out"));
    }
    let at_page = |page_ps| CpuSpec { page_ps, ..CpuSpec::unlimited() };
    let page_ps = price("page_time", "the time of a page", "10us", at_page)?;
    let (page_ps, statement_ps) = (page_ps.unwrap_or(0), statement_ps.unwrap_or(0));
    Ok(CpuSpec { cores: cores.unwrap_or(1.0), step_ps, page_ps, statement_ps })
}

fn client(field: &Field<'_>) -> Result<ClientSpec, SpecError> {
    let table = field.table()?;
    table.known(&["cores", "request_time"])?;
    let cores = table.read("cores", Field::number)?.unwrap_or(1.0);
    let request = table.need("request_time")?;
    let client = ClientSpec { cores, request_ps: span_ps(&request, "the time of a request", "200us")? };
    field.check(client.check())?;
    Ok(client)
}

fn caps(field: &Field<'_>) -> Result<Vec<Cap>, SpecError> {
    let cap = |(name, field): (&str, Field<'_>)| {
        let table = field.table()?;
        table.known(&LIMITS.iter().chain(&["scope"]).copied().collect::<Vec<_>>())?;
        let limits = limits(&table)?;
        if limits.is_unlimited() {
            return Err(field.error("a cap needs at least one limit").hint(LIMITS.join(", ")));
        }
        // The name may say it already.
        let by_name = LimitScope::named(name).filter(|scope| CAPPED.contains(scope));
        let scope = table.read("scope", scope)?.or(by_name).unwrap_or(LimitScope::Vm);
        Ok(Cap { name: name.to_owned(), scope, limits })
    };
    field.table()?.fields().into_iter().map(cap).collect()
}

fn scope(field: &Field<'_>) -> Result<LimitScope, SpecError> {
    let name = field.text()?;
    CAPPED
        .into_iter()
        .find(|scope| scope.name() == name)
        .ok_or_else(|| field.error(format!("unknown scope '{name}'")).nearest(name, &CAPPED.map(LimitScope::name)))
}

fn limits(table: &Table<'_>) -> Result<Limits, SpecError> {
    let ios = |key| table.read(key, |field| limit(field, Unit::Ios));
    let bytes = |key| table.read(key, |field| limit(field, Unit::Bytes));
    Ok(Limits {
        iops: ios("iops")?,
        read_iops: ios("read_iops")?,
        write_iops: ios("write_iops")?,
        bandwidth: bytes("bandwidth")?,
        read_bandwidth: bytes("read_bandwidth")?,
        write_bandwidth: bytes("write_bandwidth")?,
    })
}

fn device(field: &Field<'_>, known_caps: &[&str]) -> Result<DeviceSpec, SpecError> {
    let table = field.table()?;
    let keys: Vec<&str> = LIMITS.iter().chain(&DISK).chain(&DEVICE).copied().collect();
    table.known(&keys)?;
    let governor = table.read("governor", |field| {
        let table = field.table()?;
        table.known(&LIMITS)?;
        limits(&table)
    })?;
    let caps = table.read("caps", |field| caps_of(field, known_caps))?;
    let volume = volume(&table)?;
    field.check(volume.check())?;
    Ok(DeviceSpec { governor: governor.unwrap_or_default(), caps: caps.unwrap_or_default(), ..volume.into() })
}

fn caps_of(field: &Field<'_>, known: &[&str]) -> Result<Vec<String>, SpecError> {
    let mut caps: Vec<String> = Vec::new();
    for item in field.list()? {
        let cap = item.text()?;
        if !known.contains(&cap) {
            return Err(item.error(format!("unknown cap '{cap}'")).nearest(cap, known));
        }
        if caps.iter().any(|name| name == cap) {
            return Err(item.error(format!("cap '{cap}' is named twice")));
        }
        caps.push(cap.to_owned());
    }
    Ok(caps)
}

fn volume(table: &Table<'_>) -> Result<Volume, SpecError> {
    let Some(count) = table.get("disks") else {
        for key in ["disk", "layout", "columns", "stripe_unit"] {
            if let Some(field) = table.get(key) {
                return Err(field.error("means something only together with 'disks', their number"));
            }
        }
        return Ok(Volume::single(disk(table)?));
    };
    let disks = count.count()?;
    if disks > MOST_DISKS {
        return Err(count.error(format!("{disks} disks are more than {MOST_DISKS}")));
    }
    // With several disks a limit beside them could mean each or all: it has to be said.
    if let Some((key, field)) = table.fields().into_iter().find(|(key, _)| LIMITS.contains(key) || DISK.contains(key)) {
        let error = field.error(format!("'{key}' of each disk or of all together?"));
        return Err(error.hint(format!("disk = {{ {key} = ... }} for each, governor = {{ ... }} for all")));
    }
    let disk = table.read("disk", |field| {
        let table = field.table()?;
        table.known(&LIMITS.iter().chain(&DISK).copied().collect::<Vec<_>>())?;
        disk(&table)
    })?;
    let disks = vec![disk.unwrap_or_default(); disks];
    Ok(Volume { layout: layout(table, disks.len())?, disks })
}

fn layout(table: &Table<'_>, disks: usize) -> Result<Layout, SpecError> {
    const LAYOUTS: [&str; 2] = ["striped", "spanned"];
    let spanned = match table.get("layout") {
        None => false,
        Some(field) => match field.text()? {
            "striped" => false,
            "spanned" => true,
            other => return Err(field.error(format!("unknown layout '{other}'")).nearest(other, &LAYOUTS)),
        },
    };
    if spanned {
        return match ["columns", "stripe_unit"].into_iter().find_map(|key| table.get(key)) {
            None => Ok(Layout::Spanned),
            Some(field) => Err(field.error("a spanned volume has no stripes")),
        };
    }
    let columns = table.read("columns", |field| {
        let columns = field.count()?;
        if columns > disks {
            return Err(field.error(format!("{columns} columns need {columns} disks, but there are {disks}")));
        }
        Ok(columns)
    })?;
    let unit_bytes = table.read("stripe_unit", |field| {
        let bytes = size(field)?;
        if bytes < 512 || !bytes.is_power_of_two() || bytes > crate::SLAB_BYTES {
            return Err(field.error("must be a power of two from 512B to 256MiB"));
        }
        Ok(bytes)
    })?;
    Ok(Layout::Striped { columns: columns.unwrap_or(disks), unit_bytes: unit_bytes.unwrap_or(STRIPE_UNIT) })
}

fn disk(table: &Table<'_>) -> Result<Disk, SpecError> {
    let latency_of = |key| table.read(key, latency).map(Option::unwrap_or_default);
    let (read_latency, write_latency) = (latency_of("read_latency")?, latency_of("write_latency")?);
    let (limits, blob) = (limits(table)?, table.read("blob", blob)?);
    // Without a limit there is no transfer, and nothing to tell apart.
    let has_transfer = blob.is_some() || !limits.is_unlimited();
    let disk = Disk {
        limits,
        is_latency_whole: has_transfer && !(read_latency.is_zero() && write_latency.is_zero()),
        read_latency,
        write_latency,
        neighbour: table.read("neighbour", neighbour)?,
        largest_io_bytes: table.read("largest_io", size)?.unwrap_or(LARGEST_IO_BYTES),
        bytes: table.read("size", size)?,
        blob,
    };
    table.field.check(disk.check())?;
    Ok(disk)
}

/// `{ file_size = "32GiB", tiers = [{ name = "…", up_to = "128GiB", iops = 500 }, …] }`.
fn blob(field: &Field<'_>) -> Result<Blob, SpecError> {
    let table = field.table()?;
    table.known(&["file_size", "tiers"])?;
    let tier = |(number, field): (usize, Field<'_>)| {
        let table = field.table()?;
        let keys: Vec<&str> = ["name", "up_to"].iter().chain(&LIMITS).copied().collect();
        table.known(&keys)?;
        let name = table.read("name", name)?.unwrap_or_else(|| format!("{number}"));
        Ok(Tier { name, up_to: size(&table.need("up_to")?)?, limits: limits(&table)? })
    };
    let tiers = table.need("tiers")?.list()?.into_iter().zip(1..).map(|(field, number)| tier((number, field)));
    let blob = Blob { tiers: tiers.collect::<Result<_, _>>()?, file_bytes: size(&table.need("file_size")?)? };
    field.check(blob.check())?;
    Ok(blob)
}
