//! Options of convolutions over `N` spatial axes.

use ziggurat_core::Shape;

use super::geometry::Geometry;
use crate::ops::spatial::spread;
use crate::run::call::Call;
use crate::run::error::KernelError;

/// Strides, padding and dilation per spatial axis, and groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvOptions<const N: usize> {
    /// Steps between outputs; 1 by default.
    pub stride: [usize; N],
    /// Zeros before the first element.
    pub padding_begin: [usize; N],
    /// Zeros after the last element.
    pub padding_end: [usize; N],
    /// Steps between kernel taps; 1 by default.
    pub dilation: [usize; N],
    /// Channels and filters are split into this many independent groups; 1 by default.
    pub groups: usize,
}

/// Options of [`Executor::conv2d`](crate::Executor::conv2d), all `[height, width]`.
pub type Conv2dOptions = ConvOptions<2>;

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> Self {
        Self {
            stride: [1; N],
            padding_begin: [0; N],
            padding_end: [0; N],
            dilation: [1; N],
            groups: 1,
        }
    }
}

/// Strides, padding and dilation per spatial axis, and groups, of a transposed convolution: those of the convolution
/// whose gradient it is.
///
/// ```
/// let doubling = ziggurat_kernels::ConvTranspose2dOptions::default().stride([2, 2]);
/// assert_eq!(doubling.output_padding, [0, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvTransposeOptions<const N: usize> {
    /// Steps between the places where inputs are added; 1 by default.
    pub stride: [usize; N],
    /// Elements cut off in front of the result.
    pub padding_begin: [usize; N],
    /// Elements cut off behind the result.
    pub padding_end: [usize; N],
    /// Steps between kernel taps; 1 by default.
    pub dilation: [usize; N],
    /// Elements more behind the result; less than the stride or the dilation.
    pub output_padding: [usize; N],
    /// Channels and filters are split into this many independent groups; 1 by default.
    pub groups: usize,
}

/// Options of a transposed convolution along one axis.
pub type ConvTranspose1dOptions = ConvTransposeOptions<1>;
/// Options of a transposed convolution along two axes, all `[height, width]`.
pub type ConvTranspose2dOptions = ConvTransposeOptions<2>;
/// Options of a transposed convolution along three axes, all `[depth, height, width]`.
pub type ConvTranspose3dOptions = ConvTransposeOptions<3>;

impl<const N: usize> Default for ConvTransposeOptions<N> {
    fn default() -> Self {
        Self {
            stride: [1; N],
            padding_begin: [0; N],
            padding_end: [0; N],
            dilation: [1; N],
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
        self.geometry(x, w, bias)?.output_shape(N)
    }

    /// The geometry of operands of these shapes.
    pub(super) fn geometry(
        &self,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
    ) -> Result<Geometry, KernelError> {
        Geometry::forward(N, x, w, bias, &self.spread())
    }

    /// The call of a convolution with these options.
    #[must_use]
    pub fn call(&self) -> Call {
        Call::Conv {
            axes: N,
            options: self.spread(),
        }
    }

    /// The options of three axes that have no effect along those in front.
    fn spread(&self) -> ConvOptions<3> {
        ConvOptions {
            stride: spread(self.stride, 1),
            padding_begin: spread(self.padding_begin, 0),
            padding_end: spread(self.padding_end, 0),
            dilation: spread(self.dilation, 1),
            groups: self.groups,
        }
    }
}

impl<const N: usize> ConvTransposeOptions<N> {
    /// Steps between the places where inputs are added.
    #[must_use]
    pub fn stride(self, stride: [usize; N]) -> Self {
        Self { stride, ..self }
    }

    /// The same padding at both ends.
    #[must_use]
    pub fn padding(self, padding: [usize; N]) -> Self {
        Self {
            padding_begin: padding,
            padding_end: padding,
            ..self
        }
    }

    /// Elements more at the end of each axis.
    #[must_use]
    pub fn output_padding(self, output_padding: [usize; N]) -> Self {
        Self {
            output_padding,
            ..self
        }
    }

    /// Distance between neighbouring kernel elements.
    #[must_use]
    pub fn dilation(self, dilation: [usize; N]) -> Self {
        Self { dilation, ..self }
    }

    /// Independent groups of channels.
    #[must_use]
    pub fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }

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
        self.geometry(x, w, bias)?.output_shape(N)
    }

    /// The geometry of operands of these shapes.
    pub(super) fn geometry(
        &self,
        x: &Shape,
        w: &Shape,
        bias: Option<&Shape>,
    ) -> Result<Geometry, KernelError> {
        Geometry::transposed(N, x, w, bias, &self.spread())
    }

    /// The call of a transposed convolution with these options.
    #[must_use]
    pub fn call(&self) -> Call {
        Call::ConvTranspose {
            axes: N,
            options: self.spread(),
        }
    }

    /// The options of three axes that have no effect along those in front.
    fn spread(&self) -> ConvTransposeOptions<3> {
        ConvTransposeOptions {
            stride: spread(self.stride, 1),
            padding_begin: spread(self.padding_begin, 0),
            padding_end: spread(self.padding_end, 0),
            dilation: spread(self.dilation, 1),
            output_padding: spread(self.output_padding, 0),
            groups: self.groups,
        }
    }
}
