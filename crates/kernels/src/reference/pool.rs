//! f64 references of pooling over one to three spatial axes, on dense row-major values.

use super::conv::{flat, indices};
use crate::ops::pool::{Pool, PoolOptions};

/// What lies in a window: row-major places and values of the input, and the number of positions counted.
struct Window {
    elements: Vec<(usize, f64)>,
    counted: usize,
}

/// The windows of a plane in order.
fn windows<'a, const N: usize>(
    plane: &'a [f64],
    extents: [usize; N],
    options: &'a PoolOptions<N>,
    out: [usize; N],
) -> impl Iterator<Item = Window> + 'a {
    indices(out).map(move |o| {
        let mut window = Window {
            elements: Vec::new(),
            counted: 0,
        };
        for tap in indices(options.kernel) {
            let at: [isize; N] = std::array::from_fn(|axis| {
                (o[axis] * options.stride[axis] + tap[axis] * options.dilation[axis]) as isize
                    - options.padding_begin[axis] as isize
            });
            let inside = (0..N).all(|axis| (0..extents[axis] as isize).contains(&at[axis]));
            let padded =
                (0..N).all(|axis| at[axis] < (extents[axis] + options.padding_end[axis]) as isize);
            window.counted += usize::from(inside || (options.count_include_pad && padded));
            if inside {
                let place = flat(0, at.map(|at| at as usize), extents);
                window.elements.push((place, plane[place]));
            }
        }
        window
    })
}

fn planes<const N: usize>(x: &[f64], extents: [usize; N]) -> impl Iterator<Item = &[f64]> {
    x.chunks(extents.iter().product::<usize>().max(1))
}

/// The place and value of the greatest: the first of equals, the first NaN if there is one.
fn greatest(elements: &[(usize, f64)]) -> (usize, f64) {
    let mut best = (0, f64::NAN);
    for (i, &(place, value)) in elements.iter().enumerate() {
        if i == 0 || (!best.1.is_nan() && (value.is_nan() || value > best.1)) {
            best = (place, value);
        }
    }
    best
}

fn combine(op: Pool, window: &Window, divisor: Option<u32>) -> f64 {
    match op {
        Pool::Max => greatest(&window.elements).1,
        Pool::Average => {
            let sum: f64 = window.elements.iter().map(|(_, value)| value).sum();
            sum / divisor.map_or(window.counted as f64, f64::from)
        }
    }
}

/// Pools the last `N` axes of `x` `[n, c, ..]`, whose extents are given, as are those of the result.
#[must_use]
pub fn pool<const N: usize>(
    op: Pool,
    x: &[f64],
    extents: [usize; N],
    options: &PoolOptions<N>,
    out: [usize; N],
) -> Vec<f64> {
    planes(x, extents)
        .flat_map(|plane| windows(plane, extents, options, out))
        .map(|window| combine(op, &window, options.divisor_override))
        .collect()
}

/// Where the maxima of [`pool`] lie in their planes.
#[must_use]
pub fn max_indices<const N: usize>(
    x: &[f64],
    extents: [usize; N],
    options: &PoolOptions<N>,
    out: [usize; N],
) -> Vec<f64> {
    planes(x, extents)
        .flat_map(|plane| windows(plane, extents, options, out))
        .map(|window| greatest(&window.elements).0 as f64)
        .collect()
}

/// The p-norms of the windows.
#[must_use]
pub fn lp_pool<const N: usize>(
    x: &[f64],
    p: f64,
    extents: [usize; N],
    options: &PoolOptions<N>,
    out: [usize; N],
) -> Vec<f64> {
    let norm = |window: Window| {
        let sum: f64 = window.elements.iter().map(|(_, v)| v.abs().powf(p)).sum();
        sum.powf(1.0 / p)
    };
    planes(x, extents)
        .flat_map(|plane| windows(plane, extents, options, out))
        .map(norm)
        .collect()
}

/// Adaptive pooling: values, and where maxima lie.
#[must_use]
pub fn adaptive_pool<const N: usize>(
    op: Pool,
    x: &[f64],
    extents: [usize; N],
    out: [usize; N],
) -> (Vec<f64>, Vec<f64>) {
    let cut = |o: usize, axis: usize| {
        let end = ((o + 1) * extents[axis]).div_ceil(out[axis]);
        (o * extents[axis] / out[axis], end)
    };
    planes(x, extents)
        .flat_map(|plane| {
            indices(out).map(move |o| {
                let elements: Vec<(usize, f64)> = indices(extents)
                    .enumerate()
                    .filter(|(_, at)| {
                        (0..N).all(|axis| {
                            let (first, end) = cut(o[axis], axis);
                            (first..end).contains(&at[axis])
                        })
                    })
                    .map(|(place, _)| (place, plane[place]))
                    .collect();
                let place = greatest(&elements).0 as f64;
                let counted = elements.len();
                (combine(op, &Window { elements, counted }, None), place)
            })
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kernel: usize, stride: usize, pad: usize) -> PoolOptions<1> {
        PoolOptions {
            stride: [stride],
            padding_begin: [pad],
            padding_end: [pad],
            ..PoolOptions::new([kernel])
        }
    }

    #[test]
    fn averages_with_and_without_the_padding() {
        let x = [1., 2., 3., 4., 5.];
        let mut options = line(2, 2, 1);
        let average = |options: &PoolOptions<1>| pool(Pool::Average, &x, [5], options, [3]);
        assert_eq!(average(&options), [1., 2.5, 4.5]);
        options.count_include_pad = true;
        assert_eq!(average(&options), [0.5, 2.5, 4.5]);
        options.divisor_override = Some(4);
        assert_eq!(average(&options), [0.25, 1.25, 2.25]);
    }

    #[test]
    fn padding_never_wins_and_nan_does() {
        let low = [f64::NEG_INFINITY; 3];
        assert_eq!(
            pool(Pool::Max, &low, [3], &line(2, 1, 1), [4]),
            [f64::NEG_INFINITY; 4]
        );
        let x = [1.0, f64::NAN, f64::NAN, 2.0];
        assert!(pool(Pool::Max, &x, [4], &line(4, 1, 0), [1])[0].is_nan());
        assert_eq!(max_indices(&x, [4], &line(4, 1, 0), [1]), [1.0]);
    }

    #[test]
    fn adaptive_windows_overlap_where_they_must() {
        let x = [1., 2., 3., 4., 5.];
        let (y, _) = adaptive_pool(Pool::Average, &x, [5], [3]);
        assert_eq!(y, [1.5, 3., 4.5]);
    }
}
