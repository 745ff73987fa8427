//! [`Family`]: how the calls of one op are planned and run.
//!
//! A call points to its family, and nothing else names all of them: a program contains the ops whose calls it makes, and no
//! others. In a browser, where programs are downloaded, that is a good part of them.

use crate::ops::{
    arg_reduce, attention, conv, matmul, norm, quantised, quantize_rows, reduce, rope, softmax,
};
use crate::run::call::{Call, CallKind};
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Planned, Planner};

/// How the calls of one op are planned and run.
#[derive(Debug)]
pub(crate) struct Family {
    /// Which kernels, with which parameters, over which grids.
    pub(super) plan: fn(&mut Planner<'_>, &CallKind) -> Result<Planned, KernelError>,
    /// Runs a call on parts of its operands.
    pub(super) run_parts: fn(&Executor, &Ends<'_>, &Call) -> Result<(), KernelError>,
}

/// A family of the calls of one kind; the pattern binds their options.
macro_rules! family {
    ($kind:pat, |$p:ident| $plan:expr, |$exec:ident, $ends:ident| $parts:expr) => {
        Family {
            plan: |$p, kind| match kind {
                $kind => $plan,
                _ => Err(ANOTHER),
            },
            run_parts: |$exec, $ends, call| match call.kind() {
                $kind => $parts,
                _ => Err(ANOTHER),
            },
        }
    };
}

/// [`Family::of`] is the only place that pairs the two.
const ANOTHER: KernelError = KernelError::internal("call", "a call has the family of another op");

static REDUCE: Family = family!(
    CallKind::Reduce { op, axes },
    |p| reduce::plan(p, *op, axes.as_slice()),
    |exec, ends| reduce::run_parts(exec, ends, *op, axes.as_slice())
);
static VAR_MEAN: Family = family!(
    CallKind::VarMean { correction, axes },
    |p| reduce::plan_var_mean(p, correction.get(), axes.as_slice()),
    |exec, ends| reduce::run_var_mean_parts(exec, ends, correction.get(), axes.as_slice())
);
static SEARCH: Family = family!(
    CallKind::Search {
        op,
        axes,
        select_last
    },
    |p| arg_reduce::plan(p, *op, axes.as_slice(), *select_last),
    |exec, ends| arg_reduce::run_parts(exec, ends, *op, axes.as_slice(), *select_last)
);
static SOFTMAX: Family = family!(
    CallKind::Softmax { kind, axis },
    |p| softmax::plan(p, *kind, *axis),
    |exec, ends| softmax::run_parts(exec, ends, *kind, *axis)
);
static NORM: Family = family!(
    CallKind::Norm {
        op,
        axes,
        eps,
        channels
    },
    |p| norm::plan(p, *op, (*axes, *channels), eps.get()),
    |exec, ends| norm::run_parts(exec, ends, *op, (*axes, *channels), eps.get())
);
static ROPE: Family = family!(
    CallKind::Rope { options, rows },
    |p| rope::plan(p, *options, *rows),
    |exec, ends| rope::run_parts(exec, ends, *options, *rows)
);
static MATMUL: Family = family!(
    CallKind::Matmul { precision },
    |p| matmul::plan(p, *precision),
    |exec, ends| matmul::run_parts(exec, ends, *precision)
);
static QUANTIZED_LINEAR: Family = family!(
    CallKind::QuantizedLinear { weight, form },
    |p| quantised::plan_linear(p, weight, *form),
    |exec, ends| quantised::run_linear(exec, ends, weight, *form)
);
static DEQUANTIZE: Family = family!(
    CallKind::Dequantize { blocks, rows },
    |p| quantised::plan_dequantize(p, blocks, *rows),
    |exec, ends| quantised::run_dequantize(exec, ends, blocks, *rows)
);
static QUANTIZED_EMBEDDING: Family = family!(
    CallKind::QuantizedEmbedding { table },
    |p| quantised::plan_embedding(p, table),
    |exec, ends| quantised::run_embedding(exec, ends, table)
);
static QUANTIZE_ROWS: Family = family!(
    CallKind::QuantizeRows,
    |p| quantize_rows::plan(p),
    |exec, ends| quantize_rows::run_parts(exec, ends)
);
static ATTENTION: Family = family!(
    CallKind::Attention { options },
    |p| attention::plan(p, options),
    |exec, ends| attention::run_parts(exec, ends, options)
);
static CONV: Family = Family {
    plan: |p, kind| match kind {
        CallKind::Conv { axes, options } => conv::plan_forward(p, *axes, options),
        _ => Err(ANOTHER),
    },
    run_parts: conv::run_parts,
};
static CONV_TRANSPOSE: Family = Family {
    plan: |p, kind| match kind {
        CallKind::ConvTranspose { axes, options } => conv::plan_transposed(p, *axes, options),
        _ => Err(ANOTHER),
    },
    run_parts: conv::run_parts,
};

impl Family {
    /// The family of a kind of calls.
    #[inline(always)]
    pub(super) const fn of(kind: &CallKind) -> &'static Self {
        match kind {
            CallKind::Reduce { .. } => &REDUCE,
            CallKind::VarMean { .. } => &VAR_MEAN,
            CallKind::Search { .. } => &SEARCH,
            CallKind::Softmax { .. } => &SOFTMAX,
            CallKind::Norm { .. } => &NORM,
            CallKind::Rope { .. } => &ROPE,
            CallKind::Matmul { .. } => &MATMUL,
            CallKind::QuantizedLinear { .. } => &QUANTIZED_LINEAR,
            CallKind::Dequantize { .. } => &DEQUANTIZE,
            CallKind::QuantizedEmbedding { .. } => &QUANTIZED_EMBEDDING,
            CallKind::QuantizeRows => &QUANTIZE_ROWS,
            CallKind::Attention { .. } => &ATTENTION,
            CallKind::Conv { .. } => &CONV,
            CallKind::ConvTranspose { .. } => &CONV_TRANSPOSE,
        }
    }
}
