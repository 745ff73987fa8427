//! What a fused kernel computes ([`Graph`]), how its operands lie in memory ([`Form`]), and the key of both.
//!
//! A graph holds only what the outputs depend on, numbered in order of use, so that equal structures are equal
//! graphs however they were built. Each use of a scalar is a parameter of its own: two scalars that happen to be
//! equal make no other kernel.

use ziggurat_core::DType;
use ziggurat_pipeline::KernelKey;

use crate::fused::MAX_OPS;
use crate::fused::expression::{Expression, Id, Node};
use crate::fused::form::Form;
use crate::fused::op::FusedOp;
use crate::fused::user::{MAX_OPERANDS, UserOp};
use crate::run::error::{CannotFuse, KernelError};

/// The index of the input that is no view: what the kernel around the expression computes.
pub(crate) const MADE: usize = usize::MAX;

/// Where a value comes from: an index into inputs, scalars or steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Input(usize),
    Scalar(usize),
    Step(usize),
}

impl Source {
    /// 16 bits: every index is below 4 · [`MAX_OPS`].
    fn code(self) -> u64 {
        match self {
            Self::Input(index) => index as u64,
            Self::Scalar(index) => 0x4000 | index as u64,
            Self::Step(index) => 0x8000 | index as u64,
        }
    }
}

/// One op call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) op: FusedOp,
    /// The operands; as many as the op has count.
    pub(crate) operands: [Source; MAX_OPERANDS],
    pub(crate) dtype: DType,
    /// Whether another step reads the result.
    pub(crate) consumed: bool,
}

impl Step {
    pub(crate) fn operands(&self) -> impl Iterator<Item = Source> + '_ {
        self.operands.iter().copied().take(self.op.arity())
    }
}

/// A scalar operand: the bits of an f64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) dtype: DType,
    pub(crate) bits: u64,
}

/// An input that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Input {
    pub(crate) dtype: DType,
    /// Its index among the expression's inputs, or [`MADE`].
    pub(crate) index: usize,
}

/// The ops that the outputs need, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) inputs: Vec<Input>,
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<Source>,
}

impl Graph {
    /// The part of the expression that these values depend on.
    pub(crate) fn of(
        expression: &Expression,
        outputs: impl Iterator<Item = Id> + Clone,
    ) -> Result<Self, KernelError> {
        let nodes = expression.nodes();
        let mut live = vec![false; nodes.len()];
        for id in outputs.clone() {
            expression.get(id)?;
            live[id.index()] = true;
        }
        for (index, (node, _)) in nodes.iter().enumerate().rev() {
            // Operands come before what uses them.
            if let (true, Node::Op(_, operands)) = (live[index], node) {
                for operand in operands {
                    live[operand.index()] = true;
                }
            }
        }
        let count = |wanted: fn(&Node) -> bool| {
            let live = live.iter().zip(nodes).filter(|(live, _)| **live);
            live.filter(|(_, (node, _))| wanted(node)).count()
        };
        let mut graph = Self {
            inputs: Vec::with_capacity(count(|node| matches!(node, Node::Input(_) | Node::Made))),
            steps: Vec::with_capacity(count(|node| matches!(node, Node::Op(..)))),
            ..Self::default()
        };
        let mut places: Vec<Option<Source>> = vec![None; nodes.len()];
        for (index, &(node, dtype)) in nodes.iter().enumerate() {
            if !live[index] {
                continue;
            }
            let place = match node {
                Node::Input(input) => Some(graph.input(dtype, input as usize)),
                Node::Made => Some(graph.input(dtype, MADE)),
                Node::Scalar(_) => None,
                Node::Op(op, ids) => {
                    let mut operands = [Source::Input(0); MAX_OPERANDS];
                    for (slot, id) in operands.iter_mut().zip(ids).take(op.arity()) {
                        *slot = graph.place(expression, &places, id)?;
                    }
                    Some(graph.step(op, operands, dtype))
                }
            };
            places[index] = place;
        }
        for id in outputs {
            let source = graph.place(expression, &places, id)?;
            graph.outputs.push(source);
        }
        if graph.steps.len() > MAX_OPS {
            let needed = graph.steps.len();
            return Err(CannotFuse::Ops {
                needed,
                limit: MAX_OPS,
            }
            .into());
        }
        Ok(graph)
    }

    fn place(
        &mut self,
        expression: &Expression,
        places: &[Option<Source>],
        id: Id,
    ) -> Result<Source, KernelError> {
        Ok(match (places.get(id.index()), expression.get(id)?) {
            (Some(Some(source)), _) => *source,
            (_, (Node::Scalar(bits), dtype)) => self.scalar(dtype, f64::from_bits(bits)),
            _ => {
                return Err(KernelError::internal(
                    "fused",
                    "an operand comes behind the op that uses it",
                ));
            }
        })
    }

    /// Whether it needs what a kernel around it computes.
    pub(crate) fn is_over_made(&self) -> bool {
        self.inputs.iter().any(|input| input.index == MADE)
    }

    /// Adds an input.
    pub(crate) fn input(&mut self, dtype: DType, index: usize) -> Source {
        self.inputs.push(Input { dtype, index });
        Source::Input(self.inputs.len() - 1)
    }

    /// Adds a use of a scalar.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> Source {
        self.scalars.push(Scalar {
            dtype,
            bits: value.to_bits(),
        });
        Source::Scalar(self.scalars.len() - 1)
    }

    /// Adds a step. Operands beyond the op's own are ignored.
    pub(crate) fn step(
        &mut self,
        op: FusedOp,
        operands: [Source; MAX_OPERANDS],
        dtype: DType,
    ) -> Source {
        for operand in operands.iter().take(op.arity()) {
            if let Source::Step(index) = operand {
                self.steps[*index].consumed = true;
            }
        }
        self.steps.push(Step {
            op,
            operands,
            dtype,
            consumed: false,
        });
        Source::Step(self.steps.len() - 1)
    }

    /// Says that something else reads the outputs: they are rounded as values between ops are.
    pub(crate) fn consume_outputs(&mut self) {
        for output in &self.outputs {
            if let Source::Step(index) = output {
                self.steps[*index].consumed = true;
            }
        }
    }

    /// Its ops of users' WGSL.
    pub(crate) fn users(&self) -> impl Iterator<Item = UserOp> + '_ {
        self.steps.iter().filter_map(|step| step.op.user())
    }

    /// An error if it has loops of a user's, for a kernel that has loops of its own.
    pub(crate) fn refuse_loops(&self) -> Result<(), KernelError> {
        match self.users().find(|op| op.has_loops()) {
            Some(op) => Err(CannotFuse::Loops { name: op.name() }.into()),
            None => Ok(()),
        }
    }

    /// The dtype of a value.
    pub(crate) fn dtype(&self, source: Source) -> DType {
        match source {
            Source::Input(index) => self.inputs[index].dtype,
            Source::Scalar(index) => self.scalars[index].dtype,
            Source::Step(index) => self.steps[index].dtype,
        }
    }

    /// The dtype of a step's operand; bool if there is none.
    pub(crate) fn operand_dtype(&self, step: &Step, operand: usize) -> DType {
        step.operands
            .get(operand)
            .map_or(DType::Bool, |source| self.dtype(*source))
    }

    /// A short name for people: the ops in order.
    pub(crate) fn label(&self) -> String {
        const SHOWN: usize = 6;
        let names: Vec<_> = self
            .steps
            .iter()
            .take(SHOWN)
            .map(|step| step.op.name())
            .collect();
        let more = match self.steps.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("+{more}_more"),
        };
        let what = if names.is_empty() {
            "copy".to_owned()
        } else {
            names.join("+")
        };
        format!("fused/{what}{more}")
    }

    /// The key of the kernel that computes the graph in this form.
    pub(crate) fn key(&self, form: &Form, params_part: &'static str, wg: u32) -> KernelKey {
        let mut key = KernelKey::new("fused");
        key.push_tag(params_part);
        key.push_number(u64::from(wg));
        self.describe(form, &mut |word| key.push_number(word));
        key
    }

    /// Adds the structure of the graph in this form to a key.
    pub(crate) fn describe(&self, form: &Form, push: &mut impl FnMut(u64)) {
        let counts = [
            self.inputs.len(),
            self.scalars.len(),
            self.steps.len(),
            self.outputs.len(),
        ];
        push(form.rank as u64);
        let fold = |word: u64, count: &usize| word << 16 | *count as u64;
        push(counts.iter().fold(0, fold));
        for (input, access) in self.inputs.iter().zip(&form.inputs) {
            push((input.dtype as u64) << 32 | access.code());
        }
        for scalars in self.scalars.chunks(16) {
            let fold = |word: u64, scalar: &Scalar| word << 4 | scalar.dtype as u64;
            push(scalars.iter().fold(0, fold));
        }
        let fold = |word: u64, source: Source| word << 16 | source.code();
        for step in &self.steps {
            // The code says how many there are.
            let mut operands = step.operands();
            push(operands.by_ref().take(3).fold(step.op.code(), fold));
            while let Some(next) = operands.next() {
                push(operands.by_ref().take(3).fold(next.code(), fold));
            }
        }
        for outputs in self.outputs.chunks(4) {
            push(outputs.iter().copied().fold(0, fold));
        }
    }
}

/// Where a kernel finds its parameters: indices of 32-bit slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// The offset of each input, behind those of the outputs.
    pub(crate) inputs: usize,
    /// The bits of each scalar.
    pub(crate) scalars: usize,
    /// Rows of four slots before the axes.
    pub(crate) axes: usize,
    /// Rows of each axis: its extent, then the stride of each strided input.
    pub(crate) rows_per_axis: usize,
    /// All rows.
    pub(crate) rows: usize,
}

impl Slots {
    pub(crate) fn of(graph: &Graph, form: &Form) -> Self {
        let inputs = graph.outputs.len();
        let scalars = inputs + graph.inputs.len();
        let axes = (scalars + graph.scalars.len()).div_ceil(4);
        let strided = form.strided();
        let rows_per_axis = if strided == 0 {
            0
        } else {
            (1 + strided).div_ceil(4)
        };
        Self {
            inputs,
            scalars,
            axes,
            rows_per_axis,
            rows: axes + form.rank * rows_per_axis,
        }
    }
}
