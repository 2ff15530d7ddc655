//! Search: from what a person types to levels and their figures.

use crate::cap::CapAt;
use crate::catalog::{Catalog, LevelAt};
use crate::disk::{DiskClass, DiskEdition, DiskLevel};
use crate::model::{Edition, Figure, Level};

/// A level that matches, with those of its figures that do.
#[derive(Debug, Clone, PartialEq)]
pub struct Match<'a> {
    /// The edition.
    pub edition: &'a Edition,
    /// The level.
    pub level: &'a Level,
    /// The figures asked for; all of them where the words are about the level.
    pub figures: Vec<&'a Figure>,
}

/// A query taken apart: `[service/]words[@edition]`.
struct Query {
    service: Option<String>,
    edition: Option<String>,
    words: Vec<String>,
}

impl Catalog {
    /// The levels that match a query, in the order of [`Catalog::levels`]. Case never matters; nothing typed is
    /// everything.
    ///
    /// `S2` is a level, `azure-sql-db/S2` one of a service, `s2@v12-ga-2015-01` one of an edition. Other words match a
    /// part of a service, edition, tier (`basic`), metric or test (`read`, `memory`). Of several words all must match.
    pub fn search(&self, query: &str) -> Vec<Match<'_>> {
        let query = Query::parse(query, self);
        self.levels().filter_map(|at| query.matches(at)).collect()
    }

    /// The kinds of disks that match a query of the same form, each with its edition.
    pub fn search_classes(&self, query: &str) -> Vec<(&DiskEdition, &DiskClass)> {
        let query = Query::parse(query, self);
        let classes =
            self.disk_editions().iter().flat_map(|edition| edition.classes.iter().map(move |class| (edition, class)));
        classes.filter(|(edition, class)| query.matches_class(edition, class)).collect()
    }

    /// The limits that disks share which match a query of the same form: `E8bds_v5`, `azure-vm/Standard_E8bds_v5`.
    pub fn search_caps(&self, query: &str) -> Vec<CapAt<'_>> {
        let query = Query::parse(query, self);
        self.caps().filter(|at| query.matches_cap(*at)).collect()
    }

    /// The disks that match a query of the same form, in the order of [`Catalog::disk_levels`]: `P30`,
    /// `azure-sql-mi-gp/P30@2018-12`, `premium-ssd`. Words match a level's name in full, or a part of a service,
    /// edition or class.
    pub fn search_disks(&self, query: &str) -> Vec<&DiskLevel> {
        let query = Query::parse(query, self);
        self.disk_levels().filter(|level| query.matches_disk(level)).collect()
    }
}

impl Query {
    fn parse(text: &str, catalog: &Catalog) -> Self {
        let text = text.trim().to_lowercase();
        let (text, edition) = match text.rsplit_once('@') {
            Some((left, right)) => (left, Some(right.trim().to_owned()).filter(|edition| !edition.is_empty())),
            None => (text.as_str(), None),
        };
        // Only a known service is one: `W/B` has a slash of its own.
        let services = catalog.editions().iter().map(|edition| &edition.service);
        let services = services.chain(catalog.disk_editions().iter().map(|edition| &edition.service));
        let mut services = services.chain(catalog.cap_editions().iter().map(|edition| &edition.service));
        let mut is_service = |name: &str| services.any(|service| service.eq_ignore_ascii_case(name));
        let (service, words) = match text.split_once('/') {
            Some((left, right)) if is_service(left.trim()) => (Some(left.trim().to_owned()), right),
            _ => (None, text),
        };
        Self { service, edition, words: words.split_whitespace().map(str::to_owned).collect() }
    }

    /// Whether the part before the slash and the one after the `@` fit.
    fn places(&self, service: &str, edition: &str) -> bool {
        self.service.as_ref().is_none_or(|asked| service.eq_ignore_ascii_case(asked))
            && self.edition.as_ref().is_none_or(|part| contains(edition, part))
    }

    fn matches_disk(&self, level: &DiskLevel) -> bool {
        let described = |word: &String| {
            level.is_named(word)
                || [&level.service, &level.edition, &level.class].into_iter().any(|text| contains(text, word))
        };
        self.places(&level.service, &level.edition) && self.words.iter().all(described)
    }

    fn matches_class(&self, edition: &DiskEdition, class: &DiskClass) -> bool {
        let described = |word: &String| {
            class.provisioned.as_ref().is_some_and(|rule| rule.is_named(word))
                || [&edition.service, &edition.name, &class.name].into_iter().any(|text| contains(text, word))
        };
        self.places(&edition.service, &edition.name) && self.words.iter().all(described)
    }

    fn matches_cap(&self, CapAt { edition, class, size }: CapAt<'_>) -> bool {
        let described = |word: &String| {
            size.is_named(word)
                || class.name.eq_ignore_ascii_case(word)
                || [&edition.service, &edition.name].into_iter().any(|text| contains(text, word))
        };
        self.places(&edition.service, &edition.name) && self.words.iter().all(described)
    }

    fn matches<'a>(&self, LevelAt { edition, level }: LevelAt<'a>) -> Option<Match<'a>> {
        if !self.places(&edition.service, &edition.name) {
            return None;
        }
        // Words that do not describe the level have to describe a figure of it.
        let about_figures: Vec<_> = self.words.iter().filter(|word| !describes_level(edition, level, word)).collect();
        let wanted = |figure: &&Figure| about_figures.iter().all(|word| describes_figure(figure, word));
        let figures: Vec<_> = level.figures.iter().filter(wanted).collect();
        (about_figures.is_empty() || !figures.is_empty()).then_some(Match { edition, level, figures })
    }
}

/// A level's name has to be typed in full, or `S1` would find S12 as well.
fn describes_level(edition: &Edition, level: &Level, word: &str) -> bool {
    level.is_named(word) || [&edition.service, &edition.name, &level.tier].into_iter().any(|text| contains(text, word))
}

fn describes_figure(figure: &Figure, word: &str) -> bool {
    contains(figure.metric.name(), word) || contains(&figure.test, word)
}

/// `part` is lower-case already.
fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(part)
}
