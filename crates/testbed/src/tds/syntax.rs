//! How a server refuses a text that is no T-SQL: by the errors for it and for reserved words, of severity 15.

use super::settings::{Shared, locked};
use super::token::{Refusal, Reply};
use crate::grammar::Offence;

/// What is answered to a text that the grammar refuses. `declarations` are those of its parameters.
pub(super) fn refusal(shared: &Shared, sql: &str, declarations: &str) -> Option<Reply> {
    let grammar = shared.settings.grammar.as_ref()?;
    let declared = if declarations.is_empty() { String::new() } else { format!("DECLARE {declarations}") };
    let found = [declared.as_str(), sql].into_iter().find_map(|text| match grammar.check(text) {
        Ok(offences) => offences.into_iter().next().map(|offence| (error(&offence), format!("{text}\n  {offence}"))),
        Err(error) => Some((Refusal::new(102, &error.to_string()), error.to_string())),
    });
    let (error, told) = found?;
    locked(&shared.record).refused.push(told);
    Some(Reply::error(error))
}

fn error(offence: &Offence) -> Refusal {
    let (number, keyword) = if offence.is_keyword { (156, "the keyword ") } else { (102, "") };
    Refusal { class: 15, ..Refusal::new(number, &format!("Incorrect syntax near {keyword}'{}'.", offence.near)) }
}
