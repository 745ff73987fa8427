//! Pooling over one to three spatial axes, NC..: maxima, where they are, averages, norms; over sliding windows, or adaptive
//! ones.
//!
//! One invocation per window. Maxima compare keys made from bits, so NaN wins and padding never does. One- and
//! two-dimensional pooling are three-dimensional with extents of 1; pooling over whole planes is a reduction.
//! Invariant: every window holds an element of the input.

use ziggurat_core::DType;
use ziggurat_pipeline::{Arg, Grid};

use crate::limits::budget::parts;
use crate::limits::split::alike;
use crate::num::saturated;
use crate::num::wrap;
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::ops::spatial::spatial_strides;
use crate::ops::spatial::{steps, vector};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::prelude;

mod bands;
mod geometry;
mod kernel;
mod options;
mod unpool;

use geometry::Geometry;
pub(crate) use kernel::variants;
use kernel::{PoolParams, Range, Row, Stage, Window, choice, inner, per_invocation};
pub use options::{Pool1dOptions, Pool2dOptions, Pool3dOptions, PoolOptions};

/// What a window becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pool {
    /// Its greatest element; NaN wins, padding does not take part.
    Max,
    /// The mean of its elements.
    Average,
}

impl Pool {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Max, Self::Average];

    /// The name in labels.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "max_pool",
            Self::Average => "avg_pool",
        }
    }

    /// Floats; maxima also of integers.
    #[must_use]
    pub const fn accepts(self, dtype: DType) -> bool {
        match self {
            Self::Max => !dtype.is_bool(),
            Self::Average => dtype.is_float(),
        }
    }

    const fn window(self) -> Window {
        match self {
            Self::Max => Window::Max,
            Self::Average => Window::Average,
        }
    }
}

/// A pooling but for its operands.
#[derive(Clone, Copy)]
struct Call {
    window: Window,
    range: Range,
    geometry: Geometry,
    params: PoolParams,
}

impl Executor {
    /// Pools the axes behind the first two of `x` `[n, c, ..]`, 1 to 3 of them, into `out`;
    /// [`PoolOptions::output_shape`] gives its shape.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Pool::accepts`] says no or the dtypes differ; [`KernelError::Operand`] for another
    /// rank or windows that do not fit; [`KernelError::Option`] for impossible windows; [`KernelError::Output`].
    pub fn pool<const N: usize>(
        &self,
        op: Pool,
        x: &View,
        options: &PoolOptions<N>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.slide(op.window(), x, options, 0.0, out)
    }

    /// Where the maxima of [`Self::pool`] lie, row-major in their unpadded planes, into `out` (i32): the first of equals,
    /// the first NaN if there is one.
    ///
    /// # Errors
    /// Like [`Self::pool`]; [`KernelError::IndexTooLarge`] for planes of 2³¹ elements or more.
    pub fn max_pool_indices<const N: usize>(
        &self,
        x: &View,
        options: &PoolOptions<N>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.slide(Window::MaxIndex, x, options, 0.0, out)
    }

    /// `(Σ |x|^p)^(1/p)` over every window, floats only; padding counts as 0.
    ///
    /// # Errors
    /// Like [`Self::pool`]; [`KernelError::Number`] unless `p` is positive and finite.
    pub fn lp_pool<const N: usize>(
        &self,
        x: &View,
        p: f32,
        options: &PoolOptions<N>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        if !(p.is_finite() && p > 0.0) {
            return Err(KernelError::Number {
                op: "lp_pool",
                number: "p",
                rule: "must be positive and finite",
                got: f64::from(p),
            });
        }
        self.slide(Window::Power, x, options, p, out)
    }

    /// Pools the axes behind the first two of `x` `[n, c, ..]` into the extents that `out` `[n, c, ..]` has there: window o
    /// is from `floor(o · in / out)` to `ceil((o + 1) · in / out)`.
    ///
    /// # Errors
    /// Like [`Self::pool`]; [`KernelError::Option`] for output extents from 65,536.
    pub fn adaptive_pool<const N: usize>(
        &self,
        op: Pool,
        x: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.adapt::<N>(op.window(), x, out)
    }

    /// Where the maxima of [`Self::adaptive_pool`] lie, as in [`Self::max_pool_indices`].
    ///
    /// # Errors
    /// Like [`Self::adaptive_pool`] and [`Self::max_pool_indices`].
    pub fn adaptive_max_pool_indices<const N: usize>(
        &self,
        x: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.adapt::<N>(Window::MaxIndex, x, out)
    }

    fn slide<const N: usize>(
        &self,
        window: Window,
        x: &View,
        options: &PoolOptions<N>,
        power: f32,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let range = Range::Sliding;
        let geometry = Geometry::sliding(window.name(range), x.shape(), options)?;
        let params = PoolParams {
            include_pad: u32::from(options.count_include_pad),
            divisor: options.divisor_override.unwrap_or(0),
            power,
            ..PoolParams::default()
        };
        self.launch_pool(
            Call {
                window,
                range,
                geometry,
                params,
            },
            x,
            out,
        )
    }

    fn adapt<const N: usize>(
        &self,
        window: Window,
        x: &View,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let range = Range::Adaptive;
        let mut extents = [1; N];
        for (slot, &dim) in extents.iter_mut().rev().zip(out.dims().iter().rev()) {
            *slot = dim;
        }
        let geometry = Geometry::adaptive(window.name(range), x.shape(), extents)?;
        let params = PoolParams::default();
        self.launch_pool(
            Call {
                window,
                range,
                geometry,
                params,
            },
            x,
            out,
        )
    }

    fn launch_pool(&self, call: Call, x: &View, out: &View) -> Result<Completion, KernelError> {
        let Call {
            window,
            range,
            geometry: g,
            params,
        } = call;
        let op = window.name(range);
        let dtype = |operand, rule, got| KernelError::dtype(op, operand, rule, got);
        if !window.accepts(x.dtype) {
            let rule = "maxima need numbers, averages and norms floats";
            return Err(dtype("x", rule, x.dtype));
        }
        if out.dtype != window.output(x.dtype) {
            let rule = "it must have the dtype of x, indices i32";
            return Err(dtype("out", rule, out.dtype));
        }
        let expected = g.output_shape(op, x.shape())?;
        check_shape(op, out, &expected)?;
        let places = g
            .input
            .iter()
            .fold(1_u64, |n, &i| n.saturating_mul(i as u64));
        let counts = [
            out.len() as u64,
            if window == Window::MaxIndex {
                places + 1
            } else {
                0
            },
        ];
        if let Some(elements) = counts.into_iter().find(|&count| count > MAX_COUNT) {
            return Err(KernelError::IndexTooLarge {
                op,
                elements,
                limit: MAX_COUNT,
            });
        }
        if out.is_empty() {
            return Ok(self.completion());
        }
        let (batch_step, channel_step) = match *x.layout.strides() {
            [batch, channel, ..] => (batch, channel),
            _ => (0, 0),
        };
        // Planes are pooled each by itself.
        let joints = || alike(2, |_| false);
        let each = |[x, out]: &[View; 2]| self.launch_pool(call, x, out);
        self.whole_or_split(op, [x, out], joints, each, |out| {
            if self.pool_bands(call, x, out)? {
                return Ok(());
            }
            let taps = g.most_taps(range == Range::Adaptive);
            let parts = parts(taps, self.max_iterations(), |taps| window.iterations(taps));
            let states = if parts.len() > 1 {
                Some(self.partials(DType::U32, out.len() as u64, window.words())?)
            } else {
                None
            };
            let (read, write) = (self.bind_read(op, x)?, self.bind_write(op, out)?);
            let params = PoolParams {
                outputs: saturated(out.len() as u64),
                channels: saturated(x.dims().get(1).map_or(1, |&dim| dim as u64)),
                plane: saturated(g.plane() as u64),
                offset: read.offset,
                out_offset: write.offset,
                identity: prelude::lowest_key(x.dtype, false),
                x_batch: wrap(batch_step),
                x_channel: wrap(channel_step),
                extent: vector(g.input),
                result: vector(g.output),
                kernel: vector(g.kernel),
                stride: vector(g.stride),
                dilation: vector(g.dilation),
                pad: vector(g.padding_begin),
                pad_end: vector(g.padding_end),
                steps: steps(spatial_strides(&x.layout)),
                ..params
            };
            let regular = match range {
                Range::Sliding => Some(g),
                Range::Adaptive => g.regular(),
            };
            if let (Some(sizes), [_]) = (regular.and_then(|g| g.inner()), parts.as_slice())
                && window != Window::Power
            {
                let grid = Grid::elements(out.len() as u64, per_invocation(out.dtype));
                let choice = inner(window, x.dtype, sizes);
                return self.launch(&choice, &[read.arg, write.arg], &params, grid);
            }
            let row = match parts.as_slice() {
                [_] if range == Range::Adaptive && g.rows_in_vectors(&x.layout) => Row::Vectors,
                _ => Row::Elements,
            };
            let grid = Grid::elements(out.len() as u64, 1);
            for part in &parts {
                let params = PoolParams {
                    first_tap: three(part.from),
                    end_tap: three([0, 1, 2].map(|axis| part.from[axis] + part.len[axis])),
                    resumed: u32::from(part.resumed),
                    ..params
                };
                let launch = |stage, args: &[Arg<'_>]| {
                    let choice = choice(window, range, stage, row, x.dtype);
                    self.launch(&choice, args, &params, grid)
                };
                match &states {
                    None => launch(Stage::Whole, &[read.arg, write.arg])?,
                    Some(states) if part.is_last => {
                        let before = self.bind_read(op, states)?;
                        launch(Stage::Last, &[read.arg, write.arg, before.arg])?;
                    }
                    Some(states) => {
                        let state = self.bind_write(op, states)?;
                        launch(Stage::Some, &[read.arg, state.arg])?;
                    }
                }
            }
            Ok(())
        })
    }
}

/// Counts along depth, height and width as a vector of the shader.
fn three([depth, height, width]: [u64; 3]) -> [u32; 4] {
    [saturated(depth), saturated(height), saturated(width), 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_need_floats_and_maxima_numbers() {
        for dtype in DType::ALL {
            assert_eq!(Pool::Average.accepts(dtype), dtype.is_float());
            assert_eq!(Pool::Max.accepts(dtype), dtype != DType::Bool);
        }
    }
}
