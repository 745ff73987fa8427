//! Shapes of a convolution: the rules its operands must satisfy and the extents of its output.
//!
//! One and two spatial axes are three with extents of 1 in front, so that there is one geometry and one kernel.

use ziggurat_core::Shape;

use super::options::{ConvOptions, ConvTransposeOptions};
use crate::ops::spatial::spatial;
use crate::run::error::KernelError;

/// Which way, and over how many axes: the op's name in errors and labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Direction {
    Forward,
    Transposed,
}

impl Direction {
    pub(crate) const fn op(self, axes: usize) -> &'static str {
        match (self, axes) {
            (Self::Forward, 1) => "conv1d",
            (Self::Forward, 3) => "conv3d",
            (Self::Forward, _) => "conv2d",
            (Self::Transposed, 1) => "conv_transpose1d",
            (Self::Transposed, 3) => "conv_transpose3d",
            (Self::Transposed, _) => "conv_transpose2d",
        }
    }
}

/// Extents of a convolution whose operands fit each other; spatial ones as depth, height, width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) direction: Direction,
    pub(crate) batch: usize,
    pub(crate) groups: usize,
    /// Input channels per group.
    pub(crate) channels: usize,
    /// Output channels per group.
    pub(crate) filters: usize,
    pub(crate) input: [usize; 3],
    pub(crate) kernel: [usize; 3],
    pub(crate) output: [usize; 3],
    pub(crate) stride: [usize; 3],
    pub(crate) dilation: [usize; 3],
    pub(crate) pads: [usize; 3],
    /// Whether anything is padded or cut off at the far end.
    pub(crate) padding_end: [usize; 3],
}

impl Geometry {
    /// Checks `x` `[n, c, ..]`, `w` `[m, c / groups, ..]`, `bias` `[m]` and the options of a convolution.
    pub(crate) fn forward(
        axes: usize,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
        options: &ConvOptions<3>,
    ) -> Result<Self, KernelError> {
        let op = Direction::Forward.op(axes);
        let mut g = Self::operands(Direction::Forward, axes, x, w, bias, options.groups)?;
        let options = options.padded(op, g.kernel)?;
        g.stride = at_least_one(op, "stride", options.stride)?;
        g.dilation = at_least_one(op, "dilation", options.dilation)?;
        g.pads = options.padding_begin;
        g.padding_end = options.padding_end;
        g.output = g.positions(op, g.input, || {
            KernelError::operands(op, "the dilated kernel must fit the padded input", *x, *w)
        })?;
        Ok(g)
    }

    /// Checks `x` `[n, c, ..]`, `w` `[c, m / groups, ..]`, `bias` `[m]` and the options of a transposed convolution.
    pub(crate) fn transposed(
        axes: usize,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
        options: &ConvTransposeOptions<3>,
    ) -> Result<Self, KernelError> {
        let op = Direction::Transposed.op(axes);
        let mut g = Self::operands(Direction::Transposed, axes, x, w, bias, options.groups)?;
        g.stride = at_least_one(op, "stride", options.stride)?;
        g.dilation = at_least_one(op, "dilation", options.dilation)?;
        g.pads = options.padding_begin;
        g.padding_end = options.padding_end;
        for (axis, more) in options.output_padding.into_iter().enumerate() {
            if more > 0 && more >= g.stride[axis].max(g.dilation[axis]) {
                return Err(KernelError::option(
                    op,
                    "output_padding",
                    "must be less than the stride or the dilation",
                    signed(more),
                ));
            }
            let span = span(op, g.kernel[axis], g.dilation[axis])?;
            let whole = g.input[axis]
                .checked_sub(1)
                .and_then(|steps| steps.checked_mul(g.stride[axis]))
                .and_then(|reach| reach.checked_add(span + more))
                .filter(|&whole| g.input[axis] > 0 && whole <= MAX_EXTENT);
            let Some(whole) = whole else {
                return Err(KernelError::operand(
                    op,
                    "x",
                    "must have spatial extents of at least 1 that give at most 2^30",
                    *x,
                ));
            };
            let cut = g.pads[axis].checked_add(g.padding_end[axis]);
            let left = cut.and_then(|cut| whole.checked_sub(cut));
            g.output[axis] = left.filter(|&left| left > 0).ok_or(KernelError::option(
                op,
                "padding",
                "must leave something of the result",
                cut.map_or(i64::MAX, signed),
            ))?;
        }
        Ok(g)
    }

    /// The extents of the operands; options are still those of a plain convolution.
    fn operands(
        direction: Direction,
        axes: usize,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
        groups: usize,
    ) -> Result<Self, KernelError> {
        let op = direction.op(axes);
        let operand = |operand, rule, got: &Shape| KernelError::operand(op, operand, rule, *got);
        if !(1..=3).contains(&axes) {
            return Err(operand("x", "must have 1 to 3 spatial axes", x));
        }
        let (&[batch, x_channels, ..], &[rows, columns, ..]) = (x.dims(), w.dims()) else {
            return Err(operand("x", "must be [batch, channels, spatial..]", x));
        };
        if x.rank() != axes + 2 {
            return Err(operand(
                "x",
                "must have a batch, a channel and the spatial axes",
                x,
            ));
        }
        if w.rank() != axes + 2 {
            return Err(operand(
                "w",
                "must have two channel axes and the spatial axes",
                w,
            ));
        }
        if groups == 0 || groups > MAX_EXTENT {
            return Err(KernelError::option(
                op,
                "groups",
                "must be from 1 to 2^30",
                signed(groups),
            ));
        }
        let (channels, filters, all_filters) = match direction {
            Direction::Forward => (columns, rows / groups, rows),
            Direction::Transposed => (rows / groups, columns, columns.saturating_mul(groups)),
        };
        if channels.checked_mul(groups) != Some(x_channels) {
            return Err(KernelError::operands(
                op,
                "the channels of x must be groups times the channels of w",
                *x,
                *w,
            ));
        }
        if rows % groups != 0 {
            return Err(operand("w", "must have a multiple of `groups` filters", w));
        }
        if let Some(bias) = bias
            && bias.dims() != [all_filters]
        {
            return Err(KernelError::operands(
                op,
                "the bias must have one element per filter",
                *bias,
                *w,
            ));
        }
        let kernel = spatial(w.dims(), 1);
        if kernel.contains(&0) {
            return Err(operand("w", "must have a kernel of at least 1 by 1", w));
        }
        Ok(Self {
            direction,
            batch,
            groups,
            channels,
            filters,
            input: spatial(x.dims(), 1),
            kernel,
            output: [1; 3],
            stride: [1; 3],
            dilation: [1; 3],
            pads: [0; 3],
            padding_end: [0; 3],
        })
    }

    /// Positions of the kernel in extents: `(len + pads − dilation · (kernel − 1) − 1) / stride + 1` along each axis.
    pub(crate) fn positions(
        &self,
        op: &'static str,
        extents: [usize; 3],
        too_small: impl Fn() -> KernelError,
    ) -> Result<[usize; 3], KernelError> {
        let mut output = [0; 3];
        for (axis, slot) in output.iter_mut().enumerate() {
            let padded = padded(op, extents[axis], self.pads[axis], self.padding_end[axis])?;
            let span = span(op, self.kernel[axis], self.dilation[axis])?;
            let Some(free) = padded.checked_sub(span) else {
                return Err(too_small());
            };
            *slot = free / self.stride[axis] + 1;
        }
        Ok(output)
    }

    /// Along an axis, how far apart the taps of one output are that read something.
    pub(crate) fn tap_step(&self, axis: usize) -> u64 {
        let stride = self.stride.get(axis).copied().unwrap_or(1).max(1);
        if self.direction == Direction::Forward {
            return 1;
        }
        let (mut divisor, mut rest) = (
            stride,
            self.dilation.get(axis).copied().unwrap_or(1) % stride,
        );
        while rest > 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        (stride / divisor) as u64
    }

    /// Products per output.
    pub(crate) fn depth(&self) -> usize {
        self.channels.saturating_mul(self.taps())
    }

    /// Elements of a kernel.
    pub(crate) fn taps(&self) -> usize {
        self.kernel
            .iter()
            .fold(1, |taps, &k| taps.saturating_mul(k))
    }

    /// Output positions of one image.
    pub(crate) fn plane(&self) -> usize {
        self.output
            .iter()
            .fold(1, |plane, &o| plane.saturating_mul(o))
    }

    /// The shape of the result over `axes` spatial axes.
    pub(crate) fn output_shape(&self, axes: usize) -> Result<Shape, KernelError> {
        let mut dims = vec![self.batch, self.filters.saturating_mul(self.groups)];
        dims.extend(self.output.iter().skip(3_usize.saturating_sub(axes)));
        Shape::new(dims).map_err(KernelError::shape(self.direction.op(axes)))
    }

    /// Whether anything happens along the depth.
    pub(crate) fn is_volume(&self) -> bool {
        // With padding in front, a single output may stand wholly in the padding.
        [self.input[0], self.kernel[0], self.output[0]] != [1; 3] || self.pads[0] != 0
    }

    /// Whether an output is the products of one input element per channel, at its own position.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.direction == Direction::Forward
            && self.kernel == [1; 3]
            && self.stride == [1; 3]
            && self.pads == [0; 3]
            && self.padding_end == [0; 3]
    }
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
    let too_large = |got| KernelError::option(op, "padded extent", "must be at most 2^30", got);
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
        .ok_or(KernelError::option(
            op,
            "dilated kernel extent",
            "must be at most 2^30",
            signed(kernel),
        ))
}

/// The values, if each can be a step or an extent.
pub(crate) fn at_least_one(
    op: &'static str,
    option: &'static str,
    values: [usize; 3],
) -> Result<[usize; 3], KernelError> {
    match values
        .into_iter()
        .find(|value| !(1..=MAX_EXTENT).contains(value))
    {
        Some(value) => Err(KernelError::option(
            op,
            option,
            "must be from 1 to 2^30",
            signed(value),
        )),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests;
