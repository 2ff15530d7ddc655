//! Code that stands twice.

use std::collections::HashMap;

use super::Source;
use super::lexical::Bare;

/// So many lines of code may be the same.
pub const LONGEST_TWIN_LINES: usize = 12;

/// Lines of code that stand in two places, the same but for indentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twin {
    /// Where: path and line, from 1.
    pub places: [(String, usize); 2],
    /// How many lines, without blank ones and ones that are brackets only.
    pub lines: usize,
}

impl std::fmt::Display for Twin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [(a, line), (b, other)] = &self.places;
        write!(f, "{a}:{line} and {b}:{other}: {} lines", self.lines)
    }
}

/// A line of code: its source, its number from 1, its text as a number.
struct Line {
    source: usize,
    number: usize,
    text: usize,
}

/// All twins of more than `longest` lines. What is imported does not count.
pub fn twins(sources: &[Source], longest: usize) -> Vec<Twin> {
    let mut known = HashMap::new();
    let mut lines = Vec::new();
    for (source, file) in sources.iter().enumerate() {
        let mut is_import = false;
        for (at, line) in Bare::of(&file.text).lines().into_iter().enumerate() {
            is_import |=
                ["use ", "pub use ", "pub(crate) use ", "mod ", "pub mod "].iter().any(|word| line.starts_with(word));
            if !is_import && line.contains(char::is_alphanumeric) {
                let next = known.len();
                let text = *known.entry(line.clone()).or_insert(next);
                lines.push(Line { source, number: at + 1, text });
            }
            is_import &= !line.ends_with(';');
        }
    }
    let same = |a: usize, b: usize| lines[a].text == lines[b].text;
    let mut windows: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
    let mut found = Vec::new();
    for b in 0..lines.len().saturating_sub(longest) {
        let window = &lines[b..=b + longest];
        if window.iter().any(|line| line.source != lines[b].source) {
            continue;
        }
        let earlier = windows.entry(window.iter().map(|line| line.text).collect()).or_default();
        for &a in earlier.iter() {
            let continues = a > 0
                && same(a - 1, b - 1)
                && lines[a - 1].source == lines[a].source
                && lines[b - 1].source == lines[b].source;
            let is_one = |n: &usize| {
                a + n < b
                    && same(a + n, b + n)
                    && lines[a + n].source == lines[a].source
                    && lines[b + n].source == lines[b].source
            };
            let count = (0..lines.len() - b).take_while(is_one).count();
            if !continues && count > longest {
                let place = |at: usize| (sources[lines[at].source].path.clone(), lines[at].number);
                found.push(Twin { places: [place(a), place(b)], lines: count });
            }
        }
        earlier.push(b);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: String) -> Source {
        Source { path: path.to_owned(), text }
    }

    fn repeated(from: usize, to: usize, line: impl Fn(usize) -> String) -> String {
        (from..to).map(line).collect::<Vec<_>>().concat()
    }

    fn body(from: usize, to: usize) -> String {
        repeated(from, to, |n| format!("    let x{n} = f({n});\n"))
    }

    #[test]
    fn what_stands_twice_is_found_once_and_whole() {
        let a = source("a.rs", format!("fn a() {{\n{}}}\n", body(0, 20)));
        let b = source(
            "b.rs",
            format!(
                "// other words\nfn b() {{\n    if y {{\n{}    }}\n}}\n",
                body(3, 17).replace("    let", "\n        let")
            ),
        );
        let found = twins(&[a.clone(), b], LONGEST_TWIN_LINES);
        let expected = Twin { places: [("a.rs".to_owned(), 5), ("b.rs".to_owned(), 5)], lines: 14 };
        assert_eq!(found, [expected]);
        assert_eq!(found[0].to_string(), "a.rs:5 and b.rs:5: 14 lines");
        let short = source("c.rs", body(3, 15));
        assert!(twins(&[a, short], LONGEST_TWIN_LINES).is_empty());
    }

    #[test]
    fn imports_and_tests_may_be_the_same() {
        let uses = repeated(0, 20, |n| format!("use crate::a{n};\n"));
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", body(0, 20));
        let list = format!("use crate::{{\n{}}};\n", repeated(0, 20, |n| format!("    a{n},\n")));
        let text = format!("{uses}{list}{tests}");
        assert!(twins(&[source("a.rs", text.clone()), source("b.rs", text)], LONGEST_TWIN_LINES).is_empty());
        let within = format!("fn a() {{\n{}}}\nfn b() {{\n{}}}\n", body(0, 13), body(0, 13));
        assert_eq!(twins(&[source("a.rs", within)], LONGEST_TWIN_LINES).len(), 1);
    }
}
