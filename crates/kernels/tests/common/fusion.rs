//! One expression three times: as a fused kernel, op by op through the executor, and in f64 on the host.

use ziggurat_kernels::core::decode;
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::reference::{binary, cast, compare, predicate, round_to, unary};
use ziggurat_kernels::{
    Binary, Compare, DType, Executor, Expression, FusedInput, FusedOp, Predicate, Shape, Unary,
    View,
};

use crate::operands::{Arrangement, Random, random, shape};

/// A node, kept beside the expression so that it can be computed op by op.
#[derive(Debug)]
enum Made {
    Input(View, Vec<f64>),
    Scalar(f64),
    Op(FusedOp, Vec<usize>),
}

/// An expression and the means to compute it without fusion.
pub(crate) struct Case {
    shape: Shape,
    expression: Expression,
    made: Vec<(Made, Id)>,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (made, id)) in self.made.iter().enumerate() {
            let dtype = self.expression.dtype(*id);
            match made {
                Made::Input(view, _) => writeln!(f, "{i}: {dtype} input {:?}", view.layout)?,
                Made::Scalar(value) => writeln!(f, "{i}: {dtype} {value}")?,
                Made::Op(op, of) => writeln!(f, "{i}: {dtype} {op:?} of {of:?}")?,
            }
        }
        Ok(())
    }
}

impl Case {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            shape,
            expression: Expression::new(),
            made: Vec::new(),
        }
    }

    /// A view that broadcasts to the shape by repeating its values as they are.
    pub(crate) fn input(&mut self, view: View, values: Vec<f64>) {
        let id = self.expression.input(view.clone());
        self.made.push((Made::Input(view, values), id));
    }

    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) {
        let id = self.expression.scalar(dtype, value);
        self.made.push((Made::Scalar(value), id));
    }

    pub(crate) fn op(&mut self, op: FusedOp, of: &[usize]) {
        let ids: Vec<Id> = of.iter().map(|&i| self.made[i].1).collect();
        let id = self.expression.op(op, &ids).unwrap();
        self.made.push((Made::Op(op, of.to_vec()), id));
    }

    /// Nodes made, equal ones each time.
    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }

    pub(crate) fn is_op(&self, node: usize) -> bool {
        matches!(self.made[node].0, Made::Op(..))
    }

    pub(crate) fn ops(&self) -> usize {
        let is_op = |made: &&(Made, Id)| matches!(made.0, Made::Op(..));
        self.made.iter().filter(is_op).count()
    }

    pub(crate) fn dtype(&self, node: usize) -> DType {
        self.expression.dtype(self.made[node].1)
    }

    /// A node as what a kernel may read in place of a view.
    pub(crate) fn value(&self, node: usize) -> FusedInput<'_> {
        FusedInput {
            expression: &self.expression,
            value: self.made[node].1,
            shape: self.shape,
        }
    }

    /// The bytes of these nodes, from one kernel.
    pub(crate) fn fused(&self, exec: &Executor, nodes: &[usize]) -> Vec<Vec<u8>> {
        let outputs: Vec<(Id, View)> = nodes
            .iter()
            .map(|&node| {
                let view = exec.alloc(&self.shape, self.dtype(node)).unwrap();
                (self.made[node].1, view)
            })
            .collect();
        let _done = exec.fused(&self.expression, &self.shape, &outputs).unwrap();
        let views: Vec<&View> = outputs.iter().map(|(_, view)| view).collect();
        exec.download_many(&views).unwrap().wait().unwrap()
    }

    /// The values of these nodes by the reference of each op, rounded to its dtype.
    pub(crate) fn reference(&self, nodes: &[usize]) -> Vec<Vec<f64>> {
        let len = self.shape.len();
        let mut all: Vec<Vec<f64>> = Vec::new();
        for (i, (made, _)) in self.made.iter().enumerate() {
            let dtype = self.dtype(i);
            let value = |at: usize| match made {
                Made::Input(_, values) => values[at % values.len()],
                Made::Scalar(value) => round_to(dtype, *value),
                Made::Op(op, of) => {
                    let from = self.dtype(of[0]);
                    let x = |k: usize| all[of[k]][at];
                    let exact = match op {
                        FusedOp::Unary(op) => unary(*op, from, x(0)),
                        FusedOp::Binary(op) => binary(*op, from, x(0), x(1)),
                        FusedOp::Compare(op) => f64::from(u8::from(compare(*op, x(0), x(1)))),
                        FusedOp::Predicate(op) => f64::from(u8::from(predicate(*op, x(0)))),
                        FusedOp::Cast(to) => cast(from, *to, x(0)),
                        _ => x(if x(0) == 0.0 { 2 } else { 1 }),
                    };
                    round_to(dtype, exact)
                }
            };
            all.push((0..len).map(value).collect());
        }
        nodes.iter().map(|&node| all[node].clone()).collect()
    }

    /// The bytes of these nodes, each op through memory.
    pub(crate) fn unfused(&self, exec: &Executor, nodes: &[usize]) -> Vec<Vec<u8>> {
        let views = self.stored(exec);
        let wanted: Vec<&View> = nodes.iter().map(|&node| &views[node]).collect();
        exec.download_many(&wanted).unwrap().wait().unwrap()
    }

    /// All nodes, each op through memory.
    pub(crate) fn stored(&self, exec: &Executor) -> Vec<View> {
        let mut views: Vec<View> = Vec::new();
        for (i, (made, _)) in self.made.iter().enumerate() {
            let out = exec.alloc(&self.shape, self.dtype(i)).unwrap();
            let _done = match made {
                Made::Input(view, _) => exec.copy(view, &out).unwrap(),
                Made::Scalar(value) => exec.fill(&out, *value).unwrap(),
                Made::Op(FusedOp::Unary(op), of) => exec.unary(*op, &views[of[0]], &out).unwrap(),
                Made::Op(FusedOp::Binary(op), of) => exec
                    .binary(*op, &views[of[0]], &views[of[1]], &out)
                    .unwrap(),
                Made::Op(FusedOp::Compare(op), of) => exec
                    .compare(*op, &views[of[0]], &views[of[1]], &out)
                    .unwrap(),
                Made::Op(FusedOp::Predicate(op), of) => {
                    exec.predicate(*op, &views[of[0]], &out).unwrap()
                }
                Made::Op(FusedOp::Where, of) => exec
                    .where_(&views[of[0]], &views[of[1]], &views[of[2]], &out)
                    .unwrap(),
                Made::Op(_, of) => exec.cast(&views[of[0]], &out).unwrap(),
            };
            views.push(out);
        }
        views
    }
}

/// Ops whose unfused result has the same bits whoever compiles it.
pub(crate) fn exact_ops(dtype: DType) -> Vec<FusedOp> {
    let unary = [
        Unary::Abs,
        Unary::Neg,
        Unary::Sign,
        Unary::Square,
        Unary::Floor,
        Unary::Round,
        Unary::Relu,
        Unary::BitwiseNot,
        Unary::LogicalNot,
    ];
    let binary = [
        Binary::Add,
        Binary::Sub,
        Binary::Mul,
        Binary::Maximum,
        Binary::Minimum,
        Binary::BitwiseXor,
        Binary::BitwiseAnd,
    ];
    let mut ops: Vec<FusedOp> = Vec::new();
    ops.extend(
        unary
            .iter()
            .filter(|op| op.spec().dtypes.contains(&dtype))
            .map(|op| FusedOp::Unary(*op)),
    );
    ops.extend(
        binary
            .iter()
            .filter(|op| op.spec().dtypes.contains(&dtype))
            .map(|op| FusedOp::Binary(*op)),
    );
    ops.extend(Compare::ALL.iter().map(|op| FusedOp::Compare(*op)));
    ops.extend(
        Predicate::ALL
            .iter()
            .filter(|op| op.spec().dtypes.contains(&dtype))
            .map(|op| FusedOp::Predicate(*op)),
    );
    ops.push(FusedOp::Where);
    ops.extend(DType::ALL.iter().map(|to| FusedOp::Cast(*to)));
    ops
}

/// A random expression of exact ops over inputs of all dtypes, as large as the device's bindings allow.
pub(crate) fn random_case(
    exec: &Executor,
    dims: &[usize],
    ops: usize,
    arrangements: &[Arrangement],
    rng: &mut Random,
) -> Case {
    let mut case = Case::new(shape(dims));
    let inputs = 1 + rng.below(5);
    for _ in 0..inputs {
        let dtype = rng.pick(&DType::ALL);
        let kind = rng.below(8);
        let input = match kind {
            0 => random(exec, dtype, &[], Arrangement::Contiguous, rng),
            1 if !dims.is_empty() => {
                let last = &dims[dims.len() - 1..];
                random(exec, dtype, last, Arrangement::Contiguous, rng)
            }
            2..=4 => random(exec, dtype, dims, Arrangement::Contiguous, rng),
            _ => random(exec, dtype, dims, rng.pick(arrangements), rng),
        };
        case.input(input.view, input.values);
    }
    for _ in 0..rng.below(3) {
        let dtype = rng.pick(&DType::ALL);
        let value = rng.value(dtype);
        case.scalar(dtype, value);
    }
    while case.ops() < ops {
        let first = rng.below(case.len());
        let dtype = case.dtype(first);
        let op = rng.pick(&exact_ops(dtype));
        let mut same = |case: &mut Case| {
            let fitting: Vec<usize> = (0..case.len())
                .filter(|&i| case.dtype(i) == dtype)
                .collect();
            fitting[rng.below(fitting.len())]
        };
        match op {
            FusedOp::Unary(_) | FusedOp::Predicate(_) | FusedOp::Cast(_) => case.op(op, &[first]),
            FusedOp::Binary(_) | FusedOp::Compare(_) => {
                let other = same(&mut case);
                case.op(op, &[first, other]);
            }
            _ => {
                let other = same(&mut case);
                let Some(condition) = (0..case.len()).find(|&i| case.dtype(i) == DType::Bool)
                else {
                    continue;
                };
                case.op(FusedOp::Where, &[condition, first, other]);
            }
        }
    }
    case
}

/// The first element whose bits differ. Two NaNs are equal: nothing says which of several NaNs an op gives.
pub(crate) fn bits_differ(dtype: DType, a: &[u8], b: &[u8]) -> Option<usize> {
    assert_eq!(a.len(), b.len());
    let (x, y) = (decode(dtype, a), decode(dtype, b));
    let pairs = a
        .chunks(dtype.bytes())
        .zip(b.chunks(dtype.bytes()))
        .zip(x.iter().zip(&y));
    pairs
        .into_iter()
        .position(|((a, b), (x, y))| a != b && !(x.is_nan() && y.is_nan()))
}
