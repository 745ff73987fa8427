//! A problem on scratch memory: its operands, its runs, and how far their results may differ.

use ziggurat_core::{DType, Layout, encode};
use ziggurat_device::DeviceError;

use super::check::{Bound, Difference, EXACT_TERMS};
use super::meet::{Given, Met};
use crate::run::call::{CallKind, Operands, Sink};
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// What operands hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Multiples of 1/8, of which sums of products are exact.
    Exact,
    /// Numbers with all their bits.
    Real,
}

/// Elements after which scratch memory repeats itself: a prime, so that no row is like another.
const PERIOD: usize = 65_521;

/// Memory like that of a problem, and runs on it.
pub(super) struct Trial<'a> {
    met: &'a Met,
    first: View,
    others: [Option<View>; 5],
    pub(super) out: View,
}

impl Given {
    fn layout(&self) -> (&Layout, DType) {
        match self {
            Self::Scratch(layout, dtype) => (layout, *dtype),
            Self::Kept(view) => (&view.layout, view.dtype),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Scratch(layout, dtype) => {
                let elements = layout.span().map_or(0, |(low, high)| high - low + 1);
                (elements as u64).saturating_mul(dtype.bytes() as u64)
            }
            Self::Kept(_) => 0,
        }
    }

    fn view(&self, exec: &Executor, fill: Fill, seed: u64) -> Result<View, KernelError> {
        match self {
            Self::Scratch(layout, dtype) => scratch(exec, layout, *dtype, (fill, seed)),
            Self::Kept(view) => Ok(view.clone()),
        }
    }
}

/// Random numbers that lie like an operand. Where they begin counts to within 64 elements.
fn scratch(
    exec: &Executor,
    layout: &Layout,
    dtype: DType,
    (fill, seed): (Fill, u64),
) -> Result<View, KernelError> {
    let (low, high) = layout.span().unwrap_or((0, 0));
    let front = low / 64 * 64;
    let strides = layout.strides();
    let moved = Layout::new(
        *layout.shape(),
        strides,
        layout.offset().saturating_sub(front),
    );
    let moved = moved.map_err(KernelError::shape("tune"))?;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ seed.wrapping_mul(0xD134_2543_DE82_EF95);
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let eighths = ((state >> 40) % 17) as f64 - 8.0;
        match fill {
            _ if !dtype.is_float() => eighths.abs(),
            Fill::Exact => eighths / 8.0,
            Fill::Real => (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0,
        }
    };
    let values: Vec<f64> = (0..PERIOD).map(|_| number()).collect();
    let period = encode(dtype, &values);
    let bytes = (high + 1 - front) * dtype.bytes();
    let mut all = Vec::with_capacity(bytes.next_multiple_of(period.len()));
    while all.len() < bytes {
        all.extend_from_slice(&period);
    }
    all.truncate(bytes);
    View::new(exec.memory().upload(&all)?, moved, dtype)
}

impl Met {
    /// Bytes of scratch memory.
    pub(super) fn bytes(&self) -> u64 {
        let inputs = std::iter::once(&self.first).chain(self.others.iter().flatten());
        let (shape, dtype) = &self.out;
        let out = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
        inputs.map(Given::bytes).fold(out, u64::saturating_add)
    }

    /// Op, dtypes and shapes, for people.
    pub(super) fn text(&self) -> String {
        let operand = |given: &Given| {
            let (layout, dtype) = given.layout();
            let strided = if layout.is_contiguous() {
                ""
            } else {
                " strided"
            };
            format!("{dtype} {}{strided}", layout.shape())
        };
        let all = std::iter::once(&self.first).chain(self.others.iter().flatten());
        let all: Vec<String> = all.map(operand).collect();
        let all = all.join(", ");
        match self.call.kind() {
            CallKind::QuantizedLinear { weight, form } => {
                let [rows, cols] = weight.dims();
                let (x, format) = (self.first.layout(), weight.format());
                let norm = if form.rms_norm.is_some() {
                    ", rms_norm"
                } else {
                    ""
                };
                let gate = if form.swiglu { ", swiglu" } else { "" };
                format!(
                    "quantized_linear {} {}, {format} [{rows}, {cols}]{norm}{gate}",
                    x.1,
                    x.0.shape()
                )
            }
            CallKind::Attention { options } if options.causal => format!("attention {all}, causal"),
            _ => format!("{} {all}", self.call.name()),
        }
    }

    /// How far results may differ for random data.
    fn bound(&self) -> Bound {
        let dims = |given: Option<&Given>| {
            given.map_or_else(Vec::new, |given| given.layout().0.dims().to_vec())
        };
        let first = dims(Some(&self.first));
        let last = first.last().copied().unwrap_or(1);
        let taps = |out_channels: usize| {
            let filters = dims(self.others.first().and_then(Option::as_ref));
            let all: usize = filters.iter().product();
            all / filters.get(out_channels).copied().unwrap_or(1).max(1)
        };
        let (terms, uneven) = match self.call.kind() {
            CallKind::Attention { options } => {
                // Integers here are up to 8, four times what the bound is for, and so are the sums of them.
                let keys = self.others.first().and_then(Option::as_ref);
                let bytes = keys.is_some_and(|keys| keys.layout().1 == DType::I8);
                return Bound::Attention {
                    dim: if bytes { last.saturating_mul(16) } else { last },
                    scale: options.scale.into(),
                };
            }
            CallKind::Conv { .. } => (taps(0), false),
            CallKind::ConvTranspose { .. } => (taps(1), false),
            CallKind::QuantizedLinear { .. } => (last, true),
            _ => (last, false),
        };
        Bound::Sums { terms, uneven }
    }

    /// What is checked: with which data, to within what.
    pub(super) fn checks(&self) -> Vec<(Fill, Bound)> {
        let bound = self.bound();
        match bound {
            Bound::Sums { terms, uneven } if !uneven && terms <= EXACT_TERMS => {
                vec![(Fill::Exact, Bound::Exact), (Fill::Real, bound)]
            }
            _ => vec![(Fill::Real, bound)],
        }
    }
}

impl<'a> Trial<'a> {
    pub(super) fn new(exec: &Executor, met: &'a Met, fill: Fill) -> Result<Self, KernelError> {
        let mut others = [const { None }; 5];
        for (at, (slot, given)) in others.iter_mut().zip(&met.others).enumerate() {
            let view = given.as_ref();
            *slot = view
                .map(|given| given.view(exec, fill, at as u64 + 2))
                .transpose()?;
        }
        let (shape, dtype) = &met.out;
        Ok(Self {
            met,
            first: met.first.view(exec, fill, 1)?,
            others,
            out: exec.alloc(shape, *dtype)?,
        })
    }

    fn operands(&self) -> Operands<'_> {
        Operands {
            first: (&self.first).into(),
            others: self.others.each_ref().map(Option::as_ref),
        }
    }

    /// Compiles what a run needs, so that a driver that refuses it is an error of this way alone.
    pub(super) fn compile(&self, exec: &Executor) -> Result<(), KernelError> {
        exec.compile(&self.met.call, &self.operands(), Sink::new(&self.out))
    }

    /// Records a run.
    pub(super) fn run(&self, exec: &Executor) -> Result<(), KernelError> {
        let sink = Sink::new(&self.out);
        exec.run(&self.met.call, &self.operands(), sink).map(drop)
    }

    /// What a run leaves. What it does not write is no number, or one that no sum of the data here is likely to be.
    pub(super) async fn result(&self, exec: &Executor) -> Result<Vec<u8>, KernelError> {
        let nothing = if self.out.dtype.is_float() {
            f64::NAN
        } else {
            101.0
        };
        let _filled = exec.fill(&self.out, nothing)?;
        self.run(exec)?;
        #[cfg(test)]
        spoil(exec, &self.out)?;
        exec.download(&self.out)?.await
    }

    pub(super) fn first_beyond(
        &self,
        bound: Bound,
        wanted: &[u8],
        got: &[u8],
    ) -> Option<Difference> {
        bound.first_beyond(self.out.dtype, wanted, got)
    }
}

#[cfg(test)]
thread_local! {
    /// The way whose results are wrong in their last element.
    pub(super) static SPOILED: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
fn spoil(exec: &Executor, out: &View) -> Result<(), KernelError> {
    let way = exec.forced().map(|forced| forced.way);
    if way.is_none() || way != SPOILED.get() {
        return Ok(());
    }
    let last = Layout::new(ziggurat_core::Shape::scalar(), &[], out.len() - 1);
    let last = out.with_layout(last.map_err(KernelError::shape("tune"))?)?;
    exec.fill(&last, 1.5).map(drop)
}

/// Whether a call failed because the device did: then everything else will.
pub(super) fn is_fatal(exec: &Executor) -> Option<DeviceError> {
    exec.device().status().err()
}
