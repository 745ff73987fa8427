//! [`Stored`]: keys or values as a cache keeps them, as floats or in 8 bits; and attention to them.

use ziggurat_core::DType;

use crate::kv_cache::check_fits;
use crate::{Attention, Device, Error, Tensor};

/// The greatest magnitude of an integer.
const MOST: f32 = 127.0;
/// What elements are at least divided by, times 127: those that are smaller become 0.
const LEAST: f32 = 1e-30;

/// Factors of integers for keys and values of these slots, heads and positions: f32 `[slots, heads, capacity, 2]`, of a key, then of
/// its value.
pub(super) fn factors(
    device: &Device,
    [slots, heads, capacity]: [usize; 3],
) -> Result<Tensor, Error> {
    Tensor::zeros(device, [slots, heads, capacity, 2], DType::F32)
}

/// Keys or values `[slots, heads, capacity, D]`.
#[derive(Debug)]
pub(super) struct Stored {
    /// Floats, or integers from -127 to 127.
    pub(super) numbers: Tensor,
    /// With integers: what those of a position are multiplied by, f32 `[slots, heads, capacity, 1]`, a view of the cache's factors.
    factors: Option<Tensor>,
}

impl Stored {
    /// Zeros; in integers with the keys' (0) or the values' (1) part of the factors.
    pub(super) fn new(
        device: &Device,
        dims: [usize; 4],
        dtype: DType,
        factors: Option<&Tensor>,
        part: usize,
    ) -> Result<Self, Error> {
        let own = factors.map(|factors| factors.narrow(3, part, 1));
        Ok(Self {
            numbers: Tensor::zeros(device, dims, dtype)?,
            factors: own.transpose()?,
        })
    }

    /// An error unless `new` are floats that fit, in extents but for those that `but` changes.
    pub(super) fn check_fits(
        &self,
        op: &'static str,
        name: &str,
        new: &Tensor,
        but: impl FnOnce(&mut [usize; 4]),
    ) -> Result<(), Error> {
        check_fits(op, name, new, &self.numbers, but)?;
        if new.dtype().is_float() {
            return Ok(());
        }
        let text = format!("{name} must be floats: they are {}", new.dtype());
        Err(Error::dtype(op, text))
    }

    /// What is to be written for floats `[.., D]`, each with the memory that it goes to.
    pub(super) fn encoded(&self, new: &Tensor) -> Result<Vec<(Tensor, &Tensor)>, Error> {
        let Some(factors) = &self.factors else {
            return Ok(vec![(new.to_dtype(self.numbers.dtype())?, &self.numbers)]);
        };
        let new = new.to_dtype(DType::F32)?;
        // NaN stays, whatever it is compared with.
        let greatest = new.abs()?.amax([-1], true)?.maximum(LEAST)?;
        let factor = greatest.div(MOST)?;
        let numbers = new.div(&factor)?.round()?.to_dtype(DType::I8)?;
        Ok(vec![(numbers, &self.numbers), (factor, factors)])
    }
}

/// Attention to keys and values as they are stored: in their dtype, or with factors in the dtype of the queries. The result is of
/// that of the queries.
pub(super) fn attention(
    op: &'static str,
    queries: &Tensor,
    [keys, values]: [&Tensor; 2],
    factors: Option<&Tensor>,
    options: &Attention<'_>,
) -> Result<Tensor, Error> {
    if factors.is_some() {
        if options.past.is_some() {
            let text = "keys and values from before cannot stand in front of a cache of i8";
            return Err(Error::argument(op, text));
        }
        return queries.attention(keys, values, factors, options);
    }
    let own = queries.to_dtype(keys.dtype())?;
    let seen = own.scaled_dot_product_attention(keys, values, options)?;
    seen.to_dtype(queries.dtype())
}
