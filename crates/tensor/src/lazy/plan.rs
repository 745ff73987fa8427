//! What one kernel computes: the pending expression below some nodes of one shape, as a list.
//!
//! Every node is visited once, through one *map*: the layout by which the kernel's index space names its elements. Views
//! and broadcasts only change the map. A plan that cannot be one kernel is a list of nodes to compute before.
//!
//! What somebody else needs becomes another output. What only a tensor handle holds (often a temporary of the statement
//! that asks) is passed over once: a second kernel that computes it stores it. So a value is computed twice at most, apart
//! from cheap ones that are broadcast.

mod costly;
mod outputs;

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{Expression, FusedOp, View};

use super::compose::compose;
use super::limits::Limits;
use super::reason::NotFused;
use crate::Error;
use crate::few::Few;
use crate::node::{Input, KernelCall, Node, Work};

/// Ops that may be computed again for every place that a broadcast value is seen from.
pub(super) const CHEAP: u32 = 4;

/// Steps that there is room for from the beginning.
const USUAL: usize = 8;

/// Nodes that have a value already in an explanation.
pub(super) type Assumed = [(Arc<Node>, View)];

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum Stop {
    /// These must be computed first, and why.
    First(Vec<Arc<Node>>, NotFused),
    /// An input failed.
    Failed(Error),
}

impl Stop {
    fn first(node: &Arc<Node>, why: NotFused) -> Self {
        Self::First(vec![Arc::clone(node)], why)
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Failed(error) => error,
            Self::First(..) => Error::internal("eval", "the expression cannot be ordered"),
        }
    }
}

/// One kernel.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) shape: Shape,
    pub(super) steps: Vec<Step>,
    /// Operands come before what uses them.
    pub(super) order: Vec<usize>,
    /// The steps whose values are stored.
    pub(super) outputs: Vec<usize>,
    /// Steps that a tensor holds and that are not stored.
    pub(super) passed: Vec<usize>,
    /// The first map is the index space itself.
    maps: Vec<Layout>,
    /// Whether a node is there twice, seen through two maps.
    duplicates: bool,
    /// Whether it is only explained: then handles say nothing about who needs what afterwards.
    assumed: bool,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) node: Arc<Node>,
    map: usize,
    /// Inputs of steps that are this node.
    edges: usize,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// Its view, where an explanation assumes one; else that of the node.
    Leaf(Option<View>),
    Op {
        op: FusedOp,
        name: &'static str,
        operands: Operands,
    },
    /// The kernel that runs, everything above it being what it writes.
    Kernel(Arc<KernelCall>),
    /// The base's step.
    View(Operands),
}

type Operands = Few<Operand>;

#[derive(Clone, Debug)]
enum Operand {
    /// Not visited yet.
    Node(Arc<Node>),
    Step(usize),
    Leaf {
        step: usize,
        map: usize,
    },
    Scalar(DType, f64),
}

impl Plan {
    /// The plan for `roots`, which are pending and of one shape.
    pub(super) fn new(
        roots: &[Arc<Node>],
        limits: &Limits,
        assumed: &Assumed,
    ) -> Result<Self, Stop> {
        let mut plan = Self::below(roots, assumed)?;
        plan.choose_outputs(roots, limits, true)?;
        Ok(plan)
    }

    /// The plan of a kernel that computes `root`, which is pending, and stores something else.
    pub(super) fn read(root: &Arc<Node>, limits: &Limits) -> Result<Self, Stop> {
        let roots = std::slice::from_ref(root);
        let mut plan = Self::below(roots, &[])?;
        plan.choose_outputs(roots, limits, false)?;
        Ok(plan)
    }

    fn below(roots: &[Arc<Node>], assumed: &Assumed) -> Result<Self, Stop> {
        let shape = roots.first().map_or(Shape::scalar(), |root| *root.shape());
        let mut plan = Self {
            shape,
            steps: Vec::with_capacity(USUAL),
            order: Vec::with_capacity(USUAL),
            outputs: Vec::new(),
            passed: Vec::new(),
            maps: vec![Layout::contiguous(shape)],
            duplicates: false,
            assumed: !assumed.is_empty(),
        };
        for root in roots {
            plan.descend(root, assumed)?;
        }
        Ok(plan)
    }

    /// Visits everything below `root`, operands first.
    fn descend(&mut self, root: &Arc<Node>, assumed: &Assumed) -> Result<(), Stop> {
        let known = self.steps.len();
        let Operand::Step(first) = self.visit(Arc::clone(root), 0, assumed)? else {
            return Ok(());
        };
        if first < known {
            // Reached from an earlier root already, and ordered with it.
            return Ok(());
        }
        let mut path = Vec::with_capacity(USUAL);
        path.push((first, 0));
        while let Some((step, next)) = path.last_mut() {
            let (step, place) = (*step, *next);
            *next += 1;
            if self.operands(step).is_none_or(|all| place >= all.places()) {
                self.order.push(step);
                path.pop();
                continue;
            }
            let Some(Operand::Node(child)) = self.operand(step, place) else {
                continue;
            };
            let map = self.child_map(step, &child)?;
            let before = self.steps.len();
            let operand = self.visit(child, map, assumed);
            let operand = operand.map_err(|stop| self.with_what_follows(stop, &path))?;
            let to = match operand {
                Operand::Step(to) | Operand::Leaf { step: to, .. } => to,
                _ => continue,
            };
            if let Some(step) = self.steps.get_mut(to) {
                step.edges += 1;
            }
            let enter = matches!(operand, Operand::Step(to) if to >= before);
            if let Some(slot) = self.operands(step).and_then(|all| all.get_mut(place)) {
                *slot = Some(operand);
            }
            if enter {
                path.push((to, 0));
            }
        }
        Ok(())
    }

    /// Instead of a kernel alone, with the ops behind it that are as small, where what is larger sees them broadcast: they
    /// are the last part of that kernel then, and not computed for every place that they are seen from.
    fn with_what_follows(&self, stop: Stop, path: &[(usize, usize)]) -> Stop {
        let Stop::First(first, NotFused::OwnKernel) = &stop else {
            return stop;
        };
        let [kernel] = first.as_slice() else {
            return stop;
        };
        let len = kernel.shape().len();
        if len >= self.shape.len() {
            return stop;
        }
        let above = path.iter().rev().filter_map(|(at, _)| self.steps.get(*at));
        let small = above.take_while(|step| step.node.shape().len() == len);
        let ops = small.filter(|step| matches!(step.body, Body::Op { .. }));
        match ops.last() {
            Some(step) => Stop::first(&step.node, NotFused::OwnKernel),
            None => stop,
        }
    }

    /// The operand, leaving nothing if it is a node, so that no handle is held twice.
    fn operand(&mut self, step: usize, place: usize) -> Option<Operand> {
        let slot = self.operands(step)?.get_mut(place)?;
        match slot {
            Some(Operand::Node(_)) => slot.take(),
            other => other.clone(),
        }
    }

    fn operands(&mut self, step: usize) -> Option<&mut Operands> {
        match &mut self.steps.get_mut(step)?.body {
            Body::Op { operands, .. } | Body::View(operands) => Some(operands),
            Body::Leaf(_) | Body::Kernel(_) => None,
        }
    }

    /// The map through which `step` sees its input `child`.
    fn child_map(&mut self, step: usize, child: &Arc<Node>) -> Result<usize, Stop> {
        let Some(step) = self.steps.get(step) else {
            return Ok(0);
        };
        let walked = match &step.body {
            Body::View(_) => Some(step.node.layout()),
            _ if child.shape() == step.node.shape() => None,
            _ => Layout::contiguous(*child.shape())
                .expand(*step.node.shape())
                .ok(),
        };
        let Some(walked) = walked else {
            return Ok(step.map);
        };
        let plain = step.map == 0 && *step.node.shape() == self.shape;
        let map = match self.maps.get(step.map) {
            _ if plain => Some(walked),
            Some(map) => compose(&walked, map),
            None => None,
        };
        let Some(map) = map else {
            return Err(Stop::first(&step.node, NotFused::View));
        };
        if let Some(known) = self.maps.iter().position(|known| *known == map) {
            return Ok(known);
        }
        self.maps.push(map);
        Ok(self.maps.len() - 1)
    }

    fn visit(&mut self, node: Arc<Node>, map: usize, assumed: &Assumed) -> Result<Operand, Stop> {
        if let Some(step) = self.find(&node) {
            return match self.steps.get(step) {
                Some(known) if matches!(known.body, Body::Leaf(_)) => {
                    Ok(Operand::Leaf { step, map })
                }
                Some(known) if known.map == map => Ok(Operand::Step(step)),
                _ => self.duplicate(node, map),
            };
        }
        let broadcast = self.shape.len() > node.shape().len();
        // One kernel, whose elements are those of the plan in their order.
        let runs = map == 0 && self.shape.len() == node.shape().len() && self.kernel().is_none();
        let assumed = assumed.iter().find(|(known, _)| Arc::ptr_eq(known, &node));
        let body = match (assumed, node.value()) {
            (Some((_, view)), _) => Body::Leaf(Some(view.clone())),
            (None, Some(Ok(_))) => Body::Leaf(None),
            (None, Some(Err(error))) => return Err(Stop::Failed(error.clone())),
            (None, None) if !node.is_of_this_capture() => {
                return Err(Stop::first(&node, NotFused::BeforeCapture));
            }
            (None, None) => {
                let cost = node.cost().copied().unwrap_or_default();
                let often =
                    broadcast && (cost.ops > CHEAP || costly::for_each_of(&self.shape, &node));
                let body = node.peek(|work| {
                    if often {
                        return None;
                    }
                    if matches!(work, Work::Kernel(_)) && (!runs || self.loops()) {
                        return None;
                    }
                    Some(Body::of(work))
                });
                match body.flatten() {
                    Some(body) => body,
                    None => {
                        let why = match often {
                            true => NotFused::ComputedOften,
                            false => NotFused::OwnKernel,
                        };
                        return Err(Stop::first(&node, why));
                    }
                }
            }
        };
        let step = self.steps.len();
        node.set_slot(step);
        let leaf = matches!(body, Body::Leaf(_));
        self.steps.push(Step {
            node,
            map,
            edges: 0,
            body,
        });
        Ok(if leaf {
            Operand::Leaf { step, map }
        } else {
            Operand::Step(step)
        })
    }

    /// A step for a node that is there already, seen through another map: it is computed a second time if that is cheap.
    /// The halves of a gate are such a pair.
    fn duplicate(&mut self, node: Arc<Node>, map: usize) -> Result<Operand, Stop> {
        let known = self.steps.iter().enumerate();
        let known: Vec<_> = known.filter(|(_, s)| Arc::ptr_eq(&s.node, &node)).collect();
        if let Some((step, _)) = known.iter().find(|(_, step)| step.map == map) {
            return Ok(Operand::Step(*step));
        }
        let cost = node.cost().copied().unwrap_or_default();
        if known.len() > 1 || cost.ops > CHEAP {
            return Err(Stop::first(&node, NotFused::ComputedOften));
        }
        let Some(body) = node.peek(Body::of) else {
            return Err(Stop::first(&node, NotFused::ComputedOften));
        };
        self.duplicates = true;
        self.steps.push(Step {
            node,
            map,
            edges: 0,
            body,
        });
        Ok(Operand::Step(self.steps.len() - 1))
    }

    /// Whether an op above loops, nobody knows how long: it is no part of a kernel with loops of its own.
    fn loops(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(
            |step| matches!(step.body, Body::Op { op: FusedOp::User(op), .. } if op.has_loops()),
        )
    }

    fn find(&self, node: &Arc<Node>) -> Option<usize> {
        let slot = node.slot();
        let there = self.steps.get(slot)?;
        Arc::ptr_eq(&there.node, node).then_some(slot)
    }

    /// The kernel that runs: its place among the steps, and the call. Without one the plan is elementwise.
    pub(super) fn kernel(&self) -> Option<(usize, &Arc<KernelCall>)> {
        let mut steps = self.steps.iter().enumerate();
        steps.find_map(|(at, step)| match &step.body {
            Body::Kernel(kernel) => Some((at, kernel)),
            _ => None,
        })
    }

    /// The view of a leaf through a map.
    fn leaf(&self, step: usize, map: usize) -> Option<View> {
        let view = self.steps.get(step)?.view()?;
        let layout = if map == 0 && *view.layout.shape() == self.shape {
            view.layout
        } else {
            let map = self.maps.get(map)?;
            compose(&view.layout, map).or_else(|| {
                let seen = view.layout.expand(self.shape).ok()?;
                let plain = Layout::contiguous(*view.layout.shape()).expand(self.shape);
                plain.is_ok_and(|plain| plain == *map).then_some(seen)
            })?
        };
        Some(View {
            layout,
            ..view.clone()
        })
    }

    /// The plan as an expression, and the value of each step in it.
    pub(super) fn expression(
        &self,
    ) -> Result<(Expression, Vec<Option<ziggurat_kernels::fused::Id>>), Stop> {
        let mut expression = Expression::new();
        let mut ids = vec![None; self.steps.len()];
        for &at in &self.order {
            let Some(step) = self.steps.get(at) else {
                continue;
            };
            let mut operands = Vec::with_capacity(3);
            for operand in step.operands() {
                operands.push(match *operand {
                    Operand::Scalar(dtype, value) => expression.scalar(dtype, value),
                    Operand::Leaf { step: leaf, map } => {
                        let view = self.leaf(leaf, map);
                        expression
                            .input(view.ok_or_else(|| Stop::first(&step.node, NotFused::Alone))?)
                    }
                    Operand::Step(step) => match ids.get(step).copied().flatten() {
                        Some(id) => id,
                        None => continue,
                    },
                    Operand::Node(_) => continue,
                });
            }
            let id = match &step.body {
                Body::Kernel(_) => expression.computed(step.node.dtype()),
                Body::Op { op, name, .. } => expression
                    .op(*op, &operands)
                    .map_err(|error| Stop::Failed(Error::from_kernel(name, error)))?,
                _ => match operands.first() {
                    Some(id) => *id,
                    None => continue,
                },
            };
            if let Some(slot) = ids.get_mut(at) {
                *slot = Some(id);
            }
        }
        Ok((expression, ids))
    }

    /// The public operation of a step.
    pub(super) fn name(&self, step: usize) -> &'static str {
        match self.steps.get(step).map(|step| &step.body) {
            Some(Body::Op { name, .. }) => name,
            Some(Body::Kernel(kernel)) => kernel.name,
            _ => "view",
        }
    }

    /// The public operations, operands first.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let steps = self.order.iter().copied();
        let ops = steps.filter(|&at| self.is_op(at) || self.is_kernel(at));
        ops.map(|at| self.name(at)).collect()
    }

    /// Arithmetic operations of its elementwise ops, for one element.
    pub(super) fn op_operations(&self) -> u64 {
        let steps = self.order.iter().filter_map(|&at| self.steps.get(at));
        let each = steps.map(|step| match &step.body {
            Body::Op { op, .. } => op.operations(),
            _ => 0,
        });
        each.sum()
    }

    /// The nodes of [`Plan::names`].
    pub(super) fn ops(&self) -> impl Iterator<Item = &Arc<Node>> {
        let steps = self.order.iter().copied();
        let ops = steps.filter(|&at| self.is_op(at) || self.is_kernel(at));
        ops.filter_map(|at| Some(&self.steps.get(at)?.node))
    }

    /// The op and operands, if the plan is a single op.
    pub(super) fn single(&self) -> Option<(FusedOp, Vec<Source>)> {
        let mut ops = self.steps.iter().filter_map(|step| match &step.body {
            Body::Op { op, operands, .. } => Some((*op, operands)),
            _ => None,
        });
        let (Some((op, operands)), None) = (ops.next(), ops.next()) else {
            return None;
        };
        if matches!(op, FusedOp::User(_)) {
            // Its kernel is the fused one.
            return None;
        }
        let operands = operands.iter().map(|operand| match *operand {
            Operand::Scalar(dtype, value) => Some(Source::Scalar(dtype, value)),
            Operand::Leaf { step, map } => self.leaf(step, map).map(Source::View),
            _ => None,
        });
        Some((op, operands.collect::<Option<_>>()?))
    }
}

/// An operand of a single op.
#[derive(Clone, Debug)]
pub(super) enum Source {
    View(View),
    Scalar(DType, f64),
}

impl Body {
    fn of(work: &Work) -> Self {
        match work {
            Work::Op { op, name, inputs } => Self::Op {
                op: *op,
                name,
                operands: inputs.clone().map(Operand::from),
            },
            Work::Kernel(kernel) => Self::Kernel(Arc::clone(kernel)),
            Work::View { base, .. } => {
                Self::View([Some(Operand::Node(Arc::clone(base))), None, None].into())
            }
        }
    }
}

impl Operand {
    fn step(&self) -> Option<usize> {
        match self {
            Self::Step(step) => Some(*step),
            _ => None,
        }
    }
}

impl Step {
    /// The step that a view walks.
    fn base(&self) -> Option<usize> {
        match &self.body {
            Body::View(operands) => operands.iter().next()?.step(),
            _ => None,
        }
    }

    /// The memory of a leaf.
    fn view(&self) -> Option<&View> {
        match (&self.body, self.node.value()) {
            (Body::Leaf(Some(view)), _) | (Body::Leaf(None), Some(Ok(view))) => Some(view),
            _ => None,
        }
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let operands = match &self.body {
            Body::Op { operands, .. } | Body::View(operands) => Some(operands),
            Body::Leaf(_) | Body::Kernel(_) => None,
        };
        operands.into_iter().flat_map(Few::iter)
    }
}

impl From<Input> for Operand {
    fn from(input: Input) -> Self {
        match input {
            Input::Node(node) => Self::Node(node),
            Input::Scalar(dtype, value) => Self::Scalar(dtype, value),
        }
    }
}
