//! f64 references of convolution and its transpose over one to three spatial axes, on dense row-major values.

use super::reduce::Term;
use crate::ops::conv::{ConvOptions, ConvTransposeOptions};

/// Row-major extents with a batch and a channel axis in front.
type Dims<'a> = &'a [usize];

/// All index tuples of extents, row-major.
pub(super) fn indices<const N: usize>(extents: [usize; N]) -> impl Iterator<Item = [usize; N]> {
    let mut next = [0; N];
    (0..extents.iter().product::<usize>()).map(move |_| {
        let index = next;
        for (slot, extent) in next.iter_mut().zip(extents).rev() {
            *slot += 1;
            if *slot < extent {
                break;
            }
            *slot = 0;
        }
        index
    })
}

pub(super) fn flat<const N: usize>(plane: usize, index: [usize; N], extents: [usize; N]) -> usize {
    index
        .iter()
        .zip(extents)
        .fold(plane, |at, (&i, extent)| at * extent + i)
}

/// The last `N` extents.
///
/// # Panics
/// If there are fewer.
fn spatial<const N: usize>(dims: Dims<'_>) -> [usize; N] {
    std::array::from_fn(|axis| dims[dims.len() - N + axis])
}

/// Where tap `tap` of window `o` lies in an extent, or `None` outside of it.
fn place(
    o: usize,
    tap: usize,
    stride: usize,
    dilation: usize,
    pad: usize,
    len: usize,
) -> Option<usize> {
    (o * stride + tap * dilation)
        .checked_sub(pad)
        .filter(|&at| at < len)
}

/// [`place`] along every axis.
fn places<const N: usize>(
    o: [usize; N],
    tap: [usize; N],
    options: (&[usize; N], &[usize; N], &[usize; N]),
    extents: [usize; N],
) -> Option<[usize; N]> {
    let (stride, dilation, pads) = options;
    let mut all = [0; N];
    for axis in 0..N {
        all[axis] = place(
            o[axis],
            tap[axis],
            stride[axis],
            dilation[axis],
            pads[axis],
            extents[axis],
        )?;
    }
    Some(all)
}

fn starts(bias: Option<&[f64]>, batch: usize, filters: usize, plane: usize) -> Vec<Term> {
    (0..batch * filters * plane)
        .map(|i| {
            let value = bias.map_or(0.0, |bias| bias[i / plane % filters]);
            Term {
                value,
                magnitude: value.abs(),
            }
        })
        .collect()
}

fn add(term: &mut Term, product: f64) {
    term.value += product;
    term.magnitude += product.abs();
}

/// Cross-correlates `x` `[n, c, ..]` with `w` `[m, c / groups, ..]` and adds `bias` `[m]`.
/// The result is `[n, m, ..]`; `out` are its spatial extents.
#[must_use]
pub fn conv<const N: usize>(
    x: (&[f64], Dims<'_>),
    w: (&[f64], Dims<'_>),
    bias: Option<&[f64]>,
    options: &ConvOptions<N>,
    out: [usize; N],
) -> Vec<Term> {
    let (extents, kernel) = (spatial::<N>(x.1), spatial::<N>(w.1));
    let (batch, all_channels) = (x.1[0], x.1[1]);
    let (filters, channels) = (w.1[0], w.1[1]);
    let per_group = filters / options.groups;
    let plane: usize = out.iter().product();
    let mut result = starts(bias, batch, filters, plane);
    let geometry = (&options.stride, &options.dilation, &options.padding_begin);
    for n in 0..batch {
        for m in 0..filters {
            for o in indices(out) {
                let term = &mut result[flat(n * filters + m, o, out)];
                for c in 0..channels {
                    for tap in indices(kernel) {
                        if let Some(i) = places(o, tap, geometry, extents) {
                            let channel = m / per_group * channels + c;
                            let v = x.0[flat(n * all_channels + channel, i, extents)];
                            add(term, v * w.0[flat(m * channels + c, tap, kernel)]);
                        }
                    }
                }
            }
        }
    }
    result
}

/// The transposed convolution: every element of `x` `[n, c, ..]` adds its multiple of `w` `[c, m / groups, ..]`.
/// The result is `[n, m, ..]`; `out` are its spatial extents.
#[must_use]
pub fn conv_transpose<const N: usize>(
    x: (&[f64], Dims<'_>),
    w: (&[f64], Dims<'_>),
    bias: Option<&[f64]>,
    options: &ConvTransposeOptions<N>,
    out: [usize; N],
) -> Vec<Term> {
    let (extents, kernel) = (spatial::<N>(x.1), spatial::<N>(w.1));
    let (batch, all_channels) = (x.1[0], x.1[1]);
    let per_group = w.1[1];
    let filters = per_group * options.groups;
    let channels = all_channels / options.groups;
    let plane: usize = out.iter().product();
    let mut result = starts(bias, batch, filters, plane);
    let geometry = (&options.stride, &options.dilation, &options.padding_begin);
    for n in 0..batch {
        for c in 0..all_channels {
            for i in indices(extents) {
                let v = x.0[flat(n * all_channels + c, i, extents)];
                for f in 0..per_group {
                    let m = c / channels * per_group + f;
                    for tap in indices(kernel) {
                        if let Some(o) = places(i, tap, geometry, out) {
                            let product = v * w.0[flat(c * per_group + f, tap, kernel)];
                            add(&mut result[flat(n * filters + m, o, out)], product);
                        }
                    }
                }
            }
        }
    }
    result
}

/// Sums `columns` `[planes · taps, windows]` into `[planes, ..]` with spatial extents `out`.
#[must_use]
pub fn fold<const N: usize>(
    columns: &[f64],
    planes: usize,
    kernel: [usize; N],
    windows: [usize; N],
    options: &ConvOptions<N>,
    out: [usize; N],
) -> Vec<Term> {
    let plane: usize = out.iter().product();
    let taps: usize = kernel.iter().product();
    let mut result = starts(None, 1, planes, plane);
    let geometry = (&options.stride, &options.dilation, &options.padding_begin);
    for p in 0..planes {
        for tap in indices(kernel) {
            let row = p * taps + flat(0, tap, kernel);
            for window in indices(windows) {
                if let Some(o) = places(window, tap, geometry, out) {
                    add(
                        &mut result[flat(p, o, out)],
                        columns[flat(row, window, windows)],
                    );
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(terms: &[Term]) -> Vec<f64> {
        terms.iter().map(|t| t.value).collect()
    }

    #[test]
    fn correlates_without_turning_the_kernel() {
        let y = conv(
            (&[1., 2., 3.], &[1, 1, 3]),
            (&[1., 0.], &[1, 1, 2]),
            Some(&[10.]),
            &ConvOptions::<1>::default(),
            [2],
        );
        assert_eq!(values(&y), [11., 12.]);
    }

    #[test]
    fn transposed_elements_spread_the_kernel() {
        let options = ConvTransposeOptions {
            stride: [2],
            ..ConvTransposeOptions::default()
        };
        let y = conv_transpose(
            (&[1., 10.], &[1, 1, 2]),
            (&[1., 2., 3.], &[1, 1, 3]),
            None,
            &options,
            [5],
        );
        assert_eq!(values(&y), [1., 2., 13., 20., 30.]);
    }

    #[test]
    fn folding_adds_where_windows_overlap() {
        let y = fold(
            &[1., 2., 10., 20.],
            1,
            [2],
            [2],
            &ConvOptions::<1>::default(),
            [3],
        );
        assert_eq!(values(&y), [1., 12., 20.]);
    }
}
