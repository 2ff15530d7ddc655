//! The lab's server through the eyes of a sampler: counters, and the views that a cloud database has.

use std::path::Path;
use std::sync::Arc;

use plimsoll_clock::windowed;
use plimsoll_engine::{Result, Sampler};
use plimsoll_hardware::{Grain, LimitKind, Resource, Role, Way};
use plimsoll_measurement::{Counter, FileLimit, FileRow, Files, Moment, Reading, ResourceRow, StatementRow, Views};

use crate::server::{Server, log_path};
use crate::state::{MEMORY_INTERVAL_NANOS, State};
use crate::truth::Device;

/// The counters of this server.
#[derive(Debug)]
pub struct ServerSampler(pub Arc<Server>);

impl Sampler for ServerSampler {
    fn sample(&mut self) -> Result<Vec<Reading>> {
        let ((), window) = windowed(self.0.clock.as_ref(), || ());
        let reading = |metric, value| Reading { metric, value, window };
        let state = self.0.state();
        let counters = &state.counters;
        let mut readings = vec![
            reading(Counter::CacheMissPages, counters.pages_read as f64),
            reading(Counter::CacheLookupPages, counters.pages_looked_up as f64),
            reading(Counter::Commits, counters.commits as f64),
            reading(Counter::DeviceReadBytes, counters.data_reads.bytes as f64),
            reading(Counter::DeviceWriteBytes, (counters.data_writes.bytes + counters.log_writes.bytes) as f64),
            reading(Counter::LogWriteBytes, counters.log_writes.bytes as f64),
            reading(Counter::EngineCpuSeconds, counters.cpu_nanos as f64 / 1e9),
            reading(Counter::DataReads, counters.data_reads.count as f64),
            reading(Counter::DataWrites, counters.data_writes.count as f64),
            reading(Counter::LogWrites, counters.log_writes.count as f64),
            reading(Counter::DataReadStallSeconds, counters.data_reads.stall.as_secs_f64()),
            reading(Counter::DataWriteStallSeconds, counters.data_writes.stall.as_secs_f64()),
            reading(Counter::LogWriteStallSeconds, counters.log_writes.stall.as_secs_f64()),
        ];
        readings.extend(counters.waits.readings(window));
        if state.spec.client.is_some() {
            readings.push(reading(Counter::ClientWaitSeconds, counters.client_wait.as_secs_f64()));
            readings.push(reading(Counter::ClientCpuSeconds, counters.client_cpu_nanos as f64 / 1e9));
        }
        if let Some(limit) = state.pool.limit() {
            readings.push(reading(Counter::MemoryPercent, 100.0 * state.pool.pages() as f64 / limit as f64));
        }
        let resources = [
            (Resource::Cpu, Counter::CpuPercent),
            (Resource::DataIo, Counter::DataIoPercent),
            (Resource::LogWrite, Counter::LogWritePercent),
        ];
        for (resource, metric) in resources {
            let last = state.machine.meter(resource).rows(window.end, Grain::Fine).last();
            readings.extend(last.map(|(_, percent)| reading(metric, percent)));
        }
        Ok(readings)
    }

    fn files(&mut self) -> Option<Files> {
        let ((), window) = windowed(self.0.clock.as_ref(), || ());
        let state = self.0.state();
        let files = || state.numbers.iter().map(|(path, number)| file_rows(&state, path, *number));
        let data = Device::of(&state.spec, Role::Data, state.file_bytes());
        let log = Device::of(&state.spec, Role::Log, 0);
        let way = |role, bytes| state.spec.way(state.spec.device_for(role), bytes);
        let methods = [way(Role::Data, state.file_bytes()), way(Role::Log, 0)];
        // All data files are on the same blob here, so that its limits are those of a file that is alone there.
        let is_alone = files().filter(|[data, _]| data.reads > Some(0) || data.writes > Some(0)).count() == 1;
        let on_blob = |row: FileRow, device: &Device<'_>, way: &Way| {
            let rate = |kind| way.smallest(&[kind]).map(|limit| limit.per_second);
            let (iops, bytes_per_second) = (rate(LimitKind::Iops), rate(LimitKind::Bandwidth));
            let limit = Some(FileLimit::Known { iops, bytes_per_second });
            device.blob_bytes().map(|bytes| FileRow { size_bytes: Some(bytes), limit, ..row })
        };
        let rows = files()
            .flat_map(|[of_data, of_log]| [on_blob(of_data, &data, &methods[0]), on_blob(of_log, &log, &methods[1])]);
        let rows: Vec<FileRow> = rows.flatten().collect();
        (is_alone && !rows.is_empty()).then_some(Files { rows, window })
    }

    fn views(&mut self) -> Result<Views> {
        let now = self.0.clock.now();
        let state = self.0.state();
        let statements = state.statements.iter().map(|(text, counters)| StatementRow {
            text: text.clone(),
            count: counters.count,
            seconds: counters.time.as_secs_f64(),
            longest_seconds: counters.longest.as_secs_f64(),
            pages_read: counters.pages_read,
        });
        Ok(Views {
            resources_15_s: resources(&state, now, Grain::Fine),
            resources_5_min: resources(&state, now, Grain::Coarse),
            waits: state.counters.waits.rows(),
            files: state.numbers.iter().flat_map(|(path, number)| file_rows(&state, path, *number)).collect(),
            statements: statements.collect(),
            ..Views::default()
        })
    }
}

/// The database file and its log.
fn file_rows(state: &State, path: &Path, number: u32) -> [FileRow; 2] {
    let [reads, writes, log] = state.files[number as usize].operations;
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let data = FileRow {
        name: name(path),
        kind: "data",
        reads: Some(reads.count),
        read_bytes: Some(reads.bytes),
        read_stall_seconds: Some(reads.stall.as_secs_f64()),
        writes: Some(writes.count),
        write_bytes: Some(writes.bytes),
        write_stall_seconds: Some(writes.stall.as_secs_f64()),
        ..FileRow::default()
    };
    // What is read of a log is in memory.
    let log = FileRow {
        name: name(&log_path(path)),
        kind: "log",
        writes: Some(log.count),
        write_bytes: Some(log.bytes),
        write_stall_seconds: Some(log.stall.as_secs_f64()),
        ..FileRow::default()
    };
    [data, log]
}

/// The finished intervals that are kept.
fn resources(state: &State, now: Moment, grain: Grain) -> Vec<ResourceRow> {
    let length = u64::try_from(grain.length().as_nanos()).unwrap_or(u64::MAX);
    let finished = now.as_nanos() / length;
    let percent = |resource: Resource, interval: u64| {
        let meter = state.machine.meter(resource);
        meter.is_limited().then(|| meter.percent(interval, grain))
    };
    let memory = |end: u64| {
        let limit = state.pool.limit()? as f64;
        // Nothing has changed since the last note before the end.
        let (_, pages) = state.memory.range(..end / MEMORY_INTERVAL_NANOS).next_back()?;
        Some(100.0 * *pages as f64 / limit)
    };
    let row = |interval: u64| ResourceRow {
        end: Moment::from_nanos((interval + 1) * length),
        cpu_percent: percent(Resource::Cpu, interval),
        data_io_percent: percent(Resource::DataIo, interval),
        log_write_percent: percent(Resource::LogWrite, interval),
        memory_percent: memory((interval + 1) * length),
    };
    (finished.saturating_sub(grain.rows_kept())..finished).map(row).collect()
}
