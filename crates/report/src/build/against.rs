//! Files with limits of their own against disks that all of them share.

use plimsoll_plan::DatabaseFile;
use plimsoll_plan::against::{Against, Bottleneck, Breaks, Pool, Shared};
use plimsoll_plan::storage::LimitOf;

use crate::model::format::{gigabytes, quantity};

/// How far the load could grow here and on disks that all files share.
pub(super) fn held(files: &[DatabaseFile], pool: &Pool, against: &Against) -> Option<String> {
    let times = |breaks: &Breaks| {
        format!(
            "up to {} times what was seen: then {}",
            quantity(breaks.factor, ""),
            bottleneck(files, pool, breaks.what)
        )
    };
    let here = times(against.instance.as_ref()?);
    let there = times(against.pool.as_ref()?);
    let in_turn = against.pool_as_seen.as_ref().map(|seen| {
        let factor = quantity(seen.factor, "");
        format!(" By what all files did at each time, and not by the busiest time of each, it is {factor} times.")
    });
    let name = &pool.name;
    let (files_gb, holds_gb) = (against.files_gb, pool.holds_gb);
    let short = holds_gb.filter(|holds| *holds < files_gb).map(|holds| {
        let [files, holds] = [files_gb, holds].map(gigabytes);
        format!(" The files have {files}, and these disks hold {holds}: it takes more or larger ones.")
    });
    Some(format!(
        "As they are, these files carry {here}. On {name} they carry {there}.{}{}",
        in_turn.unwrap_or_default(),
        short.unwrap_or_default()
    ))
}

/// What is reached first.
pub fn bottleneck(files: &[DatabaseFile], pool: &Pool, what: Bottleneck) -> String {
    let shared = |shared: &Option<Shared>, unit: &str| {
        let of = |shared: &Shared| format!("the {} of all together are used up", quantity(shared.limit, unit));
        shared.as_ref().map(of).unwrap_or_default()
    };
    match what {
        Bottleneck::File(at, of) => format!("{} is at its {}", files[at].label(), of.name()),
        Bottleneck::LogRate => "the logs are at the rate that the instance lets them grow by".to_owned(),
        Bottleneck::Shared(LimitOf::Iops) => shared(&pool.iops, "IOPS"),
        Bottleneck::Shared(LimitOf::Bandwidth) => shared(&pool.mb_per_s, "MB/s"),
    }
}
