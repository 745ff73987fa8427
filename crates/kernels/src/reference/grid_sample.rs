//! f64 reference of sampling at the places of a grid, on dense row-major values.

use super::reduce::Term;
use crate::ops::grid_sample::{GridMode, GridPadding, GridSampleOptions};

/// Where a coordinate lies along an axis, in elements.
#[must_use]
pub fn place(coordinate: f64, extent: usize, options: &GridSampleOptions) -> f64 {
    let extent = extent as f64;
    let x = if coordinate.is_nan() {
        -1.0
    } else {
        coordinate
    };
    if options.align_corners {
        (x + 1.0) / 2.0 * (extent - 1.0)
    } else {
        ((x + 1.0) * extent - 1.0) / 2.0
    }
}

/// A place outside as the padding takes it.
fn padded(at: f64, extent: usize, options: &GridSampleOptions) -> f64 {
    let last = extent as f64 - 1.0;
    let (low, high) = if options.align_corners {
        (0.0, last)
    } else {
        (-0.5, last + 0.5)
    };
    let inside = match options.padding {
        GridPadding::Zeros => return at,
        GridPadding::Border => at,
        GridPadding::Reflection if high <= low => 0.0,
        GridPadding::Reflection => {
            // A triangle wave: its period is there and back.
            let span = high - low;
            let phase = (at - low).rem_euclid(2.0 * span);
            low + if phase > span {
                2.0 * span - phase
            } else {
                phase
            }
        }
    };
    inside.clamp(0.0, last)
}

/// Elements and weights of one place along one axis: `None` is outside.
fn taps(at: f64, extent: usize, options: &GridSampleOptions) -> Vec<(Option<usize>, f64)> {
    let element = |at: f64| (at >= 0.0 && at < extent as f64).then_some(at as usize);
    match options.mode {
        GridMode::Nearest => {
            let at = padded(at, extent, options).round_ties_even();
            vec![(element(at), 1.0)]
        }
        GridMode::Linear => {
            let at = padded(at, extent, options);
            let (first, far) = (at.floor(), at - at.floor());
            vec![(element(first), 1.0 - far), (element(first + 1.0), far)]
        }
        GridMode::Cubic => (-1..3)
            .map(|offset| {
                let neighbour = at.floor() + f64::from(offset);
                let d = (at - neighbour).abs();
                let a = -0.75;
                let weight = if d <= 1.0 {
                    ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
                } else {
                    ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
                };
                (element(padded(neighbour, extent, options)), weight)
            })
            .collect(),
    }
}

/// One channel of extents `from` at `places`, each a coordinate per axis with that of the last axis first; with the
/// magnitudes that bound the rounding error.
#[must_use]
pub fn grid_sample(
    x: &[f64],
    from: &[usize],
    places: &[f64],
    options: &GridSampleOptions,
) -> Vec<Term> {
    places
        .chunks(from.len())
        .map(|coordinates| {
            let mut reached = vec![(Some(0), 1.0)];
            for (&extent, &coordinate) in from.iter().zip(coordinates.iter().rev()) {
                let along = taps(place(coordinate, extent, options), extent, options);
                reached = reached
                    .iter()
                    .flat_map(|&(base, weight)| {
                        along.iter().map(move |&(tap, share)| {
                            let index = base.zip(tap).map(|(base, tap)| base * extent + tap);
                            (index, weight * share)
                        })
                    })
                    .collect();
            }
            let mut sum = Term {
                value: 0.0,
                magnitude: 0.0,
            };
            for (index, weight) in reached.into_iter().filter(|(_, weight)| *weight != 0.0) {
                let element = index.map_or(0.0, |index| x[index]);
                sum.value += weight * element;
                sum.magnitude += (weight * element).abs();
            }
            sum
        })
        .collect()
}
