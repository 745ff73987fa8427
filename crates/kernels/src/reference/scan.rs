//! References of scans, on dense row-major values.

use crate::ops::scan::{Scan, ScanOptions};

/// Scans the middle axis of `a`, of extents `[outer, len, inner]`, in f64; `wrap` brings each result into the dtype.
#[must_use]
pub fn scan(
    op: Scan,
    a: &[f64],
    [outer, len, inner]: [usize; 3],
    options: ScanOptions,
    wrap: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let mut out = vec![0.0; a.len()];
    for row in 0..outer * inner {
        let place = |i: usize| {
            let at = if options.reverse { len - 1 - i } else { i };
            ((row / inner) * len + at) * inner + row % inner
        };
        let mut so_far = match op {
            Scan::Sum => 0.0,
            Scan::Product => 1.0,
            Scan::LogSumExp => f64::NEG_INFINITY,
            Scan::ArgMax | Scan::ArgMin => f64::NAN,
        };
        let mut best: Option<f64> = None;
        for i in 0..len {
            let x = a[place(i)];
            let next = match op {
                Scan::Sum => wrap(so_far + x),
                Scan::Product => wrap(so_far * x),
                Scan::LogSumExp => log_add(so_far, x),
                Scan::ArgMax | Scan::ArgMin => {
                    let wins = best.is_none_or(|best| {
                        x.is_nan()
                            || (op == Scan::ArgMax && x >= best)
                            || (op == Scan::ArgMin && x <= best)
                    });
                    if wins {
                        best = Some(x);
                        if options.reverse {
                            (len - 1 - i) as f64
                        } else {
                            i as f64
                        }
                    } else {
                        so_far
                    }
                }
            };
            out[place(i)] = if options.exclusive { so_far } else { next };
            so_far = next;
        }
    }
    out
}

fn log_add(x: f64, y: f64) -> f64 {
    let high = x.max(y);
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if high.is_infinite() {
        high
    } else {
        high + (x.min(y) - high).exp().ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(op: Scan, a: &[f64], exclusive: bool, reverse: bool) -> Vec<f64> {
        scan(
            op,
            a,
            [1, a.len(), 1],
            ScanOptions { exclusive, reverse },
            |x| x,
        )
    }

    #[test]
    fn ends_and_directions() {
        let a = [1., 2., 3.];
        assert_eq!(line(Scan::Sum, &a, false, false), [1., 3., 6.]);
        assert_eq!(line(Scan::Sum, &a, true, false), [0., 1., 3.]);
        assert_eq!(line(Scan::Sum, &a, false, true), [6., 5., 3.]);
        assert_eq!(line(Scan::Product, &a, true, true), [6., 3., 1.]);
    }

    #[test]
    fn the_last_of_equals_counts_and_nan_stays() {
        assert_eq!(
            line(Scan::ArgMax, &[1., 3., 3., 2.], false, false),
            [0., 1., 2., 2.]
        );
        assert_eq!(
            line(Scan::ArgMin, &[1., f64::NAN, 0.], false, false),
            [0., 1., 1.]
        );
        assert_eq!(line(Scan::ArgMax, &[3., 3., 1.], false, true), [0., 1., 2.]);
    }

    #[test]
    fn logs_of_sums_start_from_nothing() {
        let got = line(Scan::LogSumExp, &[f64::NEG_INFINITY, 0., 0.], false, false);
        assert_eq!(got, [f64::NEG_INFINITY, 0., 2f64.ln()]);
    }
}
