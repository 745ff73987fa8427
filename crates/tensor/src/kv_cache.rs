//! [`KvCache`]: keys and values of a growing sequence, in memory that is there from the beginning.
//!
//! Appending writes behind what is there, so tensors that were handed out before never change, and nothing is copied but
//! what is new. Invariant: positions below `len` are written once.

use ziggurat_core::DType;

use crate::{Device, Error, Tensor};

/// Keys `[batch, heads, length, D]` and values `[batch, heads, length, Dv]` with room to grow in length.
///
/// ```
/// # use ziggurat_tensor::{doc, DType, KvCache, Tensor};
/// # let Some(device) = doc::device() else { return Ok(()) };
/// let mut cache = KvCache::new(&device, [1, 1], 8, [2, 2], DType::F32)?;
/// let token = Tensor::from_slice(&device, &[1.0f32, 2.0], [1, 1, 1, 2])?;
/// cache.append(&token, &token)?;
/// cache.append(&(&token * 10.0)?, &token)?;
/// assert_eq!(cache.keys()?.dims(), [1, 1, 2, 2]);
/// assert_eq!(cache.keys()?.to_vec_blocking::<f32>()?, [1.0, 2.0, 10.0, 20.0]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct KvCache {
    keys: Tensor,
    values: Tensor,
    len: usize,
}

impl KvCache {
    /// An empty cache for `[batch, heads]` sequences of up to `capacity` positions, with keys and values of these widths.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn new(
        device: &Device,
        [batch, heads]: [usize; 2],
        capacity: usize,
        [key_dim, value_dim]: [usize; 2],
        dtype: DType,
    ) -> Result<Self, Error> {
        Ok(Self {
            keys: Tensor::zeros(device, [batch, heads, capacity, key_dim], dtype)?,
            values: Tensor::zeros(device, [batch, heads, capacity, value_dim], dtype)?,
            len: 0,
        })
    }

    /// The number of positions that are filled.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no position is filled.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of positions that there is room for.
    pub fn capacity(&self) -> usize {
        self.keys.dims().get(2).copied().unwrap_or(0)
    }

    /// Writes keys `[batch, heads, n, D]` and values `[batch, heads, n, Dv]` behind the last position.
    ///
    /// # Errors
    /// If the extents or dtypes are not the cache's, or there is no room; then nothing changes.
    pub fn append(&mut self, keys: &Tensor, values: &Tensor) -> Result<(), Error> {
        const OP: &str = "KvCache::append";
        let added = keys.dims().get(2).copied().unwrap_or(0);
        for (name, new, all) in [("keys", keys, &self.keys), ("values", values, &self.values)] {
            all.same_device(OP, new)?;
            let fits = |(axis, (&new, &all)): (usize, (&usize, &usize))| {
                if axis == 2 { new == added } else { new == all }
            };
            let dims = new.dims().iter().zip(all.dims()).enumerate();
            if new.rank() != 4 || !dims.into_iter().all(fits) {
                return Err(Error::shape(
                    OP,
                    format!(
                        "{name} must fit the cache's {}: they are {}",
                        all.shape(),
                        new.shape()
                    ),
                ));
            }
            if new.dtype() != all.dtype() {
                return Err(Error::wrong_dtype(OP, all.dtype(), new.dtype()));
            }
        }
        let room = self.capacity() - self.len;
        if added > room {
            return Err(Error::argument(
                OP,
                format!(
                    "the cache must have room: {added} positions, room for {room} of {}",
                    self.capacity()
                ),
            ));
        }
        for (new, all) in [(keys, &self.keys), (values, &self.values)] {
            let place = all.narrow(2, self.len, added)?;
            let (new, place) = (new.stored()?, place.stored()?);
            // The completion is not needed: later commands are ordered behind this one, and reads report its failure.
            let _completion = all
                .device()
                .executor()
                .copy(new, place)
                .map_err(|error| Error::from_kernel(OP, error))?;
        }
        self.len += added;
        Ok(())
    }

    /// The keys so far, `[batch, heads, length, D]`: a view, which later appends do not change.
    ///
    /// # Errors
    /// If the device failed.
    pub fn keys(&self) -> Result<Tensor, Error> {
        self.keys.narrow(2, 0, self.len)
    }

    /// The values so far, `[batch, heads, length, Dv]`.
    ///
    /// # Errors
    /// If the device failed.
    pub fn values(&self) -> Result<Tensor, Error> {
        self.values.narrow(2, 0, self.len)
    }
}
