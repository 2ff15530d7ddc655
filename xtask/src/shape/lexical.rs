//! Sources without what is not code: comments, tests, and the text of literals.

/// A source with blanks in place of what was taken away; what is left stands where it stood.
#[derive(Debug)]
pub struct Bare {
    /// Without comments and tests.
    pub code: Vec<char>,
    /// The same without the text of literals.
    pub words: Vec<char>,
    /// Where tests are: start and end.
    pub tests: Vec<(usize, usize)>,
}

impl Bare {
    /// Takes away what is no code.
    pub fn of(text: &str) -> Self {
        let mut code: Vec<char> = text.chars().collect();
        let mut words = code.clone();
        for (start, end, is_comment) in spans(&code) {
            blank(&mut words[start..end]);
            if is_comment {
                blank(&mut code[start..end]);
            }
        }
        let tests = tests(&words);
        for &(start, end) in &tests {
            blank(&mut words[start..end]);
            blank(&mut code[start..end]);
        }
        Self { code, words, tests }
    }

    /// Lines that tests take.
    pub fn test_lines(&self) -> usize {
        let lines = |(start, end): &(usize, usize)| self.code[*start..*end].iter().filter(|c| **c == '\n').count() + 1;
        self.tests.iter().map(lines).sum()
    }

    /// The code line by line.
    pub fn lines(&self) -> Vec<String> {
        self.code.split(|c| *c == '\n').map(|line| line.iter().collect::<String>().trim().to_owned()).collect()
    }
}

fn blank(text: &mut [char]) {
    text.iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
}

/// Comments and the insides of literals: start, end, whether it is a comment.
fn spans(text: &[char]) -> Vec<(usize, usize, bool)> {
    let mut found = Vec::new();
    let mut at = 0;
    let is = |at: usize, c: char| text.get(at) == Some(&c);
    while at < text.len() {
        let start = at;
        match text[at] {
            '/' if is(at + 1, '/') => {
                at = (at..text.len()).find(|at| text[*at] == '\n').unwrap_or(text.len());
                found.push((start, at, true));
            }
            '/' if is(at + 1, '*') => {
                let mut depth = 0;
                while at < text.len() {
                    match (text[at], text.get(at + 1)) {
                        ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
                        ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
                        _ => at += 1,
                    }
                    if depth == 0 {
                        break;
                    }
                }
                found.push((start, at.min(text.len()), true));
            }
            'r' if is_raw(text, at) => {
                let hashes = text[at + 1..].iter().take_while(|c| **c == '#').count();
                at += hashes + 2;
                let ends = |at: usize| text[at] == '"' && (1..=hashes).all(|more| is(at + more, '#'));
                let end = (at..text.len()).find(|at| ends(*at)).unwrap_or(text.len());
                found.push((at, end, false));
                at = (end + hashes + 1).min(text.len());
            }
            '"' => {
                at += 1;
                while at < text.len() && text[at] != '"' {
                    at += if text[at] == '\\' { 2 } else { 1 };
                }
                let end = at.min(text.len());
                found.push((start + 1, end, false));
                at = end + 1;
            }
            '\'' if is(at + 1, '\\') || (is(at + 2, '\'') && !is(at + 1, '\'')) => {
                // A character, and no lifetime.
                at += if text[at + 1] == '\\' { 3 } else { 2 };
                while at < text.len() && text[at] != '\'' {
                    at += 1;
                }
                found.push((start + 1, at.min(text.len()), false));
                at += 1;
            }
            _ => at += 1,
        }
    }
    found
}

/// Whether a raw string begins here: `r"`, `r#"`, `br"`, and no name that ends with r.
fn is_raw(text: &[char], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| text[before]);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let opens = text[at + 1..].iter().find(|c| **c != '#') == Some(&'"');
    opens && before.is_none_or(|before| !is_name(before) || (before == 'b' && (at < 2 || !is_name(text[at - 2]))))
}

/// Items that are there for tests only, from the beginning of the line of their mark.
fn tests(words: &[char]) -> Vec<(usize, usize)> {
    const MARK: &str = "#[cfg(test)]";
    let mark: Vec<char> = MARK.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = (at..words.len()).find(|at| words[*at..].starts_with(&mark)) {
        let end = end_of_item(words, start + mark.len());
        let line = words[..start].iter().rposition(|c| *c == '\n').map_or(0, |end| end + 1);
        found.push((line, end));
        at = end;
    }
    found
}

/// The end of the item from here on: its last brace, or a semicolon before any.
fn end_of_item(words: &[char], start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in words.iter().enumerate().skip(start) {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => {
                depth -= 1;
                if depth == 0 && *c == '}' {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    words.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        Bare::of(text).words.iter().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_and_literals_go() {
        assert_eq!(
            words("a(\"x // \\\" y\"); // b\n/* c /* d */ */ e('\"', '\\'', 'f') &'g h r#\"i\"# k"),
            "a(\" \"); e(' ', ' ', ' ') &'g h r#\" \"# k"
        );
        assert_eq!(words("for r in \"x\" {} br\"y\" xr"), "for r in \" \" {} br\" \" xr");
        assert_eq!(Bare::of("a(\"x\"); // b").lines(), ["a(\"x\");"]);
    }

    #[test]
    fn tests_go_whatever_they_are() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { c('}', [1; 2]) }\n}\nfn d() {}\n#[cfg(test)]\nmod e;\n#[cfg(test)]\n#[x(y)]\nfn f(g: [u8; 2]) { h }\nfn i() {}";
        assert_eq!(words(text), "fn a() {} fn d() {} fn i() {}");
        assert_eq!(Bare::of(text).test_lines(), 4 + 2 + 3);
    }
}
