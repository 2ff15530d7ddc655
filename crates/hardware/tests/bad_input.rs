//! Every way to write hardware that cannot be: the error names file, line and key, what is wrong, and what would be right.

use plimsoll_hardware::{Cap, DeviceSpec, LimitHolder, Limits, Origin, Role, Spec, SpecError};
use plimsoll_measurement::{LimitBasis, LimitScope, Provenance};
use proptest::prelude::*;

fn error(text: &str) -> SpecError {
    match Spec::parse("mine.toml", text) {
        Err(error) => error,
        Ok(spec) => panic!("accepted:\n{text}\nas {spec:?}"),
    }
}

/// Text, what the message says (place and key first), what the hint says.
type Case = (&'static str, &'static [&'static str], &'static str);

const TIERS: &str = "tiers = [{ up_to = \"1GiB\", iops = 1 }, { up_to = \"2GiB\", iops = 2 }]";

const CASES: &[Case] = &[
    // Names.
    ("nam = 'x'", &["mine.toml:1: nam: unknown key 'nam'"], "did you mean 'name'?"),
    ("\n[dta]", &["mine.toml:2: dta: unknown key 'dta'"], "did you mean 'data'?"),
    ("[data]\n\nipos = 5", &["mine.toml:3: data.ipos: unknown key 'ipos'"], "did you mean 'iops'?"),
    ("[data]\nread_latncy = '5ms'", &["data.read_latncy", "unknown key"], "did you mean 'read_latency'?"),
    ("[data]\nzzz = 1", &["unknown key 'zzz'"], "known: iops, read_iops"),
    ("[cpu]\ncores = 1\nsteptime = '1ns'", &["mine.toml:3: cpu.steptime"], "did you mean 'step_time'?"),
    ("[data]\niops = { rate = 1, brust = {} }", &["data.iops.brust"], "did you mean 'burst'?"),
    ("[data]\ndisks = 2\nlayout = 'stripped'", &["data.layout: unknown layout 'stripped'"], "did you mean 'striped'?"),
    ("[data]\ncaps = ['vm']", &["mine.toml:2: data.caps: unknown cap 'vm'"], "there are none"),
    ("[caps.vm]\niops = 1\n[log]\ncaps = ['vm2']", &["mine.toml:4: log.caps: unknown cap 'vm2'"], "did you mean 'vm'?"),
    ("[caps.vm]\niops = 1\n[log]\ncaps = ['vm', 'vm']", &["log.caps: cap 'vm' is named twice"], ""),
    ("[data]\nneighbour = { rates = [1, 1], dwel = '1s' }", &["data.neighbour.dwel"], "did you mean 'dwell'?"),
    ("[data]\nread_latency = { p5o = '1ms' }", &["data.read_latency.p5o: unknown key 'p5o'"], "p99_9"),
    ("[data]\nread_latency = { p101 = '1ms' }", &["unknown key 'p101'"], "p99_9"),
    ("[data]\nread_latency = { p99.9 = '1ms' }", &["data.read_latency.p99: 'p99' holds a table"], "p99_9"),
    // Devices and what lies on them.
    ("[placement]\ndata = 'fast'", &["mine.toml:2: placement.data: unknown device 'fast'"], "there are none"),
    (
        "[devices.fast]\n[placement]\nlog = 'fst'",
        &["mine.toml:3: placement.log: unknown device 'fst'"],
        "did you mean 'fast'?",
    ),
    (
        "[data]\n\n[devices.fast]\niops = 1",
        &["mine.toml:3: devices.fast: no file lies on this device"],
        "data = \"fast\"",
    ),
    ("[devices.fast]\n[log]\n[placement]\nlog = 'fast'", &["mine.toml:2: log: no file lies on this device"], ""),
    ("[data]\n[devices.data]", &["mine.toml:2: devices.data: device 'data' is there twice"], ""),
    (
        "[devices.fast]\nipos = 1\n[placement]\ndata = 'fast'",
        &["devices.fast.ipos: unknown key"],
        "did you mean 'iops'?",
    ),
    ("[devices.'']\niops = 1", &["a device needs a name"], ""),
    ("[placement]\ndata = 1", &["placement.data: expected a text in quotes, found an integer"], ""),
    ("devices = 3", &["devices: expected a table, found an integer"], ""),
    ("[caps.vm]\niops = 1\nscope = 'vmm'", &["mine.toml:3: caps.vm.scope: unknown scope 'vmm'"], "did you mean 'vm'?"),
    ("[caps.vm]\nscope = 'vm'", &["caps.vm: a cap needs at least one limit"], ""),
    // Rates.
    ("[data]\niops = 0", &["mine.toml:2: data.iops: a limit must be more than 0"], "leave the key out"),
    ("[data]\niops = -5", &["a limit must be more than 0"], ""),
    ("[data]\niops = inf", &["data.iops: inf is not a finite number"], ""),
    ("[data]\niops = -inf", &["is not a finite number"], ""),
    ("[data]\niops = nan", &["nan is not a finite number"], ""),
    ("[data]\niops = 1e12", &["a limit must be between 0.01 and 1,000,000,000 I/Os a second"], ""),
    ("[data]\niops = 1e-9", &["a limit must be between 0.01"], ""),
    ("[data]\niops = 'many'", &["'many' does not start with a digit"], ""),
    ("[data]\niops = true", &["data.iops: expected a number, found a boolean"], ""),
    ("[data]\nbandwidth = 10", &["a bandwidth needs a unit, such as 10MiB/s"], ""),
    ("[data]\nbandwidth = '10'", &["a bandwidth needs a unit, such as 10MiB/s"], ""),
    ("[data]\nbandwidth = '10MiB'", &["a bandwidth is per second or minute"], ""),
    ("[data]\nbandwidth = '10MiB/h'", &["a bandwidth per 'h' is unknown"], "'/s' or '/min'"),
    ("[data]\nbandwidth = '0MiB/s'", &["a limit must be more than 0"], ""),
    ("[data]\nbandwidth = '-1MiB/s'", &["'-1MiB' must not be negative"], ""),
    ("[data]\nbandwidth = 'infMiB/s'", &["is not a finite number"], ""),
    ("[data]\nbandwidth = inf", &["inf is not a finite number"], ""),
    ("[data]\nbandwidth = '1B/s'", &["between 1KiB/s and 16TiB/s"], ""),
    ("[data]\nbandwidth = '9999TiB/s'", &["between 1KiB/s and 16TiB/s"], ""),
    ("[data]\nbandwidth = '5 elephants/s'", &["unknown unit 'elephants'", "MiB"], "such as \"10MiB/s\""),
    ("[data]\nbandwidth = '5 5MiB/s'", &["is more than one number"], ""),
    ("[data]\nbandwidth = ['1MiB/s']", &["expected a text such as \"10MiB/s\", found an array"], ""),
    ("[data]\niops = { burst = { rate = 5, lasts = '1m' } }", &["data.iops: 'rate' is missing"], ""),
    ("[data]\niops = { rate = 5, burst = { rate = 5, lasts = '1m' } }", &["must be higher than the rate itself"], ""),
    ("[data]\niops = { rate = 5, burst = { rate = 9 } }", &["either 'lasts' or 'credit'"], ""),
    ("[data]\niops = { rate = 5, burst = { rate = 9, lasts = '0s' } }", &["the burst has no credit"], ""),
    ("[data]\niops = { rate = 5, burst = { rate = 9, lasts = 30 } }", &["needs a unit, such as 30m"], ""),
    ("[caps.vm]", &["mine.toml:1: caps.vm: a cap needs at least one limit"], "bandwidth"),
    // Latencies.
    ("[data]\nread_latency = 5", &["mine.toml:2: data.read_latency: a latency needs a unit, such as 5ms"], ""),
    ("[data]\nread_latency = '5'", &["a latency needs a unit, such as 5ms"], ""),
    ("[data]\nread_latency = '-5ms'", &["'-5ms' must not be negative"], ""),
    ("[data]\nread_latency = 'nan'", &["is not a finite number"], ""),
    ("[data]\nread_latency = '2h'", &["is more than one minute"], ""),
    ("[data]\nread_latency = '999999999999999999h'", &["longer than the model can say"], ""),
    ("[data]\nread_latency = '5 parsecs'", &["unknown unit 'parsecs'"], "such as \"5ms\""),
    ("[data]\nread_latency = {}", &["at least one quantile"], ""),
    ("[data]\nread_latency = { p50 = '5ms', p90 = '3ms' }", &["p90 = 3ms is below p50 = 5ms"], ""),
    ("[data]\nread_latency = { p50 = 5 }", &["data.read_latency.p50: a latency needs a unit"], ""),
    ("[data]\nread_latency = { p50 = '1ms', p050 = '2ms' }", &["the quantiles must rise"], ""),
    // Neighbours.
    ("[data]\nneighbour = { rates = [0.5], dwell = '1s' }", &["data.neighbour.rates: a neighbour has two rates"], ""),
    ("[data]\nneighbour = { rates = [0, 1], dwell = '1s' }", &["rate 0 must be a factor"], ""),
    ("[data]\nneighbour = { rates = [inf, 1], dwell = '1s' }", &["inf is not a finite number"], ""),
    ("[data]\nneighbour = { rates = [0.5, 1] }", &["'dwell' is missing"], ""),
    ("[data]\nneighbour = { rates = [0.5, 1], dwell = '1ns' }", &["dwell must be between 100ms and 30 days"], ""),
    ("[data]\nneighbour = { rates = [0.5, 1], dwell = ['1s'] }", &["one dwell for both rates"], ""),
    ("[data]\nneighbour = { low = 1.1, high = 0.9, step = 0.1, every = '1s' }", &["one step above low"], ""),
    ("[data]\nneighbour = {}", &["'rates' is missing"], ""),
    // Volumes.
    ("[data]\ndisks = 4\ncolumns = 5", &["mine.toml:3: data.columns: 5 columns need 5 disks, but there are 4"], ""),
    ("[data]\ndisks = 0", &["data.disks: 0 must be a whole number from 1 on"], ""),
    ("[data]\ndisks = 2.5", &["2.5 must be a whole number"], ""),
    ("[data]\ndisks = 100_000", &["100000 disks are more than 1000"], ""),
    ("[data]\ncolumns = 4", &["data.columns: means something only together with 'disks'"], ""),
    ("[data]\ndisks = 4\niops = 500", &["data.iops: 'iops' of each disk or of all together?"], "disk = { iops"),
    ("[data]\ndisks = 4\nlayout = 'spanned'", &["spanned disks need a size"], ""),
    ("[data]\ndisks = 4\nlayout = 'spanned'\ncolumns = 4", &["a spanned volume has no stripes"], ""),
    ("[data]\ndisks = 4\nstripe_unit = '65KiB'", &["must be a power of two"], ""),
    ("[data]\ndisks = 4\nstripe_unit = '1B'", &["must be a power of two from 512B"], ""),
    ("[data]\nlargest_io = '1B'", &["largest_io must be at least 512 bytes"], ""),
    ("[data]\niops = 5\n[data.blob]\nfile_size = '1B'\nTIERS", &["cannot have its own"], ""),
    ("[data.blob]\nfile_size = '3GiB'\nTIERS", &["the file is larger than the largest tier '2' holds"], ""),
    ("[data.blob]\nfile_size = '3GiB'\ntiers = []", &["at least one tier"], ""),
    ("[data.blob]\nTIERS", &["'file_size' is missing"], ""),
    // CPU and memory.
    ("[cpu]\ncores = 0\nstep_time = '1ns'", &["mine.toml:2: cpu.cores: cores = 0 must be between 0.001"], ""),
    ("[cpu]\ncores = inf\nstep_time = '1ns'", &["inf is not a finite number"], ""),
    ("[cpu]\ncores = 1e6\nstep_time = '1ns'", &["cores = 1000000 must be between"], ""),
    ("[cpu]\ncores = 1", &["'step_time' is missing, so the CPU would not be limited"], "leave [cpu] out"),
    ("[cpu]\nstep_time = 25", &["the time of a step needs a unit, such as 25ns"], ""),
    ("[cpu]\nstep_time = '0ns'", &["the time of a step must be more than 0"], ""),
    ("[cpu]\nstep_time = '1s'", &["at most 1ms"], ""),
    ("[cpu]\nstep_time = '1ns'\npage_time = '2s'", &["the time of a page must be at most 1s"], ""),
    ("memory = 0", &["mine.toml:1: memory: a size needs a unit, such as 64KiB"], ""),
    ("memory = '0MiB'", &["memory: must be more than 0"], ""),
    ("memory = '1B'", &["memory: must be between 64KiB and 1024TiB"], ""),
    ("memory = '999999999TiB'", &["is more than there is anywhere"], ""),
    ("page_size = '5KiB'", &["page_size: a page of 5120 bytes must be a power of two"], ""),
    ("page_size = '128KiB'", &["from 512 to 65536"], ""),
    ("name = ''", &["name: must not be empty"], ""),
    ("name = 5", &["expected a text in quotes, found an integer"], ""),
    // Not TOML at all, or another shape.
    ("data = 5", &["data: expected a table, found an integer"], ""),
    ("[[data]]", &["data: expected a table, found an array"], ""),
    ("name = 'x'\nname = 'y'", &["mine.toml:2: duplicate key"], ""),
    ("[data]\niops =\n", &["mine.toml:2: "], ""),
    ("[data\n", &["mine.toml:1: "], ""),
];

#[test]
fn each_says_where_and_what_and_what_would_be_right() {
    for (text, says, hint) in CASES {
        let error = error(&text.replace("TIERS", TIERS));
        let message = error.to_string();
        for part in *says {
            assert!(message.contains(part), "{text}\n  says: {message}\n  not:  {part}");
        }
        assert!(message.starts_with("mine.toml:"), "{text}\n  no place in: {message}");
        assert!(!message.contains('\n'), "{text}\n  more than one line: {message}");
        let seen = error.hint.unwrap_or_default();
        assert!(seen.contains(hint), "{text}\n  hints: {seen}\n  not:   {hint}");
    }
}

#[test]
fn a_specification_that_was_built_is_checked_too() {
    let behind = |cap: &str| DeviceSpec { caps: vec![cap.to_owned()], ..DeviceSpec::unlimited() };
    let caps = vec![Cap { name: "vm".to_owned(), scope: LimitScope::Vm, limits: Limits::default() }];
    let spec = Spec { caps: caps.clone(), ..Spec::unlimited("built") }.with(Role::Data, behind("vm1"));
    let error = spec.check().unwrap_err();
    assert_eq!(error.to_string(), "built: data.caps: unknown cap 'vm1'");
    assert!(error.hint.unwrap().contains("'vm'"));
    let good = Spec { caps, ..Spec::unlimited("built") }.with(Role::Data, behind("vm"));
    assert_eq!(good.check(), Ok(()));
    let says = |spec: Spec| spec.check().unwrap_err().to_string();
    let mut placed = good.clone();
    placed.placement.set("sales.ndf", "dta");
    assert_eq!(says(placed), "built: placement.sales.ndf: unknown device 'dta'");
    let of = LimitHolder::Cap("vm2".to_owned());
    let provenance = Provenance { scope: None, basis: LimitBasis::Given, source: String::new(), date: None };
    let origins = vec![Origin { holder: of, kind: None, provenance }];
    assert_eq!(says(Spec { origins, ..good.clone() }), "built: origins: unknown cap 'vm2'");
    let mut twice = good.clone();
    twice.devices.push(twice.devices[0].clone());
    assert_eq!(says(twice), "built: devices: device 'data' is there twice");
    let nothing = Spec { devices: Vec::new(), ..good };
    assert_eq!(says(nothing), "built: placement.data: unknown device 'data'");
    let error = Spec { page_bytes: 5_000, ..Spec::unlimited("built") }.check().unwrap_err();
    assert!(error.to_string().starts_with("built: page_size: "), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}", value in "\\PC{0,20}") {
        let _ = Spec::parse("any.toml", &text);
        for key in ["iops", "bandwidth", "read_latency", "size", "neighbour", "disks", "blob"] {
            let _ = Spec::parse("any.toml", &format!("[data]\n{key} = '{value}'"));
            let _ = Spec::parse("any.toml", &format!("[data]\n{key} = {value}"));
        }
    }
}
