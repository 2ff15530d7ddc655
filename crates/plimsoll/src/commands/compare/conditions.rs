//! What differs between two runs beside what was measured, and whether a ratio of them means anything then.
//!
//! Two targets, levels, editions or engines may always be held against each other: that is what comparing is for. What is
//! asked of them has to be the same, and what stands around it is named.

use std::collections::BTreeSet;

use plimsoll_bench::definition::Definition;
use plimsoll_bench::parameters::{Parameter, ParameterValue, Parameters};
use plimsoll_bench::step::kinds::BUILT_IN;
use plimsoll_measurement::units::format_significant;
use plimsoll_measurement::{RunRecord, Subject};
use serde_json::Value;

/// Something that differs between two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is: `engine version`, the name of a parameter or of a setting.
    pub what: String,
    /// What comes of it.
    pub weight: Weight,
    /// Its values in the first and in the second run; absent where it isn't known or doesn't exist.
    pub values: [Option<String>; 2],
}

/// What a difference means for a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Something else was measured: the ratio means nothing.
    Refuses,
    /// The ratio may be a consequence of it.
    Warns,
    /// The same, and it is one of the settings that the target states about itself, of which there may be dozens.
    Setting,
    /// It is what is compared.
    Compared,
}

/// Parameters that say how much or how long is measured, not what: rates stand beside each other where they differ.
const AMOUNTS: [&str; 13] = [
    "duration",
    "at_least",
    "at_most",
    "allowed_failures",
    "stop_after",
    "first_set",
    "largest_set",
    "source",
    "poll",
    "timeout",
    "scale_duration",
    "seed",
    "level",
];
/// The same where all that is measured is a rate over the volume; the times and caches of others depend on it.
const VOLUMES: [&str; 2] = ["volume", "tables"];
/// Isolation is compared on purpose: read-scan-weak is there to be held against read-scan.
const COMPARED_ON_PURPOSE: &str = "isolation";
/// Facts beside the parameters that are worth a warning.
const FACTS: [&str; 5] = ["data_reused", "settle_seconds", "page_bytes", "group", "join_split"];

/// Ceilings that settings, data and the client's machine make, which are told as those.
const OF_SETTINGS: [&str; 5] = ["data", "memory", "sessions", "machine_cpu", "client_cpu"];

/// What differs between two runs.
pub fn differences(base: &RunRecord, other: &RunRecord) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: &str, weight, a: Option<String>, b: Option<String>| {
        found.extend((a != b).then(|| Difference { what: what.to_owned(), weight, values: [a, b] }));
    };
    let text = |text: &str| Some(text.to_owned());
    let definitions = [base, other].map(|run| Definition::parse("stored definition", &run.definition.text).ok());
    // Another text may say the same: titles and usual values change from release to release.
    let is_one_test = match &definitions {
        [Some(a), Some(b)] => a.steps == b.steps && a.mix == b.mix && a.own == b.own,
        _ => base.definition.hash == other.definition.hash,
    };
    let weight = if is_one_test { Weight::Warns } else { Weight::Refuses };
    add("test", weight, text(&base.test), text(&other.test));
    if !is_one_test && base.test == other.test {
        let [a, b] = first_difference([&base.definition.text, &other.definition.text]);
        let hash = |run: &RunRecord| Some(run.definition.hash.clone());
        add("definition", weight, a.or_else(|| hash(base)), b.or_else(|| hash(other)));
    }
    let basis = |run: &RunRecord| text(run.basis.name());
    add("basis", Weight::Warns, basis(base), basis(other));
    add("target", Weight::Compared, text(&base.target), text(&other.target));
    add("engine", Weight::Warns, text(&base.engine), text(&other.engine));
    let is_one_engine = base.engine == other.engine;
    if is_one_engine {
        add("engine version", Weight::Warns, base.engine_version.clone(), other.engine_version.clone());
    }
    add("catalogue edition", Weight::Warns, base.catalog_edition.clone(), other.catalog_edition.clone());
    let is_rate_of_volume =
        definitions.iter().flatten().all(|definition| definition.steps.iter().all(|step| step.compares_volumes));
    for parameter in BUILT_IN.parameters() {
        let is_amount = AMOUNTS.contains(&parameter.name)
            || parameter.name == COMPARED_ON_PURPOSE
            || (is_rate_of_volume && VOLUMES.contains(&parameter.name))
            // A join is shared by as many sessions as there are CPUs: it is the machine that differs.
            || (is_rate_of_volume && definitions.iter().any(Option::is_some) && parameter.name == "sessions");
        let weight = if is_amount { Weight::Warns } else { Weight::Refuses };
        let [a, b] = [(base, &definitions[0]), (other, &definitions[1])].map(|(run, definition)| {
            let factor = if parameter.scales { scale_of(run) } else { 1 };
            let usual = || usual(parameter, definition.as_ref()?);
            parameter.recorded(&run.parameters).or_else(usual).map(|value| unscaled(&value, factor).to_string())
        });
        add(parameter.name, weight, a, b);
    }
    let variables = definitions.iter().flatten().filter_map(|definition| definition.own.as_ref());
    let variables: BTreeSet<&String> = variables.flat_map(|own| own.variables.keys()).collect();
    let value = |run: &RunRecord, name: &str| run.parameters.get(name).map(ToString::to_string);
    for name in variables {
        add(name, Weight::Refuses, value(base, name), value(other, name));
    }
    if definitions.iter().all(Option::is_none) {
        // Nobody knows which of them say what is asked.
        let known = BUILT_IN.parameters();
        let names: BTreeSet<&String> = base.parameters.keys().chain(other.parameters.keys()).collect();
        let is_known =
            |name: &str| name == "scale" || FACTS.contains(&name) || known.iter().any(|one| one.name == name);
        for name in names.into_iter().filter(|name| !is_known(name)) {
            add(name, Weight::Warns, value(base, name), value(other, name));
        }
    }
    // A scale is a part of an engine's own nature: held against an engine without one it is no difference of the test.
    let scale_weight = if is_one_engine { Weight::Refuses } else { Weight::Warns };
    let scale = |run: &RunRecord| Some(format!("1/{}", scale_of(run)));
    add("scale", scale_weight, scale(base), scale(other));
    for name in FACTS.into_iter().filter(|name| is_one_engine || *name != "page_bytes") {
        add(name, Weight::Warns, value(base, name), value(other, name));
    }
    add("clock", Weight::Warns, text(&base.clock), text(&other.clock));
    add("plimsoll", Weight::Warns, text(&base.build), text(&other.build));
    add("client machine", Weight::Warns, base.host.name.clone(), other.host.name.clone());
    let platform = |run: &RunRecord| Some(format!("{}, {} CPUs", run.host.platform, run.host.cpus));
    add("client platform", Weight::Warns, platform(base), platform(other));
    add("client's load", Weight::Warns, load(base), load(other));
    // What was bought of a volume is what people change of it. A modelled one says so in its name.
    if [base, other].iter().all(|run| run.subject == Subject::Volume) {
        if [base, other].iter().all(|run| run.target.starts_with("lab:")) {
            add("volume", Weight::Setting, text(&base.target), text(&other.target));
        }
        for (resource, what) in [("data_iops", "limit of operations"), ("data_bandwidth", "limit of bytes")] {
            let [a, b] = [base, other].map(|run| lowest_ceiling(run, resource));
            add(what, Weight::Setting, a, b);
        }
    }
    // Of one target a quota is changed like a setting. Of several it is what they are, and what follows from the client's machine stands there.
    if base.subject == Subject::Database && base.target == other.target {
        let resources: BTreeSet<&str> = [base, other]
            .iter()
            .flat_map(|run| run.ceilings.iter().map(|ceiling| ceiling.resource.as_str()))
            .filter(|resource| !OF_SETTINGS.contains(resource))
            .collect();
        for resource in resources {
            let name = resource.replace('_', " ");
            let what = format!("limit of {}", if resource == "cpu" { "the server's CPU" } else { &name });
            let [a, b] = [base, other].map(|run| lowest_ceiling(run, resource));
            add(&what, Weight::Setting, a, b);
        }
    }
    if is_one_engine {
        for (name, [a, b]) in settings(base, other) {
            add(name, Weight::Setting, a, b);
        }
    }
    found
}

/// What each of two runs of one engine says of its target's settings.
fn settings<'r>(base: &'r RunRecord, other: &'r RunRecord) -> impl Iterator<Item = (&'r str, [Option<String>; 2])> {
    let names: BTreeSet<&String> = base.environment.keys().chain(other.environment.keys()).collect();
    // PostgreSQL's runs record what somebody has set: of the same programs the rest is as the server comes.
    let is_alike =
        base.engine == "postgresql" && (&base.build, &base.engine_version) == (&other.build, &other.engine_version);
    let unset = move |name: &str| (is_alike && name.contains('_')).then(|| "its default".to_owned());
    let of = move |name: &'r String| {
        (name.as_str(), [base, other].map(|run| run.environment.get(name).cloned().or_else(|| unset(name))))
    };
    names.into_iter().filter(|name| *name != "scale").map(of)
}

/// The first line of each of two texts that the other has not in its place.
fn first_difference(texts: [&str; 2]) -> [Option<String>; 2] {
    let mut lines = texts.map(|text| text.lines().map(str::trim).filter(|line| !line.is_empty()));
    loop {
        let both = lines.each_mut().map(Iterator::next);
        match both {
            [None, None] => return [None, None],
            [a, b] if a == b => {}
            both => return both.map(|line| Some(line.map_or_else(|| "nothing more".to_owned(), str::to_owned))),
        }
    }
}

/// The lowest ceiling that a run states of a resource, with its unit.
fn lowest_ceiling(run: &RunRecord, resource: &str) -> Option<String> {
    let of_it = run.ceilings.iter().filter(|ceiling| ceiling.resource == resource);
    let lowest = of_it.min_by(|one, other| one.value.total_cmp(&other.value))?;
    Some(format!("{} {}", format_significant(lowest.value), lowest.unit))
}

/// Why a ratio of two runs means nothing; `None` where it may mean something.
pub fn refusal(base: &RunRecord, other: &RunRecord) -> Option<String> {
    listed(&differences(base, other), |weight| weight == Weight::Refuses)
}

/// Whether the client held requests back; nothing where it was free, and in virtual time, where only a modelled one does.
fn load(run: &RunRecord) -> Option<String> {
    if run.verdict.limits().any(|limit| limit == "client") {
        return Some("was-the-limit".to_owned());
    }
    let client = run.host.client.as_ref().filter(|client| run.clock != "virtual" && client.verdict != "free")?;
    Some(client.verdict.clone())
}

fn scale_of(run: &RunRecord) -> u64 {
    run.parameters.get("scale").and_then(Value::as_u64).filter(|scale| *scale > 0).unwrap_or(1)
}

/// What a parameter is where a run has none: runs of an older release do without those that came later.
fn usual(parameter: &Parameter, definition: &Definition) -> Option<Value> {
    let mut parameters = Parameters::default();
    parameters.set(parameter.name, parameter.default?, &definition.steps).ok()?;
    parameters.value(parameter.name).map(ParameterValue::to_json)
}

/// Volumes are those of a full target: a scaled one is asked for less of the same.
fn unscaled(value: &Value, factor: u64) -> Value {
    match value {
        Value::Array(all) => all.iter().map(|one| unscaled(one, factor)).collect(),
        one => one.as_u64().map_or_else(|| one.clone(), |number| number.saturating_mul(factor).into()),
    }
}

/// The differences of a kind, each with its values: `volume (104857600 against 20971520)`.
pub fn listed(differences: &[Difference], wanted: impl Fn(Weight) -> bool) -> Option<String> {
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let full = |one: &Difference| format!("{} ({} against {})", one.what, shown(&one.values[0]), shown(&one.values[1]));
    joined(differences.iter().filter(|one| wanted(one.weight)).map(full).collect())
}

fn joined(mut parts: Vec<String>) -> Option<String> {
    let last = parts.pop()?;
    Some(if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) })
}

/// The differences as scripts see them.
pub fn json(differences: &[Difference]) -> Value {
    let one = |Difference { what, weight, values: [baseline, candidate] }: &Difference| {
        let refuses = (*weight == Weight::Refuses).then_some(true);
        known(serde_json::json!({"what": what, "baseline": baseline, "candidate": candidate, "refuses": refuses}))
    };
    differences.iter().map(one).collect()
}

/// The object without what is not known: that is absent for scripts, never null.
pub fn known(mut object: Value) -> Value {
    object.as_object_mut().into_iter().for_each(|object| object.retain(|_, value| !value.is_null()));
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(test: &str, changes: &[(&str, Value)]) -> RunRecord {
        let definition = plimsoll_bench::definition::find_builtin(test).unwrap();
        let text = r#"{"schema_version": "2.0", "subject": "database", "basis": "measured", "run_id": "", "test": "", "target": "sqlite:a", "engine": "sqlite",
            "clock": "real", "started_at": "", "parameters": {}, "definition": {"hash": "", "text": ""}, "build": "1",
            "repetitions": [], "verdict": {"limit": null, "evidence": []}, "warnings": [],
            "host": {"platform": "linux", "cpus": 2}}"#;
        let mut run: RunRecord = serde_json::from_str(text).unwrap();
        run.test = test.to_owned();
        run.definition.text.clone_from(&definition.text);
        run.definition.hash = definition.hash();
        run.parameters = definition.parameters.iter().map(|(name, value)| (name.to_owned(), value.to_json())).collect();
        run.parameters.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        run
    }

    fn weights(base: &RunRecord, other: &RunRecord) -> Vec<(String, Weight)> {
        differences(base, other).into_iter().map(|one| (one.what, one.weight)).collect()
    }

    #[test]
    fn a_setting_that_nobody_made_is_at_its_default_where_all_that_are_made_are_recorded() {
        let of = |engine: &str, build: &str, work_mem: Option<&str>| {
            let mut run = run("insert", &[]);
            (run.engine, run.build) = (engine.to_owned(), build.to_owned());
            run.environment.extend(work_mem.map(|value| ("work_mem".to_owned(), value.to_owned())));
            run
        };
        let before = |engine: &str, build: &str| {
            let found = differences(&of(engine, build, None), &of(engine, "2", Some("64MB")));
            found.into_iter().find(|one| one.what == "work_mem").unwrap().values[0].clone()
        };
        assert_eq!(before("postgresql", "2").as_deref(), Some("its default"));
        // An earlier release did not record it, and other engines do not say who made a setting.
        assert_eq!((before("postgresql", "1"), before("mariadb", "2")), (None, None));
    }

    #[test]
    fn another_test_is_refused_but_for_the_weak_scan() {
        assert_eq!(weights(&run("insert", &[]), &run("insert", &[])), []);
        let found = weights(&run("insert", &[]), &run("mix-a", &[]));
        assert_eq!(found, [("test".to_owned(), Weight::Refuses)]);
        let found = weights(&run("read-scan", &[]), &run("read-scan-weak", &[]));
        assert_eq!(found, [("test".to_owned(), Weight::Warns), ("isolation".to_owned(), Weight::Warns)]);
        let mut changed = run("insert", &[]);
        changed.definition.text = changed.definition.text.replace("insert = 1", "update = 1");
        changed.definition.hash = "1".to_owned();
        assert_eq!(weights(&run("insert", &[]), &changed), [("definition".to_owned(), Weight::Refuses)]);
        let mut reworded = run("insert", &[]);
        reworded.definition.text = reworded.definition.text.replace("Single-row inserts", "Inserts");
        reworded.definition.hash = "1".to_owned();
        assert_eq!(weights(&run("insert", &[]), &reworded), []);
    }

    #[test]
    fn runs_of_a_release_that_did_not_know_a_parameter_had_its_usual_value() {
        let mut old = run("read-scan", &[]);
        assert!(old.parameters.remove("into").is_some() && old.parameters.remove("readers").is_some());
        assert_eq!(weights(&old, &run("read-scan", &[])), []);
        let found = weights(&old, &run("read-scan", &[("into", "client".into())]));
        assert_eq!(found, [("into".to_owned(), Weight::Refuses)]);
    }

    #[test]
    fn a_definition_that_cannot_be_read_is_another_one() {
        let mut old = run("insert", &[]);
        (old.definition.text, old.definition.hash) = ("of another age = [".to_owned(), "2".to_owned());
        assert_eq!(weights(&old, &run("insert", &[])), [("definition".to_owned(), Weight::Refuses)]);
        assert_eq!(weights(&old, &old), []);
    }

    #[test]
    fn what_is_asked_refuses_and_how_much_of_it_warns() {
        let asked = |name: &str, value: Value| weights(&run("insert", &[]), &run("insert", &[(name, value)]));
        for (name, value) in
            [("sessions", 9.into()), ("rate", 100.into()), ("volume", 1.into()), ("keys", "zipf".into())]
        {
            assert_eq!(asked(name, value), [(name.to_owned(), Weight::Refuses)]);
        }
        for (name, value) in [("seed", 2.into()), ("duration", 20.0.into()), ("data_reused", true.into())] {
            assert_eq!(asked(name, value), [(name.to_owned(), Weight::Warns)]);
        }
        assert_eq!(asked("rows_per_table", 5.into()), [], "a consequence of others");
        let scans = weights(&run("read-scan", &[]), &run("read-scan", &[("volume", (200 << 20).into())]));
        assert_eq!(scans, [("volume".to_owned(), Weight::Warns)]);
    }

    #[test]
    fn volumes_are_full_ones_and_scales_belong_to_their_engine() {
        let base = run("insert", &[("volume", (1_u64 << 30).into())]);
        let scaled = |scale: u64| {
            let volume = (1_u64 << 30) / scale;
            RunRecord {
                engine: "lab".to_owned(),
                ..run("insert", &[("volume", volume.into()), ("scale", scale.into())])
            }
        };
        let found = weights(&base, &scaled(64));
        assert_eq!(found, [("engine".to_owned(), Weight::Warns), ("scale".to_owned(), Weight::Warns)]);
        assert_eq!(weights(&scaled(16), &scaled(64)), [("scale".to_owned(), Weight::Refuses)]);
    }

    #[test]
    fn variables_of_a_definition_are_what_is_asked() {
        let text = "name = \"mine\"\ntitle = \"t\"\nabout = \"a\"\nsteps = [\"requests\"]\nrepetitions = 3\n\
            [variables]\nscale_of_rows = 10\n[[request]]\nname = \"one\"\nstatements = [\"SELECT 1\"]\n";
        let of = |rows: u64| {
            let mut run = run("insert", &[("scale_of_rows", rows.into())]);
            run.definition.text = text.to_owned();
            run
        };
        assert!(Definition::parse("mine", text).is_ok(), "{:?}", Definition::parse("mine", text));
        assert_eq!(weights(&of(10), &of(10)), []);
        assert_eq!(weights(&of(10), &of(20)), [("scale_of_rows".to_owned(), Weight::Refuses)]);
    }

    #[test]
    fn targets_are_what_is_compared_and_settings_are_counted() {
        let base = run("read-scan", &[]);
        let mut other = run("read-scan", &[]);
        other.target = "sqlite:b".to_owned();
        other.environment.insert("cache_size".to_owned(), "-4000".to_owned());
        other.environment.insert("synchronous".to_owned(), "2".to_owned());
        other.engine_version = Some("3.46".to_owned());
        let found = differences(&base, &other);
        let settings = listed(&found, |weight| weight == Weight::Setting).unwrap();
        assert_eq!(settings, "cache_size (unknown against -4000) and synchronous (unknown against 2)");
        assert_eq!(listed(&found, |weight| weight == Weight::Refuses), None);
        let json = json(&found);
        assert_eq!(json[0], serde_json::json!({"what": "target", "baseline": "sqlite:a", "candidate": "sqlite:b"}));
        assert_eq!(json[1], serde_json::json!({"what": "engine version", "candidate": "3.46"}));
        // Of another engine the settings say nothing here.
        other.engine = "postgresql".to_owned();
        assert_eq!(weights(&base, &other).len(), 2);
    }

    #[test]
    fn what_was_bought_of_a_volume_is_one_of_its_settings() {
        let bought = |subject: Subject, iops: f64| {
            let ceiling = plimsoll_measurement::Ceiling {
                resource: "data_iops".to_owned(),
                value: iops,
                unit: "1/s".to_owned(),
                ..Default::default()
            };
            RunRecord { subject, ceilings: vec![ceiling], ..run("insert", &[]) }
        };
        let found = differences(&bought(Subject::Volume, 3000.0), &bought(Subject::Volume, 6000.0));
        let told = listed(&found, |weight| weight == Weight::Setting);
        assert_eq!(told.as_deref(), Some("limit of operations (3,000 1/s against 6,000 1/s)"));
        // A quota of a database's server is one of its settings, unless it is another target.
        let quota = |iops: f64| bought(Subject::Database, iops);
        let told = listed(&differences(&quota(1.0), &quota(2.0)), |weight| weight == Weight::Setting);
        assert_eq!(told.as_deref(), Some("limit of data iops (1.00 1/s against 2.00 1/s)"));
        let elsewhere = RunRecord { target: "sqlite:b".to_owned(), ..quota(2.0) };
        assert_eq!(weights(&quota(1.0), &elsewhere), [("target".to_owned(), Weight::Compared)]);
    }

    #[test]
    fn of_two_definitions_the_first_line_that_differs_is_told() {
        let told = |a: &str, b: &str| first_difference([a, b]).map(Option::unwrap_or_default);
        assert_eq!(told("a = 1\n\n  b = 2\n", "a = 1\nb = 3\n"), ["b = 2", "b = 3"]);
        assert_eq!(told("a = 1\n", "a = 1\nb = 3\n"), ["nothing more", "b = 3"]);
        assert_eq!(told("a = 1", "  a = 1\n"), ["", ""]);
    }

    #[test]
    fn the_client_is_a_condition() {
        let base = run("insert", &[]);
        let mut other = run("insert", &[]);
        other.host.name = Some("b".to_owned());
        other.host.cpus = 8;
        let limited = plimsoll_measurement::Client { verdict: "was-the-limit".to_owned(), ..Default::default() };
        other.host.client = Some(limited);
        let names: Vec<String> = weights(&base, &other).into_iter().map(|(what, _)| what).collect();
        assert_eq!(names, ["client machine", "client platform", "client's load"]);
        other.clock = "virtual".to_owned();
        assert!(!weights(&base, &other).iter().any(|(what, _)| what == "client's load"));
        other.verdict.limit = Some("client".to_owned());
        assert!(weights(&base, &other).iter().any(|(what, _)| what == "client's load"));
    }
}
