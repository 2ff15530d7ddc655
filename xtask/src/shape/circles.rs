//! Files of a crate that import each other in a circle, by the paths in their code. What a module declares or merely names anew for
//! others (`mod`, `pub use`) is no import of its: whoever uses the new name imports from where it comes.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::lexical::Bare;

/// Steps of a module's path from the root of its crate.
type Path = Vec<String>;

/// A file of a circle, and the others of the circle that it imports from.
pub type Link = (String, Vec<String>);

/// The files of each circle, by crate.
pub fn circles(sources: &[Source]) -> Vec<Vec<Link>> {
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in sources {
        crates.entry(source.crate_folder()).or_default().push(source);
    }
    crates.values().flat_map(|files| circles_of(files)).collect()
}

/// A circle in words: how many files, then who imports from whom.
pub fn told(circle: &[Link]) -> Vec<String> {
    let first = format!("a circle of {} files:", circle.len());
    let links = circle.iter().map(|(file, used)| format!("  {file} -> {}", used.join(", ")));
    [first].into_iter().chain(links).collect()
}

fn circles_of(files: &[&Source]) -> Vec<Vec<Link>> {
    let modules: BTreeSet<Path> = files.iter().map(|file| file.module()).collect();
    let read: BTreeMap<Path, Module> = files.iter().map(|file| (file.module(), Module::read(file, &modules))).collect();
    let house = House { modules: &read };
    let edges: Vec<(Path, BTreeSet<Path>)> = read
        .iter()
        .map(|(path, module)| {
            let used = module.used.iter().filter_map(|used| house.file_of(used, 0)).filter(|used| used != path);
            (path.clone(), used.collect())
        })
        .collect();
    let number = |path: &Path| edges.iter().position(|(other, _)| other == path);
    let graph: Vec<Vec<usize>> = edges.iter().map(|(_, used)| used.iter().filter_map(number).collect()).collect();
    let file = |node: &usize| files.iter().find(|file| file.module() == edges[*node].0).map(|file| file.path.clone());
    let named = |circle: Vec<usize>| {
        let inside = |node: usize| graph[node].iter().filter(|used| circle.contains(used)).filter_map(file).collect();
        let mut links: Vec<Link> = circle.iter().filter_map(|node| Some((file(node)?, inside(*node)))).collect();
        links.sort();
        links
    };
    strongly_connected(&graph).into_iter().filter(|circle| circle.len() > 1).map(named).collect()
}

/// What a file says of others, as paths from the root of the crate.
struct Module {
    used: Vec<Path>,
    /// Names that stand for something from elsewhere.
    names: BTreeMap<String, Path>,
}

struct House<'a> {
    modules: &'a BTreeMap<Path, Module>,
}

impl House<'_> {
    /// The file in which a path ends, by way of the names that stand for others.
    fn file_of(&self, path: &Path, depth: u32) -> Option<Path> {
        let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]))?;
        let module = path[..length].to_vec();
        let stands_for = path.get(length).and_then(|name| self.modules[&module].names.get(name));
        match stands_for {
            Some(other) if depth < 8 => {
                let rest = [&other[..], &path[length + 1..]].concat();
                self.file_of(&rest, depth + 1)
            }
            _ => Some(module),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Step,
    Sign(char),
}

fn tokens(words: &[char]) -> Vec<Token> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut at) = (Vec::new(), 0);
    while at < words.len() {
        let c = words[at];
        if is_name(c) {
            let end = (at..words.len()).find(|at| !is_name(words[*at])).unwrap_or(words.len());
            found.push(Token::Word(words[at..end].iter().collect()));
            at = end;
        } else if c == ':' && words.get(at + 1) == Some(&':') {
            found.push(Token::Step);
            at += 2;
        } else {
            if !c.is_whitespace() {
                found.push(Token::Sign(c));
            }
            at += 1;
        }
    }
    found
}

impl Module {
    fn read(file: &Source, modules: &BTreeSet<Path>) -> Self {
        let tokens = tokens(&Bare::of(&file.text).words);
        let mut reader = Reader { tokens: &tokens, modules, at: 0, inside: Vec::new(), depth: 0, own: file.module() };
        let mut module = Self { used: Vec::new(), names: BTreeMap::new() };
        reader.all(&mut module);
        module
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    modules: &'a BTreeSet<Path>,
    at: usize,
    own: Path,
    /// Modules that are written out in the file, and how deep their braces are.
    inside: Vec<(String, u32)>,
    depth: u32,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn is(&self, at: usize, token: &Token) -> bool {
        self.tokens.get(at) == Some(token)
    }

    fn all(&mut self, module: &mut Module) {
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Sign('{') => self.depth += 1,
                Token::Sign('}') => {
                    self.depth = self.depth.saturating_sub(1);
                    self.inside.retain(|(_, depth)| *depth <= self.depth);
                }
                Token::Word(word) if word == "mod" && self.is(self.at + 2, &Token::Sign('{')) => {
                    let name = self.word(self.at + 1).unwrap_or_default().to_owned();
                    self.inside.push((name, self.depth + 1));
                }
                Token::Word(word) if word == "use" => {
                    let is_public = self.at > 0
                        && (self.word(self.at - 1) == Some("pub") || self.is(self.at - 1, &Token::Sign(')')));
                    self.at += 1;
                    self.imports(&Vec::new(), is_public, module);
                    continue;
                }
                Token::Word(_) if self.at == 0 || !self.is(self.at - 1, &Token::Step) => {
                    let mut path = vec![self.word(self.at).unwrap_or_default().to_owned()];
                    while self.is(self.at + 1, &Token::Step) && self.word(self.at + 2).is_some() {
                        path.push(self.word(self.at + 2).unwrap_or_default().to_owned());
                        self.at += 2;
                    }
                    if path.len() > 1 {
                        module.used.extend(self.rooted(&path));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// One tree of imports, up to the comma, brace or semicolon behind it.
    fn imports(&mut self, before: &Path, is_public: bool, module: &mut Module) {
        let mut path = before.clone();
        loop {
            match self.tokens.get(self.at) {
                Some(Token::Word(word)) if word == "as" => {
                    self.at += 1;
                    let name = self.word(self.at).unwrap_or_default().to_owned();
                    self.at += 1;
                    self.import(&path, &name, is_public, module);
                    return;
                }
                Some(Token::Word(word)) => path.push(word.clone()),
                Some(Token::Step) => {}
                Some(Token::Sign('{')) => {
                    self.at += 1;
                    while !self.is(self.at, &Token::Sign('}')) && self.at < self.tokens.len() {
                        let start = self.at;
                        self.imports(&path, is_public, module);
                        // Also over what is no import, as macros may have.
                        if self.is(self.at, &Token::Sign(',')) || self.at == start {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                Some(Token::Sign('*')) => {
                    self.at += 1;
                    self.import(&path, "", is_public, module);
                    return;
                }
                _ => {
                    let name = path.last().cloned().unwrap_or_default();
                    // `a::{self}` names a.
                    if name == "self" && path.len() > 1 {
                        path.pop();
                    }
                    let name = path.last().cloned().unwrap_or_default();
                    self.import(&path, &name, is_public, module);
                    return;
                }
            }
            self.at += 1;
        }
    }

    fn import(&self, path: &Path, name: &str, is_public: bool, module: &mut Module) {
        let Some(path) = self.rooted(path) else { return };
        if !is_public {
            module.used.push(path.clone());
        }
        if !name.is_empty() && self.inside.is_empty() {
            module.names.insert(name.to_owned(), path);
        }
    }

    /// A path as it is written here, from the root of the crate; `None` if it leads out of it or is a name in this file.
    fn rooted(&self, path: &Path) -> Option<Path> {
        let mut here: Path = self.own.iter().chain(self.inside.iter().map(|(name, _)| name)).cloned().collect();
        let mut steps = &path[..];
        match path.first()?.as_str() {
            "crate" => (here, steps) = (Vec::new(), &path[1..]),
            "self" => steps = &path[1..],
            "super" => {
                while steps.first().is_some_and(|step| step == "super") {
                    here.pop();
                    steps = &steps[1..];
                }
            }
            child => {
                let is_module = [&here[..], &[child.to_owned()]].concat();
                self.modules.get(&is_module)?;
            }
        }
        Some([&here[..], steps].concat())
    }
}

/// Tarjan's algorithm: groups of nodes of which each can be reached from each.
fn strongly_connected(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    struct Search<'a> {
        graph: &'a [Vec<usize>],
        index: Vec<Option<usize>>,
        low: Vec<usize>,
        on_stack: Vec<bool>,
        stack: Vec<usize>,
        next: usize,
        groups: Vec<Vec<usize>>,
    }
    impl Search<'_> {
        fn visit(&mut self, node: usize) {
            (self.index[node], self.low[node]) = (Some(self.next), self.next);
            self.next += 1;
            self.stack.push(node);
            self.on_stack[node] = true;
            for &other in &self.graph[node] {
                match self.index[other] {
                    None => {
                        self.visit(other);
                        self.low[node] = self.low[node].min(self.low[other]);
                    }
                    Some(index) if self.on_stack[other] => self.low[node] = self.low[node].min(index),
                    Some(_) => {}
                }
            }
            if Some(self.low[node]) == self.index[node] {
                let from = self.stack.iter().position(|other| *other == node).unwrap_or(0);
                let group = self.stack.split_off(from);
                for node in &group {
                    self.on_stack[*node] = false;
                }
                self.groups.push(group);
            }
        }
    }
    let count = graph.len();
    let mut search = Search {
        graph,
        index: vec![None; count],
        low: vec![0; count],
        on_stack: vec![false; count],
        stack: Vec::new(),
        next: 0,
        groups: Vec::new(),
    };
    for node in 0..count {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<Vec<Link>> {
        let source =
            |(path, text): &(&str, &str)| Source { path: format!("crates/a/src/{path}"), text: (*text).to_owned() };
        circles(&files.iter().map(source).collect::<Vec<_>>())
    }

    #[test]
    fn a_planted_circle_is_found_however_it_is_written() {
        let link = |from: &str, to: &str| (format!("crates/a/src/{from}.rs"), vec![format!("crates/a/src/{to}.rs")]);
        let circle = [[link("b", "c"), link("c", "b")].to_vec()];
        for (b, c) in [
            ("use crate::c::C;", "use crate::b::B;"),
            ("use super::c::{C, D};", "fn f() { crate::b::f::<u8>() }"),
            ("use crate::{c, std::x};", "fn f() -> super::b::B { }"),
            ("use crate::C;", "use super::{b as other};"),
            ("use crate::c::{self, C};", "mod inner { use super::super::b::B; }"),
        ] {
            let lib = "mod b;\nmod c;\npub use c::C;";
            assert_eq!(found(&[("lib.rs", lib), ("b.rs", b), ("c.rs", c)]), circle, "{b} {c}");
        }
    }

    #[test]
    fn names_anew_comments_and_tests_make_no_circle() {
        let lib = "mod b;\nmod c;\npub use b::B;\npub use c::C;";
        let b = "// use crate::c::C;\nfn f() { \"crate::c::C\" }\n#[cfg(test)]\nmod tests {\n use crate::c::C; }";
        assert!(found(&[("lib.rs", lib), ("b.rs", b), ("c.rs", "use crate::B;")]).is_empty());
    }

    #[test]
    fn a_parent_that_calls_a_child_which_needs_the_parent_is_a_circle() {
        let child = "use super::Thing;";
        let parent = "mod b;\npub struct Thing;\nfn f() { b::f() }";
        assert_eq!(found(&[("x/mod.rs", parent), ("x/b.rs", child), ("lib.rs", "mod x;")]).len(), 1);
        let facade = "mod b;\nmod c;\npub use b::B;\nuse c::Thing;";
        let below = [("x/mod.rs", facade), ("x/b.rs", child), ("x/c.rs", ""), ("lib.rs", "mod x;")];
        assert!(found(&below).is_empty(), "the name comes from c, and c needs nobody");
    }

    #[test]
    fn three_files_in_a_ring_are_one_circle() {
        let ring =
            [("lib.rs", ""), ("a.rs", "use crate::b;"), ("b.rs", "use crate::c::X;"), ("c.rs", "use crate::a::Y;")];
        assert_eq!(found(&ring)[0].len(), 3);
        assert!(found(&ring[..3]).is_empty());
    }
}
