//! [`Call`]: one call of an op as a value: which op, with which options ([`CallKind`]).
//!
//! What it computes from are [`Operands`], where results go is a [`Sink`]. [`Executor::plan`] decides how a call runs,
//! without touching the device; [`Executor::run`] does it. The methods named like ops make a call and run it.
//!
//! Invariants: a call is plain data, equal and hashed by value (floats by their bits), and holds no memory; two equal calls
//! on operands that lie alike in memory have the same plan.

use std::fmt;
use std::hash::{Hash, Hasher};

use ziggurat_core::{MAX_RANK, Shape};

use crate::fused::{FusedInput, FusedOutput, FusedReader};
use crate::limits::ability::Ability;
use crate::ops::arg_reduce::ArgReduce;
use crate::ops::attention::AttentionOptions;
use crate::ops::conv::{ConvOptions, ConvTransposeOptions};
use crate::ops::matmul::precision::MatmulPrecision;
use crate::ops::norm::{Channels, Norm};
use crate::ops::quantised::{BlockShape, LinearForm};
use crate::ops::reduce::{Reduce, UserCombine};
use crate::ops::rope::{RopeOptions, RopeRows};
use crate::ops::softmax::{self, SoftmaxKind};
use crate::run::family::Family;
use crate::run::view::View;

/// An f32 that is compared and hashed by its bits.
///
/// ```
/// use ziggurat_kernels::F32Bits;
///
/// assert_eq!(F32Bits::from(f32::NAN), F32Bits::from(f32::NAN));
/// assert_eq!(F32Bits::from(0.5).get(), 0.5);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct F32Bits(u32);

impl F32Bits {
    /// The number.
    #[must_use]
    pub const fn get(self) -> f32 {
        f32::from_bits(self.0)
    }

    /// The number of these bits.
    pub(crate) const fn of(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}

impl From<f32> for F32Bits {
    fn from(value: f32) -> Self {
        Self(value.to_bits())
    }
}

impl fmt::Debug for F32Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// One axis more than an operand can have: among so many one is out of range or given twice, which is found as usual.
const MAX_AXES: usize = MAX_RANK + 1;

/// Axes of an operand, in the caller's order.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Axes {
    axes: [usize; MAX_AXES],
    len: usize,
}

impl Axes {
    /// The axes as a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[usize] {
        self.axes.get(..self.len).unwrap_or(&self.axes)
    }
}

impl From<&[usize]> for Axes {
    fn from(axes: &[usize]) -> Self {
        let mut own = Self::default();
        for (slot, axis) in own.axes.iter_mut().zip(axes) {
            *slot = *axis;
            own.len += 1;
        }
        own
    }
}

impl fmt::Debug for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// A reduction with its argument: p of [`Reduce::Norm`], the correction of [`Reduce::Var`] and [`Reduce::Std`]. Other
/// reductions ignore it.
///
/// ```
/// use ziggurat_kernels::{Reduce, ReduceOp};
///
/// assert_eq!(ReduceOp::from(Reduce::Var), Reduce::Var.with(1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReduceOp {
    /// Which reduction.
    pub op: Reduce,
    /// Its argument.
    pub argument: F32Bits,
    /// What combines in place of its own operator.
    pub(crate) user: Option<UserCombine>,
}

impl ReduceOp {
    /// Its name in errors and labels.
    pub(crate) const fn name(&self) -> &'static str {
        match self.user {
            Some(user) => user.name(),
            None => self.op.name(),
        }
    }
}

impl Reduce {
    /// The reduction with an argument; alone it has [`Reduce::default_argument`].
    #[must_use]
    pub fn with(self, argument: f32) -> ReduceOp {
        ReduceOp {
            op: self,
            argument: argument.into(),
            user: None,
        }
    }
}

impl From<Reduce> for ReduceOp {
    fn from(op: Reduce) -> Self {
        op.with(op.default_argument())
    }
}

/// Which op, with which options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
// With a tag of its own: in the place of a field's unused values it would not be a constant where a call is written.
#[repr(u8)]
pub enum CallKind {
    /// [`Executor::reduce`](crate::Executor::reduce): one operand.
    Reduce {
        /// Which reduction.
        op: ReduceOp,
        /// What is reduced.
        axes: Axes,
    },
    /// [`Executor::var_mean`](crate::Executor::var_mean): one operand.
    VarMean {
        /// Of the variance.
        correction: F32Bits,
        /// What is reduced.
        axes: Axes,
    },
    /// [`Executor::arg_reduce`](crate::Executor::arg_reduce): one operand. With a second output
    /// [`Executor::extreme_with_position`](crate::Executor::extreme_with_position): values, then positions.
    Search {
        /// Which extreme.
        op: ArgReduce,
        /// What is searched.
        axes: Axes,
        /// Whether the last of equal elements is meant.
        select_last: bool,
    },
    /// [`Executor::softmax`](crate::Executor::softmax) and [`Executor::log_softmax`](crate::Executor::log_softmax): one
    /// operand.
    Softmax {
        /// Which of both.
        kind: SoftmaxKind,
        /// Along which axis.
        axis: usize,
    },
    /// [`Executor::normalize`](crate::Executor::normalize): the input; a weight and a bias, or none.
    Norm {
        /// Which norm.
        op: Norm,
        /// How many of the last axes are a row.
        axes: usize,
        /// What keeps the divisor from 0.
        eps: F32Bits,
        /// Which element has which weight.
        channels: Channels,
    },
    /// [`Executor::rope`](crate::Executor::rope): the input, cosines, sines; positions if they are given.
    Rope {
        /// Which elements form a pair, and where positions are.
        options: RopeOptions,
        /// Which row of the tables belongs to a position.
        rows: RopeRows,
    },
    /// [`Executor::matmul`](crate::Executor::matmul): two operands.
    Matmul {
        /// How exactly elements of f32 are read.
        precision: MatmulPrecision,
    },
    /// [`Executor::quantized_linear`](crate::Executor::quantized_linear): the input; the words of the weight's blocks; the
    /// weight of a norm if there is one.
    QuantizedLinear {
        /// What the words are.
        weight: BlockShape,
        /// What is done besides: [`CannotFuse::Rows`](crate::CannotFuse::Rows) if that is anything, and not
        /// [`Executor::quantized_linear_is_one_kernel`](crate::Executor::quantized_linear_is_one_kernel).
        form: LinearForm,
    },
    /// [`Executor::dequantize`](crate::Executor::dequantize): the words of blocks.
    Dequantize {
        /// What the words are.
        blocks: BlockShape,
        /// The first row that is decoded, and how many are.
        rows: [usize; 2],
    },
    /// [`Executor::quantized_embedding`](crate::Executor::quantized_embedding): the indices; the words of the table's blocks.
    QuantizedEmbedding {
        /// What the words are.
        table: BlockShape,
    },
    /// [`Executor::quantize_rows`](crate::Executor::quantize_rows): the rows; positions if they are given. Integers go to the
    /// output, factors to the second one.
    QuantizeRows,
    /// [`Executor::attention`](crate::Executor::attention): the queries; keys, values; a mask and lengths, or none;
    /// the factors of keys and values, or none.
    Attention {
        /// Which keys a query sees, and how scores are made.
        options: AttentionOptions,
    },
    /// [`Executor::conv`](crate::Executor::conv): the image, the filters; a bias or none.
    Conv {
        /// The number of spatial axes.
        axes: usize,
        /// Options of three axes, of which the last ones count.
        options: ConvOptions<3>,
    },
    /// [`Executor::conv_transpose`](crate::Executor::conv_transpose): the image, the filters; a bias or none.
    ConvTranspose {
        /// The number of spatial axes.
        axes: usize,
        /// Options of three axes, of which the last ones count.
        options: ConvTransposeOptions<3>,
    },
}

/// One call of an op.
///
/// ```
/// use ziggurat_kernels::{Call, CallKind, Reduce};
///
/// let call = Call::reduce(Reduce::Sum, &[1]);
/// assert_eq!(call, Call::reduce(Reduce::Sum, &[1]));
/// assert_ne!(call, Call::reduce(Reduce::Sum, &[0]));
/// assert_eq!(call.name(), "sum");
/// assert!(matches!(Call::matmul().kind(), CallKind::Matmul { .. }));
/// ```
#[derive(Clone, Copy)]
pub struct Call {
    kind: CallKind,
    family: &'static Family,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

// The family follows from the kind.
impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

impl Eq for Call {}

impl Hash for Call {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.kind.hash(state);
    }
}

impl Call {
    /// A reduction over axes.
    #[must_use]
    pub fn reduce(op: impl Into<ReduceOp>, axes: &[usize]) -> Self {
        Self::new(CallKind::Reduce {
            op: op.into(),
            axes: axes.into(),
        })
    }

    /// A matrix product as exact as can be.
    #[must_use]
    pub const fn matmul() -> Self {
        Self::new(CallKind::Matmul {
            precision: MatmulPrecision::Highest,
        })
    }

    /// The call of an op with its options.
    ///
    /// Written where the kind is known, it brings the planning of that one op into a program.
    #[must_use]
    // Only inlined is the kind a constant, so that the linker can leave the other ops out.
    #[inline(always)]
    pub const fn new(kind: CallKind) -> Self {
        Self {
            family: Family::of(&kind),
            kind,
        }
    }

    /// Which op, with which options.
    #[must_use]
    pub const fn kind(&self) -> &CallKind {
        &self.kind
    }

    /// How it is planned and run.
    pub(super) const fn family(&self) -> &'static Family {
        self.family
    }

    /// The op's name in errors and labels.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        use crate::ops::conv::geometry::Direction;
        match &self.kind {
            CallKind::Reduce { op, .. } => op.name(),
            CallKind::VarMean { .. } => "var_mean",
            CallKind::Search { op, .. } => op.name(),
            CallKind::Softmax { kind, .. } => kind.name(),
            CallKind::Norm { op, .. } => op.name(),
            CallKind::Rope { .. } => "rope",
            CallKind::Matmul { .. } => "matmul",
            CallKind::QuantizedLinear { .. } => "quantized_linear",
            CallKind::Dequantize { .. } => "dequantize",
            CallKind::QuantizedEmbedding { .. } => "quantized_embedding",
            CallKind::QuantizeRows => "quantize_rows",
            CallKind::Attention { .. } => "attention",
            CallKind::Conv { axes, .. } => Direction::Forward.op(*axes),
            CallKind::ConvTranspose { axes, .. } => Direction::Transposed.op(*axes),
        }
    }

    /// How often its kernels read each element of a first operand of this shape, on a device of this ability: what a pending
    /// expression there costs.
    #[must_use]
    pub(crate) fn reads(&self, shape: &Shape, ability: &Ability) -> usize {
        let rows = |len: usize| {
            let outputs = (shape.len() / len.max(1)) as u64;
            softmax::reads(outputs, len as u64, ability)
        };
        match &self.kind {
            CallKind::Softmax { axis, .. } => rows(shape.dims().get(*axis).copied().unwrap_or(1)),
            CallKind::Norm { axes, .. } => rows(shape.dims().iter().rev().take(*axes).product()),
            CallKind::Rope { .. } | CallKind::QuantizeRows => 2,
            _ => 1,
        }
    }

    /// Bindings that its kernels need besides those of the operands and outputs, for a first operand of this shape: long rows are
    /// cut into chunks, and what those leave is bound too.
    pub(crate) fn more_bindings(&self, shape: &Shape, ability: &Ability) -> usize {
        match &self.kind {
            CallKind::Softmax { .. } | CallKind::Norm { .. } => self.reads(shape, ability) - 1,
            _ => 0,
        }
    }

    /// Whether the first operand may be an expression.
    #[must_use]
    pub const fn reads_expressions(&self) -> bool {
        !matches!(
            self.kind,
            CallKind::Matmul { .. }
                | CallKind::QuantizedLinear { .. }
                | CallKind::Dequantize { .. }
                | CallKind::QuantizedEmbedding { .. }
                | CallKind::QuantizeRows
                | CallKind::Attention { .. }
                | CallKind::Conv { .. }
                | CallKind::ConvTranspose { .. }
        )
    }

    /// Whether the result may be written through an expression ([`Sink::through`]).
    #[must_use]
    pub const fn writes_expressions(&self) -> bool {
        !matches!(
            self.kind,
            CallKind::VarMean { .. }
                | CallKind::Search { .. }
                | CallKind::QuantizeRows
                | CallKind::Attention { .. }
        )
    }
}

/// The first operand of a call: memory, or a value of an expression that is computed where it is read.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Memory.
    View(&'a View),
    /// A value that is never in memory.
    Expression(FusedInput<'a>),
    /// The same, prepared by [`Executor::fused_reader`](crate::Executor::fused_reader) for several calls.
    Reader(&'a FusedReader),
}

impl<'a> From<&'a View> for Source<'a> {
    fn from(view: &'a View) -> Self {
        Self::View(view)
    }
}

impl<'a> From<FusedInput<'a>> for Source<'a> {
    fn from(input: FusedInput<'a>) -> Self {
        Self::Expression(input)
    }
}

impl<'a> From<&FusedInput<'a>> for Source<'a> {
    fn from(input: &FusedInput<'a>) -> Self {
        Self::Expression(*input)
    }
}

impl<'a> From<&'a FusedReader> for Source<'a> {
    fn from(reader: &'a FusedReader) -> Self {
        Self::Reader(reader)
    }
}

/// What a call reads.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// The first operand.
    pub first: Source<'a>,
    /// The others, each at the place that [`Call`] says.
    pub others: [Option<&'a View>; 5],
}

impl<'a> Operands<'a> {
    /// An operand alone.
    pub fn one(first: impl Into<Source<'a>>) -> Self {
        Self {
            first: first.into(),
            others: [None; 5],
        }
    }
}

/// Where the results of a call go: an output, in place of the result a value of an expression over it, a second output.
///
/// A view is a sink by itself: `exec.softmax(&a, 1, &out)`.
#[derive(Clone, Copy, Debug)]
pub struct Sink<'a> {
    /// The output.
    pub out: &'a View,
    /// What is written to the output in place of the result, and further values to views of their own. The result itself
    /// has the dtype of [`Expression::computed`](crate::Expression::computed) then.
    pub through: Option<&'a FusedOutput<'a>>,
    /// The second output of an op that has two results.
    pub also: Option<&'a View>,
}

impl<'a> Sink<'a> {
    /// The output alone.
    #[must_use]
    pub const fn new(out: &'a View) -> Self {
        Self {
            out,
            through: None,
            also: None,
        }
    }

    /// The same, written through an expression.
    #[must_use]
    pub const fn through(self, value: &'a FusedOutput<'a>) -> Self {
        Self {
            through: Some(value),
            ..self
        }
    }

    /// The same with a second output.
    #[must_use]
    pub const fn also(self, out: &'a View) -> Self {
        Self {
            also: Some(out),
            ..self
        }
    }
}

impl<'a> From<&'a View> for Sink<'a> {
    fn from(out: &'a View) -> Self {
        Self::new(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_beyond_any_rank_are_still_wrong() {
        let axes = Axes::from(&[0, 1, 2, 3, 4, 5, 6, 7, 0, 9][..]);
        assert_eq!(axes.as_slice(), [0, 1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!(format!("{:?}", Axes::from(&[3, 1][..])), "[3, 1]");
    }

    #[test]
    fn calls_differ_by_the_bits_of_their_numbers() {
        let norm = |p: f32| Call::reduce(Reduce::Norm.with(p), &[0]);
        assert_eq!(norm(f32::NAN), norm(f32::NAN));
        assert_ne!(norm(0.0), norm(-0.0));
        assert_ne!(norm(2.0), Call::reduce(Reduce::Norm2, &[0]));
    }
}
