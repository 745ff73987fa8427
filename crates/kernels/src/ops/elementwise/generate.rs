//! Ops without inputs: fill, arange, linspace, eye.

use ziggurat_core::{DType, encode};
use ziggurat_pipeline::Grid;

use crate::compose::composite::Formula;
use crate::fused::Expression;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::copy::bits;
use crate::ops::elementwise::dispatch::{PER_INVOCATION, count};
use crate::ops::elementwise::row::{FLOAT, NUMERIC};
use crate::ops::elementwise::unary::check_dtype;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

params! {
    /// Parameters of `fill`.
    pub(crate) struct FillParams {
        len: u32,
        offset_out: u32,
        value: u32,
    }
}

params! {
    /// Parameters of `arange`.
    pub(crate) struct ArangeParams {
        len: u32,
        offset_out: u32,
        first: u32,
        start: u32,
        step: u32,
    }
}

params! {
    /// Parameters of `eye`.
    pub(crate) struct EyeParams {
        len: u32,
        offset_out: u32,
        cols: u32,
        first: u32,
        k: i32,
    }
}

fn choose(
    op: &'static str,
    name: &'static str,
    store: &'static str,
    body: &'static str,
) -> KernelChoice {
    KernelChoice::new(op)
        .name(name)
        .part(prelude::FLOAT)
        .part(store)
        .part("elementwise/emit.wgsl")
        .part(body)
}

fn fill(bytes: usize) -> KernelChoice {
    let (name, _, store) = bits(bytes);
    choose("fill", name, store, "elementwise/fill.wgsl")
}

fn arange(dtype: DType) -> KernelChoice {
    choose(
        "arange",
        dtype.name(),
        prelude::store(dtype),
        "elementwise/arange.wgsl",
    )
}

fn eye(dtype: DType) -> KernelChoice {
    choose(
        "eye",
        dtype.name(),
        prelude::store(dtype),
        "elementwise/eye.wgsl",
    )
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    let fills = [4, 2, 1]
        .iter()
        .map(|&bytes| Candidate::new(fill(bytes), FillParams::FIELDS));
    let aranges = NUMERIC
        .iter()
        .map(|&dtype| Candidate::new(arange(dtype), ArangeParams::FIELDS));
    let eyes = DType::ALL
        .iter()
        .map(|&dtype| Candidate::new(eye(dtype), EyeParams::FIELDS));
    fills.chain(aranges).chain(eyes).collect()
}

/// An element's storage bytes in the low bits of a word.
pub(crate) fn storage_bits(dtype: DType, value: f64) -> u32 {
    encode(dtype, &[value])
        .iter()
        .rev()
        .fold(0, |word, &byte| (word << 8) | u32::from(byte))
}

/// A value in the dtype's compute type, by its bits. Integers wrap modulo 2³².
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "wrapping to the compute type"
)]
fn compute_bits(dtype: DType, value: f64) -> u32 {
    if dtype.is_float() {
        (value as f32).to_bits()
    } else {
        value as i64 as u32
    }
}

impl Executor {
    /// Sets every element to `value`, converted to the dtype.
    ///
    /// # Errors
    /// [`KernelError::OverlappingOutput`], and the errors of the layers below.
    pub fn fill(&self, out: &View, value: f64) -> Result<Completion, KernelError> {
        if !out.is_vec4() {
            return self.copy(&self.scalar(out.dtype, value)?, out);
        }
        let value = storage_bits(out.dtype, value);
        self.generate("fill", out, &mut |part, _| {
            let (len, target) = (count("fill", part.len())?, self.bind_write("fill", part)?);
            let params = FillParams {
                len,
                offset_out: target.offset,
                value,
            };
            self.launch(&fill(part.dtype.bytes()), &[target.arg], &params, grid(len))
        })
    }

    /// Sets element `i`, in row-major order, to `start + i · step`. Integer dtypes truncate `start` and `step`
    /// first and wrap.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] for bool, [`KernelError::OverlappingOutput`], and the errors of the layers below.
    pub fn arange(&self, out: &View, start: f64, step: f64) -> Result<Completion, KernelError> {
        check_dtype("arange", NUMERIC, out)?;
        let (start, step) = (
            compute_bits(out.dtype, start),
            compute_bits(out.dtype, step),
        );
        self.generate("arange", out, &mut |part, first| {
            let (len, target) = (
                count("arange", part.len())?,
                self.bind_write("arange", part)?,
            );
            let params = ArangeParams {
                len,
                offset_out: target.offset,
                first: count("arange", first)?,
                start,
                step,
            };
            self.launch(&arange(part.dtype), &[target.arg], &params, grid(len))
        })
    }

    /// As many f32 numbers as `out` has elements, evenly spaced from `start` to `end`, both exact; one is `start`.
    ///
    /// # Errors
    /// [`KernelError::Number`] unless the bounds are finite; [`KernelError::Dtype`] if `out` is no float.
    pub fn linspace(&self, start: f32, end: f32, out: &View) -> Result<Completion, KernelError> {
        const OP: &str = "linspace";
        let bounds = [f64::from(start), f64::from(end)];
        for (number, got) in ["start", "end"].into_iter().zip(bounds) {
            if !got.is_finite() {
                return Err(KernelError::Number {
                    op: OP,
                    number,
                    rule: "must be finite",
                    got,
                });
            }
        }
        check_dtype(OP, FLOAT, out)?;
        let [start, end] = bounds;
        if out.len() < 2 {
            return self.fill(out, start);
        }
        let places = self.alloc(out.shape(), DType::F32)?;
        let _counted = self.arange(&places, 0.0, 1.0)?;
        let last = (out.len() - 1) as f64;
        let step = f64::from(((end - start) / last) as f32);
        let mut e = Expression::new();
        let place = e.input(places);
        // Counted from the nearer end, so that both ends are exact.
        let mut f = Formula(&mut e);
        let left = f.with(Binary::Mul, &place, step)?;
        let left = f.with(Binary::Add, &left, start)?;
        let right = f.less(last, &place)?;
        let right = f.with(Binary::Mul, &right, step)?;
        let right = f.less(end, &right)?;
        let near = f.is(Compare::Lt, &place, (out.len() / 2) as f64)?;
        let value = f.choose(&near, &left, &right)?;
        self.written(e, value, out)
    }

    /// Makes a matrix with ones on the `k`th diagonal (above the main one for positive `k`) and zeros elsewhere.
    ///
    /// # Errors
    /// [`KernelError::Operand`] if the rank is not 2, [`KernelError::OverlappingOutput`], and the errors of the layers
    /// below.
    pub fn eye(&self, out: &View, k: i64) -> Result<Completion, KernelError> {
        let &[rows, cols] = out.dims() else {
            return Err(KernelError::operand(
                "eye",
                "out",
                "must have rank 2",
                *out.shape(),
            ));
        };
        // Diagonals beyond the matrix are all alike: nowhere.
        let far = i64::try_from(rows.max(cols)).unwrap_or(i64::MAX);
        let k = i32::try_from(k.clamp(-far, far)).map_err(|_| KernelError::IndexTooLarge {
            op: "eye",
            elements: out.len() as u64,
            limit: i32::MAX as u64,
        })?;
        let cols = count("eye", cols)?;
        self.generate("eye", out, &mut |part, first| {
            let (len, target) = (count("eye", part.len())?, self.bind_write("eye", part)?);
            let first = count("eye", first)?;
            let params = EyeParams {
                len,
                offset_out: target.offset,
                cols,
                first,
                k,
            };
            self.launch(&eye(part.dtype), &[target.arg], &params, grid(len))
        })
    }

    /// Calls `f` on dense parts of the output, each with the number of elements before it.
    fn generate(
        &self,
        op: &'static str,
        out: &View,
        f: &mut dyn FnMut(&View, usize) -> Result<(), KernelError>,
    ) -> Result<Completion, KernelError> {
        self.with_dense_out(op, out, &[], |out| {
            if out.is_empty() {
                return Ok(());
            }
            let start = out.layout.offset();
            self.in_parts(op, &[out], &mut |part| {
                let [part] = part else { return Ok(()) };
                let first = part.layout.offset().saturating_sub(start);
                self.with_dense_out(op, part, &[], |part| f(part, first))
            })
        })?;
        Ok(self.completion())
    }
}

fn grid(len: u32) -> Grid {
    Grid::stride(u64::from(len), PER_INVOCATION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_stored_in_the_wrap() {
        assert_eq!(storage_bits(DType::F32, 1.0), 0x3f80_0000);
        assert_eq!(storage_bits(DType::F16, 1.0), 0x3c00);
        assert_eq!(storage_bits(DType::I8, -1.0), 0xff);
        assert_eq!(storage_bits(DType::Bool, 5.0), 1);
    }
}
