//! Random numbers from counters.
//!
//! Philox4x32-10 iterations a counter and a seed into four words by integer arithmetic, so element `i` of a call depends on the
//! seed, the counter of the call and `i` alone: not on the adapter, the workgroup size or how the work is cut.
//!
//! Invariants: words, uniform numbers and integers are the same bits on every adapter; normal numbers agree within a few
//! units in the last place of the radius.

use ziggurat_core::{DType, DTypeKind, Layout, Shape};
use ziggurat_pipeline::Grid;

use crate::fused::{Expression, FusedOp, Id};
use crate::limits::ability::Ability;
use crate::limits::split::halves;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::dispatch::{PER_INVOCATION, count};
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

mod weighted;

params! {
    /// Parameters of random numbers.
    pub(crate) struct RandomParams {
        len: u32,
        offset_out: u32,
        seed_low: u32,
        seed_high: u32,
        first_low: u32,
        first_high: u32,
        stream_low: u32,
        stream_high: u32,
        low: u32,
        count: u32,
    }
}

/// What is drawn from random words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Random {
    /// The words themselves; u32.
    Bits,
    /// Floats from 0 up to but not including 1, each a multiple of 2⁻²⁴ (f32), 2⁻¹¹ (f16) or 2⁻⁸ (bf16).
    Uniform,
    /// Floats of the normal distribution with mean 0 and variance 1.
    Normal,
    /// Integers from `low` on, `count` of them (at least 1); i32 or u32, where `low` is the bits of an i32.
    Integer {
        /// The least one.
        low: u32,
        /// How many different ones there are.
        count: u32,
    },
}

impl Random {
    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits => "random_bits",
            Self::Uniform => "random_uniform",
            Self::Normal => "random_normal",
            Self::Integer { .. } => "random_integer",
        }
    }

    /// Whether there are numbers of this kind in a dtype.
    #[must_use]
    pub const fn accepts(self, dtype: DType) -> bool {
        match self {
            Self::Bits => matches!(dtype, DType::U32),
            Self::Uniform | Self::Normal => dtype.is_float(),
            Self::Integer { .. } => matches!(dtype, DType::I32 | DType::U32),
        }
    }

    const fn snippet(self) -> &'static [&'static str] {
        match self {
            Self::Bits => &["random/bits.wgsl"],
            Self::Uniform => &["random/uniform.wgsl"],
            Self::Normal => &[
                "functions/log.wgsl",
                "functions/trig.wgsl",
                "random/normal.wgsl",
            ],
            Self::Integer { .. } => &["random/integer.wgsl"],
        }
    }
}

/// Where in the sequence of random numbers a call begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RandomState {
    /// Philox's key: another seed, another sequence.
    pub seed: u64,
    /// The counter of the first four numbers; a call for n numbers uses `ceil(n / 4)` counters.
    pub counter: u64,
    /// The upper half of the counter: independent sequences of one seed.
    pub stream: u64,
}

fn choice(kind: Random, dtype: DType, ability: &Ability) -> KernelChoice {
    let choice = KernelChoice::new(kind.name()).name(dtype.name());
    let choice = if ability.int64 {
        choice
            .name("int64")
            .enable("enable/int64.wgsl")
            .part("random/product_wide.wgsl")
    } else {
        choice.part("random/product_words.wgsl")
    };
    let choice = choice.parts(&[
        prelude::FLOAT,
        prelude::store(dtype),
        "random/params.wgsl",
        "elementwise/emit.wgsl",
        "random/philox.wgsl",
    ]);
    let choice = choice.parts(kind.snippet()).part("random/body.wgsl");
    let (Random::Uniform, DTypeKind::Float { digits, .. }) = (kind, dtype.info().kind) else {
        return choice;
    };
    choice.constant("DIGITS", digits)
}

/// Every kind in every dtype.
pub(crate) fn variants() -> Vec<Candidate> {
    let kinds = [
        Random::Bits,
        Random::Uniform,
        Random::Normal,
        Random::Integer { low: 0, count: 1 },
    ];
    let mut all = Vec::new();
    for kind in kinds {
        let dtypes = DType::ALL.into_iter().filter(|&dtype| kind.accepts(dtype));
        all.extend(dtypes.flat_map(|dtype| {
            Ability::SAMPLES
                .map(|ability| Candidate::new(choice(kind, dtype, &ability), RandomParams::FIELDS))
        }));
    }
    all
}

const fn low_half(x: u64) -> u32 {
    (x & 0xffff_ffff) as u32
}

const fn high_half(x: u64) -> u32 {
    (x >> 32) as u32
}

impl Executor {
    /// Fills `out` with random numbers. Element `i`, row-major, is drawn from the counter `state.counter + i / 4`.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] where [`Random::accepts`] says no; [`KernelError::Option`] for no integers at all;
    /// [`KernelError::OverlappingOutput`].
    pub fn random(
        &self,
        kind: Random,
        state: RandomState,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let op = kind.name();
        if !kind.accepts(out.dtype) {
            return Err(KernelError::dtype(
                op,
                "out",
                match kind {
                    Random::Bits => "random words are u32",
                    Random::Uniform | Random::Normal => "it must be a float",
                    Random::Integer { .. } => "random integers are i32 or u32",
                },
                out.dtype,
            ));
        }
        let (low, range) = match kind {
            Random::Integer { low, count } => (low, count),
            _ => (0, 1),
        };
        if range == 0 {
            return Err(KernelError::option(op, "count", "must be at least 1", 0));
        }
        self.with_dense_out(op, out, &[], |out| {
            self.draw(kind, state, [low, range], out)
        })?;
        Ok(self.completion())
    }

    /// Fills a dense output, in parts where it exceeds a binding.
    fn draw(
        &self,
        kind: Random,
        state: RandomState,
        [low, range]: [u32; 2],
        out: &View,
    ) -> Result<(), KernelError> {
        let op = kind.name();
        if out.is_empty() {
            return Ok(());
        }
        // Four numbers come from one counter.
        let half = out.len() / 8 * 4;
        if half > 0 && self.exceeds_binding(&[out]) {
            let flat = Shape::new([out.len()]).map_err(KernelError::shape(op))?;
            let flat = out.with_layout(
                Layout::new(flat, &[1], out.layout.offset()).map_err(KernelError::shape(op))?,
            )?;
            let [first, second] = halves(op, &flat, 0, half)?;
            self.draw(kind, state, [low, range], &first)?;
            let counter = state.counter.wrapping_add(half as u64 / 4);
            let state = RandomState { counter, ..state };
            return self.draw(kind, state, [low, range], &second);
        }
        let write = self.bind_write(op, out)?;
        let params = RandomParams {
            len: count(op, out.len())?,
            offset_out: write.offset,
            seed_low: low_half(state.seed),
            seed_high: high_half(state.seed),
            first_low: low_half(state.counter),
            first_high: high_half(state.counter),
            stream_low: low_half(state.stream),
            stream_high: high_half(state.stream),
            low,
            count: range,
        };
        self.launch(
            &choice(kind, out.dtype, &Ability::of(self.device())),
            &[write.arg],
            &params,
            Grid::stride(u64::from(params.len), PER_INVOCATION),
        )
    }

    /// Fills `out` with uniform floats from `low` up to but not including `high`: `low + (high - low) · u` of
    /// [`Random::Uniform`] in f32, rounded once to the dtype of `out`, and `low` where that is `high`.
    ///
    /// # Errors
    /// Those of [`Executor::random`]; [`KernelError::Number`] unless the bounds are finite and in order.
    pub fn uniform(
        &self,
        low: f32,
        high: f32,
        state: RandomState,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "uniform";
        let (low, high) = (f64::from(low), f64::from(high));
        finite(OP, "low", low)?;
        finite(OP, "high", high)?;
        if low >= high {
            return Err(KernelError::Number {
                op: OP,
                number: "low",
                rule: "must be below high",
                got: low,
            });
        }
        let mut e = Expression::new();
        let scaled = self.scaled(&mut e, Random::Uniform, [high - low, low], state, out)?;
        let bound = e.scalar(DType::F32, high);
        let end = e.op(FusedOp::Cast(out.dtype), &[bound])?;
        let below = e.op(FusedOp::Compare(Compare::Lt), &[scaled, end])?;
        let start = e.scalar(out.dtype, low);
        let value = e.op(FusedOp::Where, &[below, scaled, start])?;
        self.fused(&e, out.shape(), &[(value, out.clone())])
    }

    /// Fills `out` with floats of the normal distribution with this mean and standard deviation, rounded once to its dtype.
    ///
    /// # Errors
    /// Those of [`Executor::random`]; [`KernelError::Number`] unless both are finite and `std` is at least 0.
    pub fn normal(
        &self,
        mean: f32,
        std: f32,
        state: RandomState,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "normal";
        let (mean, std) = (f64::from(mean), f64::from(std));
        finite(OP, "mean", mean)?;
        finite(OP, "std", std)?;
        if std < 0.0 {
            return Err(KernelError::Number {
                op: OP,
                number: "std",
                rule: "must be at least 0",
                got: std,
            });
        }
        let mut e = Expression::new();
        let value = self.scaled(&mut e, Random::Normal, [std, mean], state, out)?;
        self.fused(&e, out.shape(), &[(value, out.clone())])
    }

    /// Numbers drawn in f32, times a scale plus a shift, in the dtype of `out`.
    fn scaled(
        &self,
        e: &mut Expression,
        kind: Random,
        [scale, shift]: [f64; 2],
        state: RandomState,
        out: &View,
    ) -> Result<Id, KernelError> {
        if !kind.accepts(out.dtype) {
            return Err(KernelError::dtype(
                kind.name(),
                "out",
                "it must be a float",
                out.dtype,
            ));
        }
        let drawn = self.alloc(out.shape(), DType::F32)?;
        let _drawn = self.random(kind, state, &drawn)?;
        let drawn = e.input(drawn);
        let (scale, shift) = (e.scalar(DType::F32, scale), e.scalar(DType::F32, shift));
        let product = e.op(FusedOp::Binary(Binary::Mul), &[drawn, scale])?;
        let sum = e.op(FusedOp::Binary(Binary::Add), &[product, shift])?;
        e.op(FusedOp::Cast(out.dtype), &[sum])
    }
}

fn finite(op: &'static str, number: &'static str, got: f64) -> Result<(), KernelError> {
    if got.is_finite() {
        return Ok(());
    }
    Err(KernelError::Number {
        op,
        number,
        rule: "must be finite",
        got,
    })
}
