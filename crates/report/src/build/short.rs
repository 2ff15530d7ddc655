//! Short names of targets that stand side by side: what all have in common is said once.

use super::order::distinct;

/// What names begin and end with, up to the next sign that parts them.
const PARTS_BEFORE: [char; 4] = ['/', ':', '=', ' '];
const PARTS_AFTER: [char; 4] = ['@', '?', '/', '&'];

/// What all of these begin with, and what they end with.
fn common(names: &[&str]) -> (usize, usize) {
    let first = names[0];
    let is_begin = |end: usize| names.iter().all(|name| name.get(..end) == first.get(..end));
    let begin = first.char_indices().filter(|(_, one)| PARTS_BEFORE.contains(one)).map(|(at, one)| at + one.len_utf8());
    let begin = begin.filter(|end| is_begin(*end)).max().unwrap_or(0);
    let ends = first.char_indices().filter(|(at, one)| *at >= begin && PARTS_AFTER.contains(one));
    let end = ends.map(|(at, _)| first.len() - at).find(|length| {
        let ending = &first[first.len() - length..];
        names.iter().all(|name| name.len() >= begin + length && name.ends_with(ending))
    });
    (begin, end.unwrap_or(0))
}

/// The names without what all have in common, as `S0` of `lab:azure-sql-db/S0@v12`; as they are where nothing would be left of one.
pub fn shortened(names: &[String]) -> Vec<String> {
    let known: Vec<&str> = distinct(names.iter().map(String::as_str));
    if known.len() < 2 {
        return names.to_vec();
    }
    let (begin, end) = common(&known);
    let short = |name: &String| name[begin..name.len() - end].to_owned();
    if known.iter().any(|name| name.len() <= begin + end) {
        return names.to_vec();
    }
    names.iter().map(short).collect()
}

/// What the short names stand for, in a sentence; nothing where no name is shorter.
pub fn told(names: &[String]) -> Option<String> {
    let known: Vec<String> = distinct(names.iter()).into_iter().cloned().collect();
    let (short, full) = (shortened(&known), known.first()?);
    if short == known {
        return None;
    }
    let (begin, end) = common(&known.iter().map(String::as_str).collect::<Vec<_>>());
    let (begin, end) = (&full[..begin], &full[full.len() - end..]);
    Some(format!("{} are short for {begin}…{end}.", short.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_names_have_in_common_is_left_out() {
        let short = |names: &[&str]| shortened(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(short(&["lab:azure-sql-db/S0@v12-ga", "lab:azure-sql-db/P1@v12-ga"]), ["S0", "P1"]);
        assert_eq!(short(&["postgres://h/a?x=1", "postgres://h/b?x=1"]), ["a", "b"]);
        assert_eq!(short(&["postgres://h:1/a", "postgres://h:2/a"]), ["1", "2"]);
        assert_eq!(short(&["sqlite:./x.db", "postgres://db/x"]), ["sqlite:./x.db", "postgres://db/x"]);
        assert_eq!(short(&["lab:a/S0", "lab:a/S0"]), ["lab:a/S0", "lab:a/S0"]);
        assert_eq!(short(&["lab:a/", "lab:a/b"]), ["lab:a/", "lab:a/b"]);
        let names = ["lab:a/S0@v1".to_owned(), "lab:a/P1@v1".to_owned()];
        assert_eq!(told(&names).unwrap(), "S0, P1 are short for lab:a/…@v1.");
        assert_eq!(told(&names[..1]), None);
        // What is left may stand in what is left out as well.
        let names = ["lab:x/a".to_owned(), "lab:x/b".to_owned()];
        assert_eq!(told(&names).unwrap(), "a, b are short for lab:x/….");
    }
}
