//! Softmax along any axis, and its logarithm.
//!
//! A group of lanes keeps a row in registers, in f32 for every float dtype, and reads it once; short rows share a workgroup.
//! Rows that are too long for that are cut into chunks: pairs of a greatest element and a sum, then results, two reads in
//! all. Invariant: a row whose maximum is NaN or infinite is all NaN, decided by bits.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::limits::ability::Ability;
use crate::limits::split::alike;
use crate::ops::reduce::geometry::{Order, ReduceGeometry, ReduceParams};
use crate::ops::reduce::lanes::{self, Lanes, Registers, Side};
use crate::ops::reduce::{
    ACCESSES, BEFORE_EPILOGUES, Put, Reduce, only_memory, rows, sample, sample_of, with_constants,
    with_registers,
};
use crate::run::call::{Call, CallKind, Operands, Sink, Source};
use crate::run::checks::check_shape;
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Planned, Planner};
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

mod long;

/// Softmax or its logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SoftmaxKind {
    /// [`Executor::softmax`].
    Softmax,
    /// [`Executor::log_softmax`].
    LogSoftmax,
}

impl SoftmaxKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Softmax, Self::LogSoftmax];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Softmax => "softmax",
            Self::LogSoftmax => "log_softmax",
        }
    }

    const fn result(self) -> &'static str {
        match self {
            Self::Softmax => "softmax/share.wgsl",
            Self::LogSoftmax => "softmax/log_share.wgsl",
        }
    }

    const fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Softmax => &["softmax/share.wgsl"],
            Self::LogSoftmax => &[
                "functions/log.wgsl",
                "elementwise/unary/log.wgsl",
                "softmax/log_share.wgsl",
            ],
        }
    }
}

/// A kernel for one dtype: how it reads and writes.
#[derive(Clone, Copy, Debug)]
struct Job {
    kind: SoftmaxKind,
    reads: Reads,
    dtype: DType,
    /// Whether elements are read four at a time.
    read: bool,
    write: Put,
}

impl Job {
    fn start(&self, name: &'static str) -> KernelChoice {
        let choice = KernelChoice::new(self.kind.name())
            .name(self.dtype.name())
            .name(name)
            .reads(self.reads, self.dtype, "reduce/params.wgsl", self.read)
            .part("reduce/index.wgsl")
            .access(self.read)
            .constant("LEAST", 0)
            .without_zeroed_memory();
        let choice = self.write.parts(choice, self.dtype);
        match self.write {
            Put::Elements => choice,
            Put::Vec4 => choice.name("to_vec4"),
            Put::Staged => choice.name("staged"),
        }
    }

    /// The exponential of the kernel that keeps rows in registers: logarithms show more of its digits than shares.
    const fn exp(&self) -> &'static str {
        match (self.kind, self.dtype) {
            (SoftmaxKind::Softmax, DType::F16 | DType::BF16) => "softmax/exp_narrow.wgsl",
            _ => "softmax/exp.wgsl",
        }
    }

    /// The kernel for rows that lanes keep in registers.
    fn registers(&self, geometry: &ReduceGeometry, registers: &Registers) -> KernelChoice {
        let choice = self
            .start("registers")
            .parts(&[
                "reduce/key/float.wgsl",
                "reduce/op/sum.wgsl",
                "reduce/lanes_one.wgsl",
                "reduce/tree.wgsl",
                "reduce/registers.wgsl",
                self.exp(),
                "softmax/weight.wgsl",
            ])
            .parts(self.kind.parts())
            .parts(&["softmax/results.wgsl", "softmax/body.wgsl"]);
        with_registers(choice, geometry, registers, (self.read, self.write))
    }

    /// The kernel for rows of which the greatest elements and the sums are known by chunks.
    fn long(&self, geometry: &ReduceGeometry, lanes: &Lanes) -> KernelChoice {
        let choice = self
            .start("long")
            .parts(Reduce::LogSumExp.operator(self.dtype))
            .part("softmax/weight.wgsl")
            // The logarithm is there already.
            .part(self.kind.result())
            .parts(&["softmax/results.wgsl", "softmax/long.wgsl"])
            .constant("SPACING", lanes.spacing(self.write.one_by_one(self.read)));
        with_constants(choice, geometry, lanes)
    }
}

/// Kernels of every float dtype, and their bindings: with rows in registers, and for chunks of long rows.
fn kernels(reads: Reads, accesses: &[(bool, Put)]) -> Vec<(DType, KernelChoice, usize)> {
    let (long, lanes) = sample();
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for kind in SoftmaxKind::ALL {
            for &(read, write) in accesses {
                let job = Job {
                    kind,
                    reads,
                    dtype,
                    read,
                    write,
                };
                let (geometry, registers) = sample_of(write);
                all.extend(
                    registers.map(|registers| (dtype, job.registers(&geometry, &registers), 2)),
                );
                if write != Put::Staged {
                    all.push((dtype, job.long(&long, &lanes), 3));
                }
            }
        }
    }
    all
}

/// Every float dtype.
pub(crate) fn variants() -> Vec<Candidate> {
    let some = [&ACCESSES[..], &[(false, Put::Vec4)]].concat();
    let all = kernels(Reads::Memory, &some);
    all.into_iter()
        .map(|(_, choice, _)| Candidate::new(choice, ReduceParams::FIELDS))
        .collect()
}

/// Softmax of a fused expression's value of a dtype, for the corpus of those, and its bindings.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice, usize)> {
    kernels(Reads::Fused, &ACCESSES)
}

/// Softmax with an epilogue for the corpus, its bindings, and whether it reads a value too.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize, bool)> {
    let with = |reads| {
        let all = kernels(reads, &BEFORE_EPILOGUES).into_iter();
        all.map(move |(dtype, choice, own)| (dtype, choice, own, reads == Reads::Fused))
    };
    with(Reads::Memory).chain(with(Reads::Fused)).collect()
}

impl Executor {
    /// `exp(a − max) / Σ exp(a − max)` along `axis`, computed in f32. Rows of NaN where the maximum is NaN, +inf or
    /// −inf. A rank-0 tensor has one row of one element (axis 0).
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless both are the same float dtype; [`KernelError::Shape`] for an axis that `a` does
    /// not have; [`KernelError::Output`] for another shape; [`KernelError::CannotFuse`] if one kernel cannot read or write an
    /// expression, or would compute too much twice.
    pub fn softmax<'a>(
        &self,
        a: impl Into<Source<'a>>,
        axis: usize,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let kind = SoftmaxKind::Softmax;
        self.run(
            &Call::new(CallKind::Softmax { kind, axis }),
            &Operands::one(a),
            out.into(),
        )
    }

    /// The logarithm of [`Executor::softmax`], found without it: `a − max − ln Σ exp(a − max)`. It is −inf where `a` is.
    ///
    /// # Errors
    /// As [`Executor::softmax`].
    pub fn log_softmax<'a>(
        &self,
        a: impl Into<Source<'a>>,
        axis: usize,
        out: impl Into<Sink<'a>>,
    ) -> Result<Completion, KernelError> {
        let kind = SoftmaxKind::LogSoftmax;
        self.run(
            &Call::new(CallKind::Softmax { kind, axis }),
            &Operands::one(a),
            out.into(),
        )
    }
}

/// Plans [`Call::Softmax`].
pub(crate) fn plan(
    p: &mut Planner<'_>,
    kind: SoftmaxKind,
    axis: usize,
) -> Result<Planned, KernelError> {
    let (op, ends) = (p.op, p.ends);
    let (dtype, layout) = (ends.a.dtype(), ends.a.layout());
    if !dtype.is_float() {
        return Err(KernelError::dtype(op, "a", "it must be a float", dtype));
    }
    if ends.computed() != dtype {
        return Err(KernelError::dtype(
            op,
            "out",
            "it must have the input's dtype",
            ends.computed(),
        ));
    }
    if axis >= layout.rank().max(1) {
        return Err(KernelError::axis(op, axis, layout.rank()));
    }
    check_shape(op, ends.out, layout.shape())?;
    let geometry = ReduceGeometry::new(op, layout, &[axis], Order::RowMajor)?;
    if layout.is_empty() {
        return Ok(Planned::Nothing);
    }
    if let Some(view) = ends.divisible(p.exec)?
        && p.exec.too_large(&[view, ends.out], 1).next().is_some()
    {
        return Ok(Planned::Parts);
    }
    let inner: usize = layout.dims().iter().skip(axis + 1).product();
    let lowest = prelude::lowest_key(dtype, false);
    // Too long for registers: chunks leave pairs of a greatest element and a sum, and then the results are computed.
    let mut rows = rows(p, Reduce::LogSumExp, &geometry)?;
    let job = Job {
        kind,
        reads: ends.a.reads(),
        dtype,
        read: ends.a.has_vec4(&geometry),
        write: rows.put(ends, geometry.len, inner == 1),
    };
    let (read, write) = (p.first()?, p.out()?);
    let lanes = &rows.lanes;
    let params = geometry.params(lanes, read.offset, write.offset, lowest, inner as u64);
    let grid = Grid::elements(lanes.invocations(geometry.outputs), 1);
    let choice = match &rows.registers {
        Some(registers) => job.registers(&geometry, registers),
        None => job.long(&geometry, lanes),
    };
    let bindings = [Some(read), Some(write), rows.accumulated];
    p.last(choice, bindings.into_iter().flatten(), &params, grid);
    Ok(Planned::Steps)
}

/// How often kernels read each element of rows of `len` elements of which there are `outputs`: once, if rows fit into registers.
pub(crate) fn reads(outputs: u64, len: u64, ability: &Ability) -> usize {
    // Whichever side neighbours are on, as many elements fit.
    match lanes::registers(outputs, len, Side::Reduced, ability) {
        Some(_) => 1,
        None => 2,
    }
}

/// Runs [`Call::Softmax`] on rows of an operand that one binding cannot hold.
pub(crate) fn run_parts(
    exec: &Executor,
    ends: &Ends<'_>,
    kind: SoftmaxKind,
    axis: usize,
) -> Result<(), KernelError> {
    let Operand::Memory(view) = ends.a else {
        return Err(only_memory(kind.name()));
    };
    let call = Call::new(CallKind::Softmax { kind, axis });
    let joints = || alike(view.rank(), |at| at == axis);
    let each = &mut |[a, out]: &[View; 2]| exec.run(&call, &Operands::one(a), out.into()).map(drop);
    if exec.split(kind.name(), [view, ends.out], 1, joints, each)? {
        return Ok(());
    }
    exec.softmax_of_long_row(kind, view, axis, ends.out)
        .map(drop)
}
