//! What a definition says of requests of its own: statements, weights, parameters and how they are drawn.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::reader::{Read, Reader, entries, find, float, integer};
use crate::parameters::hint;
use crate::step::kind::Steps;
use crate::workload::custom::draw::is_variable;
use crate::workload::custom::elsewhere::{self, Leaves};
use crate::workload::custom::{ANY, Asked, CustomWorkload, Draw, Request, Text, text};

/// Keys of a `[[request]]`, with a sentence for the documentation.
pub const REQUEST_KEYS: &[(&str, &str)] = &[
    ("name", "Name of the request in results; 'request' if there is only one."),
    ("weight", "Relative frequency of the request among all requests [default: 1]."),
    (
        "statements",
        "SQL texts, or a table of texts by engine: {postgresql = \"...\", sqlite = \"...\"} or {any = \"...\"}; times = N runs one N times.",
    ),
    ("transaction", "Whether the statements of a request form one transaction [default: true]."),
    ("copies", "Each request draws '{n}' in its texts from 1 to this number [default: that of the definition]."),
    ("parameters", "How each ':name' in the statements is drawn: a table such as {uniform = [1, 100]}."),
];

/// The keys that make a definition one of requests of its own.
const OWN_KEYS: [&str; 7] = ["request", "variables", "copies", "existing", "writes", "setup", "cleanup"];

/// More tables or repetitions of a statement than these are a slip.
const MOST_COPIES: u64 = 10_000;
const MOST_TIMES: u64 = 10_000;
/// Bytes of a statement: it is kept in several forms, for each engine and session.
const LONGEST_STATEMENT: usize = 1 << 20;

impl Reader<'_> {
    /// The workload of a definition, if it has one of its own.
    pub(super) fn own(&self, document: &DeTable<'_>, steps: &Steps) -> Read<Option<CustomWorkload>> {
        let Some((_, span, value)) = find(document, "request") else {
            return match entries(document).find(|(key, ..)| OWN_KEYS.contains(key)) {
                Some((key, span, _)) => {
                    self.fail(Some(span), format!("'{key}' belongs to [[request]], which is not there"))
                }
                None => Ok(None),
            };
        };
        if !matches!(&steps[..], [step] if step.makes_requests) {
            return self.fail(Some(span), "[[request]] belongs to steps = [\"requests\"] alone");
        }
        let list = value.get_ref().as_array().filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| self.error(Some(span.clone()), "requests are written as [[request]]"))?;
        let variables = self.variables(document)?;
        let (existing, writes) = (self.flag(document, "existing", false)?, self.flag(document, "writes", false)?);
        if let Some((_, span, _)) = find(document, "writes").filter(|_| writes && !existing) {
            return self.fail(Some(span), "'writes' belongs to 'existing = true': other tables are ours to write");
        }
        let copies = self.number(document, "copies", 1, MOST_COPIES)?;
        let mut own = CustomWorkload { existing, writes, variables, copies, ..CustomWorkload::default() };
        own.setup = self.script(document, "setup", &own)?;
        own.cleanup = self.script(document, "cleanup", &own)?;
        let mut names = HashSet::new();
        for item in list {
            let request = self.request(item, &own, list.len())?;
            if !names.insert(request.name.clone()) {
                let span = item.get_ref().as_table().and_then(|table| find(table, "name")).map(|(_, span, _)| span);
                return self.fail(span, format!("two requests are called '{}'", request.name));
            }
            own.requests.push(request);
        }
        if own.requests.iter().all(|request| request.weight <= 0.0) {
            return self.fail(Some(span), "no request has a weight above 0");
        }
        Ok(Some(own))
    }

    fn variables(&self, document: &DeTable<'_>) -> Read<BTreeMap<String, u64>> {
        let mut variables = BTreeMap::new();
        let Some((_, span, value)) = find(document, "variables") else { return Ok(variables) };
        let table = self.table(span, value, "variables")?;
        for (name, span, value) in entries(table) {
            if !is_variable(name)
                || name == "n"
                || self.kinds.parameters().iter().any(|parameter| parameter.name == name)
            {
                let problem =
                    format!("'{name}' can't name a variable: lower-case letters, digits and _, no parameter and not n");
                return self.fail(Some(span), problem);
            }
            let number = integer(value).and_then(|number| u64::try_from(number).ok());
            let number = number
                .ok_or_else(|| self.error(Some(value.span()), format!("'{name}' must be a whole number from 0 on")))?;
            variables.insert(name.to_owned(), number);
        }
        Ok(variables)
    }

    fn script(&self, document: &DeTable<'_>, section: &str, own: &CustomWorkload) -> Read<Vec<Text>> {
        let Some((_, span, value)) = find(document, section) else { return Ok(Vec::new()) };
        if own.existing && !own.writes {
            let problem = format!("[{section}] writes, and existing tables are only read unless 'writes = true'");
            return self.fail(Some(span), problem);
        }
        let table = self.table(span, value, section)?;
        self.known(table, &["statements"], section)?;
        let mut texts = Vec::new();
        for item in self.list(table, "statements")? {
            let (text, times) = self.statement(item, own)?;
            if let Some(name) =
                text.texts().find_map(|sql| text::parameters(sql).first().map(|name| (*name).to_owned()))
            {
                return self
                    .fail(Some(item.span()), format!("':{name}': the statements of [{section}] have no parameters"));
            }
            if times != 1 {
                return self.fail(Some(item.span()), format!("'times' belongs to requests, not to [{section}]"));
            }
            texts.push(text);
        }
        Ok(texts)
    }

    fn request(&self, item: &Spanned<DeValue<'_>>, own: &CustomWorkload, of: usize) -> Read<Request> {
        let table = self.table(item.span(), item, "request")?;
        let keys: Vec<&str> = REQUEST_KEYS.iter().map(|(key, _)| *key).collect();
        self.known(table, &keys, "request")?;
        let name = match find(table, "name") {
            None if of == 1 => "request".to_owned(),
            None => return self.fail(Some(item.span()), "one of several requests needs a 'name'"),
            Some(_) => self.string(table, "name")?,
        };
        let mut asked = Vec::new();
        for statement in self.list(table, "statements")? {
            let (text, times) = self.statement(statement, own)?;
            if own.existing && !own.writes && text.texts().any(text::writes) {
                let first = text.texts().find_map(|text| text.split_whitespace().next()).unwrap_or_default();
                let problem = format!(
                    "a statement that begins with '{first}' may write, and existing tables are only read unless 'writes = true'"
                );
                return self.fail(Some(statement.span()), problem);
            }
            asked.push((statement.span(), Asked { text, times }));
        }
        let mut parameters = self.parameters_of(table, own)?;
        let names: Vec<String> = parameters.iter().map(|(name, ..)| name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (span, one) in &asked {
            for used in one.text.texts().flat_map(text::parameters) {
                if !names.contains(&used) {
                    let hint = hint(used, &names, "no parameters are given");
                    return self.fail(
                        Some(span.clone()),
                        format!("':{used}' has no parameter that says how it is drawn, {hint}"),
                    );
                }
            }
        }
        for (name, span, draw) in &parameters {
            let is_used = |name: &str| {
                asked.iter().any(|(_, one)| one.text.texts().any(|sql| text::parameters(sql).contains(&name)))
            };
            let is_base = |name: &str| {
                parameters.iter().any(|(_, _, draw)| matches!(draw, Draw::Plus(other, _) if other == name))
            };
            if !is_used(name) && !is_base(name) {
                return self.fail(Some(span.clone()), format!("no statement uses the parameter ':{name}'"));
            }
            if let Draw::Plus(other, _) = draw {
                let base = parameters.iter().find(|(name, ..)| name == other);
                if !base.is_some_and(|(_, _, base)| {
                    matches!(base, Draw::Uniform(..) | Draw::Zipf(..) | Draw::Newest(..) | Draw::Sequence(_))
                }) {
                    let others: Vec<&str> = names.iter().copied().filter(|known| known != name).collect();
                    let problem = match base {
                        Some(_) => format!("'{other}' is not drawn as a whole number by itself"),
                        None => format!(
                            "'{other}' is no parameter that is drawn as a whole number, {}",
                            hint(other, &others, "there is no other")
                        ),
                    };
                    return self.fail(Some(span.clone()), problem);
                }
            }
        }
        // What is a sum of another is made after it.
        parameters.sort_by_key(|(_, _, draw)| matches!(draw, Draw::Plus(..)));
        let several = asked.len() > 1 || asked.iter().any(|(_, one)| one.times > 1);
        Ok(Request {
            name,
            weight: self.weight(table)?,
            copies: self.number(table, "copies", own.copies, MOST_COPIES)?,
            transaction: self.flag(table, "transaction", true)? && several,
            statements: asked.into_iter().map(|(_, one)| one).collect(),
            parameters: parameters.into_iter().map(|(name, _, draw)| (name, draw)).collect(),
        })
    }

    /// A statement and how often it is made. Without `existing` it stays in the run's own place.
    fn statement(&self, item: &Spanned<DeValue<'_>>, own: &CustomWorkload) -> Read<(Text, u64)> {
        let (text, times) = self.texts(item)?;
        if text.texts().any(|sql| sql.len() > LONGEST_STATEMENT) {
            return self.fail(Some(item.span()), "a statement has at most 1 MB");
        }
        let beyond = match (own.existing, own.writes) {
            (false, _) => text.texts().find_map(elsewhere::leaves),
            // What only reads must be seen to.
            (true, false) => text.texts().find_map(elsewhere::hides),
            (true, true) => None,
        };
        if let Some(leaves) = beyond {
            let what = match leaves {
                Leaves::Names(name) => {
                    format!("{name} is not in the run's own place, and this statement may change it")
                }
                Leaves::Runs(word) => format!(
                    "{word} runs a text or a procedure of the server, which may change what is not the run's own"
                ),
                Leaves::Hides(signs) => format!(
                    "engines read {signs:?} in different ways, so that what stands behind it can't be looked at (write it another way)"
                ),
                Leaves::Goes(words) => format!("{words} is not known to stay in the run's own place"),
            };
            let problem = format!("{what}: that takes 'existing = true' and 'writes = true'");
            return self.fail(Some(item.span()), problem);
        }
        Ok((text, times))
    }

    /// A text, or texts by engine, and how often it is made.
    fn texts(&self, item: &Spanned<DeValue<'_>>) -> Read<(Text, u64)> {
        if let Some(text) = item.get_ref().as_str().filter(|text| !text.trim().is_empty()) {
            return Ok((Text(vec![(ANY.to_owned(), text.to_owned())]), 1));
        }
        let wrong = || self.error(Some(item.span()), "a statement is a text, or a table such as {any = \"SELECT 1\"}");
        let table = item.get_ref().as_table().ok_or_else(wrong)?;
        if let Some(engines) = self.engines {
            let keys: Vec<&str> = [ANY, "times"].into_iter().chain(engines.iter().copied()).collect();
            self.known(table, &keys, "statement")?;
        }
        let mut texts = Vec::new();
        for (engine, _, value) in entries(table).filter(|(key, ..)| *key != "times") {
            let text = value.get_ref().as_str().filter(|text| !text.trim().is_empty());
            texts.push((engine.to_owned(), text.ok_or_else(wrong)?.to_owned()));
        }
        if texts.is_empty() {
            return Err(wrong());
        }
        Ok((Text(texts), self.number(table, "times", 1, MOST_TIMES)?))
    }

    fn parameters_of(&self, table: &DeTable<'_>, own: &CustomWorkload) -> Read<Vec<(String, Range<usize>, Draw)>> {
        let Some((_, span, value)) = find(table, "parameters") else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, span, value) in entries(self.table(span, value, "parameters")?) {
            let draw = self.draw(name, value, own)?;
            found.push((name.to_owned(), span, draw));
        }
        Ok(found)
    }

    fn weight(&self, table: &DeTable<'_>) -> Read<f64> {
        let Some((_, span, value)) = find(table, "weight") else { return Ok(1.0) };
        let weight = float(value).filter(|weight| *weight >= 0.0 && weight.is_finite());
        weight.ok_or_else(|| self.error(Some(span), "'weight' must be a number from 0 on"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;

    const GOOD: &str = r#"name = "own"
steps = ["requests"]
existing = true
copies = 4
[variables]
scale = 10
[[request]]
name = "read"
weight = 3
statements = ["SELECT :a::int FROM t{n} WHERE b BETWEEN :low AND :high", { sqlite = "SELECT 1", any = "SELECT 2", times = 5 }]
[request.parameters]
a = { choice = [1, 2.5, "x", true] }
high = { plus = ["low", 99] }
low = { zipf = [1, "100 * scale + 1"], theta = 0.5 }
[[request]]
name = "other"
statements = ["SELECT 1"]
[parameters]
rate = 100
"#;

    fn own(text: &str) -> CustomWorkload {
        Definition::parse("my.toml", text).unwrap().own.unwrap()
    }

    #[test]
    fn a_definition_says_what_is_asked() {
        let own = own(GOOD);
        assert!(own.existing && !own.writes);
        let (read, other) = (&own.requests[0], &own.requests[1]);
        assert_eq!((read.weight, other.weight, read.copies), (3.0, 1.0, 4));
        assert!(read.transaction && !other.transaction, "one statement is no transaction");
        assert_eq!(read.statements[1].times, 5);
        let text = &read.statements[1].text;
        let engines = [("sqlite", None), ("lab", Some("sqlite")), ("postgresql", None)];
        let texts = engines.map(|(engine, relative)| text.for_engine(engine, relative).unwrap());
        assert_eq!(texts, ["SELECT 1", "SELECT 1", "SELECT 2"]);
        // Sums come last, whatever the order of the file.
        assert_eq!(read.parameters.last().unwrap().0, "high");
        let Draw::Zipf(_, high, theta) = &read.parameters[1].1 else { panic!("{read:?}") };
        assert_eq!((high.value(&own.variables), *theta), (Ok(1001), 0.5));
    }

    #[test]
    fn ten_times_as_many_requests_take_about_ten_times_as_long() {
        let cost = |requests: u32| {
            let request = |n| format!("[[request]]\nname = \"r{n}\"\nstatements = [\"SELECT {n}\"]\n");
            let text = (0..requests).map(request).collect::<String>();
            let text = format!("name = \"many\"\ntitle = \"Many\"\nsteps = [\"requests\"]\n{text}");
            let before = plimsoll_engine::process::thread_cpu_seconds();
            assert_eq!(Definition::parse("many.toml", &text).unwrap().own.unwrap().requests.len(), requests as usize);
            plimsoll_engine::process::thread_cpu_seconds() - before
        };
        // Pairs of them would take a hundred times as long.
        let (few, many) = (cost(4_000), cost(40_000));
        assert!(many < 35.0 * few, "{few} s, {many} s");
    }

    #[test]
    fn variables_and_parameters_are_set_by_name() {
        let mut definition = Definition::parse("my.toml", GOOD).unwrap();
        let mut parameters = definition.parameters(false);
        definition.set(&mut parameters, "scale", "2k").unwrap();
        definition.set(&mut parameters, "sessions", "3").unwrap();
        assert_eq!((definition.own.as_ref().unwrap().variables["scale"], parameters.count("sessions")), (2000, 3));
        assert_eq!((parameters.count("rate"), parameters.duration("duration").as_secs()), (100, 60));
        assert_eq!(definition.parameters(true).duration("duration").as_secs(), 20);
        let error = definition.set(&mut parameters, "scal", "2").unwrap_err();
        assert_eq!(error, "there is no parameter or variable 'scal', did you mean 'scale'?");
        assert!(definition.set(&mut parameters, "volume", "1MiB").is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            (GOOD.replace("weight", "wieght"), "9: unknown key 'wieght' in request, did you mean 'weight'?"),
            (GOOD.replace("sqlite =", "sqlight ="), "10: unknown key 'sqlight' in statement, did you mean 'sqlite'?"),
            (GOOD.replace("choice", "chioce"), "12: unknown key 'chioce' in a, did you mean 'choice'?"),
            (
                GOOD.replace(":low AND", ":lo AND"),
                "10: ':lo' has no parameter that says how it is drawn, did you mean 'low'?",
            ),
            (GOOD.replace(":a::int", "a::int"), "12: no statement uses the parameter ':a'"),
            (
                GOOD.replace("[\"low\", 99]", "[\"lo\", 99]"),
                "13: 'lo' is no parameter that is drawn as a whole number, did you mean 'low'?",
            ),
            (GOOD.replace("[\"low\", 99]", "[\"high\", 99]"), "13: 'high' is not drawn as a whole number by itself"),
            (GOOD.replace("* scale", "* scal"), "14: unknown variable 'scal', did you mean 'scale'?"),
            (GOOD.replace("100 * scale", "100 - scale"), "14: '100 - scale + 1' is no sum"),
            (GOOD.replace("theta = 0.5", "theta = 0"), "14: 'theta' must be a number above 0"),
            (GOOD.replace("zipf", "uniform"), "14: 'theta' belongs to zipf, not to uniform"),
            (GOOD.replace("weight = 3", "weight = -3"), "9: 'weight' must be a number from 0 on"),
            (GOOD.replace("copies = 4", "copies = 0"), "4: 'copies' must be a whole number from 1 to"),
            (GOOD.replace("times = 5", "times = 0"), "10: 'times' must be a whole number from 1 to"),
            (GOOD.replace("\"other\"", "\"read\""), "16: two requests are called 'read'"),
            (GOOD.replace("name = \"other\"\n", ""), "15: one of several requests needs a 'name'"),
            (GOOD.replace("[\"SELECT 1\"]", "[]"), "17: 'statements' must be a list of texts"),
            (
                GOOD.replace("[\"SELECT 1\"]", "[\"DELETE FROM t\"]"),
                "17: a statement that begins with 'DELETE' may write, and existing tables are only read",
            ),
            (GOOD.replace("scale = 10", "rate = 10"), "6: 'rate' can't name a variable"),
            (GOOD.replace("existing = true", "existing = 1"), "3: 'existing' must be true or false"),
            (GOOD.replace("existing = true", "writes = true"), "3: 'writes' belongs to 'existing = true'"),
            (GOOD.replace("rate = 100", "volume = 100"), "19: 'volume' is of tables that a test loads"),
            (GOOD.replace("[\"requests\"]", "[\"scan\"]"), "7: [[request]] belongs to steps = [\"requests\"] alone"),
            (format!("{GOOD}[mix]\ninsert = 1\n"), "20: a definition has a mix or requests of its own, not both"),
            (format!("{GOOD}[setup]\nstatements = [\"X\"]\n"), "20: [setup] writes, and existing tables are only read"),
            (
                GOOD.replace("existing = true", "") + "[setup]\nstatements = [\"INSERT INTO public.t VALUES (1)\"]\n",
                "21: public.t is not in the run's own place",
            ),
            (
                GOOD.replace("existing = true", "") + "[setup]\nstatements = [\"SELECT :x\"]\n",
                "21: ':x': the statements of [setup] have no parameters",
            ),
            (
                "name = \"x\"\nsteps = [\"requests\"]\ncopies = 2\n[mix]\ninsert = 1\n".to_owned(),
                "3: 'copies' belongs to [[request]]",
            ),
        ];
        for (text, expected) in cases {
            let problem = Definition::parse_for("my.toml", &text, &["postgresql", "sqlite"]).unwrap_err().to_string();
            assert!(problem.starts_with(&format!("my.toml:{expected}")), "{problem}\nexpected {expected}");
        }
    }
}
