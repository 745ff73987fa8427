//! How exactly products of f32 read their elements: of a device, and within a part of a program.

use std::thread::LocalKey;

use ziggurat_kernels::MatmulPrecision;

use crate::Device;
use crate::scopes::{Open, Scope, Scoped};

thread_local! {
    static OPEN: Open<MatmulPrecision> = const { Open::new() };
}

impl Scoped for MatmulPrecision {
    const OPEN: &'static LocalKey<Open<Self>> = &OPEN;
}

/// Keeps a [`MatmulPrecision`] for a thread; see [`Device::matmul_precision_scope`]. It stays on its thread, so it cannot be held
/// over an `.await` of a task that moves between threads.
#[derive(Debug)]
#[must_use = "the precision ends with the guard"]
pub struct PrecisionScope {
    _open: Scope<MatmulPrecision>,
}

impl Device {
    /// How exactly matrix products of f32 (`matmul`, `linear`, `einsum` and what is made of them) read their elements from now
    /// on, for all handles of this device; PyTorch's `set_float32_matmul_precision`. In the beginning
    /// [`MatmulPrecision::Highest`], which never loses accuracy against sums of f32. [`MatmulPrecision`] says what each
    /// one is allowed to lose, and where.
    ///
    /// A product has the precision that holds when it is called, not when it is computed.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, MatmulPrecision, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// device.set_matmul_precision(MatmulPrecision::High);
    /// let a = Tensor::ones(&device, [2, 3], DType::F32)?;
    /// assert_eq!(a.matmul(&a.t()?)?.to_vec_blocking::<f32>()?, [3.0; 4]);
    /// # device.set_matmul_precision(MatmulPrecision::Highest);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn set_matmul_precision(&self, precision: MatmulPrecision) {
        self.executor().set_matmul_precision(precision);
    }

    /// That of the innermost scope of this thread, else what [`Device::set_matmul_precision`] said.
    #[must_use]
    pub fn matmul_precision(&self) -> MatmulPrecision {
        MatmulPrecision::of_scope().unwrap_or_else(|| self.executor().matmul_precision())
    }

    /// This precision on this thread, whatever the device's, until the guard is dropped. Of several guards the one that was
    /// made last counts, in whichever order they go.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, MatmulPrecision};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let scope = Device::matmul_precision_scope(MatmulPrecision::Medium);
    /// assert_eq!(device.matmul_precision(), MatmulPrecision::Medium);
    /// drop(scope);
    /// assert_eq!(device.matmul_precision(), MatmulPrecision::Highest);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn matmul_precision_scope(precision: MatmulPrecision) -> PrecisionScope {
        PrecisionScope {
            _open: precision.open(),
        }
    }
}
