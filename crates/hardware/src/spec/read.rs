//! From TOML to a [`Spec`]: which keys there are and where they belong.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::table::{Document, Field, Table};
use super::value::{Unit, latency, limit, neighbour, size, span_ps};
use super::{PAGE_BYTES, Spec, SpecError, check_memory, check_page};
use crate::{Blob, Cap, ClientSpec, CpuSpec, DeviceSpec, Disk, LARGEST_IO_BYTES, Layout, Limits, Tier, Volume};

const LIMITS: [&str; 6] = ["iops", "read_iops", "write_iops", "bandwidth", "read_bandwidth", "write_bandwidth"];
const DISK: [&str; 6] = ["read_latency", "write_latency", "neighbour", "largest_io", "size", "blob"];
const DEVICE: [&str; 7] = ["disks", "disk", "layout", "columns", "stripe_unit", "governor", "caps"];
/// The most disks a volume may have.
const MOST_DISKS: usize = 1_000;
/// A stripe unit where none is given: the interleave that Storage Spaces takes by default.
const STRIPE_UNIT: u64 = 256 * 1024;

pub(super) fn spec(file: &str, stem: &str, text: &str) -> Result<Spec, SpecError> {
    let document = Document { file, text };
    let parsed = DeTable::parse(text).map_err(|error| {
        document.error(error.span().map_or(0, |span| span.start), None, error.message().replace('\n', ", "))
    })?;
    let root = Spanned::new(parsed.span(), DeValue::Table(parsed.into_inner()));
    let root = Field::root(document, &root).table()?;
    root.known(&["name", "page_size", "memory", "cpu", "data", "log", "temp", "movement", "caps", "client"])?;
    let mut spec = Spec::unlimited(stem);
    if let Some(name) = root.read("name", name)? {
        spec.name = name;
    }
    spec.page_bytes = root.read("page_size", page_size)?.unwrap_or(PAGE_BYTES);
    spec.memory = root.read("memory", memory)?;
    if let Some(cpu) = root.read("cpu", cpu)? {
        spec.cpu = cpu;
    }
    spec.client = root.read("client", client)?;
    spec.caps = root.read("caps", caps)?.unwrap_or_default();
    let known: Vec<&str> = spec.caps.iter().map(|cap| cap.name.as_str()).collect();
    let device = |key| root.read(key, |field| device(field, &known));
    let (data, log, temp) = (device("data")?, device("log")?, device("temp")?);
    spec.data = data.unwrap_or_else(DeviceSpec::unlimited);
    spec.log = log.unwrap_or_else(DeviceSpec::unlimited);
    spec.temp = temp;
    spec.movement = device("movement")?;
    Ok(spec)
}

fn name(field: &Field<'_>) -> Result<String, SpecError> {
    match field.text()?.trim() {
        "" => Err(field.error("must not be empty")),
        name => Ok(name.to_owned()),
    }
}

fn page_size(field: &Field<'_>) -> Result<u64, SpecError> {
    let bytes = size(field)?;
    field.check(check_page(bytes))?;
    Ok(bytes)
}

fn memory(field: &Field<'_>) -> Result<u64, SpecError> {
    let bytes = size(field)?;
    field.check(check_memory(Some(bytes)))?;
    Ok(bytes)
}

fn cpu(field: &Field<'_>) -> Result<CpuSpec, SpecError> {
    let table = field.table()?;
    table.known(&["cores", "step_time", "page_time", "statement_time"])?;
    let cores = table.read("cores", |field| {
        let cores = field.number()?;
        field.check(CpuSpec { cores, ..CpuSpec::unlimited() }.check())?;
        Ok(cores)
    })?;
    let statement_ps = table.read("statement_time", |field| {
        let statement_ps = span_ps(field, "the time of a statement", "40us")?;
        field.check(CpuSpec { statement_ps, ..CpuSpec::unlimited() }.check())?;
        Ok(statement_ps)
    })?;
    let step_ps = table.read("step_time", |step| {
        let step_ps = span_ps(step, "the time of a step", "25ns")?;
        step.check(CpuSpec { step_ps: Some(step_ps), ..CpuSpec::unlimited() }.check())?;
        Ok(step_ps)
    })?;
    if step_ps.is_none() && statement_ps.is_none_or(|statement_ps| statement_ps == 0) {
        let error = field.error("'step_time' is missing, so the CPU would not be limited");
        return Err(error.hint("say step_time = \"25ns\" or statement_time = \"40us\", or leave [cpu] out"));
    }
    let page_ps = table.read("page_time", |field| {
        let page_ps = span_ps(field, "the time of a page", "10us")?;
        field.check(CpuSpec { page_ps, ..CpuSpec::unlimited() }.check())?;
        Ok(page_ps)
    })?;
    Ok(CpuSpec {
        cores: cores.unwrap_or(1.0),
        step_ps,
        page_ps: page_ps.unwrap_or(0),
        statement_ps: statement_ps.unwrap_or(0),
    })
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
        table.known(&LIMITS)?;
        let limits = limits(&table)?;
        if limits.is_unlimited() {
            return Err(field.error("a cap needs at least one limit").hint(LIMITS.join(", ")));
        }
        Ok(Cap { name: name.to_owned(), limits })
    };
    field.table()?.fields().into_iter().map(cap).collect()
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
    Ok(DeviceSpec { volume, governor: governor.unwrap_or_default(), caps: caps.unwrap_or_default() })
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
    let disk = Disk {
        limits: limits(table)?,
        read_latency: table.read("read_latency", latency)?.unwrap_or_default(),
        write_latency: table.read("write_latency", latency)?.unwrap_or_default(),
        neighbour: table.read("neighbour", neighbour)?,
        largest_io_bytes: table.read("largest_io", size)?.unwrap_or(LARGEST_IO_BYTES),
        bytes: table.read("size", size)?,
        blob: table.read("blob", blob)?,
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
