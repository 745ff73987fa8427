//! Sampling of images at places that a grid names, PyTorch's `grid_sample`.

use ziggurat_core::DType;
use ziggurat_kernels::{GridMode, GridSampleOptions};

use crate::{Error, Tensor};

impl Tensor {
    /// `self` `[N, C, H, W]` at the places that `grid` `[N, H', W', 2]` names, `[N, C, H', W']`; or `[N, C, D, H, W]` by
    /// `[N, D', H', W', 3]`. A place has the coordinate along the last axis first, from -1 at one end of the image to 1 at the
    /// other; NaN counts as -1.
    ///
    /// Floats are computed in f32 and rounded once; elements without weight have no part, not even as infinity. The mode
    /// [`GridMode::Nearest`] copies, so it takes any dtype.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, GridSampleOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [1, 1, 2, 2])?;
    /// let grid = Tensor::from_slice(&device, &[-1.0f32, -1.0, 0.0, 0.0, 1.0, 0.0], [1, 1, 3, 2])?;
    /// let options = GridSampleOptions { align_corners: true, ..GridSampleOptions::default() };
    /// assert_eq!(x.grid_sample(&grid, &options)?.to_vec_blocking::<f32>()?, [1.0, 2.5, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If ranks, batches or the number of coordinates do not fit, the mode is cubic over three axes, the image has no
    /// elements, a dtype is not a float where it must be, or the tensors are on different devices.
    pub fn grid_sample(&self, grid: &Self, options: &GridSampleOptions) -> Result<Self, Error> {
        const OP: &str = "grid_sample";
        self.same_device(OP, grid)?;
        if options.mode != GridMode::Nearest {
            self.needs_float(OP)?;
        }
        grid.needs_float(OP)?;
        let shape = options
            .output_shape(self.shape(), grid.shape())
            .map_err(|error| Error::from_kernel(OP, error))?;
        let grid = grid.converted(OP, DType::F32)?;
        Self::evaluate_all(&[self, &grid])?;
        let (view, places) = (self.stored()?, grid.stored()?);
        Self::produce(self.device(), OP, shape, self.dtype(), |executor, out| {
            executor.grid_sample(view, places, options, out)
        })
    }
}
