//! The one error of this layer: a shape, axis, index or layout that breaks a rule.
//!
//! Fields are the values involved, not sentences, so that a caller can act on them; the message
//! says the rule and what was given. Dimensions are kept as vectors because two inline shapes would
//! make every `Result` of the layers above large.

/// A shape, axis, index or layout that breaks a rule.
///
/// ```
/// use ziggurat_core::{Shape, broadcast_shapes};
///
/// # fn main() -> Result<(), ziggurat_core::ShapeError> {
/// let error = broadcast_shapes(&[Shape::new([2, 3])?, Shape::new([4])?]).unwrap_err();
/// assert_eq!(error.to_string(), "cannot broadcast [2, 3] with [4]");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// More dimensions than [`MAX_RANK`](crate::MAX_RANK).
    #[error("rank {rank} is above the limit of {max}")]
    RankTooHigh {
        /// The rank asked for.
        rank: usize,
        /// The highest rank there is.
        max: usize,
    },
    /// The element count cannot be addressed.
    #[error("shape {dims:?} has too many elements to address")]
    TooManyElements {
        /// The dimensions asked for.
        dims: Vec<usize>,
    },
    /// An axis that the rank does not have.
    #[error("axis {axis} is out of range for rank {rank}")]
    AxisOutOfRange {
        /// The axis given.
        axis: isize,
        /// The number of axes there are.
        rank: usize,
    },
    /// The same axis twice.
    #[error("axis {axis} is given more than once")]
    DuplicateAxis {
        /// The axis, counted from the front.
        axis: usize,
    },
    /// A permutation that does not name every axis.
    #[error("a permutation of rank {expected} needs {expected} axes, {got} given")]
    PermutationLen {
        /// The rank.
        expected: usize,
        /// How many axes were given.
        got: usize,
    },
    /// Two shapes that no broadcasting rule joins.
    #[error("cannot broadcast {left:?} with {right:?}")]
    Broadcast {
        /// The dimensions of what came before.
        left: Vec<usize>,
        /// The dimensions that do not fit.
        right: Vec<usize>,
    },
    /// A shape that cannot be stretched to another.
    #[error("cannot expand {from:?} to {to:?}")]
    Expand {
        /// The dimensions there are.
        from: Vec<usize>,
        /// The dimensions asked for; −1 keeps one.
        to: Vec<isize>,
    },
    /// A reshape to another number of elements.
    #[error("cannot reshape {from:?} ({from_len} elements) to {to:?}")]
    Reshape {
        /// The dimensions there are.
        from: Vec<usize>,
        /// How many elements they hold.
        from_len: usize,
        /// The dimensions asked for; −1 is the one to infer.
        to: Vec<isize>,
    },
    /// More than one −1 in a reshape.
    #[error("cannot reshape to {to:?}: only one dimension can be inferred")]
    InferTwice {
        /// The dimensions asked for.
        to: Vec<isize>,
    },
    /// A −1 together with a zero: any value would fit.
    #[error("cannot reshape {from:?} to {to:?}: the inferred dimension could be anything")]
    InferAmbiguous {
        /// The dimensions there are.
        from: Vec<usize>,
        /// The dimensions asked for.
        to: Vec<isize>,
    },
    /// A dimension below −1.
    #[error("dimension {dim} in {to:?} is negative")]
    NegativeDim {
        /// The dimension.
        dim: isize,
        /// The dimensions asked for.
        to: Vec<isize>,
    },
    /// An index outside an axis.
    #[error("index {index} is out of range for axis {axis} of {len} elements")]
    IndexOutOfRange {
        /// The index given; a negative one counts from the end.
        index: isize,
        /// The axis.
        axis: usize,
        /// The elements along the axis.
        len: usize,
    },
    /// A range that leaves an axis.
    #[error("{len} elements from {start} leave axis {axis} of {dim} elements")]
    NarrowOutOfRange {
        /// The axis.
        axis: usize,
        /// First element asked for.
        start: usize,
        /// How many elements were asked for.
        len: usize,
        /// The elements along the axis.
        dim: usize,
    },
    /// A slice that does not move.
    #[error("a slice of axis {axis} has step 0")]
    ZeroStep {
        /// The axis.
        axis: usize,
    },
    /// A layout whose strides do not match its shape.
    #[error("shape {dims:?} needs {} strides, {got} given", dims.len())]
    StrideCount {
        /// The dimensions.
        dims: Vec<usize>,
        /// How many strides were given.
        got: usize,
    },
    /// A layout that reaches before element 0 or past what can be addressed.
    #[error(
        "layout of shape {dims:?}, strides {strides:?} and offset {offset} leaves the address range"
    )]
    AddressOutOfRange {
        /// The dimensions.
        dims: Vec<usize>,
        /// The strides in elements.
        strides: Vec<isize>,
        /// The offset in elements.
        offset: usize,
    },
}

/// Dimensions as the signed numbers that error fields hold; a valid shape's always fit.
pub(crate) fn signed(dims: &[usize]) -> Vec<isize> {
    dims.iter()
        .map(|&dim| isize::try_from(dim).unwrap_or(isize::MAX))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_the_rule_and_what_was_given() {
        let cases: [(ShapeError, &str); 17] = [
            (
                ShapeError::RankTooHigh { rank: 9, max: 8 },
                "rank 9 is above the limit of 8",
            ),
            (
                ShapeError::TooManyElements { dims: vec![9, 9] },
                "shape [9, 9] has too many elements to address",
            ),
            (
                ShapeError::AxisOutOfRange { axis: -3, rank: 2 },
                "axis -3 is out of range for rank 2",
            ),
            (
                ShapeError::DuplicateAxis { axis: 1 },
                "axis 1 is given more than once",
            ),
            (
                ShapeError::PermutationLen {
                    expected: 3,
                    got: 2,
                },
                "a permutation of rank 3 needs 3 axes, 2 given",
            ),
            (
                ShapeError::Broadcast {
                    left: vec![2, 3],
                    right: vec![4],
                },
                "cannot broadcast [2, 3] with [4]",
            ),
            (
                ShapeError::Expand {
                    from: vec![2, 3],
                    to: vec![4],
                },
                "cannot expand [2, 3] to [4]",
            ),
            (
                ShapeError::Reshape {
                    from: vec![2, 3],
                    from_len: 6,
                    to: vec![-1, 4],
                },
                "cannot reshape [2, 3] (6 elements) to [-1, 4]",
            ),
            (
                ShapeError::InferTwice { to: vec![-1, -1] },
                "cannot reshape to [-1, -1]: only one dimension can be inferred",
            ),
            (
                ShapeError::InferAmbiguous {
                    from: vec![0],
                    to: vec![0, -1],
                },
                "cannot reshape [0] to [0, -1]: the inferred dimension could be anything",
            ),
            (
                ShapeError::NegativeDim {
                    dim: -2,
                    to: vec![-2, 3],
                },
                "dimension -2 in [-2, 3] is negative",
            ),
            (
                ShapeError::IndexOutOfRange {
                    index: -4,
                    axis: 0,
                    len: 3,
                },
                "index -4 is out of range for axis 0 of 3 elements",
            ),
            (
                ShapeError::NarrowOutOfRange {
                    axis: 1,
                    start: 2,
                    len: 3,
                    dim: 4,
                },
                "3 elements from 2 leave axis 1 of 4 elements",
            ),
            (
                ShapeError::ZeroStep { axis: 2 },
                "a slice of axis 2 has step 0",
            ),
            (
                ShapeError::StrideCount {
                    dims: vec![2, 3],
                    got: 1,
                },
                "shape [2, 3] needs 2 strides, 1 given",
            ),
            (
                ShapeError::AddressOutOfRange {
                    dims: vec![2],
                    strides: vec![-1],
                    offset: 0,
                },
                "layout of shape [2], strides [-1] and offset 0 leaves the address range",
            ),
            (
                ShapeError::Reshape {
                    from: vec![],
                    from_len: 1,
                    to: vec![2],
                },
                "cannot reshape [] (1 elements) to [2]",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn fits_in_a_small_result() {
        assert!(size_of::<ShapeError>() <= 64, "{}", size_of::<ShapeError>());
    }
}
