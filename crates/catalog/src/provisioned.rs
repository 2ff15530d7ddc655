//! Disks whose limits follow from their size, or are bought apart: rules as data, and the disk that they come to.

use serde::Deserialize;

use crate::burst::{Burst, BurstKind};
use crate::parse::{Problem, check_name, check_positive};

/// What disks of a class have by their size, and what may be bought on top.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provisioned {
    /// The name by which such a disk is asked for: `gp3`.
    pub name: String,
    /// Other names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The smallest and the largest size in GiB.
    pub size_gib: [u64; 2],
    /// Operations a second.
    pub iops: Share,
    /// Bandwidth, in the edition's MB.
    pub mb_per_second: Share,
    /// What it reaches above its limits for a while.
    pub burst: Option<SizedBurst>,
}

/// A limit: what every disk has, and within which bounds it may be chosen.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// What a disk has unasked; absent where it has to be chosen.
    pub included: Option<Amount>,
    /// The least that may be chosen, where that is not what is included.
    pub least: Option<f64>,
    /// The most that may be chosen; absent where nothing is to choose.
    pub most: Option<Amount>,
}

/// A number that follows from a disk's size and its operations a second: `base + per_gib × size + per_iops × IOPS`, within bounds.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Amount {
    /// What is there whatever the size.
    pub base: f64,
    /// For each GiB.
    pub per_gib: f64,
    /// For each operation a second.
    pub per_iops: f64,
    /// Never less.
    pub at_least: Option<f64>,
    /// Never more.
    pub at_most: Option<f64>,
    /// Sizes in GiB above which the base is another, rising.
    pub above_gib: Vec<[f64; 2]>,
}

/// What a disk of some size reaches above its limits, and for how long.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizedBurst {
    /// Operations a second; absent where a burst has no more of them.
    pub iops: Option<Amount>,
    /// Bandwidth; absent where a burst has no more of it.
    pub mb_per_second: Option<Amount>,
    /// What a full bucket holds: operations or MB, whichever of the two the burst has more of.
    pub credits: Amount,
}

/// What somebody wants of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiskChoice {
    /// Its size in GiB.
    pub size_gib: Option<u64>,
    /// Operations a second.
    pub iops: Option<f64>,
    /// Bandwidth, in the edition's MB.
    pub mb_per_second: Option<f64>,
}

impl DiskChoice {
    /// The names of what can be chosen, as URLs have them.
    pub const NAMES: [&'static str; 3] = ["size_gib", "iops", "mb_per_s"];

    /// Takes in one of [`DiskChoice::NAMES`]. An error says what its value has to be, or what names there are.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        let known = match name {
            "size_gib" => value.parse().ok().map(|size| self.size_gib = Some(size)),
            "iops" => number().map(|iops| self.iops = Some(iops)),
            "mb_per_s" => number().map(|rate| self.mb_per_second = Some(rate)),
            _ => return Err(format!("'{name}' is none of {}", Self::NAMES.join(", "))),
        };
        known.ok_or_else(|| format!("{name} can't be '{value}': it takes a number above 0"))
    }
}

/// The limits of a disk by a rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub size_min_gib: Option<u64>,
    pub size_gib: u64,
    pub iops: f64,
    pub mb_per_second: f64,
    pub burst: Option<Burst>,
}

impl Amount {
    /// The number for a disk of this size and so many operations a second.
    pub fn of(&self, gib: u64, iops: f64) -> f64 {
        let gib = gib as f64;
        let step = self.above_gib.iter().rev().find(|[from, _]| gib > *from);
        let base = step.map_or(self.base, |[_, base]| *base);
        let amount = base + self.per_gib * gib + self.per_iops * iops;
        amount.max(self.at_least.unwrap_or(0.0)).min(self.at_most.unwrap_or(f64::INFINITY))
    }

    fn follows_the_size(&self) -> bool {
        self.per_gib != 0.0 || !self.above_gib.is_empty()
    }

    fn check(&self) -> Result<(), Problem> {
        let numbers = [self.base, self.per_gib, self.per_iops];
        let bounds = [self.at_least, self.at_most];
        if numbers.iter().any(|number| !(number.is_finite() && *number >= 0.0)) {
            return Err("base, per_gib and per_iops are numbers from 0".to_owned());
        }
        bounds.into_iter().flatten().try_for_each(|bound| check_positive("a bound", bound))?;
        let steps_rise = self.above_gib.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        if !steps_rise || self.above_gib.iter().flatten().any(|number| !(number.is_finite() && *number >= 0.0)) {
            return Err("above_gib are pairs of size and base, the sizes rising".to_owned());
        }
        match (self.at_least, self.at_most) {
            (Some(least), Some(most)) if least > most => Err(format!("at_least {least} is above at_most {most}")),
            _ if numbers.iter().all(|number| *number <= 0.0)
                && self.above_gib.is_empty()
                && self.at_least.is_none() =>
            {
                Err("an amount is never zero".to_owned())
            }
            _ => Ok(()),
        }
    }
}

impl Share {
    /// The limit for a disk: what was chosen, else what is included.
    fn limit(&self, what: &str, choice: Option<f64>, gib: u64, iops: f64) -> Result<f64, Problem> {
        let included = self.included.as_ref().map(|included| included.of(gib, iops));
        let Some(most) = &self.most else {
            let included = included.ok_or_else(|| format!("{what} is not known"))?;
            return match choice {
                Some(_) => Err(format!("{what} can't be chosen: a disk of {gib} GiB has {included}")),
                None => Ok(included),
            };
        };
        let least = self.least.or(included).unwrap_or(0.0);
        let most = most.of(gib, iops).max(least);
        let Some(choice) = choice.or(included) else {
            return Err(format!("{what} has to be chosen, from {least} to {most}: ?{what}={most}"));
        };
        if (least..=most).contains(&choice) {
            return Ok(choice);
        }
        Err(format!("{what} {choice} is not from {least} to {most}, which a disk of {gib} GiB may have"))
    }

    fn check(&self, what: &str) -> Result<(), Problem> {
        let amounts = [("included", &self.included), ("most", &self.most)];
        for (key, amount) in amounts {
            let Some(amount) = amount else { continue };
            amount.check().map_err(|problem| format!("{key} of {what}: {problem}"))?;
        }
        self.least.map_or(Ok(()), |least| check_positive(&format!("least of {what}"), least))?;
        if self.included.is_none() && self.most.is_none() {
            return Err(format!("{what} has neither 'included' nor 'most'"));
        }
        Ok(())
    }
}

impl Provisioned {
    /// Whether `name` is this rule's name or one of its aliases, case aside.
    pub fn is_named(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(&self.aliases).any(|own| own.eq_ignore_ascii_case(name))
    }

    /// The limits of the disk that was chosen.
    pub(crate) fn limits(&self, choice: DiskChoice) -> Result<Limits, Problem> {
        let [smallest, largest] = self.size_gib;
        let shares = [&self.iops, &self.mb_per_second];
        let amounts = shares.into_iter().flat_map(|share| [&share.included, &share.most]).flatten();
        let follows_the_size = amounts.into_iter().any(Amount::follows_the_size);
        let gib = match choice.size_gib {
            Some(gib) if (smallest..=largest).contains(&gib) => gib,
            Some(gib) => return Err(format!("size_gib {gib} is not from {smallest} to {largest}")),
            // The most that may be chosen is that of the largest disk: a smaller one is not told to have more.
            None if follows_the_size && self.iops.included.as_ref().is_none_or(Amount::follows_the_size) => {
                return Err(format!("the limits follow from the size: ?size_gib={}", 1024.clamp(smallest, largest)));
            }
            None => largest,
        };
        let iops = self.iops.limit("iops", choice.iops, gib, 0.0)?;
        let mb_per_second = self.mb_per_second.limit("mb_per_s", choice.mb_per_second, gib, iops)?;
        let burst = self.burst.as_ref().and_then(|burst| burst.of(gib, iops, mb_per_second));
        let size_min_gib = choice.size_gib.is_none().then_some(smallest);
        Ok(Limits { size_min_gib, size_gib: gib, iops, mb_per_second, burst })
    }

    pub(crate) fn check(&self) -> Result<(), Problem> {
        for name in std::iter::once(&self.name).chain(&self.aliases) {
            check_name("disk", name)?;
        }
        let [smallest, largest] = self.size_gib;
        if !(1 <= smallest && smallest <= largest && largest <= 1 << 20) {
            return Err(format!("size_gib [{smallest}, {largest}] is no range of sizes"));
        }
        self.iops.check("iops")?;
        self.mb_per_second.check("mb_per_second")?;
        let Some(burst) = &self.burst else { return Ok(()) };
        let amounts = [burst.iops.as_ref(), burst.mb_per_second.as_ref(), Some(&burst.credits)];
        amounts.into_iter().flatten().try_for_each(Amount::check).map_err(|problem| format!("burst: {problem}"))?;
        if burst.iops.is_some() == burst.mb_per_second.is_some() {
            return Err("a burst has more of iops or of mb_per_second, and its credits are of that".to_owned());
        }
        Ok(())
    }
}

impl SizedBurst {
    /// `None` where the disk has as much without a burst.
    fn of(&self, gib: u64, iops: f64, mb_per_second: f64) -> Option<Burst> {
        let peak = |amount: &Option<Amount>, limit: f64| {
            amount.as_ref().map_or(limit, |amount| amount.of(gib, iops)).max(limit)
        };
        let burst_iops = peak(&self.iops, iops);
        let burst_mb = peak(&self.mb_per_second, mb_per_second);
        let above = (burst_iops - iops) + (burst_mb - mb_per_second);
        let seconds = self.credits.of(gib, iops) / above;
        (above > 0.0).then_some(Burst {
            kind: BurstKind::Credit,
            iops: burst_iops,
            mb_per_second: burst_mb,
            seconds: Some(seconds),
        })
    }
}
