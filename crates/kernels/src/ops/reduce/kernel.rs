//! The kernels of reductions: which files and constants each has, for one pass or two.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use super::geometry::{ReduceGeometry, ReduceParams};
use super::lanes::{self, Lanes, Registers};
use super::op::Reduce;
use super::put::Put;
use super::user::UserCombine;
use crate::fused::Operand;
use crate::limits::ability::Ability;
use crate::num::saturated;
use crate::run::call::{F32Bits, ReduceOp};
use crate::run::ends::Ends;
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::Params;
use crate::source::prelude;

/// What a pass reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Elements to results.
    Whole,
    /// Elements to accumulators.
    First,
    /// Accumulators to results.
    Second,
}

impl Pass {
    pub(crate) const ALL: [Self; 3] = [Self::Whole, Self::First, Self::Second];

    /// The name in labels.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::First => "first",
            Self::Second => "second",
        }
    }

    /// Adds what a kernel reads: the elements, as `reads` says and four at a time or not, or their accumulators.
    pub(crate) fn reading(
        self,
        choice: KernelChoice,
        (reads, input): (Reads, DType),
        vec4: bool,
    ) -> KernelChoice {
        match self {
            Self::Whole | Self::First => choice.reads(reads, input, "reduce/params.wgsl", vec4),
            Self::Second => choice
                .part(prelude::FLOAT)
                .load(input)
                .params("reduce/params.wgsl"),
        }
    }
}

/// How many elements a load of a kernel has, and of which outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loads {
    /// One.
    Singles,
    /// Four neighbours of one output.
    Rows,
    /// Those of four neighbouring outputs at one place.
    Columns,
}

/// One reduction of elements of one dtype.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) op: Reduce,
    /// Whose operator part stands in place of the op's own.
    pub(super) user: Option<UserCombine>,
    pub(super) argument: F32Bits,
    pub(super) reads: Reads,
    pub(super) input: DType,
    pub(super) output: DType,
    pub(super) loads: Loads,
    /// Variances followed by means, in one output of twice the length.
    pub(super) with_mean: bool,
}

impl Job {
    pub(super) fn new(op: Reduce, input: DType, output: DType) -> Self {
        Self {
            op,
            user: None,
            argument: op.default_argument().into(),
            reads: Reads::Memory,
            input,
            output,
            loads: Loads::Singles,
            with_mean: false,
        }
    }

    /// The reduction of a call.
    pub(super) fn of(op: ReduceOp, ends: &Ends<'_>, output: DType) -> Self {
        Self {
            user: op.user,
            argument: op.argument,
            reads: ends.a.reads(),
            ..Self::new(op.op, ends.a.dtype(), output)
        }
    }

    /// Variance and mean of a call.
    pub(super) fn of_both(correction: f32, ends: &Ends<'_>) -> Self {
        Self {
            with_mean: true,
            ..Self::of(Reduce::Var.with(correction), ends, ends.out.dtype)
        }
    }

    /// The same as it reads an operand: in vectors of four, where rows or columns lie in memory like that.
    pub(super) fn reading(
        &self,
        a: &Operand<'_>,
        geometry: &ReduceGeometry,
        ability: &Ability,
    ) -> Self {
        let loads = if a.has_vec4(geometry) {
            Loads::Rows
        } else if a.has_vec4_columns(geometry) && self.columns_fit(ability) {
            Loads::Columns
        } else {
            Loads::Singles
        };
        Self { loads, ..*self }
    }

    /// Whether accumulators of four outputs for each invocation, twice, fit into the workgroup memory that every device has.
    pub(super) fn columns_fit(&self, ability: &Ability) -> bool {
        let words = 4 * self.words();
        let bytes = ability.workgroup_bytes.min(Ability::WEBGPU.workgroup_bytes);
        2 * 4 * words * ability.workgroup_size <= bytes
    }

    /// The workgroups of a pass over elements.
    pub(super) fn grid(&self, geometry: &ReduceGeometry, lanes: &Lanes) -> Grid {
        let rows = match self.loads {
            Loads::Singles | Loads::Rows => geometry.outputs,
            Loads::Columns => geometry.outputs / 4,
        };
        Grid::elements(lanes.invocations(rows), 1)
    }

    pub(super) fn identity(&self) -> u32 {
        match self.user {
            Some(_) => self.argument.bits(),
            None => self.op.identity(self.input, self.argument.get()),
        }
    }

    /// Words of an accumulator.
    pub(super) fn words(&self) -> u32 {
        let own = self.op.spec().accumulator_words;
        self.user.map_or(own, UserCombine::words)
    }

    pub(super) fn choice(
        &self,
        pass: Pass,
        geometry: &ReduceGeometry,
        lanes: &Lanes,
    ) -> KernelChoice {
        let (op, input, output) = (self.op, self.input, self.output);
        let finished = if self.with_mean {
            "reduce/output_pair.wgsl"
        } else {
            "reduce/output_elem.wgsl"
        };
        let write = match pass {
            Pass::Whole | Pass::Second => finished,
            Pass::First => "reduce/output_acc.wgsl",
        };
        let mut choice = KernelChoice::new(if self.with_mean {
            "var_mean"
        } else {
            self.user.map_or(op.name(), UserCombine::name)
        })
        .name(input.name())
        .name(output.name())
        .name(pass.name())
        .without_zeroed_memory();
        let vec4 = self.loads != Loads::Singles;
        choice = pass
            .reading(choice, (self.reads, input), vec4)
            .store(output);
        // Sums of four outputs at a time, which only they have.
        let layers = pass == Pass::Second && self.loads == Loads::Columns;
        if pass != Pass::First {
            choice = choice.writes(output, layers);
        }
        choice = choice.part("reduce/index.wgsl");
        choice = match self.user {
            Some(user) => choice.part(user.path()),
            None => choice.parts(op.operator(input)),
        };
        choice = if layers {
            choice.name("layers").part("reduce/layers.wgsl")
        } else if pass == Pass::Second {
            choice.part(write).parts(&[
                "reduce/lanes_one.wgsl",
                "reduce/tree.wgsl",
                "reduce/second.wgsl",
            ])
        } else {
            let (lanes, body) = match self.loads {
                Loads::Singles | Loads::Rows => ("reduce/lanes_one.wgsl", "reduce/body.wgsl"),
                Loads::Columns => ("reduce/lanes_four.wgsl", "reduce/columns.wgsl"),
            };
            if self.loads == Loads::Columns {
                choice = choice.name("columns");
            }
            choice.part(write).access(vec4).parts(op.block()).parts(&[
                lanes,
                "reduce/tree.wgsl",
                body,
            ])
        };
        if let Some((name, value)) = op.spec().constant {
            choice = choice.constant(name, value);
        }
        with_constants(choice, geometry, lanes)
    }
}

/// Rows for the catalogue, and how they lie over workgroups.
pub(crate) fn sample() -> (ReduceGeometry, Lanes) {
    let geometry = ReduceGeometry::rows(64, 4096);
    let lanes = lanes::vectors(
        geometry.outputs,
        geometry.len,
        geometry.side(),
        true,
        &Ability::WEBGPU,
    );
    (geometry, lanes)
}

/// Adds the geometry's override constants.
pub(crate) fn with_constants(
    choice: KernelChoice,
    geometry: &ReduceGeometry,
    lanes: &Lanes,
) -> KernelChoice {
    geometry
        .constants(lanes)
        .into_iter()
        .fold(choice, |choice, (name, value)| choice.constant(name, value))
}

/// The constants of a kernel whose lanes keep rows in registers: whether it reads them in vectors, and how it writes them.
pub(crate) fn with_registers(
    choice: KernelChoice,
    geometry: &ReduceGeometry,
    registers: &Registers,
    (read, write): (bool, Put),
) -> KernelChoice {
    let mut choice = registers
        .constants(geometry.len, write.one_by_one(read))
        .into_iter()
        .fold(choice, |choice, (name, value)| choice.constant(name, value));
    if write == Put::Staged {
        let elements = u64::from(registers.lanes.rows) * geometry.len;
        choice = choice.constant("STAGED", saturated(elements));
    }
    with_constants(choice, geometry, &registers.lanes)
}

/// Every reduction of every dtype, in one pass and in two.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let (geometry, lanes) = sample();
    let candidate =
        |job: Job, pass| Candidate::new(job.choice(pass, &geometry, &lanes), ReduceParams::FIELDS);
    let of = |job: Job, (pass, loads): (Pass, Loads)| candidate(Job { loads, ..job }, pass);
    for input in DType::ALL {
        for output in DType::ALL {
            for op in Reduce::ALL {
                if op.accepts(input, output) {
                    let job = Job::new(op, input, output);
                    let passes = [
                        (Pass::Whole, Loads::Singles),
                        (Pass::Whole, Loads::Rows),
                        (Pass::First, Loads::Singles),
                        (Pass::First, Loads::Rows),
                        (Pass::Second, Loads::Singles),
                    ];
                    all.extend(passes.map(|pass| of(job, pass)));
                    if op == Reduce::Sum {
                        all.push(of(job, (Pass::Second, Loads::Columns)));
                    }
                    if job.columns_fit(&Ability::WEBGPU) {
                        all.push(of(job, (Pass::Whole, Loads::Columns)));
                        all.push(of(job, (Pass::First, Loads::Columns)));
                    }
                }
            }
            if Reduce::Var.accepts(input, output) {
                let job = Job {
                    with_mean: true,
                    ..Job::new(Reduce::Var, input, output)
                };
                let passes = [
                    (Pass::Whole, Loads::Singles),
                    (Pass::Whole, Loads::Rows),
                    (Pass::Second, Loads::Singles),
                ];
                all.extend(passes.map(|pass| of(job, pass)));
            }
        }
    }
    all
}

/// Reductions that read a fused expression's value of a dtype, for the corpus of those.
pub(crate) fn reading_fused() -> Vec<(DType, KernelChoice)> {
    let (geometry, lanes) = sample();
    let fused = |op, input: DType, output, pass| {
        let job = Job {
            reads: Reads::Fused,
            loads: if pass == Pass::First || input.bytes() < 4 {
                Loads::Rows
            } else {
                Loads::Singles
            },
            ..Job::new(op, input, output)
        };
        (input, job.choice(pass, &geometry, &lanes))
    };
    let mut all = vec![
        fused(Reduce::Mean, DType::F32, DType::F32, Pass::Whole),
        fused(Reduce::Mean, DType::BF16, DType::F32, Pass::First),
        fused(Reduce::Sum, DType::Bool, DType::I32, Pass::Whole),
        fused(Reduce::Norm, DType::F32, DType::F32, Pass::Whole),
        fused(Reduce::Norm2, DType::F16, DType::F16, Pass::Whole),
        fused(Reduce::LogSumExp, DType::F32, DType::F32, Pass::First),
        fused(Reduce::Var, DType::F16, DType::F32, Pass::Whole),
    ];
    let pair = Job {
        reads: Reads::Fused,
        with_mean: true,
        ..Job::new(Reduce::Var, DType::F32, DType::F32)
    };
    all.push((DType::F32, pair.choice(Pass::Whole, &geometry, &lanes)));
    for dtype in DType::ALL {
        all.push(fused(Reduce::Max, dtype, dtype, Pass::Whole));
        if Reduce::Sum.accepts(dtype, dtype) {
            all.push(fused(Reduce::Sum, dtype, dtype, Pass::Whole));
        }
    }
    all
}

/// Reductions with an epilogue for the corpus: the dtype they read, that of the result, and whether they read a value too.
pub(crate) fn writing_fused() -> Vec<(DType, DType, KernelChoice, bool)> {
    let (geometry, lanes) = sample();
    let both = [Reads::Memory, Reads::Fused].into_iter().cycle();
    let jobs = Reduce::ALL.into_iter().flat_map(|op| {
        DType::ALL.into_iter().filter_map(move |input| {
            let output = DType::ALL.into_iter().find(|to| op.accepts(input, *to))?;
            Some(Job::new(op, input, output))
        })
    });
    let layers = [DType::F32, DType::F16].map(|dtype| {
        let job = Job {
            loads: Loads::Columns,
            ..Job::new(Reduce::Sum, dtype, dtype)
        };
        let choice = job.choice(Pass::Second, &geometry, &lanes);
        (dtype, dtype, choice, false)
    });
    let whole = jobs.zip(both).map(|(job, reads)| {
        let loads = match (job.input.is_float(), job.columns_fit(&Ability::WEBGPU)) {
            (true, true) => Loads::Columns,
            (true, false) => Loads::Rows,
            (false, _) => Loads::Singles,
        };
        let job = Job {
            reads,
            loads,
            ..job
        };
        let choice = job.choice(Pass::Whole, &geometry, &lanes);
        (job.input, job.output, choice, reads == Reads::Fused)
    });
    whole.chain(layers).collect()
}
