//! Normalising rows: by mean and variance, by the mean square, or by length, with a weight and a bias per channel.
//!
//! One kernel does all of it: each row is read for its mean, for its squared distances from that mean, and for the result,
//! in f32 for every float dtype. Rows are laid over workgroups as in softmax. Invariant: a variance is never a difference
//! of two large numbers.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, FusedInput, FusedOutput, Operand, WalkInput, made};
use crate::limits::split::alike;
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::lanes::{self, Lanes};
use crate::ops::reduce::walk::{Order, Walk};
use crate::ops::reduce::{Reduce, with_constants};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{CATALOGUE_WG, KernelChoice, Reads};
use crate::source::params::{Params, params};
use crate::source::prelude;

mod batch;
mod long;

pub use batch::{ChannelAffine, statistics_axes};

/// What a row is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Norm {
    /// `(x − mean) / √(variance + eps)`, the variance being that of the row itself (not corrected).
    Layer,
    /// `x / √(mean of x² + eps)`.
    Rms,
    /// `x / max(√(sum of x²), eps)`.
    Length,
}

impl Norm {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Layer, Self::Rms, Self::Length];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Layer => "layer_norm",
            Self::Rms => "rms_norm",
            Self::Length => "normalize",
        }
    }

    /// What is reduced to know a row's mean and squares.
    const fn moments(self) -> Reduce {
        match self {
            Self::Layer => Reduce::Var,
            Self::Rms | Self::Length => Reduce::SumSquares,
        }
    }

    /// How often its kernel reads each element.
    #[must_use]
    pub const fn reads(self) -> usize {
        match self {
            Self::Layer => 3,
            Self::Rms | Self::Length => 2,
        }
    }
}

/// Which channel an element belongs to: element `r` of row `o` has channel `(o % period) · step + r / span`.
///
/// Layer norm has a channel per element of a row (1, 0, 1), group norm several per row, instance norm one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Rows until channels repeat.
    pub period: usize,
    /// Channels per row.
    pub step: usize,
    /// Neighbouring elements of one channel.
    pub span: usize,
}

impl Default for Channels {
    fn default() -> Self {
        Self {
            period: 1,
            step: 0,
            span: 1,
        }
    }
}

/// The weights and biases of the channels: contiguous, of the input's dtype. A bias needs a weight.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affine<'a> {
    /// Factors.
    pub weight: Option<&'a View>,
    /// What is added.
    pub bias: Option<&'a View>,
    /// Which element has which.
    pub channels: Channels,
}

params! {
    /// Parameters of the kernels that normalise rows.
    pub(crate) struct NormParams {
        outputs: u32,
        len: u32,
        offset: u32,
        out_offset: u32,
        eps: f32,
        period: u32,
        step: u32,
        span: u32,
        weight_offset: u32,
        bias_offset: u32,
        chunks: u32,
        chunk_len: u32,
        dims: [[u32; 4]; 2],
        strides: [[u32; 4]; 2],
    }
}

/// The affine parts.
const PLAIN: &str = "norm/plain.wgsl";
const WEIGHT: &str = "norm/weight.wgsl";
const WEIGHT_BIAS: &str = "norm/weight_bias.wgsl";

/// How much of its rows a kernel works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Rows,
    /// Chunks of rows whose moments are known by chunks.
    Chunks,
}

fn kernel(
    extent: Extent,
    op: Norm,
    reads: Reads,
    dtype: DType,
    affine: &'static str,
    walk: &Walk,
    lanes: &Lanes,
) -> KernelChoice {
    let factor = match op {
        Norm::Layer | Norm::Rms => "norm/variance.wgsl",
        Norm::Length => "norm/length.wgsl",
    };
    let name = match affine {
        PLAIN => "plain",
        WEIGHT => "weight",
        _ => "weight_bias",
    };
    let mut choice = KernelChoice::new(op.name()).name(dtype.name()).name(name);
    choice = match reads {
        Reads::Memory => choice.parts(&[
            prelude::FLOAT,
            prelude::load(dtype),
            "norm/params.wgsl",
            "reduce/value.wgsl",
        ]),
        Reads::Fused => choice.name("fused"),
    };
    if reads == Reads::Fused && affine != PLAIN {
        // Weights are read from memory all the same.
        choice = choice.part(prelude::load(dtype));
    }
    let choice = choice
        .parts(&[
            prelude::store(dtype),
            prelude::cell(dtype),
            "reduce/index.wgsl",
            factor,
            affine,
        ])
        .without_zeroed_memory();
    let choice = match extent {
        Extent::Rows => choice
            .part("norm/body.wgsl")
            .constant("CENTER", u32::from(op == Norm::Layer)),
        Extent::Chunks => choice.name("long").parts(&[
            match affine {
                PLAIN => "norm/rows_3.wgsl",
                WEIGHT => "norm/rows_4.wgsl",
                _ => "norm/rows_5.wgsl",
            },
            match op {
                Norm::Layer => "reduce/op/var.wgsl",
                Norm::Rms | Norm::Length => "reduce/op/sum_squares.wgsl",
            },
            match op {
                Norm::Layer => "norm/moments_centered.wgsl",
                Norm::Rms | Norm::Length => "norm/moments_plain.wgsl",
            },
            "norm/long.wgsl",
        ]),
    };
    with_constants(choice, walk, lanes)
}

/// Every op with every float dtype and every affine part.
pub(crate) fn variants() -> Vec<Candidate> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, CATALOGUE_WG);
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for affine in [PLAIN, WEIGHT, WEIGHT_BIAS] {
            for op in Norm::ALL {
                for extent in [Extent::Rows, Extent::Chunks] {
                    let choice = kernel(extent, op, Reads::Memory, dtype, affine, &walk, &lanes);
                    all.push(Candidate::new(choice, NormParams::FIELDS));
                }
            }
        }
    }
    all
}

/// Norms of a fused expression's value of a dtype, for the corpus of those, and their bindings.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice, usize)> {
    some(Reads::Fused)
}

/// Norms with an epilogue for the corpus, their bindings, and whether they read a value too.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize, bool)> {
    let with = |reads: Reads| {
        (some(reads).into_iter())
            .map(move |(dtype, choice, own)| (dtype, choice, own, reads == Reads::Fused))
    };
    with(Reads::Memory).chain(with(Reads::Fused)).collect()
}

fn some(reads: Reads) -> Vec<(DType, KernelChoice, usize)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, CATALOGUE_WG);
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (op, affine, bindings) in [
            (Norm::Layer, WEIGHT_BIAS, 4),
            (Norm::Rms, WEIGHT, 3),
            (Norm::Length, PLAIN, 2),
        ] {
            for (extent, own) in [(Extent::Rows, bindings), (Extent::Chunks, bindings + 1)] {
                // What the corpus adds is as much as fits beside four.
                if own <= 4 {
                    let choice = kernel(extent, op, reads, dtype, affine, &walk, &lanes);
                    all.push((dtype, choice, own));
                }
            }
        }
    }
    all
}

impl Executor {
    /// Normalises the rows of `a`: a row is everything that differs in the last `axes` axes only. `out` has the shape of
    /// `a`.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all are of one float dtype; [`KernelError::Shape`] if `a` has fewer axes;
    /// [`KernelError::Operand`] if there are fewer weights or biases than channels, they are not contiguous, or there is a
    /// bias without a weight; [`KernelError::Output`] for another shape.
    pub fn normalize(
        &self,
        op: Norm,
        a: &View,
        axes: usize,
        eps: f32,
        affine: &Affine<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.normalize_of(op, Operand::Memory(a), axes, eps, affine, out, None)
    }

    /// [`Executor::normalize`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::normalize`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it, or would compute too
    /// much several times.
    pub fn normalize_fused(
        &self,
        op: Norm,
        a: &FusedInput<'_>,
        axes: usize,
        eps: f32,
        affine: &Affine<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let given = [affine.weight, affine.bias].into_iter().flatten().count();
        let prologue = self.prologue(a, 2 + given, op.reads())?;
        self.normalize_of(op, Operand::Fused(&prologue), axes, eps, affine, out, None)
    }

    /// [`Executor::normalize`] of either sort of input, which writes a value of an expression over the result if one is
    /// given.
    ///
    /// # Errors
    /// As [`Executor::normalize_fused`]; [`KernelError::Dtype`] if `out` has not the value's dtype.
    #[expect(
        clippy::too_many_arguments,
        reason = "those of normalize, and the value"
    )]
    pub fn normalize_between(
        &self,
        op: Norm,
        a: WalkInput<'_>,
        axes: usize,
        eps: f32,
        affine: &Affine<'_>,
        value: Option<&FusedOutput<'_>>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let given = [affine.weight, affine.bias].into_iter().flatten().count();
        let epilogue = self.epilogue_behind(a, given, value, out)?;
        self.normalize_of(op, a.operand(), axes, eps, affine, out, epilogue.as_ref())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "those of normalize, and the epilogue"
    )]
    fn normalize_of(
        &self,
        op: Norm,
        a: Operand<'_>,
        axes: usize,
        eps: f32,
        affine: &Affine<'_>,
        out: &View,
        epilogue: Option<&Epilogue>,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        let (dtype, layout) = (a.dtype(), a.layout());
        check_dtypes(name, dtype, affine, made(out, epilogue))?;
        if out.shape() != layout.shape() {
            return Err(KernelError::Output {
                op: name,
                expected: Box::new(*layout.shape()),
                got: Box::new(*out.shape()),
            });
        }
        let first = layout.rank().wrapping_sub(axes);
        let reduced: Vec<usize> = if axes <= layout.rank() {
            (first..layout.rank()).collect()
        } else {
            vec![first]
        };
        let walk = Walk::new(name, layout, &reduced, Order::RowMajor)?;
        let part = check_affine(name, affine, &walk)?;
        if layout.is_empty() {
            return Ok(self.completion());
        }
        if let Some(view) = self.walks_memory(&a, out, epilogue)? {
            // Parts must begin where the channels do.
            let kept = first.min(view.rank());
            let behind = |axis: usize| view.dims().get(axis + 1..kept).unwrap_or_default();
            let begins = |axis| {
                let rows: usize = behind(axis).iter().product();
                rows.is_multiple_of(affine.channels.period)
            };
            let joints = || alike(view.rank(), |axis| axis >= kept || !begins(axis));
            let each = &mut |[a, out]: &[View; 2]| {
                let a = Operand::Memory(a);
                let part = self.normalize_of(op, a, axes, eps, affine, out, None);
                part.map(drop)
            };
            if self.apart(name, [view, out], 1, joints, each)? {
                return Ok(self.completion());
            }
            if self.exceeds_binding(&[view]) || self.exceeds_dense(out) {
                return self.normalize_long_rows(op, view, kept, eps, affine, out);
            }
        }
        let mut inputs = a.views();
        inputs.extend(affine.weight);
        inputs.extend(affine.bias);
        inputs.extend(epilogue.into_iter().flat_map(Epilogue::views));
        self.with_dense_out(name, out, &inputs, |out| {
            let wg = self.device().caps().workgroup_size;
            let mut lanes = lanes::choose(walk.outputs, walk.len, walk.side(), false, wg);
            let turns = 1 + a.turns(walk.reduced.len());
            let mut extent = Extent::Rows;
            let mut moments = None;
            let given = [affine.weight, affine.bias].into_iter().flatten().count();
            let bindings = a.bindings() + 2 + given + epilogue.map_or(0, Epilogue::bindings);
            if self.cuts_rows(lanes.turns(turns * op.reads() as u64), bindings)? {
                // Too long for one workgroup: chunks leave their moments, and then the results are made.
                extent = Extent::Chunks;
                lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg).within(
                    walk.len,
                    turns,
                    self.most_turns(),
                );
                moments = Some(self.accumulators(op.moments(), a, &walk, &lanes)?);
            }
            let (read, write) = (self.bind_operand(name, &a)?, self.bind_write(name, out)?);
            let mut others = vec![write.arg];
            let mut offsets = [0; 2];
            for (offset, view) in offsets.iter_mut().zip([affine.weight, affine.bias]) {
                if let Some(view) = view {
                    let bound = self.bind_read(name, view)?;
                    *offset = bound.offset;
                    others.push(bound.arg);
                }
            }
            if let Some(moments) = &moments {
                others.push(self.bind_read(name, moments)?.arg);
            }
            let channels = affine.channels;
            let axes = || walk.kept.iter().chain(&walk.reduced);
            let params = NormParams {
                outputs: saturated(walk.outputs),
                len: saturated(walk.len),
                offset: read.offset().wrapping_add(wrap(walk.shift)),
                out_offset: write.offset,
                eps,
                period: saturated(channels.period as u64),
                step: saturated(channels.step as u64),
                span: saturated(channels.span as u64),
                weight_offset: offsets[0],
                bias_offset: offsets[1],
                chunks: lanes.chunks,
                chunk_len: lanes.chunk_len,
                dims: pack(axes().map(|axis| saturated(axis.dim))),
                strides: pack(axes().map(|axis| wrap(axis.strides[0]))),
            };
            let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
            let choice = kernel(extent, op, a.reads(), dtype, part, &walk, &lanes);
            self.launch_between(&choice, &read, &others, &params, grid, epilogue)
        })?;
        Ok(self.completion())
    }
}

fn check_dtypes(
    op: &'static str,
    dtype: DType,
    affine: &Affine<'_>,
    out: DType,
) -> Result<(), KernelError> {
    if !dtype.is_float() {
        return Err(KernelError::Dtype {
            op,
            operand: "a",
            rule: "it must be a float",
            got: dtype,
        });
    }
    let others = [
        ("weight", affine.weight.map(|view| view.dtype)),
        ("bias", affine.bias.map(|view| view.dtype)),
        ("out", Some(out)),
    ];
    for (operand, given) in others {
        if let Some(got) = given.filter(|given| *given != dtype) {
            return Err(KernelError::Dtype {
                op,
                operand,
                rule: "it must have the input's dtype",
                got,
            });
        }
    }
    Ok(())
}

/// The shader part of weights and biases that are as many as the channels.
fn check_affine(
    op: &'static str,
    affine: &Affine<'_>,
    walk: &Walk,
) -> Result<&'static str, KernelError> {
    let Channels { period, step, span } = affine.channels;
    for (option, value) in [("period", period), ("span", span)] {
        if value == 0 {
            return Err(KernelError::Option {
                op,
                option,
                rule: "must be at least 1",
                got: 0,
            });
        }
    }
    let rows = (period as u64).min(walk.outputs);
    let last_row = rows.saturating_sub(1).saturating_mul(step as u64);
    let channels = last_row.saturating_add(walk.len.div_ceil(span as u64));
    for (operand, view) in [("weight", affine.weight), ("bias", affine.bias)] {
        let Some(view) = view else { continue };
        let wrong = if !view.layout.is_contiguous() {
            Some("must be contiguous")
        } else if (view.len() as u64) < channels && walk.outputs > 0 && walk.len > 0 {
            Some("must have an element per channel")
        } else {
            None
        };
        if let Some(rule) = wrong {
            return Err(KernelError::Operand {
                op,
                operand,
                rule,
                got: Box::new(*view.shape()),
            });
        }
    }
    match (affine.weight, affine.bias) {
        (None, None) => Ok(PLAIN),
        (Some(_), None) => Ok(WEIGHT),
        (Some(_), Some(_)) => Ok(WEIGHT_BIAS),
        (None, Some(bias)) => Err(KernelError::Operand {
            op,
            operand: "bias",
            rule: "needs a weight beside it",
            got: Box::new(*bias.shape()),
        }),
    }
}
