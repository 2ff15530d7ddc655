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
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// Reads the text of `/proc/net/dev`. A line that can't be read is left out, as the two headings are.
pub fn parse(text: &str) -> Vec<InterfaceCounters> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<InterfaceCounters> {
    // The counters hold no colon, the name of an alias may; and a wide counter stands right behind it.
    let (name, counts) = line.rsplit_once(':')?;
    let counts: Vec<u64> = counts.split_ascii_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let received_bytes = *counts.first()?;
    let sent_bytes = *counts.get(8..12)?.first()?;
    let name = name.trim().to_owned();
    Some(InterfaceCounters { loopback: name == "lo", name, received_bytes, sent_bytes })
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
        assert_eq!((eth.received_bytes, eth.sent_bytes), (267_187_171, 369_931));
        assert_eq!((found[2].received_bytes, found[2].sent_bytes), (5, 6));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "([a-z]{1,4}|:| |\n|[0-9]{1,22}|-){0,60}") {
            let _ = parse(&text);
        }
    }
}
