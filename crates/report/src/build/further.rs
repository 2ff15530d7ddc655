//! What further files take and bring, and where there is room for them, in sentences.

use plimsoll_plan::advice::{Lack, Larger};
use plimsoll_plan::gain::Brings;
use plimsoll_plan::storage::Elsewhere;
use plimsoll_plan::{DatabaseFile, Finding};

use super::brings::{MOST_NAMED, gains, has};
use crate::model::format::{count, gigabytes, listed};

/// That there is not so much space to be had, and what comes first. `otherwise` are databases that other files carry, and begins what the others take.
pub(super) fn short(
    [named, after]: [&str; 2],
    (fit, otherwise): (usize, Option<&str>),
    [files_gb, blobs_gb]: [[Option<f64>; 2]; 2],
    ([larger, added], back_gb, [others_gb, largest_gb]): ([usize; 2], f64, [f64; 2]),
    elsewhere: &[Elsewhere],
) -> String {
    let over = |[needed, most]: [Option<f64>; 2]| needed.zip(most).filter(|(needed, most)| needed > most);
    let all = match (larger, added) {
        (0, _) => format!("{}, all", count(added, "more data file")),
        (1, 0) => "the enlargement".to_owned(),
        (2, 0) => "both enlargements".to_owned(),
        (_, 0) => format!("all {larger} enlargements"),
        _ => format!("{} and {}, all", count(larger, "enlargement"), count(added, "more data file")),
    };
    let too_much = match (over(files_gb), over(blobs_gb)) {
        (Some((needed, most)), None) => {
            format!("With {all} files take {}, and such an instance can have {}.", gigabytes(needed), gigabytes(most))
        }
        (Some((needed, most)), Some((blobs, most_blobs))) => format!(
            "With {all} files take {}, and their blobs {}, and such an instance can have {} and {}.",
            gigabytes(needed),
            gigabytes(blobs),
            gigabytes(most),
            gigabytes(most_blobs)
        ),
        (None, blobs) => {
            let (needed, most) = blobs.unwrap_or_default();
            format!(
                "With {all} the blobs take {}, and those of an instance may take {}.",
                gigabytes(needed),
                gigabytes(most)
            )
        }
    };
    let first = match fit {
        0 => "None of it fits.".to_owned(),
        1 => format!("{named} comes first, and no more fits."),
        _ => format!("What these {fit} files need comes first, in this order, and no more fits: {named}."),
    };
    // What gives back space need not give back blobs.
    let short_of_space = over(files_gb).filter(|_| over(blobs_gb).is_none());
    let given = short_of_space.filter(|(needed, most)| needed - back_gb <= *most);
    let mut others: Vec<String> =
        given.map(|_| format!("{} given back that bring nothing", gigabytes(back_gb))).into_iter().collect();
    others.extend(elsewhere.iter().map(has_more));
    // A database is on one instance, and files can't have less than nothing.
    let is_parted = files_gb[1].is_none_or(|most| largest_gb <= most);
    others.extend(is_parted.then(|| "several instances".to_owned()));
    let less_gb = short_of_space.map(|(needed, most)| (needed - most).ceil()).filter(|less| *less < others_gb);
    others.extend(less_gb.map(|less| format!("{} less in other files", gigabytes(less))));
    if elsewhere.is_empty() && over(files_gb).is_some() {
        others.push("a machine with disks of its own".to_owned());
    }
    others.extend(over(blobs_gb).filter(|_| over(files_gb).is_none()).map(|_| "fewer and larger files".to_owned()));
    let what = otherwise.unwrap_or(if fit == 0 { "It takes" } else { "The rest takes" });
    let after = if after.is_empty() || given.is_some() {
        String::new()
    } else {
        format!(" With {} given back that bring nothing, {after} would fit, too.", gigabytes(back_gb))
    };
    format!("{too_much} {first} {what} one of these: {}.{after}", others.join("; "))
}

/// Further data files, or none where those that are there have enough once their rows are spread over all.
pub(super) fn more_files(stands: &str, found: &Finding, at_limit: usize) -> String {
    let Finding::Add { added, all, others_full, size_gb, step, brings, fits, larger, .. } = found else {
        return String::new();
    };
    let (gb, has) = (gigabytes(*size_gb), has(step).unwrap_or_default());
    let (brings, room) = (brings.as_ref().map(gains).unwrap_or_default(), room(*fits));
    let over =
        if *others_full { format!("these {all}, as others of the filegroup are full,") } else { format!("all {all}") };
    if *added == 0 {
        // The rows need no room; files that grow for them do, and say so.
        let over = if *others_full { over } else { format!("{over} of the filegroup") };
        return format!(
            "{stands}. Spread over {over} by their sizes, the rows are carried as seen with 25 % to spare (indexes are rebuilt for \
             that){brings}.{room}"
        );
    }
    let why = match (larger, at_limit) {
        (Some(_), _) => "",
        (None, 1) => ", and no size is known to have enough",
        (None, _) => ", and no size is known to have enough for all of them",
    };
    let each = if *added == 1 { "" } else { " each" };
    format!(
        "{stands}{why}. Add {} of {gb}, with {has}{each}: once the rows are spread over {over} by their sizes (indexes \
         are rebuilt for that), they carry what was seen with 25 % to spare{brings}.{room}",
        count(*added, "data file")
    )
}

/// Larger files that have enough as well, and take more space.
pub(super) fn larger_files(larger: &Larger, files: &[DatabaseFile]) -> String {
    let more_gb: f64 = larger.sizes.iter().map(|(at, size_gb)| size_gb - files[*at].size_gb).sum();
    let names: Vec<String> =
        larger.sizes.iter().map(|(at, size_gb)| format!("{} to {}", files[*at].label(), gigabytes(*size_gb))).collect();
    let (names, more) = (listed(&names, MOST_NAMED), gigabytes(more_gb));
    let brings = larger.brings.as_ref().map(gains).unwrap_or_default();
    if let Some(lack) = &larger.lack {
        let what = match lack {
            Lack::Space => "for which there is no room beside all else".to_owned(),
            Lack::Blobs => "for whose blobs there is no room beside all else".to_owned(),
            Lack::Given { gb, by } => {
                let by: Vec<String> = by.iter().map(|at| files[*at].label()).collect();
                format!(
                    "for which {} are missing, which {} can give back first and keep their limits",
                    gigabytes(gb.ceil()),
                    listed(&by, MOST_NAMED)
                )
            }
            Lack::Raised { gb, is_more: false } => {
                format!("for which the space has to be raised by {} first", gigabytes(gb.ceil()))
            }
            Lack::Raised { gb, is_more: true } => {
                format!(
                    "for which the space has to be raised by {} more than for what is advised",
                    gigabytes(gb.ceil())
                )
            }
        };
        return format!(
            " Larger files would move no rows, and take {more} more than there are now, {what}: {names}{brings}."
        );
    }
    format!(" Or enlarge files, which moves no rows and takes {more}: {names}. They would have enough as well{brings}.")
}

/// That a mere rebuild of the indexes does no less.
pub(super) fn or_rebuild(brings: &Brings) -> String {
    let brings = gains(brings);
    format!(
        " Or rebuild the indexes, which takes no space: spread over all of the filegroup by their sizes, the rows are carried as seen with 25 % to \
         spare{brings}."
    )
}

/// That there is no room for more, where that is so.
const fn room(fits: bool) -> &'static str {
    if fits { "" } else { " Such an instance has no room for that." }
}

/// What has more.
fn has_more(one: &Elsewhere) -> String {
    let most = gigabytes(one.most_gb);
    let on = one.hardware.as_ref().map(|hardware| format!(" on {hardware}")).unwrap_or_default();
    let cores = one.vcores.map(|vcores| format!("{vcores} vCores or more"));
    match (&one.title, cores) {
        (None, cores) => format!("{}{on} (from {most} on)", cores.unwrap_or_default()),
        (Some(title), Some(cores)) => format!("{title} with {cores}{on} (from {most} on)"),
        (Some(title), None) => format!("{title}{on} (up to {most})"),
    }
}
