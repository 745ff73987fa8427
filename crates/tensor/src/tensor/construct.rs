//! Tensors from nothing: host values, constants, ranges.
//!
//! Invariant: every constructor writes every element, so recycled memory never shows through.

use ziggurat_core::{DType, Element, Shape};

use crate::{Device, Error, Scalar, Tensor};

impl Tensor {
    /// Copies `values`, in row-major order, to the device.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(a.dims(), [2, 3]);
    /// assert_eq!(a.to_vec2_blocking::<i32>()?, [[1, 2, 3], [4, 5, 6]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shape does not have as many elements as there are values, or the device has no memory for them.
    #[doc(alias = "tensor", alias = "as_tensor", alias = "from_numpy")]
    pub fn from_slice<T: Element>(
        device: &Device,
        values: &[T],
        shape: impl AsRef<[usize]>,
    ) -> Result<Self, Error> {
        let shape = new_shape("from_slice", shape.as_ref())?;
        if shape.len() != values.len() {
            return Err(Error::shape(
                "from_slice",
                format!(
                    "the shape must hold all values: {shape} holds {}, {} given",
                    shape.len(),
                    values.len()
                ),
            ));
        }
        Self::from_bytes_of(
            "from_slice",
            device,
            &T::write_bytes(values),
            &shape,
            T::DTYPE,
        )
    }

    /// Copies `values` to the device; see [`Tensor::from_slice`].
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "for callers that have a vector and are done with it"
    )]
    pub fn from_vec<T: Element>(
        device: &Device,
        values: Vec<T>,
        shape: impl AsRef<[usize]>,
    ) -> Result<Self, Error> {
        Self::from_slice(device, &values, shape)
    }

    /// Copies little-endian row-major bytes of `dtype` to the device; a bool is one byte, 0 or 1.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let error = Tensor::from_bytes(&device, &[0, 1, 7], [3], DType::Bool).unwrap_err();
    /// assert_eq!(error.to_string(), "from_bytes: a bool must be 0 or 1, but the byte at position 2 is 7");
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of bytes is not that of the shape, a byte of a bool is neither 0 nor 1, or the device has no memory for
    /// them.
    #[doc(alias = "frombuffer")]
    pub fn from_bytes(
        device: &Device,
        bytes: &[u8],
        shape: impl AsRef<[usize]>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let shape = new_shape("from_bytes", shape.as_ref())?;
        let wanted = shape.len().checked_mul(dtype.bytes());
        if wanted != Some(bytes.len()) {
            return Err(Error::shape(
                "from_bytes",
                format!(
                    "the bytes must be those of the shape: {shape} of {dtype} given {} bytes",
                    bytes.len()
                ),
            ));
        }
        Self::from_bytes_of("from_bytes", device, bytes, &shape, dtype)
    }

    fn from_bytes_of(
        op: &'static str,
        device: &Device,
        bytes: &[u8],
        shape: &Shape,
        dtype: DType,
    ) -> Result<Self, Error> {
        device.check_len(op, shape, dtype)?;
        let view = device
            .executor()
            .upload_bytes(dtype, bytes, shape)
            .map_err(|error| Error::from_kernel(op, error))?;
        Ok(Self::from_view(device, view))
    }

    /// One value of rank 0.
    ///
    /// # Errors
    /// If the device has no memory or is lost.
    #[doc(alias = "scalar_tensor")]
    pub fn from_value<T: Element>(device: &Device, value: T) -> Result<Self, Error> {
        Self::from_slice(device, &[value], [])
    }

    /// Every element `value`, converted to `dtype` (integers saturate).
    ///
    /// # Errors
    /// If the shape is not possible or the device has no memory for it.
    pub fn full(
        device: &Device,
        shape: impl AsRef<[usize]>,
        value: impl Into<Scalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let value = value.into().value();
        let shape = new_shape("full", shape.as_ref())?;
        Self::produce(device, "full", shape, dtype, |executor, out| {
            executor.fill(out, value)
        })
    }

    /// Every element 0 (false).
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn zeros(device: &Device, shape: impl AsRef<[usize]>, dtype: DType) -> Result<Self, Error> {
        Self::full(device, shape, 0, dtype)
    }

    /// Every element 1 (true).
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn ones(device: &Device, shape: impl AsRef<[usize]>, dtype: DType) -> Result<Self, Error> {
        Self::full(device, shape, 1, dtype)
    }

    /// Zeros of the shape, dtype and device of `self`.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn zeros_like(&self) -> Result<Self, Error> {
        self.full_like(0)
    }

    /// Ones of the shape, dtype and device of `self`.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    pub fn ones_like(&self) -> Result<Self, Error> {
        self.full_like(1)
    }

    /// `value` in the shape, dtype and device of `self`.
    ///
    /// # Errors
    /// As [`Tensor::full`].
    #[doc(alias = "new_full")]
    pub fn full_like(&self, value: impl Into<Scalar>) -> Result<Self, Error> {
        Self::full(self.device(), self.dims(), value, self.dtype())
    }

    /// `start, start + step, …` up to but not including `end`: `ceil((end - start) / step)` elements.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::arange(&device, 5, 0, -2, DType::I32)?;
    /// assert_eq!(a.to_vec_blocking::<i32>()?, [5, 3, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the step is 0, does not lead from `start` to `end`, or any of the three is not finite.
    pub fn arange(
        device: &Device,
        start: impl Into<Scalar>,
        end: impl Into<Scalar>,
        step: impl Into<Scalar>,
        dtype: DType,
    ) -> Result<Self, Error> {
        let (start, end, step) = (
            start.into().value(),
            end.into().value(),
            step.into().value(),
        );
        let len = arange_len(start, end, step)?;
        let shape = new_shape("arange", &[len])?;
        Self::produce(device, "arange", shape, dtype, |executor, out| {
            executor.arange(out, start, step)
        })
    }

    /// The identity matrix of `n` rows.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn eye(device: &Device, n: usize, dtype: DType) -> Result<Self, Error> {
        Self::eye_of(device, n, n, 0, dtype)
    }

    /// Ones on the `k`-th diagonal (above the main one if positive) of `rows` × `cols`, zeros elsewhere.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn eye_of(
        device: &Device,
        rows: usize,
        cols: usize,
        k: isize,
        dtype: DType,
    ) -> Result<Self, Error> {
        let shape = new_shape("eye", &[rows, cols])?;
        Self::produce(device, "eye", shape, dtype, |executor, out| {
            executor.eye(out, k as i64)
        })
    }
}

pub(crate) fn new_shape(op: &'static str, dims: &[usize]) -> Result<Shape, Error> {
    Shape::new(dims).map_err(|error| Error::from_shape(op, error))
}

fn arange_len(start: f64, end: f64, step: f64) -> Result<usize, Error> {
    let given = || format!("start {start}, end {end}, step {step} given");
    if !(start.is_finite() && end.is_finite() && step.is_finite()) {
        return Err(Error::argument(
            "arange",
            format!("bounds and step must be finite: {}", given()),
        ));
    }
    let len = ((end - start) / step).ceil();
    if step == 0.0 || len < 0.0 {
        return Err(Error::argument(
            "arange",
            format!("the step must lead from start to end: {}", given()),
        ));
    }
    if len >= isize::MAX as f64 {
        return Err(Error::shape(
            "arange",
            format!("the element count must be addressable: {}", given()),
        ));
    }
    Ok(len as usize)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn arange_counts_as_numpy_does() {
        assert_eq!(arange_len(0.0, 1.0, 0.1).unwrap(), 10);
        assert_eq!(arange_len(1.0, 5.0, 2.0).unwrap(), 2);
        assert_eq!(arange_len(5.0, 0.0, -2.0).unwrap(), 3);
        assert_eq!(arange_len(3.0, 3.0, 1.0).unwrap(), 0);
    }

    #[test]
    fn arange_refuses_steps_that_lead_nowhere() {
        assert!(arange_len(5.0, 0.0, 1.0).unwrap_err().is_argument());
        assert!(arange_len(0.0, 5.0, 0.0).unwrap_err().is_argument());
        assert!(arange_len(3.0, 3.0, 0.0).unwrap_err().is_argument());
        assert!(arange_len(0.0, f64::NAN, 1.0).unwrap_err().is_argument());
        assert!(arange_len(0.0, 1e300, 1e-10).unwrap_err().is_shape());
    }
}
