//! Normalising rows: by mean and variance, by the mean square, or by length, with a weight and a bias per channel.
//!
//! One kernel does all of it: lanes keep a row in registers, for its mean, for its squared distances from that mean, and for
//! the result, in f32 for every float dtype. Rows are laid over workgroups as in softmax, and cut into chunks where they are
//! too long for registers. Invariant: a variance is never a difference of two large numbers.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::limits::split::alike;
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::geometry::{Order, ReduceGeometry};
use crate::ops::reduce::{Reduce, only_memory, rows};
use crate::run::call::{Call, CallKind, Operands, Sink, Source};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Planned, Planner};
use crate::run::view::View;

mod kernel;
mod long;

use kernel::{Factors, Job};
pub(crate) use kernel::{NormParams, reading_fused, variants, writing_fused};

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
}

/// Which channel an element belongs to: element `r` of row `o` has channel `(o % period) · step + r / span`.
///
/// Layer norm has a channel per element of a row (1, 0, 1), group norm several per row, instance norm one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Affine<'_> {
    /// Whether each row has a weight and a bias per element, of which any four from a multiple of four on can be read at once.
    fn has_vec4(&self) -> bool {
        let begins = |view: &&View| view.layout.offset().is_multiple_of(4);
        let Channels { step, span, .. } = self.channels;
        self.weight.is_some()
            && span == 1
            && step.is_multiple_of(4)
            && [self.weight, self.bias].iter().flatten().all(begins)
    }
}

impl Executor {
    /// Normalises the rows of `a`: a row is everything that differs in the last `axes` axes only. `out` has the shape of
    /// `a`.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless all are of one float dtype; [`KernelError::Shape`] if `a` has fewer axes;
    /// [`KernelError::Operand`] if there are fewer weights or biases than channels, they are not contiguous, or there is a
    /// bias without a weight; [`KernelError::Output`] for another shape; [`KernelError::CannotFuse`] if one kernel cannot read
    /// or write an expression, or would compute too much several times.
    pub fn normalize<'a>(
        &self,
        op: Norm,
        a: impl Into<Source<'a>>,
        axes: usize,
        eps: f32,
        affine: &Affine<'a>,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let call = Call::new(CallKind::Norm {
            op,
            axes,
            eps: eps.into(),
            channels: affine.channels,
        });
        let operands = Operands {
            first: a.into(),
            others: [affine.weight, affine.bias, None, None, None],
        };
        self.run(&call, &operands, out.into())
    }
}

/// Weights and biases of a call.
fn affine<'a>(ends: &Ends<'a>, channels: Channels) -> Affine<'a> {
    let [weight, bias, ..] = ends.others;
    Affine {
        weight,
        bias,
        channels,
    }
}

/// Plans [`Call::Norm`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    op: Norm,
    (axes, channels): (usize, Channels),
    eps: f32,
) -> Result<Planned, KernelError> {
    let (name, ends) = (p.op, p.ends);
    let affine = affine(ends, channels);
    let (dtype, layout) = (ends.a.dtype(), ends.a.layout());
    check_dtypes(name, dtype, &affine, ends.computed())?;
    check_shape(name, ends.out, layout.shape())?;
    let first = layout.rank().wrapping_sub(axes);
    let reduced: Vec<usize> = if axes <= layout.rank() {
        (first..layout.rank()).collect()
    } else {
        vec![first]
    };
    let geometry = ReduceGeometry::new(name, layout, &reduced, Order::RowMajor)?;
    let factors = check_affine(name, &affine, &geometry)?;
    if layout.is_empty() {
        return Ok(Planned::Nothing);
    }
    if let Some(view) = ends.divisible(p.exec)?
        && p.exec.too_large(&[view, ends.out], 1).next().is_some()
    {
        return Ok(Planned::Parts);
    }
    // Too long for registers: chunks leave their moments, and then the results are computed.
    let mut rows = rows(p, op.moments(), &geometry)?;
    let job = Job {
        op,
        reads: ends.a.reads(),
        dtype,
        factors,
        read: ends.a.has_vec4(&geometry),
        write: rows.put(ends, geometry.len, true),
        affine: geometry.len.is_multiple_of(4) && affine.has_vec4(),
    };
    let lanes = &rows.lanes;
    let (read, write) = (p.first()?, p.out()?);
    let (weight, bias) = (p.other(0)?, p.other(1)?);
    let axes = || geometry.kept.iter().chain(&geometry.reduced);
    let params = NormParams {
        outputs: saturated(geometry.outputs),
        len: saturated(geometry.len),
        offset: read.offset.wrapping_add(wrap(geometry.shift)),
        out_offset: write.offset,
        eps,
        period: saturated(channels.period as u64),
        step: saturated(channels.step as u64),
        span: saturated(channels.span as u64),
        weight_offset: weight.map_or(0, |bound| bound.offset),
        bias_offset: bias.map_or(0, |bound| bound.offset),
        chunks: lanes.chunks,
        chunk_len: lanes.chunk_len,
        dims: pack(axes().map(|axis| saturated(axis.dim))),
        strides: pack(axes().map(|axis| wrap(axis.strides[0]))),
    };
    let grid = Grid::elements(lanes.invocations(geometry.outputs), 1);
    let choice = match &rows.registers {
        Some(registers) => job.registers(&geometry, registers),
        None => job.long(&geometry, lanes),
    };
    let bindings = [Some(read), Some(write), weight, bias, rows.accumulated];
    p.last(choice, bindings.into_iter().flatten(), &params, grid);
    Ok(Planned::Steps)
}

/// Runs [`Call::Norm`] on rows of an operand that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    op: Norm,
    (axes, channels): (usize, Channels),
    eps: f32,
) -> Result<(), KernelError> {
    let (Operand::Memory(view), out) = (ends.a, ends.out) else {
        return Err(only_memory(op.name()));
    };
    let affine = affine(ends, channels);
    // Parts must begin where the channels do.
    let kept = view.rank().saturating_sub(axes);
    let behind = |axis: usize| view.dims().get(axis + 1..kept).unwrap_or_default();
    let begins = |axis| {
        let rows: usize = behind(axis).iter().product();
        rows.is_multiple_of(channels.period)
    };
    let joints = || alike(view.rank(), |axis| axis >= kept || !begins(axis));
    let each = &mut |[a, out]: &[View; 2]| exec.normalize(op, a, axes, eps, &affine, out).map(drop);
    if exec.split(op.name(), [view, out], 1, joints, each)? {
        return Ok(());
    }
    exec.normalize_long_rows(op, view, kept, eps, &affine, out)
        .map(drop)
}

fn check_dtypes(
    op: &'static str,
    dtype: DType,
    affine: &Affine<'_>,
    out: DType,
) -> Result<(), KernelError> {
    if !dtype.is_float() {
        return Err(KernelError::dtype(op, "a", "it must be a float", dtype));
    }
    let others = [
        ("weight", affine.weight.map(|view| view.dtype)),
        ("bias", affine.bias.map(|view| view.dtype)),
        ("out", Some(out)),
    ];
    for (operand, given) in others {
        if let Some(got) = given.filter(|given| *given != dtype) {
            return Err(KernelError::dtype(
                op,
                operand,
                "it must have the input's dtype",
                got,
            ));
        }
    }
    Ok(())
}

/// Which weights and biases there are; they must be as many as the channels.
fn check_affine(
    op: &'static str,
    affine: &Affine<'_>,
    geometry: &ReduceGeometry,
) -> Result<Factors, KernelError> {
    let Channels { period, step, span } = affine.channels;
    for (option, value) in [("period", period), ("span", span)] {
        if value == 0 {
            return Err(KernelError::option(op, option, "must be at least 1", 0));
        }
    }
    let rows = (period as u64).min(geometry.outputs);
    let last_row = rows.saturating_sub(1).saturating_mul(step as u64);
    let channels = last_row.saturating_add(geometry.len.div_ceil(span as u64));
    for (operand, view) in [("weight", affine.weight), ("bias", affine.bias)] {
        let Some(view) = view else { continue };
        let wrong = if !view.layout.is_contiguous() {
            Some("must be contiguous")
        } else if (view.len() as u64) < channels && geometry.outputs > 0 && geometry.len > 0 {
            Some("must have an element per channel")
        } else {
            None
        };
        if let Some(rule) = wrong {
            return Err(KernelError::operand(op, operand, rule, *view.shape()));
        }
    }
    match (affine.weight, affine.bias) {
        (None, None) => Ok(Factors::Plain),
        (Some(_), None) => Ok(Factors::Weight),
        (Some(_), Some(_)) => Ok(Factors::WeightBias),
        (None, Some(bias)) => Err(KernelError::operand(
            op,
            "bias",
            "can only be given together with a weight",
            *bias.shape(),
        )),
    }
}
