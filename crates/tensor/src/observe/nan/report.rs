//! What a trace found.

use std::fmt;

use ziggurat_core::{DType, Shape};

use crate::Error;

/// An operation whose finite inputs gave numbers that are not finite.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NonFinite {
    /// The operation.
    pub op: String,
    /// How many operations ran before, since the trace began.
    pub call: usize,
    /// Shapes and dtypes of what it read.
    pub inputs: Vec<(Shape, DType)>,
    /// Shape and dtype of the result.
    pub output: (Shape, DType),
    /// How many elements of the result are NaN.
    pub nans: u64,
    /// How many are infinite.
    pub infinities: u64,
    /// The position of the first of both, an index for each axis.
    pub first: Vec<usize>,
    /// The innermost function of the program that called it, with file and line if the program has debug information. None
    /// in a browser.
    pub caller: Option<String>,
    /// Whether every operation that read the result gave finite numbers, as a softmax does for a mask.
    pub is_absorbed: bool,
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, dtype) = &self.output;
        write!(f, "{}: of finite inputs", self.op)?;
        for (shape, dtype) in &self.inputs {
            write!(f, " {dtype} {shape}")?;
        }
        write!(
            f,
            ", {} NaN and {} infinite of {} elements of the result {dtype} {shape}, the first at {:?} (operation {} of the trace)",
            self.nans,
            self.infinities,
            shape.len(),
            self.first,
            self.call
        )?;
        if let Some(caller) = &self.caller {
            write!(f, ", called by {caller}")?;
        }
        Ok(())
    }
}

/// What a [`NanTrace`](crate::NanTrace) found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NanReport {
    /// All operations whose finite inputs gave something that is not finite, in the order in which they ran.
    pub found: Vec<NonFinite>,
    /// The first operation that was given something that is not finite by nobody who was traced: an upload, a value from
    /// before, a number.
    pub given: Option<String>,
    /// Operations that were traced.
    pub operations: usize,
}

impl NanReport {
    /// The first finding that is not absorbed.
    #[must_use]
    pub fn first(&self) -> Option<&NonFinite> {
        self.found.iter().find(|found| !found.is_absorbed)
    }

    /// The first finding as an error ([`Error::is_non_finite`]).
    ///
    /// # Errors
    /// If there is one.
    pub fn check(&self) -> Result<(), Error> {
        match self.first() {
            Some(found) => Err(Error::non_finite(found.clone())),
            None => Ok(()),
        }
    }
}

impl fmt::Display for NanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first() {
            Some(found) => writeln!(f, "{found}")?,
            None => writeln!(
                f,
                "none of {} operations gave a NaN or an infinity that lasted",
                self.operations
            )?,
        }
        let absorbed = self.found.iter().filter(|found| found.is_absorbed).count();
        if absorbed > 0 {
            writeln!(
                f,
                "{absorbed} findings were absorbed: what read them is finite"
            )?;
        }
        if let Some(op) = &self.given {
            writeln!(f, "{op} was given numbers that are not finite")?;
        }
        Ok(())
    }
}
