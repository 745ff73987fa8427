//! The kernels of norms: which files, constants and parameters each has.

use ziggurat_core::DType;

use super::Norm;
use crate::ops::reduce::geometry::ReduceGeometry;
use crate::ops::reduce::lanes::{Lanes, Registers};
use crate::ops::reduce::{
    ACCESSES, BEFORE_EPILOGUES, Put, sample, sample_of, with_constants, with_registers,
};
use crate::source::candidate::Candidate;
use crate::source::choice::{KernelChoice, Reads};
use crate::source::params::{Params, params};

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
pub(super) enum Factors {
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

    /// The affine parts; with vec4 four weights are read at once.
    const fn parts(self, vec4: bool) -> &'static [&'static str] {
        match (self, vec4) {
            (Self::Plain, _) => &["norm/plain.wgsl"],
            (Self::Weight, false) => &["norm/channels.wgsl", "norm/weight.wgsl"],
            (Self::Weight, true) => &["norm/weight_vec4.wgsl"],
            (Self::WeightBias, false) => &["norm/channels.wgsl", "norm/weight_bias.wgsl"],
            (Self::WeightBias, true) => &["norm/weight_bias_vec4.wgsl"],
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
pub(super) struct Job {
    pub(super) op: Norm,
    pub(super) reads: Reads,
    pub(super) dtype: DType,
    pub(super) factors: Factors,
    /// Whether elements are read four at a time.
    pub(super) read: bool,
    pub(super) write: Put,
    /// Whether weights and biases are read four at a time.
    pub(super) affine: bool,
}

impl Job {
    fn start(&self, name: &'static str) -> KernelChoice {
        let mut choice = KernelChoice::new(self.op.name())
            .name(self.dtype.name())
            .name(self.factors.name())
            .name(name)
            .reads(self.reads, self.dtype, "norm/params.wgsl", self.read);
        if self.reads == Reads::Fused && self.factors != Factors::Plain {
            // Weights are read from memory all the same.
            choice = choice.load(self.dtype);
        }
        choice = choice
            .part("reduce/index.wgsl")
            .access(self.read)
            .part(match self.op {
                Norm::Layer | Norm::Rms => "norm/variance.wgsl",
                Norm::Length => "norm/length.wgsl",
            })
            .parts(self.factors.parts(self.affine))
            .without_zeroed_memory();
        choice = self.write.parts(choice, self.dtype);
        match (self.write, self.affine) {
            (Put::Elements, false) => choice,
            (Put::Vec4, false) => choice.name("to_vec4"),
            (Put::Staged, false) => choice.name("staged"),
            (Put::Elements | Put::Staged, true) => choice.name("by_vec4"),
            (Put::Vec4, true) => choice.name("to_and_by_vec4"),
        }
    }

    /// The kernel for rows that lanes keep in registers.
    pub(super) fn registers(
        &self,
        geometry: &ReduceGeometry,
        registers: &Registers,
    ) -> KernelChoice {
        let choice = self
            .start("registers")
            .parts(&[
                "functions/divide.wgsl",
                "reduce/op/sum.wgsl",
                "reduce/lanes_one.wgsl",
                "reduce/tree.wgsl",
                "reduce/registers.wgsl",
                "norm/body.wgsl",
            ])
            .constant("CENTER", u32::from(self.op == Norm::Layer));
        with_registers(choice, geometry, registers, (self.read, self.write))
    }

    /// The kernel for chunks of rows whose moments are known by chunks.
    pub(super) fn long(&self, geometry: &ReduceGeometry, lanes: &Lanes) -> KernelChoice {
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
        let choice = choice.constant("SPACING", lanes.spacing(self.write.one_by_one(self.read)));
        with_constants(choice, geometry, lanes)
    }

    /// Both kernels and their bindings, for rows of a sample.
    fn both(&self) -> impl Iterator<Item = (DType, KernelChoice, usize)> {
        let (long, lanes) = sample();
        let (geometry, registers) = sample_of(self.write);
        let bindings = self.factors.bindings();
        let registers = registers
            .map(|registers| (self.dtype, self.registers(&geometry, &registers), bindings));
        let long = (self.write != Put::Staged)
            .then(|| (self.dtype, self.long(&long, &lanes), bindings + 1));
        registers.into_iter().chain(long)
    }
}

/// Every op with every float dtype and every affine part.
pub(crate) fn variants() -> Vec<Candidate> {
    let mut all = Vec::new();
    let accesses = [
        (false, Put::Elements, false),
        (true, Put::Vec4, true),
        (false, Put::Vec4, true),
        (true, Put::Vec4, false),
        (false, Put::Staged, false),
    ];
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for factors in Factors::ALL {
            for op in Norm::ALL {
                for (read, write, affine) in accesses {
                    if affine && factors == Factors::Plain {
                        continue;
                    }
                    let job = Job {
                        op,
                        reads: Reads::Memory,
                        dtype,
                        factors,
                        read,
                        write,
                        affine,
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
    some(Reads::Fused, &ACCESSES)
}

/// Norms with an epilogue for the corpus, their bindings, and whether they read a value too.
pub(crate) fn writing_fused() -> Vec<(DType, KernelChoice, usize, bool)> {
    let with = |reads: Reads| {
        (some(reads, &BEFORE_EPILOGUES).into_iter())
            .map(move |(dtype, choice, own)| (dtype, choice, own, reads == Reads::Fused))
    };
    with(Reads::Memory).chain(with(Reads::Fused)).collect()
}

fn some(reads: Reads, accesses: &[(bool, Put)]) -> Vec<(DType, KernelChoice, usize)> {
    let mut all = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_float()) {
        for (op, factors) in [
            (Norm::Layer, Factors::WeightBias),
            (Norm::Rms, Factors::Weight),
            (Norm::Length, Factors::Plain),
        ] {
            for &(read, write) in accesses {
                let job = Job {
                    op,
                    reads,
                    dtype,
                    factors,
                    read,
                    write,
                    affine: read && factors != Factors::Plain,
                };
                // What the corpus adds is as much as fits with four.
                all.extend(job.both().filter(|(.., own)| *own <= 4));
            }
        }
    }
    all
}
