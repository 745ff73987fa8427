//! Reading elements that index tensors name.
//!
//! Indices are integers; negative ones count from the end. One that names no element is taken for the nearest end, or is
//! an error of the result in the checked mode ([`Device::set_index_checks`](crate::Device::set_index_checks)).

use ziggurat_core::{DType, Shape, broadcast_shapes};
use ziggurat_kernels::View;

use crate::index_checks::Checked;
use crate::tensor::new_shape;
use crate::{Error, Tensor};

mod put;

impl Tensor {
    /// `out[.., i, ..] = self[.., indices[.., i, ..], ..]` along `axis`; the result has the indices' shape.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
    /// let at = Tensor::from_slice(&device, &[0i32, 0, 1, 0], [2, 2])?;
    /// assert_eq!(a.gather(1, &at)?.to_vec_blocking::<f32>()?, [1.0, 1.0, 4.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the indices are no integers, differ in rank or reach further than the tensor along the other axes, or the axis
    /// has no positions.
    pub fn gather(&self, axis: isize, indices: &Self) -> Result<Self, Error> {
        let op = "gather";
        if self.rank() == 0 && indices.rank() == 0 {
            let one = self.unsqueeze(0)?.gather(axis, &indices.unsqueeze(0)?)?;
            return one.select(0, 0);
        }
        let at = self.axis_of(op, axis)?;
        let (indices, extent) = (self.indices_of(op, indices)?, self.extent(at));
        let (view, index) = (self.stored()?, indices.stored()?);
        let checked = self.check_indices(op, index, &[extent])?;
        checked.of(Self::produce(
            self.device(),
            op,
            *indices.shape(),
            self.dtype(),
            |executor, out| executor.gather(view, at, index, out),
        )?)
    }

    /// Slices of an axis by their index: the axis is replaced by those of the indices (none for one index).
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3, 4, 5, 6], [3, 2])?;
    /// let at = Tensor::from_slice(&device, &[-1i32, 0], [2])?;
    /// assert_eq!(a.index_select(0, &at)?.to_vec2_blocking::<i32>()?, [[5, 6], [1, 2]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the indices are no integers, the axis is out of range or has no positions, or the rank would exceed the limit.
    pub fn index_select(&self, axis: isize, indices: &Self) -> Result<Self, Error> {
        self.slices_at("index_select", axis, indices)
    }

    /// The rows of this table that the indices name: `[N, D]` by `[..]` gives `[.., D]`.
    ///
    /// # Errors
    /// As [`Tensor::index_select`] along axis 0.
    pub fn embedding(&self, indices: &Self) -> Result<Self, Error> {
        self.slices_at("embedding", 0, indices)
    }

    /// Elements by their index in the row-major sequence of all; the result has the indices' shape.
    ///
    /// # Errors
    /// If the indices are no integers or there are no elements.
    pub fn take(&self, indices: &Self) -> Result<Self, Error> {
        self.reshape_to([self.len()])?.slices_at("take", 0, indices)
    }

    pub(super) fn slices_at(
        &self,
        op: &'static str,
        axis: isize,
        indices: &Self,
    ) -> Result<Self, Error> {
        let at = self.axis_of(op, axis)?;
        let indices = self.indices_of(op, indices)?;
        let mut dims = self.dims().to_vec();
        dims.splice(at..=at, indices.dims().iter().copied());
        let shape = new_shape(op, &dims)?;
        let (view, index) = (self.stored()?, indices.stored()?);
        let checked = self.check_indices(op, index, &[self.extent(at)])?;
        checked.of(Self::produce(
            self.device(),
            op,
            shape,
            self.dtype(),
            |executor, out| executor.index_select(view, at, index, out),
        )?)
    }

    /// Elements or slices by tuples of indices, which lie along the last axis of `indices`: with `batch` leading axes that
    /// both share, `out[B.., J.., R..] = self[B.., indices[B.., J.., 0], .., indices[B.., J.., m - 1], R..]`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3, 4], [2, 2])?;
    /// let at = Tensor::from_slice(&device, &[0i32, 0, 1, 1], [2, 2])?;
    /// assert_eq!(a.gather_nd(&at, 0)?.to_vec_blocking::<i32>()?, [1, 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the indices are no integers, have no axis behind the batch or more components than there are axes, or the batch
    /// axes differ.
    pub fn gather_nd(&self, indices: &Self, batch: usize) -> Result<Self, Error> {
        self.gather_tuples("gather_nd", indices, batch)
    }

    fn gather_tuples(&self, op: &'static str, indices: &Self, batch: usize) -> Result<Self, Error> {
        let indices = self.indices_of(op, indices)?;
        let (outer, named) = self.tuples(op, &indices, batch)?;
        let dims = [
            outer.as_slice(),
            self.dims().get(batch + named.len()..).unwrap_or(&[]),
        ]
        .concat();
        let shape = new_shape(op, &dims)?;
        let (view, index) = (self.stored()?, indices.stored()?);
        let checked = self.check_indices(op, index, &named)?;
        checked.of(Self::produce(
            self.device(),
            op,
            shape,
            self.dtype(),
            |executor, out| executor.gather_nd(view, index, batch, out),
        )?)
    }

    /// Elements by one index tensor per leading axis; they broadcast, as in `a[i, j]` of NumPy and PyTorch.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3, 4], [2, 2])?;
    /// let (i, j) = (Tensor::from_slice(&device, &[0i32, 1], [2])?, Tensor::from_value(&device, 1i32)?);
    /// assert_eq!(a.index(&[&i, &j])?.to_vec_blocking::<i32>()?, [2, 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are more index tensors than axes, they do not broadcast, or are no integers.
    pub fn index(&self, indices: &[&Self]) -> Result<Self, Error> {
        self.gather_tuples("index", &self.stacked_indices("index", indices)?, 0)
    }

    /// The leading axes of a result by tuples, and the extents that the components name.
    fn tuples(
        &self,
        op: &'static str,
        indices: &Self,
        batch: usize,
    ) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let split = indices
            .dims()
            .split_last()
            .filter(|(_, outer)| batch <= outer.len());
        let named = split.and_then(|(&m, _)| self.dims().get(batch..)?.get(..m));
        match (split, named) {
            (Some((_, outer)), Some(named)) => Ok((outer.to_vec(), named.to_vec())),
            _ => {
                let detail = format!(
                    "the last axis of the indices must have a component for some of the axes behind {batch} batch axes: {} for {}",
                    indices.shape(),
                    self.shape()
                );
                Err(Error::shape(op, detail))
            }
        }
    }

    /// One index tensor per axis as tuples along a last axis.
    fn stacked_indices(&self, op: &'static str, indices: &[&Self]) -> Result<Self, Error> {
        if indices.len() > self.rank() {
            let detail = format!(
                "not more index tensors than axes: {} given for {}",
                indices.len(),
                self.shape()
            );
            return Err(Error::shape(op, detail));
        }
        let shapes: Vec<Shape> = indices.iter().map(|index| *index.shape()).collect();
        let shape = broadcast_shapes(&shapes).map_err(|error| Error::from_shape(op, error))?;
        let unsigned = indices.iter().all(|index| index.dtype() == DType::U32);
        let dtype = if unsigned { DType::U32 } else { DType::I32 };
        let parts = indices
            .iter()
            .map(|&index| match dtype {
                DType::I32 => self.indices_of(op, index)?.as_i32(op),
                _ => self.indices_of(op, index),
            })
            .collect::<Result<Vec<_>, Error>>()?;
        if parts.is_empty() {
            return Err(Error::argument(
                op,
                "at least one index tensor is needed: none given",
            ));
        }
        let parts = parts
            .iter()
            .map(|part| part.broadcast_to(shape.dims()))
            .collect::<Result<Vec<_>, _>>()?;
        Self::stack(&parts.iter().collect::<Vec<_>>(), -1)
    }

    /// Indices as the kernels take them: i32 or u32.
    pub(crate) fn indices_of(&self, op: &'static str, indices: &Self) -> Result<Self, Error> {
        self.same_device(op, indices)?;
        match indices.dtype() {
            DType::I32 | DType::U32 => Ok(indices.clone()),
            narrow if narrow.is_int() => indices.converted(op, DType::I32),
            other => Err(Error::dtype(
                op,
                format!("indices must be integers: they are {other}"),
            )),
        }
    }

    /// Integers as i32: those beyond its range are its greatest, so that none of them becomes negative.
    pub(super) fn as_i32(&self, op: &'static str) -> Result<Self, Error> {
        match self.dtype() {
            DType::U32 => self
                .minimum(i32::MAX.cast_unsigned())?
                .converted(op, DType::I32),
            _ => self.converted(op, DType::I32),
        }
    }

    pub(super) fn check_indices(
        &self,
        op: &'static str,
        index: &View,
        extents: &[usize],
    ) -> Result<Checked, Error> {
        let device = self.device();
        device
            .index_checks()
            .record(device.executor(), op, index, extents)
    }

    fn extent(&self, axis: usize) -> usize {
        self.dims().get(axis).copied().unwrap_or(0)
    }
}
