//! One expression three times: as a fused kernel, op by op through the executor, and in f64 on the host.

#![allow(dead_code, reason = "each test file uses its part")]

use ziggurat_kernels::core::decode;
use ziggurat_kernels::fused::Id;
use ziggurat_kernels::reference::{binary, cast, compare, round_to, unary};
use ziggurat_kernels::{DType, Executor, Expression, FusedOp, Shape, View};

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

    pub(crate) fn ops(&self) -> usize {
        let is_op = |made: &&(Made, Id)| matches!(made.0, Made::Op(..));
        self.made.iter().filter(is_op).count()
    }

    pub(crate) fn dtype(&self, node: usize) -> DType {
        self.expression.dtype(self.made[node].1)
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
                Made::Op(FusedOp::Where, of) => exec
                    .where_(&views[of[0]], &views[of[1]], &views[of[2]], &out)
                    .unwrap(),
                Made::Op(_, of) => exec.cast(&views[of[0]], &out).unwrap(),
            };
            views.push(out);
        }
        let wanted: Vec<&View> = nodes.iter().map(|&node| &views[node]).collect();
        exec.download_many(&wanted).unwrap().wait().unwrap()
    }
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
