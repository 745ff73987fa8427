//! The one error of this layer: opaque, with predicates.
//!
//! A caller asks what kind of trouble it is (`is_shape`, `is_out_of_memory`, …) or prints it; how many kinds the
//! layers below distinguish is not part of this crate's interface. Errors of lower layers come in through named
//! crate-private functions, never through `From`, so that they do not become API.
//!
//! Invariant: the text says operation, rule, and what was given, as in
//! `matmul: inner dimensions differ: left is [2, 3], right is [4, 5]`.

use std::fmt;
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use ziggurat_core::{DType, ShapeError};
use ziggurat_device::DeviceError;
use ziggurat_kernels::KernelError;
use ziggurat_memory::MemoryError;
use ziggurat_pipeline::PipelineError;

/// What went wrong with a tensor operation. Cheap to clone.
///
/// ```
/// # use ziggurat_tensor::{doc, Tensor};
/// # let Some(device) = doc::device() else { return Ok(()) };
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
    #[cfg_attr(
        target_arch = "wasm32",
        expect(dead_code, reason = "a browser has no files")
    )]
    Io {
        path: PathBuf,
        action: &'static str,
        source: std::io::Error,
    },
    Format {
        path: Option<PathBuf>,
        detail: String,
    },
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
            path: None,
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
            Kind::Kernel { source, .. } => matches!(
                source,
                KernelError::Shape { .. }
                    | KernelError::Operands { .. }
                    | KernelError::Operand { .. }
                    | KernelError::Output { .. }
                    | KernelError::DataLength { .. }
            ),
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
                        | KernelError::Equation { .. },
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

    /// The device has no memory left for the operation. The device still works.
    pub fn is_out_of_memory(&self) -> bool {
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

    /// A file could not be opened, read or written.
    pub fn is_io(&self) -> bool {
        matches!(&*self.kind, Kind::Io { .. })
    }

    /// The content of a file is not what its format demands, or holds values that do not fit.
    pub fn is_format(&self) -> bool {
        matches!(&*self.kind, Kind::Format { .. })
    }

    fn device_error(&self) -> Option<&DeviceError> {
        match &*self.kind {
            Kind::Kernel { source, .. } => device_error(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Shape { op, detail }
            | Kind::Dtype { op, detail }
            | Kind::Argument { op, detail } => {
                write!(f, "{op}: {detail}")
            }
            Kind::TooLarge { op, bytes, limit } => write!(
                f,
                "{op}: a tensor must fit one buffer of the device: it has {bytes} bytes, the limit is {limit}"
            ),
            Kind::Kernel { op, source } => {
                let text = source.to_string();
                // Errors of the executor already begin with its operation.
                if text.starts_with(&format!("{op}: ")) {
                    f.write_str(&text)
                } else {
                    write!(f, "{op}: {text}")
                }
            }
            Kind::Io {
                path,
                action,
                source,
            } => write!(f, "cannot {action} {}: {source}", path.display()),
            Kind::Format {
                path: Some(path),
                detail,
            } => write!(f, "{}: {detail}", path.display()),
            Kind::Format { path: None, detail } => f.write_str(detail),
        }
    }
}

/// The text: what `unwrap` and `main` print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.kind {
            Kind::Kernel { source, .. } => std::error::Error::source(source),
            Kind::Io { source, .. } => Some(source),
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
mod tests {
    use super::*;

    #[test]
    fn texts_say_operation_rule_and_what_was_given() {
        let error = Error::wrong_dtype("to_vec", DType::F32, DType::I8);
        assert_eq!(
            error.to_string(),
            "to_vec: the tensor holds i8, asked for f32"
        );
        assert_eq!(format!("{error:?}"), error.to_string());
        let error = Error::too_large("zeros", 200, 128);
        assert_eq!(
            error.to_string(),
            "zeros: a tensor must fit one buffer of the device: it has 200 bytes, the limit is 128"
        );
    }

    #[test]
    fn predicates_tell_kinds_apart() {
        let not_found = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let errors = [
            Error::shape("a", "b"),
            Error::dtype("a", "b"),
            Error::argument("a", "b"),
            Error::too_large("a", 2, 1),
            Error::io("read", Path::new("x"), not_found()),
            Error::format("b"),
        ];
        let predicates = [
            Error::is_shape,
            Error::is_dtype,
            Error::is_argument,
            Error::is_too_large,
            Error::is_io,
            Error::is_format,
        ];
        for (i, error) in errors.iter().enumerate() {
            for (j, predicate) in predicates.iter().enumerate() {
                assert_eq!(predicate(error), i == j, "error {i}, predicate {j}");
            }
        }
    }

    #[test]
    fn a_file_is_named_once() {
        let error = Error::format("too short")
            .in_file(Path::new("a.npy"))
            .in_file(Path::new("b.npy"));
        assert_eq!(error.to_string(), "a.npy: too short");
        assert!(error.is_format());
    }
}
