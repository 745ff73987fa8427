//! Windows of pooling over `N` spatial axes.

use ziggurat_core::Shape;

use super::geometry;
use crate::run::error::KernelError;

/// Windows of a pooling, per spatial axis in their order (height before width).
///
/// ```
/// use ziggurat_kernels::PoolOptions;
///
/// assert_eq!(PoolOptions::<2>::square(2).stride, [2, 2]);
/// assert_eq!(PoolOptions::new([3, 3]).stride([2, 2]).padding([1, 1]).kernel, [3, 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolOptions<const N: usize = 2> {
    /// Window extents.
    pub kernel: [usize; N],
    /// Steps between windows.
    pub stride: [usize; N],
    /// Steps between a window's elements.
    pub dilation: [usize; N],
    /// Padding before the first element; less than a window.
    pub padding_begin: [usize; N],
    /// Padding after the last element; less than a window.
    pub padding_end: [usize; N],
    /// Round the number of windows up, so that a partial window at the end counts.
    pub ceil_mode: bool,
    /// Averages divide by the window's positions in the padded input, not in the input alone.
    pub count_include_pad: bool,
    /// Averages divide by this instead of a count.
    pub divisor_override: Option<u32>,
}

/// Options of pooling along one axis.
pub type Pool1dOptions = PoolOptions<1>;
/// Options of pooling over two axes, all `[height, width]`.
pub type Pool2dOptions = PoolOptions<2>;
/// Options of pooling along three axes, all `[depth, height, width]`.
pub type Pool3dOptions = PoolOptions<3>;

/// Windows of one element.
impl<const N: usize> Default for PoolOptions<N> {
    fn default() -> Self {
        Self::new([1; N])
    }
}

impl<const N: usize> PoolOptions<N> {
    /// Windows side by side: stride equal to the kernel, no padding.
    #[must_use]
    pub const fn new(kernel: [usize; N]) -> Self {
        Self {
            kernel,
            stride: kernel,
            dilation: [1; N],
            padding_begin: [0; N],
            padding_end: [0; N],
            ceil_mode: false,
            count_include_pad: false,
            divisor_override: None,
        }
    }

    /// Square windows, side by side.
    #[must_use]
    pub const fn square(extent: usize) -> Self {
        Self::new([extent; N])
    }

    /// Steps between windows.
    #[must_use]
    pub const fn stride(self, stride: [usize; N]) -> Self {
        Self { stride, ..self }
    }

    /// The same padding at both ends.
    #[must_use]
    pub const fn padding(self, padding: [usize; N]) -> Self {
        Self {
            padding_begin: padding,
            padding_end: padding,
            ..self
        }
    }

    /// The shape of `x` `[n, c, ..]` pooled, or why the windows do not fit.
    ///
    /// `(len + pads − (kernel − 1) · dilation − 1) / stride + 1` windows per axis, the division rounded down, or up with
    /// `ceil_mode`; then a last window that would start at or beyond `len + padding_begin` is dropped. Every window must
    /// hold an element of the input.
    ///
    /// # Errors
    /// [`KernelError::Operand`] for another rank or windows that do not fit; [`KernelError::Option`] for impossible ones.
    pub fn output_shape(&self, op: &'static str, x: &Shape) -> Result<Shape, KernelError> {
        geometry::Geometry::sliding(op, x, self)?.output_shape(op, x)
    }
}
