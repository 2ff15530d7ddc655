//! A TOML table that knows where it stands, so that every message can name file, line and key.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::SpecError;

/// The text that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Document<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Document<'_> {
    pub(super) fn error(&self, offset: usize, key: Option<&str>, problem: impl Into<String>) -> SpecError {
        let line = 1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count();
        SpecError::new(&format!("{}:{line}", self.file), key, problem)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Field<'a> {
    document: Document<'a>,
    pub key: String,
    offset: usize,
    value: &'a DeValue<'a>,
}

impl<'a> Field<'a> {
    /// The whole text as one field without a key.
    pub(super) fn root(document: Document<'a>, value: &'a Spanned<DeValue<'a>>) -> Self {
        Self { document, key: String::new(), offset: 0, value: value.get_ref() }
    }

    pub(super) fn error(&self, problem: impl Into<String>) -> SpecError {
        let key = (!self.key.is_empty()).then_some(self.key.as_str());
        self.document.error(self.offset, key, problem)
    }

    /// Passes a check on, placed here.
    pub(super) fn check(&self, check: Result<(), String>) -> Result<(), SpecError> {
        check.map_err(|problem| self.error(problem))
    }

    /// A value that was read here, if it passes a check.
    pub(super) fn checked<T: Copy>(
        &self,
        value: T,
        check: impl FnOnce(T) -> Result<(), String>,
    ) -> Result<T, SpecError> {
        self.check(check(value)).map(|()| value)
    }

    pub(super) fn value(&self) -> &'a DeValue<'a> {
        self.value
    }

    pub(super) fn text(&self) -> Result<&'a str, SpecError> {
        self.value.as_str().ok_or_else(|| self.mismatch("a text in quotes"))
    }

    /// An integer or a float that is finite.
    pub(super) fn number(&self) -> Result<f64, SpecError> {
        let text = match self.value {
            DeValue::Integer(integer) => integer.to_string(),
            DeValue::Float(float) => float.to_string(),
            _ => return Err(self.mismatch("a number")),
        };
        let number: f64 = text.parse().map_err(|_| self.mismatch("a decimal number"))?;
        if number.is_finite() { Ok(number) } else { Err(self.error(format!("{text} is not a finite number"))) }
    }

    /// A whole number from 1 to 2^31.
    pub(super) fn count(&self) -> Result<usize, SpecError> {
        let number = self.number()?;
        let whole = (1.0..=2_147_483_648.0).contains(&number) && number.fract() == 0.0;
        if whole { Ok(number as usize) } else { Err(self.error(format!("{number} must be a whole number from 1 on"))) }
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, SpecError> {
        let items = self.value.as_array().ok_or_else(|| self.mismatch("a list"))?;
        let item = |item: &'a Spanned<DeValue<'a>>| Self {
            document: self.document,
            key: self.key.clone(),
            offset: item.span().start,
            value: item.get_ref(),
        };
        Ok(items.iter().map(item).collect())
    }

    pub(super) fn table(&self) -> Result<Table<'a>, SpecError> {
        let table = self.value.as_table().ok_or_else(|| self.mismatch("a table"))?;
        Ok(Table { field: self.clone(), table })
    }

    /// An error that says what was expected instead.
    pub(super) fn mismatch(&self, expected: &str) -> SpecError {
        let article = if matches!(self.value, DeValue::Integer(_) | DeValue::Array(_)) { "an" } else { "a" };
        self.error(format!("expected {expected}, found {article} {}", self.value.type_str()))
    }
}

#[derive(Debug, Clone)]
pub(super) struct Table<'a> {
    pub field: Field<'a>,
    table: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// Every key and its value, in the order of the text.
    pub(super) fn fields(&self) -> Vec<(&'a str, Field<'a>)> {
        let mut fields: Vec<_> = self.table.iter().map(|(key, value)| self.field_of(key, value)).collect();
        fields.sort_by_key(|(_, field)| field.offset);
        fields
    }

    pub(super) fn get(&self, key: &str) -> Option<Field<'a>> {
        let found = self.table.iter().find(|(known, _)| known.get_ref() == key);
        found.map(|(key, value)| self.field_of(key, value).1)
    }

    pub(super) fn need(&self, key: &str) -> Result<Field<'a>, SpecError> {
        self.get(key).ok_or_else(|| self.field.error(format!("'{key}' is missing")))
    }

    /// Reads a key with `read` if it is there.
    pub(super) fn read<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Field<'a>) -> Result<T, SpecError>,
    ) -> Result<Option<T>, SpecError> {
        self.get(key).map(|field| read(&field)).transpose()
    }

    /// Refuses the first key that is not among these.
    pub(super) fn known(&self, keys: &[&str]) -> Result<(), SpecError> {
        match self.fields().into_iter().find(|(key, _)| !keys.contains(key)) {
            None => Ok(()),
            Some((key, field)) => Err(field.error(format!("unknown key '{key}'")).nearest(key, keys)),
        }
    }

    fn field_of(
        &self,
        key: &'a Spanned<std::borrow::Cow<'a, str>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> (&'a str, Field<'a>) {
        let name = key.get_ref().as_ref();
        let path = if self.field.key.is_empty() { name.to_owned() } else { format!("{}.{name}", self.field.key) };
        let (document, offset) = (self.field.document, key.span().start);
        (name, Field { document, key: path, offset, value: value.get_ref() })
    }
}
