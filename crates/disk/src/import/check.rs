//! What is looked at before a file of another tool is parsed: trees of hostile files take gigabytes, hours, or the stack.

use super::result::ImportError;

/// Values or elements of a file: as trees in memory they take some hundred bytes each.
const MOST_PARTS: usize = 500_000;
/// How deep elements may be within each other.
const DEEPEST: usize = 64;
/// How many attributes an element may have.
const MOST_ATTRIBUTES: usize = 64;

/// An error if so many of these signs are in the text that its tree would take too much memory.
pub(super) fn check_parts(text: &str, signs: &[u8]) -> Result<(), ImportError> {
    let parts = text.bytes().filter(|byte| signs.contains(byte)).count();
    if parts <= MOST_PARTS {
        return Ok(());
    }
    let problem = format!("the file has {parts} values, more than are read ({MOST_PARTS})");
    Err(ImportError { line: None, problem })
}

/// An error if elements of an XML are too deep within each other, or have too many attributes. What is not well formed may pass:
/// the parser says so.
pub(super) fn check_shape(text: &str) -> Result<(), ImportError> {
    let (mut depth, mut line) = (0_usize, 1);
    for tag in text.split('<').skip(1) {
        let inside = tag.split('>').next().unwrap_or_default();
        let refused =
            |what: &str, most: usize| Err(ImportError::at(line, format!("{what}, more than are read ({most})")));
        if inside.starts_with('/') {
            depth = depth.saturating_sub(1);
        } else if !inside.starts_with(['!', '?']) && !inside.ends_with('/') {
            depth += 1;
        }
        let attributes = inside.bytes().filter(|byte| *byte == b'=').count();
        if depth > DEEPEST {
            return refused(&format!("elements lie {depth} deep within each other"), DEEPEST);
        }
        if attributes > MOST_ATTRIBUTES {
            return refused(&format!("an element has {attributes} attributes"), MOST_ATTRIBUTES);
        }
        line += tag.bytes().filter(|byte| *byte == b'\n').count();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::read;

    #[test]
    fn trees_that_would_end_the_program_are_refused_before_they_are_made() {
        let refused = |text: &str| read(text).unwrap_err().problem;
        let deep = format!("<Results>{}{}</Results>", "<a>".repeat(20_000), "</a>".repeat(20_000));
        assert!(refused(&deep).starts_with("elements lie 65 deep"), "{}", refused(&deep));
        let attributes: String = (0..80_000).map(|at| format!(" a{at}=''")).collect::<Vec<_>>().concat();
        let wide = format!("<Results>\n<a{attributes}/></Results>");
        assert!(refused(&wide).starts_with("an element has 80000 attributes"), "{}", refused(&wide));
        assert!(refused(&format!("<Results>{}</Results>", "<a/>".repeat(600_000))).contains("600002 values"));
        assert!(refused(&format!("{{\"x\":[{}]}}", vec!["[]"; 600_000].join(","))).contains("values"));
        assert!(check_shape("<a b='1'><c/><c/></a>").is_ok());
    }
}
