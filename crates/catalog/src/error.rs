//! What can be wrong with a catalogue's text or with a question to it.

/// Similarity (Jaro-Winkler, 0 to 1) from which on a name is offered as the one that was meant.
const SIMILAR: f64 = 0.7;

/// Why a catalogue could not be read, or why something is not in it. Cheap to clone: the built-in one is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The text breaks a rule.
    #[error("{file}:{line}: {problem}")]
    Invalid {
        /// Name of the file, as given.
        file: String,
        /// Line, from 1: of the key, or of the header of the level or figure that is wrong.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// No edition of such a service.
    #[error("unknown service '{name}'; known services: {}{}", .known.join(", "), hint(.name, .known))]
    UnknownService {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The service has no such edition.
    #[error(
        "unknown edition '{name}' of service '{service}'; known editions: {}{}",
        .known.join(", "), hint(.name, .known)
    )]
    UnknownEdition {
        /// The service.
        service: String,
        /// What was asked for.
        name: String,
        /// What there is, oldest first.
        known: Vec<String>,
    },
    /// No edition of the service has such a level.
    #[error(
        "unknown level '{name}' of service '{service}'; known levels: {}{}",
        listed(.known), hint(.name, .known)
    )]
    UnknownLevel {
        /// The service.
        service: String,
        /// What was asked for.
        name: String,
        /// What there is in any edition.
        known: Vec<String>,
    },
    /// The level exists, but not in the edition asked for.
    #[error(
        "edition '{edition}' of service '{service}' has no level '{level}'; it has {}; '{level}' is in {}",
        .known.join(", "), .elsewhere.join(", ")
    )]
    NotInEdition {
        /// The service.
        service: String,
        /// The edition asked for.
        edition: String,
        /// The level asked for.
        level: String,
        /// The edition's levels.
        known: Vec<String>,
        /// Editions that have the level, oldest first.
        elsewhere: Vec<String>,
    },
    /// The day is before all that is known of the service.
    #[error("nothing is known of service '{service}' before {oldest}")]
    BeforeEditions {
        /// The service.
        service: String,
        /// The day of its oldest edition.
        oldest: String,
    },
    /// A disk can't have what was asked for.
    #[error("{disk}: {problem}")]
    NoSuchDisk {
        /// Service and name.
        disk: String,
        /// What it can't have, and what it can.
        problem: String,
    },
    /// A number that the lab needs is neither in an edition nor assumed.
    #[error(
        "level '{level}' of edition '{edition}' of service '{service}' cannot be completed: nothing gives its {missing}"
    )]
    Incomplete {
        /// The service.
        service: String,
        /// The edition.
        edition: String,
        /// The level.
        level: String,
        /// What is missing.
        missing: String,
    },
    /// No edition has a fit of CPU time to anchor DTU multiples on.
    #[error("no edition of the catalogue has a cpu_fit, so there is no anchor for DTU multiples")]
    NoDtuAnchor,
}

/// Names that fit into a sentence, and how many more there are.
fn listed(known: &[String]) -> String {
    const MOST: usize = 40;
    match known.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", known[..MOST].join(", ")),
        _ => known.join(", "),
    }
}

/// `; did you mean 'S2'?` where exactly one known name is most similar and similar enough, else nothing.
fn hint(name: &str, known: &[String]) -> String {
    nearest(name, known).map(|nearest| format!("; did you mean '{nearest}'?")).unwrap_or_default()
}

/// The one name most similar to `name`, case aside. A tie is no answer: for `S9` all of S0 to S3 are equally near.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let score = |candidate: &String| strsim::jaro_winkler(&name, &candidate.to_lowercase());
    let best = known.iter().map(score).fold(SIMILAR, f64::max);
    let mut best_ones = known.iter().filter(|candidate| score(candidate) >= best);
    match (best_ones.next(), best_ones.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_offered_only_when_it_is_the_nearest_alone() {
        let known: Vec<String> = ["Basic", "S0", "S1", "S2", "P1"].map(str::to_owned).into();
        assert_eq!(nearest("basik", &known), Some("Basic"));
        assert_eq!(nearest("S22", &known), Some("S2"));
        assert_eq!(nearest("S9", &known), None);
        assert_eq!(nearest("hyperscale", &known), None);
        assert_eq!(nearest("", &[]), None);
    }
}
