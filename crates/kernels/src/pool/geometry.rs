//! Extents of pooling: where windows start and how many there are.

use super::Pool2dOptions;
use crate::conv::geometry::{padded, signed, span};
use crate::error::KernelError;

const OP: &str = "pool2d";

/// Output extents for an input plane of `[height, width]`.
///
/// `(len + pads − (kernel − 1) · dilation − 1) / stride + 1`, the division rounded down, or up with `ceil_mode`; then
/// a last window that would start at or beyond `len + pads_begin` is dropped.
///
/// # Errors
/// [`KernelError::Option`] for a zero kernel, stride or dilation, or a window larger than the padded input.
pub fn pool2d_extents(
    input: [usize; 2],
    options: &Pool2dOptions,
) -> Result<[usize; 2], KernelError> {
    let mut output = [0; 2];
    for (axis, slot) in output.iter_mut().enumerate() {
        let kernel = at_least_one("kernel", options.kernel[axis])?;
        let stride = at_least_one("strides", options.strides[axis])?;
        let dilation = at_least_one("dilations", options.dilations[axis])?;
        let begin = options.pads_begin[axis];
        let padded = padded(OP, input[axis], begin, options.pads_end[axis])?;
        let span = span(OP, kernel, dilation)?;
        let Some(free) = padded.checked_sub(span) else {
            return Err(KernelError::Option {
                op: OP,
                option: "kernel extent",
                rule: "must not be larger than the padded input",
                got: signed(span),
            });
        };
        *slot = if options.ceil_mode {
            let extent = free.div_ceil(stride) + 1;
            // The last window starts at (extent − 1) · stride in padded coordinates.
            let last = (extent - 1).saturating_mul(stride);
            if extent > 1 && last >= input[axis] + begin {
                extent - 1
            } else {
                extent
            }
        } else {
            free / stride + 1
        };
    }
    Ok(output)
}

fn at_least_one(option: &'static str, value: usize) -> Result<usize, KernelError> {
    if value == 0 || value > 1 << 30 {
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

    fn extent(len: usize, kernel: usize, stride: usize, pad: usize, ceil_mode: bool) -> usize {
        let options = Pool2dOptions {
            strides: [1, stride],
            pads_begin: [0, pad],
            pads_end: [0, pad],
            ceil_mode,
            ..Pool2dOptions::new([1, kernel])
        };
        pool2d_extents([1, len], &options).unwrap()[1]
    }

    #[test]
    fn ceil_mode_adds_the_partial_window_at_the_end() {
        assert_eq!(extent(5, 2, 2, 0, false), 2);
        assert_eq!(extent(5, 2, 2, 0, true), 3);
        assert_eq!(extent(4, 3, 2, 1, true), 3);
    }

    #[test]
    fn a_window_that_starts_in_the_right_padding_is_dropped() {
        assert_eq!(extent(5, 2, 2, 1, false), 3);
        assert_eq!(extent(4, 1, 3, 1, true), 2);
        assert_eq!(extent(1, 1, 3, 1, true), 1);
    }

    #[test]
    fn impossible_windows_are_errors() {
        let base = Pool2dOptions::new([2, 2]);
        for options in [
            Pool2dOptions {
                kernel: [0, 1],
                ..base.clone()
            },
            Pool2dOptions {
                kernel: [1, 9],
                ..base.clone()
            },
            Pool2dOptions {
                strides: [0, 1],
                ..base.clone()
            },
            Pool2dOptions {
                dilations: [1, 0],
                ..base.clone()
            },
            Pool2dOptions {
                dilations: [1, 8],
                ..base.clone()
            },
            Pool2dOptions {
                pads_begin: [usize::MAX, 0],
                ..base.clone()
            },
        ] {
            assert!(pool2d_extents([8, 8], &options).is_err(), "{options:?}");
        }
    }
}
