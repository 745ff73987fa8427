//! What a row of the sweep says: an op, its dtypes, its operands and their extents, the call, and what it should give.

use ziggurat_kernels::core::{decode, encode};
use ziggurat_kernels::{Completion, DType, Executor, KernelError, View};

use crate::operands::{Arrangement, Expected, Random, arrange, len_in_memory};

/// What operands are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Small odd extents, whose axes do not merge: each operand in every arrangement of memory.
    Views,
    /// No axes, or as few as the op takes.
    Scalar,
    /// Nothing along the axis that the op walks.
    Empty,
    /// Nothing along another axis.
    Hollow,
    /// One element along every axis.
    Ones,
    /// So many elements along the axis, or outputs, by which a kernel is divided among workgroups.
    Size(usize),
}

impl Kind {
    pub(crate) const EDGES: [Self; 4] = [Self::Scalar, Self::Empty, Self::Hollow, Self::Ones];
}

/// Extents of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extents {
    pub(crate) operands: Vec<Vec<usize>>,
    pub(crate) outputs: Vec<Vec<usize>>,
}

/// A problem of a kind, or why the op has none.
pub(crate) type Fit = Result<Extents, &'static str>;

pub(crate) fn fit(operands: &[&[usize]], outputs: &[&[usize]]) -> Fit {
    let all = |dims: &[&[usize]]| dims.iter().map(|dims| dims.to_vec()).collect();
    Ok(Extents {
        operands: all(operands),
        outputs: all(outputs),
    })
}

/// The dtype of an operand or an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// That of the case.
    Same,
    Is(DType),
}

impl Rule {
    pub(crate) fn of(self, dtype: DType) -> DType {
        match self {
            Self::Same => dtype,
            Self::Is(other) => other,
        }
    }
}

type Values = Box<dyn Fn(DType, &[usize], &mut Random) -> Vec<f64>>;

/// An operand: its dtype, its values in row-major order, and what it cannot be, with the reason.
pub(crate) struct Role {
    pub(crate) rule: Rule,
    pub(crate) values: Values,
    pub(crate) not: &'static [(Arrangement, &'static str)],
}

/// Values of an operand, each by itself.
pub(crate) fn each(
    value: impl Fn(DType, &mut Random) -> f64 + 'static,
) -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    move |dtype, dims, rng| {
        let len = dims.iter().product();
        (0..len).map(|_| value(dtype, rng)).collect()
    }
}

/// Any numbers: floats from -2 to 2, integers over their whole range.
pub(crate) fn any() -> impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static {
    each(|dtype, rng| rng.value(dtype))
}

/// Operands as the op sees them: row-major values that their dtypes hold.
pub(crate) struct Given<'a> {
    pub(crate) dtype: DType,
    pub(crate) values: &'a [Vec<f64>],
    pub(crate) dims: &'a [Vec<usize>],
    /// Extents of the outputs.
    pub(crate) out: &'a [Vec<usize>],
}

type Call = Box<dyn Fn(&Executor, &[View], &[View]) -> Result<Completion, KernelError>>;
type Reference = Box<dyn Fn(&Given<'_>) -> Vec<Vec<Expected>>>;

/// An op in one form.
pub(crate) struct Case {
    /// The op's name in the catalogue: what the labels of its kernels begin with.
    pub(crate) op: &'static str,
    pub(crate) form: String,
    pub(crate) dtypes: Vec<DType>,
    pub(crate) roles: Vec<Role>,
    pub(crate) outputs: Vec<Rule>,
    pub(crate) extents: Box<dyn Fn(Kind) -> Fit>,
    pub(crate) call: Call,
    pub(crate) expected: Reference,
    /// The largest size worth its time.
    pub(crate) largest: usize,
}

impl Case {
    /// An op of these dtypes. Without more said, it has one output of the same dtype and no operands.
    pub(crate) fn new(op: &'static str, dtypes: impl IntoIterator<Item = DType>) -> Self {
        Self {
            op,
            form: String::new(),
            dtypes: dtypes.into_iter().collect(),
            roles: Vec::new(),
            outputs: vec![Rule::Same],
            extents: Box::new(|_| Err("no extents are given")),
            call: Box::new(|exec, _, _| Ok(exec.synchronize())),
            expected: Box::new(|_| Vec::new()),
            largest: usize::MAX,
        }
    }

    pub(crate) fn form(mut self, form: impl Into<String>) -> Self {
        self.form = form.into();
        self
    }

    /// One more operand, of the case's dtype.
    pub(crate) fn reads(
        self,
        values: impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static,
    ) -> Self {
        self.reads_as(Rule::Same, &[], values)
    }

    /// One more operand, with what it cannot be.
    pub(crate) fn reads_as(
        mut self,
        rule: Rule,
        not: &'static [(Arrangement, &'static str)],
        values: impl Fn(DType, &[usize], &mut Random) -> Vec<f64> + 'static,
    ) -> Self {
        self.roles.push(Role {
            rule,
            values: Box::new(values),
            not,
        });
        self
    }

    pub(crate) fn writes(mut self, outputs: &[Rule]) -> Self {
        self.outputs = outputs.to_vec();
        self
    }

    pub(crate) fn extents(mut self, extents: impl Fn(Kind) -> Fit + 'static) -> Self {
        self.extents = Box::new(extents);
        self
    }

    /// Sizes up to this one only: for ops that take much more time than elements.
    pub(crate) fn up_to(mut self, largest: usize) -> Self {
        self.largest = largest;
        self
    }

    pub(crate) fn call(
        mut self,
        call: impl Fn(&Executor, &[View], &[View]) -> Result<Completion, KernelError> + 'static,
    ) -> Self {
        self.call = Box::new(call);
        self
    }

    /// The one output's expected values.
    pub(crate) fn gives(self, expected: impl Fn(&Given<'_>) -> Vec<Expected> + 'static) -> Self {
        self.gives_all(move |given| vec![expected(given)])
    }

    pub(crate) fn gives_all(
        mut self,
        expected: impl Fn(&Given<'_>) -> Vec<Vec<Expected>> + 'static,
    ) -> Self {
        self.expected = Box::new(expected);
        self
    }

    pub(crate) fn name(&self) -> String {
        if self.form.is_empty() {
            self.op.to_owned()
        } else {
            format!("{} ({})", self.op, self.form)
        }
    }
}

/// An operand on the host: the bytes that lie in memory, and what the view shows.
pub(crate) struct Placed {
    pub(crate) dtype: DType,
    pub(crate) layout: ziggurat_kernels::Layout,
    pub(crate) bytes: Vec<u8>,
    pub(crate) values: Vec<f64>,
}

impl Placed {
    /// The role's values in an arrangement; whatever lies between is NaN, or 77. An element that is seen in several places
    /// is the first of their values.
    pub(crate) fn new(
        role: &Role,
        dtype: DType,
        dims: &[usize],
        arrangement: Arrangement,
        rng: &mut Random,
    ) -> Self {
        let dtype = role.rule.of(dtype);
        let layout = arrange(arrangement, dims);
        let values = (role.values)(dtype, dims, rng);
        let mut stored: Vec<Option<f64>> = vec![None; len_in_memory(&layout)];
        for (at, &value) in layout.offsets().zip(&values) {
            stored[at].get_or_insert(value);
        }
        let gap = if dtype.is_float() { f64::NAN } else { 77.0 };
        let stored: Vec<f64> = stored
            .into_iter()
            .map(|value| value.unwrap_or(gap))
            .collect();
        let bytes = encode(dtype, &stored);
        let held = decode(dtype, &bytes);
        let values = layout.offsets().map(|at| held[at]).collect();
        Self {
            dtype,
            layout,
            bytes,
            values,
        }
    }
}
