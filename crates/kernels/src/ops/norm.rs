//! Normalising rows: by mean and variance, by the mean square, or by length, with a weight and a bias per channel.
//!
//! One kernel does all of it: lanes keep a row in registers, for its mean, for its squared distances from that mean, and for
//! the result, in f32 for every float dtype. Rows are laid over workgroups as in softmax, and cut into chunks where they are
//! too long for registers. Invariant: a variance is never a difference of two large numbers.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::{Epilogue, Operand};
use crate::limits::ability::Ability;
use crate::limits::split::alike;
use crate::num::saturated;
use crate::num::{pack, wrap};
use crate::ops::reduce::lanes::{self, Held, Lanes};
use crate::ops::reduce::walk::{Order, Walk};
use crate::ops::reduce::{Reduce, accumulators, only_memory, with_constants};
use crate::ops::softmax::put;
use crate::run::call::{Call, Operands, Sink, Source};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::{Params, params};

mod long;

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
    fn has_quads(&self) -> bool {
        let begins = |view: &&View| view.layout.offset().is_multiple_of(4);
        let Channels { step, span, .. } = self.channels;
        self.weight.is_some()
            && span == 1
            && step.is_multiple_of(4)
            && [self.weight, self.bias].iter().flatten().all(begins)
    }
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

/// What weights and biases there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Factors {
    Plain,
    Weight,
    WeightBias,
}

impl Factors {
    const ALL: [Self; 3] = [Self::Plain, Self::Weight, Self::WeightBias];

    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Weight => "weight",
            Self::WeightBias => "weight_bias",
        }
    }

    /// The affine parts; with quads four weights are read at once.
    const fn parts(self, quads: bool) -> &'static [&'static str] {
        match (self, quads) {
            (Self::Plain, _) => &["norm/plain.wgsl"],
            (Self::Weight, false) => &["norm/channels.wgsl", "norm/weight.wgsl"],
            (Self::Weight, true) => &["norm/weight_quads.wgsl"],
            (Self::WeightBias, false) => &["norm/channels.wgsl", "norm/weight_bias.wgsl"],
            (Self::WeightBias, true) => &["norm/weight_bias_quads.wgsl"],
        }
    }

    /// The part with the accumulators of chunks, behind the bindings of these.
    const fn rows(self) -> &'static str {
        match self {
            Self::Plain => "norm/rows_3.wgsl",
            Self::Weight => "norm/rows_4.wgsl",
            Self::WeightBias => "norm/rows_5.wgsl",
        }
    }

    const fn bindings(self) -> usize {
        match self {
            Self::Plain => 2,
            Self::Weight => 3,
            Self::WeightBias => 4,
        }
    }
}

/// A kernel for one dtype: how it reads and writes.
#[derive(Clone, Copy, Debug)]
struct Job {
    op: Norm,
    reads: Reads,
    dtype: DType,
    factors: Factors,
    /// Whether elements are read four at a time, results written so, and weights and biases read so.
    quads: [bool; 3],
}

impl Job {
    fn start(&self, name: &'static str) -> KernelChoice {
        let [read, write, affine] = self.quads;
        let mut choice = KernelChoice::new(self.op.name())
            .name(self.dtype.name())
            .name(self.factors.name())
            .name(name)
            .reads(self.reads, self.dtype, "norm/params.wgsl", read);
        if self.reads == Reads::Fused && self.factors != Factors::Plain {
            // Weights are read from memory all the same.
            choice = choice.load(self.dtype);
        }
        choice = choice
            .store(self.dtype)
            .writes(self.dtype, write)
            .part("reduce/index.wgsl")
            .access(read)
            .part(put(write))
            .part(match self.op {
                Norm::Layer | Norm::Rms => "norm/variance.wgsl",
                Norm::Length => "norm/length.wgsl",
            })
            .parts(self.factors.parts(affine))
            .without_zeroed_memory();
        match (write, affine) {
            (false, false) => choice,
            (true, false) => choice.name("to_quads"),
            (false, true) => choice.name("by_quads"),
            (true, true) => choice.name("to_and_by_quads"),
        }
    }

    /// The kernel for rows that lanes keep in registers.
    fn held(&self, walk: &Walk, held: &Held) -> KernelChoice {
        let choice = self
            .start("held")
            .parts(&[
                "functions/divide.wgsl",
                "reduce/op/sum.wgsl",
                "reduce/lanes_one.wgsl",
                "reduce/tree.wgsl",
                "reduce/held.wgsl",
                "norm/body.wgsl",
            ])
            .constant("CENTER", u32::from(self.op == Norm::Layer))
            .constant("HELD", held.vectors);
        with_constants(choice, walk, &held.lanes)
    }

    /// The kernel for chunks of rows whose moments are known by chunks.
    fn long(&self, walk: &Walk, lanes: &Lanes) -> KernelChoice {
        let choice = self.start("long").parts(&[
            self.factors.rows(),
            match self.op {
                Norm::Layer => "reduce/op/var.wgsl",
                Norm::Rms | Norm::Length => "reduce/op/sum_squares.wgsl",
            },
            match self.op {
                Norm::Layer => "norm/moments_centered.wgsl",
                Norm::Rms | Norm::Length => "norm/moments_plain.wgsl",
            },
            "norm/long.wgsl",
        ]);
        with_constants(choice, walk, lanes)
    }

    /// Both kernels and their bindings, for rows of a sample.
    fn both(&self) -> impl Iterator<Item = (DType, KernelChoice, usize)> {
        let walk = Walk::rows(64, 4096);
        let ability = Ability::WEBGPU;
        let held = lanes::held(walk.outputs, walk.len, walk.side(), &ability);
        let lanes = lanes::vectors(walk.outputs, walk.len, walk.side(), true, &ability);
        let bindings = self.factors.bindings();
        let held = held.map(|held| (self.dtype, self.held(&walk, &held), bindings));
        let long = (self.dtype, self.long(&walk, &lanes), bindings + 1);
        held.into_iter().chain([long])
    }
}

/// Every op with every float dtype and every affine part.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let accesses = [
        [false; 3],
        [true; 3],
        [false, true, true],
        [true, true, false],
    ];
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for factors in Factors::ALL {
            for op in Norm::ALL {
                for quads in accesses {
                    let [.., affine] = quads;
                    if affine && factors == Factors::Plain {
                        continue;
                    }
                    let job = Job {
                        op,
                        reads: Reads::Memory,
                        dtype,
                        factors,
                        quads,
                    };
                    let kernels = job.both();
                    all.extend(kernels.map(|(_, choice, _)| choice));
                }
            }
        }
    }
    all.into_iter()
        .map(|choice| Candidate::new(choice, NormParams::FIELDS))
        .collect()
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
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (op, factors) in [
            (Norm::Layer, Factors::WeightBias),
            (Norm::Rms, Factors::Weight),
            (Norm::Length, Factors::Plain),
        ] {
            for quads in [false, true] {
                let job = Job {
                    op,
                    reads,
                    dtype,
                    factors,
                    quads: [quads, quads, quads && factors != Factors::Plain],
                };
                // What the corpus adds is as much as fits beside four.
                all.extend(job.both().filter(|(.., own)| *own <= 4));
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
        let call = Call::Norm {
            op,
            axes,
            eps: eps.into(),
            channels: affine.channels,
        };
        let operands = Operands {
            first: a.into(),
            others: [affine.weight, affine.bias, None, None],
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
    check_dtypes(name, dtype, &affine, ends.made())?;
    if ends.out.shape() != layout.shape() {
        return Err(KernelError::Output {
            op: name,
            expected: Box::new(*layout.shape()),
            got: Box::new(*ends.out.shape()),
        });
    }
    let first = layout.rank().wrapping_sub(axes);
    let reduced: Vec<usize> = if axes <= layout.rank() {
        (first..layout.rank()).collect()
    } else {
        vec![first]
    };
    let walk = Walk::new(name, layout, &reduced, Order::RowMajor)?;
    let factors = check_affine(name, &affine, &walk)?;
    if layout.is_empty() {
        return Ok(Planned::Nothing);
    }
    if let Some(view) = ends.divisible(p.exec)?
        && p.exec.too_large(&[view, ends.out], 1).is_some()
    {
        return Ok(Planned::Parts);
    }
    let ability = p.exec.ability();
    let bindings = ends.bindings() + 1 + ends.epilogue.map_or(0, Epilogue::bindings);
    let held = p.exec.held_rows(&walk, bindings)?;
    let whole = walk.len.is_multiple_of(4);
    let job = Job {
        op,
        reads: ends.a.reads(),
        dtype,
        factors,
        quads: [ends.a.has_quads(&walk), whole, whole && affine.has_quads()],
    };
    let (lanes, moments) = match held {
        Some(held) => (held.lanes, None),
        None => {
            // Too long for registers: chunks leave their moments, and then the results are computed.
            let turns = 1 + ends.a.turns(walk.reduced.len());
            let lanes = lanes::vectors(walk.outputs, walk.len, walk.side(), true, &ability);
            let lanes = lanes.within(walk.len, turns, p.exec.most_turns());
            (lanes, Some(accumulators(p, op.moments(), &walk, &lanes)?))
        }
    };
    let (read, write) = (p.first()?, p.out()?);
    let (weight, bias) = (p.other(0)?, p.other(1)?);
    let axes = || walk.kept.iter().chain(&walk.reduced);
    let params = NormParams {
        outputs: saturated(walk.outputs),
        len: saturated(walk.len),
        offset: read.offset.wrapping_add(wrap(walk.shift)),
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
    let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
    let choice = match held {
        Some(held) => job.held(&walk, &held),
        None => job.long(&walk, &lanes),
    };
    let bindings = [Some(read), Some(write), weight, bias, moments];
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
    if exec.apart(op.name(), [view, out], 1, joints, each)? {
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

/// Which weights and biases there are; they must be as many as the channels.
fn check_affine(
    op: &'static str,
    affine: &Affine<'_>,
    walk: &Walk,
) -> Result<Factors, KernelError> {
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
        (None, None) => Ok(Factors::Plain),
        (Some(_), None) => Ok(Factors::Weight),
        (Some(_), Some(_)) => Ok(Factors::WeightBias),
        (None, Some(bias)) => Err(KernelError::Operand {
            op,
            operand: "bias",
            rule: "can only be given together with a weight",
            got: Box::new(*bias.shape()),
        }),
    }
}
