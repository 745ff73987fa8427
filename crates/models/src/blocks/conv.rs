//! Convolutions with their weights.

use ziggurat_tensor::{Conv1dOptions, Conv2dOptions, Error as TensorError, Tensor};

/// A convolution along one axis.
#[derive(Clone, Debug)]
pub struct Conv1d {
    /// `[out, in, kernel]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
    /// Stride, padding and the like.
    pub options: Conv1dOptions,
}

impl Conv1d {
    /// `[batch, in, length]` to `[batch, out, ..]`, with zeros around.
    ///
    /// # Errors
    /// As [`Tensor::conv1d`].
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        x.conv1d(&self.weight, self.bias.as_ref(), &self.options)
    }
}

/// A convolution of images, padded as TensorFlow's `SAME`: of an extent of n, `ceil(n / stride)` are left, and an odd zero of the
/// padding is at the end.
#[derive(Clone, Debug)]
pub struct Conv2d {
    /// `[out, in / groups, height, width]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
    /// Steps between positions, along both axes.
    pub stride: usize,
    /// Independent groups of channels.
    pub groups: usize,
}

impl Conv2d {
    /// The convolution with the batch norm behind it in its weights: each output has a factor of `scale / √(var + eps)`, and a
    /// bias of `shift - mean · factor`.
    ///
    /// # Errors
    /// If the norm's tensors are not `[out]`, or the device has no memory.
    pub fn with_batch_norm(self, norm: &BatchNorm) -> Result<Self, TensorError> {
        let factor = norm.scale.div(&norm.var.add(norm.eps)?.sqrt()?)?;
        let shift = norm.shift.sub(&norm.mean.mul(&factor)?)?;
        let bias = match &self.bias {
            Some(bias) => bias.mul(&factor)?.add(&shift)?,
            None => shift,
        };
        let weight = self.weight.mul(&factor.reshape([-1, 1, 1, 1])?)?;
        // Computed once, and not with the first image.
        weight.storage()?;
        bias.storage()?;
        Ok(Self {
            weight,
            bias: Some(bias),
            ..self
        })
    }

    /// `[batch, in, height, width]` to `[batch, out, ..]`.
    ///
    /// # Errors
    /// As [`Tensor::conv2d`].
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        let stride = self.stride.max(1);
        let mut options = Conv2dOptions {
            stride: [stride; 2],
            groups: self.groups,
            ..Conv2dOptions::default()
        };
        let extents = x
            .dims()
            .iter()
            .skip(2)
            .zip(self.weight.dims().iter().skip(2));
        let paddings = (options.padding_begin.iter_mut()).zip(&mut options.padding_end);
        for ((&extent, &kernel), (begin, end)) in extents.zip(paddings) {
            let steps = extent.div_ceil(stride).saturating_sub(1);
            let padding = (steps * stride + kernel).saturating_sub(extent);
            (*begin, *end) = (padding / 2, padding.div_ceil(2));
        }
        x.conv2d(&self.weight, self.bias.as_ref(), &options)
    }
}

/// A batch norm with the statistics that it was trained with, `[channels]` each.
#[derive(Clone, Debug)]
pub struct BatchNorm {
    /// What normalised channels are multiplied by.
    pub scale: Tensor,
    /// What is added then.
    pub shift: Tensor,
    /// Means.
    pub mean: Tensor,
    /// Variances.
    pub var: Tensor,
    /// Added to variances.
    pub eps: f32,
}

/// A block of MobileNet V2 and of what came after it: channels become more, each is convolved by itself, and they become fewer
/// again; what came in is added where the extents are the same.
#[derive(Clone, Debug)]
pub struct InvertedBottleneck {
    /// To more channels, by a kernel of one pixel; not in first blocks.
    pub expand: Option<Conv2d>,
    /// Of each channel by itself.
    pub depthwise: Conv2d,
    /// To fewer channels.
    pub project: Conv2d,
    /// Whether what came in is added.
    pub residual: bool,
}

impl InvertedBottleneck {
    /// `[batch, in, height, width]` to `[batch, out, ..]`, with ReLU6 behind all convolutions but the last.
    ///
    /// # Errors
    /// If the extents do not fit.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor, TensorError> {
        let expanded = match &self.expand {
            Some(expand) => expand.forward(x)?.relu6()?,
            None => x.clone(),
        };
        let out = self.depthwise.forward(&expanded)?.relu6()?;
        let out = self.project.forward(&out)?;
        if self.residual { out.add(x) } else { Ok(out) }
    }
}
