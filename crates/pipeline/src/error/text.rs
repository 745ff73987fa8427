//! How the texts of errors are put together.

use std::fmt;

use ziggurat_core::text::{self, at_most_error_bytes};

use crate::place::Place;

/// What follows as one text of an error, of at most 1 KiB: what is longer ends in ` [...]`.
macro_rules! short {
    ($($text:tt)*) => { Short(format_args!($($text)*)) };
}

/// [`short!`], with the line of code of a place below.
macro_rules! marked {
    ($place:ident, $($text:tt)*) => { short!("{}{}", format_args!($($text)*), Code($place)) };
}

pub(super) struct Short<'a>(pub(super) fmt::Arguments<'a>);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        at_most_error_bytes(f, |out| out.write_fmt(self.0))
    }
}

/// The line of code of a place, as further lines of a text.
pub(super) struct Code<'a>(pub(super) &'a Place);

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.snippet.as_str() {
            "" => Ok(()),
            snippet => write!(f, "\n{snippet}"),
        }
    }
}

/// A list for a message: `a, b` or `none`; of many the first eight, and how many more there are.
pub(super) fn list(items: &[String]) -> String {
    text::list(items, 9)
}
