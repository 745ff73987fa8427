//! [`KvSlots`]: keys and values of several sequences, each with a length of its own.
//!
//! How long each sequence is, the caller knows: positions are given to every call, as numbers or, within a capture too, as a
//! tensor. So one captured step serves sequences of any lengths, and a slot is used again by writing from its beginning.

mod rotated;
mod stored;

use ziggurat_core::DType;

use stored::{Stored, attention, factors};

use crate::{Attention, Device, Error, QueryPosition, Tensor, capture};

/// Keys `[slots, heads, capacity, D]` and values `[slots, heads, capacity, Dv]` of sequences that begin, grow and end
/// independently of each other.
///
/// A prompt is written to its slot at once; then all sequences grow by one position per step:
///
/// ```
/// use ziggurat_tensor::{Attention, DType, Device, DeviceOptions, KvSlots, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let mut cache = KvSlots::new(&device, [2, 1], 8, [2, 2], DType::F32)?;
/// // Two positions in the first slot.
/// let prompt = Tensor::from_slice(&device, &[0.0f32, 0.0, 0.0, 0.0], [1, 1, 2, 2])?;
/// cache.write(0, 0, &prompt, &prompt)?;
/// // Then one in each: behind those two, and at the beginning of the other slot.
/// let at = cache.positions(&Tensor::from_slice(&device, &[2i32, 0], [2])?)?;
/// let token = Tensor::from_slice(&device, &[3.0f32, 6.0, 1.0, 2.0], [2, 1, 1, 2])?;
/// cache.write_each(&at, &token, &token)?;
/// let query = Tensor::zeros(&device, [2, 1, 1, 2], DType::F32)?;
/// let seen = cache.attend_each(&at, &query, &Attention::default())?;
/// assert_eq!(seen.to_vec_blocking::<f32>()?, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
///
/// [`KvSlots::write_each`] and [`KvSlots::attend_each`] may be captured, with the positions among the inputs of the capture.
/// What is written to a position replaces what was there. A result of [`KvSlots::attend`] does not change by that.
///
/// # In 8 bits
/// A cache of [`DType::I8`] keeps each key and value (the elements of one head at one position) as integers from -127 to 127 and
/// a factor in f32, the greatest magnitude of its elements divided by 127. An element then is off by 1/254 of that magnitude at
/// most. Elements that are NaN or infinite make all of their key or value NaN. It takes `D + 4` bytes in place of the `4 · D` of
/// f32 or `2 · D` of f16. Attention reads the integers and factors as they are, and computes in f32. A write is one dispatch for
/// keys and one for values, as of floats: the kernel that stores them finds the factors and rounds.
#[derive(Debug)]
pub struct KvSlots {
    keys: Stored,
    values: Stored,
    /// Of a cache of [`DType::I8`], f32 `[slots, heads, capacity, 2]`: keys and values hold a view of their half.
    factors: Option<Tensor>,
    /// What this cache is known by.
    owner: Box<u8>,
}

/// One position in each slot of a [`KvSlots`], and what follows from it for all caches of the same slots, heads and
/// capacity, such as those of a model's layers: see [`KvSlots::positions`].
#[derive(Clone, Debug)]
pub struct SlotPositions {
    /// i32 `[slots]`.
    positions: Tensor,
    /// i32 `[slots]`.
    lengths: Tensor,
    /// i32 `[slots, heads, 3]`: slot, head, position.
    places: Tensor,
    extents: [usize; 3],
}

impl SlotPositions {
    /// The positions, i32 `[slots]`.
    pub const fn tensor(&self) -> &Tensor {
        &self.positions
    }
}

impl KvSlots {
    /// An empty cache for `slots` sequences of up to `capacity` positions, with so many heads of keys and values of these
    /// widths, in a float or in [`DType::I8`].
    ///
    /// # Errors
    /// If the dtype is another one, the device has no memory for it, or within a capture, each replay of which would empty it.
    pub fn new(
        device: &Device,
        [slots, heads]: [usize; 2],
        capacity: usize,
        [key_dim, value_dim]: [usize; 2],
        dtype: DType,
    ) -> Result<Self, Error> {
        const OP: &str = "KvSlots::new";
        if device.executor().is_capturing() {
            let text = "a cache must be made before the capture: each replay would empty it";
            return Err(Error::argument(OP, text));
        }
        if !(dtype.is_float() || dtype == DType::I8) {
            let text = format!("the cache must be of a float or i8: it is {dtype}");
            return Err(Error::dtype(OP, text));
        }
        let extents = [slots, heads, capacity];
        let factors = (dtype == DType::I8).then(|| factors(device, extents));
        let factors = factors.transpose()?;
        let stored = |dim, part| {
            let dims = [slots, heads, capacity, dim];
            Stored::new(device, dims, dtype, factors.as_ref(), part)
        };
        Ok(Self {
            keys: stored(key_dim, 0)?,
            values: stored(value_dim, 1)?,
            factors,
            owner: Box::new(0),
        })
    }

    /// Slots, heads, and positions that there is room for in each slot.
    fn extents(&self) -> [usize; 3] {
        match *self.keys.numbers.dims() {
            [slots, heads, capacity, _] => [slots, heads, capacity],
            _ => [0; 3],
        }
    }

    /// How many sequences there is room for.
    pub fn slots(&self) -> usize {
        self.extents()[0]
    }

    /// How many positions each of them may have.
    pub fn capacity(&self) -> usize {
        self.extents()[2]
    }

    /// The dtype of keys and values in the cache.
    pub fn dtype(&self) -> DType {
        self.keys.numbers.dtype()
    }

    fn device(&self) -> &Device {
        self.keys.numbers.device()
    }

    /// Writes keys `[1, heads, n, D]` and values `[1, heads, n, Dv]` to a slot, from the position `start` on; they become of the
    /// cache's dtype.
    ///
    /// # Errors
    /// If the extents are not the cache's, there is no such slot, no room, or within a capture, where
    /// [`KvSlots::write_each`] is for that. Then nothing changes.
    pub fn write(
        &mut self,
        slot: usize,
        start: usize,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<(), Error> {
        const OP: &str = "KvSlots::write";
        self.check_slot(OP, slot)?;
        let count = keys.dims().get(2).copied().unwrap_or(0);
        let room = self.capacity().saturating_sub(start);
        if count > room {
            let capacity = self.capacity();
            let rule = "the slot must have room";
            let text =
                format!("{rule}: {count} positions from {start} on, {capacity} are its capacity");
            return Err(Error::argument(OP, text));
        }
        let mut ready = Vec::new();
        for (name, new, all) in [("keys", keys, &self.keys), ("values", values, &self.values)] {
            all.check_fits(OP, name, new, |dims| (dims[0], dims[2]) = (1, count))?;
            ready.push((all.ready(new)?, all.part(slot, start, count)?));
        }
        for (new, place) in &ready {
            place.write(OP, new)?;
        }
        Ok(())
    }

    /// One position in each slot, integers `[slots]` from 0 to below the capacity, for [`KvSlots::write_each`] and
    /// [`KvSlots::attend_each`] of this cache and all like it. Of others something is written within their own slots alone: at the
    /// nearest position, or for negative ones at that counted from the end. [`Device::set_index_checks`] finds those that are out of
    /// range in both ways.
    ///
    /// # Errors
    /// If they are no integers or of another shape.
    pub fn positions(&self, positions: &Tensor) -> Result<SlotPositions, Error> {
        const OP: &str = "KvSlots::positions";
        let [slots, heads, capacity] = self.extents();
        let positions = self
            .keys
            .numbers
            .indices_of(OP, positions)?
            .to_dtype(DType::I32)?;
        if positions.dims() != [slots] {
            let got = positions.shape();
            let text =
                format!("there must be a position for each of {slots} slots: they are {got}");
            return Err(Error::shape(OP, text));
        }
        let device = self.device();
        let number = |n: usize| {
            let text = "slots, heads and positions must be below 2^31";
            i32::try_from(n).map_err(|_| Error::argument(OP, text))
        };
        let mut base = Vec::new();
        for slot in 0..slots {
            for head in 0..heads {
                base.extend([number(slot)?, number(head)?, 0]);
            }
        }
        // Made once, not by every replay.
        let (base, last) = capture::outside(device, || {
            let base = Tensor::from_slice(device, &base, [slots, heads, 3])?;
            Ok::<_, Error>((base, Tensor::from_slice(device, &[0i32, 0, 1], [3])?))
        })?;
        let places = positions
            .reshape_to([slots, 1, 1])?
            .mul(&last)?
            .add(&base)?;
        let lengths = positions.add(1)?;
        Tensor::evaluate_all(&[&positions, &places, &lengths])?;
        Ok(SlotPositions {
            positions,
            lengths,
            places,
            extents: [slots, heads, capacity],
        })
    }

    /// Writes keys `[slots, heads, 1, D]` and values `[slots, heads, 1, Dv]`, of each slot at its position; they become of the
    /// cache's dtype. Within a capture, each replay does that.
    ///
    /// # Errors
    /// If the extents are not the cache's, or the positions are those of another cache. Then nothing changes.
    pub fn write_each(
        &mut self,
        at: &SlotPositions,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<(), Error> {
        const OP: &str = "KvSlots::write_each";
        self.check_positions(OP, at)?;
        let mut ready = Vec::new();
        for (name, new, all) in [("keys", keys, &self.keys), ("values", values, &self.values)] {
            all.check_fits(OP, name, new, |dims| dims[2] = 1)?;
            ready.push((all.ready(new)?, all));
        }
        self.note_memory(OP)?;
        for (new, all) in ready {
            all.write_each(OP, &new, at)?;
        }
        self.check_places(OP, at)
    }

    /// Says to a capture, before it writes, which memory the cache has.
    fn note_memory(&self, op: &'static str) -> Result<(), Error> {
        if !self.device().executor().is_capturing() {
            return Ok(());
        }
        let memory = [&self.keys, &self.values]
            .into_iter()
            .flat_map(Stored::memory);
        let views = memory.map(Tensor::stored);
        let views = views.collect::<Result<Vec<_>, _>>()?;
        capture::cache_memory(op, std::ptr::from_ref(&*self.owner).addr(), &views)
    }

    /// Makes positions that are out of range an error of the cache's memory, where they are looked for.
    fn check_places(&self, op: &'static str, at: &SlotPositions) -> Result<(), Error> {
        let device = self.device();
        let checks = device.index_checks();
        let places = at.places.stored()?;
        let checked = checks.record(device.executor(), op, places, &self.extents())?;
        for memory in [&self.keys, &self.values]
            .into_iter()
            .flat_map(Stored::memory)
        {
            checked.of(memory.clone())?;
        }
        Ok(())
    }

    /// Attention of queries `[1, heads of queries, n, D]`, the last n of the first `length` positions of a slot, to the keys and
    /// values of these positions: [`Tensor::scaled_dot_product_attention`], with `options.position` and
    /// `options.key_lengths` set for that. Queries become of the cache's dtype if that is a float, and the result is of theirs.
    ///
    /// # Errors
    /// If the extents do not fit, there is no such slot, or it has fewer positions; if there are `options.past` and the cache is of
    /// i8.
    pub fn attend(
        &self,
        slot: usize,
        length: usize,
        queries: &Tensor,
        options: &Attention<'_>,
    ) -> Result<Tensor, Error> {
        const OP: &str = "KvSlots::attend";
        self.check_slot(OP, slot)?;
        let part = |all: &Tensor| all.narrow(0, slot, 1)?.narrow(2, 0, length);
        let (keys, values) = (part(&self.keys.numbers)?, part(&self.values.numbers)?);
        let factors = self.factors.as_ref().map(part).transpose()?;
        let options = Attention {
            position: QueryPosition::BottomRight,
            key_lengths: None,
            ..*options
        };
        attention(OP, queries, [&keys, &values], factors.as_ref(), &options)
    }

    /// Attention of one query per slot, `[slots, heads of queries, 1, D]`, at its position, to all keys and values of its slot up
    /// to there: [`Tensor::scaled_dot_product_attention`] with `options.key_lengths` set for that. Queries become of the
    /// cache's dtype if that is a float, and the result is of theirs.
    ///
    /// # Errors
    /// If the extents do not fit, or the positions are those of another cache; if there are `options.past` and the cache is of i8.
    pub fn attend_each(
        &self,
        at: &SlotPositions,
        queries: &Tensor,
        options: &Attention<'_>,
    ) -> Result<Tensor, Error> {
        const OP: &str = "KvSlots::attend_each";
        self.check_positions(OP, at)?;
        let options = Attention {
            key_lengths: Some(&at.lengths),
            ..*options
        };
        let stored = [&self.keys.numbers, &self.values.numbers];
        attention(OP, queries, stored, self.factors.as_ref(), &options)
    }

    fn check_slot(&self, op: &'static str, slot: usize) -> Result<(), Error> {
        let slots = self.slots();
        if self.device().executor().is_capturing() {
            let text = "a capture cannot know a sequence's length: use write_each and attend_each";
            return Err(Error::argument(op, text));
        }
        if slot < slots {
            return Ok(());
        }
        Err(Error::argument(
            op,
            format!("the slot must be below {slots}: it is {slot}"),
        ))
    }

    fn check_positions(&self, op: &'static str, at: &SlotPositions) -> Result<(), Error> {
        self.keys.numbers.same_device(op, &at.positions)?;
        let (own, given) = (self.extents(), at.extents);
        if own == given {
            return Ok(());
        }
        let rule = "positions must be made for the slots, heads and capacity of the cache";
        Err(Error::argument(
            op,
            format!("{rule}, {own:?}: they are for {given:?}"),
        ))
    }
}
