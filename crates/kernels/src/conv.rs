//! Two-dimensional cross-correlation ("convolution" in neural networks), NCHW by OIHW.
//!
//! Many filters per group: the tiled matrix kernel with the image gathered on the fly (implicit GEMM; the matrix is
//! never stored). Few, depthwise among them: a direct kernel. One-dimensional convolution is the case of height 1.
//! Invariant: padding is zeros and is never read from memory. Whether an infinite weight over padding gives NaN
//! (inf · 0) is not promised: the tiled kernel multiplies, the direct one skips.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::catalogue::Candidate;
use crate::choice::KernelChoice;
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::params::{Params, params};
use crate::prelude;
use crate::reduce::axes::wrap;
use crate::reduce::walk::{MAX_COUNT, narrow};
use crate::view::View;

pub(crate) mod geometry;

use geometry::Geometry;

const OP: &str = "conv2d";

/// Strides, padding, dilation (all `[height, width]`) and groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv2dOptions {
    /// Steps between outputs; 1 by default.
    pub strides: [usize; 2],
    /// Zeros before the first row and column.
    pub pads_begin: [usize; 2],
    /// Zeros after the last row and column.
    pub pads_end: [usize; 2],
    /// Steps between kernel taps; 1 by default.
    pub dilations: [usize; 2],
    /// Channels and filters are split into this many independent groups; 1 by default.
    pub groups: usize,
}

impl Default for Conv2dOptions {
    fn default() -> Self {
        Self {
            strides: [1, 1],
            pads_begin: [0, 0],
            pads_end: [0, 0],
            dilations: [1, 1],
            groups: 1,
        }
    }
}

params! {
    /// Parameters of the convolution kernels.
    pub(crate) struct ConvParams {
        batch: u32,
        groups: u32,
        channels: u32,
        filters: u32,
        height: u32,
        width: u32,
        out_h: u32,
        out_w: u32,
        kernel_h: u32,
        kernel_w: u32,
        stride_h: u32,
        stride_w: u32,
        dilation_h: u32,
        dilation_w: u32,
        pad_h: u32,
        pad_w: u32,
        x_offset: u32,
        w_offset: u32,
        bias_offset: u32,
        bias_step: u32,
        out_offset: u32,
        tiles_m: u32,
        tiles_n: u32,
        k: u32,
        x_strides: [u32; 4],
        w_strides: [u32; 4],
    }
}

/// The kernel of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Method {
    /// Four filters of one position per invocation.
    Direct,
    /// 64 × 64 tiles of (filters, positions).
    Tiled,
}

/// Side of a tile and invocations of its workgroup, as in `matmul/tile.wgsl`.
const TILE: u64 = 64;
const TILE_WG: u32 = 256;
/// Fewest filters per group, and products per output, for which tiles are not mostly empty.
const MIN_FILTERS: usize = 16;
const MIN_DEPTH: usize = 16;

fn choose(g: &Geometry, max_invocations: u32) -> Method {
    let positions = g
        .batch
        .saturating_mul(g.output[0])
        .saturating_mul(g.output[1]);
    let full = g.filters >= MIN_FILTERS && g.depth() >= MIN_DEPTH && positions >= MIN_FILTERS;
    if full && max_invocations >= TILE_WG {
        Method::Tiled
    } else {
        Method::Direct
    }
}

fn choice(dtype: DType, method: Method, bias: bool) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .name(dtype.name())
        .name(if bias { "bias" } else { "no_bias" })
        .parts(&[
            prelude::FLOAT,
            prelude::load(dtype),
            prelude::store(dtype),
            prelude::cell(dtype),
            "conv/params.wgsl",
        ])
        .part(if bias {
            "conv/bias.wgsl"
        } else {
            "conv/no_bias.wgsl"
        })
        .without_zeroed_memory();
    match method {
        Method::Direct => choice.name("direct").part("conv/direct.wgsl"),
        Method::Tiled => choice
            .name("tiled")
            .parts(&["conv/gather.wgsl", "matmul/tile.wgsl"])
            .constant("WG", TILE_WG)
            .constant("A_ALONG_DEPTH", 1)
            .constant("B_ALONG_DEPTH", 0),
    }
}

fn params(g: &Geometry, o: &Conv2dOptions) -> ConvParams {
    let n = |value: usize| narrow(value as u64);
    let positions = g.batch as u64 * g.output[0] as u64 * g.output[1] as u64;
    ConvParams {
        batch: n(g.batch),
        groups: n(o.groups),
        channels: n(g.channels),
        filters: n(g.filters),
        height: n(g.input[0]),
        width: n(g.input[1]),
        out_h: n(g.output[0]),
        out_w: n(g.output[1]),
        kernel_h: n(g.kernel[0]),
        kernel_w: n(g.kernel[1]),
        stride_h: n(o.strides[0]),
        stride_w: n(o.strides[1]),
        dilation_h: n(o.dilations[0]),
        dilation_w: n(o.dilations[1]),
        pad_h: n(o.pads_begin[0]),
        pad_w: n(o.pads_begin[1]),
        tiles_m: narrow((g.filters as u64).div_ceil(TILE)),
        tiles_n: narrow(positions.div_ceil(TILE)),
        k: n(g.depth()),
        ..ConvParams::default()
    }
}

/// The strides of an operand that has rank 4.
pub(crate) fn strides(view: &View) -> [u32; 4] {
    let mut strides = [0; 4];
    for (slot, &stride) in strides.iter_mut().zip(view.layout.strides()) {
        *slot = wrap(stride);
    }
    strides
}

/// Both kernels, with and without bias, for every float dtype.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for method in [Method::Direct, Method::Tiled] {
            for bias in [false, true] {
                all.push(Candidate::new(
                    choice(dtype, method, bias),
                    ConvParams::FIELDS,
                ));
            }
        }
    }
    all
}

impl Executor {
    /// Cross-correlation of `x` `[n, c, h, w]` with the filters `w` `[m, c / groups, kh, kw]`, plus `bias` `[m]`, into
    /// `out` `[n, m, out_h, out_w]`. Computed in f32.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all have the same float dtype; [`KernelError::Operand`],
    /// [`KernelError::Operands`] and [`KernelError::Option`] where shapes or options do not fit;
    /// [`KernelError::Output`].
    pub fn conv2d(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &Conv2dOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        if !x.dtype.is_float() {
            return Err(KernelError::Dtype {
                op: OP,
                operand: "x",
                rule: "it must be a float",
                got: x.dtype,
            });
        }
        let others = [("w", Some(w)), ("bias", bias), ("out", Some(out))];
        for (operand, view) in others {
            if let Some(view) = view.filter(|view| view.dtype != x.dtype) {
                return Err(KernelError::Dtype {
                    op: OP,
                    operand,
                    rule: "it must have the dtype of x",
                    got: view.dtype,
                });
            }
        }
        let g = Geometry::new(x.shape(), w.shape(), bias.map(View::shape), options)?;
        let dims = [
            g.batch,
            g.filters.saturating_mul(options.groups),
            g.output[0],
            g.output[1],
        ];
        let expected = Shape::new(dims).map_err(KernelError::shape(OP))?;
        if expected != *out.shape() {
            return Err(KernelError::Output {
                op: OP,
                expected: Box::new(expected),
                got: Box::new(*out.shape()),
            });
        }
        for count in [expected.len() as u64, g.depth() as u64] {
            if count > MAX_COUNT {
                return Err(KernelError::IndexTooLarge {
                    op: OP,
                    elements: count,
                    limit: MAX_COUNT,
                });
            }
        }
        if expected.is_empty() {
            return Ok(self.completion());
        }
        let inputs: Vec<&View> = [Some(x), Some(w), bias].into_iter().flatten().collect();
        self.with_dense_out(OP, out, &inputs, |out| {
            self.correlate(x, w, bias, options, &g, out)
        })?;
        Ok(self.completion())
    }

    fn correlate(
        &self,
        x: &View,
        w: &View,
        bias: Option<&View>,
        options: &Conv2dOptions,
        g: &Geometry,
        out: &View,
    ) -> Result<(), KernelError> {
        let limits = &self.device().caps().limits;
        let most = limits
            .max_compute_invocations_per_workgroup
            .min(limits.max_compute_workgroup_size_x);
        let method = choose(g, most);
        let (image, filters, write) = (
            self.bind_read(OP, x)?,
            self.bind_read(OP, w)?,
            self.bind_write(OP, out)?,
        );
        let bound_bias = bias.map(|bias| self.bind_read(OP, bias)).transpose()?;
        let mut params = ConvParams {
            x_offset: image.offset,
            w_offset: filters.offset,
            bias_offset: bound_bias.as_ref().map_or(0, |bias| bias.offset),
            bias_step: bias
                .and_then(|bias| bias.layout.strides().first())
                .map_or(0, |&step| wrap(step)),
            out_offset: write.offset,
            x_strides: strides(x),
            w_strides: strides(w),
            ..params(g, options)
        };
        let grid = match method {
            Method::Direct => {
                let blocks =
                    out.len() as u64 / (g.filters as u64).max(1) * (g.filters as u64).div_ceil(4);
                params.tiles_m = 0;
                Grid::elements(blocks, 1)
            }
            Method::Tiled => {
                let tiles =
                    u64::from(params.tiles_m) * u64::from(params.tiles_n) * options.groups as u64;
                // The tiled body's batch is the group.
                Grid::elements(tiles * u64::from(TILE_WG), 1)
            }
        };
        let mut args = vec![image.arg, filters.arg];
        args.extend(bound_bias.map(|bias| bias.arg));
        args.push(write.arg);
        self.launch(
            &choice(x.dtype, method, bias.is_some()),
            &args,
            &params,
            grid,
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn method(x: [usize; 4], w: [usize; 4], groups: usize, most: u32) -> Method {
        let options = Conv2dOptions {
            groups,
            ..Conv2dOptions::default()
        };
        let g = Geometry::new(
            &Shape::new(x).unwrap(),
            &Shape::new(w).unwrap(),
            None,
            &options,
        )
        .unwrap();
        choose(&g, most)
    }

    #[test]
    fn many_filters_take_the_tiled_kernel_and_few_the_direct_one() {
        assert_eq!(
            method([1, 16, 28, 28], [32, 16, 3, 3], 1, 256),
            Method::Tiled
        );
        assert_eq!(
            method([1, 16, 28, 28], [32, 16, 3, 3], 1, 128),
            Method::Direct
        );
        assert_eq!(
            method([1, 32, 28, 28], [32, 1, 3, 3], 32, 256),
            Method::Direct
        );
        assert_eq!(
            method([1, 1, 28, 28], [32, 1, 3, 3], 1, 256),
            Method::Direct
        );
        assert_eq!(
            method([1, 16, 3, 3], [32, 16, 3, 3], 1, 256),
            Method::Direct
        );
    }
}
