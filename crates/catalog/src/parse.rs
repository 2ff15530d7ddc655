//! From TOML text to editions, refusing whatever breaks a rule, with file and line.

use crate::CatalogError;
use crate::model::{CpuFit, Edition, Figure, Level, Metric};
use std::collections::HashSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong, before it is known where.
pub(crate) type Problem = String;

/// One file, to tell where something is.
pub(crate) struct File<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl File<'_> {
    pub(crate) fn invalid(&self, offset: usize, problem: Problem) -> CatalogError {
        let before = self.text.as_bytes().iter().take(offset);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        CatalogError::Invalid { file: self.name.to_owned(), line, problem }
    }

    /// Reads the text into its shape, with the place where it does not fit.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, CatalogError> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.invalid(offset, error.message().to_owned())
        })
    }

    /// Passes a check on, placed where the value of a path such as `levels.0.name` begins.
    pub(crate) fn at(&self, path: &str, check: Result<(), Problem>) -> Result<(), CatalogError> {
        check.map_err(|problem| self.invalid(self.offset(path), problem))
    }

    fn offset(&self, path: &str) -> usize {
        let Ok(root) = DeTable::parse(self.text) else { return 0 };
        let (root, mut offset) = (DeValue::Table(root.into_inner()), 0);
        let mut value = Some(&root);
        for step in path.split('.') {
            let found =
                value.and_then(|value| step.parse().map_or_else(|_| value.get(step), |at: usize| value.get(at)));
            offset = found.map_or(offset, |found| found.span().start);
            value = found.map(Spanned::get_ref);
        }
        offset
    }

    /// Checks what is said of an edition as a whole: service and name, a pair that none of `before` may have, description, source.
    pub(crate) fn check_edition<'e>(
        &self,
        [service, name, description, source]: [&str; 4],
        mut before: impl Iterator<Item = (&'e String, &'e String)>,
    ) -> Result<(), CatalogError> {
        let is_same =
            |known: (&String, &String)| known.0.eq_ignore_ascii_case(service) && known.1.eq_ignore_ascii_case(name);
        if before.any(is_same) {
            self.at("edition", Err(format!("duplicate edition '{name}' of service '{service}'")))?;
        }
        self.at("service", check_name("service", service))?;
        self.at("edition", check_name("edition", name))?;
        self.at("description", check_text("description", description))?;
        self.at("source", check_text("source", source))
    }

    /// Checks what a file says of its MB.
    pub(crate) fn check_mb(&self, mb_bytes: u64) -> Result<(), CatalogError> {
        let is_known = [1_000_000, 1 << 20].contains(&mb_bytes);
        let problem = || format!("mb_bytes {mb_bytes} is neither 1000000 nor 1048576");
        self.at("mb_bytes", if is_known { Ok(()) } else { Err(problem()) })
    }
}

/// Reads the editions of all files; a pair of service and edition may occur once.
pub(crate) fn editions(files: &[(&str, &str)]) -> Result<Vec<Edition>, CatalogError> {
    let mut editions: Vec<Edition> = Vec::with_capacity(files.len());
    for (name, text) in files {
        let file = File { name, text };
        let mut edition: Edition = file.read()?;
        let Edition { service, name, description, source, .. } = &edition;
        let before = editions.iter().map(|known| (&known.service, &known.name));
        file.check_edition([service, name, description, source], before)?;
        let mut names = HashSet::new();
        for (level, at) in edition.levels.iter().zip(0..) {
            file.at(&format!("levels.{at}"), check_level(level, &mut names))?;
            for (index, figure) in level.figures.iter().enumerate() {
                let check = check_figure(figure, &level.figures[..index])
                    .map_err(|problem| format!("{} of level '{}': {problem}", figure.metric.name(), level.name));
                file.at(&format!("levels.{at}.figures.{index}"), check)?;
            }
        }
        if let Some(fit) = &mut edition.cpu_fit {
            file.at("cpu_fit", check_cpu_fit(fit, &edition.levels))?;
            (fit.service, fit.edition) = (edition.service.clone(), edition.name.clone());
        }
        editions.push(edition);
    }
    // Oldest first; names decide between editions of one day, so the order never depends on that of the files.
    editions.sort_by(|a, b| (&a.service, a.as_of, &a.name).cmp(&(&b.service, b.as_of, &b.name)));
    Ok(editions)
}

fn check_level(level: &Level, names: &mut HashSet<String>) -> Result<(), Problem> {
    check_name("level", &level.name)?;
    check_text("tier", &level.tier)?;
    for name in std::iter::once(&level.name).chain(&level.aliases) {
        check_text("alias", name)?;
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(format!("duplicate level '{name}'"));
        }
    }
    if let Some(dtu) = &level.dtu {
        let place = |problem| format!("dtu of level '{}': {problem}", level.name);
        check_positive("value", dtu.value).and_then(|()| check_text("source", &dtu.source)).map_err(place)?;
    }
    Ok(())
}

fn check_figure(figure: &Figure, before: &[Figure]) -> Result<(), Problem> {
    check_texts(&[("test", &figure.test), ("source", &figure.source)])?;
    let amounts = [("value", figure.value), ("low", figure.low), ("high", figure.high), ("at_least", figure.at_least)];
    for (key, amount) in amounts {
        amount.map_or(Ok(()), |amount| check_positive(key, amount))?;
    }
    match (figure.value, figure.low, figure.high, figure.at_least) {
        (None, Some(low), Some(high), None) if low > high => return Err(format!("low {low} is above high {high}")),
        (Some(_), None, None, None) | (None, Some(_), Some(_), None) | (None, None, None, Some(_)) => {}
        _ => return Err("expected either value, or low and high, or at_least".to_owned()),
    }
    let unit = figure.metric.unit();
    if figure.unit != unit {
        return Err(format!("unit '{}' is not the metric's own, expected '{unit}'", figure.unit));
    }
    if let Some(percent) = figure.utilisation_percent
        && !(percent > 0.0 && percent <= 100.0)
    {
        return Err(format!("utilisation_percent {percent} is not above 0 and up to 100"));
    }
    match (figure.metric, figure.join_rows) {
        (Metric::CpuSeconds, None | Some(0)) => return Err("join_rows is missing or zero".to_owned()),
        (Metric::CpuSeconds, Some(_)) | (_, None) => {}
        (_, Some(_)) => return Err("join_rows belongs to cpu_seconds only".to_owned()),
    }
    if figure.sessions == Some(0) {
        return Err("sessions is zero".to_owned());
    }
    let key = |f: &Figure| (f.metric, f.test.clone(), f.label.clone(), f.join_rows);
    if before.iter().any(|other| key(other) == key(figure)) {
        return Err("duplicate figure: same test, label and join_rows as one above".to_owned());
    }
    Ok(())
}

fn check_cpu_fit(fit: &CpuFit, levels: &[Level]) -> Result<(), Problem> {
    check_positive("coefficient_seconds", fit.coefficient_seconds)?;
    check_positive("dtu", fit.dtu)?;
    check_text("source", &fit.source)?;
    if levels.iter().any(|level| level.name == fit.level) {
        Ok(())
    } else {
        Err(format!("cpu_fit names level '{}', which the edition does not have", fit.level))
    }
}

/// Names stand in target URLs, where `/`, `@` and `?` separate.
pub(crate) fn check_name(what: &str, name: &str) -> Result<(), Problem> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        Ok(())
    } else {
        Err(format!("{what} '{name}' is not a plain name of letters, digits, '-', '_' and '.'"))
    }
}

pub(crate) fn check_text(key: &str, text: &str) -> Result<(), Problem> {
    if text.trim().is_empty() { Err(format!("{key} is empty")) } else { Ok(()) }
}

pub(crate) fn check_texts(texts: &[(&str, &str)]) -> Result<(), Problem> {
    texts.iter().try_for_each(|(key, text)| check_text(key, text))
}

pub(crate) fn check_positive(key: &str, amount: f64) -> Result<(), Problem> {
    if amount.is_finite() && amount > 0.0 { Ok(()) } else { Err(format!("{key} {amount} is not a positive number")) }
}
