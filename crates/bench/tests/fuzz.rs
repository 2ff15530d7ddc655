//! Definitions and parameters out of anything.

use std::path::Path;

use plimsoll_bench::Definition;

#[test]
fn definitions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = plimsoll_fuzz::Target::new("definitions", 5_000);
    let target = target.files(&folder.join("definitions"), ".toml").files(&folder.join("../../examples"), ".toml");
    let words = ["steps = [", "[[request]]", "[mix]", "uniform = [1, 2]", "\"\"\"", "= true", ":aid", "[variables]"];
    target.words(words).texts(|text| match Definition::parse("x.toml", text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(definition) => {
            for scale in [1, 64, u64::MAX] {
                let parameters = definition.parameters_at(text.len().is_multiple_of(2), scale);
                let _ = definition.check(&parameters);
            }
        }
    });
}

#[test]
fn parameters() {
    let target = plimsoll_fuzz::Target::new("parameters", 3_000).lines(include_str!("../../fuzz/corpus/sizes.txt"));
    let definitions = plimsoll_bench::definition::builtin();
    target.words([",", "..", "poisson", "zipf", "warm"]).texts(|text| {
        for definition in &definitions {
            let mut parameters = definition.parameters(false);
            let names: Vec<&str> = parameters.iter().map(|(name, _)| name).collect();
            for name in names {
                let _ = definition.clone().set(&mut parameters, name, text);
            }
            // However odd they are together.
            let _ = definition.check(&parameters);
            let _ = (parameters.scaled(64), parameters.scaled(u64::MAX));
        }
    });
}
