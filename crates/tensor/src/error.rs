//! The one error of this layer: opaque, with predicates.
//!
//! A caller asks what kind of trouble it is (`is_shape`, `is_out_of_memory`, …) or prints it; how many kinds the
//! layers below distinguish is not part of this crate's interface. Errors of lower layers come in through named
//! crate-private functions, never through `From`, so that they do not become API.
//!
//! Invariant: the text says operation, rule, and what was given, as in
//! `matmul: inner dimensions differ: left is [2, 3], right is [4, 5]`.

mod text;

#[cfg(not(target_arch = "wasm32"))]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ziggurat_core::{DType, ShapeError};
use ziggurat_device::DeviceError;
use ziggurat_kernels::KernelError;
use ziggurat_memory::MemoryError;
use ziggurat_pipeline::PipelineError;

use crate::NonFinite;

/// What went wrong with a tensor operation. Cheap to clone.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let a = Tensor::zeros(&device, &[2, 3], ziggurat_tensor::DType::F32)?;
/// let error = a.matmul(&Tensor::zeros(&device, &[4, 5], ziggurat_tensor::DType::F32)?).unwrap_err();
/// assert!(error.is_shape());
/// assert_eq!(error.to_string(), "matmul: inner dimensions differ: left is [2, 3], right is [4, 5]");
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Error {
    kind: Arc<Kind>,
}

enum Kind {
    Shape {
        op: &'static str,
        detail: String,
    },
    Dtype {
        op: &'static str,
        detail: String,
    },
    Argument {
        op: &'static str,
        detail: String,
    },
    TooLarge {
        op: &'static str,
        bytes: u64,
        limit: u64,
    },
    Kernel {
        op: &'static str,
        source: KernelError,
    },
    #[cfg(not(target_arch = "wasm32"))]
    Io {
        path: PathBuf,
        action: &'static str,
        source: std::io::Error,
    },
    Format {
        #[cfg(not(target_arch = "wasm32"))]
        path: Option<PathBuf>,
        detail: String,
    },
    Internal {
        op: &'static str,
        detail: String,
    },
    NonFinite(Box<NonFinite>),
}

impl Error {
    pub(crate) fn shape(op: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Kind::Shape {
            op,
            detail: detail.into(),
        })
    }

    pub(crate) fn dtype(op: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Kind::Dtype {
            op,
            detail: detail.into(),
        })
    }

    pub(crate) fn argument(op: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Kind::Argument {
            op,
            detail: detail.into(),
        })
    }

    pub(crate) fn wrong_dtype(op: &'static str, expected: DType, got: DType) -> Self {
        Self::dtype(op, format!("the tensor holds {got}, asked for {expected}"))
    }

    pub(crate) fn too_large(op: &'static str, bytes: u64, limit: u64) -> Self {
        Self::new(Kind::TooLarge { op, bytes, limit })
    }

    pub(crate) fn from_shape(op: &'static str, error: ShapeError) -> Self {
        Self::shape(op, error.to_string())
    }

    pub(crate) fn from_kernel(op: &'static str, source: KernelError) -> Self {
        Self::new(Kind::Kernel { op, source })
    }

    pub(crate) fn from_device(op: &'static str, error: DeviceError) -> Self {
        Self::from_kernel(op, KernelError::Device(error))
    }

    pub(crate) fn from_memory(op: &'static str, error: MemoryError) -> Self {
        Self::from_kernel(op, KernelError::Memory(error))
    }

    pub(crate) fn from_pipeline(op: &'static str, error: PipelineError) -> Self {
        Self::from_kernel(op, KernelError::Pipeline(error))
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::new(Kind::Io {
            path: path.to_path_buf(),
            action,
            source,
        })
    }

    pub(crate) fn format(detail: impl Into<String>) -> Self {
        Self::new(Kind::Format {
            #[cfg(not(target_arch = "wasm32"))]
            path: None,
            detail: detail.into(),
        })
    }

    pub(crate) fn non_finite(found: NonFinite) -> Self {
        Self::new(Kind::NonFinite(Box::new(found)))
    }

    /// Something that cannot happen did: a mistake of this crate, never of its caller.
    pub(crate) fn internal(op: &'static str, detail: impl Into<String>) -> Self {
        Self::new(Kind::Internal {
            op,
            detail: detail.into(),
        })
    }

    /// The same error, naming the file it is about, where it is about the content of a file.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match &*self.kind {
            Kind::Format { path: None, detail } => Self::new(Kind::Format {
                path: Some(path.to_path_buf()),
                detail: detail.clone(),
            }),
            _ => self,
        }
    }

    fn new(kind: Kind) -> Self {
        Self {
            kind: Arc::new(kind),
        }
    }

    /// A shape, axis, index or element count breaks a rule of the operation.
    pub fn is_shape(&self) -> bool {
        match &*self.kind {
            Kind::Shape { .. } => true,
            Kind::Kernel { source, .. } => source.is_shape(),
            _ => false,
        }
    }

    /// An element type breaks a rule of the operation.
    pub fn is_dtype(&self) -> bool {
        matches!(
            &*self.kind,
            Kind::Dtype { .. }
                | Kind::Kernel {
                    source: KernelError::Dtype { .. },
                    ..
                }
        )
    }

    /// An argument that is neither shape nor dtype breaks a rule: a stride of 0, a tensor of another device, ….
    pub fn is_argument(&self) -> bool {
        matches!(
            &*self.kind,
            Kind::Argument { .. }
                | Kind::Kernel {
                    source: KernelError::Option { .. }
                        | KernelError::Number { .. }
                        | KernelError::BoolByte { .. },
                    ..
                }
        )
    }

    /// The tensor is larger than one buffer of this device may be, or than kernels can bind or index; the text has both numbers.
    pub fn is_too_large(&self) -> bool {
        match &*self.kind {
            Kind::TooLarge { .. }
            | Kind::Kernel {
                source: KernelError::IndexTooLarge { .. } | KernelError::BindingTooLarge { .. },
                ..
            } => true,
            Kind::Kernel { source, .. } => {
                matches!(memory_error(source), Some(MemoryError::TooLarge { .. }))
            }
            _ => false,
        }
    }

    /// The device has no memory left for the operation; [`Error::requested_bytes`] and [`Error::available_bytes`] say how
    /// much was missing. The device still works; but in a browser, which says so only afterwards and without the bytes, what
    /// was recorded on the device is lost, and [`Device::reopen`](crate::Device::reopen) gives another.
    pub fn is_out_of_memory(&self) -> bool {
        if matches!(self.device_error(), Some(DeviceError::OutOfMemory { .. })) {
            return true;
        }
        match &*self.kind {
            Kind::Kernel { source, .. } => {
                matches!(memory_error(source), Some(MemoryError::OutOfMemory { .. }))
            }
            _ => false,
        }
    }

    /// The device is gone (removed, reset, destroyed): no operation on it can succeed any more.
    pub fn is_device_lost(&self) -> bool {
        matches!(self.device_error(), Some(DeviceError::Lost { .. }))
    }

    /// No adapter fits, or the adapter does not offer what was asked for.
    pub fn is_no_adapter(&self) -> bool {
        matches!(self.device_error(), Some(DeviceError::NoAdapter { .. }))
    }

    /// A shader of a [`CustomKernel`](crate::CustomKernel) or its use was refused; the text names the WGSL line.
    pub fn is_kernel(&self) -> bool {
        match &*self.kind {
            Kind::Kernel { source, .. } => {
                matches!(source, KernelError::Pipeline(_)) && self.device_error().is_none()
            }
            _ => false,
        }
    }

    /// A file could not be opened, read or written: never in a browser, which has none.
    pub fn is_io(&self) -> bool {
        #[cfg(target_arch = "wasm32")]
        return false;
        #[cfg(not(target_arch = "wasm32"))]
        matches!(&*self.kind, Kind::Io { .. })
    }

    /// The content of a file is not what its format demands, or holds values that do not fit.
    pub fn is_format(&self) -> bool {
        matches!(&*self.kind, Kind::Format { .. })
    }

    /// The finite inputs of an operation gave a NaN or an infinity: [`NanReport::check`](crate::NanReport::check) says so.
    pub fn is_non_finite(&self) -> bool {
        matches!(&*self.kind, Kind::NonFinite(_))
    }

    /// Something that cannot happen did: a bug of this project, never a mistake of the caller. Please report it.
    pub fn is_internal(&self) -> bool {
        match &*self.kind {
            Kind::Internal { .. } => true,
            Kind::Kernel { source, .. } => source.is_internal(),
            _ => false,
        }
    }

    /// The bytes that were asked for, where there was not enough memory ([`Error::is_out_of_memory`]) or the tensor is too
    /// large for one buffer or binding ([`Error::is_too_large`]).
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let error = Tensor::zeros(&device, [1 << 20, 1 << 20], DType::F32).unwrap_err();
    /// assert!(error.is_too_large());
    /// assert_eq!(error.requested_bytes(), Some(1 << 42));
    /// assert_eq!(error.available_bytes(), Some(device.caps().max_buffer_bytes));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    pub fn requested_bytes(&self) -> Option<u64> {
        self.sizes().map(|(requested, _)| requested)
    }

    /// The most bytes that the failed request could have asked for: what is left below the memory limit of the options, or the
    /// limit of one buffer or binding. `None` for other errors, and where only the driver knows.
    pub fn available_bytes(&self) -> Option<u64> {
        self.sizes().and_then(|(_, available)| available)
    }

    /// Bytes asked for, and bytes that there were.
    fn sizes(&self) -> Option<(u64, Option<u64>)> {
        match &*self.kind {
            Kind::TooLarge { bytes, limit, .. } => Some((*bytes, Some(*limit))),
            Kind::Kernel { source, .. } => match source {
                KernelError::BindingTooLarge { bytes, limit, .. } => Some((*bytes, Some(*limit))),
                source => match memory_error(source)? {
                    MemoryError::TooLarge { requested, limit } => Some((*requested, Some(*limit))),
                    MemoryError::OutOfMemory {
                        requested,
                        available,
                        ..
                    } => Some((*requested, *available)),
                    _ => None,
                },
            },
            _ => None,
        }
    }

    fn device_error(&self) -> Option<&DeviceError> {
        match &*self.kind {
            Kind::Kernel { source, .. } => device_error(source),
            _ => None,
        }
    }
}

/// The memory layer's error behind an executor's error, however deep.
fn memory_error(error: &KernelError) -> Option<&MemoryError> {
    match error {
        KernelError::Memory(error) | KernelError::Pipeline(PipelineError::Memory(error)) => {
            Some(error)
        }
        _ => None,
    }
}

/// The device layer's error behind an executor's error, however deep.
fn device_error(error: &KernelError) -> Option<&DeviceError> {
    match (error, memory_error(error)) {
        (_, Some(MemoryError::Device(error))) => Some(error),
        (KernelError::Device(error) | KernelError::Pipeline(PipelineError::Device(error)), _) => {
            Some(error)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
