//! f64 reference of two-dimensional cross-correlation, on dense row-major values.

use super::reduce::Term;
use crate::conv::Conv2dOptions;

/// Cross-correlates `x` `[n, c, h, w]` with `w` `[m, c / groups, kh, kw]` and adds `bias` `[m]`.
/// The result is `[n, m, out_h, out_w]`; `out` are the last two extents.
#[must_use]
pub fn conv2d(
    x: (&[f64], [usize; 4]),
    w: (&[f64], [usize; 4]),
    bias: Option<&[f64]>,
    options: &Conv2dOptions,
    out: [usize; 2],
) -> Vec<Term> {
    let ((x, [batch, _, height, width]), (w, [filters, channels, kernel_h, kernel_w])) = (x, w);
    let per_group = filters / options.groups;
    let all_channels = channels * options.groups;
    let mut result = Vec::with_capacity(batch * filters * out[0] * out[1]);
    for n in 0..batch {
        for m in 0..filters {
            for oy in 0..out[0] {
                for ox in 0..out[1] {
                    let start = bias.map_or(0.0, |bias| bias[m]);
                    let mut term = Term {
                        value: start,
                        magnitude: start.abs(),
                    };
                    for c in 0..channels {
                        for ky in 0..kernel_h {
                            for kx in 0..kernel_w {
                                let y = inside(oy, ky, 0, height, options);
                                let x_at = inside(ox, kx, 1, width, options);
                                let (Some(iy), Some(ix)) = (y, x_at) else {
                                    continue;
                                };
                                let channel = m / per_group * channels + c;
                                let product = x
                                    [((n * all_channels + channel) * height + iy) * width + ix]
                                    * w[((m * channels + c) * kernel_h + ky) * kernel_w + kx];
                                term.value += product;
                                term.magnitude += product.abs();
                            }
                        }
                    }
                    result.push(term);
                }
            }
        }
    }
    result
}

/// The input index of tap `tap` for output `o`, or `None` in the padding.
fn inside(o: usize, tap: usize, axis: usize, len: usize, options: &Conv2dOptions) -> Option<usize> {
    (o * options.strides[axis] + tap * options.dilations[axis])
        .checked_sub(options.pads_begin[axis])
        .filter(|&at| at < len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlates_without_turning_the_kernel() {
        let y = conv2d(
            (&[1., 2., 3.], [1, 1, 1, 3]),
            (&[1., 0.], [1, 1, 1, 2]),
            Some(&[10.]),
            &Conv2dOptions::default(),
            [1, 2],
        );
        assert_eq!(y.iter().map(|t| t.value).collect::<Vec<_>>(), [11., 12.]);
    }
}
