//! Shapes of a convolution: the rules its operands must satisfy and the extents of its output.

use ziggurat_core::Shape;

use super::Conv2dOptions;
use crate::error::KernelError;

const OP: &str = "conv2d";

/// Extents of a convolution whose operands fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) batch: usize,
    /// Input channels per group.
    pub(crate) channels: usize,
    /// Output channels per group.
    pub(crate) filters: usize,
    pub(crate) input: [usize; 2],
    pub(crate) kernel: [usize; 2],
    pub(crate) output: [usize; 2],
}

impl Geometry {
    /// Checks `x` `[n, c, h, w]`, `w` `[m, c / groups, kh, kw]`, `bias` `[m]` and the options.
    pub(crate) fn new(
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
        options: &Conv2dOptions,
    ) -> Result<Self, KernelError> {
        let operand = |operand, rule, got: &Shape| KernelError::Operand {
            op: OP,
            operand,
            rule,
            got: Box::new(*got),
        };
        let &[batch, all_channels, height, width] = x.dims() else {
            return Err(operand(
                "x",
                "must have rank 4 (batch, channels, height, width)",
                x,
            ));
        };
        let &[all_filters, channels, kernel_h, kernel_w] = w.dims() else {
            return Err(operand(
                "w",
                "must have rank 4 (filters, channels / groups, height, width)",
                w,
            ));
        };
        let groups = at_least_one("groups", options.groups)?;
        if channels.checked_mul(groups) != Some(all_channels) {
            return Err(KernelError::Operands {
                op: OP,
                rule: "the channels of x must be groups times the channels of w",
                left: Box::new(*x),
                right: Box::new(*w),
            });
        }
        if all_filters % groups != 0 {
            return Err(operand("w", "must have a multiple of `groups` filters", w));
        }
        if let Some(bias) = bias
            && bias.dims() != [all_filters]
        {
            return Err(KernelError::Operands {
                op: OP,
                rule: "the bias must have one element per filter",
                left: Box::new(*bias),
                right: Box::new(*w),
            });
        }
        let (input, kernel) = ([height, width], [kernel_h, kernel_w]);
        if kernel.contains(&0) {
            return Err(operand("w", "must have a kernel of at least 1 by 1", w));
        }
        Ok(Self {
            batch,
            channels,
            filters: all_filters / groups,
            input,
            kernel,
            output: extents(input, kernel, options)?,
        })
    }

    /// Products per output.
    pub(crate) fn depth(&self) -> usize {
        self.channels
            .saturating_mul(self.kernel[0])
            .saturating_mul(self.kernel[1])
    }
}

/// Output extents: `(len + pads − dilation · (kernel − 1) − 1) / stride + 1` along both axes.
fn extents(
    input: [usize; 2],
    kernel: [usize; 2],
    options: &Conv2dOptions,
) -> Result<[usize; 2], KernelError> {
    let mut output = [0; 2];
    for (axis, slot) in output.iter_mut().enumerate() {
        let stride = at_least_one("strides", options.strides[axis])?;
        let dilation = at_least_one("dilations", options.dilations[axis])?;
        let padded = padded(
            OP,
            input[axis],
            options.pads_begin[axis],
            options.pads_end[axis],
        )?;
        let span = span(OP, kernel[axis], dilation)?;
        let Some(free) = padded.checked_sub(span) else {
            return Err(KernelError::Option {
                op: OP,
                option: "kernel extent",
                rule: "must not be larger than the padded input",
                got: signed(span),
            });
        };
        *slot = free / stride + 1;
    }
    Ok(output)
}

/// An option as the error reports it.
pub(crate) fn signed(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Windows and padded inputs are indexed with `i32`.
const MAX_EXTENT: usize = 1 << 30;

/// The extent with its padding.
pub(crate) fn padded(
    op: &'static str,
    len: usize,
    begin: usize,
    end: usize,
) -> Result<usize, KernelError> {
    let too_large = |got| KernelError::Option {
        op,
        option: "padded extent",
        rule: "must be at most 2^30",
        got,
    };
    match len.checked_add(begin).and_then(|sum| sum.checked_add(end)) {
        Some(sum) if sum <= MAX_EXTENT => Ok(sum),
        sum => Err(too_large(sum.map_or(i64::MAX, signed))),
    }
}

/// The extent that a dilated kernel covers; `kernel` is at least 1.
pub(crate) fn span(op: &'static str, kernel: usize, dilation: usize) -> Result<usize, KernelError> {
    kernel
        .saturating_sub(1)
        .checked_mul(dilation)
        .and_then(|reach| reach.checked_add(1))
        .filter(|&span| span <= MAX_EXTENT)
        .ok_or(KernelError::Option {
            op,
            option: "dilated kernel extent",
            rule: "must be at most 2^30",
            got: signed(kernel),
        })
}

fn at_least_one(option: &'static str, value: usize) -> Result<usize, KernelError> {
    if value == 0 || value > MAX_EXTENT {
        return Err(KernelError::Option {
            op: OP,
            option,
            rule: "must be from 1 to 2^30",
            got: signed(value),
        });
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn shape(dims: &[usize]) -> Shape {
        Shape::new(dims).unwrap()
    }

    fn output(
        x: &[usize],
        w: &[usize],
        options: &Conv2dOptions,
    ) -> Result<[usize; 2], KernelError> {
        Geometry::new(&shape(x), &shape(w), None, options).map(|g| g.output)
    }

    #[test]
    fn extents_follow_stride_padding_and_dilation() {
        let plain = Conv2dOptions::default();
        assert_eq!(
            output(&[1, 3, 7, 8], &[4, 3, 3, 3], &plain).unwrap(),
            [5, 6]
        );
        let options = Conv2dOptions {
            strides: [2, 3],
            pads_begin: [1, 0],
            pads_end: [2, 0],
            dilations: [2, 1],
            groups: 1,
        };
        assert_eq!(
            output(&[1, 3, 7, 8], &[4, 3, 3, 3], &options).unwrap(),
            [3, 2]
        );
        assert_eq!(
            output(&[0, 3, 7, 8], &[4, 3, 7, 8], &plain).unwrap(),
            [1, 1]
        );
    }

    #[test]
    fn operands_that_do_not_fit_are_errors() {
        let plain = Conv2dOptions::default();
        let grouped = Conv2dOptions {
            groups: 2,
            ..plain.clone()
        };
        for (x, w, options) in [
            (&[3, 7, 8][..], &[4, 3, 3, 3][..], &plain),
            (&[1, 3, 7, 8], &[4, 3, 3], &plain),
            (&[1, 3, 7, 8], &[4, 2, 3, 3], &plain),
            (&[1, 4, 7, 8], &[3, 2, 3, 3], &grouped),
            (&[1, 3, 7, 8], &[4, 3, 8, 3], &plain),
            (&[1, 3, 7, 8], &[4, 3, 0, 3], &plain),
            (
                &[1, 0, 7, 8],
                &[4, 0, 3, 3],
                &Conv2dOptions {
                    groups: 0,
                    ..plain.clone()
                },
            ),
            (
                &[1, 3, 7, 8],
                &[4, 3, 3, 3],
                &Conv2dOptions {
                    strides: [0, 1],
                    ..plain.clone()
                },
            ),
            (
                &[1, 3, 7, 8],
                &[4, 3, 3, 3],
                &Conv2dOptions {
                    dilations: [1, 0],
                    ..plain.clone()
                },
            ),
            (
                &[1, 3, 7, 8],
                &[4, 3, 3, 3],
                &Conv2dOptions {
                    pads_end: [usize::MAX, 0],
                    ..plain.clone()
                },
            ),
        ] {
            assert!(output(x, w, options).is_err(), "{x:?} {w:?} {options:?}");
        }
        let bias = shape(&[5]);
        assert!(
            Geometry::new(
                &shape(&[1, 3, 7, 8]),
                &shape(&[4, 3, 3, 3]),
                Some(&bias),
                &plain
            )
            .is_err()
        );
    }
}
