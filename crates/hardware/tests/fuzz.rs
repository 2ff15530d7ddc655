//! Descriptions of hardware out of anything.

use std::path::Path;

use plimsoll_fuzz::Target;
use plimsoll_hardware::Spec;

#[test]
fn hardware() {
    let folder = |path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let words =
        ["[data]", "[log]", "[cpu]", "[[data.disk]]", "iops = ", "bandwidth = ", "latency = ", "count = ", "\"1us\""];
    Target::new("hardware", 10_000)
        .files(&folder("../../examples/hardware"), ".toml")
        .files(&folder("../fuzz/corpus/hardware"), ".toml")
        .words(words)
        .texts(|text| match Spec::parse("x.toml", text) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(spec) => assert!(spec.check().is_ok()),
        });
}
