//! How convolutions move their kernel: options over `N` spatial axes, in the order of the axes (height before width).

use ziggurat_kernels as kernels;

use crate::Error;

/// How [`Tensor::conv2d`](crate::Tensor::conv2d) and its relatives move their kernel.
///
/// ```
/// use ziggurat_tensor::Conv2dOptions;
///
/// let options = Conv2dOptions::default().padding([1, 1]).stride([2, 2]);
/// assert_eq!(options.padding_end, [1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOptions<const N: usize> {
    /// Steps between positions.
    pub stride: [usize; N],
    /// Zeros before the first element of an axis.
    pub padding_begin: [usize; N],
    /// Zeros after the last element of an axis.
    pub padding_end: [usize; N],
    /// Distance between neighbouring kernel elements.
    pub dilation: [usize; N],
    /// Independent groups of channels.
    pub groups: usize,
    /// As much padding as keeps the extents, an odd one more at the end; the other paddings must be 0 then.
    pub same: bool,
}

/// Options of [`Tensor::conv1d`](crate::Tensor::conv1d).
pub type Conv1dOptions = ConvOptions<1>;
/// Options of [`Tensor::conv2d`](crate::Tensor::conv2d), `[height, width]` each.
pub type Conv2dOptions = ConvOptions<2>;
/// Options of [`Tensor::conv3d`](crate::Tensor::conv3d), `[depth, height, width]` each.
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

impl<const N: usize> ConvOptions<N> {
    /// Steps between positions.
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

    /// As much padding as keeps the extents, PyTorch's `padding="same"`.
    #[must_use]
    pub fn same(self) -> Self {
        Self { same: true, ..self }
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

    /// The executor's options for a kernel whose last extents are those of `weight`.
    pub(super) fn resolved(
        &self,
        op: &'static str,
        weight: &[usize],
    ) -> Result<kernels::ConvOptions<N>, Error> {
        let mut options = kernels::ConvOptions {
            stride: self.stride,
            padding_begin: self.padding_begin,
            padding_end: self.padding_end,
            dilation: self.dilation,
            groups: self.groups,
        };
        if !self.same {
            return Ok(options);
        }
        if self.stride != [1; N] {
            return Err(Error::argument(
                op,
                format!(
                    "padding that keeps the extents needs a stride of 1: it is {:?}",
                    self.stride
                ),
            ));
        }
        if self.padding_begin != [0; N] || self.padding_end != [0; N] {
            return Err(Error::argument(
                op,
                format!(
                    "padding is either given or found: `same` with {:?} and {:?}",
                    self.padding_begin, self.padding_end
                ),
            ));
        }
        let kernel = weight.iter().skip(weight.len().saturating_sub(N));
        for (axis, &extent) in kernel.enumerate() {
            let reach = extent
                .saturating_sub(1)
                .saturating_mul(self.dilation.get(axis).copied().unwrap_or(1));
            for (pads, pad) in [
                (&mut options.padding_begin, reach / 2),
                (&mut options.padding_end, reach - reach / 2),
            ] {
                if let Some(slot) = pads.get_mut(axis) {
                    *slot = pad;
                }
            }
        }
        Ok(options)
    }
}
