//! [`Expression`]: a graph of elementwise ops over views and scalars, before anything is computed.
//!
//! Invariants: a node comes after its operands; equal nodes are one node (hash-consing), so a common subexpression is
//! computed once; dtypes were checked when a node was made, so that a plan cannot fail for them.

use ziggurat_core::{DType, round_to};
use ziggurat_pipeline::QuickMap;

use crate::fused::op::FusedOp;
use crate::fused::user::MAX_OPERANDS;
use crate::run::error::KernelError;
use crate::run::view::View;

/// So many nodes are searched one by one, without a map.
const FEW: usize = 16;

/// A value of one [`Expression`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u32);

impl Id {
    /// The value's place among its expression's nodes.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// An index into the inputs.
    Input(u32),
    /// The bits of an f64 that the dtype holds exactly.
    Scalar(u64),
    /// What the kernel around the expression computes.
    Made,
    /// An op and its operands, unused places being the first operand again.
    Op(FusedOp, [Id; MAX_OPERANDS]),
}

/// An elementwise expression over views and scalars. Views may have any strides; they are broadcast when it is run.
#[derive(Clone, Debug, Default)]
pub struct Expression {
    nodes: Vec<(Node, DType)>,
    /// The nodes, once there are [`FEW`].
    known: QuickMap<(Node, DType), Id>,
    inputs: Vec<View>,
}

impl Expression {
    /// An expression without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A value read from a view. The same memory seen through the same layout and dtype is one value.
    pub fn input(&mut self, view: View) -> Id {
        let known = self.inputs.iter().position(|input| {
            input.dtype == view.dtype
                && input.layout == view.layout
                && input.buffer.same_memory(&view.buffer)
        });
        let dtype = view.dtype;
        let index = known.unwrap_or_else(|| {
            self.inputs.push(view);
            self.inputs.len() - 1
        });
        self.node(Node::Input(index as u32), dtype)
    }

    /// A value that is the same everywhere: a parameter of the kernel, rounded to the dtype.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> Id {
        let bits = round_to(dtype, value).to_bits();
        self.node(Node::Scalar(bits), dtype)
    }

    /// The value that a kernel computes, for an expression over it: what the kernel writes, see
    /// [`FusedOutput`](crate::FusedOutput). An expression has one such value at most; the dtype is the kernel's.
    pub fn computed(&mut self, dtype: DType) -> Id {
        self.node(Node::Made, dtype)
    }

    /// The result of an op.
    ///
    /// # Errors
    /// [`KernelError::Dtype`] if the op does not exist for the operands' dtypes, [`KernelError::Option`] for a wrong
    /// number of operands or one that is not of this expression.
    pub fn op(&mut self, op: FusedOp, operands: &[Id]) -> Result<Id, KernelError> {
        let mut dtypes = [DType::Bool; MAX_OPERANDS + 1];
        let known = operands.get(..dtypes.len().min(operands.len()));
        for (slot, operand) in dtypes.iter_mut().zip(known.unwrap_or_default()) {
            *slot = self.known_dtype(op.name(), *operand)?;
        }
        let dtype = op.dtype(dtypes.get(..operands.len()).unwrap_or(&dtypes))?;
        let &[first, ref rest @ ..] = operands else {
            return op.dtype(&[]).map(|_| Id(0));
        };
        if op == FusedOp::Cast(self.dtype(first)) {
            return Ok(first);
        }
        let mut places = [first; MAX_OPERANDS];
        for (place, operand) in places.iter_mut().skip(1).zip(rest) {
            *place = *operand;
        }
        Ok(self.node(Node::Op(op, places), dtype))
    }

    fn node(&mut self, node: Node, dtype: DType) -> Id {
        let next = Id(self.nodes.len() as u32);
        if self.nodes.len() < FEW {
            let known = self.nodes.iter().position(|known| *known == (node, dtype));
            return match known {
                Some(index) => Id(index as u32),
                None => {
                    self.nodes.push((node, dtype));
                    next
                }
            };
        }
        if self.known.is_empty() {
            let known = self.nodes.iter().zip(0..);
            self.known
                .extend(known.map(|(known, index)| (*known, Id(index))));
        }
        let id = *self.known.entry((node, dtype)).or_insert(next);
        if id == next {
            self.nodes.push((node, dtype));
        }
        id
    }

    fn known_dtype(&self, op: &'static str, id: Id) -> Result<DType, KernelError> {
        match self.nodes.get(id.index()) {
            Some((_, dtype)) => Ok(*dtype),
            None => Err(KernelError::option(
                op,
                "an operand",
                "must be a node of the expression",
                i64::from(id.0),
            )),
        }
    }

    /// The dtype of a value; bool for one that is not of this expression.
    #[must_use]
    pub fn dtype(&self, id: Id) -> DType {
        self.nodes
            .get(id.index())
            .map_or(DType::Bool, |(_, dtype)| *dtype)
    }

    /// The number of nodes: inputs, scalars and ops.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The views that are read, each once, in the order they were given.
    #[must_use]
    pub fn inputs(&self) -> &[View] {
        &self.inputs
    }

    pub(crate) fn get(&self, id: Id) -> Result<(Node, DType), KernelError> {
        self.known_dtype("fused", id)?;
        Ok(self
            .nodes
            .get(id.index())
            .copied()
            .unwrap_or((Node::Scalar(0), DType::Bool)))
    }

    pub(crate) fn nodes(&self) -> &[(Node, DType)] {
        &self.nodes
    }
}
