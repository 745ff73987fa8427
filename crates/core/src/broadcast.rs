//! Broadcasting: how shapes of different dimensions meet.
//!
//! The rule of NumPy and PyTorch: align at the last dimension; a missing dimension counts as 1; a 1
//! stretches to whatever the others have, 0 included; anything else has to be equal.

use crate::axes::existing_axis;
use crate::error::signed;
use crate::{Shape, ShapeError};

/// The shape that all `shapes` broadcast to; a scalar for none.
///
/// ```
/// use ziggurat_core::{Shape, broadcast_shapes};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let all = broadcast_shapes(&[Shape::new([3, 1])?, Shape::new([0])?])?;
/// assert_eq!(all.dims(), &[3, 0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ShapeError::Broadcast`] with the shape reached so far and the first that does not fit;
/// [`ShapeError::TooManyElements`] if the result cannot be addressed.
pub fn broadcast_shapes(shapes: &[Shape]) -> Result<Shape, ShapeError> {
    shapes
        .iter()
        .try_fold(Shape::scalar(), |so_far, next| broadcast_two(&so_far, next))
}

fn broadcast_two(left: &Shape, right: &Shape) -> Result<Shape, ShapeError> {
    let rank = left.rank().max(right.rank());
    let padded = |shape: &Shape| {
        std::iter::repeat_n(1, rank - shape.rank())
            .chain(shape.dims().to_vec())
            .collect::<Vec<_>>()
    };
    let dims = padded(left)
        .into_iter()
        .zip(padded(right))
        .map(|pair| match pair {
            (l, r) if l == r => Some(l),
            (1, other) | (other, 1) => Some(other),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| ShapeError::Broadcast {
            left: left.dims().to_vec(),
            right: right.dims().to_vec(),
        })?;
    Shape::new(dims)
}

/// The shape meant by `dims` in an `expand`: −1 keeps the dimension that `from` has there, counted
/// from the end.
///
/// ```
/// use ziggurat_core::{Shape, infer_expand};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let from = Shape::new([3, 1])?;
/// assert_eq!(infer_expand(&from, &[2, -1, 4])?.dims(), &[2, 3, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ShapeError::Expand`] if a −1 stands where `from` has no dimension or `from` does not stretch
/// to the result, [`ShapeError::NegativeDim`] below −1, and what [`Shape::new`] refuses.
pub fn infer_expand(from: &Shape, dims: &[isize]) -> Result<Shape, ShapeError> {
    let refuse = || ShapeError::Expand {
        from: from.dims().to_vec(),
        to: dims.to_vec(),
    };
    let mut wanted = Vec::with_capacity(dims.len());
    for (from_end, &dim) in (1_isize..).zip(dims.iter().rev()) {
        wanted.push(match usize::try_from(dim) {
            Ok(dim) => dim,
            Err(_) if dim == -1 => existing_axis(-from_end, from.rank())
                .ok()
                .and_then(|axis| from.dims().get(axis).copied())
                .ok_or_else(refuse)?,
            Err(_) => {
                return Err(ShapeError::NegativeDim {
                    dim,
                    to: dims.to_vec(),
                });
            }
        });
    }
    wanted.reverse();
    let to = Shape::new(wanted)?;
    if expands(from, &to) {
        Ok(to)
    } else {
        Err(refuse())
    }
}

/// Does `from` stretch to `to`?
pub(crate) fn expands(from: &Shape, to: &Shape) -> bool {
    from.rank() <= to.rank()
        && from
            .dims()
            .iter()
            .rev()
            .zip(to.dims().iter().rev())
            .all(|(&from, &to)| from == 1 || from == to)
}

/// The error of a stretch that is not one.
pub(crate) fn expand_error(from: &Shape, to: &Shape) -> ShapeError {
    ShapeError::Expand {
        from: from.dims().to_vec(),
        to: signed(to.dims()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn joined(shapes: &[&[usize]]) -> Result<Vec<usize>, ShapeError> {
        let shapes: Vec<_> = shapes
            .iter()
            .map(|dims| Shape::new(dims).unwrap())
            .collect();
        broadcast_shapes(&shapes).map(|shape| shape.dims().to_vec())
    }

    #[test]
    fn joins_as_numpy_does() {
        let cases: [(&[&[usize]], &[usize]); 9] = [
            (&[], &[]),
            (&[&[]], &[]),
            (&[&[2, 3], &[]], &[2, 3]),
            (&[&[2, 3], &[3]], &[2, 3]),
            (&[&[2, 1], &[1, 5]], &[2, 5]),
            (&[&[3, 0], &[1]], &[3, 0]),
            (&[&[3, 1], &[0]], &[3, 0]),
            (&[&[4, 1, 1], &[2, 1], &[3]], &[4, 2, 3]),
            (
                &[&[1; 8], &[2, 1, 1, 1, 1, 1, 1, 3]],
                &[2, 1, 1, 1, 1, 1, 1, 3],
            ),
        ];
        for (shapes, want) in cases {
            assert_eq!(joined(shapes).unwrap(), want, "{shapes:?}");
        }
    }

    #[test]
    fn names_both_shapes_that_do_not_meet() {
        assert_eq!(
            joined(&[&[2, 1], &[3], &[4]]),
            Err(ShapeError::Broadcast {
                left: vec![2, 3],
                right: vec![4],
            })
        );
        assert_eq!(
            joined(&[&[0], &[2]]).unwrap_err().to_string(),
            "cannot broadcast [0] with [2]"
        );
    }

    #[test]
    fn refuses_a_result_that_cannot_be_addressed() {
        let half = 1 << (usize::BITS / 2);
        assert_eq!(
            joined(&[&[half, 1], &[1, half]]),
            Err(ShapeError::TooManyElements {
                dims: vec![half, half]
            })
        );
    }

    #[test]
    fn expand_keeps_a_dimension_for_minus_one() {
        let from = Shape::new([3, 1]).unwrap();
        let dims = |dims: &[isize]| infer_expand(&from, dims).map(|shape| shape.dims().to_vec());
        assert_eq!(dims(&[-1, -1]).unwrap(), [3, 1]);
        assert_eq!(dims(&[2, -1, 0]).unwrap(), [2, 3, 0]);
        assert_eq!(
            dims(&[-1, 3, 4]).unwrap_err().to_string(),
            "cannot expand [3, 1] to [-1, 3, 4]"
        );
        assert!(matches!(dims(&[2, 4]), Err(ShapeError::Expand { .. })));
        assert!(matches!(dims(&[4]), Err(ShapeError::Expand { .. })));
        assert!(matches!(
            dims(&[3, -2]),
            Err(ShapeError::NegativeDim { dim: -2, .. })
        ));
    }
}
