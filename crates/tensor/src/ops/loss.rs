//! Losses: rows of the kernels' composed table, which fuse, and sums.
//!
//! A class index is looked up, not compared with every class, so what is read of log-probabilities besides their softmax is
//! one number per target.
//!
//! All are computed in f32 and rounded once. Input and target must have one shape: broadcasting a loss is nearly always a
//! mistake.

use ziggurat_core::DType;
use ziggurat_kernels::Composite;

use crate::operand::Side;
use crate::{Error, Tensor};

/// What becomes of the losses of the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// They stay.
    None,
    /// Their mean, over what is not ignored; NaN of nothing.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

/// What a loss of classes is computed from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scores {
    /// What a softmax makes probabilities of.
    Logits,
    /// Log-probabilities.
    Logs,
}

/// Options of [`Tensor::cross_entropy`] and [`Tensor::nll_loss`].
///
/// ```
/// use ziggurat_tensor::CrossEntropyOptions;
///
/// let options = CrossEntropyOptions { label_smoothing: 0.1, ..CrossEntropyOptions::default() };
/// assert!(options.weight.is_none());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropyOptions<'a> {
    /// A factor per class, a float vector. Of class indices the mean is then over the factors of the targets, as in PyTorch.
    pub weight: Option<&'a Tensor>,
    /// What becomes of the losses of the elements; by default their mean.
    pub reduction: Reduction,
    /// A class index whose elements do not count; by default -100. Of no meaning for probabilities.
    pub ignore_index: i32,
    /// How much of the target is spread over all classes, from 0 to 1; by default 0. Not for `nll_loss`.
    pub label_smoothing: f64,
}

impl Default for CrossEntropyOptions<'_> {
    fn default() -> Self {
        Self {
            weight: None,
            reduction: Reduction::Mean,
            ignore_index: -100,
            label_smoothing: 0.0,
        }
    }
}

/// What is left of the losses, in the input's dtype.
fn reduced(
    op: &'static str,
    losses: &Tensor,
    reduction: Reduction,
    dtype: DType,
) -> Result<Tensor, Error> {
    let result = match reduction {
        Reduction::None => losses.clone(),
        Reduction::Mean => losses.mean_all()?,
        Reduction::Sum => losses.sum_all()?,
    };
    result.converted(op, dtype)
}

impl Tensor {
    /// Input and target in f32, and the dtype of the result.
    fn loss_operands(&self, op: &'static str, target: &Self) -> Result<(Self, Self, DType), Error> {
        self.same_device(op, target)?;
        if self.shape() != target.shape() {
            let rule = "input and target must have one shape";
            let given = format!("they are {:?} and {:?}", self.dims(), target.dims());
            return Err(Error::shape(op, format!("{rule}: {given}")));
        }
        let dtype = self.as_float(op)?.dtype();
        let of = |tensor: &Self| tensor.converted(op, DType::F32);
        Ok((of(self)?, of(target)?, dtype))
    }

    /// The losses of the elements, in f32.
    fn pointwise(
        &self,
        op: &'static str,
        row: Composite,
        target: &Self,
        numbers: &[f64],
    ) -> Result<Self, Error> {
        let operands = [Side::Tensor(self), Side::Tensor(target)];
        Self::composed(op, row, &operands, numbers, DType::F32)
    }

    /// The squared difference, `(x - target)²`.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Reduction, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let target = Tensor::from_slice(&device, &[1.0f32, 4.0], [2])?;
    /// assert_eq!(x.mse_loss(&target, Reduction::Mean)?.item_blocking::<f32>()?, 2.0);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes differ or the tensors are on different devices.
    pub fn mse_loss(&self, target: &Self, reduction: Reduction) -> Result<Self, Error> {
        const OP: &str = "mse_loss";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let losses = x.pointwise(OP, Composite::MseLoss, &target, &[])?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// The absolute difference, `|x - target|`.
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    pub fn l1_loss(&self, target: &Self, reduction: Reduction) -> Result<Self, Error> {
        const OP: &str = "l1_loss";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let losses = x.pointwise(OP, Composite::L1Loss, &target, &[])?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// With `d = |x - target|`: `d² / (2 beta)` below `beta`, `d - beta / 2` from there on. PyTorch's default is 1; with 0 it
    /// is [`Tensor::l1_loss`].
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`], and if `beta` is negative or NaN.
    pub fn smooth_l1_loss(
        &self,
        target: &Self,
        beta: f64,
        reduction: Reduction,
    ) -> Result<Self, Error> {
        const OP: &str = "smooth_l1_loss";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let losses = x.pointwise(OP, Composite::SmoothL1Loss, &target, &[beta])?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// With `d = |x - target|`: `d² / 2` below `delta`, `delta · (d - delta / 2)` from there on. PyTorch's default is 1.
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`], and if `delta` is not above 0.
    pub fn huber_loss(
        &self,
        target: &Self,
        delta: f64,
        reduction: Reduction,
    ) -> Result<Self, Error> {
        const OP: &str = "huber_loss";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let losses = x.pointwise(OP, Composite::HuberLoss, &target, &[delta])?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// The binary cross entropy of probabilities: `-(t · ln x + (1 - t) · ln(1 - x))`, the logarithms cut off at -100 as in
    /// PyTorch. A value outside [0, 1] gives NaN.
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    pub fn binary_cross_entropy(&self, target: &Self, reduction: Reduction) -> Result<Self, Error> {
        const OP: &str = "binary_cross_entropy";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let losses = x.pointwise(OP, Composite::BinaryCrossEntropy, &target, &[])?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// [`Tensor::binary_cross_entropy`] of `sigmoid(x)`, without overflow and with all digits.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Reduction, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::from_slice(&device, &[0.0f32, 1000.0], [2])?;
    /// let target = Tensor::from_slice(&device, &[1.0f32, 0.0], [2])?;
    /// let losses = x.binary_cross_entropy_with_logits(&target, Reduction::None)?;
    /// assert_eq!(losses.to_vec_blocking::<f32>()?, [0.6931472, 1000.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    pub fn binary_cross_entropy_with_logits(
        &self,
        target: &Self,
        reduction: Reduction,
    ) -> Result<Self, Error> {
        const OP: &str = "binary_cross_entropy_with_logits";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let row = Composite::BinaryCrossEntropyWithLogits;
        let losses = x.pointwise(OP, row, &target, &[])?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// The Kullback-Leibler divergence of log-probabilities `self` from the probabilities `target`:
    /// `t · (ln t - x)`, 0 where `t` is 0. With `log_target` the target holds log-probabilities too, and one of -inf gives
    /// NaN, as in PyTorch. PyTorch's `batchmean`
    /// is the sum divided by the batch size.
    ///
    /// # Errors
    /// As [`Tensor::mse_loss`].
    pub fn kl_div(
        &self,
        target: &Self,
        log_target: bool,
        reduction: Reduction,
    ) -> Result<Self, Error> {
        const OP: &str = "kl_div";
        let (x, target, dtype) = self.loss_operands(OP, target)?;
        let numbers = [f64::from(log_target)];
        let losses = x.pointwise(OP, Composite::KlDiv, &target, &numbers)?;
        reduced(OP, &losses, reduction, dtype)
    }

    /// The cross entropy of logits `self`, whose classes lie along axis 1 (axis 0 for rank 1), and a target: class indices,
    /// integers of the shape without that axis; or probabilities, floats of the shape of `self`.
    ///
    /// An index that is neither a class nor ignored gives NaN.
    ///
    /// ```
    /// use ziggurat_tensor::{CrossEntropyOptions, Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let logits = Tensor::from_slice(&device, &[0.0f32, 0.0, 1000.0, 0.0], [2, 2])?;
    /// let classes = Tensor::from_slice(&device, &[1i32, 0], [2])?;
    /// let loss = logits.cross_entropy(&classes, &CrossEntropyOptions::default())?;
    /// assert_eq!(loss.item_blocking::<f32>()?, 0.5 * 0.6931472);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the target's shape or dtype is none of these, `label_smoothing` is not from 0 to 1, there are no classes, or the
    /// tensors are on different devices.
    pub fn cross_entropy(
        &self,
        target: &Self,
        options: &CrossEntropyOptions<'_>,
    ) -> Result<Self, Error> {
        const OP: &str = "cross_entropy";
        let smoothing = options.label_smoothing;
        if !(0.0..=1.0).contains(&smoothing) {
            let rule = format!("label_smoothing must be from 0 to 1: it is {smoothing}");
            return Err(Error::argument(OP, rule));
        }
        if target.dtype().is_float() {
            self.same_device(OP, target)?;
            if self.shape() != target.shape() {
                let rule = "input and target must have one shape";
                let given = format!("they are {:?} and {:?}", self.dims(), target.dims());
                return Err(Error::shape(OP, format!("{rule}: {given}")));
            }
        }
        self.classified(OP, target, options, Scores::Logits)
    }

    /// The negative log-likelihood: minus the log-probability, along axis 1 (axis 0 for rank 1), that the class index of
    /// `target` names. [`Tensor::cross_entropy`] is this after a log-softmax.
    ///
    /// # Errors
    /// As [`Tensor::cross_entropy`]; and if `label_smoothing` is not 0 or the target is not of integers.
    pub fn nll_loss(
        &self,
        target: &Self,
        options: &CrossEntropyOptions<'_>,
    ) -> Result<Self, Error> {
        const OP: &str = "nll_loss";
        if options.label_smoothing != 0.0 {
            let given = options.label_smoothing;
            let rule = format!("label_smoothing must be 0: it is {given}");
            return Err(Error::argument(OP, rule));
        }
        if target.dtype().is_float() {
            return Err(not_indices(OP, target));
        }
        self.classified(OP, target, options, Scores::Logs)
    }

    /// A loss of classes along axis 1 (axis 0 for rank 1).
    fn classified(
        &self,
        op: &'static str,
        target: &Self,
        options: &CrossEntropyOptions<'_>,
        scores: Scores,
    ) -> Result<Self, Error> {
        self.same_device(op, target)?;
        let (axis, classes) = self.axis_and_extent(op, isize::from(self.rank() != 1))?;
        let Some(count) = i32::try_from(classes).ok().filter(|&count| count > 0) else {
            let rule = "there must be classes, fewer than 2^31";
            let given = format!("along axis {axis} of {} are {classes}", self.shape());
            return Err(Error::shape(op, format!("{rule}: {given}")));
        };
        if !target.dtype().is_float() {
            if !target.dtype().is_int() {
                return Err(not_indices(op, target));
            }
            let mut each = self.dims().to_vec();
            each.remove(axis);
            if target.dims() != each {
                let rule = "class indices must have the input's shape without its class axis";
                let given = format!(
                    "the input is {:?}, they are {:?}",
                    self.dims(),
                    target.dims()
                );
                return Err(Error::shape(op, format!("{rule}: {given}")));
            }
        }
        if let Some(weight) = options.weight {
            self.check_weights(op, weight, classes)?;
        }
        let x = self.as_float(op)?;
        let dtype = x.dtype();
        let logs = |x: &Self| match scores {
            Scores::Logits => x.converted(op, DType::F32)?.log_softmax(axis as isize),
            Scores::Logs => Ok(x.clone()),
        };
        let loss = if target.dtype().is_float() {
            logs(&x)?.expected(op, target, (axis, count), options)?
        } else if scores == Scores::Logits && options.label_smoothing == 0.0 {
            x.looked_up(op, target, (axis, count), options, scores)?
        } else {
            logs(&x)?.looked_up(op, target, (axis, count), options, Scores::Logs)?
        };
        loss.converted(op, dtype)
    }

    /// The loss of log-probabilities and probabilities, in f32.
    fn expected(
        &self,
        op: &'static str,
        target: &Self,
        (axis, count): (usize, i32),
        options: &CrossEntropyOptions<'_>,
    ) -> Result<Self, Error> {
        let smoothing = options.label_smoothing;
        let mut share = target.converted(op, DType::F32)?;
        if smoothing != 0.0 {
            share = share
                .mul(1.0 - smoothing)?
                .add(smoothing / f64::from(count))?;
        }
        // A class without probability does not count, however unlikely the logits make it.
        let none = share.eq(0.0)?;
        let mut each = none.where_(0.0, share.mul(self)?.neg()?)?;
        if let Some(weight) = options.weight {
            each = each.mul(self.per_channel(op, "weight", weight, axis)?)?;
        }
        reduced(
            op,
            &each.sum([axis as isize], false)?,
            options.reduction,
            DType::F32,
        )
    }

    /// The loss of log-probabilities, or of logits without smoothing, and class indices, in f32.
    fn looked_up(
        &self,
        op: &'static str,
        target: &Self,
        (axis, count): (usize, i32),
        options: &CrossEntropyOptions<'_>,
        scores: Scores,
    ) -> Result<Self, Error> {
        let (device, along, smoothing) = (self.device(), axis as isize, options.label_smoothing);
        let index = target.as_i32(op)?;
        let named = index.unsqueeze(along)?;
        // Not checked: an index beyond the classes is taken for the nearest one here, and gives NaN below.
        let (logs, at) = (self.stored()?, named.stored()?);
        let found = Self::produce(device, op, *named.shape(), self.dtype(), |executor, out| {
            executor.gather(logs, axis, at, out)
        })?;
        let found = found.converted(op, DType::F32)?;
        let mut loss = match scores {
            Scores::Logs => found.squeeze_axis(along)?.neg()?,
            Scores::Logits => self.converted(op, DType::F32)?.minus_log_share(
                &found,
                along,
                self.dtype() == DType::F16,
            )?,
        };
        let mut share = None;
        if let Some(weight) = options.weight {
            let (factors, at) = (weight.stored()?, index.stored()?);
            let own = Self::produce(
                device,
                op,
                *index.shape(),
                weight.dtype(),
                |executor, out| executor.index_select(factors, 0, at, out),
            )?;
            let own = own.converted(op, DType::F32)?;
            loss = loss.mul(&own)?;
            share = Some(own);
        }
        if smoothing != 0.0 {
            let mut logs = self.converted(op, DType::F32)?;
            if let Some(weight) = options.weight {
                logs = logs.mul(self.per_channel(op, "weight", weight, axis)?)?;
            }
            let spread = logs.sum([along], false)?;
            let spread = spread.mul(smoothing / f64::from(count))?;
            loss = loss.mul(1.0 - smoothing)?.sub(spread)?;
        }
        let unknown = index.lt(0)?.bitwise_or(index.ge(count)?)?;
        let ignored = index.eq(options.ignore_index)?;
        let loss = ignored.where_(0.0, unknown.where_(f32::NAN, loss)?)?;
        match options.reduction {
            Reduction::None => Ok(loss),
            Reduction::Sum => loss.sum_all(),
            Reduction::Mean => {
                let share = match &share {
                    Some(share) => ignored.where_(0.0, share)?,
                    None => ignored.where_(0.0, 1.0)?,
                };
                loss.sum_all()?.div(share.sum_all()?)
            }
        }
    }

    /// Minus the log-probability of the class of each row whose logit is `found`: `ln Σ exp(x - found)`, for which a row is
    /// read once, and which is exact to the distances between logits. A row with a logit of inf, or of nothing but -inf, has no
    /// probabilities; among others, a class of -inf is impossible. `narrow` logits have an f32 between any two finite ones.
    fn minus_log_share(&self, found: &Self, axis: isize, narrow: bool) -> Result<Self, Error> {
        let impossible = found.eq(f64::NEG_INFINITY)?;
        let distance = self.sub(&impossible.where_(f32::MIN, found)?)?;
        let sum = |distance: Self| distance.logsumexp([axis], true);
        let loss = if narrow {
            // Only a logit of inf is infinitely far from another.
            let loss = sum(distance)?;
            loss.eq(f64::INFINITY)?.where_(f32::NAN, loss)?
        } else {
            sum(self.eq(f64::INFINITY)?.where_(f32::NAN, distance)?)?
        };
        let others = loss.gt(f64::NEG_INFINITY)?;
        let loss = impossible.where_(others.where_(f32::INFINITY, f32::NAN)?, loss)?;
        loss.squeeze_axis(axis)
    }

    /// Factors of classes must be a float vector.
    fn check_weights(&self, op: &'static str, weight: &Self, classes: usize) -> Result<(), Error> {
        self.same_device(op, weight)?;
        if weight.dims() != [classes] {
            let rule = "there must be a weight per class";
            let given = format!("{classes} classes, the weights are {}", weight.shape());
            return Err(Error::shape(op, format!("{rule}: {given}")));
        }
        if !weight.dtype().is_float() {
            let rule = format!("class weights must be floats: they are {}", weight.dtype());
            return Err(Error::dtype(op, rule));
        }
        Ok(())
    }
}

fn not_indices(op: &'static str, target: &Tensor) -> Error {
    let rule = "class indices must be integers: they are";
    Error::dtype(op, format!("{rule} {}", target.dtype()))
}
