//! [`Stored`]: keys or values as a cache keeps them, as floats or in 8 bits.

use ziggurat_core::DType;

use crate::kv_cache::check_fits;
use crate::{Device, Error, Tensor};

/// The greatest magnitude of an integer.
const MOST: f32 = 127.0;
/// What elements are at least divided by, times 127: those that are smaller become 0.
const LEAST: f32 = 1e-30;

/// Keys or values `[slots, heads, capacity, D]`.
#[derive(Debug)]
pub(super) struct Stored {
    /// Floats, or integers from -127 to 127.
    pub(super) numbers: Tensor,
    /// With integers: what those of a position are multiplied by, f32 `[slots, heads, capacity, 1]`.
    factors: Option<Tensor>,
}

impl Stored {
    /// Zeros.
    pub(super) fn new(device: &Device, dims: [usize; 4], dtype: DType) -> Result<Self, Error> {
        let [slots, heads, capacity, _] = dims;
        let factors = (dtype == DType::I8)
            .then(|| Tensor::zeros(device, [slots, heads, capacity, 1], DType::F32));
        Ok(Self {
            numbers: Tensor::zeros(device, dims, dtype)?,
            factors: factors.transpose()?,
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

    /// The floats of a part of all positions: of the cache's dtype, or of `dtype` if that is no float.
    pub(super) fn decoded(
        &self,
        part: impl Fn(&Tensor) -> Result<Tensor, Error>,
        dtype: DType,
    ) -> Result<Tensor, Error> {
        let numbers = part(&self.numbers)?;
        match &self.factors {
            None => Ok(numbers),
            Some(factors) => numbers
                .to_dtype(DType::F32)?
                .mul(&part(factors)?)?
                .to_dtype(dtype),
        }
    }
}
