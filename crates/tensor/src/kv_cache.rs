//! [`KvCache`]: keys and values of a growing sequence, in memory that is there from the beginning.
//!
//! Appending writes behind what is there, so tensors that were handed out before never change, and nothing is copied but
//! what is new. Within a capture the length is a word on the device: it is set before each replay, kernels write behind it
//! and attention reads up to it, so that one capture serves every length.
//!
//! Invariants: positions below `len` are written once; the length that the host knows is the device's, replays included.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use ziggurat_core::DType;
use ziggurat_kernels::{Scatter, View};

use crate::tensor::new_shape;
use crate::{Device, Error, Tensor, capture};

/// Keys `[batch, heads, length, D]` and values `[batch, heads, length, Dv]` with room to grow in length.
///
/// ```
/// use ziggurat_tensor::{DType, Device, DeviceOptions, KvCache, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let mut cache = KvCache::new(&device, [1, 1], 8, [2, 2], DType::F32)?;
/// let token = Tensor::from_slice(&device, &[1.0f32, 2.0], [1, 1, 1, 2])?;
/// cache.append(&token, &token)?;
/// cache.append(&(&token * 10.0)?, &token)?;
/// assert_eq!(cache.keys()?.dims(), [1, 1, 2, 2]);
/// assert_eq!(cache.keys()?.to_vec_blocking::<f32>()?, [1.0, 2.0, 10.0, 20.0]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
///
/// # Within a capture
/// A language model's step is captured once and replayed for every token: [`KvCache::append`] then writes at the length
/// that each replay finds, and attention looks at [`KvCache::padded_keys`] and [`KvCache::padded_values`] up to
/// [`KvCache::lengths`]. Each replay adds to the length, or is an error if there is no room.
///
/// ```
/// use ziggurat_tensor::{Attention, DType, Device, DeviceOptions, KvCache, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let mut cache = KvCache::new(&device, [1, 1], 8, [2, 2], DType::F32)?;
/// let like = Tensor::zeros(&device, [1, 1, 1, 2], DType::F32)?;
/// let step = device.capture(&[&like], |inputs| {
///     let token = &inputs[0];
///     cache.append(token, token)?;
///     let lengths = cache.lengths()?;
///     let options = Attention { key_lengths: Some(&lengths), ..Attention::default() };
///     Ok(vec![token.scaled_dot_product_attention(&cache.padded_keys(), &cache.padded_values(), &options)?])
/// })?;
/// assert_eq!(cache.len(), 0);
/// for _ in 0..3 {
///     step.replay(&[&Tensor::from_slice(&device, &[1.0f32, 2.0], [1, 1, 1, 2])?])?;
/// }
/// assert_eq!(cache.len(), 3);
/// assert_eq!(step.output(0)?.to_vec_blocking::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct KvCache {
    keys: Tensor,
    values: Tensor,
    length: Arc<Length>,
}

/// The number of positions that are filled, which captures change too.
#[derive(Debug)]
pub(crate) struct Length {
    filled: Mutex<usize>,
    capacity: usize,
}

impl Length {
    /// The number of positions that are filled, held so that nobody else appends.
    pub(crate) fn lock(&self) -> MutexGuard<'_, usize> {
        self.filled.lock()
    }

    /// An error unless there is room for `added` positions behind `filled`.
    pub(crate) fn check_room(
        &self,
        op: &'static str,
        filled: usize,
        added: usize,
    ) -> Result<(), Error> {
        let room = self.capacity.saturating_sub(filled);
        if added <= room {
            return Ok(());
        }
        Err(Error::argument(
            op,
            format!(
                "the cache must have room: {added} positions, room for {room} of {}",
                self.capacity
            ),
        ))
    }
}

impl KvCache {
    /// An empty cache for `[batch, heads]` sequences of up to `capacity` positions, with keys and values of these widths.
    ///
    /// # Errors
    /// If the device has no memory for it, or within a capture, each replay of which would empty it.
    pub fn new(
        device: &Device,
        [batch, heads]: [usize; 2],
        capacity: usize,
        [key_dim, value_dim]: [usize; 2],
        dtype: DType,
    ) -> Result<Self, Error> {
        if device.executor().is_capturing() {
            let text = "a cache must be made before the capture: each replay would empty it";
            return Err(Error::argument("KvCache::new", text));
        }
        Ok(Self {
            keys: Tensor::zeros(device, [batch, heads, capacity, key_dim], dtype)?,
            values: Tensor::zeros(device, [batch, heads, capacity, value_dim], dtype)?,
            length: Arc::new(Length {
                filled: Mutex::new(0),
                capacity,
            }),
        })
    }

    /// The number of positions that are filled. What a capture appends counts once it is replayed.
    pub fn len(&self) -> usize {
        *self.length.lock()
    }

    /// Whether no position is filled.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of positions that there is room for.
    pub fn capacity(&self) -> usize {
        self.length.capacity
    }

    /// Writes keys `[batch, heads, n, D]` and values `[batch, heads, n, Dv]` behind the last position. Within a capture,
    /// each replay does that.
    ///
    /// # Errors
    /// If the extents or dtypes are not the cache's, or there is no room; then nothing changes.
    pub fn append(&mut self, keys: &Tensor, values: &Tensor) -> Result<(), Error> {
        const OP: &str = "KvCache::append";
        let added = keys.dims().get(2).copied().unwrap_or(0);
        for (name, new, all) in [("keys", keys, &self.keys), ("values", values, &self.values)] {
            check_fits(OP, name, new, all, |dims| dims[2] = added)?;
            if new.dtype() != all.dtype() {
                return Err(Error::wrong_dtype(OP, all.dtype(), new.dtype()));
            }
        }
        if self.keys.device().executor().is_capturing() {
            return self.append_captured(OP, added, [keys, values]);
        }
        // Before the length is held: replays of a capture may be needed for them.
        let new = [keys.stored()?, values.stored()?];
        let mut filled = self.length.lock();
        self.length.check_room(OP, *filled, added)?;
        for (new, all) in new.into_iter().zip([&self.keys, &self.values]) {
            put(OP, new, &all.narrow(2, *filled, added)?)?;
        }
        *filled += added;
        Ok(())
    }

    fn append_captured(
        &self,
        op: &'static str,
        added: usize,
        new: [&Tensor; 2],
    ) -> Result<(), Error> {
        let (start, before) = self.device_length(op)?;
        // What one replay appends must fit at all.
        self.length
            .check_room(op, 0, before.saturating_add(added))?;
        let places = match (before, added) {
            (0, 1) => start,
            _ => {
                let (from, to) = (position(op, before)?, position(op, before + added)?);
                let device = self.keys.device();
                // Made once, not by every replay.
                let offsets =
                    capture::outside(device, || Tensor::arange(device, from, to, 1, DType::I32))?;
                start.add(&offsets)?
            }
        };
        let owner = Arc::as_ptr(&self.length).addr();
        capture::cache_memory(op, owner, &[self.keys.stored()?, self.values.stored()?])?;
        for (new, all) in new.into_iter().zip([&self.keys, &self.values]) {
            let _completion = all
                .device()
                .executor()
                .index_scatter(
                    Scatter::Set,
                    new.stored()?,
                    2,
                    places.stored()?,
                    all.stored()?,
                )
                .map_err(|error| Error::from_kernel(op, error))?;
        }
        capture::add_to_cache(&self.length, added);
        Ok(())
    }

    /// Within a capture: the length that a replay begins with, i32 `[1]`, and how many positions it has appended up to here.
    fn device_length(&self, op: &'static str) -> Result<(Tensor, usize), Error> {
        let device = self.keys.device();
        let shape = new_shape(op, &[1])?;
        // It is set before each replay, and shares its memory with nothing that the replay computes.
        let word = || capture::outside(device, || device.alloc(op, &shape, DType::I32));
        let (view, before) = capture::cache_length(op, &self.length, word)?;
        Ok((Tensor::from_view(device, view), before))
    }

    /// How many positions are filled, i32 `[batch]`, as [`Attention::key_lengths`](crate::Attention::key_lengths) takes it.
    /// Within a capture: at this point of each replay.
    ///
    /// # Errors
    /// If the device has no memory.
    pub fn lengths(&self) -> Result<Tensor, Error> {
        const OP: &str = "KvCache::lengths";
        let device = self.keys.device();
        let batch = self.keys.dims().first().copied().unwrap_or(0);
        if !device.executor().is_capturing() {
            return Tensor::full(device, [batch], self.len() as f64, DType::I32);
        }
        let (start, before) = self.device_length(OP)?;
        let lengths = match before {
            0 => start,
            _ => start.add(position(OP, before)?)?,
        };
        lengths.broadcast_to([batch])
    }

    /// The keys so far, `[batch, heads, length, D]`: a view, which later appends do not change.
    ///
    /// # Errors
    /// Within a capture, where the length differs from replay to replay: [`KvCache::padded_keys`] is for that.
    pub fn keys(&self) -> Result<Tensor, Error> {
        self.so_far("KvCache::keys", &self.keys)
    }

    /// The values so far, `[batch, heads, length, Dv]`.
    ///
    /// # Errors
    /// As [`KvCache::keys`].
    pub fn values(&self) -> Result<Tensor, Error> {
        self.so_far("KvCache::values", &self.values)
    }

    fn so_far(&self, op: &'static str, all: &Tensor) -> Result<Tensor, Error> {
        if all.device().executor().is_capturing() {
            let text = "a capture cannot know the length: use padded_keys and padded_values, up to lengths";
            return Err(Error::argument(op, text));
        }
        all.narrow(2, 0, self.len())
    }

    /// All positions, `[batch, heads, capacity, D]`: behind [`KvCache::lengths`] stands nothing yet, or what later appends
    /// wrote there.
    pub fn padded_keys(&self) -> Tensor {
        self.keys.clone()
    }

    /// All positions, `[batch, heads, capacity, Dv]`, as [`KvCache::padded_keys`].
    pub fn padded_values(&self) -> Tensor {
        self.values.clone()
    }
}

/// An error unless `new` is on the device of a cache's memory, and has its extents but for those that `but` changes.
pub(crate) fn check_fits(
    op: &'static str,
    name: &str,
    new: &Tensor,
    all: &Tensor,
    but: impl FnOnce(&mut [usize; 4]),
) -> Result<(), Error> {
    all.same_device(op, new)?;
    let mut expected: [usize; 4] = all.dims().try_into().unwrap_or_default();
    but(&mut expected);
    if new.dims() == expected {
        return Ok(());
    }
    let (all, new) = (all.shape(), new.shape());
    let text = format!("{name} must fit the cache's {all}: they are {new}");
    Err(Error::shape(op, text))
}

/// Copies to a place in a cache's memory.
pub(crate) fn put(op: &'static str, new: &View, place: &Tensor) -> Result<(), Error> {
    // The completion is not needed: later commands are ordered behind this one, and reads report its failure.
    let _completion = place
        .device()
        .executor()
        .copy(new, place.stored()?)
        .map_err(|error| Error::from_kernel(op, error))?;
    Ok(())
}

/// A position as kernels count them.
fn position(op: &'static str, at: usize) -> Result<i32, Error> {
    i32::try_from(at).map_err(|_| {
        let rule = "positions that a capture appends to must be below 2^31";
        Error::argument(op, format!("{rule}: one is {at}"))
    })
}
