//! Losses of classes: the cross entropy of logits, the negative log-likelihood of log-probabilities.
//!
//! All is computed in f32 and rounded once. A class index is looked up, not compared with every class, so what is read of
//! log-probabilities beside their softmax is one number per target.

use ziggurat_core::{DType, Shape};

use crate::compose::assemble::{
    along, check_dtype, check_shape, expand, unsqueeze, vector, without,
};
use crate::compose::composite::Formula;
use crate::fused::{Expression, FusedInput, FusedOp, Id};
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::unary::Unary;
use crate::ops::reduce::Reduce;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

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

/// Options of [`Executor::cross_entropy`] and [`Executor::nll_loss`].
///
/// ```
/// assert_eq!(ziggurat_kernels::CrossEntropyOptions::default().ignore_index, -100);
/// ```
pub type CrossEntropyOptions<'a> = ClassLossOptions<'a, View>;

/// Options of losses of classes, whose weights are a view here and a tensor above.
#[derive(Debug)]
pub struct ClassLossOptions<'a, W> {
    /// A factor per class, a float vector. Of class indices the mean is then over the factors of the targets, as in PyTorch.
    pub weight: Option<&'a W>,
    /// What becomes of the losses of the elements; by default their mean.
    pub reduction: Reduction,
    /// A class index whose elements do not count; by default -100. Of no meaning for probabilities.
    pub ignore_index: i32,
    /// How much of the target is spread over all classes, from 0 to 1; by default 0. Not for `nll_loss`.
    pub label_smoothing: f64,
}

// Derived, these would ask the same of the weights.
impl<W> Clone for ClassLossOptions<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for ClassLossOptions<'_, W> {}

impl<W> Default for ClassLossOptions<'_, W> {
    fn default() -> Self {
        Self {
            weight: None,
            reduction: Reduction::Mean,
            ignore_index: -100,
            label_smoothing: 0.0,
        }
    }
}

impl<W> ClassLossOptions<'_, W> {
    /// The same options with other weights.
    #[must_use]
    pub fn with_weight<'b, V>(&self, weight: Option<&'b V>) -> ClassLossOptions<'b, V> {
        ClassLossOptions {
            weight,
            reduction: self.reduction,
            ignore_index: self.ignore_index,
            label_smoothing: self.label_smoothing,
        }
    }
}

/// Checked operands: the axis of the classes, how many there are, and the shape of the losses.
struct Classes {
    op: &'static str,
    axis: usize,
    count: usize,
    each: Shape,
}

impl Classes {
    fn of(op: &'static str, x: &View) -> Result<Self, KernelError> {
        check_dtype(op, "x", x.dtype, x.dtype.is_float(), "it must be a float")?;
        let axis = usize::from(x.rank() > 1);
        match x.dims().get(axis) {
            Some(&count) if i32::try_from(count).is_ok() && count > 0 => Ok(Self {
                op,
                axis,
                count,
                each: without(op, x.shape(), axis)?,
            }),
            _ => Err(KernelError::Operand {
                op,
                operand: "x",
                rule: "must have classes, below 2^31, along axis 1 (axis 0 for rank 1)",
                got: Box::new(*x.shape()),
            }),
        }
    }

    fn check_weight(&self, weight: Option<&View>) -> Result<(), KernelError> {
        let Some(weight) = weight else { return Ok(()) };
        let (op, dtype) = (self.op, weight.dtype);
        check_dtype(op, "weight", dtype, dtype.is_float(), "it must be a float")?;
        if weight.dims() == [self.count] {
            return Ok(());
        }
        Err(KernelError::Operand {
            op,
            operand: "weight",
            rule: "must be a vector with a number per class",
            got: Box::new(*weight.shape()),
        })
    }

    fn check_out(&self, options: &CrossEntropyOptions<'_>, out: &View) -> Result<(), KernelError> {
        let dtype = out.dtype;
        check_dtype(
            self.op,
            "out",
            dtype,
            dtype.is_float(),
            "it must be a float",
        )?;
        match options.reduction {
            Reduction::None => check_shape(self.op, out, &self.each),
            Reduction::Mean | Reduction::Sum if out.len() == 1 => Ok(()),
            Reduction::Mean | Reduction::Sum => check_shape(self.op, out, &Shape::scalar()),
        }
    }

    /// Indices: an error unless they are integers of the losses' shape.
    fn check_indices(&self, x: &View, target: &View) -> Result<(), KernelError> {
        let dtype = target.dtype;
        check_dtype(
            self.op,
            "target",
            dtype,
            dtype.is_int(),
            "class indices are integers",
        )?;
        if target.shape() == &self.each {
            return Ok(());
        }
        Err(KernelError::Operands {
            op: self.op,
            rule: "class indices must have the input's shape without its class axis",
            left: Box::new(*x.shape()),
            right: Box::new(*target.shape()),
        })
    }
}

fn check_smoothing(op: &'static str, got: f64, most: f64) -> Result<(), KernelError> {
    if (0.0..=most).contains(&got) {
        return Ok(());
    }
    Err(KernelError::Number {
        op,
        number: "label_smoothing",
        rule: if most > 0.0 {
            "must be from 0 to 1"
        } else {
            "must be 0"
        },
        got,
    })
}

impl Executor {
    /// The cross entropy of logits, whose classes lie along axis 1 (axis 0 for rank 1), and a target: class indices,
    /// integers of the shape without that axis; or probabilities, floats of the shape of `x`. `out` has the losses' shape,
    /// or one element if they are reduced.
    ///
    /// An index that is neither a class nor ignored gives NaN.
    ///
    /// # Errors
    /// [`KernelError::Dtype`], [`KernelError::Operand`], [`KernelError::Operands`], [`KernelError::Output`] for operands
    /// that are none of these; [`KernelError::Number`] if `label_smoothing` is not from 0 to 1.
    pub fn cross_entropy(
        &self,
        x: &View,
        target: &View,
        options: &CrossEntropyOptions<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "cross_entropy";
        check_smoothing(OP, options.label_smoothing, 1.0)?;
        let classes = Classes::of(OP, x)?;
        classes.check_weight(options.weight)?;
        classes.check_out(options, out)?;
        let probabilities = target.dtype.is_float();
        if probabilities && target.shape() != x.shape() {
            return Err(KernelError::Operands {
                op: OP,
                rule: "probabilities must have the input's shape",
                left: Box::new(*x.shape()),
                right: Box::new(*target.shape()),
            });
        }
        if !probabilities {
            classes.check_indices(x, target)?;
        }
        let wide = self.converted(x, DType::F32)?;
        let logs = self.alloc(x.shape(), DType::F32)?;
        let _logs = self.log_softmax(&wide, classes.axis, &logs)?;
        if probabilities {
            return self.expected_loss(&classes, &logs, target, options, out);
        }
        self.looked_up(&classes, &logs, target, options, out)
    }

    /// The negative log-likelihood: minus the log-probability, along axis 1 (axis 0 for rank 1), that the class index of
    /// `target` names. [`Executor::cross_entropy`] is this after a log-softmax.
    ///
    /// # Errors
    /// As [`Executor::cross_entropy`]; and if `label_smoothing` is not 0 or the target is not of integers.
    pub fn nll_loss(
        &self,
        x: &View,
        target: &View,
        options: &CrossEntropyOptions<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "nll_loss";
        check_smoothing(OP, options.label_smoothing, 0.0)?;
        let classes = Classes::of(OP, x)?;
        classes.check_weight(options.weight)?;
        classes.check_out(options, out)?;
        classes.check_indices(x, target)?;
        self.looked_up(&classes, x, target, options, out)
    }

    /// The loss of log-probabilities and probabilities.
    fn expected_loss(
        &self,
        classes: &Classes,
        logs: &View,
        target: &View,
        options: &CrossEntropyOptions<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let (op, smoothing) = (classes.op, options.label_smoothing);
        let mut e = Expression::new();
        let (log, share) = (e.input(logs.clone()), e.input(target.clone()));
        let weight = options
            .weight
            .map(|weight| along(op, weight, classes.axis, logs.rank()))
            .transpose()?
            .map(|weight| e.input(weight));
        let mut f = Formula(&mut e);
        let mut share = f.cast(&share, DType::F32)?;
        if smoothing != 0.0 {
            share = f.with(Binary::Mul, &share, 1.0 - smoothing)?;
            share = f.with(Binary::Add, &share, smoothing / classes.count as f64)?;
        }
        // A class without probability does not count, however unlikely the logits make it.
        let none = f.is(Compare::Eq, &share, 0.0)?;
        let each = f.two(Binary::Mul, &share, &log)?;
        let each = f.one(Unary::Neg, &each)?;
        let mut each = f.replace(&none, 0.0, &each)?;
        if let Some(weight) = weight {
            let weight = f.cast(&weight, DType::F32)?;
            each = f.two(Binary::Mul, &each, &weight)?;
        }
        let input = FusedInput {
            expression: &e,
            value: each,
            shape: *logs.shape(),
        };
        let losses = self.alloc(&classes.each, DType::F32)?;
        let _summed = self.reduce_values(Reduce::Sum, &input, &[classes.axis], &losses)?;
        let mut e = Expression::new();
        let loss = e.input(losses);
        self.reduced_loss(classes, e, (loss, None), options.reduction, out)
    }

    /// The loss of log-probabilities and class indices.
    fn looked_up(
        &self,
        classes: &Classes,
        logs: &View,
        target: &View,
        options: &CrossEntropyOptions<'_>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        let (op, axis, smoothing) = (classes.op, classes.axis, options.label_smoothing);
        let index = self.positions(target)?;
        let named = unsqueeze(op, &index, axis)?;
        let found = self.alloc(named.shape(), logs.dtype)?;
        if !named.is_empty() {
            // An index beyond the classes is taken for the nearest one here, and gives NaN below.
            let _found = self.gather(logs, axis, &named, &found)?;
        }
        let losses_view = |view: &View| {
            let layout = ziggurat_core::Layout::contiguous(classes.each);
            view.with_layout(layout)
        };
        let mut e = Expression::new();
        let at = e.input(index.clone());
        let mut weights = None;
        if let Some(weight) = options.weight {
            let own = self.alloc(&classes.each, weight.dtype)?;
            if !own.is_empty() {
                let _own = self.index_select(weight, 0, &index, &own)?;
            }
            let own = e.input(own);
            weights = Some(e.op(FusedOp::Cast(DType::F32), &[own])?);
        }
        let spread = match smoothing {
            0.0 => None,
            _ => Some(self.summed_logs(classes, logs, options.weight)?),
        };
        let log = e.input(losses_view(&found)?);
        let spread = spread.map(|spread| e.input(spread));
        let mut f = Formula(&mut e);
        let log = f.cast(&log, DType::F32)?;
        let mut loss = f.one(Unary::Neg, &log)?;
        if let Some(weight) = &weights {
            loss = f.two(Binary::Mul, &loss, weight)?;
        }
        if let Some(spread) = spread {
            let own = f.with(Binary::Mul, &loss, 1.0 - smoothing)?;
            let share = smoothing / classes.count as f64;
            let spread = f.with(Binary::Mul, &spread, share)?;
            loss = f.two(Binary::Sub, &own, &spread)?;
        }
        let low = f.is(Compare::Lt, &at, 0.0)?;
        let high = f.is(Compare::Ge, &at, classes.count as f64)?;
        let unknown = f.two(Binary::BitwiseOr, &low, &high)?;
        let loss = f.replace(&unknown, f64::NAN, &loss)?;
        let ignored = f.is(Compare::Eq, &at, f64::from(options.ignore_index))?;
        let loss = f.replace(&ignored, 0.0, &loss)?;
        let one = f.0.scalar(DType::F32, 1.0);
        let share = weights.unwrap_or(one);
        let share = f.replace(&ignored, 0.0, &share)?;
        self.reduced_loss(classes, e, (loss, Some(share)), options.reduction, out)
    }

    /// The sum of log-probabilities, times their classes' factors, over all classes.
    fn summed_logs(
        &self,
        classes: &Classes,
        logs: &View,
        weight: Option<&View>,
    ) -> Result<View, KernelError> {
        let mut e = Expression::new();
        let log = e.input(logs.clone());
        let mut value = e.op(FusedOp::Cast(DType::F32), &[log])?;
        if let Some(weight) = weight {
            let weight = e.input(along(classes.op, weight, classes.axis, logs.rank())?);
            let weight = e.op(FusedOp::Cast(DType::F32), &[weight])?;
            value = e.op(FusedOp::Binary(Binary::Mul), &[value, weight])?;
        }
        let out = self.alloc(&classes.each, DType::F32)?;
        let input = FusedInput {
            expression: &e,
            value,
            shape: *logs.shape(),
        };
        let _summed = self.reduce_values(Reduce::Sum, &input, &[classes.axis], &out)?;
        Ok(out)
    }

    /// What is left of losses and their shares in the mean, 1 each if not given.
    fn reduced_loss(
        &self,
        classes: &Classes,
        e: Expression,
        (loss, share): (Id, Option<Id>),
        reduction: Reduction,
        out: &View,
    ) -> Result<Completion, KernelError> {
        if reduction == Reduction::None {
            return self.written(e, loss, out);
        }
        let sum = |value: Id| -> Result<View, KernelError> {
            let total = self.alloc(&vector(classes.op, 1)?, DType::F32)?;
            let axes: Vec<usize> = (0..classes.each.rank()).collect();
            let input = FusedInput {
                expression: &e,
                value,
                shape: classes.each,
            };
            let _summed = self.reduce_values(Reduce::Sum, &input, &axes, &total)?;
            Ok(total)
        };
        let total = sum(loss)?;
        let shares = match share {
            Some(share) if reduction == Reduction::Mean => Some(sum(share)?),
            _ => None,
        };
        let mut e = Expression::new();
        let one = |view: View| {
            view.with_layout(ziggurat_core::Layout::contiguous(Shape::scalar()))
                .and_then(|view| expand(classes.op, &view, *out.shape()))
        };
        let mut value = e.input(one(total)?);
        if reduction == Reduction::Mean {
            let shares = match shares {
                Some(shares) => e.input(one(shares)?),
                None => e.scalar(DType::F32, classes.each.len() as f64),
            };
            value = e.op(FusedOp::Binary(Binary::Div), &[value, shares])?;
        }
        self.written(e, value, out)
    }
}
