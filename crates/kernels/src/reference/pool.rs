//! f64 reference of two-dimensional pooling, on dense row-major values.

use crate::pool::{Pool, Pool2dOptions};

/// Pools the last two axes of `x` `[n, c, h, w]` (here `[planes, h, w]`, planes = n · c).
#[must_use]
pub fn pool2d(
    op: Pool,
    x: &[f64],
    [planes, height, width]: [usize; 3],
    options: &Pool2dOptions,
    out: [usize; 2],
) -> Vec<f64> {
    let mut result = Vec::with_capacity(planes * out[0] * out[1]);
    for plane in x.chunks(height * width).take(planes) {
        for oy in 0..out[0] {
            for ox in 0..out[1] {
                let rows = positions(oy, 0, options);
                let cols = positions(ox, 1, options);
                let window = || {
                    rows.iter()
                        .flat_map(|&y| cols.iter().map(move |&x| (y, x)))
                        .filter_map(|(y, x)| {
                            let (y, x) = (usize::try_from(y).ok()?, usize::try_from(x).ok()?);
                            (y < height && x < width).then(|| plane[y * width + x])
                        })
                };
                result.push(match op {
                    Pool::Max => {
                        let nan = window().any(f64::is_nan);
                        if nan {
                            f64::NAN
                        } else {
                            window().fold(f64::NEG_INFINITY, f64::max)
                        }
                    }
                    Pool::Average => {
                        let counted = |at: &[isize], len: usize, axis: usize| {
                            let (low, high) = if options.count_include_pad {
                                (
                                    -(options.pads_begin[axis] as isize),
                                    (len + options.pads_end[axis]) as isize,
                                )
                            } else {
                                (0, len as isize)
                            };
                            at.iter().filter(|&&i| i >= low && i < high).count()
                        };
                        let count = counted(&rows, height, 0) * counted(&cols, width, 1);
                        window().sum::<f64>() / count.max(1) as f64
                    }
                });
            }
        }
    }
    result
}

/// Where the window of output `o` looks, padding included.
fn positions(o: usize, axis: usize, options: &Pool2dOptions) -> Vec<isize> {
    (0..options.kernel[axis])
        .map(|j| {
            (o * options.strides[axis] + j * options.dilations[axis]) as isize
                - options.pads_begin[axis] as isize
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kernel: usize, strides: usize, pad: usize) -> Pool2dOptions {
        Pool2dOptions {
            strides: [1, strides],
            pads_begin: [0, pad],
            pads_end: [0, pad],
            ..Pool2dOptions::new([1, kernel])
        }
    }

    #[test]
    fn averages_with_and_without_the_padding() {
        let x = [1., 2., 3., 4., 5.];
        let mut options = line(2, 2, 1);
        assert_eq!(
            pool2d(Pool::Average, &x, [1, 1, 5], &options, [1, 3]),
            [1., 2.5, 4.5]
        );
        options.count_include_pad = true;
        assert_eq!(
            pool2d(Pool::Average, &x, [1, 1, 5], &options, [1, 3]),
            [0.5, 2.5, 4.5]
        );
    }

    #[test]
    fn padding_never_wins_and_nan_does() {
        let low = [f64::NEG_INFINITY; 3];
        assert_eq!(
            pool2d(Pool::Max, &low, [1, 1, 3], &line(2, 1, 1), [1, 4]),
            [f64::NEG_INFINITY; 4]
        );
        assert!(
            pool2d(
                Pool::Max,
                &[f64::NAN, 1.],
                [1, 1, 2],
                &line(2, 1, 0),
                [1, 1]
            )[0]
            .is_nan()
        );
    }
}
