//! Time lost for want of I/O, from `/proc/pressure/io` (the kernel's accounting/psi).

/// Reads the text of `/proc/pressure/io`: seconds in which all threads that had something to do waited, cumulative.
pub fn parse(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("full "))?;
    let micros: u64 = line.split_ascii_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()?;
    Some(micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stalls_are_seconds() {
        let text = "some avg10=0.12 avg60=0.05 avg300=0.01 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n";
        assert_eq!(parse(text), Some(0.25));
        for text in ["", "full", "full total=x", "some avg10=0.00 total=5", "fuller total=5"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "(some |full |total=| |\n|[0-9]{1,22}|-){0,40}") {
            let _ = parse(&text);
        }
    }
}
