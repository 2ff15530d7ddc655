//! How often pages are found in another memory. A run shows one point of that curve. The rest is bounded by what every such curve has: it
//! never falls, it rises ever less (the first page of memory serves the most), and it is 1 where all data fits.

use plimsoll_measurement::RunRecord;

/// Where the share of lookups lies that find their page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hits {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

/// The hits in memory of `to` bytes, where a share `hits` was seen in `from` bytes. `data` is how large all data is, where that is known.
/// `None` for a memory means that it has no limit. If all pages are alike, the lower bound upwards and the upper bound downwards are exact.
pub fn hits_in(hits: f64, from: Option<f64>, to: Option<f64>, data: Option<f64>, all_alike: bool) -> Hits {
    let hits = hits.clamp(0.0, 1.0);
    // More memory than data is as much as data.
    let cut = |memory: Option<f64>| match (memory, data) {
        (Some(memory), Some(data)) => Some(memory.min(data)),
        (memory, data) => memory.or(data),
    };
    let (Some(from), Some(to)) = (cut(from), cut(to)) else {
        // Without a limit on either side and no size of the data: as before, or up to all.
        let is_same = from.is_none() && to.is_none();
        return Hits { low: hits, high: if is_same { hits } else { 1.0 } };
    };
    if (to - from).abs() <= f64::EPSILON * from {
        return Hits { low: hits, high: hits };
    }
    let through_origin = (hits * to / from).clamp(0.0, 1.0);
    // The straight line to where all data fits.
    let chord = data.filter(|data| *data > from).map(|data| {
        let more = (1.0 - hits) * (to - from) / (data - from);
        (hits + more).clamp(0.0, 1.0)
    });
    let (low, high) =
        if to > from { (chord.unwrap_or(hits), through_origin) } else { (through_origin, chord.unwrap_or(hits)) };
    match chord {
        Some(exact) if all_alike => Hits { low: exact, high: exact },
        _ => Hits { low: low.min(high), high: high.max(low) },
    }
}

/// Requests of built-in tests that read ranges by an index.
const RANGES: [&str; 1] = ["indirect-select"];

/// Whether requests choose all rows alike, as the definition and the parameters say.
pub fn is_all_alike(record: &RunRecord) -> bool {
    let definition = record.definition.text.parse::<toml::Table>().unwrap_or_default();
    let Some(requests) = definition.get("request").and_then(toml::Value::as_array) else {
        let is_uniform = record.parameters.get("keys").and_then(serde_json::Value::as_str) == Some("uniform");
        let kinds = definition.get("mix").and_then(toml::Value::as_table);
        return is_uniform && !kinds.is_some_and(|kinds| kinds.keys().any(|kind| RANGES.contains(&kind.as_str())));
    };
    let parameters = |request: &toml::Value| request.get("parameters").and_then(toml::Value::as_table).cloned();
    let is_alike = |value: &toml::Value| {
        // Who reads a range from a row on (`plus`) finds its pages by an index, whose pages are read more often than those of the rows.
        value.as_table().is_some_and(|one| ["uniform", "text"].iter().any(|known| one.contains_key(*known)))
    };
    // One kind of requests on one table: two kinds choose among other rows.
    let one =
        |request: &toml::Value| parameters(request).is_some_and(|all| !all.is_empty() && all.values().all(is_alike));
    requests.iter().all(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_lies_between_two_lines() {
        // 80 % found in 100 of 300: in 200 at least half of the rest more, at most all.
        let up = hits_in(0.8, Some(100.0), Some(200.0), Some(300.0), false);
        assert!((up.low - 0.9).abs() < 1e-12 && (up.high - 1.0).abs() < 1e-12, "{up:?}");
        let down = hits_in(0.8, Some(100.0), Some(50.0), Some(300.0), false);
        assert!((down.low - 0.4).abs() < 1e-12 && (down.high - 0.75).abs() < 1e-12, "{down:?}");
        let exact = hits_in(0.8, Some(100.0), Some(50.0), Some(300.0), true);
        assert!((exact.low - 0.75).abs() < 1e-12 && exact.low.to_bits() == exact.high.to_bits(), "{exact:?}");
    }

    #[test]
    fn rows_of_a_range_are_not_all_alike() {
        let of = |text: &str| {
            let definition = plimsoll_measurement::Definition { text: text.to_owned(), ..Default::default() };
            let parameters = [("keys".to_owned(), "uniform".into())].into();
            is_all_alike(&RunRecord { definition, parameters, ..RunRecord::default() })
        };
        assert!(of("[mix]\nupdate = 1") && !of("[mix]\nupdate = 1\nindirect-select = 1"));
        let request = "[[request]]\nparameters = { one = { uniform = 9 }, other = { plus = [\"one\", 9] } }";
        assert!(of("[[request]]\nparameters = { one = { uniform = 9 } }") && !of(request));
    }

    #[test]
    fn what_fits_is_found_and_the_same_memory_finds_the_same() {
        assert_eq!(hits_in(0.8, Some(100.0), Some(400.0), Some(300.0), false).low.to_bits(), 1.0_f64.to_bits());
        assert_eq!(hits_in(0.8, Some(100.0), Some(100.0), None, false), Hits { low: 0.8, high: 0.8 });
        assert_eq!(hits_in(0.8, None, None, None, false), Hits { low: 0.8, high: 0.8 });
        assert_eq!(hits_in(0.8, Some(100.0), None, None, false), Hits { low: 0.8, high: 1.0 });
    }
}
