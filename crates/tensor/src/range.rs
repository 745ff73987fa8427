//! Ranges along an axis, as [`Tensor::slice`](crate::Tensor::slice) takes them.
//!
//! Rust's range syntax says most of what Python's `[start:end]` says. What it cannot say without a complaint from Clippy
//! is a positive start with a negative end (`1..-1` looks empty), so a pair `(1, -1)` is a range too.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// Part of an axis: start (first position) and end (first position not taken), negative ones counted from the end of the
/// axis, open where left out. Made from Rust's ranges and from pairs.
///
/// ```
/// use ziggurat_tensor::AxisRange;
///
/// assert_eq!(AxisRange::from(2..), AxisRange { start: Some(2), end: None });
/// assert_eq!(AxisRange::from((1, -1)), AxisRange { start: Some(1), end: Some(-1) });
/// assert_eq!(AxisRange::from(..=3), AxisRange { start: None, end: Some(4) });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisRange {
    /// The first position; `None`: where the direction of the step begins.
    pub start: Option<isize>,
    /// The first position not taken; `None`: to where the direction of the step ends.
    pub end: Option<isize>,
}

impl AxisRange {
    /// Start and end as [`Layout::slice`](ziggurat_core::Layout::slice) takes them, where an open start depends on the
    /// direction.
    pub(crate) fn bounds(self, step: isize) -> (isize, Option<isize>) {
        (
            self.start.unwrap_or(if step < 0 { isize::MAX } else { 0 }),
            self.end,
        )
    }
}

/// The end behind a position that is included; behind the last one the range is open.
fn behind(last: isize) -> Option<isize> {
    match last {
        -1 => None,
        last => Some(last.saturating_add(1)),
    }
}

impl From<Range<isize>> for AxisRange {
    fn from(range: Range<isize>) -> Self {
        Self {
            start: Some(range.start),
            end: Some(range.end),
        }
    }
}

impl From<RangeInclusive<isize>> for AxisRange {
    fn from(range: RangeInclusive<isize>) -> Self {
        Self {
            start: Some(*range.start()),
            end: behind(*range.end()),
        }
    }
}

impl From<RangeFrom<isize>> for AxisRange {
    fn from(range: RangeFrom<isize>) -> Self {
        Self {
            start: Some(range.start),
            end: None,
        }
    }
}

impl From<RangeTo<isize>> for AxisRange {
    fn from(range: RangeTo<isize>) -> Self {
        Self {
            start: None,
            end: Some(range.end),
        }
    }
}

impl From<RangeToInclusive<isize>> for AxisRange {
    fn from(range: RangeToInclusive<isize>) -> Self {
        Self {
            start: None,
            end: behind(range.end),
        }
    }
}

impl From<RangeFull> for AxisRange {
    fn from(_: RangeFull) -> Self {
        Self {
            start: None,
            end: None,
        }
    }
}

impl From<(isize, isize)> for AxisRange {
    fn from((start, end): (isize, isize)) -> Self {
        Self {
            start: Some(start),
            end: Some(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_bounds_depend_on_the_direction() {
        assert_eq!(AxisRange::from(..).bounds(1), (0, None));
        assert_eq!(AxisRange::from(..).bounds(-1), (isize::MAX, None));
        assert_eq!(AxisRange::from(..2).bounds(-1), (isize::MAX, Some(2)));
    }

    #[test]
    fn included_ends_reach_the_last_position() {
        assert_eq!(AxisRange::from(1..=3).bounds(1), (1, Some(4)));
        assert_eq!(AxisRange::from(-3..=-1).bounds(1), (-3, None));
        assert_eq!(
            AxisRange::from(..=isize::MAX).bounds(1),
            (0, Some(isize::MAX))
        );
    }
}
