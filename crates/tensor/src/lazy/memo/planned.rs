//! What planning comes to, by numbers instead of nodes and memory.

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_device::Stage;
use ziggurat_kernels::{FusedReader, Program, View};
use ziggurat_memory::Buffer;

use super::key::{Numbered, of_reader};
use crate::Device;
use crate::lazy::evaluate;
use crate::lazy::plan::{Plan, Stop};
use crate::lazy::prologue;
use crate::node::{Form, Node};

/// A value that a plan makes.
#[derive(Debug)]
pub(super) struct Output {
    /// The op that gets it.
    pub(super) op: usize,
    /// The leaf whose memory it takes, if any.
    pub(super) place: Option<usize>,
    pub(super) form: Form,
    /// What it takes of memory.
    pub(super) bytes: u64,
}

impl Output {
    pub(super) fn new(op: usize, place: Option<usize>, shape: &Shape, dtype: DType) -> Self {
        Self {
            op,
            place,
            form: Form::unnumbered(dtype, Layout::contiguous(*shape)),
            bytes: (shape.len() as u64).saturating_mul(dtype.bytes() as u64),
        }
    }

    fn same(&self, other: &Self) -> bool {
        let place = (self.op, self.place) == (other.op, other.place);
        place && self.form.dtype == other.form.dtype && self.form.layout == other.form.layout
    }
}

/// What planning came to.
#[derive(Debug)]
pub(super) enum Planned {
    /// These, by their numbers, must be computed before.
    First(Vec<usize>),
    Kernels {
        program: Program,
        outputs: Vec<Output>,
        /// Ops that tensors hold and that are not stored.
        passed: Vec<usize>,
    },
    /// A kernel reads the value: by a reader without memory, of these leaves and numbers.
    Reads {
        reader: Box<FusedReader>,
        leaves: Vec<usize>,
        numbers: Vec<usize>,
        /// In the order of their names.
        ops: Vec<usize>,
        passed: Vec<usize>,
        /// Of what the reader reads.
        forms: prologue::Forms,
    },
    /// A kernel had better read the value from memory.
    Stored,
}

/// Plans a group, noting what would be dispatched; `None` if that cannot be remembered. `made` gets the outputs.
pub(super) fn plan(
    device: &Device,
    group: &[Arc<Node>],
    numbered: &Numbered,
    made: &mut Vec<Buffer>,
) -> Option<Result<Planned, Stop>> {
    let number = |node: &Arc<Node>| numbered.number_of(node);
    let span = device.executor().device().span(Stage::Plan);
    let plan = Plan::new(group, &device.lazy().limits, &[]);
    drop(span);
    let executor = device.executor();
    let recorded = plan.and_then(|plan| {
        let Some(noting) = executor.note(numbered.buffers(), &numbered.numbers) else {
            return Ok(None);
        };
        let outputs = evaluate::record(device, &plan, Some(&noting))?;
        Ok(Some((plan, outputs, noting)))
    });
    let (plan, outputs, noting) = match recorded {
        Ok(recorded) => recorded?,
        Err(Stop::First(first, why)) => {
            let numbers: Option<Vec<_>> = first.iter().map(number).collect();
            return Some(match numbers {
                Some(numbers) => Ok(Planned::First(numbers)),
                None => Err(Stop::First(first, why)),
            });
        }
        Err(failed) => return Some(Err(failed)),
    };
    let node_of = |step: usize| Some(&plan.steps.get(step)?.node);
    let leaf = |view: &View| {
        numbered
            .buffers()
            .position(|leaf| leaf.id() == view.buffer.id())
    };
    let placed = outputs.iter().map(|(step, view)| {
        let node = node_of(*step)?;
        let op = number(node)?;
        Some(Output::new(op, leaf(view), node.shape(), node.dtype()))
    });
    let placed = placed.collect::<Option<Vec<_>>>()?;
    let passed = plan.passed.iter().map(|step| number(node_of(*step)?));
    let passed = passed.collect::<Option<Vec<_>>>()?;
    let buffers: Vec<&Buffer> = outputs.iter().map(|(_, view)| &view.buffer).collect();
    let program = noting.finish(&buffers)?;
    made.clear();
    // A view of an input that is written over would be one more of it.
    if placed.iter().all(|output| output.place.is_none()) {
        made.extend(outputs.into_iter().map(|(_, view)| view.buffer));
    }
    Some(Ok(Planned::Kernels {
        program,
        outputs: placed,
        passed,
    }))
}

/// Whether a plan is of the expression as it was numbered: another thread may have let go of tensors meanwhile, and kernels
/// may have another state.
pub(super) fn is_as_before(device: &Device, before: &Numbered, group: &[Arc<Node>]) -> bool {
    let mut now = Numbered::default();
    now.forms.swap(&before.forms);
    now.begin(device.executor().kernel_state());
    let numbered = now.below(group, &device.lazy().limits);
    now.forms.swap(&before.forms);
    numbered.is_some() && before.begins_with(&now)
}

impl Numbered {
    /// What a plan for reading comes to, by numbers.
    pub(super) fn remembered(
        &self,
        device: &Device,
        planned: prologue::Planned,
    ) -> Option<Planned> {
        let op = |node: &Arc<Node>| self.number_of(node);
        Some(match planned {
            prologue::Planned::Stored => Planned::Stored,
            prologue::Planned::First(first) => {
                Planned::First(first.iter().map(op).collect::<Option<_>>()?)
            }
            prologue::Planned::Reads { read, ops, passed } => {
                let reader = read.reader;
                let leaf =
                    |view: &View| self.buffers().position(|own| own.id() == view.buffer.id());
                let number = |(dtype, value): (DType, f64)| {
                    let same = |known: &(DType, f64)| {
                        known.0 == dtype && known.1.to_bits() == value.to_bits()
                    };
                    self.numbers.iter().position(same)
                };
                // Nothing holds memory.
                let none = device.executor().memory().placeholder(0).ok()?;
                let count = reader.views().len();
                let values = reader.numbers().map(|(_, value)| value);
                Planned::Reads {
                    leaves: reader.views().iter().map(leaf).collect::<Option<_>>()?,
                    numbers: reader.numbers().map(number).collect::<Option<_>>()?,
                    reader: Box::new(reader.over(std::iter::repeat_n(none, count), values)),
                    ops: ops.iter().map(op).collect::<Option<_>>()?,
                    passed: passed.iter().map(op).collect::<Option<_>>()?,
                    forms: prologue::Forms::default(),
                }
            }
        })
    }
}

impl Planned {
    /// The values that it makes.
    pub(super) fn outputs(&self) -> &[Output] {
        match self {
            Self::Kernels { outputs, .. } => outputs,
            _ => &[],
        }
    }

    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::First(a), Self::First(b)) => a == b,
            (Self::Stored, Self::Stored) => true,
            (
                Self::Reads {
                    reader: a,
                    leaves: a_leaves,
                    numbers: a_numbers,
                    passed: a_passed,
                    ..
                },
                Self::Reads {
                    reader: b,
                    leaves: b_leaves,
                    numbers: b_numbers,
                    passed: b_passed,
                    ..
                },
            ) => {
                let like = a_leaves == b_leaves && a_numbers == b_numbers && a_passed == b_passed;
                like && of_reader(a) == of_reader(b)
            }
            (
                Self::Kernels {
                    program,
                    outputs,
                    passed,
                },
                Self::Kernels {
                    program: other,
                    outputs: other_outputs,
                    passed: other_passed,
                },
            ) => {
                let mut both = outputs.iter().zip(other_outputs);
                program.same(other)
                    && outputs.len() == other_outputs.len()
                    && both.all(|(a, b)| a.same(b))
                    && passed == other_passed
            }
            _ => false,
        }
    }
}
