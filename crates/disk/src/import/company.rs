//! Which jobs of fio ran at the same time: by when they began, where fio says that. Else by what they waited for, as far as the file has it:
//! options without a value (`stonewall`, `new_group`) are in no file of fio 3.33. Then how long all of them took tells whether they waited.

use super::result::Beside;

/// What is known of a job, of all its copies together.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    /// Its name.
    pub name: String,
    /// Its group: another one begins with a wait, or for the report alone.
    pub group: i64,
    /// Whether it waited for all jobs before it.
    pub waits: bool,
    /// The job that it waited for.
    pub waits_for: Option<String>,
    /// Whether its group is one for the report alone.
    pub has_new_group: bool,
    /// When it began to count, in milliseconds.
    pub began_ms: Option<f64>,
    /// How long it counted, in seconds.
    pub seconds: f64,
    /// How long it ran before that.
    pub ramp_seconds: f64,
    /// How long it waited at first.
    pub delay_seconds: f64,
}

impl Job {
    /// When it ended, in seconds after those that began with it.
    fn end_seconds(&self) -> f64 {
        self.delay_seconds + self.ramp_seconds + self.seconds
    }
}

/// Jobs that overlap by less than this had the disk for themselves.
const LEAST_OVERLAP_MS: f64 = 100.0;

/// fio tells the time of all jobs in whole seconds.
const ROUNDING_SECONDS: f64 = 1.0;

/// Jobs in the order in which they began, as far as that is known: one that stands first in the file may have begun last. Differences in which they
/// had the disk for themselves count, and no smaller ones.
pub(super) fn in_order<T>(jobs: &mut [(Job, T)]) {
    if jobs.iter().all(|(job, _)| job.began_ms.is_some()) {
        let began = |job: &Job| (job.began_ms.unwrap_or(0.0) - 1e3 * job.ramp_seconds) / LEAST_OVERLAP_MS;
        jobs.sort_by(|(a, _), (b, _)| began(a).round().total_cmp(&began(b).round()));
        return;
    }
    // Without a wait jobs of a group begin together, but for their delays. The first one waits for groups before it, if for anything.
    for group in jobs.chunk_by_mut(|(a, _), (b, _)| a.group == b.group) {
        if !group.iter().skip(1).any(|(job, _)| job.waits || job.waits_for.is_some()) {
            group.sort_by(|(a, _), (b, _)| a.delay_seconds.total_cmp(&b.delay_seconds));
        }
    }
}

/// For each job whether it ran beside the one before it; `elapsed_seconds` is what all of them took.
pub(super) fn beside(jobs: &[Job], elapsed_seconds: Option<f64>) -> Vec<Beside> {
    if let Some(told) = by_their_times(jobs) {
        return partly(told, jobs, |job| {
            let from = job.began_ms.unwrap_or_default() / 1e3;
            (from, from + job.seconds)
        });
    }
    let told = by_their_waits(jobs, false);
    let told = partly(told, jobs, |job| (job.end_seconds() - job.seconds, job.end_seconds()));
    let starts = (0..jobs.len()).filter(|at| told[*at] == Beside::No);
    let ends = starts.clone().skip(1).chain([jobs.len()]);
    let longest = |all: &[Job]| all.iter().map(|job| job.ramp_seconds + job.seconds).fold(0.0, f64::max);
    let needed: f64 = starts.zip(ends).map(|(from, to)| longest(&jobs[from..to])).sum();
    let is_shorter = elapsed_seconds.is_some_and(|elapsed| needed > elapsed + ROUNDING_SECONDS);
    if is_shorter { by_their_waits(jobs, true) } else { told }
}

/// Jobs that began or ended so much of their time before others had the disk for themselves that long.
const ALONE_PART: f64 = 0.1;

/// The same, with those of which some had the disk for themselves for a part of their time.
fn partly(mut told: Vec<Beside>, jobs: &[Job], span: impl Fn(&Job) -> (f64, f64)) -> Vec<Beside> {
    let starts: Vec<usize> = (0..jobs.len()).filter(|at| told[*at] == Beside::No).chain([jobs.len()]).collect();
    for group in starts.windows(2).map(|ends| ends[0]..ends[1]) {
        let spans: Vec<(f64, f64)> = jobs[group.clone()].iter().map(&span).collect();
        let first_end = spans.iter().map(|span| span.1).fold(f64::INFINITY, f64::min);
        let last_begin = spans.iter().map(|span| span.0).fold(f64::NEG_INFINITY, f64::max);
        let is_partly = spans.iter().any(|(from, to)| {
            let alone = (last_begin - from).max(to - first_end);
            alone > ALONE_PART * (to - from)
        });
        // The first is the one that the others ran beside.
        told[group].iter_mut().skip(1).filter(|_| is_partly).for_each(|one| *one = Beside::Partly);
    }
    told
}

/// `None` unless all say when they began.
fn by_their_times(jobs: &[Job]) -> Option<Vec<Beside>> {
    let mut company = (f64::INFINITY, f64::NEG_INFINITY);
    let one = |job: &Job| {
        let counts_from = job.began_ms?;
        let (from, to) = (counts_from - 1e3 * job.ramp_seconds, counts_from + 1e3 * job.seconds);
        let is_beside = to.min(company.1) - from.max(company.0) > LEAST_OVERLAP_MS;
        company = if is_beside { (company.0.min(from), company.1.max(to)) } else { (from, to) };
        Some(if is_beside { Beside::Told } else { Beside::No })
    };
    jobs.iter().map(one).collect()
}

/// Jobs of a group begin together. Without a wait so do those of a group that is one for the report alone, which a file does not always say:
/// `is_at_once` takes all groups for that whose jobs are not said to have waited.
fn by_their_waits(jobs: &[Job], is_at_once: bool) -> Vec<Beside> {
    let mut company: Vec<&Job> = Vec::new();
    let mut all = Vec::with_capacity(jobs.len());
    for job in jobs {
        // Whoever waits for one of several has the others beside it.
        let is_last = |name: &String| matches!(company.as_slice(), [only] if only.name == *name);
        let has_waited = job.waits || job.waits_for.as_ref().is_some_and(is_last);
        // Those that began late have nobody beside them where all others were over by then.
        let is_late = job.delay_seconds > 0.0
            && company.iter().all(|one| one.end_seconds() - job.delay_seconds < LEAST_OVERLAP_MS / 1e3);
        let has_waited = has_waited || is_late;
        let beside = match company.last().filter(|_| !has_waited) {
            Some(last) if last.group == job.group || job.has_new_group => Beside::Told,
            Some(_) if is_at_once => Beside::Reckoned,
            _ => Beside::No,
        };
        if beside == Beside::No {
            company.clear();
        }
        company.push(job);
        all.push(beside);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, group: i64) -> Job {
        Job { name: name.to_owned(), group, seconds: 10.0, ..Job::default() }
    }

    #[test]
    fn who_waits_for_one_of_several_has_the_others_beside_it() {
        let third = Job { waits_for: Some("a".to_owned()), ..job("c", 0) };
        let all = [job("a", 0), job("b", 0), third.clone()];
        assert_eq!(beside(&all, None), [Beside::No, Beside::Told, Beside::Told]);
        assert_eq!(beside(&[job("a", 0), third.clone()], None), [Beside::No, Beside::No]);
        // The one that it waited for is long over, and another one goes on.
        let wall = Job { waits: true, ..job("b", 1) };
        let late = Job { group: 1, ..third };
        assert_eq!(beside(&[job("a", 0), wall, late], None), [Beside::No, Beside::No, Beside::Told]);
    }

    #[test]
    fn who_begins_when_the_others_are_over_has_the_disk_for_itself() {
        let late = |name: &str, delay_seconds| Job { delay_seconds, ..job(name, 0) };
        let all = [job("a", 0), late("b", 9.95), late("c", 15.0), late("d", 25.0)];
        assert_eq!(beside(&all, Some(35.0)), [Beside::No, Beside::No, Beside::Partly, Beside::No]);
        // Its delay is not added to what the jobs before it took.
        let walled = [job("a", 0), late("b", 10.0), job("c", 1)];
        assert_eq!(beside(&walled, Some(30.0)), [Beside::No; 3]);
    }

    #[test]
    fn what_began_first_comes_first_whatever_the_file_says() {
        let of = |jobs: Vec<Job>| {
            let mut all: Vec<(Job, ())> = jobs.into_iter().map(|job| (job, ())).collect();
            in_order(&mut all);
            let all: Vec<Job> = all.into_iter().map(|(job, ())| job).collect();
            let told = beside(&all, None).into_iter().map(|one| one == Beside::Told);
            all.iter().map(|job| job.name.clone()).zip(told).collect::<Vec<_>>()
        };
        let late = |name: &str, delay_seconds| Job { delay_seconds, ..job(name, 0) };
        let named = |all: [(&str, bool); 4]| all.map(|(name, told)| (name.to_owned(), told)).to_vec();
        let found = of(vec![late("a", 12.0), job("b", 0), late("c", 12.0), job("d", 0)]);
        assert_eq!(found, named([("b", false), ("d", true), ("a", false), ("c", true)]));
        let at = |name: &str, seconds: f64| Job { began_ms: Some(1e12 + 1e3 * seconds), ..job(name, 0) };
        let found = of(vec![at("a", 12.01), at("b", 0.01), at("c", 12.0), at("d", 0.0)]);
        assert_eq!(found, named([("b", false), ("d", true), ("a", false), ("c", true)]));
    }

    #[test]
    fn groups_that_took_less_time_than_one_after_another_ran_at_once() {
        let all = [job("a", 0), Job { ramp_seconds: 2.0, ..job("b", 1) }, job("c", 1)];
        // The one with a ramp goes on when the other one is over.
        assert_eq!(beside(&all, Some(22.0)), [Beside::No, Beside::No, Beside::Partly]);
        assert_eq!(beside(&all, Some(21.0)), [Beside::No, Beside::No, Beside::Partly], "that may be rounding");
        assert_eq!(beside(&all, Some(12.0)), [Beside::No, Beside::Reckoned, Beside::Told]);
        let walled = [job("a", 0), Job { waits: true, ..job("b", 1) }, job("c", 2)];
        assert_eq!(beside(&walled, Some(20.0)), [Beside::No, Beside::No, Beside::Reckoned]);
    }

    #[test]
    fn times_at_which_jobs_began_tell_whatever_they_waited_for() {
        let at =
            |name: &str, group: i64, seconds: f64| Job { began_ms: Some(1e12 + 1e3 * seconds), ..job(name, group) };
        let all = [at("a", 0, 0.0), at("b", 1, 5.0), at("c", 1, 15.0), at("d", 1, 24.95)];
        assert_eq!(beside(&all, Some(10.0)), [Beside::No, Beside::Partly, Beside::No, Beside::No]);
        // What it does before it counts takes from others as well.
        let ramped = Job { ramp_seconds: 2.0, ..at("b", 1, 11.0) };
        assert_eq!(beside(&[at("a", 0, 0.0), ramped], None), [Beside::No, Beside::Partly]);
        assert_eq!(beside(&[at("a", 0, 0.0), at("b", 0, 0.9)], None), [Beside::No, Beside::Told]);
        // One that is told of first may have begun last.
        assert_eq!(beside(&[at("a", 0, 20.0), at("b", 0, 0.0)], None), [Beside::No, Beside::No]);
        assert_eq!(beside(&[at("a", 0, 0.0), job("b", 0)], None), [Beside::No, Beside::Told]);
    }
}
