//! Axis numbers: a negative one counts from the end, and a scalar forgives 0 and −1.
//!
//! PyTorch lets `sum(dim=0)` and `sum(dim=-1)` of a scalar through, which spares callers a special
//! case, so the same is done here; functions that must *have* the axis (slice, select) refuse a
//! scalar.

use crate::ShapeError;

/// `axis` counted from the front, for a shape of `rank` dimensions.
///
/// A rank of 0 accepts 0 and −1 and answers 0: take care not to index dimensions with it.
///
/// ```
/// use ziggurat_core::normalize_axis;
///
/// assert_eq!(normalize_axis(-1, 3), Ok(2));
/// assert_eq!(normalize_axis(-1, 0), Ok(0));
/// assert!(normalize_axis(3, 3).is_err());
/// ```
///
/// # Errors
///
/// [`ShapeError::AxisOutOfRange`] outside `-rank..rank`.
pub fn normalize_axis(axis: isize, rank: usize) -> Result<usize, ShapeError> {
    let rank_or_one = rank.max(1);
    let from_front = if axis < 0 {
        rank_or_one.checked_sub(axis.unsigned_abs())
    } else {
        Some(axis.unsigned_abs())
    };
    from_front
        .filter(|&from_front| from_front < rank_or_one)
        .ok_or(ShapeError::AxisOutOfRange { axis, rank })
}

/// Every axis counted from the front, in ascending order.
///
/// For rank 0 the accepted axes 0 and −1 stand for no dimension at all: the answer is empty.
///
/// ```
/// use ziggurat_core::normalize_axes;
///
/// assert_eq!(normalize_axes(&[-1, 0], 3), Ok(vec![0, 2]));
/// assert_eq!(normalize_axes(&[-1], 0), Ok(vec![]));
/// assert!(normalize_axes(&[1, -2], 3).is_err());
/// ```
///
/// # Errors
///
/// [`ShapeError::AxisOutOfRange`] for an axis outside `-rank..rank`, [`ShapeError::DuplicateAxis`]
/// if two name the same dimension.
pub fn normalize_axes(axes: &[isize], rank: usize) -> Result<Vec<usize>, ShapeError> {
    let all = axes
        .iter()
        .map(|&axis| normalize_axis(axis, rank))
        .collect::<Result<Vec<_>, _>>()?;
    let mut sorted = Vec::new();
    for axis in all {
        match sorted.binary_search(&axis) {
            Ok(_) => return Err(ShapeError::DuplicateAxis { axis }),
            Err(at) => sorted.insert(at, axis),
        }
    }
    if rank == 0 {
        sorted.clear();
    }
    Ok(sorted)
}

/// As [`normalize_axis`], but the dimension has to exist: a scalar has none.
pub(crate) fn existing_axis(axis: isize, rank: usize) -> Result<usize, ShapeError> {
    if rank == 0 {
        return Err(ShapeError::AxisOutOfRange { axis, rank });
    }
    normalize_axis(axis, rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_either_end() {
        for rank in 1..=8_usize {
            for axis in 0..rank {
                let front = axis.cast_signed();
                assert_eq!(normalize_axis(front, rank), Ok(axis));
                assert_eq!(normalize_axis(front - rank.cast_signed(), rank), Ok(axis));
            }
            for axis in [rank.cast_signed(), -rank.cast_signed() - 1] {
                assert_eq!(
                    normalize_axis(axis, rank),
                    Err(ShapeError::AxisOutOfRange { axis, rank })
                );
            }
        }
    }

    #[test]
    fn a_scalar_forgives_zero_and_minus_one() {
        assert_eq!(normalize_axis(0, 0), Ok(0));
        assert_eq!(normalize_axis(-1, 0), Ok(0));
        assert!(normalize_axis(1, 0).is_err());
        assert!(normalize_axis(-2, 0).is_err());
        assert_eq!(normalize_axes(&[0], 0), Ok(vec![]));
        assert_eq!(
            normalize_axes(&[0, -1], 0),
            Err(ShapeError::DuplicateAxis { axis: 0 })
        );
        assert!(existing_axis(0, 0).is_err());
    }

    #[test]
    fn extreme_axes_are_errors() {
        for axis in [isize::MIN, isize::MAX] {
            for rank in [0, 1, 8] {
                assert_eq!(
                    normalize_axis(axis, rank),
                    Err(ShapeError::AxisOutOfRange { axis, rank })
                );
            }
        }
    }

    #[test]
    fn duplicates_are_found_through_either_spelling() {
        assert_eq!(
            normalize_axes(&[2, 0, -1], 3),
            Err(ShapeError::DuplicateAxis { axis: 2 })
        );
        assert_eq!(normalize_axes(&[], 3), Ok(vec![]));
        assert_eq!(normalize_axes(&[2, -3, 1], 3), Ok(vec![0, 1, 2]));
    }
}
