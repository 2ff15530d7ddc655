//! Files as other programs write them, read and refused.

use super::*;

const UNIT: u64 = 256 << 10;

fn disks(text: &str) -> Disks {
    match read(text.as_bytes(), UNIT) {
        Ok(Source::Disks(disks)) => disks,
        other => panic!("{other:?}"),
    }
}

fn said(text: &str) -> String {
    read(text.as_bytes(), UNIT).unwrap_err().to_string()
}

fn rates(demand: &crate::demand::Demand) -> Vec<Option<f64>> {
    demand.intervals.iter().map(|interval| interval.rate).collect()
}

const PERFMON: &str = "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"\\\\H1\\LogicalDisk(D:)\\Disk Reads/sec\",\
     \"\\\\H1\\LogicalDisk(D:)\\Disk Writes/sec\",\"\\\\H1\\LogicalDisk(D:)\\Disk Read Bytes/sec\",\
     \"\\\\H1\\LogicalDisk(D:)\\Disk Write Bytes/sec\",\"\\\\H1\\LogicalDisk(D:)\\Avg. Disk sec/Read\",\
     \"\\\\H1\\LogicalDisk(_Total)\\Disk Reads/sec\",\"\\\\H1\\LogicalDisk(E:)\\Disk Transfers/sec\",\
     \"\\\\H1\\PhysicalDisk(0 D:)\\Disk Reads/sec\",\"\\\\H1\\LogicalDisk(F:)\\Disk Transfers/sec\"\n\
     \"11/28/2026 23:59:58.500\",\" \",\" \",\" \",\" \",\" \",\" \",\" \",\" \",\" \"\n\
     \"11/28/2026 23:59:59.500\",\"100.5\",\"20\",\"823296\",\"20971520\",\"0.004\",\"7\",\"3\",\"1\",\"0\"\n\
     \"11/29/2026 00:00:03.500\",\"400\",\"0\",\"3276800\",\"0\",\"0.014\",\"7\",\" \",\"1\",\"0\"\n";

#[test]
fn counters_of_windows_are_means_since_the_row_before() {
    for text in [PERFMON.to_owned(), PERFMON.replace("\",\"", "\";\"").replace("0.0", "0,0").replace("100.5", "100,5")]
    {
        let found = disks(&text);
        let names: Vec<&str> = found.disks.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!((found.program.as_str(), names), ("PerfMon", vec!["D:", "E:"]), "F: did nothing");
        assert!(found.remarks[0].contains("the volumes count"), "{:?}", found.remarks);
        let d = &found.disks[0];
        // 20 MB in 20 writes are counted as 80 of 256 KB.
        assert_eq!(rates(&d.iops), [Some(180.5), Some(400.0)]);
        assert_eq!(rates(&d.mb_per_s)[0], Some((823_296.0 + 20_971_520.0) / f64::from(1 << 20)));
        let times: Vec<(f64, f64)> = d.iops.intervals.iter().map(|one| (one.start_s, one.seconds)).collect();
        assert_eq!(times, [(0.0, 1.0), (1.0, 4.0)], "midnight is an hour like others");
        // 100.5 reads of 4 ms and 1,600 of 14.
        assert!((d.read_ms.unwrap() - (100.5 * 4.0 + 1600.0 * 14.0) / 1700.5).abs() < 1e-9);
        let e = &found.disks[1];
        assert_eq!((rates(&e.iops), e.are_sizes_known), (vec![Some(3.0), None], false));
        assert_eq!(e.iops.coverage_percent(), Some(20.0));
    }
}

#[test]
fn windows_own_encoding_is_read() {
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(PERFMON.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(read(&wide, UNIT), read(PERFMON.as_bytes(), UNIT));
}

const IOSTAT: &str = "Linux 6.1.0 (h1) \t11/28/26 \t_x86_64_\t(2 CPU)\n\n\
     avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1,00    0,00    1,00    0,00    0,00   98,00\n\n\
     Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s w_await  %util\n\
     sda             999,00   999,00     0,00   0,00    9,00    24,00   99,00     99,00    9,00   9,00\n\
     loop0             0,00     0,00     0,00   0,00    0,00     0,00    0,00      0,00    0,00   0,00\n\n\n\
     avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1,00    0,00    1,00    0,00    0,00   98,00\n\n\
     Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s w_await  %util\n\
     sda              10,00  2048,00     0,00   0,00    2,00   204,80   30,00  51200,00    8,00  50,00\n\
     loop0             0,00     0,00     0,00   0,00    0,00     0,00    0,00      0,00    0,00   0,00\n\n";

#[test]
fn reports_of_iostat_are_read_as_text_and_as_json() {
    let json = r#"{"sysstat": {"hosts": [{"nodename": "h1", "statistics": [
        {"disk": [{"disk_device": "sda", "r/s": 999.0, "w/s": 99.0, "rkB/s": 1.0, "wkB/s": 1.0, "r_await": 9.0, "w_await": 9.0}]},
        {"disk": [{"disk_device": "sda", "r/s": 10.0, "w/s": 30.0, "rkB/s": 2048.0, "wkB/s": 51200.0, "r_await": 2.0, "w_await": 8.0},
                  {"disk_device": "loop0", "r/s": 0.0, "w/s": 0.0}]}]}]}}"#;
    for text in [IOSTAT, json] {
        let found = disks(text);
        assert_eq!((found.program.as_str(), found.disks.len()), ("iostat", 1));
        let sda = &found.disks[0];
        // 50 MB in 30 writes are counted as 200; 2 MB in 10 reads are 10, and no fewer.
        assert_eq!((rates(&sda.iops), rates(&sda.mb_per_s)), (vec![Some(210.0)], vec![Some(52.0)]));
        assert_eq!((sda.read_ms, sda.write_ms, sda.kind), (Some(2.0), Some(8.0), None));
        assert!(found.remarks[0].starts_with("The first report is left out"), "{:?}", found.remarks);
    }
    // Older versions: sectors, one time for both.
    let old = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n\
               sda               0.00     1.00    1.00    2.00     8.00    16.00     8.00     0.00    3.00   1.00   1.00\n\n";
    let sda = disks(&old.repeat(3)).disks.remove(0);
    assert_eq!((rates(&sda.iops), sda.read_ms), (vec![Some(3.0); 2], Some(3.0)));
    assert_eq!(rates(&sda.mb_per_s)[0], Some(24.0 * 512.0 / f64::from(1 << 20)));
}

#[test]
fn what_can_not_be_read_is_named_with_its_line() {
    let row = |from: &str, to: &str| said(&PERFMON.replace(from, to));
    assert_eq!(row("100.5", "many"), "line 3: \\\\H1\\LogicalDisk(D:)\\Disk Reads/sec 'many' is no number");
    assert_eq!(row("100.5", "-3"), "line 3: \\\\H1\\LogicalDisk(D:)\\Disk Reads/sec '-3' is not from 0 to 1e18");
    assert_eq!(
        row("11/29/2026", "29.11.2026"),
        "line 4: '29.11.2026 00:00:03.500' is no time such as 11/28/2026 09:15:00.000"
    );
    let lines: Vec<&str> = PERFMON.lines().collect();
    assert!(said(&lines[..2].join("\n")).contains("an interval lies between two"));
    let others = "\"(PDH-CSV 4.0) (x)(0)\",\"\\\\H1\\Memory\\Available MBytes\"\n\"11/28/2026 10:00:00.000\",\"1\"\n";
    assert!(said(others).starts_with("line 1: it has no counter of a disk by its English name"), "{}", said(others));
    let back = PERFMON.replace("11/29/2026 00:00:03.500", "11/28/2026 23:59:59.500");
    assert!(disks(&back).remarks.iter().any(|remark| remark.ends_with("left out: 1.")));
    let first: String = IOSTAT.lines().take(9).fold(String::new(), |text, line| text + line + "\n");
    assert!(said(&first).contains("'iostat -x 1 30' makes 29"), "{}", said(&first));
    assert_eq!(said(&IOSTAT.replace("51200,00", "x")), "line 15: wkB/s 'x' is no number");
    assert_eq!(said(&IOSTAT.replace("51200,00", "")), "line 15: a disk has 10 values, and the header 11");
    assert!(said("{\"a\": 1}").contains("it has no sysstat.hosts"));
    assert!(said("{\"sysstat\": {\"hosts\": [").starts_with("line 1: it is no whole JSON"));
    assert!(
        said(&IOSTAT.replace("10,00  2048,00", "0,00  0,00").replace("30,00  51200,00", "0,00  0,00"))
            .contains("no disk did anything")
    );
}

#[test]
fn disks_of_two_machines_are_two_and_lines_are_those_of_the_file() {
    let two = "\"(PDH-CSV 4.0) (x)(0)\",\"\\\\A\\LogicalDisk(D:)\\Disk Transfers/sec\",\"\\\\B\\LogicalDisk(D:)\\Disk Transfers/sec\"\n\
               \"11/28/2026 10:00:00.000\",\"1\",\"1\"\n\"11/28/2026 10:00:01.000\",\"200\",\"500\"\n";
    let found = disks(two);
    let seen: Vec<(&str, Option<f64>)> =
        found.disks.iter().map(|disk| (disk.name.as_str(), disk.iops.highest())).collect();
    assert_eq!(seen, [("A D:", Some(200.0)), ("B D:", Some(500.0))]);
    // typeperf begins with an empty line.
    assert_eq!(disks(&format!("\n{two}")), found);
    let wrong = format!("\n{}", two.replace("\"500\"", "\"x\""));
    assert!(said(&wrong).starts_with("line 4: "), "{}", said(&wrong));
}

/// A disk that is at its limit for some minutes of hours is so, whatever its times are on average.
#[test]
fn intervals_of_a_slow_disk_are_counted() {
    let found = disks(&PERFMON.replace("\"0.014\"", "\"0.060\""));
    assert_eq!(found.disks.iter().map(|disk| disk.slow).collect::<Vec<_>>(), [1, 0]);
    let idle = PERFMON.replace("\"400\",\"0\",\"3276800\",\"0\",\"0.014\"", "\"0\",\"0\",\"0\",\"0\",\"0.060\"");
    assert_eq!(disks(&idle).disks[0].slow, 0, "nothing was read then");
}

#[test]
fn other_reports_of_iostat_are_named_as_such() {
    for text in [
        "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\nsda 1 2 3 4 5 6 7\n",
        "  r/s     rkB/s  %util Device\n 1 2.0k 3 sda\n",
    ] {
        assert!(said(text).contains("take 'iostat -x', without -s and -h"), "{}", said(text));
    }
}

#[test]
fn names_drive_no_terminal() {
    let Ok(Source::Files(list)) = read(b"database,file,type,size_gb\n\"d\x1b[8m\",f,data,1\n", UNIT) else { panic!() };
    assert_eq!(list.files[0].database, "d\u{fffd}[8m");
    assert_eq!(disks(&IOSTAT.replace("sda", "s\u{1b}[31m")).disks[0].name, "s\u{fffd}[31m");
}

/// Volumes of several GB a second, and logs that were appended to: each run of iostat begins with a report of its own.
#[test]
fn large_rates_and_appended_logs_are_read() {
    let large = disks(&PERFMON.replace("\"3276800\"", "\"8589934592.5\""));
    assert!(large.disks[0].mb_per_s.highest() > Some(8191.0));
    let twice = format!("{IOSTAT}{IOSTAT}");
    assert_eq!(rates(&disks(&twice).disks[0].iops), [Some(210.0); 2], "the second run's first report is no interval");
}
