//! Normalisation: layer, RMS, group, instance and batch norm, and vectors of length 1.
//!
//! Statistics and results are computed in f32 and rounded once; variances are those of the population (not corrected).
//! Weights and biases may have another dtype than the input: all are then computed in the common one, and the result has
//! the input's.

use ziggurat_core::DType;
use ziggurat_kernels::{Call, CallKind, Channels, Norm};

use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// What [`Tensor::batch_norm_train`] gives.
#[derive(Clone, Debug)]
pub struct BatchNormTrained {
    /// The normalised input.
    pub output: Tensor,
    /// The batch's mean of each channel, in f32.
    pub mean: Tensor,
    /// The batch's variance of each channel, not corrected, in f32.
    pub var: Tensor,
}

impl Tensor {
    /// `(x - mean) / √(var + eps) · weight + bias` over the last axes, whose extents are `normalized_shape`; `weight` and
    /// `bias` broadcast to that shape.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[10_000.0f32, 10_001.0, 10_002.0], [1, 3])?;
    /// let y = x.layer_norm([3], None, None, 0.0)?.to_vec_blocking::<f32>()?;
    /// assert!((y[0] + 1.2247449).abs() < 1e-6 && y[1] == 0.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the last extents are not `normalized_shape`, weight or bias do not broadcast to it, or the dtype is not a float.
    pub fn layer_norm(
        &self,
        normalized_shape: impl AsRef<[usize]>,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f32,
    ) -> Result<Self, Error> {
        let shape = normalized_shape.as_ref();
        self.over_last("layer_norm", Norm::Layer, shape, (weight, bias), eps)
    }

    /// `x / √(mean(x²) + eps) · weight` over the last axes, whose extents are `normalized_shape`.
    ///
    /// # Errors
    /// As [`Tensor::layer_norm`].
    pub fn rms_norm(
        &self,
        normalized_shape: impl AsRef<[usize]>,
        weight: Option<&Self>,
        eps: f32,
    ) -> Result<Self, Error> {
        let shape = normalized_shape.as_ref();
        self.over_last("rms_norm", Norm::Rms, shape, (weight, None), eps)
    }

    /// Layer norm of `[N, C, …]` over each of `groups` groups of channels with everything behind them; `weight` and `bias` are
    /// `[C]`.
    ///
    /// # Errors
    /// If there is no axis of channels, `groups` does not divide it, weight or bias have other extents, or the dtype is not
    /// a float.
    pub fn group_norm(
        &self,
        groups: usize,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f32,
    ) -> Result<Self, Error> {
        self.by_group("group_norm", groups, (weight, bias), eps)
    }

    /// Layer norm of `[N, C, …]` over the spatial axes of each channel of each sample; `weight` and `bias` are `[C]`.
    ///
    /// # Errors
    /// If there are no spatial axes or they have a single element (nothing varies), weight or bias have other extents, or
    /// the dtype is not a float.
    pub fn instance_norm(
        &self,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f32,
    ) -> Result<Self, Error> {
        const OP: &str = "instance_norm";
        let spatial: usize = self.dims().iter().skip(2).product();
        if self.rank() < 3 || spatial == 1 {
            return Err(Error::shape(
                OP,
                format!(
                    "the spatial axes must have more than one element: the shape is {}",
                    self.shape()
                ),
            ));
        }
        let channels = self.dims().get(1).copied().unwrap_or(0);
        self.by_group(OP, channels, (weight, bias), eps)
    }

    /// `(x - mean) / √(var + eps) · weight + bias` with given statistics per channel, `axis` being that of the channels; the
    /// parameters are `[C]`. One elementwise kernel.
    ///
    /// # Errors
    /// If the axis is out of range, a parameter is not `[C]`, or the dtype is not a float.
    pub fn batch_norm(
        &self,
        axis: isize,
        (mean, var): (&Self, &Self),
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f32,
    ) -> Result<Self, Error> {
        const OP: &str = "batch_norm";
        self.needs_float(OP)?;
        let axis = self.channel_axis(OP, axis)?;
        let along = |name, t: &Self| self.per_channel(OP, name, t, axis);
        let (mean, var) = (along("mean", mean)?, along("var", var)?);
        let weight = weight.map(|t| along("weight", t)).transpose()?;
        let bias = bias.map(|t| along("bias", t)).transpose()?;
        let factor = var.add(eps)?.rsqrt()?;
        let mut y = self.converted(OP, DType::F32)?.sub(&mean)?.mul(&factor)?;
        if let Some(weight) = weight {
            y = y.mul(&weight)?;
        }
        if let Some(bias) = bias {
            y = y.add(&bias)?;
        }
        y.converted(OP, self.dtype())
    }

    /// [`Tensor::batch_norm`] with the statistics of this batch, which are returned too. [`BatchNormTrained::running`] moves
    /// running statistics towards them.
    ///
    /// # Errors
    /// As [`Tensor::batch_norm`], or if there is at most one value per channel.
    pub fn batch_norm_train(
        &self,
        axis: isize,
        weight: Option<&Self>,
        bias: Option<&Self>,
        eps: f32,
    ) -> Result<BatchNormTrained, Error> {
        const OP: &str = "batch_norm_train";
        self.needs_float(OP)?;
        let axis = self.channel_axis(OP, axis)?;
        if self.len() <= self.dims().get(axis).copied().unwrap_or(0) {
            let rule = "there must be more than one value per channel";
            return Err(Error::shape(
                OP,
                format!("{rule}: the shape is {}", self.shape()),
            ));
        }
        let others: Vec<isize> = (0..self.rank())
            .filter(|&other| other != axis)
            .map(|other| other as isize)
            .collect();
        let exact = self.converted(OP, DType::F32)?;
        let (var, mean) = exact.var_mean(others, 0, false)?;
        let output = self.batch_norm(axis as isize, (&mean, &var), weight, bias, eps)?;
        Ok(BatchNormTrained { output, mean, var })
    }

    /// `x / max(‖x‖_p, eps)` along `axes`: vectors of length 1. Zero vectors stay 0.
    ///
    /// # Errors
    /// As [`Tensor::norm`].
    pub fn normalize(
        &self,
        p: impl Into<f64>,
        axes: impl AsRef<[isize]>,
        eps: f32,
    ) -> Result<Self, Error> {
        const OP: &str = "normalize";
        let (p, axes) = (p.into(), self.axes(OP, axes.as_ref())?);
        let input = self.as_float(OP)?;
        let last = (self.rank() - axes.len()..self.rank()).all(|axis| axes.contains(&axis));
        if p == 2.0 && last && !axes.is_empty() && eps > 0.0 {
            let kernel = Norm::Length;
            return input.rows(
                OP,
                kernel,
                axes.len(),
                (None, None),
                Channels::default(),
                eps,
            );
        }
        let axes: Vec<isize> = axes.into_iter().map(|axis| axis as isize).collect();
        let exact = input.converted(OP, DType::F32)?;
        let length = exact.norm(p, axes, true)?.maximum(eps)?;
        exact.div(length)?.converted(OP, input.dtype())
    }

    fn over_last(
        &self,
        op: &'static str,
        kernel: Norm,
        normalized: &[usize],
        (weight, bias): (Option<&Self>, Option<&Self>),
        eps: f32,
    ) -> Result<Self, Error> {
        self.needs_float(op)?;
        let first = self.rank().wrapping_sub(normalized.len());
        if self.dims().get(first..) != Some(normalized) {
            return Err(Error::shape(
                op,
                format!(
                    "the last extents must be normalized_shape: the shape is {}, normalized_shape {normalized:?}",
                    self.shape()
                ),
            ));
        }
        let shape = new_shape(op, normalized)?;
        let spread = |t: Option<&Self>| t.map(|t| t.broadcast_to(shape.dims())).transpose();
        let (weight, bias) = (spread(weight)?, spread(bias)?);
        let affine = (weight.as_ref(), bias.as_ref());
        self.rows(
            op,
            kernel,
            normalized.len(),
            affine,
            Channels::default(),
            eps,
        )
    }

    fn by_group(
        &self,
        op: &'static str,
        groups: usize,
        (weight, bias): (Option<&Self>, Option<&Self>),
        eps: f32,
    ) -> Result<Self, Error> {
        self.needs_float(op)?;
        let &[batch, channels, ref spatial @ ..] = self.dims() else {
            return Err(Error::shape(
                op,
                format!("the input must be [N, C, ...]: it is {}", self.shape()),
            ));
        };
        if groups == 0 && channels > 0 || groups > 0 && !channels.is_multiple_of(groups) {
            return Err(Error::shape(
                op,
                format!("groups must divide the channels: {groups} groups of {channels} channels"),
            ));
        }
        for (name, t) in [("weight", weight), ("bias", bias)] {
            if let Some(t) = t {
                self.per_channel(op, name, t, 1)?;
            }
        }
        let span: usize = spatial.iter().product();
        let per_group = channels.checked_div(groups).unwrap_or(0);
        let split = self.reshape_to([batch, groups, per_group.saturating_mul(span)])?;
        let channels = Channels {
            period: groups.max(1),
            step: per_group,
            span: span.max(1),
        };
        split
            .rows(op, Norm::Layer, 1, (weight, bias), channels, eps)?
            .reshape_to(self.dims())
    }

    /// Normalises over the last `axes` axes.
    fn rows(
        &self,
        op: &'static str,
        kernel: Norm,
        axes: usize,
        (weight, bias): (Option<&Self>, Option<&Self>),
        channels: Channels,
        eps: f32,
    ) -> Result<Self, Error> {
        let given = || [weight, bias].into_iter().flatten();
        for t in given() {
            self.same_device(op, t)?;
        }
        let dtype = given().fold(self.dtype(), |dtype, t| dtype.promote(t.dtype()));
        let ready = |t: &Self| t.converted(op, dtype)?.contiguous();
        let ones;
        let weight = match (weight, bias) {
            (None, Some(bias)) => {
                ones = bias.ones_like()?;
                Some(&ones)
            }
            (weight, _) => weight,
        };
        let (weight, bias) = (weight.map(ready).transpose()?, bias.map(ready).transpose()?);
        let input = self.converted(op, dtype)?;
        let given: Vec<&Self> = weight.iter().chain(&bias).collect();
        let call = Call::new(CallKind::Norm {
            op: kernel,
            axes,
            eps: eps.into(),
            channels,
        });
        let out = input.produce_call(op, (*self.shape(), dtype), call, &given, None)?;
        out.converted(op, self.dtype())
    }

    fn channel_axis(&self, op: &'static str, axis: isize) -> Result<usize, Error> {
        let found = self
            .shape()
            .axis(axis)
            .map_err(|error| Error::from_shape(op, error))?;
        if self.rank() == 0 {
            return Err(Error::shape(op, "rank 0 has no channels"));
        }
        Ok(found)
    }

    /// A parameter `[C]` in f32, to be broadcast along the channels.
    pub(super) fn per_channel(
        &self,
        op: &'static str,
        name: &str,
        t: &Self,
        axis: usize,
    ) -> Result<Self, Error> {
        self.same_device(op, t)?;
        let channels = self.dims().get(axis).copied().unwrap_or(0);
        if t.dims() != [channels] {
            return Err(Error::shape(
                op,
                format!(
                    "{name} must be [{channels}], one per channel: it is {}",
                    t.shape()
                ),
            ));
        }
        let mut dims = vec![1; self.rank()];
        if let Some(dim) = dims.get_mut(axis) {
            *dim = channels;
        }
        t.converted(op, DType::F32)?.reshape_to(dims)
    }
}

impl BatchNormTrained {
    /// Running statistics after this batch: `running · momentum + batch · (1 - momentum)`, for mean and variance. (PyTorch
    /// calls `1 - momentum` the momentum, and corrects the variance it keeps.)
    ///
    /// # Errors
    /// If the running statistics do not have the channels' shape.
    pub fn running(
        &self,
        (mean, var): (&Tensor, &Tensor),
        momentum: f32,
    ) -> Result<(Tensor, Tensor), Error> {
        let moved = |running: &Tensor, batch: &Tensor| {
            if running.dims() != batch.dims() {
                return Err(Error::shape(
                    "running",
                    format!("{} is not {}", running.shape(), batch.shape()),
                ));
            }
            running.mul(momentum)?.add(batch.mul(1.0 - momentum)?)
        };
        Ok((moved(mean, &self.mean)?, moved(var, &self.var)?))
    }
}
