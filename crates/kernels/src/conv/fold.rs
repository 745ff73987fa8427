//! Fold (col2im): windows summed where they overlap, the transpose of cutting an image into windows.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use super::geometry::{Direction, Geometry, at_least_one, spread};
use super::options::ConvOptions;
use super::{ConvParams, params, vector, walk};
use crate::choice::KernelChoice;
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::prelude;
use crate::reduce::axes::wrap;
use crate::reduce::walk::{MAX_COUNT, narrow};
use crate::view::View;

const OP: &str = "fold";

pub(super) fn choice(dtype: DType) -> KernelChoice {
    KernelChoice::new(OP).name(dtype.name()).parts(&[
        prelude::FLOAT,
        prelude::load(dtype),
        prelude::store(dtype),
        prelude::cell(dtype),
        "conv/params.wgsl",
        "conv/common.wgsl",
        "conv/no_bias.wgsl",
        "conv/out_cell.wgsl",
        "conv/image.wgsl",
        walk(Direction::Transposed),
        "conv/taps.wgsl",
        "conv/fold.wgsl",
    ])
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
        let dtype = |operand, rule, got| KernelError::Dtype {
            op: OP,
            operand,
            rule,
            got,
        };
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
        self.with_dense_out(OP, out, &[columns], |out| {
            let (read, write) = (self.bind_read(OP, columns)?, self.bind_write(OP, out)?);
            let step = columns.layout.strides().get(2).copied().unwrap_or(0);
            let params = ConvParams {
                x_offset: read.offset,
                out_offset: write.offset,
                x_steps: [0, 0, wrap(step), 0],
                plane: narrow(g.plane() as u64),
                result: vector(g.output),
                ..params(&g, &columns.layout, &columns.layout)
            };
            let grid = Grid::elements(out.len() as u64, 1);
            self.launch(
                &choice(columns.dtype),
                &[read.arg, write.arg],
                &params,
                grid,
            )
        })?;
        Ok(self.completion())
    }
}

/// The transposed walk from the windows' grid (`input`) to the image (`output`).
fn geometry<const N: usize>(
    columns: &Shape,
    kernel: [usize; N],
    options: &ConvOptions<N>,
    out: &Shape,
) -> Result<Geometry, KernelError> {
    let operand = |operand, rule, got: &Shape| KernelError::Operand {
        op: OP,
        operand,
        rule,
        got: Box::new(*got),
    };
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
    let mut g = Geometry {
        direction: Direction::Transposed,
        batch,
        groups: 1,
        channels,
        filters: channels,
        input: [1; 3],
        kernel: at_least_one(OP, "kernel", spread(kernel, 1))?,
        output,
        strides: at_least_one(OP, "strides", spread(options.strides, 1))?,
        dilations: at_least_one(OP, "dilations", spread(options.dilations, 1))?,
        pads: spread(options.pads_begin, 0),
        pads_end: spread(options.pads_end, 0),
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
        return Err(KernelError::Operands {
            op: OP,
            rule: "columns must hold channels times taps of every window of the output",
            left: Box::new(*columns),
            right: Box::new(*out),
        });
    }
    Ok(g)
}
