//! Queries, keys and values of one product, rotated on their way: [`KvSlots::rope_write_each`].

use ziggurat_core::DType;
use ziggurat_kernels::{RopeAppend, RopeAppended};

use super::{KvSlots, SlotPositions};
use crate::tensor::new_shape;
use crate::{Error, RopeForm, RopeTable, Tensor};

impl KvSlots {
    /// Rotates queries and keys, and writes keys and values, of each slot at its position: `joined` is
    /// `[slots, heads of queries + 2 · heads of the cache, D]`, as one product makes all three. Returns the queries,
    /// `[slots, heads of queries, 1, D]`, for [`KvSlots::attend_each`]. Within a capture, each replay does that.
    ///
    /// It is what [`Tensor::rope`] and [`KvSlots::write_each`] do, by one dispatch where a cache of floats has the dtype of `joined`, or
    /// that is f32, and heads are whole vectors of four elements. The queries have the cache's dtype if that is a float.
    ///
    /// ```
    /// use ziggurat_tensor::{Attention, DType, Device, DeviceOptions, KvSlots, RopeTable, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// // One slot and one head of keys, two of queries.
    /// let mut cache = KvSlots::new(&device, [1, 1], 4, [8, 8], DType::F32)?;
    /// let table = RopeTable::new(&device, 4, 8, 10_000.0)?;
    /// let at = cache.positions(&Tensor::from_slice(&device, &[0i32], [1])?)?;
    /// let joined = Tensor::ones(&device, [1, 2 + 2, 8], DType::F32)?;
    /// let q = cache.rope_write_each(&at, &joined, &table, false)?;
    /// let seen = cache.attend_each(&at, &q, &Attention::default())?;
    /// assert_eq!(seen.to_vec_blocking::<f32>()?, [1.0; 16]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the extents are not the cache's, or do not fit the table; if the positions are those of another cache. Then nothing changes.
    pub fn rope_write_each(
        &mut self,
        at: &SlotPositions,
        joined: &Tensor,
        table: &RopeTable,
        interleaved: bool,
    ) -> Result<Tensor, Error> {
        const OP: &str = "KvSlots::rope_write_each";
        self.check_positions(OP, at)?;
        for tensor in [joined, &table.cos, &table.sin] {
            self.keys.numbers.same_device(OP, tensor)?;
        }
        let [slots, heads, _] = self.extents();
        let &[of_slots, all, _] = joined.dims() else {
            let text = format!(
                "queries, keys and values must have rank 3: they are {}",
                joined.shape()
            );
            return Err(Error::shape(OP, text));
        };
        let Some(queries) = all.checked_sub(2 * heads).filter(|_| of_slots == slots) else {
            let got = joined.shape();
            let text = format!(
                "there must be heads of {slots} slots, and {heads} each of keys and values: they are {got}"
            );
            return Err(Error::shape(OP, text));
        };
        if let Some(rotated) = self.rope_written(OP, at, (joined, queries), (table, interleaved))? {
            return Ok(rotated);
        }
        let form = RopeForm {
            interleaved,
            positions_before_heads: true,
            positions: Some(&at.positions.unsqueeze(1)?),
            ..RopeForm::default()
        };
        let both = joined.narrow(1, 0, queries + heads)?.unsqueeze(1)?;
        let both = both.rope(table, form)?.transpose(1, 2)?;
        let values = joined.narrow(1, queries + heads, heads)?.unsqueeze(2)?;
        self.write_each(at, &both.narrow(1, queries, heads)?, &values)?;
        let rotated = both.narrow(1, 0, queries)?;
        match self.dtype() {
            kept if kept.is_float() => rotated.to_dtype(kept),
            _ => Ok(rotated),
        }
    }

    /// [`KvSlots::rope_write_each`] by one dispatch; `None`, with nothing done, where that is not possible.
    fn rope_written(
        &self,
        op: &'static str,
        at: &SlotPositions,
        (joined, queries): (&Tensor, usize),
        (table, interleaved): (&RopeTable, bool),
    ) -> Result<Option<Tensor>, Error> {
        let [rotary, rows] =
            [&table.cos, &table.sin].map(|table| table.dtype() == DType::F32 && table.rank() == 2);
        let kept = self.dtype();
        if self.factors.is_some() || !(rotary && rows) || queries == 0 {
            return Ok(None);
        }
        let device = self.device();
        let executor = device.executor();
        let &[slots, _, len] = joined.dims() else {
            return Ok(None);
        };
        let fail = |error| Error::from_kernel(op, error);
        let shape = new_shape(op, &[slots, queries, 1, len])?;
        let rotated = executor.alloc(&shape, kept).map_err(fail)?;
        let (cos, sin) = (table.cos.contiguous()?, table.sin.contiguous()?);
        let reads = RopeAppend {
            joined: joined.stored()?,
            tables: [cos.stored()?, sin.stored()?],
            positions: at.positions.stored()?,
            interleaved,
        };
        let writes = RopeAppended {
            queries: &rotated,
            keys: self.keys.numbers.stored()?,
            values: self.values.numbers.stored()?,
        };
        if !executor.rope_append_is_one_kernel(&reads, &writes) {
            return Ok(None);
        }
        self.note_memory(op)?;
        drop(executor.rope_append(&reads, &writes).map_err(fail)?);
        self.check_places(op, at)?;
        Ok(Some(Tensor::from_view(device, rotated)))
    }
}
