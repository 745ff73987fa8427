//! [`Stored`]: keys or values as a cache keeps them, as floats or in 8 bits; and attention to them.

use ziggurat_core::DType;
use ziggurat_kernels::Scatter;

use super::SlotPositions;
use crate::kv_cache::{check_fits, put};
use crate::{Attention, Device, Error, Tensor};

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

    /// `count` positions of a slot, from one on.
    pub(super) fn part(&self, slot: usize, start: usize, count: usize) -> Result<Self, Error> {
        let part = |all: &Tensor| all.narrow(0, slot, 1)?.narrow(2, start, count);
        Ok(Self {
            numbers: part(&self.numbers)?,
            factors: self.factors.as_ref().map(part).transpose()?,
        })
    }

    /// Floats as they are to be written, in memory: of the cache's dtype, but integers are made where they are written.
    pub(super) fn ready(&self, new: &Tensor) -> Result<Tensor, Error> {
        let new = match self.factors {
            None => new.to_dtype(self.numbers.dtype())?,
            Some(_) => new.clone(),
        };
        new.stored()?;
        Ok(new)
    }

    /// All memory that is written.
    pub(super) fn memory(&self) -> impl Iterator<Item = &Tensor> {
        std::iter::once(&self.numbers).chain(&self.factors)
    }

    /// Writes what is ready to all positions, one for each.
    pub(super) fn write(&self, op: &'static str, new: &Tensor) -> Result<(), Error> {
        match &self.factors {
            None => put(op, new.stored()?, &self.numbers),
            Some(factors) => self.quantize(op, new, None, factors),
        }
    }

    /// Writes what is ready, of each slot at its position.
    pub(super) fn write_each(
        &self,
        op: &'static str,
        new: &Tensor,
        at: &SlotPositions,
    ) -> Result<(), Error> {
        if let Some(factors) = &self.factors {
            return self.quantize(op, new, Some(&at.positions), factors);
        }
        let (new, all) = (new.squeeze_axis(2)?, self.numbers.stored()?);
        let executor = self.numbers.device().executor();
        let _completion = executor
            .scatter_nd(Scatter::Set, new.stored()?, at.places.stored()?, all)
            .map_err(|error| Error::from_kernel(op, error))?;
        Ok(())
    }

    fn quantize(
        &self,
        op: &'static str,
        new: &Tensor,
        positions: Option<&Tensor>,
        factors: &Tensor,
    ) -> Result<(), Error> {
        let positions = positions.map(Tensor::stored).transpose()?;
        let (numbers, factors) = (self.numbers.stored()?, factors.stored()?);
        let executor = self.numbers.device().executor();
        let _completion = executor
            .quantize_rows(new.stored()?, positions, numbers, factors)
            .map_err(|error| Error::from_kernel(op, error))?;
        Ok(())
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
