//! Files of fio and of SQLIO as suites.

use plimsoll_measurement::{Access, Offsets, Operation, SyncMode};

use super::*;
use crate::plan::Suite;

fn nothing(_: &str) -> Option<String> {
    None
}

fn read(file: &str, text: &str, beside: &dyn Fn(&str) -> Option<String>) -> (Suite, Vec<String>) {
    let made = translate(file, text, beside).unwrap();
    (crate::suite::parse(file, &made.text).unwrap(), made.left_out)
}

#[test]
fn a_job_file_of_fio_is_a_suite() {
    let text = "; a comment\n[global]\nioengine=libaio\ndirect=1\nsize=2G\nruntime=1m\nbs=8k\nfilename=/mnt/x\n\
                [random reads]\nrw=randread\niodepth=32\nnumjobs=4 # copies\n\
                [mix]\nstonewall\nrw=randrw\nrwmixread=70\nrate_iops=500\nrate_process=poisson\nramp_time=5s\nzonemode=zbd\n\
                [log]\nstonewall\nrw=write\nbs=64KiB\nfdatasync=1\n";
    let (suite, left_out) = read("/etc/My jobs.fio", text, &nothing);
    assert_eq!((suite.name.as_str(), suite.file_bytes, suite.cells.len()), ("fio-my-jobs", 2 << 30, 3));
    let [reads, mix, log] = suite.cells.as_slice() else { panic!() };
    assert_eq!((reads.cell.label.as_str(), reads.cell.threads, reads.cell.queue_depth), ("random reads", 4, 32));
    assert!(reads.cell.operation == Operation::Read && reads.cell.access == Access::Random);
    assert!(reads.cell.offsets == Offsets::Shared);
    assert_eq!((reads.duration.as_secs(), reads.cell.block_bytes), (60, 8192));
    // A rate that is given alone is that of reads and that of writes.
    assert_eq!((mix.cell.read_percent, mix.rate_per_s, mix.warm_up.as_secs()), (50, Some(1000.0), 5));
    assert!(log.cell.sync == SyncMode::Fdatasync && log.cell.access == Access::Sequential);
    assert_eq!(log.cell.block_bytes, 65_536);
    assert_eq!(
        left_out,
        [
            "filename and directory are not used: the test has a file of its own in the folder that is named",
            "line 20: zonemode is not understood",
        ]
    );
}

#[test]
fn a_job_has_as_many_under_way_as_its_engine_makes() {
    let text = |keys: &str| format!("[a]\nsize=1m\nruntime=1\ndirect=1\nrw=read\nbs=4k\niodepth=8\n{keys}\n");
    let depth = |keys: &str| {
        let (suite, left_out) = read("a.fio", &text(keys), &nothing);
        (suite.cells[0].cell.queue_depth, left_out.iter().any(|said| said.contains("one operation under way")))
    };
    assert_eq!(
        (depth("ioengine=io_uring"), depth("ioengine=pvsync2"), depth("thread")),
        ((8, false), (1, true), (1, true))
    );
    let (suite, left_out) = read("a.fio", &text("ioengine=libaio\nblocksize=64k\niodepth_low=2"), &nothing);
    assert_eq!(suite.cells[0].cell.block_bytes, 64 << 10, "the last of two names counts");
    assert_eq!(left_out, ["line 10: iodepth_low is not understood"]);
}

#[test]
fn a_job_has_the_size_of_its_reads_or_writes() {
    let text = |keys: &str| format!("[a]\nsize=1m\nruntime=1\n{keys}\n");
    let block = |keys: &str| read("a.fio", &text(keys), &nothing).0.cells[0].cell.block_bytes;
    assert_eq!((block("rw=write\nbs=4k,64k"), block("rw=read\nbs=4k,64k")), (64 << 10, 4 << 10));
    assert_eq!(
        (block("rw=write\nbs=,16k,"), block("rw=read\nbs=,16k"), block("rw=write\nbs=8k,")),
        (16384, 4096, 4096)
    );
    assert_eq!((block("rw=randrw\nbs=8k,8k,1m"), block("rw=rw\nbs=8k")), (8192, 8192));
    let error = translate("a.fio", &text("rw=randrw\nbs=4k,64k"), &nothing).unwrap_err();
    assert!(error.starts_with("a.fio:5: bs = 4k,64k: reads and writes of one job have one size here"), "{error}");
    assert!(translate("a.fio", &text("rw=read\nbs=4k,big"), &nothing).unwrap_err().starts_with("a.fio:5: bs = 4k,big"));
}

#[test]
fn what_is_left_out_of_a_file_stands_in_its_suite() {
    let text = "[a]\nsize=1m\nruntime=1\ndirect=1\nrw=read\nthinktime=1000\nodd\"key\\\t=1\n";
    let (suite, left_out) = read("a.fio", text, &nothing);
    assert!(left_out.iter().any(|line| line == "line 6: thinktime is not understood"), "{left_out:?}");
    assert_eq!((suite.left_out, left_out.len()), (left_out.clone(), 2));
}

#[test]
fn rates_and_times_of_fio_are_kept() {
    let cell = |more: &str| {
        let text = format!("[a]\nsize=1m\nrw=randrw\nnumjobs=2\n{more}\n");
        let plan = read("a.fio", &text, &nothing).0.cells.remove(0);
        (plan.rate_per_s, plan.cell.read_percent, plan.duration.as_millis())
    };
    assert_eq!(cell("runtime=1500ms\nrate_iops=300,100"), (Some(800.0), 75, 1500));
    assert_eq!(cell("runtime=2\nrate_iops=100\nrwmixread=70"), (Some(400.0), 50, 2000));
    assert_eq!(cell("runtime=2\nrate_iops=100\nrw=randread"), (Some(200.0), 100, 2000));
    assert_eq!(cell("runtime=2\nrate_iops=100,7\nrw=write"), (Some(14.0), 0, 2000));
}

/// -BN and -BS write through, -BH and -BY leave a write in the disk's cache.
#[test]
fn writes_of_sqlio_are_durable_as_its_buffering_says() {
    let is = |buffering: &str, expected: SyncMode, notes: usize| {
        let (suite, left_out) = read("run.cmd", &format!("sqlio -kW -s9 -frandom -b8 {buffering}\n"), &nothing);
        assert!(suite.cells[0].cell.sync == expected && left_out.len() == notes, "{buffering}: {left_out:?}");
    };
    is("", SyncMode::ODsync, 0);
    is("-BN", SyncMode::ODsync, 0);
    is("-BH", SyncMode::None, 0);
    is("-BS", SyncMode::ODsync, 1);
    is("-BY", SyncMode::None, 1);
}

#[test]
fn jobs_that_run_together_in_fio_are_told() {
    let (suite, left_out) = read("a.fio", "[a]\nsize=1m\nruntime=9\n[b]\nsize=1m\nruntime=9\nnumjobs=3\n", &nothing);
    assert_eq!(suite.file_bytes, 3 << 20);
    assert!(suite.cells[1].cell.offsets == Offsets::Own);
    assert!(left_out.iter().any(|line| line.contains("run one after another here, and together in fio")));
    assert!(left_out.iter().any(|line| line.contains("'a' goes through the page cache in fio")));
}

/// Each job has the keys of `[global]` once more: what is too much is refused before that is made.
#[test]
fn more_jobs_and_keys_than_a_suite_has_are_refused_at_once() {
    let problem = |name: &str, text: &str| translate(name, text, &nothing).map(drop).unwrap_err();
    let keys: Vec<_> = (0..5000).map(|number| format!("k{number}=v")).collect();
    let many = format!("[global]\n{}\n{}", keys.join("\n"), "[j]\n".repeat(50_000));
    assert_eq!(problem("a.fio", &many), "a.fio:502: a section has more than 500 keys");
    assert_eq!(
        problem("a.fio", &"[j]\n".repeat(900_000)),
        "a.fio:401: more than 400 jobs are more than a suite may have"
    );
    let calls = "sqlio -kR -s1 -frandom -o8 -b8 x.dat\n".repeat(200_000);
    assert_eq!(problem("a.cmd", &calls), "a.cmd:401: more than 400 calls are more than a suite may have");
}

#[test]
fn what_is_wrong_in_a_job_file_is_told_with_its_line() {
    for (text, problem) in [
        ("", "a.fio:1: there is no job"),
        ("rw=read\n", "a.fio:1: 'rw=read' stands in front of the first section"),
        ("[a\n", "a.fio:1: '[a' is no name of a section"),
        ("[a]\nrw=trim\nsize=1m\n", "a.fio:2: rw = trim is none of"),
        ("[a]\nsize=big\n", "a.fio:2: size = big is no size"),
        ("[a]\nsize=1m\nbs=0\n", "a.fio:3: bs = 0 is no size"),
        ("[a]\nsize=1m\niodepth=-1\n", "a.fio:3: iodepth = -1 is no whole number"),
        ("[a]\nsize=1m\nruntime=soon\n", "a.fio:3: runtime = soon is no time"),
        ("[a]\nrw=read\n", "a.fio:1: job 'a' has no size"),
        ("[a]\nsize=1m\nrate_iops=x\n", "a.fio:3: rate_iops = x is no whole number"),
    ] {
        let error = translate("a.fio", text, &nothing).unwrap_err();
        assert!(error.starts_with(problem), "{problem}: {error}");
    }
    // What fio takes and no device of ours does is refused where suites are read.
    let odd = translate("a.fio", "[a]\nsize=1m\nnumjobs=100000\nruntime=1\n", &nothing).unwrap();
    assert!(crate::suite::parse("a.fio", &odd.text).is_err());
}

const SCRIPT: &str = "@echo off\r\nrem sqlio -kW -s300 -frandom -o32 -b32 -LS -Fparam-60GB.txt\r\n\
    sqlio -kW -s300 -frandom -o32 -b8 -LS -Fparam-60GB.txt >> log.txt\r\n\
    sqlio -kR -s300 -frandom -o32 -b8 -LS -Fparam-60GB.txt >> log.txt\r\n\
    C:\\tools\\SQLIO.exe -kW -s180 -fsequential -o8 -b64 -LS -Fparam-60GB.txt\r\n\
    sqlio -kR -s180 -fsequential -o8 -b256 -LS -BY -a0x3 -Fparam-60GB.txt\r\n\
    sqlio -kW -s180 -fsequential -o8 -b64 -LS -Fparam-60GB.txt\r\n";

fn parameters(name: &str) -> Option<String> {
    let text = "#c:\\testfile.dat 2 0x0 100\r\n#d:\\testfile.dat 2 0x0 100\r\ne:\\testfile.dat 32 0x0 65536\r\n";
    (name == "param-60GB.txt").then(|| text.to_owned())
}

#[test]
fn a_script_of_sqlio_with_its_parameter_file_is_a_suite() {
    let (suite, left_out) = read("run.cmd", SCRIPT, &parameters);
    assert_eq!((suite.name.as_str(), suite.file_bytes), ("sqlio-run", 64 << 30));
    let labels: Vec<&str> = suite.cells.iter().map(|plan| plan.cell.label.as_str()).collect();
    assert_eq!(labels, ["OW", "OR", "SW", "LR", "LW"]);
    let first = &suite.cells[0];
    assert_eq!((first.cell.threads, first.cell.queue_depth, first.cell.block_bytes), (32, 32, 8192));
    assert!(first.cell.sync == SyncMode::ODsync && first.duration.as_secs() == 300);
    assert_eq!(
        left_out,
        ["line 6: -BY takes the system's cache: --buffered does so here", "line 6: -a is not understood"]
    );
}

#[test]
fn what_is_wrong_in_a_script_is_told_with_its_line() {
    for (text, problem) in [
        ("echo hello\n", "run.cmd:1: no line of this file calls sqlio"),
        ("sqlio -s30 -Fparam-60GB.txt\n", "run.cmd:1: this call says neither -kR nor -kW"),
        ("sqlio -kR -sX\n", "run.cmd:1: '-sX' has no seconds"),
        ("\nsqlio -kR -Fother.txt\n", "run.cmd:2: the parameter file other.txt can't be read"),
    ] {
        let error = translate("run.cmd", text, &parameters).unwrap_err();
        assert!(error.starts_with(problem), "{problem}: {error}");
    }
    for (text, problem) in
        [("# nothing\n", "has no line"), ("e:\\x 0 0x0 5\n", "no number of threads"), ("x\n", "four parts")]
    {
        let beside = |_: &str| Some(text.to_owned());
        let error = translate("run.cmd", "sqlio -kR -Fp.txt\n", &beside).unwrap_err();
        assert!(error.contains(problem), "{problem}: {error}");
    }
}
