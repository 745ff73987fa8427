//! [`KernelError`]: everything that can go wrong between an op call and its completion.
//!
//! Fields are values, so that a caller can tell *what* was wrong without reading the message, and the
//! message says operation, rule and what was given. Errors are cloneable because one failed submission is
//! seen by every future that waits for it.

use ziggurat_core::{BlockFormat, DType, Shape, ShapeError};
use ziggurat_device::DeviceError;
use ziggurat_memory::MemoryError;
use ziggurat_pipeline::PipelineError;

/// Why an op could not be recorded, or did not complete.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// A process has only so many different elementwise ops of users' WGSL.
    #[error(
        "custom: there are {limit} different elementwise ops already, which is the most that a process can have"
    )]
    TooManyUserOps {
        /// The most.
        limit: usize,
    },
    /// A shape or axis rule of the core layer does not hold.
    #[error("{op}: {source}")]
    Shape {
        /// The op that was called.
        op: &'static str,
        /// The broken rule.
        source: ShapeError,
    },
    /// An operand's dtype is not one that the op accepts.
    #[error("{op}: {operand} is {got}, but {rule}")]
    Dtype {
        /// The op that was called.
        op: &'static str,
        /// The role of the operand: `a`, `b`, `out`, ...
        operand: &'static str,
        /// What the op accepts, as a clause: `the dtypes must be equal`.
        rule: &'static str,
        /// The operand's dtype.
        got: DType,
    },
    /// Two operands' shapes do not fit each other.
    #[error("{op}: {rule}: left is {left}, right is {right}")]
    Operands {
        /// The op that was called.
        op: &'static str,
        /// The broken rule, as a clause: `inner dimensions differ`.
        rule: &'static str,
        /// The left (or first) operand's shape.
        left: Box<Shape>,
        /// The right (or second) operand's shape.
        right: Box<Shape>,
    },
    /// One operand's shape breaks a rule of the op.
    #[error("{op}: {operand} {rule}, but its shape is {got}")]
    Operand {
        /// The op that was called.
        op: &'static str,
        /// The role of the operand.
        operand: &'static str,
        /// The broken rule, as a predicate: `must have rank 4`.
        rule: &'static str,
        /// The operand's shape.
        got: Box<Shape>,
    },
    /// The output's shape is not the one the op produces.
    #[error("{op}: the output must be {expected}, but it is {got}")]
    Output {
        /// The op that was called.
        op: &'static str,
        /// The shape the op produces.
        expected: Box<Shape>,
        /// The output's shape.
        got: Box<Shape>,
    },
    /// An option of the op has a value that it cannot have.
    #[error("{op}: {option} {rule}, but it is {got}")]
    Option {
        /// The op that was called.
        op: &'static str,
        /// The option's name.
        option: &'static str,
        /// The broken rule, as a predicate: `must be at least 1`.
        rule: &'static str,
        /// The value that was given.
        got: i64,
    },
    /// A number that is a parameter of the op breaks a rule.
    #[error("{op}: {number} {rule}, but it is {got}")]
    Number {
        /// The op that was called.
        op: &'static str,
        /// The number's name.
        number: &'static str,
        /// The broken rule, as a predicate: `must be at least 0`.
        rule: &'static str,
        /// The number that was given.
        got: f64,
    },
    /// An output view maps two of its indices to one element (stride 0, or overlapping strides).
    #[error("{op}: the output view of shape {shape} writes some elements more than once")]
    OverlappingOutput {
        /// The op that was called.
        op: &'static str,
        /// The output's shape.
        shape: Shape,
    },
    /// An operand needs element indices that do not fit 32 bits.
    #[error("{op}: an operand spans {elements} elements, but kernels index at most {limit}")]
    IndexTooLarge {
        /// The op that was called.
        op: &'static str,
        /// Elements between the first and the last that the view touches.
        elements: u64,
        /// The most that one kernel can index.
        limit: u64,
    },
    /// What a kernel must see of an operand at once exceeds one binding of the device: one image that is sampled at any place,
    /// one head of attention, one filter. Everything else is computed in parts.
    #[error(
        "{op}: an operand spans {bytes} bytes that one kernel must see at once, but the device binds at most {limit}"
    )]
    BindingTooLarge {
        /// The op that was called.
        op: &'static str,
        /// Bytes from the first to the last that the kernel may touch.
        bytes: u64,
        /// The most that the device binds.
        limit: u64,
    },
    /// A view reaches beyond its buffer.
    #[error("a view of {dtype} reaches byte {end}, but its buffer has {bytes}")]
    OutOfBuffer {
        /// The view's dtype.
        dtype: DType,
        /// One past the last byte that the view touches.
        end: u64,
        /// The buffer's length in bytes.
        bytes: u64,
    },
    /// The data does not have as many elements (or bytes) as the shape says.
    #[error("data for shape {shape} must have {expected} bytes, but it has {got}")]
    DataLength {
        /// The shape that was asked for.
        shape: Shape,
        /// Bytes that a dense tensor of that shape has.
        expected: u64,
        /// Bytes that were given.
        got: u64,
    },
    /// Rows of a quantised matrix are no whole blocks.
    #[error(
        "{op}: rows of {format} must be whole blocks of {} elements, but they have {cols}",
        format.elements()
    )]
    BlockRows {
        /// What was called.
        op: &'static str,
        /// The format.
        format: BlockFormat,
        /// Elements of a row.
        cols: usize,
    },
    /// There are not as many bytes of blocks as the shape says.
    #[error(
        "{op}: {rows} × {cols} elements of {format} must have {expected} bytes, but there are {got}"
    )]
    BlockBytes {
        /// What was called.
        op: &'static str,
        /// The format.
        format: BlockFormat,
        /// Rows.
        rows: usize,
        /// Elements of a row.
        cols: usize,
        /// Bytes that the blocks of so many elements have.
        expected: u64,
        /// Bytes that were given.
        got: u64,
    },
    /// A byte that is given for a bool is neither 0 nor 1.
    #[error("a bool must be 0 or 1, but the byte at position {position} is {byte}")]
    BoolByte {
        /// Where it is, in elements from the first.
        position: usize,
        /// The byte.
        byte: u8,
    },
    /// One kernel cannot compute the expression, or cannot read or write it as part of this op.
    #[error("fused: {0}")]
    CannotFuse(CannotFuse),
    /// What was called needs the device's answer or data of this moment, and a capture records neither.
    #[error("{op}: not possible while capturing: a capture holds dispatches only")]
    InCapture {
        /// What was called.
        op: &'static str,
    },
    /// A shader part named by the catalogue is not in the shader table.
    #[error("the shader part {path} does not exist")]
    MissingPart {
        /// The part's path below `shaders/`.
        path: &'static str,
    },
    /// Something that cannot happen did: a bug of this project, not a mistake of the caller. Please report it.
    #[error("{op}: internal error, please report it: {what}")]
    Internal {
        /// The op that was called.
        op: &'static str,
        /// What was found.
        what: &'static str,
    },
    /// The device layer failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The memory layer failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The pipeline layer failed.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
}

/// Why one kernel cannot have an expression: it is to be cut, or its value to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CannotFuse {
    /// Views that are read and written.
    #[error("{needed} bindings are needed, but one kernel has at most {limit}")]
    Bindings {
        /// Bindings of the kernel and the expression together.
        needed: usize,
        /// The most that the device allows.
        limit: usize,
    },
    /// Ops that the outputs depend on.
    #[error("{needed} ops are needed, but one kernel has at most {limit}")]
    Ops {
        /// The expression's ops.
        needed: usize,
        /// The most of one kernel.
        limit: usize,
    },
    /// The kernel reads its input several times and would compute the expression each time.
    #[error(
        "{needed} ops would be computed again for each element, but at most {limit} are worth it"
    )]
    RepeatedWork {
        /// Ops that are computed again, a function such as `exp` counting as eight.
        needed: usize,
        /// The most that is cheaper than a pass through memory.
        limit: usize,
    },
    /// Elements that a kernel indexes.
    #[error("it has {needed} elements, but one kernel indexes at most {limit}")]
    Elements {
        /// Elements of the expression's shape.
        needed: u64,
        /// The most of one kernel.
        limit: u64,
    },
    /// An op of a user's WGSL has loops, nobody knows how long, and kernels of other ops have loops of their own.
    #[error("the loops of `{name}` may take too long within those of another kernel")]
    Loops {
        /// The op's name.
        name: &'static str,
    },
    /// The expression reads nothing but numbers, so that nothing stands at the binding of the kernel's input.
    #[error("it reads no memory: its value is the same everywhere")]
    Constant,
    /// A view next to the expression is too large for one binding, and only ops on memory run in parts.
    #[error("a view of {bytes} bytes is read or written, but one binding has at most {limit}")]
    LargeView {
        /// Bytes of the view's buffer.
        bytes: u64,
        /// The most that the device binds.
        limit: u64,
    },
    /// Only the kernel of a product with one row of numbers side by side normalises it, or has gates.
    #[error(
        "a product has a norm or gates in its kernel only if x is one contiguous row, and the device has room for it"
    )]
    Rows,
    /// Heads that are no whole vectors of four elements, caches of another dtype, or more than the device binds at once.
    #[error(
        "head sizes and halves that are rotated must be multiples of 4, strides too, and caches dense and of one float dtype"
    )]
    Heads,
    /// Rows that are too long for registers take a kernel with one binding more than there are.
    #[error("rows this long need {needed} bindings, but one kernel has at most {limit}")]
    LongRows {
        /// Bindings of the kernel for long rows.
        needed: usize,
        /// The most that the device allows.
        limit: usize,
    },
}

impl From<CannotFuse> for KernelError {
    fn from(reason: CannotFuse) -> Self {
        Self::CannotFuse(reason)
    }
}

impl KernelError {
    /// A shape, axis, index or element count breaks a rule of the op: whether of one operand, two, the output or an option.
    #[must_use]
    pub const fn is_shape(&self) -> bool {
        matches!(
            self,
            Self::Shape { .. }
                | Self::Operands { .. }
                | Self::Operand { .. }
                | Self::Output { .. }
                | Self::DataLength { .. }
                | Self::BlockRows { .. }
                | Self::BlockBytes { .. }
        )
    }

    /// Something that cannot happen did: a bug of this project, not a mistake of the caller.
    #[must_use]
    pub const fn is_internal(&self) -> bool {
        matches!(self, Self::Internal { .. } | Self::MissingPart { .. })
    }

    /// [`KernelError::Shape`] of an axis that a tensor of this rank does not have.
    pub(crate) fn axis(op: &'static str, axis: usize, rank: usize) -> Self {
        let axis = isize::try_from(axis).unwrap_or(isize::MAX);
        let source = ShapeError::AxisOutOfRange { axis, rank };
        Self::Shape { op, source }
    }

    /// [`KernelError::Dtype`].
    pub(crate) const fn dtype(
        op: &'static str,
        operand: &'static str,
        rule: &'static str,
        got: DType,
    ) -> Self {
        Self::Dtype {
            op,
            operand,
            rule,
            got,
        }
    }

    /// [`KernelError::Operands`].
    pub(crate) fn operands(
        op: &'static str,
        rule: &'static str,
        left: Shape,
        right: Shape,
    ) -> Self {
        let (left, right) = (Box::new(left), Box::new(right));
        Self::Operands {
            op,
            rule,
            left,
            right,
        }
    }

    /// [`KernelError::Operand`].
    pub(crate) fn operand(
        op: &'static str,
        operand: &'static str,
        rule: &'static str,
        got: Shape,
    ) -> Self {
        let got = Box::new(got);
        Self::Operand {
            op,
            operand,
            rule,
            got,
        }
    }

    /// [`KernelError::Output`].
    pub(crate) fn output(op: &'static str, expected: Shape, got: Shape) -> Self {
        let (expected, got) = (Box::new(expected), Box::new(got));
        Self::Output { op, expected, got }
    }

    /// [`KernelError::Option`].
    pub(crate) const fn option(
        op: &'static str,
        option: &'static str,
        rule: &'static str,
        got: i64,
    ) -> Self {
        Self::Option {
            op,
            option,
            rule,
            got,
        }
    }

    /// [`KernelError::Internal`].
    pub(crate) const fn internal(op: &'static str, what: &'static str) -> Self {
        Self::Internal { op, what }
    }

    /// Adapts a [`ShapeError`] for `map_err`: `.map_err(KernelError::shape("matmul"))`. Two shapes that do not fit each other
    /// are [`KernelError::Operands`] in every op.
    pub(crate) fn shape(op: &'static str) -> impl Fn(ShapeError) -> Self {
        move |source| {
            let (rule, left, right) = match &source {
                ShapeError::Broadcast { left, right } => {
                    ("the shapes do not broadcast", left.clone(), right.clone())
                }
                ShapeError::Expand { from, to } => {
                    let to = to.iter().map(|dim| dim.unsigned_abs()).collect();
                    ("left does not broadcast to right", from.clone(), to)
                }
                _ => return Self::Shape { op, source },
            };
            match (Shape::new(left), Shape::new(right)) {
                (Ok(left), Ok(right)) => Self::Operands {
                    op,
                    rule,
                    left: Box::new(left),
                    right: Box::new(right),
                },
                _ => Self::Shape { op, source },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn shapes_that_do_not_fit_each_other_are_one_kind() {
        let [left, right] = [[2, 3], [4, 5]].map(|dims| Shape::new(dims).unwrap());
        let broadcast = ziggurat_core::broadcast_shapes(&[left, right]).unwrap_err();
        let expand = ziggurat_core::Layout::contiguous(left)
            .expand(right)
            .unwrap_err();
        for source in [broadcast, expand] {
            let error = KernelError::shape("add")(source);
            assert!(
                matches!(&error, KernelError::Operands { op: "add", left: l, right: r, .. }
                    if **l == left && **r == right),
                "{error}"
            );
            assert!(error.is_shape());
        }
        let axis = KernelError::shape("sum")(left.axis(7).unwrap_err());
        assert!(matches!(axis, KernelError::Shape { op: "sum", .. }) && axis.is_shape());
    }
}
