//! The −1 of a reshape.
//!
//! PyTorch's rules: one dimension may be −1 and takes what the others leave; next to a 0 it could be
//! anything, so that is refused even when there are no elements, while 0 elements reshape to
//! `(-1, 3)` as `[0, 3]`.

use super::Shape;
use crate::ShapeError;

/// The shape meant by `dims` in a reshape of `from`, where one dimension may be −1.
///
/// ```
/// use ziggurat_core::{Shape, infer_reshape};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let from = Shape::new([2, 6])?;
/// assert_eq!(infer_reshape(&from, &[3, -1])?.dims(), &[3, 4]);
/// assert!(infer_reshape(&from, &[5, -1]).is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ShapeError::Reshape`] if the counts differ, [`ShapeError::InferTwice`] for a second −1,
/// [`ShapeError::InferAmbiguous`] for a −1 next to a 0, [`ShapeError::NegativeDim`] below −1, and
/// what [`Shape::new`] refuses.
pub fn infer_reshape(from: &Shape, dims: &[isize]) -> Result<Shape, ShapeError> {
    let to = || dims.to_vec();
    let mismatch = || ShapeError::Reshape {
        from: from.dims().to_vec(),
        from_len: from.len(),
        to: to(),
    };
    let mut wanted = Vec::with_capacity(dims.len());
    let mut inferred = None;
    for (axis, &dim) in dims.iter().enumerate() {
        wanted.push(match usize::try_from(dim) {
            Ok(dim) => dim,
            Err(_) if dim != -1 => return Err(ShapeError::NegativeDim { dim, to: to() }),
            Err(_) if inferred.is_some() => return Err(ShapeError::InferTwice { to: to() }),
            Err(_) => {
                inferred = Some(axis);
                1
            }
        });
    }
    let known = Shape::new(&wanted)?.len();
    if let Some(slot) = inferred.and_then(|axis| wanted.get_mut(axis)) {
        if known == 0 {
            return Err(if from.is_empty() {
                ShapeError::InferAmbiguous {
                    from: from.dims().to_vec(),
                    to: to(),
                }
            } else {
                mismatch()
            });
        }
        if !from.len().is_multiple_of(known) {
            return Err(mismatch());
        }
        *slot = from.len() / known;
    } else if known != from.len() {
        return Err(mismatch());
    }
    Shape::new(wanted)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn inferred(from: &[usize], dims: &[isize]) -> Result<Vec<usize>, ShapeError> {
        infer_reshape(&Shape::new(from).unwrap(), dims).map(|shape| shape.dims().to_vec())
    }

    #[test]
    fn takes_what_the_others_leave() {
        let cases: [(&[usize], &[isize], &[usize]); 8] = [
            (&[2, 3], &[6], &[6]),
            (&[2, 3], &[-1], &[6]),
            (&[2, 3], &[3, -1, 1], &[3, 2, 1]),
            (&[], &[], &[]),
            (&[], &[-1], &[1]),
            (&[1, 1], &[], &[]),
            (&[0], &[-1, 3], &[0, 3]),
            (&[2, 0], &[0, 7], &[0, 7]),
        ];
        for (from, dims, want) in cases {
            assert_eq!(inferred(from, dims).unwrap(), want, "{from:?} to {dims:?}");
        }
    }

    #[test]
    fn refuses_what_has_no_single_answer() {
        assert!(matches!(
            inferred(&[0], &[0, -1]),
            Err(ShapeError::InferAmbiguous { .. })
        ));
        assert!(matches!(
            inferred(&[4], &[0, -1]),
            Err(ShapeError::Reshape { from_len: 4, .. })
        ));
        assert!(matches!(
            inferred(&[4], &[-1, -1]),
            Err(ShapeError::InferTwice { .. })
        ));
        assert!(matches!(
            inferred(&[4], &[-2, 2]),
            Err(ShapeError::NegativeDim { dim: -2, .. })
        ));
        for dims in [&[3][..], &[3, -1], &[0], &[], &[2, 2, 2]] {
            assert!(
                matches!(inferred(&[4], dims), Err(ShapeError::Reshape { .. })),
                "{dims:?}"
            );
        }
        assert!(matches!(
            inferred(&[4], &[1; 9]),
            Err(ShapeError::RankTooHigh { rank: 9, .. })
        ));
        assert!(matches!(
            inferred(&[4], &[isize::MAX, isize::MAX]),
            Err(ShapeError::TooManyElements { .. })
        ));
        // A zero product times a huge inferred dimension.
        assert!(matches!(
            inferred(&[0, 5], &[-1, isize::MAX, 2]),
            Err(ShapeError::TooManyElements { .. })
        ));
    }
}
