//! What the system counts of a thread's time on a CPU. It is a cost, never the time of a measurement: it is the same clock in real
//! and in virtual time.

use std::time::Duration;

/// CPU time of the calling thread, in seconds.
pub fn thread_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Time in which the calling thread could have run and waited for a CPU, in seconds. `None` where the system doesn't tell.
pub fn thread_run_queue_seconds() -> Option<f64> {
    Some(RunQueue::of_this_thread()?.waited()?.as_secs_f64())
}

/// How long one thread has waited for a CPU, for reading often.
#[derive(Debug)]
pub struct RunQueue(std::fs::File);

impl RunQueue {
    /// That of the calling thread, whoever reads it. `None` where the system doesn't tell.
    pub fn of_this_thread() -> Option<Self> {
        std::fs::File::open("/proc/thread-self/schedstat").ok().map(Self)
    }

    /// Time in which it could have run and waited for a CPU. `None` if it can't be read any more.
    pub fn waited(&self) -> Option<Duration> {
        let mut text = [0; 96];
        let length = rustix::io::pread(&self.0, &mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        Some(Duration::from_nanos(text.split_whitespace().nth(1)?.parse().ok()?))
    }
}
