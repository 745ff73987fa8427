//! Why a kernel ends where it does: [`NotFused`].

use std::fmt;

/// Why a value is stored, and not computed within the kernel that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NotFused {
    /// It is of a kernel that must be complete before what reads it begins: a product, a reduction, a norm behind which something
    /// with another shape, or another such kernel, runs.
    OwnKernel,
    /// Several would compute it: it is read more than once, under a broadcast or through several views, and costs more than a
    /// read.
    ComputedOften,
    /// What reads it sees it through a view that cannot be computed from an index.
    View,
    /// Something else that is still pending, or a tensor of the program, needs it too.
    NeededElsewhere,
    /// One kernel would bind more buffers than the adapter allows.
    Bindings(usize),
    /// One kernel would have more operations than are compiled into one.
    Operations(u32),
    /// It was recorded before the capture, and is computed once.
    BeforeCapture,
    /// It is asked for together with others that are no part of the same kernel.
    Alone,
}

impl fmt::Display for NotFused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnKernel => f.write_str("it is complete before what reads it begins"),
            Self::ComputedOften => f.write_str("it would be computed more than once"),
            Self::View => f.write_str("it is read through a view that has no formula"),
            Self::NeededElsewhere => f.write_str("something else needs it too"),
            Self::Bindings(most) => write!(f, "a kernel binds at most {most} buffers"),
            Self::Operations(most) => write!(f, "a kernel has at most {most} operations"),
            Self::BeforeCapture => f.write_str("it was recorded before the capture"),
            Self::Alone => f.write_str("it is no part of the same kernel"),
        }
    }
}
