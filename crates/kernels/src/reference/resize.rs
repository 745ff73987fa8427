//! f64 reference of resampling, axis by axis, on dense row-major values.

use super::reduce::Term;
use crate::ops::resize::{Axis, ResizeAxis, ResizeOptions};

/// Resamples `x` of extents `from` to `to`, with the magnitudes that bound the rounding error.
#[must_use]
pub fn resize(
    x: &[f64],
    from: &[usize],
    to: &[usize],
    axes: &[ResizeAxis],
    options: &ResizeOptions,
) -> Vec<Term> {
    let mut values: Vec<Option<Term>> = x
        .iter()
        .map(|&value| {
            Some(Term {
                value,
                magnitude: value.abs(),
            })
        })
        .collect();
    let mut dims = from.to_vec();
    for (at, &axis) in axes.iter().enumerate() {
        let line = Axis {
            input: from[at],
            output: to[at],
            axis,
        };
        if line.is_identity(options) {
            continue;
        }
        let inner: usize = dims[at + 1..].iter().product();
        let outer: usize = dims[..at].iter().product();
        let mut next = Vec::with_capacity(outer * to[at] * inner);
        for o in 0..outer {
            for i in 0..to[at] {
                let taps = line.taps(i, options);
                for lane in 0..inner {
                    let mut sum = (!taps.is_empty()).then_some(Term {
                        value: 0.0,
                        magnitude: 0.0,
                    });
                    for &(index, weight) in taps.iter().filter(|(_, weight)| *weight != 0.0) {
                        let element = values[(o * from[at] + index) * inner + lane];
                        sum = sum.zip(element).map(|(sum, element)| Term {
                            value: sum.value + weight * element.value,
                            magnitude: sum.magnitude + weight.abs() * element.magnitude,
                        });
                    }
                    next.push(sum);
                }
            }
        }
        dims[at] = to[at];
        values = next;
    }
    let outside = f64::from(options.extrapolation);
    let outside = Term {
        value: outside,
        magnitude: outside.abs(),
    };
    values
        .into_iter()
        .map(|term| term.unwrap_or(outside))
        .collect()
}
