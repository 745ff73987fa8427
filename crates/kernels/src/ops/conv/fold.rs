//! Fold (col2im): windows summed where they overlap, the transpose of cutting an image into windows.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::Seen;
use super::geometry::{Direction, Geometry, at_least_one};
use super::options::ConvOptions;
use super::plan::{ConvParams, Method, Writes, front, iterations, params, taps_of};
use crate::limits::budget::parts;
use crate::num::saturated;
use crate::num::wrap;
use crate::ops::reduce::add_sums;
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::ops::spatial::{spread, vector};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::choice::KernelChoice;
use crate::source::prelude;

const OP: &str = "fold";

/// The kernel; `vec4`: four results of a row at a time.
fn choice(dtype: DType, volume: bool, writes: Writes, vec4: bool) -> KernelChoice {
    let choice = KernelChoice::new(OP)
        .constant("VOLUME", u32::from(volume))
        .name(dtype.name())
        .parts(&[prelude::FLOAT, prelude::load(dtype), prelude::store(dtype)]);
    let choice = match (writes, vec4) {
        (Writes::Sums, _) => choice.name("sums").part("conv/out_sum.wgsl"),
        (_, true) => choice.name("vec4").vec4().part("conv/out_vec4.wgsl"),
        (_, false) => choice.cell(dtype).part("conv/out_element.wgsl"),
    };
    let choice = choice.parts(&[
        "conv/params.wgsl",
        "conv/common.wgsl",
        "conv/no_bias.wgsl",
        "conv/image.wgsl",
    ]);
    body(choice, vec4)
}

/// Appends what adds up windows where they overlap.
pub(super) fn body(choice: KernelChoice, vec4: bool) -> KernelChoice {
    choice
        .parts(&[
            taps_of(Direction::Transposed),
            "conv/taps.wgsl",
            "conv/along.wgsl",
        ])
        .part(if vec4 {
            "conv/fold_vec4.wgsl"
        } else {
            "conv/fold_elements.wgsl"
        })
        .part("conv/fold.wgsl")
}

/// Iterations of the loops of an invocation for some of the taps along each axis.
pub(super) fn additions(g: &Geometry, extents: [u64; 4]) -> u64 {
    let [.., width] = extents;
    // First taps are looked for four times along the width.
    let further = 3 * width.min(g.tap_step(2)) + 4;
    iterations(g, Method::Direct, extents).saturating_add(further)
}

/// One invocation for four outputs of a row of so many planes.
pub(super) fn grid(planes: u64, g: &Geometry) -> Grid {
    let [depth, height, width] = g.output.map(|extent| extent as u64);
    let of_plane = depth
        .saturating_mul(height)
        .saturating_mul(width.div_ceil(4));
    Grid::elements(planes.saturating_mul(of_plane), 1)
}

/// Every kernel of a dtype, for the catalogue.
pub(super) fn variants(dtype: DType) -> [KernelChoice; 3] {
    let results = |vec4| choice(dtype, vec4, Writes::Results, vec4);
    [
        results(false),
        results(true),
        choice(dtype, true, Writes::Sums, false),
    ]
}

impl Executor {
    /// Sums the windows `columns` `[n, c · taps, windows]` into `out` `[n, c, ..]` where they overlap; windows are those
    /// that a convolution with this kernel and these options sees in `out`, row-major, as are the taps. Computed in f32.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless both have the same float dtype; [`KernelError::Operand`], [`KernelError::Operands`] and
    /// [`KernelError::Option`] where shapes or options do not fit.
    pub fn fold<const N: usize>(
        &self,
        columns: &View,
        kernel: [usize; N],
        options: &ConvOptions<N>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let dtype = |operand, rule, got| KernelError::dtype(OP, operand, rule, got);
        if !columns.dtype.is_float() {
            return Err(dtype("columns", "it must be a float", columns.dtype));
        }
        if out.dtype != columns.dtype {
            return Err(dtype("out", "it must have the dtype of columns", out.dtype));
        }
        let g = geometry(columns.shape(), kernel, options, out.shape())?;
        if out.len() as u64 > MAX_COUNT {
            return Err(KernelError::IndexTooLarge {
                op: OP,
                elements: out.len() as u64,
                limit: MAX_COUNT,
            });
        }
        if out.is_empty() {
            return Ok(self.completion());
        }
        let joints = || vec![[Some(0); 2]];
        let each = |[columns, out]: &[View; 2]| self.fold(columns, kernel, options, out);
        self.whole_or_split(OP, [columns, out], joints, each, |out| {
            let taps = g.kernel.map(|taps| taps as u64);
            let extents = [1, taps[0], taps[1], taps[2]];
            let parts = parts(extents, self.max_iterations(), |len| additions(&g, len));
            let cut = parts.len() > 1;
            let sums = (cut.then(|| self.partials(DType::F32, out.len() as u64, 1))).transpose()?;
            let target = sums.as_ref().unwrap_or(out);
            let (read, write) = (self.bind_read(OP, columns)?, self.bind_write(OP, target)?);
            let seen = Seen {
                dtype: columns.dtype,
                x: &columns.layout,
                w: &columns.layout,
                w_group: 0,
                bias_step: None,
            };
            let step = columns.layout.strides().get(2).copied().unwrap_or(0);
            let params = ConvParams {
                x_offset: read.offset,
                out_offset: write.offset,
                x_steps: [0, 0, wrap(step), 0],
                plane: saturated(g.plane() as u64),
                result: vector(g.output),
                ..params(&g, seen)
            };
            // Taps lie behind each other as the windows' rows do.
            let [_, height, width] = g.kernel.map(|taps| saturated(taps as u64));
            let row = wrap(front(&columns.layout).1);
            let line = width.wrapping_mul(row);
            let params = ConvParams {
                groups: 1,
                x_channel: 0,
                x_group: saturated(g.taps() as u64).wrapping_mul(row),
                w_steps: [height.wrapping_mul(line), line, row, 0],
                w_offset: 0,
                ..params
            };
            let vec4 = !cut && g.output[2].is_multiple_of(4) && out.is_vec4();
            let grid = grid(g.batch as u64 * g.channels as u64, &g);
            let args = [read.arg, write.arg];
            let Some(sums) = &sums else {
                return self.launch(
                    &choice(columns.dtype, g.is_volume(), Writes::Results, vec4),
                    &args,
                    &params,
                    grid,
                );
            };
            let choice = choice(columns.dtype, g.is_volume(), Writes::Sums, false);
            for part in &parts {
                let some = ConvParams {
                    channels: params.channels,
                    ..params.of_part(part)
                };
                let some = ConvParams {
                    x_offset: some.x_offset.wrapping_add(some.w_offset),
                    ..some
                };
                self.launch(&choice, &args, &some, grid)?;
            }
            let totals = [out.len() as u64, g.taps() as u64];
            self.run_planned(OP, &Ends::plain(sums, out), |p| {
                let (read, write) = (p.first()?, p.raw_out()?);
                add_sums(p, columns.dtype, (read, 1), totals, write);
                Ok(())
            })
        })
    }
}

/// The transposed mapping from the windows' grid (`input`) to the image (`output`).
fn geometry<const N: usize>(
    columns: &Shape,
    kernel: [usize; N],
    options: &ConvOptions<N>,
    out: &Shape,
) -> Result<Geometry, KernelError> {
    let operand = |operand, rule, got: &Shape| KernelError::operand(OP, operand, rule, *got);
    let &[batch, rows, windows] = columns.dims() else {
        return Err(operand(
            "columns",
            "must be [batch, channels * taps, windows]",
            columns,
        ));
    };
    let (&[out_batch, channels, ..], true) = (out.dims(), out.rank() == N + 2 && N <= 3) else {
        return Err(operand(
            "out",
            "must have a batch, a channel and 1 to 3 spatial axes",
            out,
        ));
    };
    let mut output = [1; 3];
    for (slot, &dim) in output.iter_mut().rev().zip(out.dims().iter().skip(2).rev()) {
        *slot = dim;
    }
    let options = options.padded(OP, kernel)?;
    let mut g = Geometry {
        direction: Direction::Transposed,
        batch,
        groups: 1,
        channels,
        filters: channels,
        input: [1; 3],
        kernel: at_least_one(OP, "kernel", spread(kernel, 1))?,
        output,
        stride: at_least_one(OP, "stride", spread(options.stride, 1))?,
        dilation: at_least_one(OP, "dilation", spread(options.dilation, 1))?,
        pads: spread(options.padding_begin, 0),
        padding_end: spread(options.padding_end, 0),
    };
    g.input = g.positions(OP, output, || {
        operand(
            "out",
            "must be, with its padding, at least as large as the dilated kernel",
            out,
        )
    })?;
    let grid = g.input.iter().fold(1_usize, |n, &i| n.saturating_mul(i));
    let fits =
        out_batch == batch && channels.checked_mul(g.taps()) == Some(rows) && grid == windows;
    if !fits {
        return Err(KernelError::operands(
            OP,
            "columns must hold channels times taps of every window of the output",
            *columns,
            *out,
        ));
    }
    Ok(g)
}
