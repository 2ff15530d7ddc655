//! How a definition says that parameters of requests are drawn.

use plimsoll_load::keys::Zipf;
use toml::Spanned;
use toml::de::DeValue;

use super::reader::{Read, Reader, entries, find, float, integer};
use crate::parameters::hint;
use crate::workload::custom::{CustomWorkload, Draw, Literal, Number, draw::DRAWS};

/// The longest text that is drawn.
const LONGEST_TEXT: u64 = 1 << 20;
/// The exponent of Zipf's law where none is given.
const THETA: f64 = 0.99;

impl Reader<'_> {
    /// How a parameter is drawn.
    pub fn draw(&self, name: &str, value: &Spanned<DeValue<'_>>, own: &CustomWorkload) -> Read<Draw> {
        let table = value.get_ref().as_table();
        let table = table.ok_or_else(|| {
            self.error(Some(value.span()), format!("'{name}' must be a table such as {{uniform = [1, 100]}}"))
        })?;
        let keys: Vec<&str> = DRAWS.iter().map(|(key, _)| *key).chain(["theta"]).collect();
        self.known(table, &keys, name)?;
        let mut kinds = entries(table).filter(|(key, ..)| *key != "theta");
        let (Some((kind, span, drawn)), None) = (kinds.next(), kinds.next()) else {
            return self.fail(
                Some(value.span()),
                format!("'{name}' is drawn in one way: {}", keys[..keys.len() - 1].join(", ")),
            );
        };
        if let Some((_, span, _)) = find(table, "theta").filter(|_| kind != "zipf") {
            return self.fail(Some(span), format!("'theta' belongs to zipf, not to {kind}"));
        }
        let fail = |problem: &str| self.fail(Some(span.clone()), format!("{kind} {problem}"));
        let range = || match drawn.get_ref().as_array().map(|ends| ends.iter().collect::<Vec<_>>()).as_deref() {
            Some([low, high]) => Ok((self.sum(low, own)?, self.sum(high, own)?)),
            _ => self.fail(Some(span.clone()), format!("{kind} takes two numbers such as [1, 100000]")),
        };
        Ok(match kind {
            "uniform" => range().map(|(low, high)| Draw::Uniform(low, high))?,
            "newest" => range().map(|(low, high)| Draw::Newest(low, high))?,
            "zipf" => {
                let theta = match find(table, "theta") {
                    None => THETA,
                    Some((_, span, value)) => {
                        let theta = float(value).filter(|theta| Zipf::new(*theta).is_ok());
                        theta.ok_or_else(|| self.error(Some(span), "'theta' must be a number above 0 and up to 10"))?
                    }
                };
                range().map(|(low, high)| Draw::Zipf(low, high, theta))?
            }
            "choice" => {
                let literals =
                    drawn.get_ref().as_array().map(|list| list.iter().map(literal).collect::<Option<Vec<_>>>());
                match literals.flatten() {
                    Some(literals) if !literals.is_empty() => Draw::Choice(literals),
                    _ => return fail("takes a list of numbers or texts"),
                }
            }
            "column" => match drawn.get_ref().as_str().and_then(|path| path.rsplit_once('.')) {
                Some((table, column)) if is_path(table) && is_path(column) => {
                    Draw::Column { table: table.to_owned(), column: column.to_owned() }
                }
                _ => return fail("takes a text such as \"table.column\", of names that need no quotes"),
            },
            "text" => match integer(drawn).and_then(|length| u64::try_from(length).ok()) {
                Some(length) if (1..=LONGEST_TEXT).contains(&length) => Draw::Text(length as usize),
                _ => return fail("takes a length from 1 to 1048576"),
            },
            "pattern" => match drawn.get_ref().as_str() {
                Some(pattern) if !pattern.is_empty() => Draw::Pattern(pattern.to_owned()),
                _ => return fail("takes a text such as \"###-@@@\""),
            },
            "sequence" => Draw::Sequence(self.sum(drawn, own)?),
            _ => match drawn.get_ref().as_array().map(|parts| parts.iter().collect::<Vec<_>>()).as_deref() {
                Some([other, more]) if other.get_ref().as_str().is_some() => {
                    Draw::Plus(other.get_ref().as_str().unwrap_or_default().to_owned(), self.sum(more, own)?)
                }
                _ => return fail("takes a parameter and a number such as [\"low\", 99]"),
            },
        })
    }

    /// A whole number, or a text that is a sum of products of numbers and variables.
    fn sum(&self, value: &Spanned<DeValue<'_>>, own: &CustomWorkload) -> Read<Number> {
        if let Some(number) = integer(value) {
            return Ok(Number::plain(number));
        }
        let Some(text) = value.get_ref().as_str() else {
            return self
                .fail(Some(value.span()), "a whole number is wanted here, or a text such as \"100000 * scale\"");
        };
        let number = Number::parse(text).map_err(|problem| self.error(Some(value.span()), problem))?;
        let known: Vec<&str> = own.variables.keys().map(String::as_str).collect();
        if let Some(name) = number.variables().find(|name| !known.contains(name)) {
            let hint = hint(name, &known, "there is no [variables]");
            return self.fail(Some(value.span()), format!("unknown variable '{name}', {hint}"));
        }
        Ok(number)
    }
}

fn literal(value: &Spanned<DeValue<'_>>) -> Option<Literal> {
    match value.get_ref() {
        DeValue::String(text) => Some(Literal::Text(text.to_string())),
        DeValue::Integer(_) => integer(value).map(Literal::Integer),
        DeValue::Float(_) => float(value).filter(|number| number.is_finite()).map(Literal::Float),
        DeValue::Boolean(bit) => Some(Literal::Bit(*bit)),
        _ => None,
    }
}

/// Names that go into a text as they are.
fn is_path(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}
