//! Counters of network interfaces, from `/proc/net/dev`: proc(5).

/// What went through an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceCounters {
    /// Its name.
    pub name: String,
    /// True for the one that leads back to this machine.
    pub loopback: bool,
    /// Bytes received.
    pub received_bytes: u64,
    /// Packets received.
    pub received_packets: u64,
    /// Packets that arrived broken.
    pub received_errors: u64,
    /// Packets that arrived and were thrown away.
    pub received_drops: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets that could not be sent.
    pub sent_errors: u64,
    /// Packets that were thrown away instead of sent.
    pub sent_drops: u64,
    /// What the link can do in each direction, where the driver says it; those of virtual machines rarely do.
    pub link_bits_per_second: Option<u64>,
}

/// Reads the text of `/proc/net/dev`. A line that can't be read is left out, as the two headings are.
pub fn parse(text: &str) -> Vec<InterfaceCounters> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<InterfaceCounters> {
    // The counters hold no colon, the name of an alias may; and a wide counter stands right behind it.
    let (name, counts) = line.rsplit_once(':')?;
    let counts: Vec<u64> = counts.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [received_bytes, received_packets, received_errors, received_drops, ..] = counts[..] else { return None };
    let [sent_bytes, sent_packets, sent_errors, sent_drops, ..] = *counts.get(8..)? else { return None };
    let name = name.trim().to_owned();
    Some(InterfaceCounters {
        loopback: name == "lo",
        name,
        received_bytes,
        received_packets,
        received_errors,
        received_drops,
        sent_bytes,
        sent_packets,
        sent_errors,
        sent_drops,
        link_bits_per_second: None,
    })
}

/// Reads the text of `/sys/class/net/NAME/speed`, in megabits; -1 where the link is down or has no speed.
pub fn parse_speed(text: &str) -> Option<u64> {
    let megabits: u64 = text.trim().parse().ok()?;
    // Some drivers say "unknown" as the largest number of 32 bits.
    (megabits > 0 && megabits < u64::from(u32::MAX)).then(|| megabits * 1_000_000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 11018422166 2539973    0    0    0     0          0         0 11018422166 2539973    0    0    0     0       0          0
  eth0:267187171    7302    1    2    0     0          0         0   369931    4005    3    4    0     0       0          0
eth0:1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0
";

    #[test]
    fn interfaces_are_read_and_the_loopback_is_known() {
        let found = parse(TEXT);
        let names: Vec<(&str, bool)> = found.iter().map(|i| (i.name.as_str(), i.loopback)).collect();
        assert_eq!(names, [("lo", true), ("eth0", false), ("eth0:1", false)]);
        let eth = &found[1];
        assert_eq!(
            (eth.received_bytes, eth.received_packets, eth.received_errors, eth.received_drops),
            (267_187_171, 7302, 1, 2)
        );
        assert_eq!((eth.sent_bytes, eth.sent_packets, eth.sent_errors, eth.sent_drops), (369_931, 4005, 3, 4));
        assert_eq!((found[2].received_bytes, found[2].sent_bytes), (5, 6));
    }

    #[test]
    fn an_unknown_speed_is_absent() {
        assert_eq!(parse_speed("10000\n"), Some(10_000_000_000));
        for text in ["-1\n", "0", "", "4294967295", "fast"] {
            assert_eq!(parse_speed(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "([a-z]{1,4}|:| |\n|[0-9]{1,22}|-){0,60}") {
            let _ = (parse(&text), parse_speed(&text));
        }
    }
}
