//! From TOML text to editions, refusing whatever breaks a rule, with file and line.

use crate::model::{Basis, CpuFit, Dtu, Edition, Figure, Level, Metric};
use crate::{CatalogError, Date};
use serde::Deserialize;
use std::collections::HashSet;
use toml::Spanned;

/// An edition as written; the spans lead back to the lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditionText {
    service: Spanned<String>,
    edition: Spanned<String>,
    generation: Option<String>,
    as_of: Date,
    as_of_note: Option<String>,
    description: Spanned<String>,
    source: Spanned<String>,
    #[serde(default)]
    notes: Vec<String>,
    levels: Vec<Spanned<LevelText>>,
    cpu_fit: Option<Spanned<CpuFitText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LevelText {
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    tier: String,
    dtu: Option<Dtu>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    figures: Vec<Spanned<Figure>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CpuFitText {
    level: String,
    coefficient_seconds: f64,
    dtu: f64,
    basis: Basis,
    source: String,
}

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

    /// Reads the text into its raw shape, with the place where it does not fit.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, CatalogError> {
        toml::from_str(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            self.invalid(offset, error.message().to_owned())
        })
    }

    /// Passes a check on, placed at the start of what was checked.
    pub(crate) fn at<T>(&self, place: &Spanned<T>, check: Result<(), Problem>) -> Result<(), CatalogError> {
        check.map_err(|problem| self.invalid(place.span().start, problem))
    }
}

/// Reads the editions of all files; a pair of service and edition may occur once.
pub(crate) fn editions(files: &[(&str, &str)]) -> Result<Vec<Edition>, CatalogError> {
    let mut editions: Vec<Edition> = Vec::with_capacity(files.len());
    for (name, text) in files {
        let file = File { name, text };
        let raw: EditionText = file.read()?;
        let taken = editions.iter().any(|known| {
            known.service.eq_ignore_ascii_case(raw.service.get_ref())
                && known.name.eq_ignore_ascii_case(raw.edition.get_ref())
        });
        if taken {
            let problem =
                format!("duplicate edition '{}' of service '{}'", raw.edition.get_ref(), raw.service.get_ref());
            return Err(file.invalid(raw.edition.span().start, problem));
        }
        editions.push(edition(&file, raw)?);
    }
    // Oldest first; names decide between editions of one day, so the order never depends on that of the files.
    editions.sort_by(|a, b| (&a.service, a.as_of, &a.name).cmp(&(&b.service, b.as_of, &b.name)));
    Ok(editions)
}

fn edition(file: &File<'_>, raw: EditionText) -> Result<Edition, CatalogError> {
    file.at(&raw.service, check_name("service", raw.service.get_ref()))?;
    file.at(&raw.edition, check_name("edition", raw.edition.get_ref()))?;
    file.at(&raw.description, check_text("description", raw.description.get_ref()))?;
    file.at(&raw.source, check_text("source", raw.source.get_ref()))?;

    let mut names = HashSet::new();
    let mut levels = Vec::with_capacity(raw.levels.len());
    for spanned in raw.levels {
        file.at(&spanned, check_level(spanned.get_ref(), &mut names))?;
        levels.push(level(file, spanned.into_inner())?);
    }
    let (service, name) = (raw.service.into_inner(), raw.edition.into_inner());
    let cpu_fit = match raw.cpu_fit {
        None => None,
        Some(spanned) => {
            file.at(&spanned, check_cpu_fit(spanned.get_ref(), &levels))?;
            let CpuFitText { level, coefficient_seconds, dtu, basis, source } = spanned.into_inner();
            let (service, edition) = (service.clone(), name.clone());
            Some(CpuFit { coefficient_seconds, dtu, level, service, edition, basis, source })
        }
    };
    Ok(Edition {
        service,
        name,
        generation: raw.generation,
        as_of: raw.as_of,
        as_of_note: raw.as_of_note,
        description: raw.description.into_inner(),
        source: raw.source.into_inner(),
        notes: raw.notes,
        levels,
        cpu_fit,
    })
}

fn level(file: &File<'_>, raw: LevelText) -> Result<Level, CatalogError> {
    let LevelText { name, aliases, tier, dtu, notes, figures: spanned } = raw;
    let mut figures: Vec<Figure> = Vec::with_capacity(spanned.len());
    for figure in spanned {
        let check = check_figure(figure.get_ref(), &figures)
            .map_err(|problem| format!("{} of level '{name}': {problem}", figure.get_ref().metric.name()));
        file.at(&figure, check)?;
        figures.push(figure.into_inner());
    }
    Ok(Level { name, aliases, tier, dtu, notes, figures })
}

fn check_level(level: &LevelText, names: &mut HashSet<String>) -> Result<(), Problem> {
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
    for (key, text) in [("test", &figure.test), ("source", &figure.source)] {
        check_text(key, text)?;
    }
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

fn check_cpu_fit(fit: &CpuFitText, levels: &[Level]) -> Result<(), Problem> {
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

pub(crate) fn check_positive(key: &str, amount: f64) -> Result<(), Problem> {
    if amount.is_finite() && amount > 0.0 { Ok(()) } else { Err(format!("{key} {amount} is not a positive number")) }
}
