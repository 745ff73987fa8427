//! Joining, repeating, rolling, padding and rearranging: operations that only move elements.
//!
//! What strides can express is a view that is copied once; the rest is [`Tensor::pad`]'s kernel. Elements move as bare
//! bits, so every dtype works and a NaN keeps its payload.

use ziggurat_core::MAX_RANK;
use ziggurat_kernels::Pad;

use crate::tensor::new_shape;
use crate::{Error, Scalar, Tensor};

/// How [`Tensor::depth_to_space`] and [`Tensor::space_to_depth`] order a block within the channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DepthOrder {
    /// Block row, block column, channel: ONNX's `DCR`.
    #[default]
    BlockFirst,
    /// Channel, block row, block column: ONNX's `CRD`, PyTorch's `pixel_shuffle`.
    ChannelFirst,
}

impl Tensor {
    /// The tensors one behind the other along an existing axis. Dtypes are promoted; vectors without elements are
    /// left out if others have another rank, as in PyTorch.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [1, 2])?;
    /// let b = Tensor::from_slice(&device, &[3i32, 4, 5, 6], [2, 2])?;
    /// assert_eq!(Tensor::concat(&[&a, &b], 0)?.to_vec_blocking::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// assert!(Tensor::concat(&[&a, &b], 1).is_err_and(|error| error.is_shape()));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no tensor, the axis is out of range, another extent differs, or the devices differ.
    #[doc(alias = "cat")]
    pub fn concat(tensors: &[&Self], axis: isize) -> Result<Self, Error> {
        let op = "concat";
        let Some(first) = tensors.first() else {
            return Err(Error::argument(
                op,
                "at least one tensor is needed: none given",
            ));
        };
        let dtype = tensors
            .iter()
            .fold(first.dtype(), |dtype, tensor| dtype.promote(tensor.dtype()));
        let skipped = |tensor: &Self| tensor.dims() == [0];
        let rank = tensors
            .iter()
            .find(|tensor| !skipped(tensor))
            .map_or(1, |tensor| tensor.rank());
        let mut parts = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            first.same_device(op, tensor)?;
            if rank == 1 || !skipped(tensor) {
                parts.push(tensor.converted(op, dtype)?);
            }
        }
        let Some(model) = parts.first() else {
            return Err(Error::argument(
                op,
                "at least one tensor is needed: none given",
            ));
        };
        let at = model.axis_of(op, axis)?;
        let mut dims = model.dims().to_vec();
        let mut total = 0_usize;
        for part in &parts {
            let fits = part.rank() == rank
                && (part.dims().iter().zip(&dims).enumerate())
                    .all(|(axis, (own, wanted))| axis == at || own == wanted);
            if !fits {
                let detail = format!(
                    "all extents but that of axis {axis} must agree: {} and {} given",
                    model.shape(),
                    part.shape()
                );
                return Err(Error::shape(op, detail));
            }
            total = total.saturating_add(part.dims().get(at).copied().unwrap_or(0));
        }
        if let Some(dim) = dims.get_mut(at) {
            *dim = total;
        }
        let shape = new_shape(op, &dims)?;
        Self::evaluate_all(&parts.iter().collect::<Vec<_>>())?;
        let views = parts
            .iter()
            .map(Self::stored)
            .collect::<Result<Vec<_>, _>>()?;
        Self::produce(first.device(), op, shape, dtype, |executor, out| {
            executor.concat(&views, at, out)
        })
    }

    /// Tensors of one shape side by side along a new axis, which will have the index `axis`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// let b = Tensor::from_slice(&device, &[3i32, 4], [2])?;
    /// assert_eq!(Tensor::stack(&[&a, &b], -1)?.to_vec2_blocking::<i32>()?, [[1, 3], [2, 4]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no tensor, the axis is out of range, the shapes or the devices differ.
    pub fn stack(tensors: &[&Self], axis: isize) -> Result<Self, Error> {
        for tensor in tensors {
            if tensors.first().map(|first| first.dims()) != Some(tensor.dims()) {
                let shapes: Vec<_> = tensors.iter().map(|tensor| tensor.dims()).collect();
                let detail = format!("all shapes must be equal: {shapes:?} given");
                return Err(Error::shape("stack", detail));
            }
        }
        let lifted = tensors
            .iter()
            .map(|tensor| tensor.unsqueeze(axis))
            .collect::<Result<Vec<_>, _>>()?;
        Self::concat(&lifted.iter().collect::<Vec<_>>(), axis)
    }

    /// The whole tensor repeated along its axes; with fewer repeats than axes they belong to the last axes, with more
    /// the tensor gets axes of 1 in front (NumPy's and PyTorch's `tile`).
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// assert_eq!(a.tile([2, 2])?.to_vec2_blocking::<i32>()?, [[1, 2, 1, 2], [1, 2, 1, 2]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the result is too large or has too many axes.
    pub fn tile(&self, repeats: impl AsRef<[usize]>) -> Result<Self, Error> {
        let repeats = repeats.as_ref();
        let rank = self.rank().max(repeats.len());
        let mut dims = vec![1; rank - self.rank()];
        dims.extend_from_slice(self.dims());
        let mut times = vec![1; rank - repeats.len()];
        times.extend_from_slice(repeats);
        let fail = |error| Error::from_shape("tile", error);
        let whole: Vec<usize> = dims
            .iter()
            .zip(&times)
            .map(|(&dim, &times)| dim.saturating_mul(times))
            .collect();
        // Checked before any part of the work.
        let shape = ziggurat_core::Shape::new(&whole).map_err(fail)?;
        self.device().check_len("tile", &shape, self.dtype())?;
        if shape.is_empty() {
            return Self::zeros(self.device(), shape.dims(), self.dtype());
        }
        let mut tiled = self.reshape_to(&dims)?;
        // From the last axis on, as many at once as there are axes to spare; each round copies once.
        let mut end = rank;
        while let Some(last) = times.iter().take(end).rposition(|&times| times > 1) {
            let spare = MAX_RANK.saturating_sub(rank).max(1);
            let mut chosen: Vec<usize> = (0..=last).rev().filter(|&at| times[at] > 1).collect();
            chosen.truncate(spare);
            tiled = tiled.tile_once(&times, &chosen)?;
            end = chosen.last().copied().unwrap_or(0);
        }
        Ok(tiled)
    }

    /// [`Tensor::tile`] with a number for every axis, and perhaps more in front (PyTorch's `repeat`).
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// assert_eq!(a.repeat([2, 1])?.to_vec2_blocking::<i32>()?, [[1, 2], [1, 2]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::tile`], or if there are fewer numbers than axes.
    pub fn repeat(&self, repeats: impl AsRef<[usize]>) -> Result<Self, Error> {
        let repeats = repeats.as_ref();
        if repeats.len() < self.rank() {
            let rule = "there must be a number of repeats for every axis";
            let detail = format!("{rule}: {repeats:?} given for {}", self.shape());
            return Err(Error::shape("repeat", detail));
        }
        self.tile(repeats)
    }

    /// The chosen axes repeated, by one copy of a view with an axis of stride 0 in front of each.
    fn tile_once(&self, times: &[usize], chosen: &[usize]) -> Result<Self, Error> {
        let (mut apart, mut wide, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        for (axis, (&dim, &times)) in self.dims().iter().zip(times).enumerate() {
            if !chosen.contains(&axis) {
                apart.push(dim);
                wide.push(dim);
                joined.push(dim);
                continue;
            }
            apart.extend([1, dim]);
            wide.extend([times, dim]);
            joined.push(times * dim);
        }
        if apart.len() <= MAX_RANK {
            return self
                .reshape_to(apart)?
                .broadcast_to(wide)?
                .reshape_to(joined);
        }
        // No axis to spare: what lies before and behind each axis is one axis each.
        let mut tiled = self.clone();
        for &axis in chosen {
            let times = times.get(axis).copied().unwrap_or(1);
            let mut joined = tiled.dims().to_vec();
            let Some((before, [dim, behind @ ..])) = joined.split_at_mut_checked(axis) else {
                return Err(Error::internal("tile", format!("there is no axis {axis}")));
            };
            let (before, behind): (usize, usize) =
                (before.iter().product(), behind.iter().product());
            let (apart, wide) = ([before, 1, *dim, behind], [before, times, *dim, behind]);
            *dim *= times;
            tiled = tiled
                .reshape_to(apart)?
                .broadcast_to(wide)?
                .reshape_to(&joined)?;
        }
        Ok(tiled)
    }

    /// Each element repeated `times` times in a row along an axis.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2], [2])?;
    /// assert_eq!(a.repeat_interleave(2, 0)?.to_vec_blocking::<i32>()?, [1, 1, 2, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range or the result is too large.
    pub fn repeat_interleave(&self, times: usize, axis: isize) -> Result<Self, Error> {
        let op = "repeat_interleave";
        let at = self.axis_of(op, axis)?;
        let dim = self.dims().get(at).copied().unwrap_or(0);
        let mut joined = self.dims().to_vec();
        if let Some(slot) = joined.get_mut(at) {
            *slot = dim.saturating_mul(times);
        }
        new_shape(op, &joined)?;
        // What lies before and behind the axis is one axis each, so that there is always one to spare.
        let before: usize = self.dims().iter().take(at).product();
        let behind: usize = self.dims().iter().skip(at + 1).product();
        self.reshape_to([before, dim, 1, behind])?
            .broadcast_to([before, dim, times, behind])?
            .reshape_to(joined)
    }

    /// Positions moved along the given axes by the given shifts, those that leave one end coming in at the other.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3], [3])?;
    /// assert_eq!(a.roll([4], [0])?.to_vec_blocking::<i32>()?, [3, 1, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are not as many shifts as axes, or an axis is out of range.
    pub fn roll(
        &self,
        shifts: impl AsRef<[isize]>,
        axes: impl AsRef<[isize]>,
    ) -> Result<Self, Error> {
        let (shifts, axes) = (shifts.as_ref(), axes.as_ref());
        if shifts.len() != axes.len() {
            let detail =
                format!("as many shifts as axes are needed: {shifts:?} along {axes:?} given");
            return Err(Error::argument("roll", detail));
        }
        let mut begin = vec![0_isize; self.rank()];
        for (&shift, &axis) in shifts.iter().zip(axes) {
            let at = self.axis_of("roll", axis)?;
            let dim = self
                .dims()
                .get(at)
                .copied()
                .unwrap_or(1)
                .max(1)
                .cast_signed();
            if let Some(slot) = begin.get_mut(at) {
                *slot = (*slot + shift.rem_euclid(dim)).rem_euclid(dim);
            }
        }
        if self.is_empty() {
            return Ok(self.clone());
        }
        let view = self.stored()?;
        Self::produce(
            self.device(),
            "roll",
            *self.shape(),
            self.dtype(),
            |executor, out| executor.pad(view, &begin, Pad::Circular, 0.0, out),
        )
    }

    /// [`Tensor::roll`] of the row-major sequence of all elements, in the same shape.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    #[doc(alias = "roll")]
    pub fn roll_flat(&self, shift: isize) -> Result<Self, Error> {
        self.reshape([-1].as_slice())
            .or_else(|_| self.reshape_to([0]))?
            .roll([shift], [0])?
            .reshape_to(self.dims())
    }

    /// The tensor continued beyond its ends: `pads` has, per axis, how far before and behind; negative amounts crop,
    /// before anything is added. `value` is what [`Pad::Constant`] fills with; integers saturate.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Pad, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1i32, 2, 3], [3])?;
    /// assert_eq!(a.pad([[1, 2]], Pad::Constant, 9)?.to_vec_blocking::<i32>()?, [9, 1, 2, 3, 9, 9]);
    /// assert_eq!(a.pad([[2, -1]], Pad::Replicate, 0)?.to_vec_blocking::<i32>()?, [1, 1, 1, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one pair per axis, more is cropped than there is, a reflection is as long as its axis
    /// ([`Pad::Reflect`]), a symmetric or circular pad longer, or there is nothing to continue.
    pub fn pad(
        &self,
        pads: impl AsRef<[[isize; 2]]>,
        mode: Pad,
        value: impl Into<Scalar>,
    ) -> Result<Self, Error> {
        let (op, pads) = ("pad", pads.as_ref());
        if pads.len() != self.rank() {
            let detail = format!(
                "one pair per axis is needed: {} given for {}",
                pads.len(),
                self.shape()
            );
            return Err(Error::argument(op, detail));
        }
        let mut cropped = self.clone();
        let (mut dims, mut begin) = (Vec::new(), Vec::new());
        for (axis, &[before, behind]) in pads.iter().enumerate() {
            let extent = self.dims().get(axis).copied().unwrap_or(0);
            let crop = |pad: isize| pad.min(0).unsigned_abs();
            let grow = |pad: isize| pad.max(0).unsigned_abs();
            let left = extent
                .checked_sub(crop(before))
                .and_then(|left| left.checked_sub(crop(behind)));
            let Some(left) = left else {
                let detail = format!(
                    "not more can be cropped than there is: {before} and {behind} along axis {axis} of {}",
                    self.shape()
                );
                return Err(Error::shape(op, detail));
            };
            let most = match mode {
                Pad::Reflect => left.saturating_sub(1),
                Pad::Symmetric | Pad::Circular => left,
                Pad::Constant | Pad::Replicate => usize::MAX,
            };
            if grow(before).max(grow(behind)) > most {
                let detail = format!(
                    "a {} pad of {left} positions may be at most {most}: {before} and {behind} along axis {axis} given",
                    mode.name()
                );
                return Err(Error::shape(op, detail));
            }
            cropped = cropped.narrow(axis.cast_signed(), crop(before), left)?;
            dims.push(
                left.saturating_add(grow(before))
                    .saturating_add(grow(behind)),
            );
            begin.push(before.max(0));
        }
        let shape = new_shape(op, &dims)?;
        if cropped.dims() == dims {
            return Ok(cropped);
        }
        let (view, value) = (cropped.stored()?, value.into().value());
        let place = (self.device(), op);
        Self::produce_with(place, shape, self.dtype(), value, |executor, out| {
            executor.pad(view, &begin, mode, value, out)
        })
    }

    /// Channels moved into blocks of the last two axes: `[N, C, H, W]` becomes `[N, C / b², H · b, W · b]`.
    ///
    /// # Errors
    /// If the rank is not 4 or the block does not divide.
    #[doc(alias = "pixel_shuffle")]
    pub fn depth_to_space(&self, block: usize, order: DepthOrder) -> Result<Self, Error> {
        let op = "depth_to_space";
        let [n, c, h, w] = self.image(op)?;
        let area = block.saturating_mul(block);
        if block == 0 || !c.is_multiple_of(area) {
            let detail = format!(
                "the channels must be a multiple of the block's {area} elements: shape is {}",
                self.shape()
            );
            return Err(Error::shape(op, detail));
        }
        let (apart, axes) = match order {
            DepthOrder::BlockFirst => ([n, block, block, c / area, h, w], [0, 3, 4, 1, 5, 2]),
            DepthOrder::ChannelFirst => ([n, c / area, block, block, h, w], [0, 1, 4, 2, 5, 3]),
        };
        self.reshape_to(apart)?
            .permute(axes)?
            .reshape_to([n, c / area, h * block, w * block])
    }

    /// Blocks of the last two axes moved into the channels: `[N, C, H, W]` becomes `[N, C · b², H / b, W / b]`.
    ///
    /// # Errors
    /// If the rank is not 4 or the block does not divide.
    #[doc(alias = "pixel_unshuffle")]
    pub fn space_to_depth(&self, block: usize, order: DepthOrder) -> Result<Self, Error> {
        let op = "space_to_depth";
        let [n, c, h, w] = self.image(op)?;
        if block == 0 || !h.is_multiple_of(block) || !w.is_multiple_of(block) {
            let detail = format!(
                "the extents must be multiples of the block's {block}: shape is {}",
                self.shape()
            );
            return Err(Error::shape(op, detail));
        }
        let axes = match order {
            DepthOrder::BlockFirst => [0, 3, 5, 1, 2, 4],
            DepthOrder::ChannelFirst => [0, 1, 3, 5, 2, 4],
        };
        self.reshape_to([n, c, h / block, block, w / block, block])?
            .permute(axes)?
            .reshape_to([n, c * block * block, h / block, w / block])
    }

    fn image(&self, op: &'static str) -> Result<[usize; 4], Error> {
        <[usize; 4]>::try_from(self.dims()).map_err(|_| {
            Error::shape(
                op,
                format!("the input must be [N, C, H, W]: shape is {}", self.shape()),
            )
        })
    }
}
