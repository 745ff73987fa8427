//! Options of convolutions over `N` spatial axes.

use ziggurat_core::Shape;

use super::geometry::Geometry;
use crate::run::error::KernelError;

/// Strides, padding and dilation per spatial axis, and groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConvOptions<const N: usize> {
    /// Steps between outputs; 1 by default.
    pub strides: [usize; N],
    /// Zeros before the first element.
    pub pads_begin: [usize; N],
    /// Zeros after the last element.
    pub pads_end: [usize; N],
    /// Steps between kernel taps; 1 by default.
    pub dilations: [usize; N],
    /// Channels and filters are split into this many independent groups; 1 by default.
    pub groups: usize,
}

/// Options of [`Executor::conv2d`](crate::Executor::conv2d), all `[height, width]`.
pub type Conv2dOptions = ConvOptions<2>;

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> Self {
        Self {
            strides: [1; N],
            pads_begin: [0; N],
            pads_end: [0; N],
            dilations: [1; N],
            groups: 1,
        }
    }
}

/// Strides, padding and dilation per spatial axis, and groups, of a transposed convolution: those of the convolution
/// whose gradient it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConvTransposeOptions<const N: usize> {
    /// Steps between the places where inputs are added; 1 by default.
    pub strides: [usize; N],
    /// Elements cut off in front of the result.
    pub pads_begin: [usize; N],
    /// Elements cut off behind the result.
    pub pads_end: [usize; N],
    /// Steps between kernel taps; 1 by default.
    pub dilations: [usize; N],
    /// Elements more behind the result; less than the stride or the dilation.
    pub output_padding: [usize; N],
    /// Channels and filters are split into this many independent groups; 1 by default.
    pub groups: usize,
}

impl<const N: usize> Default for ConvTransposeOptions<N> {
    fn default() -> Self {
        Self {
            strides: [1; N],
            pads_begin: [0; N],
            pads_end: [0; N],
            dilations: [1; N],
            output_padding: [0; N],
            groups: 1,
        }
    }
}

impl<const N: usize> ConvOptions<N> {
    /// The shape of what [`Executor::conv`](crate::Executor::conv) writes, or why the operands do not fit.
    ///
    /// # Errors
    /// Like [`Executor::conv`](crate::Executor::conv), dtypes aside.
    pub fn output_shape(
        &self,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
    ) -> Result<Shape, KernelError> {
        Geometry::new(x, w, bias, self)?.output_shape(N)
    }
}

impl<const N: usize> ConvTransposeOptions<N> {
    /// The shape of what [`Executor::conv_transpose`](crate::Executor::conv_transpose) writes, or why the operands do not
    /// fit.
    ///
    /// # Errors
    /// Like [`Executor::conv_transpose`](crate::Executor::conv_transpose), dtypes aside.
    pub fn output_shape(
        &self,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
    ) -> Result<Shape, KernelError> {
        Geometry::transposed(x, w, bias, self)?.output_shape(N)
    }
}
