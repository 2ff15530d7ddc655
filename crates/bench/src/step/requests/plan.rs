//! What the parameters of a test ask for: the phases of a repetition, and a search for the highest rate.

use plimsoll_load::phases::{Axes, Phase};
use plimsoll_load::schedule::{Arrivals, Rate};
use plimsoll_load::search::{Goal, Search};

use crate::parameters::{ParameterValue, Parameters};

/// The phases that the parameters ask for, one at least: each combination of their values is one.
///
/// # Errors
/// A sentence if the parameters contradict each other, or if more than two have several values.
pub(super) fn plan(parameters: &Parameters) -> Result<Vec<Phase>, String> {
    let values = |name: &str| match parameters.value(name) {
        Some(ParameterValue::Levels(levels)) if !levels.is_empty() => levels.clone(),
        _ => vec![parameters.count(name)],
    };
    for name in ["sessions", "batch"] {
        if matches!(parameters.value(name), Some(ParameterValue::Ramp(..))) {
            return Err(format!("'{name}' can't rise steadily; give several values such as 1,2,4,8"));
        }
    }
    let rates: Vec<Rate> = match parameters.value("rate") {
        Some(ParameterValue::Ramp(from, to)) => vec![Rate { from: *from as f64, to: *to as f64 }],
        _ => values("rate").into_iter().filter(|rate| *rate > 0).map(|rate| Rate::constant(rate as f64)).collect(),
    };
    let counts = |name: &str| values(name).into_iter().map(|count| count.max(1)).collect();
    let lasts = parameters.duration("duration");
    let axes = Axes { sessions: counts("sessions"), rates, batch_rows: counts("batch"), lasts };
    let has_several = axes.sessions.len() > 1 || axes.rates.len() > 1 || axes.batch_rows.len() > 1;
    if !axes.rates.is_empty() && !parameters.duration("think").is_zero() {
        return Err("'think' is a pause of sessions that follow no 'rate'; leave one of them out".to_owned());
    }
    if !parameters.duration("goal").is_zero() && (has_several || axes.rates.iter().any(|rate| rate.is_ramp())) {
        return Err("a search for the highest rate chooses the rates itself; give single values".to_owned());
    }
    axes.phases()
}

/// The search for the highest rate that the parameters ask for, if they do.
pub(super) fn search(parameters: &Parameters) -> Option<Search> {
    let goal = goal(parameters)?;
    Some(Search::new(goal, Some(parameters.count("rate") as f64).filter(|rate| *rate > 0.0)))
}

pub(super) fn goal(parameters: &Parameters) -> Option<Goal> {
    let time = parameters.duration("goal");
    let percent = parameters.choice("goal_at").strip_prefix('p').and_then(|text| text.parse().ok()).unwrap_or(99.0);
    let (usual, arrivals) = (parameters.duration("duration"), arrivals(parameters));
    (!time.is_zero()).then_some(Goal { time, percent, usual, arrivals })
}

pub(super) fn arrivals(parameters: &Parameters) -> Arrivals {
    if parameters.choice("arrivals") == "poisson" { Arrivals::Poisson } else { Arrivals::Constant }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::find_builtin;

    fn parameters(sets: &[(&str, &str)]) -> Parameters {
        let definition = find_builtin("mix-b").unwrap();
        let mut parameters = definition.parameters(true);
        for (name, value) in sets {
            parameters.set(name, value, &definition.steps).unwrap();
        }
        parameters
    }

    fn labels(sets: &[(&str, &str)]) -> Vec<String> {
        plan(&parameters(sets)).unwrap().into_iter().map(|phase| phase.name()).collect()
    }

    #[test]
    fn what_has_several_values_makes_the_phases() {
        assert_eq!(labels(&[]), ["all"]);
        assert_eq!(labels(&[("sessions", "1,2,4")]), ["1 session", "2 sessions", "4 sessions"]);
        assert_eq!(labels(&[("rate", "100,200")]), ["100/s", "200/s"]);
        assert_eq!(labels(&[("rate", "100..200")]), ["100 to 200/s"]);
        assert_eq!(labels(&[("batch", "1,1000")]), ["1 row", "1000 rows"]);
        assert_eq!(
            labels(&[("rate", "10,20"), ("sessions", "1,2")]),
            ["1 session, 10/s", "1 session, 20/s", "2 sessions, 10/s", "2 sessions, 20/s"]
        );
        let ladder = plan(&parameters(&[("rate", "100,200"), ("sessions", "3")])).unwrap();
        assert_eq!((ladder[1].sessions, ladder[1].rate), (3, Some(Rate::constant(200.0))));
        assert_eq!(plan(&parameters(&[("rate", "0")])).unwrap()[0].rate, None);
        assert!(plan(&parameters(&[("rate", "1,2"), ("sessions", "1,2"), ("batch", "1,2")])).is_err());
        for bad in [
            [("sessions", "1..2"), ("rate", "0")],
            [("goal", "1s"), ("rate", "1,2")],
            [("think", "1s"), ("rate", "1")],
            [("goal", "1s"), ("rate", "1..2")],
        ] {
            assert!(plan(&parameters(&bad)).is_err(), "{bad:?}");
        }
        assert_eq!(search(&parameters(&[])), None);
        assert!(search(&parameters(&[("goal", "1s")])).is_some());
    }
}
