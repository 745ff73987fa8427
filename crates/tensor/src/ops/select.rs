//! Selections whose size depends on the values, and counts of values.
//!
//! How many there are is known on the device only, and read back once: these are futures, with `_blocking` forms on native
//! targets. The work is that of the kernels' `Executor`.

use std::future::Future;

use ziggurat_core::{DType, broadcast_shapes};
use ziggurat_kernels::{Counted, KernelError, View};

use crate::once::once;
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// The different values of a tensor; see [`Tensor::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// Each value once, ascending; every NaN is a value of its own.
    pub values: Tensor,
    /// For each element which of the values it is (i32), in the tensor's shape.
    pub inverse: Tensor,
    /// How often each value occurs (i32).
    pub counts: Tensor,
}

/// What a count leads to. The operands are kept meanwhile, so that nothing is written over them.
async fn resolved<T>(
    op: &'static str,
    pending: Result<Counted<T>, Error>,
    operands: Vec<Tensor>,
) -> Result<T, Error> {
    let result = pending?.await;
    drop(operands);
    result.map_err(|error| Error::from_kernel(op, error))
}

/// A tensor of what the device counted, which must fit as every other does.
fn checked(device: &Device, op: &'static str, view: View) -> Result<Tensor, Error> {
    device.check_len(op, view.shape(), view.dtype)?;
    Ok(Tensor::from_view(device, view))
}

fn named(op: &'static str) -> impl Fn(KernelError) -> Error {
    move |error| Error::from_kernel(op, error)
}

impl Tensor {
    /// The places of all elements that are not 0, as `[count, rank]` (i32), in row-major order.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 2.0, f32::NAN, 0.0], [2, 2])?;
    /// assert_eq!(a.nonzero_blocking()?.to_vec2_blocking::<i32>()?, [[0, 1], [1, 0]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory, or something recorded before failed.
    pub fn nonzero(&self) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        const OP: &str = "nonzero";
        let device = self.device().clone();
        let start = || device.executor().nonzero(self.stored()?).map_err(named(OP));
        let (pending, operands) = (start(), vec![self.clone()]);
        once(async move { checked(&device, OP, resolved(OP, pending, operands).await?) })
    }

    /// The elements where `mask` (bool) is true, as a vector in row-major order; both broadcast.
    ///
    /// # Errors
    /// If the mask is not bool or the shapes do not broadcast.
    pub fn masked_select(
        &self,
        mask: &Self,
    ) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        const OP: &str = "masked_select";
        let device = self.device().clone();
        let (pending, operands) = (self.masked(OP, mask), vec![self.clone(), mask.clone()]);
        once(async move { checked(&device, OP, resolved(OP, pending, operands).await?) })
    }

    fn masked(&self, op: &'static str, mask: &Self) -> Result<Counted<View>, Error> {
        self.same_device(op, mask)?;
        if !mask.dtype().is_bool() {
            let detail = format!("the mask must be bool: it is {}", mask.dtype());
            return Err(Error::dtype(op, detail));
        }
        broadcast_shapes(&[*self.shape(), *mask.shape()])
            .map_err(|error| Error::from_shape(op, error))?;
        let executor = self.device().executor();
        executor
            .masked_select(self.stored()?, mask.stored()?)
            .map_err(named(op))
    }

    /// The different values of all elements, which of them each element is, and how often each occurs.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[3i32, 1, 3], [3])?;
    /// let unique = a.unique_blocking()?;
    /// assert_eq!(unique.values.to_vec_blocking::<i32>()?, [1, 3]);
    /// assert_eq!(unique.inverse.to_vec_blocking::<i32>()?, [1, 0, 1]);
    /// assert_eq!(unique.counts.to_vec_blocking::<i32>()?, [1, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory, or something recorded before failed.
    pub fn unique(&self) -> impl Future<Output = Result<Unique, Error>> + Send + use<> {
        const OP: &str = "unique";
        let device = self.device().clone();
        let start = || device.executor().unique(self.stored()?).map_err(named(OP));
        let (pending, operands) = (start(), vec![self.clone()]);
        once(async move {
            let found = resolved(OP, pending, operands).await?;
            Ok(Unique {
                values: Self::from_view(&device, found.values),
                inverse: Self::from_view(&device, found.inverse),
                counts: Self::from_view(&device, found.counts),
            })
        })
    }

    /// How often each of 0, 1, 2, … occurs in a vector of integers (i32), up to its greatest element but at least
    /// `min_length` of them; with weights, their sums in the weights' dtype.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 3, 1], [3])?;
    /// assert_eq!(a.bincount_blocking(None, 0)?.to_vec_blocking::<i32>()?, [0, 2, 0, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this is no vector of integers, one is negative, or the weights are not as many.
    pub fn bincount(
        &self,
        weights: Option<&Self>,
        min_length: usize,
    ) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        const OP: &str = "bincount";
        let device = self.device().clone();
        let pending = self.counted(OP, weights, min_length);
        let operands = [Some(self), weights]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
        once(async move { checked(&device, OP, resolved(OP, pending, operands).await?) })
    }

    fn counted(
        &self,
        op: &'static str,
        weights: Option<&Self>,
        min_length: usize,
    ) -> Result<Counted<View>, Error> {
        if self.rank() != 1 || self.dtype().is_float() || self.dtype().is_bool() {
            let detail = format!(
                "a vector of integers is needed: {} of {} given",
                self.shape(),
                self.dtype()
            );
            return Err(Error::argument(op, detail));
        }
        if let Some(weights) = weights {
            self.same_device(op, weights)?;
            if weights.shape() != self.shape() {
                let detail = format!(
                    "as many weights as elements are needed: {} for {}",
                    weights.shape(),
                    self.shape()
                );
                return Err(Error::shape(op, detail));
            }
        }
        new_shape(op, &[min_length])?;
        let weights = weights.map(Self::stored).transpose()?;
        let executor = self.device().executor();
        executor
            .bincount(self.stored()?, weights, min_length)
            .map_err(named(op))
    }

    /// How many elements lie in each of `bins` equal parts of `low` to `high` (i32), and the bounds of the parts (f32).
    /// `high` itself belongs to the last part; elements outside and NaN are not counted.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 0.4, 0.5, 1.0, 7.0], [5])?;
    /// let (counts, edges) = a.histogram(2, 0.0, 1.0)?;
    /// assert_eq!(counts.to_vec_blocking::<i32>()?, [2, 2]);
    /// assert_eq!(edges.to_vec_blocking::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bins, or the bounds are not finite and in order.
    pub fn histogram(&self, bins: usize, low: f32, high: f32) -> Result<(Self, Self), Error> {
        let op = "histogram";
        let fits = bins > 0 && i32::try_from(bins).is_ok();
        if !(fits && low.is_finite() && high.is_finite() && low < high) {
            let detail = format!(
                "at least one bin and low < high, both finite, are needed: {bins} from {low} to {high} given"
            );
            return Err(Error::argument(op, detail));
        }
        let edges = Self::linspace(self.device(), low, high, bins + 1)?;
        let (values, bounds) = (self.stored()?, edges.stored()?);
        let shape = new_shape(op, &[bins])?;
        let counts = Self::produce(self.device(), op, shape, DType::I32, |executor, out| {
            executor.histogram(values, bounds, out)
        })?;
        Ok((counts, edges))
    }

    /// [`Tensor::histogram`] as PyTorch's `histc` has it: counts alone, in the dtype of `self`; with equal bounds
    /// between the least and the greatest element, or where those are equal from one less to one more.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 1.0, 5.0], [4])?;
    /// assert_eq!(a.histc(4, 0.0, 0.0)?.to_vec_blocking::<f32>()?, [2.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bins, the bounds are not finite and in order, or the dtype is not a float.
    pub fn histc(&self, bins: usize, low: f32, high: f32) -> Result<Self, Error> {
        let op = "histc";
        self.needs_float(op)?;
        let fits = bins > 0 && i32::try_from(bins).is_ok();
        if !(fits && low.is_finite() && high.is_finite() && low <= high) {
            let detail = format!(
                "at least one bin and low <= high, both finite, are needed: {bins} from {low} to {high} given"
            );
            return Err(Error::argument(op, detail));
        }
        let (values, shape) = (self.stored()?, new_shape(op, &[bins])?);
        Self::produce(self.device(), op, shape, self.dtype(), |executor, out| {
            executor.histc(values, low, high, out)
        })
    }

    /// Each position of an axis as often in a row as its element of `repeats` says: a vector of integers, one for all or one
    /// per position. [`Tensor::repeat_interleave`] with one number known on the host needs no answer from the device.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[7i32, 8, 9], [3])?;
    /// let times = Tensor::from_slice(&device, &[2i32, 0, 1], [3])?;
    /// assert_eq!(a.repeat_interleave_by_blocking(&times, 0)?.to_vec_blocking::<i32>()?, [7, 7, 9]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the repeats are no vector of integers, not one nor one per position, or one is negative.
    #[doc(alias = "repeat_interleave")]
    pub fn repeat_interleave_by(
        &self,
        repeats: &Self,
        axis: isize,
    ) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        const OP: &str = "repeat_interleave_by";
        let device = self.device().clone();
        let pending = self.repeated(OP, repeats, axis);
        let operands = vec![self.clone(), repeats.clone()];
        once(async move { checked(&device, OP, resolved(OP, pending, operands).await?) })
    }

    fn repeated(
        &self,
        op: &'static str,
        repeats: &Self,
        axis: isize,
    ) -> Result<Counted<View>, Error> {
        self.same_device(op, repeats)?;
        let (axis, extent) = self.axis_and_extent(op, axis)?;
        let fits = matches!(repeats.dims(), [1]) || repeats.dims() == [extent];
        if !fits || !repeats.dtype().is_int() {
            let detail = format!(
                "the repeats must be integers, one or {extent} of them: {} of {} given",
                repeats.shape(),
                repeats.dtype()
            );
            return Err(Error::argument(op, detail));
        }
        let executor = self.device().executor();
        executor
            .repeat_interleave_by(self.stored()?, repeats.stored()?, axis)
            .map_err(named(op))
    }
}

/// The forms that wait in place.
#[cfg(not(target_arch = "wasm32"))]
mod blocking {
    use super::{Error, Tensor, Unique};

    impl Tensor {
        /// [`Tensor::nonzero`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn nonzero_blocking(&self) -> Result<Self, Error> {
            self.device().block_on(self.nonzero())
        }

        /// [`Tensor::masked_select`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn masked_select_blocking(&self, mask: &Self) -> Result<Self, Error> {
            self.device().block_on(self.masked_select(mask))
        }

        /// [`Tensor::unique`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn unique_blocking(&self) -> Result<Unique, Error> {
            self.device().block_on(self.unique())
        }

        /// [`Tensor::repeat_interleave_by`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn repeat_interleave_by_blocking(
            &self,
            repeats: &Self,
            axis: isize,
        ) -> Result<Self, Error> {
            self.device()
                .block_on(self.repeat_interleave_by(repeats, axis))
        }

        /// [`Tensor::bincount`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn bincount_blocking(
            &self,
            weights: Option<&Self>,
            min_length: usize,
        ) -> Result<Self, Error> {
            self.device().block_on(self.bincount(weights, min_length))
        }
    }
}
