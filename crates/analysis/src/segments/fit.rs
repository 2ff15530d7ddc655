//! The shape that explains a series best, if it can pay for its coefficients.

use super::pattern::{Drift, Terms, WarmUp};
use crate::autocorrelation::variance_factor;
use crate::autoregression::{COEFFICIENTS, Line, Whitened};
use crate::logs::t_quantile;
use crate::partition::{self, Search};
use crate::{DEFAULT_CONFIDENCE, summary};

/// Longer series are averaged in blocks before they are cut, so that the search doesn't grow with the square of an hour.
const MOST_BLOCKS: usize = 400;

/// Probability with which noise may pay for several cuts, a slope or a warm-up.
const SIGNIFICANCE: f64 = 0.01;

/// Probability with which noise may pay for a single step, if all its places were independent; they are neighbours.
const SIGNIFICANCE_OF_STEP: f64 = 0.05;

/// The noise's coefficient is estimated too, and less well the fewer effective points there are: prices rise by this over
/// their number. From noise with the developing seed.
const SURCHARGE_OF_STEP: f64 = 2.0;
const SURCHARGE_OF_LINE: f64 = 5.0;

/// Among several cuts each segment begins anew, which is a coefficient as well; what it is worth at most in noise.
const PRICE_OF_START: f64 = 3.0;

/// The share of its price at which a shape that can't pay leaves doubt.
const DOUBT: f64 = 0.75;

/// Warm-ups of different speed that are tried.
const SPEEDS: usize = 12;

/// A warm-up falls to 1/e within this share of the series at the latest; what is slower is a drift.
const SLOWEST_SHARE: f64 = 0.25;

/// A warm-up is over when its distance is less than this many standard deviations of the noise.
const LOST_IN_NOISE: f64 = 0.5;

/// What a series looks like.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Level,
    Unclear,
    Cuts(Vec<usize>),
    Drift,
    WarmUp(WarmUp),
}

/// A shape and the coefficient of the noise around it.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub(super) shape: Shape,
    pub(super) coefficient: f64,
}

/// A shape that could be, with what it gains over a constant level and what it has to pay.
struct Candidate {
    fitted: Fitted,
    gain: f64,
    /// Noise seldom gains as much.
    price: f64,
    /// By how many coefficients it is weighed against other shapes that can pay.
    coefficients: f64,
    /// What cuts beside the first one have to gain over a single one.
    more_cuts: f64,
}

/// The best shape of a series without outliers and without two levels.
pub(super) fn best(values: &[f64], terms: Terms, resolution: f64) -> Option<Fitted> {
    let block = values.len().div_ceil(MOST_BLOCKS);
    let blocks: Vec<f64> = values.chunks(block).filter_map(summary::mean).collect();
    let mean = summary::mean(&blocks)?;
    let centred: Vec<f64> = blocks.iter().map(|value| value - mean).collect();
    let floor = resolution * resolution * centred.len() as f64;
    let series = COEFFICIENTS.map(|coefficient| Whitened::of(&centred, coefficient));
    let (level, coefficient) = least(COEFFICIENTS.iter().zip(&series).map(|(coefficient, series)| {
        let squares = series.cost(0, centred.len()).max(floor);
        (centred.len() as f64 * (squares / centred.len() as f64).ln() + series.cost_of_stretch(), *coefficient)
    }))?;

    // What moves a series only adds to its correlation, so the noise around a shape has no more of it than that of a level.
    let coefficients: Vec<f64> = COEFFICIENTS.into_iter().filter(|one| *one <= coefficient).collect();
    let minimum = terms.minimum_segment.div_ceil(block).max(3);
    let candidates = [
        step(&series[..coefficients.len()], minimum, floor, level),
        cuts(&series[..coefficients.len()], minimum, floor, level),
        line(&centred, &coefficients, floor, level),
        warm_up(&centred, &coefficients, floor, level, block),
    ];
    let candidates = || candidates.iter().flatten();
    let paid = candidates().filter(|one| one.gain > one.price);
    // Schwarz, Estimating the dimension of a model, Annals of Statistics 6 (1978) 461-464; with the effective points.
    let likeliest =
        candidates().max_by(|a, b| a.gain.total_cmp(&b.gain)).map_or(coefficient, |one| one.fitted.coefficient);
    let points = centred.len() as f64;
    let weight = (points / variance_factor(likeliest, points)).ln().max(1.0);
    let weighed = |one: &Candidate| one.gain - weight * one.coefficients - one.more_cuts;
    let Some(winner) = paid.max_by(|a, b| weighed(a).total_cmp(&weighed(b))) else {
        let doubt = candidates().any(|one| one.gain > DOUBT * one.price);
        let shape = if doubt { Shape::Unclear } else { Shape::Level };
        return Some(Fitted { shape, coefficient });
    };
    let mut fitted = winner.fitted.clone();
    match &mut fitted.shape {
        Shape::Cuts(starts) => *starts = refined(values, starts, block),
        Shape::WarmUp(warm_up) => {
            warm_up.level += mean;
            warm_up.from += mean;
        }
        _ => {}
    }
    Some(fitted)
}

fn least<T>(all: impl Iterator<Item = (f64, T)>) -> Option<(f64, T)> {
    all.min_by(|a, b| a.0.total_cmp(&b.0))
}

/// A price that is raised where few effective points say what the noise's coefficient is.
fn raised(price: f64, surcharge: f64, coefficient: f64, points: usize) -> f64 {
    price * (1.0 + surcharge * variance_factor(coefficient, points as f64) / points as f64)
}

fn step(series: &[Whitened], minimum: usize, floor: f64, level: f64) -> Option<Candidate> {
    let points = series.first()?.points();
    let price = partition::price_of_cut(points, minimum, SIGNIFICANCE_OF_STEP)?;
    let all = series.iter().zip(COEFFICIENTS).flat_map(|(series, coefficient)| {
        (minimum..=points - minimum).map(move |start| {
            let squares = series.cost_of_step(start).max(floor);
            let criterion = points as f64 * (squares / points as f64).ln() + series.cost_of_stretch();
            (criterion, (start, coefficient))
        })
    });
    let (criterion, (start, coefficient)) = least(all)?;
    let price = raised(price, SURCHARGE_OF_STEP, coefficient, points);
    let fitted = Fitted { shape: Shape::Cuts(vec![start]), coefficient };
    Some(Candidate { fitted, gain: level - criterion, price, coefficients: 2.0, more_cuts: 0.0 })
}

/// Two cuts or more.
fn cuts(series: &[Whitened], minimum: usize, floor: f64, level: f64) -> Option<Candidate> {
    let points = series.first()?.points();
    let price = partition::price_of_cut(points, minimum, SIGNIFICANCE)? + PRICE_OF_START;
    let all = COEFFICIENTS.iter().zip(series).map(|(coefficient, series)| {
        let cost = |from: usize, to: usize| series.cost(from, to);
        let price = price + series.cost_of_stretch();
        let cuts = Search { points, minimum, price, floor, cost }.best(series.robust_variance());
        (cuts.criterion + series.cost_of_stretch(), (cuts, *coefficient))
    });
    let (criterion, (cuts, coefficient)) = least(all.filter(|(_, (cuts, _))| cuts.starts.len() >= 2))?;
    let more_cuts = price * (cuts.starts.len() - 1) as f64;
    let price = price * cuts.starts.len() as f64;
    Some(Candidate {
        fitted: Fitted { shape: Shape::Cuts(cuts.starts), coefficient },
        gain: level - (criterion - price),
        price,
        coefficients: 2.0,
        more_cuts,
    })
}

fn line(values: &[f64], coefficients: &[f64], floor: f64, level: f64) -> Option<Candidate> {
    let times: Vec<f64> = (0..values.len()).map(|index| index as f64).collect();
    let all = coefficients.iter().filter_map(|coefficient| Line::of(values, &times, *coefficient));
    let (criterion, line) = least(all.map(|line| (line.criterion(values.len(), floor), line)))?;
    let price = partition::price_of_test(values.len(), SIGNIFICANCE)?;
    let price = raised(price, SURCHARGE_OF_LINE, line.coefficient, values.len());
    let fitted = Fitted { shape: Shape::Drift, coefficient: line.coefficient };
    Some(Candidate { fitted, gain: level - criterion, price, coefficients: 1.0, more_cuts: 0.0 })
}

fn warm_up(values: &[f64], coefficients: &[f64], floor: f64, without: f64, block: usize) -> Option<Candidate> {
    let points = values.len();
    let ratio = SLOWEST_SHARE * points as f64;
    let speeds = (0..SPEEDS).map(|step| ratio.powf(step as f64 / (SPEEDS - 1) as f64));
    let all = speeds.flat_map(|speed| {
        let decay: Vec<f64> = (0..points).map(|index| (-(index as f64) / speed).exp()).collect();
        let lines: Vec<Line> = coefficients.iter().filter_map(|one| Line::of(values, &decay, *one)).collect();
        lines.into_iter().map(move |line| (line.criterion(points, floor), (line, speed)))
    });
    let (criterion, (line, speed)) = least(all)?;
    let price = partition::price_of_test(points, SIGNIFICANCE / SPEEDS as f64)?;
    let noise = line.squares / (points - 3) as f64 / (1.0 - line.coefficient.powi(2));
    let distance = (LOST_IN_NOISE * noise.sqrt()).max(floor.sqrt());
    let settled = (speed * (line.slope.abs() / distance).ln()).max(0.0) * block as f64;
    let (level, from) = (line.level, line.level + line.slope);
    let warm_up = WarmUp { level, from, points: speed * block as f64, settled: settled.ceil() as usize };
    let fitted = Fitted { shape: Shape::WarmUp(warm_up), coefficient: line.coefficient };
    Some(Candidate { fitted, gain: without - criterion, price, coefficients: 2.0, more_cuts: 0.0 })
}

/// Starts of blocks to starts of points: each is moved within its block and the one before to where the levels on both
/// sides leave the least squares.
fn refined(values: &[f64], starts: &[usize], block: usize) -> Vec<usize> {
    let rough: Vec<usize> = starts.iter().map(|start| start * block).collect();
    if block == 1 {
        return rough;
    }
    let segments: Vec<(usize, usize)> = partition::segments(&rough, values.len()).collect();
    let places = segments.windows(2).map(|pair| {
        let [before, after] = [pair[0], pair[1]].map(|(from, to)| summary::mean(&values[from..to]).unwrap_or(0.0));
        let place = pair[1].0;
        let (first, last) = (place - block, (place + block).min(values.len()));
        let squares = |cut: usize| {
            let part = |from: usize, to: usize, level: f64| {
                values[from..to].iter().map(|value| (value - level).powi(2)).sum::<f64>()
            };
            part(first, cut, before) + part(cut, last, after)
        };
        (first..=last).min_by(|a, b| squares(*a).total_cmp(&squares(*b))).unwrap_or(place)
    });
    places.collect()
}

/// The slope of a series and its interval.
pub(super) fn drift(values: &[f64], resolution: f64) -> Option<Drift> {
    let mean = summary::mean(values)?;
    let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let times: Vec<f64> = (0..values.len()).map(|index| index as f64).collect();
    let floor = resolution * resolution * values.len() as f64;
    let all = (0..98).filter_map(|percent| Line::of(&centred, &times, f64::from(percent) / 100.0));
    let (_, line) = least(all.map(|line| (line.restricted_criterion(values.len(), floor), line)))?;
    let points = values.len() as f64;
    let effective = points / variance_factor(line.coefficient, points);
    let quantile = t_quantile(DEFAULT_CONFIDENCE, (effective - 2.0).max(2.0))?;
    let half = quantile * (line.squares / (points - 2.0) * line.slope_weight).sqrt();
    Some(Drift { per_point: line.slope, low: line.slope - half, high: line.slope + half })
}
