//! Extents of pooling: where windows start and how many there are.

use ziggurat_core::{Layout, Shape};

use super::options::PoolOptions;
use crate::num::saturated;
use crate::ops::conv::geometry::{at_least_one, padded, signed, span};
use crate::ops::spatial::{spatial, spread};
use crate::run::error::KernelError;

/// Largest result of adaptive pooling along an axis: the shader multiplies it with itself.
const MAX_ADAPTIVE: usize = (1 << 16) - 1;

/// Windows over an input; spatial values as depth, height, width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) input: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) dilation: [usize; 3],
    pub(crate) padding_begin: [usize; 3],
    pub(crate) padding_end: [usize; 3],
}

/// The spatial extents of `[n, c, ..]` with `axes` axes behind.
fn input(op: &'static str, x: &Shape, axes: usize) -> Result<[usize; 3], KernelError> {
    if x.rank() == axes + 2 && (1..=3).contains(&axes) {
        return Ok(spatial(x.dims(), 1));
    }
    Err(KernelError::operand(
        op,
        "x",
        match axes {
            1 => "must have rank 3 (batch, channels, length)",
            2 => "must have rank 4 (batch, channels, height, width)",
            _ => "must have rank 5 (batch, channels, depth, height, width)",
        },
        *x,
    ))
}

impl Geometry {
    /// Windows of one size at regular steps.
    pub(crate) fn sliding<const N: usize>(
        op: &'static str,
        x: &Shape,
        options: &PoolOptions<N>,
    ) -> Result<Self, KernelError> {
        let mut g = Self {
            input: input(op, x, N)?,
            output: [1; 3],
            kernel: at_least_one(op, "kernel", spread(options.kernel, 1))?,
            stride: at_least_one(op, "stride", spread(options.stride, 1))?,
            dilation: at_least_one(op, "dilation", spread(options.dilation, 1))?,
            padding_begin: spread(options.padding_begin, 0),
            padding_end: spread(options.padding_end, 0),
        };
        for axis in 0..3 {
            g.output[axis] = g.windows(op, x, axis, options.ceil_mode)?;
        }
        if options.divisor_override == Some(0) {
            return Err(KernelError::option(
                op,
                "divisor_override",
                "must not be 0",
                0,
            ));
        }
        Ok(g)
    }

    /// Adaptive windows as sliding ones, if all have the same size.
    pub(crate) fn regular(&self) -> Option<Self> {
        let mut sizes = [0; 3];
        for ((size, &input), &output) in sizes.iter_mut().zip(&self.input).zip(&self.output) {
            *size = (output > 0 && input.is_multiple_of(output)).then(|| input / output)?;
        }
        Some(Self {
            kernel: sizes,
            stride: sizes,
            ..*self
        })
    }

    /// Whether the rows of adaptive windows are whole vectors of such a view.
    pub(crate) fn rows_in_vectors(&self, x: &Layout) -> bool {
        let [.., width] = self.input;
        let [.., windows] = self.output;
        let strides = x.strides();
        width > 0
            && width.is_multiple_of(4 * windows)
            && x.offset().is_multiple_of(4)
            && strides.split_last().is_some_and(|(&last, others)| {
                last == 1 && others.iter().all(|stride| stride % 4 == 0)
            })
    }

    /// Height and width of windows and of the steps between them, if they are small, of planes, dense, and all of them lie within
    /// the input.
    pub(crate) fn inner(&self) -> Option<[[u32; 2]; 2]> {
        let within = |axis: usize| {
            let last = (self.output[axis].saturating_sub(1)).saturating_mul(self.stride[axis]);
            self.padding_begin[axis] == 0
                && self.dilation[axis] == 1
                && last.saturating_add(self.kernel[axis]) <= self.input[axis]
        };
        let [depth, height, width] = self.kernel;
        let planes = depth == 1 && self.input[0] == 1 && self.output[0] == 1;
        let unpadded = self.padding_end == [0; 3];
        let small = height.max(width) <= 4;
        (planes && unpadded && small && (0..3).all(within)).then(|| {
            let both = |of: [usize; 3]| [saturated(of[1] as u64), saturated(of[2] as u64)];
            [both(self.kernel), both(self.stride)]
        })
    }

    /// As many windows as there are outputs.
    pub(crate) fn adaptive<const N: usize>(
        op: &'static str,
        x: &Shape,
        output: [usize; N],
    ) -> Result<Self, KernelError> {
        let g = Self {
            input: input(op, x, N)?,
            output: spread(output, 1),
            kernel: [1; 3],
            stride: [1; 3],
            dilation: [1; 3],
            padding_begin: [0; 3],
            padding_end: [0; 3],
        };
        if let Some(&extent) = g.output.iter().find(|&&extent| extent > MAX_ADAPTIVE) {
            return Err(KernelError::option(
                op,
                "output extent",
                "must be at most 65,535",
                signed(extent),
            ));
        }
        if g.input.contains(&0) && !g.output.contains(&0) {
            return Err(KernelError::operand(
                op,
                "x",
                "must have elements to pool",
                *x,
            ));
        }
        Ok(g)
    }

    /// The number of windows along an axis.
    fn windows(
        &self,
        op: &'static str,
        x: &Shape,
        axis: usize,
        ceil_mode: bool,
    ) -> Result<usize, KernelError> {
        let (len, begin, stride) = (
            self.input[axis],
            self.padding_begin[axis],
            self.stride[axis],
        );
        let padded = padded(op, len, begin, self.padding_end[axis])?;
        let span = span(op, self.kernel[axis], self.dilation[axis])?;
        let Some(free) = padded.checked_sub(span) else {
            return Err(KernelError::operand(
                op,
                "x",
                "must, with its padding, be at least as large as a window",
                *x,
            ));
        };
        let pad = begin.max(self.padding_end[axis]);
        if pad >= span {
            return Err(KernelError::option(
                op,
                "padding",
                "must be smaller than a window, or a window would hold nothing else",
                signed(pad),
            ));
        }
        let steps = if ceil_mode {
            free.div_ceil(stride)
        } else {
            free / stride
        };
        // The last window starts at steps · stride in padded coordinates.
        let dropped = ceil_mode && steps > 0 && steps.saturating_mul(stride) >= len + begin;
        let windows = steps + usize::from(!dropped);
        if !self.all_hold_an_element(axis, windows) {
            return Err(KernelError::option(
                op,
                "dilation",
                "must not let a window step over the whole input",
                signed(self.dilation[axis]),
            ));
        }
        Ok(windows)
    }

    /// Whether each of the windows covers at least one element of the input: with a dilation, a window longer than the
    /// padding can still step over the whole input.
    ///
    /// Only windows that begin in the padding before the input can miss it, because none begins behind it.
    fn all_hold_an_element(&self, axis: usize, windows: usize) -> bool {
        let (dilation, len) = (self.dilation[axis], self.input[axis]);
        // One of any `dilation` neighbours is a window's element.
        dilation <= len
            || (0..windows)
                .map_while(|window| {
                    self.padding_begin[axis].checked_sub(window.checked_mul(self.stride[axis])?)
                })
                .all(|before| {
                    let outside = before.div_ceil(dilation);
                    outside < self.kernel[axis] && outside * dilation - before < len
                })
    }

    /// The shape of the result.
    pub(crate) fn output_shape(&self, op: &'static str, x: &Shape) -> Result<Shape, KernelError> {
        let axes = x.rank().saturating_sub(2);
        let mut dims: Vec<usize> = x.dims().iter().take(2).copied().collect();
        dims.extend(self.output.iter().skip(3_usize.saturating_sub(axes)));
        Shape::new(dims).map_err(KernelError::shape(op))
    }

    /// The most elements of a window along each axis.
    pub(crate) fn most_taps(&self, adaptive: bool) -> [u64; 3] {
        let mut taps = self.kernel.map(|taps| taps as u64);
        if adaptive {
            for ((slot, &input), &output) in taps.iter_mut().zip(&self.input).zip(&self.output) {
                *slot = (input as u64).div_ceil((output as u64).max(1)) + 1;
            }
        }
        taps
    }

    /// Output positions of one channel.
    pub(crate) fn plane(&self) -> usize {
        self.output
            .iter()
            .fold(1, |plane, &o| plane.saturating_mul(o))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::ops::pool::Pool2dOptions;

    fn extents(input: [usize; 2], options: &Pool2dOptions) -> Result<[usize; 2], KernelError> {
        let x = Shape::new([1, 1, input[0], input[1]]).unwrap();
        let shape = options.output_shape("pool", &x)?;
        Ok([shape.dims()[2], shape.dims()[3]])
    }

    fn extent(len: usize, kernel: usize, stride: usize, pad: usize, ceil_mode: bool) -> usize {
        let options = Pool2dOptions {
            stride: [1, stride],
            padding_begin: [0, pad],
            padding_end: [0, pad],
            ceil_mode,
            ..Pool2dOptions::new([1, kernel])
        };
        extents([1, len], &options).unwrap()[1]
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
        assert_eq!(extent(4, 2, 3, 1, true), 2);
        assert_eq!(extent(2, 2, 3, 1, true), 1);
        assert_eq!(extent(1, 1, 3, 0, true), 1);
    }

    #[test]
    fn windows_that_step_over_the_whole_input_are_errors() {
        let covers = |input, dilation, begin, end| {
            let options = PoolOptions {
                stride: [1],
                dilation: [dilation],
                padding_begin: [begin],
                padding_end: [end],
                ..PoolOptions::new([2])
            };
            let x = Shape::new([1, 1, input]).unwrap();
            options.output_shape("pool", &x).is_ok()
        };
        // One window: elements -1 and 2 of 2, or of 3.
        assert!(!covers(2, 3, 1, 1));
        assert!(covers(3, 3, 1, 1));
        // Elements -2 and 1, then -1 and 2.
        assert!(!covers(2, 3, 2, 1));
        assert!(covers(2, 3, 2, 0));
        assert!(!covers(0, 1, 1, 1));
        assert!(covers(1, 1, 1, 1));
    }

    #[test]
    fn impossible_windows_are_errors() {
        let base = Pool2dOptions::new([2, 2]);
        for options in [
            Pool2dOptions {
                kernel: [0, 1],
                ..base
            },
            Pool2dOptions {
                kernel: [1, 9],
                ..base
            },
            Pool2dOptions {
                stride: [0, 1],
                ..base
            },
            Pool2dOptions {
                dilation: [1, 0],
                ..base
            },
            Pool2dOptions {
                dilation: [1, 8],
                ..base
            },
            Pool2dOptions {
                padding_begin: [usize::MAX, 0],
                ..base
            },
            Pool2dOptions {
                padding_end: [0, 2],
                ..base
            },
            Pool2dOptions {
                divisor_override: Some(0),
                ..base
            },
        ] {
            assert!(extents([8, 8], &options).is_err(), "{options:?}");
        }
    }

    #[test]
    fn adaptive_results_have_a_largest_extent_and_need_elements() {
        let x = Shape::new([1, 1, 70_000]).unwrap();
        assert!(Geometry::adaptive("pool", &x, [65_535]).is_ok());
        assert!(Geometry::adaptive("pool", &x, [65_536]).is_err());
        let none = Shape::new([1, 1, 0]).unwrap();
        assert!(Geometry::adaptive("pool", &none, [2]).is_err());
        assert!(Geometry::adaptive("pool", &none, [0]).is_ok());
        assert!(Geometry::adaptive("pool", &none, [1, 1]).is_err());
    }
}
