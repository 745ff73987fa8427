//! Products with a scale and an addend, and dense layers: one kernel each, by an epilogue of the product.

use ziggurat_core::DType;

use crate::compose::composite::formulas;
use crate::fused::{Expression, FusedOp, FusedOutput, Id};
use crate::run::call::Sink;
use crate::run::completion::Completion;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::view::View;

/// Scales and transposes of [`Executor::gemm`].
///
/// ```
/// assert_eq!(ziggurat_kernels::GemmOptions::default().alpha, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmOptions {
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of the addend; 0 leaves it out, NaN in it included.
    pub beta: f64,
    /// Whether the left matrix is transposed first.
    pub trans_a: bool,
    /// Whether the right matrix is transposed first.
    pub trans_b: bool,
}

impl Default for GemmOptions {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 1.0,
            trans_a: false,
            trans_b: false,
        }
    }
}

fn transposed(op: &'static str, view: &View) -> Result<View, KernelError> {
    view.with_layout(
        view.layout
            .transpose(-1, -2)
            .map_err(KernelError::shape(op))?,
    )
}

/// A factor that an integer dtype must hold.
fn check_factor(number: &'static str, dtype: DType, factor: f64) -> Result<(), KernelError> {
    if dtype.is_float() || factor.fract() == 0.0 {
        return Ok(());
    }
    Err(KernelError::Number {
        op: "gemm",
        number,
        rule: "must be whole for integers",
        got: factor,
    })
}

impl Executor {
    /// `alpha · a · b + beta · c` of matrices (or batches of them), each transposed first if the options say so; `c`
    /// broadcasts to `out`. With `beta` 0 nothing of `c` enters, not even NaN. Floats are computed in f32 and rounded once.
    ///
    /// # Errors
    /// Those of [`Executor::matmul`]; [`KernelError::Dtype`] unless all dtypes agree; [`KernelError::Number`] if a scale of
    /// integers is not whole; [`KernelError::Shape`] if `c` does not broadcast or a matrix has less than two axes.
    pub fn gemm(
        &self,
        a: &View,
        b: &View,
        c: Option<&View>,
        options: &GemmOptions,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "gemm";
        let turned = |view: &View, turn: bool| {
            if turn {
                transposed(OP, view)
            } else {
                Ok(view.clone())
            }
        };
        let (a, b) = (turned(a, options.trans_a)?, turned(b, options.trans_b)?);
        let wide = out.dtype.compute();
        check_factor("alpha", wide, options.alpha)?;
        for (operand, dtype) in [("a", a.dtype)]
            .into_iter()
            .chain(c.map(|c| ("c", c.dtype)))
        {
            if dtype != out.dtype {
                return Err(KernelError::Dtype {
                    op: OP,
                    operand,
                    rule: "it must have the dtype of the output",
                    got: dtype,
                });
            }
        }
        if let Some(c) = c {
            let fits = c.layout.expand(*out.shape());
            let _checked = fits.map_err(KernelError::shape(OP))?;
        }
        let addend = c.filter(|_| options.beta != 0.0);
        if addend.is_some() {
            check_factor("beta", wide, options.beta)?;
        }
        let scales = [options.alpha, options.beta];
        self.product_through(&a, &b, out, |e, product| {
            let addend = addend.map(|c| e.input(c.clone()));
            formulas::scaled_sum(e, &product, addend.as_ref(), scales)
        })
    }

    /// `x · weightᵀ + bias`, a dense layer: `x` is `[.., in]`, `weight` `[out, in]`, `bias` broadcasts to `out` `[.., out]`.
    /// The sum is added in f32 before anything is rounded.
    ///
    /// # Errors
    /// As [`Executor::gemm`].
    pub fn linear(
        &self,
        x: &View,
        weight: &View,
        bias: Option<&View>,
        out: &View,
    ) -> Result<Completion, KernelError> {
        const OP: &str = "linear";
        if weight.rank() != 2 || x.rank() == 0 {
            return Err(KernelError::Operands {
                op: OP,
                rule: "x must be [.., in] and the weight [out, in]",
                left: Box::new(*x.shape()),
                right: Box::new(*weight.shape()),
            });
        }
        // A vector is a row.
        if x.rank() == 1 {
            let row = |view: &View| {
                view.with_layout(view.layout.unsqueeze(0).map_err(KernelError::shape(OP))?)
            };
            return self.linear(&row(x)?, weight, bias, &row(out)?);
        }
        let options = GemmOptions {
            trans_b: true,
            ..GemmOptions::default()
        };
        self.gemm(x, weight, bias, &options, out)
    }

    /// A value of the product of two matrices, in the dtype of `out`: by one kernel, or, where one cannot do it (a view is
    /// larger than a binding), by way of the product in memory, in the dtype that its sums are kept in. Both have the same
    /// bits.
    pub(crate) fn product_through(
        &self,
        a: &View,
        b: &View,
        out: &View,
        value: impl Fn(&mut Expression, Id) -> Result<Id, KernelError>,
    ) -> Result<Completion, KernelError> {
        let wide = a.dtype.compute();
        let mut e = Expression::new();
        let product = e.made(wide);
        let made = value(&mut e, product)?;
        if made == product && [a.dtype, wide].contains(&out.dtype) {
            return self.matmul(a, b, out);
        }
        let made = e.op(FusedOp::Cast(out.dtype), &[made])?;
        let output = FusedOutput {
            expression: &e,
            value: made,
            shape: *out.shape(),
            also: &[],
        };
        match self.matmul(a, b, Sink::new(out).through(&output)) {
            Err(KernelError::CannotFuse(_)) => {
                let product = self.alloc(out.shape(), wide)?;
                let _multiplied = self.matmul(a, b, &product)?;
                let mut e = Expression::new();
                let product = e.input(product);
                let made = value(&mut e, product)?;
                self.written(e, made, out)
            }
            other => other,
        }
    }
}
