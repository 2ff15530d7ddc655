//! What the system counts of a thread's time on a CPU. It is a cost, never the time of a measurement: it is the same clock in real
//! and in virtual time.

/// CPU time of the calling thread, in seconds.
pub fn thread_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Time in which the calling thread could have run and waited for a CPU, in seconds. `None` where the system doesn't tell.
pub fn thread_run_queue_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(nanos as f64 / 1e9)
}
