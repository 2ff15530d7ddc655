//! Counters of block devices, from `/proc/diskstats`: the kernel's admin-guide/iostats and block/stat.
//!
//! A sector is 512 bytes here, whatever the device has. Times are 32 bits of milliseconds in the kernel and wrap after 49 days.

use super::fields::Fields;

const SECTOR_BYTES: u64 = 512;

/// The number of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber {
    /// Kind of device.
    pub major: u32,
    /// Which of them.
    pub minor: u32,
}

impl DeviceNumber {
    /// Reads `8:0`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// What was done at a device: whole disks, partitions, mapped and loop devices alike, so the same request may be counted at several.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskCounters {
    /// Its name, as in `/dev`.
    pub name: String,
    /// Its number.
    pub device: DeviceNumber,
    /// Reads that were done.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Sum of the times they took.
    pub read_seconds: Option<f64>,
    /// Writes that were done.
    pub writes: u64,
    /// Their bytes.
    pub write_bytes: u64,
    /// Sum of the times they took.
    pub write_seconds: Option<f64>,
    /// Time in which at least one request was open.
    pub busy_seconds: Option<f64>,
    /// Time weighted by the number of requests that were open.
    pub weighted_seconds: Option<f64>,
}

/// Reads the text of `/proc/diskstats`. A line that can't be read is left out.
pub fn parse(text: &str) -> Vec<DiskCounters> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<DiskCounters> {
    let mut fields = Fields::of(line);
    let device = DeviceNumber { major: fields.word()?.parse().ok()?, minor: fields.word()?.parse().ok()? };
    let name = fields.word()?.to_owned();
    let counts: Vec<u64> = fields.numbers().collect::<Option<_>>()?;
    let at = |position: usize| counts.get(position).copied();
    let seconds = |position: usize| at(position).map(|millis| millis as f64 / 1e3);
    let bytes = |position: usize| at(position)?.checked_mul(SECTOR_BYTES);
    // Partitions had four fields before 2.6.25: reads, their sectors, writes, theirs.
    let short = counts.len() == 4;
    let [reads, read_sectors, writes, write_sectors] = if short { [0, 1, 2, 3] } else { [0, 2, 4, 6] };
    let timed = |position: usize| seconds(position).filter(|_| !short);
    Some(DiskCounters {
        name,
        device,
        reads: at(reads)?,
        read_bytes: bytes(read_sectors)?,
        read_seconds: timed(3),
        writes: at(writes)?,
        write_bytes: bytes(write_sectors)?,
        write_seconds: timed(7),
        busy_seconds: timed(9),
        weighted_seconds: timed(10),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KERNEL_6: &str = "\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254       0 vda 3489471 98770 120496090 9939149 2515562 1081918 340534064 4339432 3 1244628 15165912 386921 68 287114760 362758 651120 524570
 254       1 vda1 3489000 98770 120490000 9939000 2515500 1081918 340534000 4339400 0 1244600 15165000
";
    /// 4.18 counts discards, 2.6.18 has short lines for partitions.
    const OLDER: &str = "\
   8       0 sda 100 5 2048 70 50 2 4096 130 0 150 200 7 0 16 1
   8       1 sda1 90 2000 40 4000
";

    #[test]
    fn counts_are_bytes_and_seconds() {
        let disks = parse(KERNEL_6);
        assert_eq!(disks.len(), 3);
        let vda = &disks[1];
        assert_eq!((vda.name.as_str(), vda.device.to_string()), ("vda", "254:0".to_owned()));
        assert_eq!((vda.reads, vda.read_bytes, vda.read_seconds), (3_489_471, 120_496_090 * 512, Some(9939.149)));
        assert_eq!((vda.writes, vda.write_bytes, vda.write_seconds), (2_515_562, 340_534_064 * 512, Some(4339.432)));
        assert_eq!((vda.busy_seconds, vda.weighted_seconds), (Some(1244.628), Some(15165.912)));
    }

    #[test]
    fn what_old_kernels_do_not_count_is_absent() {
        let disks = parse(OLDER);
        assert_eq!(disks[0].busy_seconds, Some(0.15));
        let part = &disks[1];
        assert_eq!((part.reads, part.read_bytes, part.writes, part.write_bytes), (90, 2000 * 512, 40, 4000 * 512));
        assert_eq!((part.read_seconds, part.write_seconds, part.busy_seconds), (None, None, None));
    }

    #[test]
    fn lines_that_can_not_be_read_are_left_out() {
        let text = format!(
            "8 0\n8 0 sda\n8 0 sda 1 2 3\nx 0 sda 1 2 3 4\n8 1 sdb 1 0 {} 0 1 0 1 0\n8 2 sdc 1 2 3 4 5 6 7 8",
            u64::MAX
        );
        let disks = parse(&text);
        assert_eq!(disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>(), ["sdc"]);
        assert_eq!(disks[0].busy_seconds, None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "([a-z]{1,3}| |\n|[0-9]{1,22}|-){0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_counts_are_read_without_harm(counts in proptest::collection::vec(any::<u64>(), 0..20)) {
            let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
            let disks = parse(&format!("8 0 sda {}", counts.join(" ")));
            prop_assert!(disks.len() <= 1);
        }
    }
}
