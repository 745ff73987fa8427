//! Sum, mean, maximum and minimum over any axes.
//!
//! One kernel body serves rows (contiguous reduced axis), columns (contiguous kept axis) and anything between:
//! [`lanes`] chooses how outputs and elements lie over a workgroup, [`walk`] how they lie in memory. Few outputs
//! with many elements each take two passes. Every sum is a fixed tree, so results are the same on every run.
//! Maxima and minima compare keys made from bits, so NaN wins on every adapter.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_pipeline::Grid;

use crate::catalogue::Candidate;
use crate::choice::{CATALOGUE_WG, KernelChoice, Reads};
use crate::completion::Completion;
use crate::error::KernelError;
use crate::executor::Executor;
use crate::fused::{FusedInput, Operand};
use crate::params::Params;
use crate::prelude;
use crate::view::View;

pub(crate) mod axes;
pub(crate) mod lanes;
pub(crate) mod walk;

use lanes::Lanes;
use walk::{MAX_COUNT, Order, Walk, WalkParams};

/// A reduction of many elements to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduce {
    /// The sum; 0 over no elements. Floats are added in f32, integers wrap.
    Sum,
    /// The mean, floats only; NaN over no elements.
    Mean,
    /// The greatest element; NaN wins. Over no elements −inf, or the least integer. "Any" for bool.
    Max,
    /// The least element; NaN wins. Over no elements +inf, or the greatest integer. "All" for bool.
    Min,
}

impl Reduce {
    /// All reductions.
    pub const ALL: [Self; 4] = [Self::Sum, Self::Mean, Self::Max, Self::Min];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "reduce_max",
            Self::Min => "reduce_min",
        }
    }

    /// Whether `input` may be reduced into `output`: the same dtype; for sums and means of floats also f32; for
    /// sums of integers and bool also a wider integer (bool needs one).
    #[must_use]
    pub const fn accepts(self, input: DType, output: DType) -> bool {
        let same = input as u8 == output as u8;
        match self {
            Self::Max | Self::Min => same,
            Self::Mean => input.is_float() && (same || matches!(output, DType::F32)),
            Self::Sum => match input {
                DType::F32 | DType::F16 | DType::BF16 => same || matches!(output, DType::F32),
                DType::I32 | DType::U32 => same,
                DType::I8 => same || matches!(output, DType::I32),
                DType::U8 => same || matches!(output, DType::I32 | DType::U32),
                DType::Bool => matches!(output, DType::I32 | DType::U32),
            },
        }
    }

    /// The dtype that partial results have between two passes.
    const fn accumulator(self, input: DType) -> DType {
        match (self, input.compute()) {
            (Self::Max | Self::Min, DType::F32) => DType::I32,
            (_, DType::Bool) => DType::U32,
            (_, compute) => compute,
        }
    }

    /// Bits of the accumulator over no elements. A minimum is the maximum of reversed keys, so both start at the
    /// bottom of the keys.
    const fn identity(self, input: DType) -> u32 {
        match self {
            Self::Sum | Self::Mean => 0,
            Self::Max | Self::Min => lowest_key(input, matches!(self, Self::Min)),
        }
    }

    /// The operator's shader parts.
    const fn operator(self, input: DType) -> &'static [&'static str] {
        match (self, input.compute()) {
            (Self::Sum, DType::Bool) => &["reduce/op/sum_bool.wgsl"],
            (Self::Sum, _) => &["reduce/op/sum.wgsl"],
            (Self::Mean, _) => &["reduce/op/mean.wgsl"],
            (Self::Max | Self::Min, DType::F32) => {
                &["reduce/key/float.wgsl", "reduce/op/extremum.wgsl"]
            }
            (Self::Max | Self::Min, DType::Bool) => {
                &["reduce/key/bool.wgsl", "reduce/op/extremum.wgsl"]
            }
            (Self::Max | Self::Min, _) => &["reduce/key/int.wgsl", "reduce/op/extremum.wgsl"],
        }
    }
}

/// Bits of the key that every element's key reaches: that of the least element, or with `least` (keys reversed) of
/// the greatest.
pub(crate) const fn lowest_key(dtype: DType, least: bool) -> u32 {
    match (dtype, least) {
        // The key of −inf, and the reversed key of +inf.
        (DType::F32 | DType::F16 | DType::BF16, _) => 0x807f_ffff,
        (DType::I32, _) => 0x8000_0000,
        (DType::I8, _) => 0xffff_ff80,
        (DType::U8, true) => !0xff,
        (DType::U32 | DType::U8 | DType::Bool, _) => 0,
    }
}

/// What a pass reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Elements to results.
    Whole,
    /// Elements to accumulators.
    First,
    /// Accumulators to results.
    Second,
}

fn choice(
    op: Reduce,
    reads: Reads,
    input: DType,
    output: DType,
    pass: Pass,
    walk: &Walk,
    lanes: &Lanes,
) -> KernelChoice {
    let (name, read, write) = match pass {
        Pass::Whole => ("whole", "reduce/input_elem.wgsl", "reduce/output_elem.wgsl"),
        Pass::First => ("first", "reduce/input_elem.wgsl", "reduce/output_acc.wgsl"),
        Pass::Second => ("second", "reduce/input_acc.wgsl", "reduce/output_elem.wgsl"),
    };
    let mut choice = KernelChoice::new(op.name())
        .name(input.name())
        .name(output.name())
        .name(name)
        .without_zeroed_memory();
    choice = match pass {
        Pass::Whole | Pass::First => choice.reads(reads, input),
        Pass::Second => choice.parts(&[prelude::FLOAT, prelude::load(input), "reduce/params.wgsl"]),
    };
    choice = choice.part(prelude::store(output));
    if pass != Pass::First {
        choice = choice.part(prelude::cell(output));
    }
    choice = choice
        .part("reduce/index.wgsl")
        .parts(op.operator(input))
        .parts(&[read, write, "reduce/body.wgsl"]);
    if matches!(op, Reduce::Max | Reduce::Min) {
        choice = choice.constant("LEAST", u32::from(op == Reduce::Min));
    }
    with_constants(choice, walk, lanes)
}

/// Adds the walk's override constants.
pub(crate) fn with_constants(choice: KernelChoice, walk: &Walk, lanes: &Lanes) -> KernelChoice {
    walk.constants(lanes)
        .into_iter()
        .fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// Every reduction of every dtype, in one pass and in two.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    for op in Reduce::ALL {
        for input in DType::ALL {
            for output in DType::ALL
                .into_iter()
                .filter(|&output| op.accepts(input, output))
            {
                for pass in [Pass::Whole, Pass::First, Pass::Second] {
                    all.push(Candidate::new(
                        choice(op, Reads::Memory, input, output, pass, &walk, &lanes),
                        WalkParams::FIELDS,
                    ));
                }
            }
        }
    }
    all
}

/// Reductions that read a fused expression's value of a dtype, for the corpus of those.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice)> {
    let walk = Walk::rows(64, 4096);
    let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, CATALOGUE_WG);
    let fused = |op, input, output, pass| {
        let choice = choice(op, Reads::Fused, input, output, pass, &walk, &lanes);
        (input, choice)
    };
    let mut all = vec![
        fused(Reduce::Mean, DType::F32, DType::F32, Pass::Whole),
        fused(Reduce::Mean, DType::BF16, DType::F32, Pass::First),
        fused(Reduce::Sum, DType::Bool, DType::I32, Pass::Whole),
    ];
    for dtype in DType::ALL {
        all.push(fused(Reduce::Max, dtype, dtype, Pass::Whole));
        if Reduce::Sum.accepts(dtype, dtype) {
            all.push(fused(Reduce::Sum, dtype, dtype, Pass::Whole));
        }
    }
    all
}

impl Executor {
    /// Reduces `axes` (distinct, in any order; none reduces nothing) of `a` into `out`.
    ///
    /// `out` has one element per position of the kept axes, in row-major order; whether its shape keeps the
    /// reduced axes as 1 or drops them does not matter.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Reduce::accepts`] says no; [`KernelError::Shape`] for axes that `a` does not
    /// have; [`KernelError::Output`] if `out` has another number of elements.
    pub fn reduce(
        &self,
        op: Reduce,
        a: &View,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        self.reduce_of(op, Operand::Memory(a), axes, out)
    }

    /// [`Executor::reduce`] of a value of an expression, which is never in memory.
    ///
    /// # Errors
    /// Those of [`Executor::reduce`]; [`KernelError::FusedTooLarge`] if one kernel cannot do it.
    pub fn reduce_fused(
        &self,
        op: Reduce,
        a: &FusedInput<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let prologue = self.prologue(a, 2, 1)?;
        self.reduce_of(op, Operand::Fused(&prologue), axes, out)
    }

    fn reduce_of(
        &self,
        op: Reduce,
        a: Operand<'_>,
        axes: &[usize],
        out: &View,
    ) -> Result<Completion, KernelError> {
        let name = op.name();
        if !op.accepts(a.dtype(), out.dtype) {
            return Err(if op == Reduce::Mean && !a.dtype().is_float() {
                KernelError::Dtype {
                    op: name,
                    operand: "a",
                    rule: "a mean needs floats",
                    got: a.dtype(),
                }
            } else {
                KernelError::Dtype {
                    op: name,
                    operand: "out",
                    rule: "it must be the input's dtype or, for sums, a wider one",
                    got: out.dtype,
                }
            });
        }
        let walk = Walk::new(name, a.layout(), axes, Order::Free)?;
        check_len(name, a.layout(), axes, out)?;
        if walk.outputs == 0 {
            return Ok(self.completion());
        }
        self.with_dense_out(name, out, &a.views(), |out| {
            self.reduce_walk(op, a, &walk, out)
        })?;
        Ok(self.completion())
    }

    fn reduce_walk(
        &self,
        op: Reduce,
        a: Operand<'_>,
        walk: &Walk,
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        let wg = self.device().caps().workgroup_size;
        let lanes = lanes::choose(walk.outputs, walk.len, walk.side(), true, wg);
        let (read, write) = (self.bind_operand(name, &a)?, self.bind_write(name, out)?);
        let identity = op.identity(a.dtype());
        let grid = Grid::elements(lanes.invocations(walk.outputs), 1);
        if lanes.chunks == 1 {
            let choice = choice(
                op,
                a.reads(),
                a.dtype(),
                out.dtype,
                Pass::Whole,
                walk,
                &lanes,
            );
            let params = walk.params(&lanes, read.offset(), write.offset, identity, walk.len);
            return self.launch_reading(&choice, &read, &[write.arg], &params, grid);
        }
        let partial = self.partials(op.accumulator(a.dtype()), walk.outputs, lanes.chunks)?;
        let scratch = self.bind_write(name, &partial)?;
        let first = choice(
            op,
            a.reads(),
            a.dtype(),
            out.dtype,
            Pass::First,
            walk,
            &lanes,
        );
        let params = walk.params(&lanes, read.offset(), scratch.offset, identity, walk.len);
        self.launch_reading(&first, &read, &[scratch.arg], &params, grid)?;
        self.reduce_partials(op, a.dtype(), &partial, walk.len, out)
    }

    /// Scratch for `chunks` accumulators per output.
    pub(crate) fn partials(
        &self,
        dtype: DType,
        outputs: u64,
        chunks: u32,
    ) -> Result<View, KernelError> {
        let dims =
            [outputs, u64::from(chunks)].map(|dim| usize::try_from(dim).unwrap_or(usize::MAX));
        let shape = Shape::new(dims).map_err(KernelError::shape("reduce"))?;
        self.alloc(&shape, dtype)
    }

    /// The second pass: reduces the rows of `partial`, accumulators of `input` elements, into `out`. `count` is the
    /// number of elements that went into each output.
    pub(crate) fn reduce_partials(
        &self,
        op: Reduce,
        input: DType,
        partial: &View,
        count: u64,
        out: &View,
    ) -> Result<(), KernelError> {
        let name = op.name();
        let &[outputs, chunks] = partial.dims() else {
            return Ok(());
        };
        let walk = Walk::rows(outputs as u64, chunks as u64);
        let lanes = lanes::choose(
            walk.outputs,
            walk.len,
            walk.side(),
            false,
            self.device().caps().workgroup_size,
        );
        let choice = choice(
            op,
            Reads::Memory,
            input,
            out.dtype,
            Pass::Second,
            &walk,
            &lanes,
        );
        let (read, write) = (self.bind_read(name, partial)?, self.bind_write(name, out)?);
        let params = walk.params(&lanes, read.offset, write.offset, op.identity(input), count);
        self.launch(
            &choice,
            &[read.arg, write.arg],
            &params,
            Grid::elements(lanes.invocations(walk.outputs), 1),
        )
    }
}

/// The output of a reduction must have one element per position of the kept axes.
pub(crate) fn check_len(
    op: &'static str,
    a: &Layout,
    axes: &[usize],
    out: &View,
) -> Result<(), KernelError> {
    let kept: Vec<usize> = a
        .dims()
        .iter()
        .enumerate()
        .filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &dim)| dim)
        .collect();
    let expected = Shape::new(kept).map_err(KernelError::shape(op))?;
    if expected.len() != out.len() {
        return Err(KernelError::Output {
            op,
            expected: Box::new(expected),
            got: Box::new(*out.shape()),
        });
    }
    Ok(())
}

const _: () = assert!(MAX_COUNT <= u32::MAX as u64, "counts are u32 in kernels");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_widen_and_extrema_keep_their_dtype() {
        assert!(
            Reduce::Sum.accepts(DType::Bool, DType::I32)
                && !Reduce::Sum.accepts(DType::Bool, DType::Bool)
        );
        assert!(
            Reduce::Sum.accepts(DType::F16, DType::F32)
                && !Reduce::Sum.accepts(DType::F32, DType::F16)
        );
        assert!(
            !Reduce::Mean.accepts(DType::I32, DType::I32)
                && Reduce::Mean.accepts(DType::BF16, DType::BF16)
        );
        for dtype in DType::ALL {
            assert!(Reduce::Max.accepts(dtype, dtype));
            assert_eq!(Reduce::Min.accepts(dtype, DType::F32), dtype == DType::F32);
        }
    }

    #[test]
    fn the_lowest_keys_are_those_of_the_extreme_values() {
        let key = |x: f32| (x.to_bits() as i32) ^ ((x.to_bits() as i32 >> 31) & 0x7fff_ffff);
        assert_eq!(lowest_key(DType::F32, false), key(f32::NEG_INFINITY) as u32);
        assert_eq!(lowest_key(DType::F32, true), !key(f32::INFINITY) as u32);
        assert_eq!(lowest_key(DType::I8, false) as i32, -128);
        assert_eq!(!(lowest_key(DType::I8, true) as i32), 127);
        assert_eq!(!lowest_key(DType::U8, true), 255);
        assert_eq!(!lowest_key(DType::I32, true), i32::MAX as u32);
        assert_eq!(!lowest_key(DType::U32, true), u32::MAX);
    }
}
