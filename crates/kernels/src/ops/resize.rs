//! Resampling of up to three axes: nearest, linear, cubic, with and without antialiasing.
//!
//! Indices and weights per axis are computed on the host in f64 and cached on the device, so that no adapter's rounding
//! moves a nearest element; the kernel only gathers. Invariant: an element without weight has no part in an output.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::{Arg, Grid};

use crate::limits::budget::{nested, parts};
use crate::limits::split::alike;
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::geometry::MAX_COUNT;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

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
        first_tap: [u32; 4],
        end_tap: [u32; 4],
        resumed: u32,
        reserved_0: u32,
        reserved_1: u32,
        reserved_2: u32,
    }
}

/// What a resampling kernel does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// Copies the nearest elements.
    Nearest,
    /// Adds up weighted elements.
    Weighted,
    /// Adds up some of them, for another dispatch to go on with.
    Some,
    /// Adds the last of them.
    Last,
}

impl Job {
    const WEIGHTED: [Self; 3] = [Self::Weighted, Self::Some, Self::Last];

    const fn names(self) -> [&'static str; 2] {
        match self {
            Self::Nearest => ["resize_nearest", ""],
            Self::Weighted => [OP, ""],
            Self::Some => [OP, "some"],
            Self::Last => [OP, "last"],
        }
    }

    const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Nearest => &["resize/out_element.wgsl", "resize/nearest.wgsl"],
            Self::Weighted => &[
                "resize/out_element.wgsl",
                "resize/no_state.wgsl",
                "resize/weighted.wgsl",
            ],
            Self::Some => &["resize/out_sum.wgsl", "resize/weighted.wgsl"],
            Self::Last => &[
                "resize/out_element.wgsl",
                "resize/state.wgsl",
                "resize/weighted.wgsl",
            ],
        }
    }
}

fn choice(dtype: DType, job: Job, rank: usize) -> KernelChoice {
    let [family, stage] = job.names();
    let mut choice = KernelChoice::new(family).name(dtype.name());
    if !stage.is_empty() {
        choice = choice.name(stage);
    }
    let choice = choice.parts(&[prelude::FLOAT, prelude::load(dtype), prelude::store(dtype)]);
    let choice = match job {
        Job::Some => choice,
        _ => choice.part(prelude::cell(dtype)),
    };
    choice
        .part("resize/params.wgsl")
        .parts(job.parts())
        .constant("RANK", rank as f64)
}

/// Copies for every dtype, weights for floats.
pub(crate) fn variants() -> Vec<Candidate> {
    let copies = (DType::ALL.into_iter()).map(|dtype| choice(dtype, Job::Nearest, 4));
    let floats = DType::ALL.into_iter().filter(|dtype| dtype.is_float());
    copies
        .chain(floats.flat_map(|dtype| Job::WEIGHTED.map(|job| choice(dtype, job, 4))))
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
        let dtype = |operand, rule, got| KernelError::dtype(OP, operand, rule, got);
        if !nearest && !x.dtype.is_float() {
            return Err(dtype("x", "only floats can be weighted", x.dtype));
        }
        if out.dtype != x.dtype {
            return Err(dtype("out", "it must have the dtype of x", out.dtype));
        }
        let operands = |rule| KernelError::operands(OP, rule, *x.shape(), *out.shape());
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
                return Err(KernelError::option(
                    OP,
                    "scale",
                    "must be positive and finite",
                    scale as i64,
                ));
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
            return Err(KernelError::operand(
                OP,
                "x",
                "must have elements to resample",
                *x.shape(),
            ));
        }
        let joints = || alike(x.rank(), |at| changed.iter().any(|(other, _)| *other == at));
        let each = |[x, out]: &[View; 2]| self.resize(x, axes, options, out);
        self.whole_or_split(OP, [x, out], joints, each, |out| {
            self.resample(x, &changed, options, nearest, out)
        })
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
            outputs: saturated(out.len() as u64),
            extrapolation: options.extrapolation,
            taps: [1; 4],
            dims: pack(out.dims().iter().map(|&dim| saturated(dim as u64))),
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
                *start = saturated(words.len() as u64);
                *taps = saturated(count as u64);
                *step = x.layout.strides().get(at).map_or(0, |&stride| wrap(stride));
                *name = slot as u32;
            }
            words.extend(table);
        }
        params.slots = pack(slots);
        let shape = Shape::new([words.len()]).map_err(KernelError::shape(OP))?;
        let table = self.table(key, &words, &shape)?;
        let taps = [params.taps[0], params.taps[1], params.taps[2]].map(u64::from);
        // The search for an output's place is a loop over the axes.
        let place = nested(&[x.rank() as u64]);
        let parts = parts(taps, self.max_iterations(), |taps| place + nested(&taps));
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
        let grid = Grid::elements(out.len() as u64, 1);
        let whole = [read.arg, weights.arg, write.arg];
        if nearest {
            let choice = choice(x.dtype, Job::Nearest, x.rank());
            return self.launch(&choice, &whole, &params, grid);
        }
        let sums = (parts.len() > 1)
            .then(|| self.partials(DType::F32, out.len() as u64, 1))
            .transpose()?;
        for part in &parts {
            let mut params = ResizeParams {
                resumed: u32::from(part.resumed),
                ..params
            };
            let ends = params.first_tap.iter_mut().zip(&mut params.end_tap);
            for ((from, to), (&first, &len)) in ends.zip(part.from.iter().zip(&part.len)) {
                (*from, *to) = (saturated(first), saturated(first + len));
            }
            let launch = |job, args: &[Arg<'_>]| {
                self.launch(&choice(x.dtype, job, x.rank()), args, &params, grid)
            };
            match &sums {
                None => launch(Job::Weighted, &whole)?,
                Some(sums) if part.is_last => {
                    let before = self.bind_read(OP, sums)?;
                    launch(Job::Last, &[read.arg, weights.arg, write.arg, before.arg])?;
                }
                Some(sums) => {
                    let sum = self.bind_write(OP, sums)?;
                    launch(Job::Some, &[read.arg, weights.arg, sum.arg])?;
                }
            }
        }
        Ok(())
    }
}
