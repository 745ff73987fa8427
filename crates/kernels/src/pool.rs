//! Two-dimensional maximum and average pooling, NCHW.
//!
//! One invocation per window. Maxima compare keys made from bits, so NaN wins and padding never does. One-dimensional
//! pooling is the case of height 1; pooling over whole planes is a reduction.

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
use crate::reduce::lowest_key;
use crate::reduce::walk::{MAX_COUNT, narrow};
use crate::view::View;

mod geometry;

pub use geometry::pool2d_extents;

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
            Self::Max => "max_pool2d",
            Self::Average => "avg_pool2d",
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
}

/// Windows of a pooling, all pairs `[height, width]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pool2dOptions {
    /// Window extents.
    pub kernel: [usize; 2],
    /// Steps between windows.
    pub strides: [usize; 2],
    /// Steps between a window's elements.
    pub dilations: [usize; 2],
    /// Padding before the first row and column.
    pub pads_begin: [usize; 2],
    /// Padding after the last row and column.
    pub pads_end: [usize; 2],
    /// Round the number of windows up, so that a partial window at the end counts.
    pub ceil_mode: bool,
    /// Averages divide by the window's positions in the padded input, not in the input alone.
    pub count_include_pad: bool,
}

impl Pool2dOptions {
    /// Windows side by side: strides equal to the kernel, no padding.
    #[must_use]
    pub const fn new(kernel: [usize; 2]) -> Self {
        Self {
            kernel,
            strides: kernel,
            dilations: [1, 1],
            pads_begin: [0, 0],
            pads_end: [0, 0],
            ceil_mode: false,
            count_include_pad: false,
        }
    }
}

params! {
    /// Parameters of the pooling kernels.
    pub(crate) struct PoolParams {
        outputs: u32,
        channels: u32,
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
        pad_end_h: u32,
        pad_end_w: u32,
        offset: u32,
        out_offset: u32,
        identity: u32,
        include_pad: u32,
        strides: [u32; 4],
    }
}

fn choice(op: Pool, dtype: DType) -> KernelChoice {
    let choice = KernelChoice::new(op.name()).name(dtype.name()).parts(&[
        prelude::FLOAT,
        prelude::load(dtype),
        prelude::store(dtype),
        prelude::cell(dtype),
        "pool/params.wgsl",
    ]);
    let choice = match (op, dtype.is_float()) {
        (Pool::Average, _) => choice.part("pool/average.wgsl"),
        (Pool::Max, true) => choice
            .parts(&["reduce/key/float.wgsl", "pool/max.wgsl"])
            .constant("LEAST", 0),
        (Pool::Max, false) => choice
            .parts(&["reduce/key/int.wgsl", "pool/max.wgsl"])
            .constant("LEAST", 0),
    };
    choice.part("pool/body.wgsl")
}

/// The strides of an operand that has rank 4.
fn strides(view: &View) -> [u32; 4] {
    let mut strides = [0; 4];
    for (slot, &stride) in strides.iter_mut().zip(view.layout.strides()) {
        *slot = wrap(stride);
    }
    strides
}

fn params(
    op: Pool,
    x: &View,
    [_, channels, height, width]: [usize; 4],
    out: &View,
    o: &Pool2dOptions,
) -> PoolParams {
    let n = |value: usize| narrow(value as u64);
    let extent = |axis: usize| out.dims().get(axis).map_or(0, |&dim| n(dim));
    PoolParams {
        outputs: n(out.len()),
        channels: n(channels),
        height: n(height),
        width: n(width),
        out_h: extent(2),
        out_w: extent(3),
        kernel_h: n(o.kernel[0]),
        kernel_w: n(o.kernel[1]),
        stride_h: n(o.strides[0]),
        stride_w: n(o.strides[1]),
        dilation_h: n(o.dilations[0]),
        dilation_w: n(o.dilations[1]),
        pad_h: n(o.pads_begin[0]),
        pad_w: n(o.pads_begin[1]),
        pad_end_h: n(o.pads_end[0]),
        pad_end_w: n(o.pads_end[1]),
        identity: match op {
            Pool::Max => lowest_key(x.dtype, false),
            Pool::Average => 0,
        },
        include_pad: u32::from(o.count_include_pad),
        strides: strides(x),
        ..PoolParams::default()
    }
}

/// Both poolings for every dtype they accept.
pub(crate) fn variants() -> Vec<Candidate> {
    let all = Pool::ALL
        .into_iter()
        .flat_map(|op| DType::ALL.into_iter().map(move |dtype| (op, dtype)));
    all.filter(|(op, dtype)| op.accepts(*dtype))
        .map(|(op, dtype)| Candidate::new(choice(op, dtype), PoolParams::FIELDS))
        .collect()
}

impl Executor {
    /// Pools the last two axes of `x` `[n, c, h, w]` into `out` `[n, c, out_h, out_w]`; [`pool2d_extents`] gives the
    /// extents.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Pool::accepts`] says no or the dtypes differ; [`KernelError::Operand`] for another
    /// rank; [`KernelError::Option`] for impossible windows; [`KernelError::Output`].
    pub fn pool2d(
        &self,
        op: Pool,
        x: &View,
        options: &Pool2dOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        if !op.accepts(x.dtype) {
            let rule = "maxima need numbers, averages floats";
            return Err(KernelError::Dtype {
                op: name,
                operand: "x",
                rule,
                got: x.dtype,
            });
        }
        if out.dtype != x.dtype {
            return Err(KernelError::Dtype {
                op: name,
                operand: "out",
                rule: "it must have the dtype of x",
                got: out.dtype,
            });
        }
        let &[batch, channels, height, width] = x.dims() else {
            let rule = "must have rank 4 (batch, channels, height, width)";
            return Err(KernelError::Operand {
                op: name,
                operand: "x",
                rule,
                got: Box::new(*x.shape()),
            });
        };
        let [out_h, out_w] = pool2d_extents([height, width], options)?;
        let expected =
            Shape::new([batch, channels, out_h, out_w]).map_err(KernelError::shape(name))?;
        if expected != *out.shape() {
            return Err(KernelError::Output {
                op: name,
                expected: Box::new(expected),
                got: Box::new(*out.shape()),
            });
        }
        if expected.len() as u64 > MAX_COUNT {
            return Err(KernelError::IndexTooLarge {
                op: name,
                elements: expected.len() as u64,
                limit: MAX_COUNT,
            });
        }
        if expected.is_empty() {
            return Ok(self.completion());
        }
        self.with_dense_out(name, out, &[x], |out| {
            let (read, write) = (self.bind_read(name, x)?, self.bind_write(name, out)?);
            let params = PoolParams {
                offset: read.offset,
                out_offset: write.offset,
                ..params(op, x, [batch, channels, height, width], out, options)
            };
            self.launch(
                &choice(op, x.dtype),
                &[read.arg, write.arg],
                &params,
                Grid::elements(out.len() as u64, 1),
            )
        })?;
        Ok(self.completion())
    }
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
