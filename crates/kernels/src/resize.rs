//! Resampling of up to three axes: nearest, linear, cubic, with and without antialiasing.
//!
//! Indices and weights per axis are computed on the host in f64 and cached on the device, so that no adapter's rounding
//! moves a nearest element; the kernel only gathers. Invariant: an element without weight has no part in an output.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::catalogue::Candidate;
use crate::choice::KernelChoice;
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::params::{Params, params};
use crate::prelude;
use crate::reduce::axes::{pack, wrap};
use crate::reduce::walk::{MAX_COUNT, narrow};
use crate::view::View;

mod taps;

pub(crate) use taps::Axis;
pub use taps::{Coordinates, NearestMode, ResizeAxis, ResizeMode, ResizeOptions};

const OP: &str = "resize";
/// Axes that one kernel resamples.
const SLOTS: usize = 3;

params! {
    /// Parameters of the resampling kernels.
    pub(crate) struct ResizeParams {
        outputs: u32,
        offset: u32,
        out_offset: u32,
        extrapolation: f32,
        starts: [u32; 4],
        taps: [u32; 4],
        steps: [u32; 4],
        dims: [[u32; 4]; 2],
        strides: [[u32; 4]; 2],
        slots: [[u32; 4]; 2],
    }
}

fn choice(dtype: DType, nearest: bool, rank: usize) -> KernelChoice {
    KernelChoice::new(if nearest { "resize_nearest" } else { OP })
        .name(dtype.name())
        .parts(&[
            prelude::FLOAT,
            prelude::load(dtype),
            prelude::store(dtype),
            prelude::cell(dtype),
            "resize/params.wgsl",
            "resize/out_cell.wgsl",
            if nearest {
                "resize/nearest.wgsl"
            } else {
                "resize/weighted.wgsl"
            },
        ])
        .constant("RANK", rank as f64)
}

/// Copies for every dtype, weights for floats.
pub(crate) fn variants() -> Vec<Candidate> {
    let copies = DType::ALL.into_iter().map(|dtype| choice(dtype, true, 4));
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    copies
        .chain(floats.map(|dtype| choice(dtype, false, 4)))
        .map(|choice| Candidate::new(choice, ResizeParams::FIELDS))
        .collect()
}

impl Executor {
    /// Resamples `x` to the extents of `out`, each axis as its entry of `axes` says. Up to three axes may change. Floats are
    /// computed in f32; nearest elements are copied, whatever their dtype.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the dtypes differ, or are no floats with weights; [`KernelError::Operands`] unless `axes`,
    /// `x` and `out` have the same rank and at most three axes change; [`KernelError::Operand`] for a changed axis without
    /// elements; [`KernelError::Option`] for a scale that is not positive and finite.
    pub fn resize(
        &self,
        x: &View,
        axes: &[ResizeAxis],
        options: &ResizeOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let nearest = matches!(options.mode, ResizeMode::Nearest(_));
        let dtype = |operand, rule, got| KernelError::Dtype {
            op: OP,
            operand,
            rule,
            got,
        };
        if !nearest && !x.dtype.is_float() {
            return Err(dtype("x", "only floats can be weighted", x.dtype));
        }
        if out.dtype != x.dtype {
            return Err(dtype("out", "it must have the dtype of x", out.dtype));
        }
        let operands = |rule| KernelError::Operands {
            op: OP,
            rule,
            left: Box::new(*x.shape()),
            right: Box::new(*out.shape()),
        };
        if axes.len() != x.rank() || out.rank() != x.rank() {
            return Err(operands(
                "input, output and scales must have one entry per axis",
            ));
        }
        if out.len() as u64 > MAX_COUNT {
            return Err(KernelError::IndexTooLarge {
                op: OP,
                elements: out.len() as u64,
                limit: MAX_COUNT,
            });
        }
        let mut changed = Vec::new();
        for (at, ((&input, &output), &axis)) in
            x.dims().iter().zip(out.dims()).zip(axes).enumerate()
        {
            if let Some(scale) = axis
                .scale
                .filter(|scale| !(scale.is_finite() && *scale > 0.0))
            {
                return Err(KernelError::Option {
                    op: OP,
                    option: "scale",
                    rule: "must be positive and finite",
                    got: scale as i64,
                });
            }
            let axis = Axis {
                input,
                output,
                axis,
            };
            if !axis.is_identity(options) {
                changed.push((at, axis));
            }
        }
        if changed.len() > SLOTS {
            return Err(operands("at most 3 axes can be resampled at once"));
        }
        if out.is_empty() {
            return Ok(self.completion());
        }
        if x.is_empty() {
            return Err(KernelError::Operand {
                op: OP,
                operand: "x",
                rule: "must have elements to resample",
                got: Box::new(*x.shape()),
            });
        }
        self.with_dense_out(OP, out, &[x], |out| {
            self.resample(x, &changed, options, nearest, out)
        })?;
        Ok(self.completion())
    }

    fn resample(
        &self,
        x: &View,
        changed: &[(usize, Axis)],
        options: &ResizeOptions,
        nearest: bool,
        out: &View,
    ) -> Result<(), KernelError> {
        // One element with weight 1 for slots without an axis.
        let mut words = vec![0, 1.0_f32.to_bits()];
        let mut params = ResizeParams {
            outputs: narrow(out.len() as u64),
            extrapolation: options.extrapolation,
            taps: [1; 4],
            dims: pack(out.dims().iter().map(|&dim| narrow(dim as u64))),
            strides: pack(x.layout.strides().iter().map(|&stride| wrap(stride))),
            ..ResizeParams::default()
        };
        let key: Vec<u64> = changed
            .iter()
            .flat_map(|(_, axis)| axis.key(options))
            .collect();
        let mut slots = [SLOTS as u32; 8];
        // Slots fill from the end, so that a single axis is the innermost loop.
        for (slot, &(at, axis)) in (0..SLOTS).rev().zip(changed.iter().rev()) {
            let (count, table) = axis.table(options);
            if let (Some(start), Some(taps), Some(step), Some(name)) = (
                params.starts.get_mut(slot),
                params.taps.get_mut(slot),
                params.steps.get_mut(slot),
                slots.get_mut(at),
            ) {
                *start = narrow(words.len() as u64);
                *taps = narrow(count as u64);
                *step = x.layout.strides().get(at).map_or(0, |&stride| wrap(stride));
                *name = slot as u32;
            }
            words.extend(table);
        }
        params.slots = pack(slots);
        let shape = Shape::new([words.len()]).map_err(KernelError::shape(OP))?;
        let table = self.table(key, &words, &shape)?;
        let (read, weights, write) = (
            self.bind_read(OP, x)?,
            self.bind_read(OP, &table)?,
            self.bind_write(OP, out)?,
        );
        let params = ResizeParams {
            offset: read.offset,
            out_offset: write.offset,
            starts: params.starts.map(|start| start + weights.offset),
            ..params
        };
        self.launch(
            &choice(x.dtype, nearest, x.rank()),
            &[read.arg, weights.arg, write.arg],
            &params,
            Grid::elements(out.len() as u64, 1),
        )
    }
}
