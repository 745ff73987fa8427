//! Resampling of images and other regular grids: PyTorch's `interpolate`, and ONNX's `Resize` with all its choices.

use ziggurat_core::normalize_axes;
use ziggurat_kernels::{Coordinates, NearestMode, ResizeAxis, ResizeMode, ResizeOptions};

use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// How [`Tensor::interpolate`] makes new elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InterpolateMode {
    /// The element at or before the output's beginning: PyTorch's `nearest`.
    #[default]
    Nearest,
    /// The element nearest to the output's middle.
    NearestExact,
    /// Two neighbours per axis: PyTorch's `linear`, `bilinear` and `trilinear`.
    Linear,
    /// Four neighbours per axis, PyTorch's `bicubic`; at most two axes.
    Cubic,
    /// The average of what an output covers, as adaptive pooling does.
    Area,
}

/// Options of [`Tensor::interpolate`].
///
/// ```
/// use ziggurat_tensor::{InterpolateMode, InterpolateOptions};
///
/// let options = InterpolateOptions { mode: InterpolateMode::Linear, ..InterpolateOptions::default() };
/// assert!(!options.align_corners);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterpolateOptions {
    /// How new elements are made.
    pub mode: InterpolateMode,
    /// Whether the middles of the corner elements fall together; linear and cubic only.
    pub align_corners: bool,
    /// Whether a reduction averages over all that an output covers; linear and cubic only.
    pub antialias: bool,
}

/// What to do with sizes that would distort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AspectRatio {
    /// Distort.
    #[default]
    Stretch,
    /// One scale for all axes, so that none is larger than asked for.
    NotLarger,
    /// One scale for all axes, so that none is smaller than asked for.
    NotSmaller,
}

impl Tensor {
    /// The spatial axes of `[N, C, ..]` (1 to 3 of them) resampled to `size`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, InterpolateMode, InterpolateOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[0.0f32, 1.0], [1, 1, 2])?;
    /// let options = InterpolateOptions { mode: InterpolateMode::Linear, ..InterpolateOptions::default() };
    /// assert_eq!(x.interpolate(&[4], &options)?.to_vec_blocking::<f32>()?, [0.0, 0.25, 0.75, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rank is not two more than there are sizes, an extent is 0, an option does not go with the mode, or the dtype is
    /// not a float (nearest modes take any).
    pub fn interpolate(&self, size: &[usize], options: &InterpolateOptions) -> Result<Self, Error> {
        self.interpolated("interpolate", size, &vec![None; size.len()], options)
    }

    /// [`Tensor::interpolate`] by factors: extents are `floor(extent · factor)`, and positions follow the factors given.
    ///
    /// # Errors
    /// As [`Tensor::interpolate`], or if a factor is not positive and finite.
    pub fn interpolate_by(
        &self,
        factors: &[f64],
        options: &InterpolateOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "interpolate_by";
        let size = factors
            .iter()
            .zip(self.dims().iter().skip(2))
            .map(|(&factor, &extent)| scaled(OP, extent, factor))
            .collect::<Result<Vec<_>, _>>()?;
        if size.len() != factors.len() {
            return Err(Error::shape(
                OP,
                format!(
                    "there must be a factor per spatial axis of [N, C, ..]: {} given for {}",
                    factors.len(),
                    self.shape()
                ),
            ));
        }
        let scales: Vec<Option<f64>> = factors.iter().copied().map(Some).collect();
        self.interpolated(OP, &size, &scales, options)
    }

    fn interpolated(
        &self,
        op: &'static str,
        size: &[usize],
        scales: &[Option<f64>],
        options: &InterpolateOptions,
    ) -> Result<Self, Error> {
        let axes = size.len();
        if !(1..=3).contains(&axes) || self.rank() != axes + 2 {
            return Err(Error::shape(
                op,
                format!(
                    "the input must be [N, C, ..] with 1 to 3 spatial axes, one per size: it is {}, {axes} sizes",
                    self.shape()
                ),
            ));
        }
        if size.contains(&0) {
            return Err(Error::shape(
                op,
                format!("sizes must be at least 1: {size:?} given"),
            ));
        }
        let weighted = matches!(
            options.mode,
            InterpolateMode::Linear | InterpolateMode::Cubic
        );
        if !weighted && (options.align_corners || options.antialias) {
            return Err(Error::argument(
                op,
                format!(
                    "align_corners and antialias go with linear and cubic only: the mode is {:?}",
                    options.mode
                ),
            ));
        }
        let coordinates = if options.align_corners {
            Coordinates::AlignCorners
        } else {
            Coordinates::HalfPixel
        };
        let (mode, coordinates) = match options.mode {
            InterpolateMode::Area => return self.area(op, size),
            InterpolateMode::Nearest => (
                ResizeMode::Nearest(NearestMode::Floor),
                Coordinates::Asymmetric,
            ),
            InterpolateMode::NearestExact => (
                ResizeMode::Nearest(NearestMode::RoundPreferCeil),
                Coordinates::HalfPixel,
            ),
            InterpolateMode::Linear => (ResizeMode::Linear, coordinates),
            InterpolateMode::Cubic => {
                // PyTorch's parameters: OpenCV's without, Pillow's with antialiasing.
                let a = if options.antialias { -0.5 } else { -0.75 };
                (ResizeMode::Cubic(a), coordinates)
            }
        };
        let resize = ResizeOptions {
            mode,
            coordinates,
            antialias: options.antialias,
            ..ResizeOptions::default()
        };
        let dims: Vec<usize> = self.dims().iter().take(2).chain(size).copied().collect();
        let mut all = vec![ResizeAxis::default(); 2];
        // With aligned corners the factor only says the size.
        all.extend(scales.iter().map(|&scale| ResizeAxis {
            scale: scale.filter(|_| !options.align_corners),
            ..ResizeAxis::default()
        }));
        self.resampled(op, &dims, &all, &resize)
    }

    fn area(&self, op: &'static str, size: &[usize]) -> Result<Self, Error> {
        match *size {
            [l] => self.adaptive_avg_pool1d([l]),
            [h, w] => self.adaptive_avg_pool2d([h, w]),
            [d, h, w] => self.adaptive_avg_pool3d([d, h, w]),
            _ => Err(Error::shape(op, "there must be 1 to 3 spatial axes")),
        }
    }

    /// `axes` resampled to `sizes`, at most three of them; ONNX's `Resize` by sizes. With an [`AspectRatio`] other than
    /// `Stretch`, the sizes are bounds, and extents are the nearest whole numbers at one scale.
    ///
    /// ```
    /// use ziggurat_tensor::{AspectRatio, DType, Device, DeviceOptions, ResizeOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [2, 4, 3], DType::F32)?;
    /// let y = x.resize_to(&[0, 1], &[7, 8], AspectRatio::NotLarger, &ResizeOptions::default())?;
    /// assert_eq!(y.dims(), [4, 8, 3]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If axes are out of range or given twice, there is not one size per axis, an extent is 0, more than three axes change,
    /// or the dtype is not a float (nearest modes take any).
    pub fn resize_to(
        &self,
        axes: &[isize],
        sizes: &[usize],
        aspect: AspectRatio,
        options: &ResizeOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "resize_to";
        let places = self.resized_axes(OP, axes, sizes.len())?;
        let extent = |place: usize| self.dims().get(place).copied().unwrap_or(0);
        let ratios = || {
            places
                .iter()
                .zip(sizes)
                .map(|(&place, &size)| size as f64 / extent(place) as f64)
        };
        let one = match aspect {
            AspectRatio::Stretch => None,
            AspectRatio::NotLarger => ratios().reduce(f64::min),
            AspectRatio::NotSmaller => ratios().reduce(f64::max),
        };
        let mut dims = self.dims().to_vec();
        let mut all = vec![ResizeAxis::default(); self.rank()];
        for (&place, &size) in places.iter().zip(sizes) {
            if let (Some(dim), Some(axis)) = (dims.get_mut(place), all.get_mut(place)) {
                if let Some(scale) = one.filter(|scale| scale.is_finite()) {
                    *dim = (*dim as f64 * scale).round() as usize;
                    axis.scale = Some(scale).filter(|scale| *scale > 0.0);
                } else {
                    *dim = size;
                }
            }
        }
        self.resampled(OP, &dims, &all, options)
    }

    /// `axes` resampled by `scales`, at most three of them; ONNX's `Resize` by scales: extents are `floor(extent · scale)`,
    /// and positions follow the scales given.
    ///
    /// # Errors
    /// As [`Tensor::resize_to`], or if a scale is not positive and finite.
    pub fn resize_by(
        &self,
        axes: &[isize],
        scales: &[f64],
        options: &ResizeOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "resize_by";
        let places = self.resized_axes(OP, axes, scales.len())?;
        let mut dims = self.dims().to_vec();
        let mut all = vec![ResizeAxis::default(); self.rank()];
        for (&place, &scale) in places.iter().zip(scales) {
            if let (Some(dim), Some(axis)) = (dims.get_mut(place), all.get_mut(place)) {
                *dim = scaled(OP, *dim, scale)?;
                axis.scale = Some(scale);
            }
        }
        self.resampled(OP, &dims, &all, options)
    }

    /// ONNX's `tf_crop_and_resize`: the part of each axis between the fractions in `regions`, resampled to `sizes`. Outputs
    /// beyond the input are the options' extrapolation value.
    ///
    /// # Errors
    /// As [`Tensor::resize_to`].
    pub fn crop_and_resize(
        &self,
        axes: &[isize],
        sizes: &[usize],
        regions: &[[f64; 2]],
        options: &ResizeOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "crop_and_resize";
        let places = self.resized_axes(OP, axes, sizes.len())?;
        if regions.len() != sizes.len() {
            return Err(Error::argument(
                OP,
                format!(
                    "there must be a region per axis: {} given for {}",
                    regions.len(),
                    sizes.len()
                ),
            ));
        }
        let mut dims = self.dims().to_vec();
        let mut all = vec![ResizeAxis::default(); self.rank()];
        for ((&place, &size), &region) in places.iter().zip(sizes).zip(regions) {
            if let (Some(dim), Some(axis)) = (dims.get_mut(place), all.get_mut(place)) {
                *dim = size;
                axis.region = region;
            }
        }
        let options = ResizeOptions {
            coordinates: Coordinates::TfCropAndResize,
            ..*options
        };
        self.resampled(OP, &dims, &all, &options)
    }

    fn resized_axes(
        &self,
        op: &'static str,
        axes: &[isize],
        given: usize,
    ) -> Result<Vec<usize>, Error> {
        let _ = normalize_axes(axes, self.rank()).map_err(|error| Error::from_shape(op, error))?;
        if axes.len() != given {
            return Err(Error::argument(
                op,
                format!("there must be one entry per axis: {given} given for {axes:?}"),
            ));
        }
        let rank = self.rank() as isize;
        Ok(axes
            .iter()
            .filter_map(|&axis| usize::try_from(if axis < 0 { axis + rank } else { axis }).ok())
            .collect())
    }

    fn resampled(
        &self,
        op: &'static str,
        dims: &[usize],
        axes: &[ResizeAxis],
        options: &ResizeOptions,
    ) -> Result<Self, Error> {
        if !matches!(options.mode, ResizeMode::Nearest(_)) && !self.dtype().is_float() {
            return Err(Error::dtype(
                op,
                format!("only floats can be weighted: the dtype is {}", self.dtype()),
            ));
        }
        let shape = new_shape(op, dims)?;
        let view = self.stored()?;
        Self::produce(self.device(), op, shape, self.dtype(), |executor, out| {
            executor.resize(view, axes, options, out)
        })
    }
}

/// `floor(extent · scale)`; a product that is whole but for rounding counts as whole.
fn scaled(op: &'static str, extent: usize, scale: f64) -> Result<usize, Error> {
    if !(scale.is_finite() && scale > 0.0) {
        return Err(Error::argument(
            op,
            format!("scales must be positive and finite: {scale} given"),
        ));
    }
    let product = extent as f64 * scale;
    let whole = product.round();
    let near = (product - whole).abs() <= 1e-9 * product;
    let floor = if near { whole } else { product.floor() };
    if floor > (1_u64 << 31) as f64 {
        return Err(Error::shape(
            op,
            format!("extents must be at most 2^31: {extent} scaled by {scale}"),
        ));
    }
    Ok(floor as usize)
}
