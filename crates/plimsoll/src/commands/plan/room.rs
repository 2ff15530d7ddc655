//! Which of the ways that databases go on have room on the instance. What has none gives way to what is advised without layouts, as far as that
//! has room.

use plimsoll_plan::advice::AT_LIMIT_PERCENT;
use plimsoll_plan::choice::{self, Enlarged};
use plimsoll_plan::judgement::{self, Judgement};
use plimsoll_plan::layout::{self, Layout, Need};
use plimsoll_plan::limits::Limits;
use plimsoll_plan::rules::space::{self, Bundle};
use plimsoll_plan::rules::{used, used_of};
use plimsoll_plan::statements::Steps;
use plimsoll_plan::{DatabaseFile, FileKind, Finding, Storage};
use plimsoll_report::layouts::Found;

/// Databases of which those are searched for that fit together, where all do not: as many as an instance can have.
const MOST_TOGETHER: usize = 100;

/// What ways are searched for.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub files: &'a [DatabaseFile],
    pub limits: &'a Limits,
    pub storage: &'a Storage<'a>,
    pub judged: &'a Judgement,
}

impl Given<'_> {
    /// How much of its limits a file uses, in percent.
    fn percent(&self, at: usize) -> f64 {
        used(&self.files[at], &self.limits.files[at]).map_or(0.0, |(percent, _)| percent)
    }

    fn is_of(&self, at: usize, need: &Need) -> bool {
        need.database.eq_ignore_ascii_case(&self.files[at].database)
    }

    /// What a way is made of: what is of use only together, as the data files of a filegroup are.
    fn bundles(&self, way: &Enlarged) -> Vec<Bundle> {
        let group = |at: usize| (self.files[at].kind, self.files[at].filegroup.as_ref());
        let mut all: Vec<Bundle> = Vec::new();
        let mut of = |at: usize, take: &dyn Fn(&mut Bundle)| {
            let place = all.iter().position(|one| group(one.files[0]) == group(at)).unwrap_or_else(|| {
                all.push(Bundle { files: vec![at], ..Bundle::default() });
                all.len() - 1
            });
            if !all[place].files.contains(&at) {
                all[place].files.push(at);
            }
            take(&mut all[place]);
        };
        for (at, size_gb) in &way.files {
            of(*at, &|bundle| bundle.sizes.push((*at, *size_gb)));
        }
        for one in way.further.iter().map(|place| &self.judged.advice[*place]) {
            if let Finding::Add { added, size_gb, shrunk, .. } = &one.finding {
                of(one.files[0], &|bundle| {
                    bundle.added.push((*added, *size_gb));
                    bundle.shrunk.extend(shrunk);
                });
            }
        }
        all
    }

    /// What ways are made of, in the order in which it was judged; behind that first what uses most of its limits.
    fn wanted<'e>(&self, enlarged: impl IntoIterator<Item = &'e Enlarged>) -> Vec<Bundle> {
        let mut all: Vec<Bundle> = enlarged.into_iter().flat_map(|one| self.bundles(one)).collect();
        let most = |one: &Bundle| one.files.iter().map(|at| self.percent(*at)).fold(0.0, f64::max);
        let place = |one: &Bundle| {
            let order = &self.judged.order;
            order.iter().position(|at| one.files.contains(at)).unwrap_or(order.len())
        };
        all.sort_by(|a, b| place(a).cmp(&place(b)).then(most(b).total_cmp(&most(a))));
        all
    }

    /// Takes out of ways what is for one of these files.
    fn take_out(&self, enlarged: &mut Vec<Enlarged>, out: &[usize]) {
        for way in enlarged.iter_mut() {
            let gb = |files: &[(usize, f64)]| files.iter().map(|(at, gb)| gb - self.files[*at].size_gb).sum::<f64>();
            let before_gb = gb(&way.files);
            way.files.retain(|(at, _)| !out.contains(at));
            way.space_gb -= before_gb - gb(&way.files);
            let advice = |place: &usize| &self.judged.advice[*place];
            let is_out = |place: &usize| advice(place).files.iter().any(|at| out.contains(at));
            way.space_gb -= way
                .further
                .iter()
                .filter(|place| is_out(place))
                .map(|place| choice::added_gb(advice(place)))
                .sum::<f64>();
            way.further.retain(|place| !is_out(place));
        }
        enlarged.retain(|one| !one.files.is_empty() || !one.further.is_empty());
    }
}

/// What databases go on with that have no layout, if there is room for all of it.
#[derive(Clone, Default)]
pub(super) struct Wishes {
    /// Larger files and further ones with room to spare.
    pub enlarged: Vec<Enlarged>,
    /// What is advised.
    pub advised: Vec<Enlarged>,
}

/// Which of the wishes have room, whatever the space is raised to: what is advised, in the order in which it was judged, and then what is larger than
/// that, as far as there is room beside it. A layout has room beside all of these, or is none.
pub(super) fn settle(found: &mut Found, wishes: &Wishes, given: Given<'_>) {
    let Given { files, limits, storage, judged } = given;
    // What a layout changes gives back what that says, and what is to grow nothing.
    let is_enlarged = |at: &usize| wishes.enlarged.iter().flat_map(|one| &one.files).any(|(grown, _)| grown == at);
    let is_changed = |at: &usize| is_enlarged(at) || found.needs.iter().any(|need| given.is_of(*at, need));
    let kept = judged.advice.iter().filter(|one| !one.files.iter().any(is_changed));
    found.back_gb = judgement::back_gb(kept, files);
    Wishes { enlarged: found.enlarged, advised: found.advised } = wishes.clone();
    for database in wishes.enlarged.iter().map(|one| &one.database) {
        found.advised.extend(choice::advised(database, (files, judged), true));
    }
    // What a layout gives back before rows move is there for others, and what it takes has to have room beside them.
    let mut limits = limits.clone();
    for pair in found.pairs() {
        let mut steps = Steps::default();
        lay(&mut steps, pair, given);
        limits.file_gb += steps.taken_gb().min(0.0);
    }
    let wanted = given.wanted(&found.advised);
    let fit = space::fit(files, &limits, storage, &wanted);
    found.room_after = fit.after(&wanted, found.back_gb);
    let larger = given.wanted(&found.enlarged);
    found.without_room = wanted.iter().chain(&larger).flat_map(|one| one.files.iter().copied()).collect();
    let mut held: Vec<Bundle> = wanted.into_iter().zip(&fit.fits).filter(|(_, fits)| **fits).map(|one| one.0).collect();
    let mut served: Vec<usize> = Vec::new();
    for one in larger {
        let is_other = |known: &&Bundle| !known.files.iter().any(|at| one.files.contains(at));
        let mut with: Vec<Bundle> = held.iter().filter(is_other).cloned().collect();
        with.push(one.clone());
        if space::fit(files, &limits, storage, &with).is_all() {
            held = with;
            served.extend(one.files);
        }
    }
    let out = |way: &[Enlarged], is_in: &dyn Fn(&usize) -> bool| -> Vec<usize> {
        given.wanted(way).iter().flat_map(|one| &one.files).filter(|at| !is_in(at)).copied().collect()
    };
    let has_place = |at: &usize| held.iter().any(|one| one.files.contains(at));
    let out_of_larger = out(&found.enlarged, &|at| served.contains(at));
    let out_of_advised = out(&found.advised, &|at| has_place(at) && !served.contains(at));
    given.take_out(&mut found.enlarged, &out_of_larger);
    given.take_out(&mut found.advised, &out_of_advised);
}

/// The statements of all that was found.
pub(super) fn steps(found: &Found, given: Given<'_>) -> Steps {
    let Given { files, judged, .. } = given;
    let mut steps = Steps::default();
    let reason = |at: usize| {
        let percent = given.percent(at);
        if percent >= AT_LIMIT_PERCENT {
            "It stands at a limit."
        } else if judged.is_slow(at) {
            "It is slow, and probably stands at a limit for parts of the time."
        } else if percent * (1.0 + found.rules.headroom_percent / 100.0) > 100.0 {
            "What was seen leaves too little of its limits."
        } else {
            "Files of a filegroup that have the same limits stay of one size, as rows are spread over all."
        }
    };
    for one in found.enlarged.iter().chain(&found.advised) {
        for (at, size_gb) in &one.files {
            steps.enlarge(&files[*at], *size_gb, reason(*at));
        }
        for one in one.further.iter().map(|place| &judged.advice[*place]) {
            steps.more(&one.finding, one.files[0], files);
        }
    }
    found.pairs().for_each(|pair| lay(&mut steps, pair, given));
    steps
}

/// Adds the statements of a layout.
fn lay(steps: &mut Steps, (need, layout): (&Need, &Layout), Given { files, storage, .. }: Given<'_>) {
    let like_gb = |size_gb: f64| storage.step(size_gb).map(|step| storage.begins_gb(step));
    let carries = |file: &DatabaseFile, [iops, mb_per_s]: [f64; 2]| {
        let more = |seen: Option<f64>, more: f64| seen.map(|seen| seen + more);
        let busier =
            DatabaseFile { iops: more(file.iops, iops), mb_per_s: more(file.mb_per_s, mb_per_s), ..file.clone() };
        let used = storage.step(file.size_gb).and_then(|step| used_of(&busier, step));
        used.is_none_or(|(percent, _)| percent < AT_LIMIT_PERCENT)
    };
    steps.layout(&need.database, files, layout, (&like_gb, &carries));
}

/// Databases whose layouts have no room for their blobs beside the old ones, while rows are moved.
pub(super) fn without_blobs(found: &Found, given: Given<'_>) -> Vec<String> {
    let Given { files, limits, storage, .. } = given;
    // Files that do not fit as they are are to be moved to the instance, and have no old ones there.
    if storage.blobs_gb().is_none_or(|most_gb| limits.blob_gb > most_gb) {
        return Vec::new();
    }
    // Of the space the statements say it, which know what is given back first.
    let limits = Limits { file_gb: f64::NEG_INFINITY, ..limits.clone() };
    let mut wanted = given.wanted(found.enlarged.iter().chain(&found.advised));
    let others = wanted.len();
    wanted.extend(found.pairs().map(|(need, layout)| {
        let own = |kind: FileKind| (0..files.len()).filter(move |at| given.is_of(*at, need) && files[*at].kind == kind);
        let kept = layout.data_files as usize;
        let grown = own(FileKind::Data).take(kept).map(|at| (at, layout.data_gb));
        let grown = grown.chain(own(FileKind::Log).take(1).map(|at| (at, layout.log_gb)));
        let sizes = grown.filter(|(at, size_gb)| *size_gb > files[*at].size_gb).collect();
        let new = kept.saturating_sub(own(FileKind::Data).count());
        Bundle { sizes, added: vec![(new, layout.data_gb)], ..Bundle::default() }
    }));
    let fit = space::fit(files, &limits, storage, &wanted);
    let pairs = found.pairs().zip(fit.fits.iter().skip(others));
    pairs.filter(|(_, fits)| !**fits).map(|((need, _), _)| need.database.clone()).collect()
}

/// Takes the layouts of some databases back: these go on as is advised.
pub(super) fn leave(found: &mut Found, wishes: &mut Wishes, given: Given<'_>, is_out: impl Fn(&Need) -> bool) {
    let (kept, out): (Vec<usize>, Vec<usize>) = (0..found.needs.len()).partition(|at| !is_out(&found.needs[*at]));
    for need in out.iter().map(|at| &found.needs[*at]) {
        wishes.advised.extend(choice::advised(&need.database, (given.files, given.judged), true));
        found.out_of_reach.push(need.database.clone());
    }
    found.chosen = found.chosen.as_ref().map(|all| kept.iter().filter_map(|at| all.get(*at).copied()).collect());
    found.fronts = kept.iter().map(|at| found.fronts[*at].clone()).collect();
    found.needs = kept.iter().map(|at| found.needs[*at].clone()).collect();
    settle(found, wishes, given);
}

/// Chooses a layout for each database: for all, where they fit into the space, or into the most that it can be raised to; else for those that
/// fit, first for those that use most of their limits. The others go on as is advised, and what that takes is not taken by a layout.
pub(super) fn fit_together(found: &mut Found, wishes: &mut Wishes, given: Given<'_>) {
    let Given { files, storage, judged, .. } = given;
    let plain: Vec<Option<Enlarged>> =
        found.needs.iter().map(|need| choice::advised(&need.database, (files, judged), false)).collect();
    let together = |kept: &[usize], space_gb: Option<f64>| {
        // What has no layout takes its room all the same.
        let has_layout = |at: usize| {
            files[at].kind != FileKind::Container && kept.iter().any(|need| given.is_of(at, &found.needs[*need]))
        };
        let others = plain.iter().enumerate().filter(|(at, _)| !kept.contains(at)).filter_map(|(_, way)| way.as_ref());
        let enlarged: Vec<&Enlarged> = found.enlarged.iter().chain(&found.advised).chain(others).collect();
        let wanted = given.wanted(enlarged.iter().copied());
        let grown = |at: usize| enlarged.iter().flat_map(|one| &one.files).find(|(grown, _)| *grown == at);
        let blob_gb = |size_gb: f64| storage.blob_gb(size_gb).unwrap_or(0.0);
        let (mut apart_gb, mut apart_blobs_gb, mut apart_files) = (0.0, 0.0, 0);
        for (at, file) in files.iter().enumerate().filter(|(at, _)| !has_layout(*at)) {
            let shrunk = wanted.iter().flat_map(|one| &one.shrunk).find(|(shrunk, _)| *shrunk == at);
            let size_gb = grown(at).or(shrunk).map_or(file.size_gb, |(_, size_gb)| *size_gb);
            apart_gb += size_gb;
            apart_blobs_gb += if file.is_of_tempdb() { 0.0 } else { blob_gb(size_gb) };
            apart_files += 1;
        }
        for (count, size_gb) in wanted.iter().flat_map(|one| &one.added) {
            apart_gb += *count as f64 * size_gb;
            apart_blobs_gb += *count as f64 * blob_gb(*size_gb);
            apart_files += *count as u32;
        }
        let space_gb = space_gb.map_or(f64::INFINITY, |space| space - apart_gb);
        let blobs_gb = storage.blobs_gb().map_or(f64::INFINITY, |blobs| blobs - apart_blobs_gb);
        let most_files = storage.tier.files.unwrap_or(u32::MAX).saturating_sub(apart_files);
        let fronts: Vec<&Vec<Layout>> = kept.iter().map(|at| &found.fronts[*at]).collect();
        let chosen = layout::together(&fronts, space_gb, blobs_gb, most_files);
        chosen.filter(|_| space_gb >= 0.0 && blobs_gb >= 0.0)
    };
    let all: Vec<usize> = (0..found.needs.len()).collect();
    let most_gb = storage.most_gb().or(storage.space_gb());
    let mut kept = all.clone();
    let mut chosen = together(&kept, storage.space_gb()).or_else(|| together(&kept, most_gb));
    if chosen.is_none() && all.len() <= MOST_TOGETHER {
        let most = |need: usize| {
            let own = (0..files.len()).filter(|at| given.is_of(*at, &found.needs[need]));
            own.map(|at| given.percent(at)).fold(0.0, f64::max)
        };
        let mut order = all.clone();
        order.sort_by(|a, b| most(*b).total_cmp(&most(*a)));
        kept.clear();
        for one in order {
            kept.push(one);
            match together(&kept, most_gb) {
                Some(fits) => chosen = Some(fits),
                None => _ = kept.pop(),
            }
        }
    }
    if chosen.is_none() {
        kept.clear();
    }
    let out: Vec<String> =
        all.iter().filter(|at| !kept.contains(at)).map(|at| found.needs[*at].database.clone()).collect();
    // Those that are kept come in the order in which they were chosen.
    let rest = all.iter().copied().filter(|at| !kept.contains(at));
    let order: Vec<usize> = kept.iter().copied().chain(rest).collect();
    found.needs = order.iter().map(|at| found.needs[*at].clone()).collect();
    found.fronts = order.iter().map(|at| found.fronts[*at].clone()).collect();
    found.chosen = chosen;
    leave(found, wishes, given, |need: &Need| out.contains(&need.database));
}
