//! Sorting and what follows from it: the greatest, the k-th, the middle one.
//!
//! Sorts are stable in both directions. NaN is greater than everything: last when ascending, first when descending.

use ziggurat_core::DType;
use ziggurat_kernels::{Completion, Executor, KernelError, View};

use crate::observe::{self, Operation, What};
use crate::tensor::new_shape;
use crate::{Error, Tensor};

impl Tensor {
    /// The values in order along `axis`, and where they stood (i32).
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[2.0f32, f32::NAN, 1.0], [3])?;
    /// let (values, at) = a.sort(0, false)?;
    /// assert_eq!(values.to_vec_blocking::<f32>()?[..2], [1.0, 2.0]);
    /// assert_eq!(at.to_vec_blocking::<i32>()?, [2, 0, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn sort(&self, axis: isize, descending: bool) -> Result<(Self, Self), Error> {
        if self.rank() == 0 {
            return Ok((self.clone(), self.sorted_places("sort", axis, descending)?));
        }
        let at = self.axis_of("sort", axis)?;
        self.with_places("sort", self.dims(), |executor, view, outs| {
            executor.sort(view, at, descending, outs)
        })
    }

    /// Where the values in order along `axis` stand (i32).
    ///
    /// # Errors
    /// If the axis is out of range.
    pub fn argsort(&self, axis: isize, descending: bool) -> Result<Self, Error> {
        self.sorted_places("argsort", axis, descending)
    }

    fn sorted_places(
        &self,
        op: &'static str,
        axis: isize,
        descending: bool,
    ) -> Result<Self, Error> {
        if self.rank() == 0 {
            self.shape()
                .axis(axis)
                .map_err(|error| Error::from_shape(op, error))?;
            return Self::zeros(self.device(), [], DType::I32);
        }
        let at = self.axis_of(op, axis)?;
        let view = self.stored()?;
        Self::produce(
            self.device(),
            op,
            *self.shape(),
            DType::I32,
            |executor, out| executor.argsort(view, at, descending, out),
        )
    }

    /// The `k` greatest (or least) values along `axis` in order, and where they stood (i32): of equals the first ones.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[3i32, 1, 4, 1], [4])?;
    /// let (values, at) = a.topk(2, 0, true)?;
    /// assert_eq!(values.to_vec_blocking::<i32>()?, [4, 3]);
    /// assert_eq!(at.to_vec_blocking::<i32>()?, [2, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range or has fewer than `k` positions.
    pub fn topk(&self, k: usize, axis: isize, largest: bool) -> Result<(Self, Self), Error> {
        let op = "topk";
        if self.rank() == 0 {
            let (values, at) = self.unsqueeze(0)?.topk(k, axis, largest)?;
            return match k {
                0 => Ok((values, at)),
                _ => Ok((values.select(0, 0)?, at.select(0, 0)?)),
            };
        }
        self.at_most(op, k, axis)?;
        let at = self.axis_of(op, axis)?;
        let mut dims = self.dims().to_vec();
        if let Some(dim) = dims.get_mut(at) {
            *dim = k;
        }
        self.with_places(op, &dims, |executor, view, outs| {
            executor.topk(view, at, largest, outs)
        })
    }

    /// The `k`-th least value along `axis`, counted from 1, and where it stands (i32). The axis disappears, or stays with
    /// extent 1.
    ///
    /// # Errors
    /// If the axis is out of range, `k` is 0, or the axis has fewer than `k` positions.
    pub fn kthvalue(&self, k: usize, axis: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        let op = "kthvalue";
        if self.rank() == 0 {
            return self.unsqueeze(0)?.kthvalue(k, axis, false);
        }
        if k == 0 {
            return Err(Error::argument(op, "k counts from 1: it is 0"));
        }
        self.at_most(op, k, axis)?;
        self.ranked(op, axis, keepdim, |executor, axis, view, outs| {
            executor.kthvalue(view, axis, k, outs)
        })
    }

    /// The middle value along `axis`, the lower of two, and where it stands (i32). NaN if there is one.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[4.0f32, 1.0, 3.0, 2.0], [4])?;
    /// let (value, at) = a.median(0, false)?;
    /// assert_eq!((value.item_blocking::<f32>()?, at.item_blocking::<i32>()?), (2.0, 3));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range or has no positions.
    pub fn median(&self, axis: isize, keepdim: bool) -> Result<(Self, Self), Error> {
        let op = "median";
        if self.rank() == 0 {
            return self.unsqueeze(0)?.median(axis, false);
        }
        self.at_most(op, 1, axis)?;
        self.ranked(op, axis, keepdim, |executor, axis, view, outs| {
            executor.median(view, axis, outs)
        })
    }

    /// One value of each row along `axis`, and where it stands.
    fn ranked(
        &self,
        op: &'static str,
        axis: isize,
        keepdim: bool,
        record: impl FnOnce(&Executor, usize, &View, (&View, &View)) -> Result<Completion, KernelError>,
    ) -> Result<(Self, Self), Error> {
        let at = self.axis_of(op, axis)?;
        let mut dims = self.dims().to_vec();
        if let Some(dim) = dims.get_mut(at) {
            *dim = 1;
        }
        let (values, places) = self.with_places(op, &dims, |executor, view, outs| {
            record(executor, at, view, outs)
        })?;
        if keepdim {
            return Ok((values, places));
        }
        Ok((values.squeeze_axis(axis)?, places.squeeze_axis(axis)?))
    }

    /// Values of this dtype and where they stand (i32), both of these extents.
    fn with_places(
        &self,
        op: &'static str,
        dims: &[usize],
        record: impl FnOnce(&Executor, &View, (&View, &View)) -> Result<Completion, KernelError>,
    ) -> Result<(Self, Self), Error> {
        let (view, shape, device) = (self.stored()?, new_shape(op, dims)?, self.device());
        let outs = (
            device.alloc(op, &shape, self.dtype())?,
            device.alloc(op, &shape, DType::I32)?,
        );
        let describe = || Operation {
            name: op.into(),
            what: What::Dispatches,
            inputs: Some(vec![Some(view)]),
            is_given_non_finite: false,
            outputs: vec![&outs.0, &outs.1],
        };
        // Later commands are ordered behind this one, and reads report its failure.
        let run = || record(device.executor(), view, (&outs.0, &outs.1)).map(drop);
        observe::operation(device, describe, run).map_err(|error| Error::from_kernel(op, error))?;
        Ok((
            Self::from_view(device, outs.0),
            Self::from_view(device, outs.1),
        ))
    }

    /// For every value how many elements of this tensor's sorted last axis stand before it (i32): those less, with
    /// `right` also those equal. A vector serves all values; otherwise the leading axes agree.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 3, 3, 5], [4])?;
    /// let b = Tensor::from_slice(&device, &[0i32, 3, 9], [3])?;
    /// assert_eq!(a.searchsorted(&b, false)?.to_vec_blocking::<i32>()?, [0, 1, 4]);
    /// assert_eq!(a.searchsorted(&b, true)?.to_vec_blocking::<i32>()?, [0, 3, 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this tensor has rank 0, the leading axes or the dtypes differ.
    pub fn searchsorted(&self, values: &Self, right: bool) -> Result<Self, Error> {
        let op = "searchsorted";
        self.same_device(op, values)?;
        let (sorted, wanted) = (self.stored()?, values.stored()?);
        Self::produce(
            self.device(),
            op,
            *values.shape(),
            DType::I32,
            |executor, out| executor.search_sorted(sorted, wanted, right, out),
        )
    }

    /// An error if `axis` has fewer than `k` positions.
    fn at_most(&self, op: &'static str, k: usize, axis: isize) -> Result<(), Error> {
        let at = self.axis_of(op, axis)?;
        let len = self.dims().get(at).copied().unwrap_or(0);
        if k <= len {
            return Ok(());
        }
        let detail = format!(
            "the axis must have at least {k} positions: axis {axis} of {} has {len}",
            self.shape()
        );
        Err(Error::shape(op, detail))
    }
}
