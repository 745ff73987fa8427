//! Padding: a tensor continued beyond its ends, in any of the usual ways.
//!
//! Each axis of the output is that of the input shifted by `begin`; where it reaches beyond the input, the mode says what
//! stands there. A negative `begin`, or an output that ends early, crops. A circular pad that ends early is a roll.
//! Invariant: elements move as bare bits.

use ziggurat_core::DType;
use ziggurat_pipeline::Grid;

use crate::limits::split::{halves, halving};
use crate::num::wrap;
use crate::ops::elementwise::copy::bits;
use crate::ops::elementwise::dispatch::{PER_INVOCATION, count};
use crate::ops::elementwise::generate::storage_bits;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

mod runs;

const OP: &str = "pad";

params! {
    /// Parameters of `pad`.
    pub(crate) struct PadParams {
        len: u32,
        offset_out: u32,
        offset_a: u32,
        value: u32,
        axes: [[u32; 4]; 8],
    }
}

/// How a tensor goes on beyond its ends: what stands around `[1, 2, 3]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pad {
    /// One value: `0 0 [1 2 3] 0 0`.
    Constant,
    /// Mirrored at the edge elements: `3 2 [1 2 3] 2 1`.
    Reflect,
    /// Mirrored between the edge elements and their copies: `2 1 [1 2 3] 3 2`.
    Symmetric,
    /// The edge elements: `1 1 [1 2 3] 3 3`.
    Replicate,
    /// From the other end: `2 3 [1 2 3] 1 2`.
    Circular,
}

impl Pad {
    /// All modes.
    pub const ALL: [Self; 5] = [
        Self::Constant,
        Self::Reflect,
        Self::Symmetric,
        Self::Replicate,
        Self::Circular,
    ];

    /// The name in labels and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Reflect => "reflect",
            Self::Symmetric => "symmetric",
            Self::Replicate => "replicate",
            Self::Circular => "circular",
        }
    }
}

fn choice(mode: Pad, bytes: usize, rank: u32) -> KernelChoice {
    let (name, load, store) = bits(bytes);
    KernelChoice::new(OP)
        .name(mode.name())
        .name(name)
        .parts(&[
            prelude::FLOAT,
            load,
            store,
            "elementwise/emit.wgsl",
            "move/pad.wgsl",
        ])
        .constant("RANK", rank)
        .constant("MODE", mode as u8)
}

/// Every mode for every width of elements.
pub(crate) fn variants() -> Vec<Candidate> {
    let widths = [DType::U32, DType::F16, DType::U8];
    Pad::ALL
        .iter()
        .flat_map(|&mode| widths.map(|dtype| choice(mode, dtype.bytes(), 4)))
        .map(|choice| Candidate::new(choice, PadParams::FIELDS))
        .collect()
}

impl Executor {
    /// Writes `a`, moved by `begin[axis]` along each axis, into `out`, and what `mode` says around it. `value` is only
    /// used by [`Pad::Constant`].
    ///
    /// # Errors
    /// [`KernelError::Dtype`] unless both dtypes are equal; [`KernelError::Operands`] unless both ranks are, and
    /// `begin` has an entry per axis ([`KernelError::Option`]); [`KernelError::Operand`] if there is nothing to continue.
    pub fn pad(
        &self,
        a: &View,
        begin: &[isize],
        mode: Pad,
        value: f64,
        out: &View,
    ) -> Result<Completion, KernelError> {
        if a.dtype != out.dtype {
            return Err(KernelError::dtype(
                OP,
                "a",
                "it must have the output's dtype",
                a.dtype,
            ));
        }
        if a.rank() != out.rank() {
            return Err(KernelError::operands(
                OP,
                "the ranks must be equal",
                *a.shape(),
                *out.shape(),
            ));
        }
        if begin.len() != a.rank() {
            return Err(KernelError::option(
                OP,
                "begin",
                "must have an entry per axis",
                begin.len() as i64,
            ));
        }
        a.check()?;
        if a.is_empty() && !out.is_empty() {
            if mode == Pad::Constant {
                return self.fill(out, value);
            }
            return Err(KernelError::operand(
                OP,
                "a",
                "must have elements to continue",
                *a.shape(),
            ));
        }
        if !out.is_empty() && self.exceeds_binding(&[a]) {
            let a = match a.buffer.same_memory(&out.buffer) {
                true => self.to_dense(OP, a)?,
                false => a.clone(),
            };
            if mode == Pad::Constant {
                self.place(&a, begin, value, out)?;
            } else {
                self.pad_runs(&a, begin, mode, out)?;
            }
            return Ok(self.completion());
        }
        self.with_dense_out(OP, out, &[a], |out| {
            self.pad_dense(a, begin, mode, value, out)
        })?;
        Ok(self.completion())
    }

    /// Fills `out` and copies what of `a` lies within: any size, because both go in parts.
    fn place(&self, a: &View, begin: &[isize], value: f64, out: &View) -> Result<(), KernelError> {
        let _filled = self.fill(out, value)?;
        let (mut source, mut target) = (a.layout, out.layout);
        let extents = a.dims().iter().zip(out.dims());
        for (axis, ((&from, &to), &start)) in extents.zip(begin).enumerate() {
            let (before, skipped) = (start.max(0).unsigned_abs(), (-start).max(0).unsigned_abs());
            let kept = from.saturating_sub(skipped).min(to.saturating_sub(before));
            if kept == 0 {
                return Ok(());
            }
            let axis = axis.cast_signed();
            let fail = KernelError::shape(OP);
            source = source.narrow(axis, skipped, kept).map_err(&fail)?;
            target = target.narrow(axis, before, kept).map_err(&fail)?;
        }
        let _copied = self.copy(&a.with_layout(source)?, &out.with_layout(target)?)?;
        Ok(())
    }

    fn pad_dense(
        &self,
        a: &View,
        begin: &[isize],
        mode: Pad,
        value: f64,
        out: &View,
    ) -> Result<(), KernelError> {
        if out.is_empty() {
            return Ok(());
        }
        if self.exceeds_binding(&[out])
            && let Some((axis, at)) = halving(&out.layout)
        {
            let [first, second] = halves(OP, out, axis, at)?;
            let mut moved = begin.to_vec();
            for (half, start) in [(first, 0), (second, at.cast_signed())] {
                for (slot, &own) in moved.iter_mut().zip(begin).skip(axis).take(1) {
                    *slot = own - start;
                }
                // Halves may start within a vec4.
                self.with_dense_out(OP, &half, &[], |half| {
                    self.pad_dense(a, &moved, mode, value, half)
                })?;
            }
            return Ok(());
        }
        let mut params = PadParams {
            len: count(OP, out.len())?,
            value: storage_bits(a.dtype, value),
            ..PadParams::default()
        };
        for (axis, row) in params.axes.iter_mut().enumerate().take(a.rank()) {
            let extent = |view: &View| view.dims().get(axis).copied().unwrap_or(1);
            let start = begin.get(axis).copied().unwrap_or(0);
            // Positions are i32 in the kernel.
            let reach = start
                .unsigned_abs()
                .saturating_add(extent(a))
                .max(extent(out));
            if reach > (i32::MAX / 2) as usize {
                return Err(KernelError::IndexTooLarge {
                    op: OP,
                    elements: reach as u64,
                    limit: (i32::MAX / 2) as u64,
                });
            }
            let stride = a.layout.strides().get(axis).copied().unwrap_or(0);
            *row = [
                count(OP, extent(out))?,
                count(OP, extent(a))?,
                wrap(stride),
                wrap(start),
            ];
        }
        let (source, target) = (self.bind_read(OP, a)?, self.bind_write(OP, out)?);
        (params.offset_a, params.offset_out) = (source.offset, target.offset);
        let rank = u32::try_from(a.rank()).unwrap_or(0);
        self.launch(
            &choice(mode, a.dtype.bytes(), rank),
            &[source.arg, target.arg],
            &params,
            Grid::stride(u64::from(params.len), PER_INVOCATION),
        )
    }
}
