//! What an [`Error`] prints, and what caused it.
//!
//! Invariant: no text is longer than [`MOST_BYTES`], whatever a caller or a file gave.

use std::error::Error as StdError;
use std::fmt;

use ziggurat_kernels::KernelError;

use super::{Error, Kind};

/// The longest text of an error, in bytes.
const MOST_BYTES: usize = 1024;
/// What ends a text that was longer.
const CUT: &str = " [...]";

/// Passes on the beginning of what is written to it.
struct Beginning<'a, 'b> {
    out: &'a mut fmt::Formatter<'b>,
    /// Bytes that may still be passed on.
    room: usize,
}

impl fmt::Write for Beginning<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut cut = self.room.min(text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let (fits, rest) = text.split_at(cut);
        self.out.write_str(fits)?;
        self.room -= fits.len();
        if rest.is_empty() {
            return Ok(());
        }
        self.room = 0;
        // Nothing more is formatted: whoever writes gives up at an error.
        Err(fmt::Error)
    }
}

impl Error {
    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
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
                // Errors of the executor already begin with its operation.
                let text = source.to_string();
                let named = text.strip_prefix(op);
                if !named.is_some_and(|rest| rest.starts_with(": ")) {
                    write!(f, "{op}: ")?;
                }
                f.write_str(&text)
            }
            #[cfg(not(target_arch = "wasm32"))]
            Kind::Io {
                path,
                action,
                source,
            } => write!(f, "cannot {action} {}: {source}", path.display()),
            #[cfg(not(target_arch = "wasm32"))]
            Kind::Format {
                path: Some(path),
                detail,
            } => write!(f, "{}: {detail}", path.display()),
            Kind::Format { detail, .. } => f.write_str(detail),
            Kind::NonFinite(found) => write!(f, "{found}"),
            Kind::Internal { op, detail } => {
                write!(f, "{op}: internal error, please report it: {detail}")
            }
        }
    }
}

/// Operation, rule and what was given, in at most 1 KiB: what is longer ends in ` [...]`.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut beginning = Beginning {
            room: MOST_BYTES - CUT.len(),
            out: f,
        };
        match self.write(&mut beginning) {
            // Nothing but the end of the room, or of what is written to, stops a text.
            Err(fmt::Error) if beginning.room == 0 => f.write_str(CUT),
            result => result,
        }
    }
}

/// The text: what `unwrap` and `main` print.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Error {
    /// The error of the layer below that the text already tells, for `downcast_ref`: `MemoryError`, `DeviceError`,
    /// `PipelineError` or `KernelError`; of files the `std::io::Error`.
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.kind {
            Kind::Kernel { source, .. } => Some(match source {
                KernelError::Device(error) => error,
                KernelError::Memory(error) => error,
                KernelError::Pipeline(error) => error,
                source => source,
            }),
            #[cfg(not(target_arch = "wasm32"))]
            Kind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
