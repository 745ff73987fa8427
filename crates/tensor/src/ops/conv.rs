//! Convolution (cross-correlation, as everywhere in machine learning) in one and two dimensions.
//!
//! One dimension is two with a height of 1. Padding may differ between the two ends of an axis.

use ziggurat_core::Shape;

use super::window::Window;
use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// How [`Tensor::conv2d`] moves its kernel; `[height, width]` each.
///
/// ```
/// use ziggurat_tensor::Conv2dOptions;
///
/// let options = Conv2dOptions::default().padding([1, 1]).stride([2, 2]);
/// assert_eq!(options.padding_end, [1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dOptions {
    /// Steps between positions.
    pub stride: [usize; 2],
    /// Zeros before the first row and column.
    pub padding_begin: [usize; 2],
    /// Zeros after the last row and column.
    pub padding_end: [usize; 2],
    /// Distance between neighbouring kernel elements.
    pub dilation: [usize; 2],
    /// Independent groups of channels.
    pub groups: usize,
}

impl Default for Conv2dOptions {
    fn default() -> Self {
        Self {
            stride: [1; 2],
            padding_begin: [0; 2],
            padding_end: [0; 2],
            dilation: [1; 2],
            groups: 1,
        }
    }
}

impl Conv2dOptions {
    /// Steps between positions.
    #[must_use]
    pub fn stride(self, stride: [usize; 2]) -> Self {
        Self { stride, ..self }
    }

    /// The same padding at both ends.
    #[must_use]
    pub fn padding(self, padding: [usize; 2]) -> Self {
        Self {
            padding_begin: padding,
            padding_end: padding,
            ..self
        }
    }

    /// Distance between neighbouring kernel elements.
    #[must_use]
    pub fn dilation(self, dilation: [usize; 2]) -> Self {
        Self { dilation, ..self }
    }

    /// Independent groups of channels.
    #[must_use]
    pub fn groups(self, groups: usize) -> Self {
        Self { groups, ..self }
    }
}

/// How [`Tensor::conv1d`] moves its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv1dOptions {
    /// Steps between positions.
    pub stride: usize,
    /// Zeros before the first element.
    pub padding_begin: usize,
    /// Zeros after the last element.
    pub padding_end: usize,
    /// Distance between neighbouring kernel elements.
    pub dilation: usize,
    /// Independent groups of channels.
    pub groups: usize,
}

impl Default for Conv1dOptions {
    fn default() -> Self {
        Self {
            stride: 1,
            padding_begin: 0,
            padding_end: 0,
            dilation: 1,
            groups: 1,
        }
    }
}

impl Conv1dOptions {
    /// The same padding at both ends.
    #[must_use]
    pub fn padding(self, padding: usize) -> Self {
        Self {
            padding_begin: padding,
            padding_end: padding,
            ..self
        }
    }
}

impl Tensor {
    /// Cross-correlation of `self` `[N, C, H, W]` with `weight` `[M, C / groups, KH, KW]`, plus `bias` `[M]`, with zero padding:
    /// the result is `[N, M, H', W']` with `H' = (H + padding - (KH - 1) · dilation - 1) / stride + 1`, rounded down. A single
    /// image `[C, H, W]` gives `[M, H', W']`.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Conv2dOptions, DType, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let x = Tensor::ones(&device, [1, 1, 3, 3], DType::F32)?;
    /// let w = Tensor::ones(&device, [1, 1, 2, 2], DType::F32)?;
    /// let y = x.conv2d(&w, None, &Conv2dOptions::default())?;
    /// assert_eq!(y.dims(), [1, 1, 2, 2]);
    /// assert_eq!(y.to_vec_blocking::<f32>()?, [4.0; 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If ranks or channels do not fit, groups do not divide them, the kernel is larger than the padded input, or the dtype
    /// is not a float.
    pub fn conv2d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &Conv2dOptions,
    ) -> Result<Self, Error> {
        if self.rank() == 3 {
            return self
                .unsqueeze(0)?
                .conv("conv2d", weight, bias, options)?
                .squeeze_axis(0);
        }
        self.conv("conv2d", weight, bias, options)
    }

    /// [`Tensor::conv2d`] in one dimension: `self` `[N, C, L]` (or `[C, L]`), `weight` `[M, C / groups, K]`, `bias` `[M]`.
    ///
    /// # Errors
    /// As [`Tensor::conv2d`].
    pub fn conv1d(
        &self,
        weight: &Self,
        bias: Option<&Self>,
        options: &Conv1dOptions,
    ) -> Result<Self, Error> {
        const OP: &str = "conv1d";
        let single = self.rank() == 2;
        if !(single || self.rank() == 3) || weight.rank() != 3 {
            return Err(Error::shape(
                OP,
                format!(
                    "input must be [N, C, L] and weight [M, C, K]: {} and {} given",
                    self.shape(),
                    weight.shape()
                ),
            ));
        }
        let input = if single {
            self.unsqueeze(0)?
        } else {
            self.clone()
        };
        let options = Conv2dOptions {
            stride: [1, options.stride],
            padding_begin: [0, options.padding_begin],
            padding_end: [0, options.padding_end],
            dilation: [1, options.dilation],
            groups: options.groups,
        };
        let out = input
            .unsqueeze(2)?
            .conv(OP, &weight.unsqueeze(2)?, bias, &options)?
            .squeeze_axis(2)?;
        if single { out.squeeze_axis(0) } else { Ok(out) }
    }

    fn conv(
        &self,
        op: &'static str,
        weight: &Self,
        bias: Option<&Self>,
        options: &Conv2dOptions,
    ) -> Result<Self, Error> {
        self.same_device(op, weight)?;
        let mut dtype = self.dtype().promote(weight.dtype());
        if let Some(bias) = bias {
            self.same_device(op, bias)?;
            dtype = dtype.promote(bias.dtype());
        }
        let shape = conv_shape(op, self, weight, bias, options)?;
        let (input, weight) = (self.converted(op, dtype)?, weight.converted(op, dtype)?);
        let bias = bias.map(|bias| bias.converted(op, dtype)).transpose()?;
        let (input, weight) = (input.view()?, weight.view()?);
        let bias = bias.as_ref().map(Self::view).transpose()?;
        let options = ziggurat_kernels::Conv2dOptions {
            strides: options.stride,
            pads_begin: options.padding_begin,
            pads_end: options.padding_end,
            dilations: options.dilation,
            groups: options.groups,
        };
        Self::produce(self.device(), op, shape, dtype, |executor, out| {
            executor.conv2d(input, weight, bias, &options, out)
        })
    }
}

fn conv_shape(
    op: &'static str,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &Conv2dOptions,
) -> Result<Shape, Error> {
    let given = || {
        format!(
            "input {}, weight {}, {} groups",
            input.shape(),
            weight.shape(),
            options.groups
        )
    };
    let (&[n, c, h, w], &[m, per_group, kh, kw]) = (input.dims(), weight.dims()) else {
        return Err(Error::shape(
            op,
            format!(
                "input must be [N, C, H, W] and weight [M, C / groups, KH, KW]: {}",
                given()
            ),
        ));
    };
    let groups = options.groups;
    if groups == 0 || !c.is_multiple_of(groups) || !m.is_multiple_of(groups) {
        return Err(Error::shape(
            op,
            format!("groups must divide input and output channels: {}", given()),
        ));
    }
    if c / groups != per_group {
        return Err(Error::shape(
            op,
            format!("weight must have C / groups input channels: {}", given()),
        ));
    }
    if let Some(bias) = bias.filter(|bias| bias.dims() != [m]) {
        return Err(Error::shape(
            op,
            format!("bias must be [M] = [{m}]: it is {}", bias.shape()),
        ));
    }
    let axis = |input, kernel, at: usize| Window {
        input,
        kernel,
        stride: options.stride[at],
        dilation: options.dilation[at],
        begin: options.padding_begin[at],
        end: options.padding_end[at],
        ceil: false,
    };
    let height = axis(h, kh, 0).positions(op)?;
    let width = axis(w, kw, 1).positions(op)?;
    new_shape(op, &[n, m, height, width])
}
