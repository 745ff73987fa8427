//! Options of convolutions over `N` spatial axes.

use ziggurat_core::Shape;

use super::geometry::Geometry;
use crate::ops::spatial::spread;
use crate::run::call::{Call, CallKind};
use crate::run::error::KernelError;

/// How a convolution moves its kernel over `N` spatial axes, in the order of the axes (height before width).
///
/// ```
/// let options = ziggurat_kernels::Conv2dOptions::default().padding([1, 1]).stride([2, 2]);
/// assert_eq!(options.padding_end, [1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvOptions<const N: usize> {
    /// Steps between positions; 1 by default.
    pub stride: [usize; N],
    /// Zeros before the first element of an axis.
    pub padding_begin: [usize; N],
    /// Zeros after the last element of an axis.
    pub padding_end: [usize; N],
    /// Distance between neighbouring kernel elements; 1 by default.
    pub dilation: [usize; N],
    /// Independent groups of channels and filters; 1 by default.
    pub groups: usize,
    /// As much padding as keeps the extents, an odd one more at the end; the other paddings must be 0 then, and the strides 1.
    pub same: bool,
}

/// Options of a convolution along one axis.
pub type Conv1dOptions = ConvOptions<1>;
/// Options of a convolution along two axes, `[height, width]` each.
pub type Conv2dOptions = ConvOptions<2>;
/// Options of a convolution along three axes, `[depth, height, width]` each.
pub type Conv3dOptions = ConvOptions<3>;

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> Self {
        Self {
            stride: [1; N],
            padding_begin: [0; N],
            padding_end: [0; N],
            dilation: [1; N],
            groups: 1,
            same: false,
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

/// What options of both directions have: setters, and the geometry of a call.
macro_rules! both_directions {
    ($options:ident, $geometry:path, $op:literal) => {
        impl<const N: usize> $options<N> {
            /// The step along each axis.
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

            #[doc = concat!("The shape of what [`Executor::", $op, "`](crate::Executor::", $op, ") writes, or why the operands do not fit.")]
            ///
            /// # Errors
            #[doc = concat!("Like [`Executor::", $op, "`](crate::Executor::", $op, "), dtypes aside.")]
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
                $geometry(N, x, w, bias, &self.spread())
            }
        }
    };
}

both_directions!(ConvOptions, Geometry::forward, "conv");
both_directions!(ConvTransposeOptions, Geometry::transposed, "conv_transpose");

impl<const N: usize> ConvOptions<N> {
    /// As much padding as keeps the extents, PyTorch's `padding="same"`.
    #[must_use]
    pub fn same(self) -> Self {
        Self { same: true, ..self }
    }

    /// These options with the padding that `same` stands for, where it is set, for a kernel of these extents.
    ///
    /// # Errors
    /// [`KernelError::Option`] for `same` with a stride that is not 1 or with padding.
    pub fn padded(mut self, op: &'static str, kernel: [usize; N]) -> Result<Self, KernelError> {
        if !self.same {
            return Ok(self);
        }
        let refused = |option, rule, values: [usize; N], but| {
            let got = values.into_iter().find(|&value| value != but);
            let got = got.map(|got| i64::try_from(got).unwrap_or(i64::MAX));
            let refuse = |got| KernelError::option(op, option, rule, got);
            got.map_or(Ok(()), |got| Err(refuse(got)))
        };
        refused(
            "stride",
            "must be 1 where the padding keeps the extents",
            self.stride,
            1,
        )?;
        for padding in [self.padding_begin, self.padding_end] {
            let rule = "must be 0 where it is to keep the extents";
            refused("padding", rule, padding, 0)?;
        }
        let pads = (self.padding_begin.iter_mut()).zip(&mut self.padding_end);
        for ((begin, end), (extent, dilation)) in pads.zip(kernel.into_iter().zip(self.dilation)) {
            let reach = extent.saturating_sub(1).saturating_mul(dilation);
            (*begin, *end) = (reach / 2, reach - reach / 2);
        }
        self.same = false;
        Ok(self)
    }

    /// The call of a convolution with these options.
    #[must_use]
    pub fn call(&self) -> Call {
        Call::new(CallKind::Conv {
            axes: N,
            options: self.spread(),
        })
    }

    /// The options of three axes that have no effect along those in front.
    fn spread(&self) -> ConvOptions<3> {
        ConvOptions {
            stride: spread(self.stride, 1),
            padding_begin: spread(self.padding_begin, 0),
            padding_end: spread(self.padding_end, 0),
            dilation: spread(self.dilation, 1),
            groups: self.groups,
            same: self.same,
        }
    }
}

impl<const N: usize> ConvTransposeOptions<N> {
    /// Elements more at the end of each axis.
    #[must_use]
    pub fn output_padding(self, output_padding: [usize; N]) -> Self {
        Self {
            output_padding,
            ..self
        }
    }

    /// The call of a transposed convolution with these options.
    #[must_use]
    pub fn call(&self) -> Call {
        Call::new(CallKind::ConvTranspose {
            axes: N,
            options: self.spread(),
        })
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
