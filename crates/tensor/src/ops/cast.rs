//! Conversion between dtypes.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{FusedOp, View};

use crate::{Error, Tensor};

impl Tensor {
    /// The values converted to `dtype`; `self` where it has that dtype already.
    ///
    /// Floats go to integers by truncation toward zero, saturating, NaN to 0; integers wrap among each other; anything but
    /// zero is true; f32 rounds to f16 and bf16 to nearest even, with overflow to infinity.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.9f32, -300.0, f32::NAN], [3])?;
    /// assert_eq!(a.to_dtype(DType::I8)?.to_vec_blocking::<i8>()?, [1, -128, 0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory for the result.
    #[doc(alias = "type")]
    pub fn to_dtype(&self, dtype: DType) -> Result<Self, Error> {
        self.converted("to_dtype", dtype)
    }

    /// [`Tensor::to_dtype`] on behalf of `op`.
    pub(crate) fn converted(&self, op: &'static str, dtype: DType) -> Result<Self, Error> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        let inputs = [Some(self.as_input(self.device())?), None, None];
        Self::record(
            self.device(),
            op,
            FusedOp::Cast(dtype),
            self.shape(),
            inputs,
        )
    }
}

impl Tensor {
    /// The same bytes as elements of another dtype, PyTorch's `view(dtype)`. Nothing is copied.
    ///
    /// With a dtype of the same width the shape stays. With a narrower one the last extent grows, with a wider one it
    /// shrinks, by the ratio of the widths; elements are little-endian.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, -0.0], [2])?;
    /// assert_eq!(a.bitcast(DType::U32)?.to_vec_blocking::<u32>()?, [0x3f80_0000, 0x8000_0000]);
    /// assert_eq!(a.bitcast(DType::U8)?.to_vec_blocking::<u8>()?, [0, 0, 0x80, 0x3f, 0, 0, 0, 0x80]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// To bool from another dtype, because a bool is only ever 0 or 1; and if the widths differ and the last axis is not
    /// contiguous, does not exist, or, for a wider dtype, any extent, stride or offset is not a multiple of the ratio.
    pub fn bitcast(&self, dtype: DType) -> Result<Self, Error> {
        const OP: &str = "bitcast";
        if dtype == self.dtype() {
            return Ok(self.clone());
        }
        if dtype.is_bool() {
            let rule = "the bytes of a bool must be 0 or 1: use to_dtype to convert";
            return Err(Error::dtype(OP, format!("{rule}: it is {}", self.dtype())));
        }
        let view = self.stored()?;
        let layout = recast(&view.layout, self.dtype().bytes(), dtype.bytes()).map_err(|rule| {
            Error::shape(
                OP,
                format!(
                    "{rule}: {} as {dtype}: {}",
                    self.dtype(),
                    place(&view.layout)
                ),
            )
        })?;
        let view = View::new(view.buffer.clone(), layout, dtype)
            .map_err(|error| Error::from_kernel(OP, error))?;
        Ok(Self::from_view(self.device(), view))
    }
}

fn place(layout: &Layout) -> String {
    format!(
        "the shape is {:?}, the strides are {:?}, the offset {}",
        layout.dims(),
        layout.strides(),
        layout.offset()
    )
}

/// The layout of the same bytes for elements of another width; or the rule that is broken.
fn recast(layout: &Layout, from: usize, to: usize) -> Result<Layout, &'static str> {
    if from == to {
        return Ok(*layout);
    }
    let mut dims = layout.dims().to_vec();
    let mut strides = layout.strides().to_vec();
    let (Some(last), Some(step)) = (dims.last_mut(), strides.last_mut()) else {
        return Err("a dtype of another width needs a last axis");
    };
    // Nothing is stored of no elements, so that neither strides nor offset matter.
    let empty = layout.dims().contains(&0);
    if *step != 1 && *last != 1 && !empty {
        return Err("a dtype of another width needs a last axis of stride 1");
    }
    // Both ratios are 1, 2 or 4, one of them 1.
    let (grow, shrink) = (from.div_ceil(to), to.div_ceil(from));
    let too_large = "the elements must be within what indices count";
    let starts = empty || layout.offset().is_multiple_of(shrink);
    if !last.is_multiple_of(shrink) || !starts {
        return Err("the last extent and the offset must be multiples of the ratio of the widths");
    }
    *last = (*last / shrink).checked_mul(grow).ok_or(too_large)?;
    if empty {
        let shape = Shape::new(dims).map_err(|_| too_large)?;
        return Ok(Layout::contiguous(shape));
    }
    *step = 1;
    let rest = strides.len().saturating_sub(1);
    for (stride, dim) in strides.iter_mut().zip(layout.dims()).take(rest) {
        let (narrow, wide) = (grow.cast_signed(), shrink.cast_signed());
        // The stride of an axis of extent 1 or 0 is never used.
        if *stride % wide != 0 && *dim > 1 {
            return Err("all strides must be multiples of the ratio of the widths");
        }
        *stride = (*stride / wide).checked_mul(narrow).ok_or(too_large)?;
    }
    let offset = (layout.offset() / shrink)
        .checked_mul(grow)
        .ok_or(too_large)?;
    let shape = Shape::new(dims).map_err(|_| too_large)?;
    Layout::new(shape, &strides, offset).map_err(|_| too_large)
}
