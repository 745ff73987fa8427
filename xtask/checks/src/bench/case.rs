//! One row of the bench: an op with its operands, what it must move and compute, and how its result is checked.

use std::cell::RefCell;

use ziggurat_tensor::{DType, Device, Generator, Tensor};

use crate::bench::expect::Check;
use xtask::failure::{Failure, Outcome};

/// One call of an op: it records and returns what it will be.
pub(crate) type Run = Box<dyn Fn() -> Outcome<Tensor>>;

/// An op whose operands are on the device.
pub(crate) struct Ready {
    pub(crate) run: Run,
    /// The largest error of sampled elements.
    pub(crate) check: Check,
    /// What that may be.
    pub(crate) bound: f64,
}

impl Ready {
    /// With the error that results of this dtype may have.
    pub(crate) fn new<E: Into<Failure>>(
        dtype: DType,
        check: Check,
        run: impl Fn() -> Result<Tensor, E> + 'static,
    ) -> Self {
        Self {
            run: Box::new(move || run().map_err(Into::into)),
            check,
            bound: bound(dtype),
        }
    }
}

/// The error, relative to the scale of a sample, that is taken for rounding: four times that of one rounding for narrow
/// floats; for f32 what functions and long sums may have; none for integers.
fn bound(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-5,
        DType::F16 => 2e-3,
        DType::BF16 => 1.6e-2,
        _ => 0.0,
    }
}

/// Bytes that an op must move, each operand once, and the additions and multiplications it must do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) bytes: f64,
    pub(crate) flops: f64,
}

impl Cost {
    pub(crate) fn bytes(bytes: usize) -> Self {
        Self {
            bytes: amount(bytes),
            flops: 0.0,
        }
    }

    pub(crate) fn flops(self, flops: f64) -> Self {
        Self { flops, ..self }
    }
}

/// Makes the operands.
type Prepare = Box<dyn Fn(&Lab) -> Outcome<Ready>>;

/// A row that can be measured.
pub(crate) struct Case {
    /// The suite it was asked for with.
    pub(crate) suite: String,
    pub(crate) op: String,
    pub(crate) dtype: DType,
    pub(crate) shape: String,
    pub(crate) cost: Cost,
    /// What a growth curve is drawn over: elements, or the length of a row.
    pub(crate) size: Option<usize>,
    prepare: Prepare,
}

impl Case {
    pub(crate) fn new(
        op: impl Into<String>,
        dtype: DType,
        shape: impl Into<String>,
        cost: Cost,
        prepare: impl Fn(&Lab) -> Outcome<Ready> + 'static,
    ) -> Self {
        Self {
            suite: String::new(),
            op: op.into(),
            dtype,
            shape: shape.into(),
            cost,
            size: None,
            prepare: Box::new(prepare),
        }
    }

    /// Puts it on a growth curve.
    pub(crate) fn grows(self, op: &str, size: usize) -> Self {
        Self {
            op: op.to_owned(),
            size: Some(size),
            ..self
        }
    }

    pub(crate) fn of_suite(self, suite: &str) -> Self {
        Self {
            suite: suite.to_owned(),
            ..self
        }
    }

    /// What filters look at.
    pub(crate) fn label(&self) -> String {
        format!("{} {} {}", self.op, self.dtype, self.shape)
    }

    pub(crate) fn prepare(&self, lab: &Lab) -> Outcome<Ready> {
        (self.prepare)(lab)
    }
}

/// The device and a source of random operands.
pub(crate) struct Lab {
    pub(crate) device: Device,
    generator: RefCell<Generator>,
}

impl Lab {
    pub(crate) fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            generator: RefCell::new(Generator::new(20)),
        }
    }

    /// Uniform from -1 to 1.
    pub(crate) fn uniform(&self, dims: &[usize], dtype: DType) -> Outcome<Tensor> {
        self.between(dims, [-1.0, 1.0], dtype)
    }

    /// Uniform between two numbers.
    pub(crate) fn between(
        &self,
        dims: &[usize],
        [low, high]: [f32; 2],
        dtype: DType,
    ) -> Outcome<Tensor> {
        let generator = &mut *self.generator.borrow_mut();
        let drawn = Tensor::uniform(&self.device, dims, low, high, dtype, generator)?;
        drawn.eval_blocking()?;
        Ok(drawn)
    }

    /// Integers from 0 to below a number.
    pub(crate) fn integers(&self, dims: &[usize], below: usize, dtype: DType) -> Outcome<Tensor> {
        let generator = &mut *self.generator.borrow_mut();
        let below = i32::try_from(below)?;
        let drawn = Tensor::randint(&self.device, dims, 0, below, generator)?.to_dtype(dtype)?;
        drawn.eval_blocking()?;
        Ok(drawn)
    }
}

/// Sizes as torch_bench.py has them: `64M`, `256K`.
pub(crate) fn short(n: usize) -> String {
    match n {
        _ if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{}M", n >> 20),
        _ if n >= 1 << 10 && n.is_multiple_of(1 << 10) => format!("{}K", n >> 10),
        _ => n.to_string(),
    }
}

/// Extents as torch_bench.py has them: `[8192,1024]`.
pub(crate) fn dims_text(dims: &[usize]) -> String {
    format!("{dims:?}").replace(' ', "")
}

#[expect(
    clippy::cast_precision_loss,
    reason = "amounts of memory and work, to be printed with four digits"
)]
pub(crate) fn amount(n: usize) -> f64 {
    n as f64
}
