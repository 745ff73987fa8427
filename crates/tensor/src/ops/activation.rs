//! Activations with parameters: rows of the kernels' composed table, one kernel each.
//!
//! Those without parameters are rows of the unary table. All are computed in f32 and rounded once, also for f16 and bf16;
//! integers and bool give f32.

use ziggurat_core::DType;
use ziggurat_kernels::Composite;

use crate::operand::Side;
use crate::{Error, Tensor};

/// Which half of the input a gated unit's activation is applied to; the other half is the factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateHalf {
    /// The first half is the gate.
    First,
    /// The second half is the gate, as in [`Tensor::glu`].
    Second,
}

impl Tensor {
    /// `x` where it is positive, `slope · x` elsewhere; PyTorch's default slope is 0.01.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[-2.0f32, 3.0], [2])?;
    /// assert_eq!(a.leaky_relu(0.5)?.to_vec_blocking::<f32>()?, [-1.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn leaky_relu(&self, slope: f64) -> Result<Self, Error> {
        self.composed_float("leaky_relu", Composite::LeakyRelu, &[], &[slope])
    }

    /// `x` where it is positive, `weight · x` elsewhere. A weight of rank 1 with more than one element belongs to the
    /// channels, axis 1, of an input with more than two axes, as in PyTorch; every other weight is broadcast.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[-2.0f32, -2.0, 3.0, 3.0], [2, 2])?;
    /// let weight = Tensor::from_slice(&device, &[0.5f32, 0.25], [2])?;
    /// assert_eq!(a.prelu(&weight)?.to_vec_blocking::<f32>()?, [-1.0, -0.5, 3.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the weight has not one element per channel or does not broadcast to the input, or is on another device.
    pub fn prelu(&self, weight: &Self) -> Result<Self, Error> {
        const OP: &str = "prelu";
        self.same_device(OP, weight)?;
        let mut weight = weight.clone();
        if let (&[channels], &[_, extent, _, ..]) = (weight.dims(), self.dims())
            && channels != 1
        {
            if channels != extent {
                let rule = "a weight of rank 1 must have one element or one per channel (axis 1)";
                let given = format!("it has {channels}, the input is {:?}", self.dims());
                return Err(Error::shape(OP, format!("{rule}: {given}")));
            }
            let mut dims = vec![1; self.rank() - 1];
            if let Some(first) = dims.first_mut() {
                *first = channels;
            }
            weight = weight.reshape_to(dims)?;
        }
        let weight = weight.with_layout(OP, |layout| layout.expand(*self.shape()))?;
        self.composed_float(OP, Composite::Prelu, &[&weight], &[])
    }

    /// `x` where it is positive, `alpha · (exp(x) - 1)` elsewhere; PyTorch's default alpha is 1.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn elu(&self, alpha: f64) -> Result<Self, Error> {
        self.composed_float("elu", Composite::Elu, &[], &[alpha])
    }

    /// `x` where it is positive, `alpha · (exp(x / alpha) - 1)` elsewhere; PyTorch's default alpha is 1.
    ///
    /// # Errors
    /// If alpha is 0.
    pub fn celu(&self, alpha: f64) -> Result<Self, Error> {
        self.composed_float("celu", Composite::Celu, &[], &[alpha])
    }

    /// The self-normalising [`Tensor::elu`]: `1.0507 · elu(x, 1.67326)`, with all the digits of its constants.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    pub fn selu(&self) -> Result<Self, Error> {
        self.composed_float("selu", Composite::Selu, &[], &[])
    }

    /// `ln(1 + exp(beta · x)) / beta`, and `x` itself where `beta · x` is beyond `threshold`. PyTorch's defaults are 1 and
    /// 20. It neither overflows nor loses digits, whatever the threshold.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[-1000.0f32, 0.0, 1000.0], [3])?;
    /// assert_eq!(a.softplus(1.0, 20.0)?.to_vec_blocking::<f32>()?, [0.0, 0.6931472, 1000.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If beta is 0.
    pub fn softplus(&self, beta: f64, threshold: f64) -> Result<Self, Error> {
        let numbers = [beta, threshold];
        self.composed_float("softplus", Composite::SoftplusWith, &[], &numbers)
    }

    /// `min(max(alpha · x + beta, 0), 1)`. PyTorch's `hardsigmoid` has 1/6 and 1/2, ONNX's default is 0.2 and 0.5.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    #[doc(alias = "hardsigmoid")]
    pub fn hard_sigmoid(&self, alpha: f64, beta: f64) -> Result<Self, Error> {
        self.composed_float("hard_sigmoid", Composite::HardSigmoid, &[], &[alpha, beta])
    }

    /// `x` between `low` and `high`, which it is cut off at; PyTorch's defaults are -1 and 1.
    ///
    /// # Errors
    /// If `low` is not below `high`.
    #[doc(alias = "hardtanh")]
    pub fn hard_tanh(&self, low: f64, high: f64) -> Result<Self, Error> {
        self.composed_float("hard_tanh", Composite::HardTanh, &[], &[low, high])
    }

    /// `min(max(x, 0), 6)`, in the dtype.
    ///
    /// # Errors
    /// If `self` is bool.
    pub fn relu6(&self) -> Result<Self, Error> {
        const OP: &str = "relu6";
        let operands = [Side::Tensor(self)];
        Self::composed(OP, Composite::Relu6, &operands, &[], self.dtype())?
            .converted(OP, self.dtype())
    }

    /// `x` where it is greater than `alpha`, 0 elsewhere; NaN stays NaN.
    ///
    /// # Errors
    /// If the device has no memory for the result.
    #[doc(alias = "threshold")]
    pub fn thresholded_relu(&self, alpha: f64) -> Result<Self, Error> {
        self.composed_float(
            "thresholded_relu",
            Composite::ThresholdedRelu,
            &[],
            &[alpha],
        )
    }

    /// `x - bias` above `lambd`, `x + bias` below `-lambd`, 0 between; NaN stays NaN. With a bias of 0 it is PyTorch's
    /// `hardshrink`, with one of `lambd` its `softshrink`.
    ///
    /// # Errors
    /// If `lambd` is negative or NaN.
    #[doc(alias = "hardshrink")]
    #[doc(alias = "softshrink")]
    pub fn shrink(&self, lambd: f64, bias: f64) -> Result<Self, Error> {
        self.composed_float("shrink", Composite::Shrink, &[], &[lambd, bias])
    }

    /// 1 at the first maximum along `axis`, 0 elsewhere, in the dtype; NaN counts as the maximum.
    ///
    /// # Errors
    /// If the axis is out of range or has no elements.
    pub fn hardmax(&self, axis: isize) -> Result<Self, Error> {
        const OP: &str = "hardmax";
        let at = self.argmax(axis, true)?;
        if self.rank() == 0 {
            return self.ones_like();
        }
        let (position, extent) = self.axis_and_extent(OP, axis)?;
        let count = i32::try_from(extent).map_err(|_| {
            Error::shape(
                OP,
                format!("the axis must be within i32: it has {extent} elements"),
            )
        })?;
        let mut dims = vec![1; self.rank()];
        if let Some(dim) = dims.get_mut(position) {
            *dim = extent;
        }
        let places = Self::arange(self.device(), 0, count, 1, DType::I32)?.reshape_to(dims)?;
        places.eq(&at)?.converted(OP, self.dtype())
    }

    /// The gated linear unit: the first half along `axis` times the sigmoid of the second half.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[4.0f32, 6.0, 0.0, 0.0], [4])?;
    /// assert_eq!(a.glu(-1)?.to_vec_blocking::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range or its extent is odd.
    pub fn glu(&self, axis: isize) -> Result<Self, Error> {
        self.gated("glu", axis, GateHalf::Second, Composite::Glu)
    }

    /// The gated unit with [`Tensor::silu`]: one half along `axis` times `silu` of the gate. Which half is the gate differs
    /// between models, so it is said.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, GateHalf, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[0.0f32, 100.0, 4.0, 2.0], [4])?;
    /// assert_eq!(a.swiglu(-1, GateHalf::First)?.to_vec_blocking::<f32>()?, [0.0, 200.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::glu`].
    pub fn swiglu(&self, axis: isize, gate: GateHalf) -> Result<Self, Error> {
        self.gated("swiglu", axis, gate, Composite::Swiglu)
    }

    /// The gated unit with [`Tensor::gelu`]: one half along `axis` times `gelu` of the gate.
    ///
    /// # Errors
    /// As [`Tensor::glu`].
    pub fn geglu(&self, axis: isize, gate: GateHalf) -> Result<Self, Error> {
        self.gated("geglu", axis, gate, Composite::Geglu)
    }

    /// The gated unit with [`Tensor::relu`]: one half along `axis` times `relu` of the gate.
    ///
    /// # Errors
    /// As [`Tensor::glu`].
    pub fn reglu(&self, axis: isize, gate: GateHalf) -> Result<Self, Error> {
        self.gated("reglu", axis, gate, Composite::Reglu)
    }

    fn gated(
        &self,
        op: &'static str,
        axis: isize,
        gate: GateHalf,
        row: Composite,
    ) -> Result<Self, Error> {
        let (_, extent) = self.axis_and_extent(op, axis)?;
        if !extent.is_multiple_of(2) {
            let rule = format!("the extent of axis {axis} must be even: it is {extent}");
            return Err(Error::shape(op, rule));
        }
        let first = self.narrow(axis, 0, extent / 2)?;
        let second = self.narrow(axis, extent / 2, extent / 2)?;
        let (gate, factor) = match gate {
            GateHalf::First => (first, second),
            GateHalf::Second => (second, first),
        };
        factor.composed_float(op, row, &[&gate], &[])
    }

    /// The position and extent of an axis, which must exist.
    pub(crate) fn axis_and_extent(
        &self,
        op: &'static str,
        axis: isize,
    ) -> Result<(usize, usize), Error> {
        let position = self
            .shape()
            .axis(axis)
            .map_err(|error| Error::from_shape(op, error))?;
        match self.dims().get(position) {
            Some(&extent) => Ok((position, extent)),
            None => Err(Error::shape(
                op,
                "the input must have an axis: it has rank 0",
            )),
        }
    }
}
