//! More views: axes moved, split and cut, windows, diagonals, grids.
//!
//! None copies values, with [`Tensor::unflatten`]'s exception for strides that cannot express the shape (it never
//! needs one: splitting an axis is always possible). Names and rules are PyTorch's.

use ziggurat_core::{Layout, Shape, ShapeError, normalize_axes, normalize_axis};

use super::construct::new_shape;
use crate::{Error, Tensor};

/// The most views that one call gives. Extents of views and of tensors without elements say nothing about memory, so that
/// only a number can keep a list of views from being as long as they are.
const MOST_VIEWS: usize = 1 << 20;

impl Tensor {
    /// Two axes exchanged; another name of [`Tensor::transpose`].
    ///
    /// # Errors
    /// If an axis is out of range.
    #[doc(alias = "swapdims")]
    pub fn swapaxes(&self, a: isize, b: isize) -> Result<Self, Error> {
        self.with_layout("swapaxes", |layout| layout.transpose(a, b))
    }

    /// Axis `source[i]` moved to position `target[i]`; the others keep their order.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::zeros(&device, [2, 3, 4], DType::F32)?;
    /// assert_eq!(a.movedim([0], [-1])?.dims(), [3, 4, 2]);
    /// assert_eq!(a.movedim([2, 1], [0, 1])?.dims(), [4, 3, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the lists differ in length, or an axis is out of range or given twice.
    #[doc(alias = "moveaxis")]
    pub fn movedim(
        &self,
        source: impl AsRef<[isize]>,
        target: impl AsRef<[isize]>,
    ) -> Result<Self, Error> {
        let (source, target) = (source.as_ref(), target.as_ref());
        if source.len() != target.len() {
            let detail =
                format!("as many sources as targets are needed: {source:?} to {target:?} given");
            return Err(Error::shape("movedim", detail));
        }
        if self.rank() == 0 {
            return Ok(self.clone());
        }
        let fail = |error| Error::from_shape("movedim", error);
        // In the order given: `normalize_axes` refuses duplicates and may sort.
        normalize_axes(source, self.rank()).map_err(fail)?;
        normalize_axes(target, self.rank()).map_err(fail)?;
        let each = |axes: &[isize]| {
            let found: Result<Vec<usize>, ShapeError> = axes
                .iter()
                .map(|&axis| normalize_axis(axis, self.rank()))
                .collect();
            found.map_err(fail)
        };
        let (source, target) = (each(source)?, each(target)?);
        let mut rest = (0..self.rank()).filter(|axis| !source.contains(axis));
        let order: Vec<isize> = (0..self.rank())
            .filter_map(|place| match target.iter().position(|&to| to == place) {
                Some(moved) => source.get(moved).copied(),
                None => rest.next(),
            })
            .map(usize::cast_signed)
            .collect();
        self.with_layout("movedim", |layout| layout.permute(&order))
    }

    /// One axis split into several; one of the extents may be -1 and is inferred.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::zeros(&device, [2, 12], DType::F32)?;
    /// assert_eq!(a.unflatten(1, [3, -1])?.dims(), [2, 3, 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the extents do not multiply to its extent, or the rank would exceed the limit.
    pub fn unflatten(&self, axis: isize, dims: impl AsRef<[isize]>) -> Result<Self, Error> {
        let axis = self.axis_of("unflatten", axis)?;
        let extent = self.dims().get(axis).copied().unwrap_or(0);
        let whole = new_shape("unflatten", &[extent])?;
        let parts = ziggurat_core::infer_reshape(&whole, dims.as_ref())
            .map_err(|error| Error::from_shape("unflatten", error))?;
        let mut all = self.dims().to_vec();
        all.splice(axis..=axis, parts.dims().iter().copied());
        self.reshape_to(all)
    }

    /// `n` views along an axis, each of `ceil(extent / n)` positions but the last: fewer than `n` where that covers
    /// the axis (4 in 3 gives 2 and 2, PyTorch's rule).
    ///
    /// # Errors
    /// If the axis is out of range, `n` is 0, or there would be more than 2^20 views.
    pub fn chunk(&self, n: usize, axis: isize) -> Result<Vec<Self>, Error> {
        let at = self.axis_of("chunk", axis)?;
        if n == 0 {
            return Err(Error::argument(
                "chunk",
                "the number of chunks must be at least 1: it is 0",
            ));
        }
        let extent = self.dims().get(at).copied().unwrap_or(0);
        if extent == 0 {
            // Chunks of nothing: as many as were asked for.
            self.check_views("chunk", n)?;
            return Ok(vec![self.clone(); n]);
        }
        self.split(extent.div_ceil(n), axis)
    }

    /// Views of `size` positions each along an axis; the last has what is left.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let parts = Tensor::arange(&device, 0, 5, 1, DType::I32)?.split(2, 0)?;
    /// assert_eq!(parts.len(), 3);
    /// assert_eq!(parts[2].to_vec_blocking::<i32>()?, [4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, `size` is 0 and the axis has positions, or there would be more than 2^20 views.
    pub fn split(&self, size: usize, axis: isize) -> Result<Vec<Self>, Error> {
        let at = self.axis_of("split", axis)?;
        let extent = self.dims().get(at).copied().unwrap_or(0);
        if extent == 0 {
            return Ok(vec![self.clone()]);
        }
        if size == 0 {
            let detail = format!("the size must be at least 1: it is 0, the axis has {extent}");
            return Err(Error::argument("split", detail));
        }
        self.check_views("split", extent.div_ceil(size))?;
        (0..extent)
            .step_by(size)
            .map(|start| self.narrow(axis, start, size.min(extent - start)))
            .collect()
    }

    /// An error unless one call may give so many views.
    fn check_views(&self, op: &'static str, count: usize) -> Result<(), Error> {
        if count <= MOST_VIEWS {
            return Ok(());
        }
        let rule = format!("one call gives at most {MOST_VIEWS} views");
        let detail = format!("{rule}: {count} of {} asked for", self.shape());
        Err(Error::argument(op, detail))
    }

    /// Views of the given sizes along an axis, one behind the other.
    ///
    /// # Errors
    /// If the axis is out of range or the sizes do not add up to its extent.
    #[doc(alias = "split", alias = "split_with_sizes")]
    pub fn split_sizes(&self, sizes: impl AsRef<[usize]>, axis: isize) -> Result<Vec<Self>, Error> {
        let (sizes, at) = (sizes.as_ref(), self.axis_of("split_sizes", axis)?);
        let extent = self.dims().get(at).copied().unwrap_or(0);
        let total = sizes
            .iter()
            .try_fold(0_usize, |sum, &size| sum.checked_add(size));
        if total != Some(extent) {
            let detail = format!(
                "the sizes must add up to the extent of axis {axis}: {sizes:?} given for {}",
                self.shape()
            );
            return Err(Error::shape("split_sizes", detail));
        }
        let mut start = 0;
        let mut parts = Vec::with_capacity(sizes.len());
        for &size in sizes {
            parts.push(self.narrow(axis, start, size)?);
            start += size;
        }
        Ok(parts)
    }

    /// Every position of an axis as a view without that axis.
    ///
    /// # Errors
    /// If the axis is out of range or has more than 2^20 positions.
    #[doc(alias = "unstack")]
    pub fn unbind(&self, axis: isize) -> Result<Vec<Self>, Error> {
        let at = self.axis_of("unbind", axis)?;
        let extent = self.dims().get(at).copied().unwrap_or(0);
        self.check_views("unbind", extent)?;
        (0..extent)
            .map(|i| self.select(axis, i.cast_signed()))
            .collect()
    }

    /// Windows of `size` positions, `step` apart, along an axis: the axis counts windows, a new last axis the positions
    /// within one. Windows overlap in memory, so that the view can be read but not written.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::arange(&device, 0, 5, 1, DType::I32)?;
    /// assert_eq!(a.unfold(0, 3, 2)?.to_vec2_blocking::<i32>()?, [[0, 1, 2], [2, 3, 4]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the window is longer than the axis, or the step is 0.
    pub fn unfold(&self, axis: isize, size: usize, step: usize) -> Result<Self, Error> {
        let at = self.axis_of("unfold", axis)?;
        let layout = self.layout();
        let (extent, stride) = (axis_extent(&layout, at), axis_stride(&layout, at));
        if step == 0 {
            return Err(Error::argument(
                "unfold",
                "the step must be at least 1: it is 0",
            ));
        }
        if size > extent {
            let detail = format!(
                "a window must not be longer than its axis: {size} positions of axis {axis} of {}",
                self.shape()
            );
            return Err(Error::shape("unfold", detail));
        }
        let count = (extent - size) / step + 1;
        let mut dims = layout.dims().to_vec();
        let mut strides = layout.strides().to_vec();
        dims.push(size);
        strides.push(stride);
        if let (Some(dim), Some(place)) = (dims.get_mut(at), strides.get_mut(at)) {
            *dim = count;
            *place = if count > 1 {
                stride.wrapping_mul(step.cast_signed())
            } else {
                stride
            };
        }
        self.with_layout("unfold", |layout| strided(&dims, &strides, layout.offset()))
    }

    /// The `k`-th diagonal of two axes (above the main one if positive), as a new last axis; `a` and `b` disappear.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::arange(&device, 0, 6, 1, DType::I32)?.reshape([2, 3])?;
    /// assert_eq!(a.diagonal(1, 0, 1)?.to_vec_blocking::<i32>()?, [1, 5]);
    /// assert_eq!(a.diagonal(-9, 0, 1)?.dims(), [0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or both are the same.
    pub fn diagonal(&self, k: isize, a: isize, b: isize) -> Result<Self, Error> {
        let (first, second) = (self.axis_of("diagonal", a)?, self.axis_of("diagonal", b)?);
        if first == second {
            let detail = format!("the axes must differ: {a} and {b} of {}", self.shape());
            return Err(Error::shape("diagonal", detail));
        }
        self.with_layout("diagonal", |layout| diagonal(layout, k, first, second))
    }

    /// The given vectors as grids over all of them: with `ij`, grid `i` varies along axis `i`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// let y = Tensor::from_slice(&device, &[5i32, 6, 7], [3])?;
    /// let grids = Tensor::meshgrid(&[&x, &y], true)?;
    /// assert_eq!(grids[0].to_vec2_blocking::<i32>()?, [[1, 1, 1], [2, 2, 2]]);
    /// assert_eq!(Tensor::meshgrid(&[&x, &y], false)?[0].dims(), [3, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// With `ij` false (NumPy's "xy") the first two axes are exchanged.
    ///
    /// # Errors
    /// If a tensor has more than one axis, there are more tensors than axes are possible, or they are on different devices.
    pub fn meshgrid(tensors: &[&Self], ij: bool) -> Result<Vec<Self>, Error> {
        const OP: &str = "meshgrid";
        for pair in tensors.windows(2) {
            if let [first, second] = pair {
                first.same_device(OP, second)?;
            }
        }
        if let Some(wrong) = tensors.iter().find(|tensor| tensor.rank() > 1) {
            let detail = format!(
                "an operand must be a vector, but its shape is {}",
                wrong.shape()
            );
            return Err(Error::shape(OP, detail));
        }
        let mut axes: Vec<usize> = (0..tensors.len()).collect();
        if !ij && axes.len() > 1 {
            axes.swap(0, 1);
        }
        // An exchange undoes itself: the axis of each vector is also the vector of each axis.
        let extent = |&at: &usize| tensors.get(at).map_or(1, |tensor| tensor.len());
        let shape = new_shape(OP, &axes.iter().map(extent).collect::<Vec<_>>())?;
        let grid = |(tensor, &axis): (&&Self, &usize)| {
            tensor.with_layout(OP, |layout| {
                let mut strides = vec![0; axes.len()];
                if let (Some(stride), [own]) = (strides.get_mut(axis), layout.strides()) {
                    *stride = *own;
                }
                Layout::new(shape, &strides, layout.offset())
            })
        };
        tensors.iter().zip(&axes).map(grid).collect()
    }

    /// An axis that exists, counted from the front.
    pub(crate) fn axis_of(&self, op: &'static str, axis: isize) -> Result<usize, Error> {
        if self.rank() == 0 {
            let detail = format!("the tensor must have an axis {axis}: its rank is 0");
            return Err(Error::shape(op, detail));
        }
        normalize_axis(axis, self.rank()).map_err(|error| Error::from_shape(op, error))
    }
}

fn axis_extent(layout: &Layout, axis: usize) -> usize {
    layout.dims().get(axis).copied().unwrap_or(0)
}

fn axis_stride(layout: &Layout, axis: usize) -> isize {
    layout.strides().get(axis).copied().unwrap_or(0)
}

fn strided(dims: &[usize], strides: &[isize], offset: usize) -> Result<Layout, ShapeError> {
    Layout::new(Shape::new(dims)?, strides, offset)
}

/// The layout of a diagonal. Shared with what writes into one.
pub(crate) fn diagonal(
    layout: &Layout,
    k: isize,
    first: usize,
    second: usize,
) -> Result<Layout, ShapeError> {
    let (rows, cols) = (axis_extent(layout, first), axis_extent(layout, second));
    let (down, right) = (axis_stride(layout, first), axis_stride(layout, second));
    let (row, col) = if k < 0 {
        (k.unsigned_abs(), 0)
    } else {
        (0, k.unsigned_abs())
    };
    let len = rows.saturating_sub(row).min(cols.saturating_sub(col));
    let kept = |axis: &usize| *axis != first && *axis != second;
    let axes: Vec<usize> = (0..layout.rank()).filter(kept).collect();
    let mut dims: Vec<usize> = axes.iter().map(|&axis| axis_extent(layout, axis)).collect();
    let mut strides: Vec<isize> = axes.iter().map(|&axis| axis_stride(layout, axis)).collect();
    dims.push(len);
    strides.push(down.wrapping_add(right));
    let start = down
        .wrapping_mul(row.cast_signed())
        .wrapping_add(right.wrapping_mul(col.cast_signed()));
    let empty = dims.contains(&0);
    let offset = if empty {
        layout.offset()
    } else {
        layout.offset().wrapping_add_signed(start)
    };
    strided(&dims, &strides, offset)
}
