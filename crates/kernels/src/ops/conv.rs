//! Cross-correlation ("convolution" in neural networks) and its transpose over one to three spatial axes, NC.. by OI..
//!
//! Many filters per group: the tiled matrix kernel with the image gathered on the fly (implicit GEMM; the matrix is
//! never stored), or read as it lies where the kernel has one element. Few filters, depthwise among them: a direct kernel.
//! A transposed convolution is the same gathering with another rule for where a tap reads, so no output is written twice.
//! Invariant: padding is zeros and is never read from memory. Whether an infinite weight over padding gives NaN
//! (inf · 0) is not promised: the tiled kernel multiplies, the direct one skips.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, FusedOutput, made};
use crate::limits::budget::parts;
use crate::num::saturated;
use crate::num::wrap;
use crate::ops::reduce::Reduce;
use crate::ops::reduce::walk::MAX_COUNT;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

pub(crate) mod bands;
mod fold;
pub(crate) mod geometry;
mod options;
mod parts;
mod plan;

use geometry::{Direction, Geometry};
pub use options::{Conv2dOptions, ConvOptions, ConvTransposeOptions};
pub(crate) use plan::{ConvParams, variants, writing_fused};
use plan::{Method, TILE, TILE_WG, Writes, choice, choose, params, plane_step, turns};

/// The operands of a call.
#[derive(Clone, Copy)]
struct Operands<'a> {
    x: &'a View,
    w: &'a View,
    bias: Option<&'a View>,
}

impl<'a> Operands<'a> {
    fn views(self) -> impl Iterator<Item = &'a View> {
        [Some(self.x), Some(self.w), self.bias]
            .into_iter()
            .flatten()
    }
}

impl Executor {
    /// Cross-correlation of `x` `[n, c, ..]` with the filters `w` `[m, c / groups, ..]`, plus `bias` `[m]`, into
    /// `out` `[n, m, ..]`, over 1 to 3 spatial axes. Computed in f32.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all have the same float dtype; [`KernelError::Operand`],
    /// [`KernelError::Operands`] and [`KernelError::Option`] where shapes or options do not fit;
    /// [`KernelError::Output`].
    pub fn conv<const N: usize>(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &ConvOptions<N>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.conv_into(Operands { x, w, bias }, options, out, None)
    }

    /// [`Self::conv`] that writes a value of an expression over the result: with an activation, a residual added, cast. The
    /// result itself has the dtype of [`Expression::made`](crate::Expression::made).
    ///
    /// # Errors
    /// Those of [`Self::conv`] for the result; [`KernelError::FusedTooLarge`] if one kernel cannot do it;
    /// [`KernelError::Dtype`] if `out` has not the value's dtype.
    pub fn conv_fused<const N: usize>(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &ConvOptions<N>,
        value: &FusedOutput<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let operands = Operands { x, w, bias };
        let epilogue = self.epilogue(value, out, operands.views().count() + 1)?;
        self.conv_into(operands, options, out, Some(&epilogue))
    }

    fn conv_into<const N: usize>(
        &self,
        operands: Operands<'_>,
        options: &ConvOptions<N>,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        check_dtypes(Direction::Forward.op(N), operands, made(out, epilogue))?;
        let Operands { x, w, bias } = operands;
        let g = Geometry::new(x.shape(), w.shape(), bias.map(View::shape), options)?;
        let part = &mut |operands: Operands<'_>, out: &View| {
            self.conv_into(operands, options, out, None).map(drop)
        };
        self.correlate(operands, &g, N, (out, epilogue), part)
    }

    /// [`Self::conv`] over two axes: `x` `[n, c, h, w]`, `w` `[m, c / groups, kh, kw]`.
    ///
    /// # Errors
    /// Like [`Self::conv`].
    pub fn conv2d(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &Conv2dOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.conv(x, w, bias, options, out)
    }

    /// The transpose of [`Self::conv`] (its gradient in x): `x` `[n, c, ..]`, `w` `[c, m / groups, ..]`, `bias` `[m]`, into
    /// `out` `[n, m, ..]` with `(S - 1) · stride + dilation · (K - 1) + 1 + output_padding - pads` elements per axis.
    ///
    /// # Errors
    /// Like [`Self::conv`].
    pub fn conv_transpose<const N: usize>(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &ConvTransposeOptions<N>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.conv_transpose_into(Operands { x, w, bias }, options, out, None)
    }

    /// [`Self::conv_transpose`] that writes a value of an expression over the result, as [`Self::conv_fused`] does.
    ///
    /// # Errors
    /// Like [`Self::conv_fused`].
    pub fn conv_transpose_fused<const N: usize>(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &ConvTransposeOptions<N>,
        value: &FusedOutput<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let operands = Operands { x, w, bias };
        let epilogue = self.epilogue(value, out, operands.views().count() + 1)?;
        self.conv_transpose_into(operands, options, out, Some(&epilogue))
    }

    fn conv_transpose_into<const N: usize>(
        &self,
        operands: Operands<'_>,
        options: &ConvTransposeOptions<N>,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        check_dtypes(Direction::Transposed.op(N), operands, made(out, epilogue))?;
        let Operands { x, w, bias } = operands;
        let g = Geometry::transposed(x.shape(), w.shape(), bias.map(View::shape), options)?;
        let part = &mut |operands: Operands<'_>, out: &View| {
            self.conv_transpose_into(operands, options, out, None)
                .map(drop)
        };
        self.correlate(operands, &g, N, (out, epilogue), part)
    }

    fn correlate(
        &self,
        operands: Operands<'_>,
        g: &Geometry,
        axes: usize,
        (out, epilogue): (&View, Option<&Epilogue>),
        part: &mut dyn FnMut(Operands<'_>, &View) -> Result<(), KernelError>,
    ) -> Result<Completion, KernelError> {
        let op = g.direction.op(axes);
        let expected = g.output_shape(axes)?;
        if expected != *out.shape() {
            return Err(KernelError::Output {
                op,
                expected: Box::new(expected),
                got: Box::new(*out.shape()),
            });
        }
        for count in [expected.len() as u64, g.depth() as u64] {
            if count > MAX_COUNT {
                return Err(KernelError::IndexTooLarge {
                    op,
                    elements: count,
                    limit: MAX_COUNT,
                });
            }
        }
        if expected.is_empty() {
            return Ok(self.completion());
        }
        let kind = (g.direction, g.groups);
        if self.conv_apart(op, kind, operands, (out, epilogue), part)? {
            return Ok(self.completion());
        }
        let mut inputs: Vec<&View> = operands.views().collect();
        inputs.extend(epilogue.into_iter().flat_map(Epilogue::views));
        self.with_dense_out(op, out, &inputs, |out| {
            if self.conv_bands(op, operands, g, axes, out)? {
                return Ok(());
            }
            self.launch_conv(op, operands, g, out, epilogue)
        })?;
        Ok(self.completion())
    }

    fn launch_conv(
        &self,
        op: &'static str,
        Operands { x, w, bias }: Operands<'_>,
        g: &Geometry,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<(), KernelError> {
        let limits = &self.device().caps().limits;
        let most = limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x);
        let mut method = choose(g, &x.layout, most);
        let taps = g.kernel.map(|taps| taps as u64);
        let extents = [g.channels as u64, taps[0], taps[1], taps[2]];
        let parts = parts(extents, self.most_turns(), |len| turns(g, method, len));
        let cut = parts.len() > 1;
        if cut && let Method::Pointwise { quads } = &mut method {
            *quads = false;
        }
        let sums =
            (cut.then(|| self.partials(x.dtype.compute(), out.len() as u64, 1))).transpose()?;
        let (image, filters, write) = (
            self.bind_read(op, x)?,
            self.bind_read(op, w)?,
            self.bind_write(op, sums.as_ref().unwrap_or(out))?,
        );
        let bound_bias = bias.map(|bias| self.bind_read(op, bias)).transpose()?;
        let mut params = ConvParams {
            x_offset: image.offset,
            w_offset: filters.offset,
            bias_offset: bound_bias.as_ref().map_or(0, |bias| bias.offset),
            bias_step: bias
                .and_then(|bias| bias.layout.strides().first())
                .map_or(0, |&step| wrap(step)),
            out_offset: write.offset,
            ..params(g, &x.layout, &w.layout)
        };
        if let Method::Pointwise { .. } = method {
            params.x_steps[2] = plane_step(g, &x.layout).map_or(0, wrap);
        }
        // A tile's batch is the group, and for a pointwise kernel the image too.
        let (columns, batches) = match method {
            Method::Pointwise { .. } => (g.plane(), g.batch as u64 * g.groups as u64),
            _ => (g.batch.saturating_mul(g.plane()), g.groups as u64),
        };
        let grid = if method == Method::Direct {
            let per_group = (g.filters as u64).max(1);
            Grid::elements(
                out.len() as u64 / per_group * (g.filters as u64).div_ceil(4),
                1,
            )
        } else {
            params.tiles_m = saturated((g.filters as u64).div_ceil(TILE));
            params.tiles_n = saturated((columns as u64).div_ceil(TILE));
            let tiles = u64::from(params.tiles_m) * u64::from(params.tiles_n) * batches;
            Grid::elements(tiles * u64::from(TILE_WG), 1)
        };
        let dense_rows = g.direction == Direction::Forward && w.layout.is_contiguous();
        let mut args = vec![image.arg, filters.arg, write.arg];
        args.extend(bound_bias.map(|bias| bias.arg));
        let choice = |dense_rows, writes| {
            choice(
                g.direction,
                x.dtype,
                method,
                g.is_volume(),
                dense_rows,
                bias.is_some(),
                writes,
            )
        };
        let Some(sums) = &sums else {
            let choice = choice(dense_rows, Writes::Results);
            return self.launch_writing(&choice, &args, &params, grid, epilogue);
        };
        for part in &parts {
            let dense = dense_rows && part.len.iter().skip(1).eq(&taps);
            let params = params.of_part(part);
            self.launch(&choice(dense, Writes::Sums), &args, &params, grid)?;
        }
        let count = g.depth() as u64;
        self.reduce_partials(Reduce::Sum, x.dtype, sums, count, out, epilogue)
    }
}

/// All operands must have the same float dtype.
fn check_dtypes(
    op: &'static str,
    Operands { x, w, bias }: Operands<'_>,
    made: DType,
) -> Result<(), KernelError> {
    if !x.dtype.is_float() {
        return Err(KernelError::Dtype {
            op,
            operand: "x",
            rule: "it must be a float",
            got: x.dtype,
        });
    }
    let bias = bias.map(|bias| bias.dtype);
    for (operand, dtype) in [("w", Some(w.dtype)), ("bias", bias), ("out", Some(made))] {
        if let Some(got) = dtype.filter(|&dtype| dtype != x.dtype) {
            return Err(KernelError::Dtype {
                op,
                operand,
                rule: "it must have the dtype of x",
                got,
            });
        }
    }
    Ok(())
}
