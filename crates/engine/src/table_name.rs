//! Names of tables of ours among the user's own, as a user writes them.

use crate::error::{Error, ErrorKind, Result};

/// Servers take 63 bytes for a name.
const LONGEST_NAME: usize = 63;

/// The schema and the name in what a user wrote: `name` or `schema.name`, of ASCII letters, digits and `_`. `longest` bytes are left for the name.
///
/// # Errors
/// If it is no such thing.
pub fn parse(text: &str, longest: usize) -> Result<(Option<String>, String)> {
    let is_name = |name: &str, longest: usize| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let begins = !name.starts_with(|first: char| first.is_ascii_digit());
        !name.is_empty() && begins && name.len() <= longest && name.bytes().all(is_sign)
    };
    let (schema, name) = text.split_once('.').map_or((None, text), |(schema, name)| (Some(schema), name));
    if is_name(name, longest) && schema.is_none_or(|schema| is_name(schema, LONGEST_NAME)) {
        return Ok((schema.map(str::to_owned), name.to_owned()));
    }
    Err(Error::new(ErrorKind::Usage, format!("'{text}' is no name for a table"))
        .hint(format!("a name has letters, digits and _, begins with no digit, and has {longest} signs at most")))
}
