//! Rotary position embedding.

use ziggurat_core::DType;
use ziggurat_kernels::{Call, CallKind, RopeOptions, RopePositions, RopeRows};

use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// Cosines and sines for [`Tensor::rope`]: f32 rows of half the number of rotated elements, one per position.
#[derive(Clone, Debug)]
pub struct RopeTable {
    /// Cosines, `[positions, rotary / 2]`, or `[batch, length, rotary / 2]` for tables that belong to one input.
    pub cos: Tensor,
    /// Sines, of the same shape.
    pub sin: Tensor,
}

/// How [`Tensor::rope`] pairs elements and numbers positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct RopeForm<'a> {
    /// Pairs are neighbours; else they are the halves of what is rotated (as in GPT-NeoX and Llama).
    pub interleaved: bool,
    /// The input is `[batch, position, head, element]`; else `[batch, head, position, element]`.
    pub positions_before_heads: bool,
    /// The position of the first element, for tables shared by all batches.
    pub start: usize,
    /// Positions of each element, integers `[batch, length]`, in place of counting up from `start`.
    pub positions: Option<&'a Tensor>,
}

impl RopeTable {
    /// The table for `positions` positions of `rotary` elements: angle `position / base^(2i / rotary)`, computed in f64.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, RopeForm, RopeTable, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let table = RopeTable::new(&device, 4, 2, 10_000.0)?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 0.0, 1.0, 0.0], [1, 1, 2, 2])?;
    /// let y = x.rope(&table, RopeForm::default())?.to_vec_blocking::<f32>()?;
    /// assert_eq!(y, [1.0, 0.0, 1f32.cos(), 1f32.sin()]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `rotary` is odd or 0, there are no positions, the base is not a positive number, or the table is too large.
    pub fn new(device: &Device, positions: usize, rotary: usize, base: f64) -> Result<Self, Error> {
        const OP: &str = "RopeTable::new";
        if rotary == 0 || !rotary.is_multiple_of(2) || positions == 0 {
            return Err(Error::argument(
                OP,
                format!("rotary must be even and positions at least 1: {rotary} and {positions}"),
            ));
        }
        if !(base > 0.0 && base.is_finite()) {
            return Err(Error::argument(
                OP,
                format!("base must be a positive number: it is {base}"),
            ));
        }
        let half = rotary / 2;
        // Before the host's memory is asked for.
        device.check_len(OP, &new_shape(OP, &[positions, half])?, DType::F32)?;
        let angle = |at: usize| {
            let exponent = 2.0 * (at % half) as f64 / rotary as f64;
            (at / half) as f64 / base.powf(exponent)
        };
        let table = |f: fn(f64) -> f64| {
            let values: Vec<f32> = (0..positions * half)
                .map(|at| f(angle(at)) as f32)
                .collect();
            Tensor::from_slice(device, &values, [positions, half])
        };
        Ok(Self {
            cos: table(f64::cos)?,
            sin: table(f64::sin)?,
        })
    }
}

impl Tensor {
    /// Rotary position embedding of `[batch, head, position, element]`: each pair `(a, b)` of the first elements of a head becomes
    /// `(cos·a - sin·b, sin·a + cos·b)`, with as many pairs as the table has columns; the other elements are copied. A given
    /// position out of the table's range takes its nearest row.
    ///
    /// # Errors
    /// If ranks and extents do not fit, the table is too short for counted positions, given ones are no integers, or the
    /// dtype is not a float.
    pub fn rope(&self, table: &RopeTable, form: RopeForm<'_>) -> Result<Self, Error> {
        const OP: &str = "rope";
        self.needs_float(OP)?;
        let &[_, d1, d2, _] = self.dims() else {
            return Err(Error::shape(
                OP,
                format!("the input must have rank 4: it is {}", self.shape()),
            ));
        };
        let length = if form.positions_before_heads { d1 } else { d2 };
        let ready = |t: &Self| {
            self.same_device(OP, t)?;
            t.converted(OP, DType::F32)?.contiguous()
        };
        let (cos, sin) = (ready(&table.cos)?, ready(&table.sin)?);
        let ids = form
            .positions
            .map(|ids| self.indices_of(OP, ids)?.as_i32(OP)?.contiguous())
            .transpose()?;
        let rows = cos.dims().first().copied().unwrap_or(0);
        if ids.is_none() && cos.rank() != 3 && form.start.saturating_add(length) > rows {
            return Err(Error::shape(
                OP,
                format!(
                    "the table must have a row per position: it has {rows}, the last position is {}",
                    form.start.saturating_add(length)
                ),
            ));
        }
        let options = RopeOptions {
            interleaved: form.interleaved,
            positions_before_heads: form.positions_before_heads,
        };
        let per_batch = cos.rank() == 3;
        let start = form.start;
        // What is recorded now is launched later: mistakes are errors of this call.
        let positions = match &ids {
            Some(ids) => RopePositions::Given(ids.stored()?),
            None if per_batch => RopePositions::PerBatch,
            None => RopePositions::From(start),
        };
        options
            .check(self.shape(), (cos.stored()?, sin.stored()?), positions)
            .map_err(|error| Error::from_kernel(OP, error))?;
        let call = Call::new(CallKind::Rope {
            options,
            rows: match &ids {
                Some(_) => RopeRows::Given,
                None if per_batch => RopeRows::PerBatch,
                None => RopeRows::From(start),
            },
        });
        let others: Vec<&Self> = [&cos, &sin].into_iter().chain(&ids).collect();
        self.produce_call(OP, (*self.shape(), self.dtype()), call, &others, None)
    }
}
