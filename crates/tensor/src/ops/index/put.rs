//! Writing elements that indices, masks or ranges name.
//!
//! The result is a new tensor, like every other: a copy with some elements replaced or combined.

use ziggurat_core::Layout;
use ziggurat_kernels::{Completion, Executor, KernelError, Scatter, View};

use crate::tensor::new_shape;
use crate::{AxisRange, Error, Scalar, Tensor};

impl Tensor {
    /// A copy in which the elements that [`Tensor::index`] would read are `values` (which broadcast), or with
    /// `accumulate` have `values` added, once for every time they are named.
    ///
    /// # Errors
    /// As [`Tensor::index`], or if the values do not broadcast or have another dtype.
    pub fn index_put(
        &self,
        indices: &[&Self],
        values: &Self,
        accumulate: bool,
    ) -> Result<Self, Error> {
        let op = "index_put";
        let at = self.stacked_indices(op, indices)?;
        let (outer, named) = self.tuples(op, &at, 0)?;
        let dims = [
            outer.as_slice(),
            self.dims().get(named.len()..).unwrap_or(&[]),
        ]
        .concat();
        let kind = if accumulate {
            Scatter::Add
        } else {
            Scatter::Set
        };
        let shape = new_shape(op, &dims)?;
        let values = values.with_layout(op, |layout| layout.expand(shape))?;
        self.scatter_tuples(op, &at, &values, kind)
    }

    /// A copy with `out[.., indices[.., i, ..], ..] = src[.., i, ..]` along `axis`. Where an element is named twice, one
    /// of its values stays. Of a `src` that reaches further than the indices the rest has no part.
    ///
    /// # Errors
    /// As [`Tensor::gather`], or if `src` has another dtype or fewer elements along an axis than the indices.
    pub fn scatter(&self, axis: isize, indices: &Self, src: &Self) -> Result<Self, Error> {
        self.scatter_reduce(axis, indices, src, Scatter::Set)
    }

    /// As [`Tensor::scatter`], but values are added to the elements.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0i32, 0], [2])?;
    /// let at = Tensor::from_slice(&device, &[1i32, 1], [2])?;
    /// let b = Tensor::from_slice(&device, &[3i32, 4], [2])?;
    /// assert_eq!(a.scatter_add(0, &at, &b)?.to_vec_blocking::<i32>()?, [0, 7]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter`].
    pub fn scatter_add(&self, axis: isize, indices: &Self, src: &Self) -> Result<Self, Error> {
        self.scatter_reduce(axis, indices, src, Scatter::Add)
    }

    /// As [`Tensor::scatter`], with any way to combine an element and a value; the elements take part.
    ///
    /// # Errors
    /// As [`Tensor::scatter`].
    pub fn scatter_reduce(
        &self,
        axis: isize,
        indices: &Self,
        src: &Self,
        kind: Scatter,
    ) -> Result<Self, Error> {
        let op = kind.name();
        if self.rank() == 0 && indices.rank() == 0 && src.rank() == 0 {
            let (one, index, src) = (self.unsqueeze(0)?, indices.unsqueeze(0)?, src.unsqueeze(0)?);
            return one.scatter_reduce(axis, &index, &src, kind)?.select(0, 0);
        }
        let at = self.axis_of(op, axis)?;
        let (indices, extent) = (self.indices_of(op, indices)?, self.extent(at));
        let src = src.cut_to(indices.dims())?;
        self.updated(
            op,
            &src,
            &indices,
            &[extent],
            |executor, src, index, out| executor.scatter(kind, src, at, index, out),
        )
    }

    /// The first elements along each axis, as many as `dims` says; the tensor itself where it has not as many.
    fn cut_to(&self, dims: &[usize]) -> Result<Self, Error> {
        let reaches =
            self.rank() == dims.len() && self.dims().iter().zip(dims).all(|(a, b)| a >= b);
        if !reaches {
            return Ok(self.clone());
        }
        let axes = dims.iter().enumerate();
        axes.filter(|&(axis, &dim)| self.dims().get(axis) != Some(&dim))
            .try_fold(self.clone(), |part, (axis, &dim)| {
                part.narrow(axis.cast_signed(), 0, dim)
            })
    }

    /// A copy with `out[P.., indices[j], R..] += src[P.., j, R..]`, P and R being the axes before and behind `axis`.
    ///
    /// # Errors
    /// As [`Tensor::index_select`], or if `src` has another dtype or shape than that would read.
    pub fn index_add(&self, axis: isize, indices: &Self, src: &Self) -> Result<Self, Error> {
        self.index_reduce("index_add", axis, indices, src, Scatter::Add)
    }

    /// As [`Tensor::index_add`], but the slices are replaced.
    ///
    /// # Errors
    /// As [`Tensor::index_add`].
    pub fn index_copy(&self, axis: isize, indices: &Self, src: &Self) -> Result<Self, Error> {
        self.index_reduce("index_copy", axis, indices, src, Scatter::Set)
    }

    /// As [`Tensor::index_add`], but all elements of the slices become `value`.
    ///
    /// # Errors
    /// As [`Tensor::index_select`], or if `value` is of a higher category (a float for integers) or does not fit the dtype.
    pub fn index_fill(
        &self,
        axis: isize,
        indices: &Self,
        value: impl Into<Scalar>,
    ) -> Result<Self, Error> {
        let op = "index_fill";
        let (at, value) = (self.axis_of(op, axis)?, value.into());
        if crate::scalar::category(value.promoted_with(self.dtype()))
            != crate::scalar::category(self.dtype())
        {
            let rule = "the value must be of the tensor's category: a float is";
            return Err(Error::dtype(op, format!("{rule} not for {}", self.dtype())));
        }
        if !value.fits(self.dtype()) {
            let rule = format!(
                "the number must fit the dtype: {} does not fit",
                value.value()
            );
            return Err(Error::argument(op, format!("{rule} {}", self.dtype())));
        }
        let mut dims = self.dims().to_vec();
        dims.splice(at..=at, indices.dims().iter().copied());
        let filled = Self::full(self.device(), [], value, self.dtype())?.broadcast_to(dims)?;
        self.index_reduce(op, axis, indices, &filled, Scatter::Set)
    }

    fn index_reduce(
        &self,
        op: &'static str,
        axis: isize,
        indices: &Self,
        src: &Self,
        kind: Scatter,
    ) -> Result<Self, Error> {
        let at = self.axis_of(op, axis)?;
        let (indices, extent) = (self.indices_of(op, indices)?, self.extent(at));
        self.updated(op, src, &indices, &[extent], |executor, src, index, out| {
            executor.index_scatter(kind, src, at, index, out)
        })
    }

    /// A copy in which the elements or slices that the tuples of indices name (see [`Tensor::gather_nd`]) are combined
    /// with the updates.
    ///
    /// # Errors
    /// As [`Tensor::gather_nd`], or if the updates have another dtype or shape than that would read.
    pub fn scatter_nd(&self, indices: &Self, updates: &Self, kind: Scatter) -> Result<Self, Error> {
        self.scatter_tuples("scatter_nd", indices, updates, kind)
    }

    fn scatter_tuples(
        &self,
        op: &'static str,
        indices: &Self,
        updates: &Self,
        kind: Scatter,
    ) -> Result<Self, Error> {
        let indices = self.indices_of(op, indices)?;
        let (_, named) = self.tuples(op, &indices, 0)?;
        self.updated(
            op,
            updates,
            &indices,
            &named,
            |executor, updates, index, out| executor.scatter_nd(kind, updates, index, out),
        )
    }

    /// A copy whose elements, where `mask` (bool, which broadcasts) is true, are those of `source` one after the other in
    /// row-major order. `source` must have as many elements as there are true ones: further ones are taken for its last, or
    /// are an error in the checked mode.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0i32, 0, 0, 0], [2, 2])?;
    /// let mask = Tensor::from_slice(&device, &[false, true, true, false], [2, 2])?;
    /// let source = Tensor::from_slice(&device, &[7i32, 8, 9], [3])?;
    /// assert_eq!(a.masked_scatter(&mask, &source)?.to_vec_blocking::<i32>()?, [0, 7, 8, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the mask is not bool or does not broadcast to the shape of `self`, the dtypes differ, or `source` has no elements
    /// where `self` has.
    pub fn masked_scatter(&self, mask: &Self, source: &Self) -> Result<Self, Error> {
        let op = "masked_scatter";
        self.same_device(op, mask)?;
        self.same_device(op, source)?;
        self.same_dtype(op, source)?;
        if !mask.dtype().is_bool() {
            let detail = format!("the mask must be bool: it is {}", mask.dtype());
            return Err(Error::dtype(op, detail));
        }
        let shape = *self.shape();
        let mask = mask.with_layout(op, |layout| layout.expand(shape))?;
        if self.is_empty() {
            return Ok(self.clone());
        }
        if source.is_empty() {
            let detail = format!("the source must have elements: it is {}", source.shape());
            return Err(Error::shape(op, detail));
        }
        let flat = mask.reshape_to([self.len()])?;
        let ends = flat.cumsum(0)?;
        // Which mark an element is or follows, from 0; 0 also before the first.
        let places = ends.sub(1)?.maximum(0)?.reshape_to(self.dims())?;
        let spread = source
            .reshape_to([source.len()])?
            .slices_at(op, 0, &places)?;
        mask.where_(&spread, self)
    }

    /// A copy in which the part that `ranges` cut out, one per leading axis, is `src` (which broadcasts).
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::zeros(&device, [2, 3], DType::I32)?;
    /// let b = a.slice_assign(&[(0..1).into(), (1..).into()], &Tensor::from_value(&device, 5i32)?)?;
    /// assert_eq!(b.to_vec_blocking::<i32>()?, [0, 5, 5, 0, 0, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are more ranges than axes, `src` does not broadcast to the part, or has another dtype.
    pub fn slice_assign(&self, ranges: &[AxisRange], src: &Self) -> Result<Self, Error> {
        let parts: Vec<(AxisRange, isize)> = ranges.iter().map(|&range| (range, 1)).collect();
        self.assigned("slice_assign", &parts, src)
    }

    /// A copy in which every `step`-th element of a range of one axis is taken from `src`; see [`Tensor::slice_step`].
    ///
    /// # Errors
    /// As [`Tensor::slice_assign`], or if the step is 0.
    pub fn slice_scatter(
        &self,
        axis: isize,
        range: impl Into<AxisRange>,
        step: isize,
        src: &Self,
    ) -> Result<Self, Error> {
        let at = self.axis_of("slice_scatter", axis)?;
        let mut parts = vec![(AxisRange::from(..), 1); at];
        parts.push((range.into(), step));
        self.assigned("slice_scatter", &parts, src)
    }

    fn assigned(
        &self,
        op: &'static str,
        parts: &[(AxisRange, isize)],
        src: &Self,
    ) -> Result<Self, Error> {
        self.same_device(op, src)?;
        self.same_dtype(op, src)?;
        if parts.len() > self.rank() {
            let detail = format!(
                "not more ranges than axes: {} given for {}",
                parts.len(),
                self.shape()
            );
            return Err(Error::shape(op, detail));
        }
        let fail = |error| Error::from_shape(op, error);
        let mut layout = Layout::contiguous(*self.shape());
        for (axis, (range, step)) in parts.iter().enumerate() {
            let (start, end) = range.bounds(*step);
            layout = layout
                .slice(axis.cast_signed(), start, end, *step)
                .map_err(fail)?;
        }
        let src = src.with_layout(op, |source| source.expand(*layout.shape()))?;
        let (view, src) = (self.stored()?, src.stored()?);
        Self::produce(
            self.device(),
            op,
            *self.shape(),
            self.dtype(),
            |executor, out| {
                let _copied = executor.copy(view, out)?;
                executor.copy(src, &out.with_layout(layout)?)
            },
        )
    }

    /// A copy to which `write` adds updates.
    fn updated(
        &self,
        op: &'static str,
        src: &Self,
        indices: &Self,
        extents: &[usize],
        write: impl FnOnce(&Executor, &View, &View, &View) -> Result<Completion, KernelError>,
    ) -> Result<Self, Error> {
        self.same_device(op, src)?;
        self.same_dtype(op, src)?;
        let (view, src, index) = (self.stored()?, src.stored()?, indices.stored()?);
        let checked = self.check_indices(op, index, extents)?;
        checked.of(Self::produce(
            self.device(),
            op,
            *self.shape(),
            self.dtype(),
            |executor, out| {
                let _copied = executor.copy(view, out)?;
                write(executor, src, index, out)
            },
        )?)
    }

    fn same_dtype(&self, op: &'static str, src: &Self) -> Result<(), Error> {
        if src.dtype() == self.dtype() {
            return Ok(());
        }
        let detail = format!(
            "both dtypes must be equal: {} and {} given",
            self.dtype(),
            src.dtype()
        );
        Err(Error::dtype(op, detail))
    }
}
