//! What one kernel computes: the pending expression below some nodes of one shape, as a list.
//!
//! Every node is visited once, through one *map*: the layout by which the kernel's index space names its elements. Views
//! and broadcasts only change the map. A plan that cannot be one kernel is a list of nodes to compute before.
//!
//! What somebody else needs becomes another output. What only a tensor handle holds (often a temporary of the statement
//! that asks) is passed over once: a second kernel that computes it stores it. So a value is computed twice at most, apart
//! from cheap ones that are broadcast.

use std::sync::Arc;

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_kernels::{Expression, FusedOp, View};

use super::compose::compose;
use super::limits::Limits;
use crate::Error;
use crate::node::{Input, Node, Work};

/// Ops that may be computed again for every place that a broadcast value is seen from.
const CHEAP: u32 = 4;

/// Nodes that have a value already in an explanation.
pub(super) type Assumed = [(Arc<Node>, View)];

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum Stop {
    /// These must be computed first.
    First(Vec<Arc<Node>>),
    /// An input failed.
    Failed(Error),
}

impl Stop {
    fn first(node: &Arc<Node>) -> Self {
        Self::First(vec![Arc::clone(node)])
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Failed(error) => error,
            Self::First(_) => Error::argument("eval", "the expression cannot be ordered"),
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
    /// The base's step.
    Walk(Operands),
}

type Operands = [Option<Operand>; 3];

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
        let shape = roots.first().map_or(Shape::scalar(), |root| *root.shape());
        let mut plan = Self {
            shape,
            steps: Vec::new(),
            order: Vec::new(),
            outputs: Vec::new(),
            passed: Vec::new(),
            maps: vec![Layout::contiguous(shape)],
            assumed: !assumed.is_empty(),
        };
        for root in roots {
            plan.descend(root, assumed)?;
        }
        plan.choose_outputs(roots, limits)?;
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
        let mut path = vec![(first, 0)];
        while let Some((step, next)) = path.last_mut() {
            let (step, place) = (*step, *next);
            *next += 1;
            if place >= 3 {
                self.order.push(step);
                path.pop();
                continue;
            }
            let Some(Operand::Node(child)) = self.operand(step, place) else {
                continue;
            };
            let map = self.child_map(step, &child)?;
            let before = self.steps.len();
            let operand = self.visit(child, map, assumed)?;
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
            Body::Op { operands, .. } | Body::Walk(operands) => Some(operands),
            Body::Leaf(_) => None,
        }
    }

    /// The map through which `step` sees its input `child`.
    fn child_map(&mut self, step: usize, child: &Arc<Node>) -> Result<usize, Stop> {
        let Some(step) = self.steps.get(step) else {
            return Ok(0);
        };
        let walked = match &step.body {
            Body::Walk(_) => Some(step.node.layout()),
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
            return Err(Stop::first(&step.node));
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
                _ => Err(Stop::first(&node)),
            };
        }
        let broadcast = self.shape.len() > node.shape().len();
        let assumed = assumed.iter().find(|(known, _)| Arc::ptr_eq(known, &node));
        let body = match (assumed, node.value()) {
            (Some((_, view)), _) => Body::Leaf(Some(view.clone())),
            (None, Some(Ok(_))) => Body::Leaf(None),
            (None, Some(Err(error))) => return Err(Stop::Failed(error.clone())),
            (None, None) => {
                let body = node.peek(|pending| {
                    if broadcast && pending.cost.ops > CHEAP {
                        return None;
                    }
                    Some(match &pending.work {
                        Work::Op { op, name, inputs } => Body::Op {
                            op: *op,
                            name,
                            operands: inputs.clone().map(|input| input.map(Operand::from)),
                        },
                        Work::Walk { base, .. } => {
                            Body::Walk([Some(Operand::Node(Arc::clone(base))), None, None])
                        }
                    })
                });
                match body.flatten() {
                    Some(body) => body,
                    None => return Err(Stop::first(&node)),
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

    fn find(&self, node: &Arc<Node>) -> Option<usize> {
        let slot = node.slot();
        let there = self.steps.get(slot)?;
        Arc::ptr_eq(&there.node, node).then_some(slot)
    }

    fn choose_outputs(&mut self, roots: &[Arc<Node>], limits: &Limits) -> Result<(), Stop> {
        let mut first = Vec::new();
        for &at in &self.order {
            let Some(step) = self.steps.get(at) else {
                continue;
            };
            if roots.iter().any(|root| Arc::ptr_eq(root, &step.node)) {
                self.outputs.push(at);
                continue;
            }
            let needed = step.node.uses() > step.edges;
            // Beside those of pending nodes and of this list, only tensors have handles.
            let held = Arc::strong_count(&step.node) > step.node.uses() + 1;
            if !needed && !held {
                continue;
            }
            if !needed && !step.node.passed() {
                self.passed.push(at);
            } else if self.whole(step) && matches!(step.body, Body::Op { .. }) {
                self.outputs.push(at);
            } else {
                first.push(Arc::clone(&step.node));
            }
        }
        if !first.is_empty() {
            return Err(Stop::First(first));
        }
        let room = limits.bindings.saturating_sub(self.inputs());
        let ops = self.order.iter().filter(|&&at| self.is_op(at)).count();
        if self.outputs.len() <= room && ops <= limits.ops as usize {
            return Ok(());
        }
        if roots.len() > 1 {
            return Err(Stop::First(roots.to_vec()));
        }
        // The last output that fits is computed first, together with those before it; else a part of the expression.
        let cut = match self.outputs.len() {
            1 => None,
            _ => self
                .outputs
                .get(room.saturating_sub(1).min(self.outputs.len() - 2)),
        };
        match cut.and_then(|&at| self.steps.get(at)) {
            Some(step) => Err(Stop::first(&step.node)),
            None => self.split().map_or(Ok(()), Err),
        }
    }

    /// A part to be computed first, unless the plan is one op.
    pub(super) fn split(&self) -> Option<Stop> {
        let below = self.order.iter().rev().skip(1);
        let part = below.copied().find(|&at| self.is_op(at))?;
        self.steps.get(part).map(|step| Stop::first(&step.node))
    }

    fn is_op(&self, at: usize) -> bool {
        self.steps
            .get(at)
            .is_some_and(|step| matches!(step.body, Body::Op { .. }))
    }

    /// Whether the kernel computes all elements of a step, in its order; a prefix has the first map too.
    fn whole(&self, step: &Step) -> bool {
        step.map == 0 && step.node.shape().len() == self.shape.len()
    }

    /// The number of leaves, each as often as it is seen through another map.
    fn inputs(&self) -> usize {
        let mut seen: Vec<(usize, usize)> = Vec::new();
        for operand in self.steps.iter().flat_map(Step::operands) {
            if let Operand::Leaf { step, map } = operand
                && !seen.contains(&(*step, *map))
            {
                seen.push((*step, *map));
            }
        }
        seen.len()
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
                        expression.input(view.ok_or_else(|| Stop::first(&step.node))?)
                    }
                    Operand::Step(step) => match ids.get(step).copied().flatten() {
                        Some(id) => id,
                        None => continue,
                    },
                    Operand::Node(_) => continue,
                });
            }
            let id = match &step.body {
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

    /// For each output, memory of an input that it may overwrite: nobody else has it, nobody will read it, and it lies
    /// as the output will. To be called while no expression holds the views.
    pub(super) fn in_place(&self) -> Vec<Option<View>> {
        let kept = self.kept();
        let mut taken = vec![false; self.steps.len()];
        let mut places = Vec::with_capacity(self.outputs.len());
        for &output in &self.outputs {
            let dtype = self.steps.get(output).map(|step| step.node.dtype());
            let place = self.steps.iter().enumerate().find_map(|(at, step)| {
                let free = !taken.get(at).copied().unwrap_or(true)
                    && !kept.get(at).copied().unwrap_or(true)
                    && dtype == Some(step.node.dtype());
                let view = if free { self.reusable(at, step) } else { None };
                view.map(|view| (at, view))
            });
            places.push(place.map(|(at, view)| {
                if let Some(slot) = taken.get_mut(at) {
                    *slot = true;
                }
                view
            }));
        }
        places
    }

    /// The memory of a leaf if this plan alone has it, and walks it once, from its beginning.
    fn reusable(&self, at: usize, step: &Step) -> Option<View> {
        let view = step.view()?;
        let bytes = self.shape.len() as u64 * view.dtype.bytes() as u64;
        let alone = !self.assumed
            && Arc::strong_count(&step.node) == step.edges + 1
            && view.buffer.is_unique()
            && !view.buffer.is_wrapped()
            && view.buffer.bytes() == bytes;
        let plain = view.layout == Layout::contiguous(self.shape)
            && self.steps.iter().flat_map(Step::operands).all(|operand| {
                !matches!(operand, Operand::Leaf { step, map } if *step == at && *map != 0)
            });
        (alone && plain).then(|| view.clone())
    }

    /// Steps whose values are read again after the kernel: by what is passed over, directly or not.
    fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.steps.len()];
        for &at in self.order.iter().rev() {
            let stays = kept.get(at).copied().unwrap_or(false) || self.passed.contains(&at);
            if !stays || self.outputs.contains(&at) {
                continue;
            }
            let operands = self.steps.get(at).into_iter().flat_map(Step::operands);
            for operand in operands {
                if let Operand::Step(below) | Operand::Leaf { step: below, .. } = operand
                    && let Some(slot) = kept.get_mut(*below)
                {
                    *slot = true;
                }
            }
        }
        kept
    }

    /// The public operation of a step.
    pub(super) fn name(&self, step: usize) -> &'static str {
        match self.steps.get(step).map(|step| &step.body) {
            Some(Body::Op { name, .. }) => name,
            _ => "view",
        }
    }

    /// The public operations, operands first.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let ops = self.order.iter().copied().filter(|&at| self.is_op(at));
        ops.map(|at| self.name(at)).collect()
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
        let operands = operands.iter().flatten().map(|operand| match *operand {
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

impl Step {
    /// The memory of a leaf.
    fn view(&self) -> Option<&View> {
        match (&self.body, self.node.value()) {
            (Body::Leaf(Some(view)), _) | (Body::Leaf(None), Some(Ok(view))) => Some(view),
            _ => None,
        }
    }

    fn operands(&self) -> impl Iterator<Item = &Operand> {
        let operands = match &self.body {
            Body::Op { operands, .. } | Body::Walk(operands) => Some(operands),
            Body::Leaf(_) => None,
        };
        operands.into_iter().flatten().flatten()
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
