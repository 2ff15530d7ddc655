//! Reads TOML of our own, and says what is wrong in it with its line.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::parameters::hint;
use crate::step::kind::Kinds;

/// What is wrong with a definition, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct DefinitionError {
    /// The file as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, with the nearest right word where there is one.
    pub problem: String,
}

/// What is read, or what is wrong with it.
pub(super) type Read<T> = Result<T, DefinitionError>;

#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub file: &'a str,
    pub text: &'a str,
    /// Those that a statement's texts may be for, where they are known.
    pub engines: Option<&'a [&'a str]>,
    /// Steps that there are.
    pub kinds: Kinds,
}

pub(super) type Entry<'a> = (&'a str, Range<usize>, &'a Spanned<DeValue<'a>>);

impl Reader<'_> {
    pub fn error(&self, span: Option<Range<usize>>, problem: impl Into<String>) -> DefinitionError {
        let start = span.map_or(0, |span| span.start).min(self.text.len());
        let line = 1 + self.text[..start].matches('\n').count();
        DefinitionError { file: self.file.to_owned(), line, problem: problem.into() }
    }

    pub fn fail<T>(&self, span: Option<Range<usize>>, problem: impl Into<String>) -> Read<T> {
        Err(self.error(span, problem))
    }

    pub fn string(&self, document: &DeTable<'_>, key: &str) -> Read<String> {
        let missing = || self.error(None, format!("the key '{key}' is missing"));
        let (_, _, value) = find(document, key).ok_or_else(missing)?;
        let text = value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.error(Some(value.span()), format!("'{key}' must be a text")))?;
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || (key == "name" && !text.chars().all(allowed)) {
            let problem = format!("'{key}' must not be empty; a name has lower-case letters, digits and hyphens only");
            return self.fail(Some(value.span()), problem);
        }
        Ok(text.to_owned())
    }

    pub fn repetitions(&self, document: &DeTable<'_>) -> Read<u32> {
        Ok(self.number(document, "repetitions", 3, 26)? as u32)
    }

    pub fn flag(&self, table: &DeTable<'_>, key: &str, default: bool) -> Read<bool> {
        match find(table, key) {
            None => Ok(default),
            Some((_, span, value)) => value
                .get_ref()
                .as_bool()
                .ok_or_else(|| self.error(Some(span), format!("'{key}' must be true or false"))),
        }
    }

    pub fn number(&self, table: &DeTable<'_>, key: &str, default: u64, most: u64) -> Read<u64> {
        let Some((_, span, value)) = find(table, key) else { return Ok(default) };
        let number =
            integer(value).and_then(|number| u64::try_from(number).ok()).filter(|number| (1..=most).contains(number));
        number.ok_or_else(|| self.error(Some(span), format!("'{key}' must be a whole number from 1 to {most}")))
    }

    pub fn list<'a>(&self, table: &'a DeTable<'a>, key: &str) -> Read<Vec<&'a Spanned<DeValue<'a>>>> {
        let list = find(table, key).and_then(|(_, _, value)| value.get_ref().as_array());
        let list = list.filter(|list| !list.is_empty()).map(|list| list.iter().collect());
        let span = find(table, key).map(|(_, span, _)| span).or_else(|| entries(table).next().map(|(_, span, _)| span));
        list.ok_or_else(|| self.error(span, format!("'{key}' must be a list of texts")))
    }

    pub fn table<'a>(&self, span: Range<usize>, value: &'a Spanned<DeValue<'a>>, name: &str) -> Read<&'a DeTable<'a>> {
        value.get_ref().as_table().ok_or_else(|| self.error(Some(span), format!("'{name}' must be a table")))
    }

    /// The value of a parameter, as `--set` would have it.
    pub fn text(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Read<String> {
        Ok(match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Array(list) => {
                let number = |item: &Spanned<DeValue<'_>>| Some(item.get_ref().as_integer()?.as_str().to_owned());
                let texts: Option<Vec<String>> = list.iter().map(number).collect();
                let not_numbers = || self.error(Some(value.span()), format!("'{key}' must hold whole numbers"));
                texts.ok_or_else(not_numbers)?.join(",")
            }
            _ => return self.fail(Some(value.span()), format!("'{key}' must be a number or a text")),
        })
    }

    pub fn known(&self, table: &DeTable<'_>, known: &[&str], of: &str) -> Read<()> {
        match entries(table).find(|(key, ..)| !known.contains(key)) {
            None => Ok(()),
            Some((key, span, _)) => {
                let of = if of.is_empty() { String::new() } else { format!(" in {of}") };
                self.fail(Some(span), format!("unknown key '{key}'{of}, {}", hint(key, known, "none is known")))
            }
        }
    }
}

pub(super) fn entries<'a>(table: &'a DeTable<'a>) -> impl Iterator<Item = Entry<'a>> {
    table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
}

pub(super) fn find<'a>(table: &'a DeTable<'a>, key: &str) -> Option<Entry<'a>> {
    entries(table).find(|(name, ..)| *name == key)
}

pub(super) fn integer(value: &Spanned<DeValue<'_>>) -> Option<i64> {
    value.get_ref().as_integer().and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok())
}

pub(super) fn float(value: &Spanned<DeValue<'_>>) -> Option<f64> {
    match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}
