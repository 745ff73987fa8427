//! [`Plan`]: how a call runs on a device, decided before anything touches it.
//!
//! A plan is a list of steps, each one dispatch: the kernel, what it binds, its parameters, its grid; memory that lies
//! between the steps; and copies at the end into outputs that kernels cannot write as they are.
//!
//! Invariants: planning allocates no device memory and compiles nothing; all checks of a call are made by its plan, so that
//! a call which fails has recorded nothing; of several steps those that write results have the epilogue, and each
//! result is written by one of them.

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::Grid;

use crate::fused::Operand;
use crate::run::call::Call;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::launch::{MAX_INDEX, Window, check_output};
use crate::run::view::View;
use crate::source::choice::KernelChoice;
use crate::source::list::List;
use crate::source::params::Params;

mod step;

pub(super) use step::Step;

/// The memory that a binding is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The first operand, which may be a value of an expression.
    First,
    /// One of the others.
    Other(usize),
    Out,
    Also,
    /// Memory between steps.
    Scratch(usize),
}

/// One binding of a step: which bytes of which memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(super) place: Place,
    pub(super) window: Window,
    pub(super) writes: bool,
}

/// A binding, and where the operand begins in it, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) binding: Binding,
    pub(crate) offset: u32,
}

impl Bound {
    /// The same memory as a kernel writes it.
    pub(crate) const fn written(mut self) -> Self {
        self.binding.writes = true;
        self
    }

    /// The same memory as a kernel reads it.
    pub(crate) const fn read(mut self) -> Self {
        self.binding.writes = false;
        self
    }
}

/// Dispatches, the memory between them, and copies from that to outputs.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) scratch: Vec<(Shape, DType)>,
    pub(super) steps: Vec<Step>,
    pub(super) copies: Vec<(usize, Place)>,
}

#[derive(Debug)]
pub(super) enum Body {
    /// There are no elements.
    Nothing,
    Steps(Steps),
    /// An operand is larger than the device binds: calls on parts of the operands, which are planned one by one as their
    /// memory is there.
    Parts,
}

/// How a call runs: see [`Executor::plan`].
#[derive(Debug)]
pub struct Plan {
    pub(super) body: Body,
    pub(super) wgsl: String,
}

impl Plan {
    /// Dispatches that it takes, copies aside; `None` if operands are larger than the device binds and the call runs in
    /// parts.
    #[must_use]
    pub fn dispatches(&self) -> Option<usize> {
        match &self.body {
            Body::Nothing => Some(0),
            Body::Steps(steps) => Some(steps.steps.len()),
            Body::Parts => None,
        }
    }

    /// Bytes of memory that it takes between dispatches.
    #[must_use]
    pub fn scratch_bytes(&self) -> u64 {
        let Body::Steps(steps) = &self.body else {
            return 0;
        };
        let bytes = |(shape, dtype): &(Shape, DType)| shape.len() as u64 * dtype.bytes() as u64;
        steps.scratch.iter().map(bytes).sum()
    }

    /// The WGSL of its kernels, one after the other, for people.
    #[must_use]
    pub fn listing(&self) -> &str {
        &self.wgsl
    }
}

/// What the planning of a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planned {
    /// There is nothing to compute.
    Nothing,
    /// The steps were added.
    Steps,
    /// Operands are larger than the device binds.
    Parts,
}

/// Collects the steps of a call.
#[derive(Debug)]
pub(crate) struct Planner<'a> {
    pub(crate) exec: &'a Executor,
    pub(crate) op: &'static str,
    pub(crate) ends: &'a Ends<'a>,
    /// What is planned; `None` for calls within calls that have no [`Call`] of their own.
    pub(crate) call: Option<&'a Call>,
    pub(super) steps: Steps,
    between: Option<Between>,
}

/// Memory between steps that stands for operands and the output of some of the steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) others: [Option<Bound>; 2],
    /// Instead of the output of the call.
    pub(crate) out: Option<Bound>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        exec: &'a Executor,
        op: &'static str,
        ends: &'a Ends<'a>,
        call: Option<&'a Call>,
    ) -> Self {
        Self {
            exec,
            op,
            ends,
            call,
            steps: Steps::default(),
            between: None,
        }
    }

    /// Plans steps that read and write memory between steps.
    pub(crate) fn with<T>(&mut self, between: Between, plan: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.between.replace(between);
        let planned = plan(self);
        self.between = before;
        planned
    }

    fn bind(&self, place: Place, view: &View, writes: bool) -> Result<Bound, KernelError> {
        let (window, offset) = self.exec.window(self.op, view)?;
        let binding = Binding {
            place,
            window,
            writes,
        };
        Ok(Bound { binding, offset })
    }

    /// Binds the first operand. A value of an expression binds what it reads, and counts its elements from 0.
    pub(crate) fn first(&self) -> Result<Bound, KernelError> {
        match self.ends.a {
            Operand::Memory(view) => self.bind(Place::First, view, false),
            Operand::Fused(_) => Ok(Bound {
                binding: Binding {
                    place: Place::First,
                    window: Window::default(),
                    writes: false,
                },
                offset: 0,
            }),
        }
    }

    /// Binds one of the other operands, if it is there.
    pub(crate) fn other(&self, at: usize) -> Result<Option<Bound>, KernelError> {
        if let Some(between) = self.between {
            return Ok(between.others.get(at).copied().flatten());
        }
        let view = self.ends.others.get(at).copied().flatten();
        view.map(|view| self.bind(Place::Other(at), view, false))
            .transpose()
    }

    /// Binds one of the other operands, which the checks of the call have seen to be there.
    pub(crate) fn needed(&self, at: usize) -> Result<Bound, KernelError> {
        self.other(at)?.ok_or(KernelError::internal(
            self.op,
            "an operand is missing that was there",
        ))
    }

    /// Binds the output, if kernels can write it: whole vec4s, and no memory that the call reads. Else memory is bound that
    /// is copied to the output at the end.
    pub(crate) fn out(&mut self) -> Result<Bound, KernelError> {
        if let Some(out) = self.between.and_then(|between| between.out) {
            return Ok(out);
        }
        self.target(Place::Out, self.ends.out, self.ends.also)
    }

    /// Binds memory for the output in lines of `pitch` elements along its last axis, of which those that it has are copied to
    /// it at the end.
    pub(crate) fn out_in_lines(&mut self, pitch: u64) -> Result<Bound, KernelError> {
        check_output(self.op, self.ends.out)?;
        let mut dims = self.ends.out.dims().to_vec();
        if let Some(last) = dims.last_mut() {
            *last = usize::try_from(pitch).unwrap_or(usize::MAX);
        }
        let shape = Shape::new(dims).map_err(KernelError::shape(self.op))?;
        let bound = self.scratch(shape, self.ends.out.dtype)?;
        let copy = (self.steps.scratch.len() - 1, Place::Out);
        self.steps.copies.push(copy);
        Ok(bound)
    }

    /// As [`Self::out`], for the second output.
    pub(crate) fn also(&mut self) -> Result<Option<Bound>, KernelError> {
        let also = self.ends.also;
        also.map(|out| self.target(Place::Also, out, Some(self.ends.out)))
            .transpose()
    }

    fn target(
        &mut self,
        place: Place,
        out: &View,
        other: Option<&View>,
    ) -> Result<Bound, KernelError> {
        check_output(self.op, out)?;
        let mut used = self.ends.inputs().chain(other);
        let shared = used.any(|view| view.buffer.same_memory(&out.buffer));
        if out.is_vec4() && !shared {
            return self.bind(place, out, true);
        }
        let bound = self.scratch(*out.shape(), out.dtype)?;
        self.steps
            .copies
            .push((self.steps.scratch.len() - 1, place));
        Ok(bound)
    }

    /// Binds the output as it is, for ops that write any view.
    pub(crate) fn raw_out(&self) -> Result<Bound, KernelError> {
        self.bind(Place::Out, self.ends.out, true)
    }

    /// As [`Self::raw_out`], for the second output.
    pub(crate) fn raw_also(&self) -> Result<Option<Bound>, KernelError> {
        let also = self.ends.also;
        also.map(|out| self.bind(Place::Also, out, true))
            .transpose()
    }

    /// Memory between steps, as a kernel writes it.
    pub(crate) fn scratch(&mut self, shape: Shape, dtype: DType) -> Result<Bound, KernelError> {
        let bytes = (shape.len() as u64)
            .saturating_mul(dtype.bytes() as u64)
            .checked_next_multiple_of(16)
            .unwrap_or(u64::MAX);
        let limit = self.exec.device().caps().max_binding_bytes;
        if bytes > limit {
            return Err(KernelError::BindingTooLarge {
                op: self.op,
                bytes,
                limit,
            });
        }
        if shape.len() as u64 > MAX_INDEX {
            return Err(KernelError::IndexTooLarge {
                op: self.op,
                elements: shape.len() as u64,
                limit: MAX_INDEX,
            });
        }
        let place = Place::Scratch(self.steps.scratch.len());
        self.steps.scratch.push((shape, dtype));
        let binding = Binding {
            place,
            window: Window {
                start: 0,
                bytes,
                offset: 0,
            },
            writes: true,
        };
        Ok(Bound { binding, offset: 0 })
    }

    /// Memory between steps: `words` per output.
    pub(crate) fn partials(
        &mut self,
        dtype: DType,
        outputs: u64,
        words: u32,
    ) -> Result<Bound, KernelError> {
        let dims = [outputs, u64::from(words)].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let shape = Shape::new(dims).map_err(KernelError::shape(self.op))?;
        self.scratch(shape, dtype)
    }

    /// Adds a dispatch that other steps follow.
    pub(crate) fn step<P: Params>(
        &mut self,
        choice: KernelChoice,
        bindings: impl IntoIterator<Item = Bound>,
        params: &P,
        grid: Grid,
    ) {
        self.push(choice, bindings, params, grid, false);
    }

    /// Adds a dispatch that writes results: all that there are, or those that no other one writes.
    pub(crate) fn last<P: Params>(
        &mut self,
        choice: KernelChoice,
        bindings: impl IntoIterator<Item = Bound>,
        params: &P,
        grid: Grid,
    ) {
        let is_last = self.between.is_none_or(|between| between.out.is_none());
        self.push(choice, bindings, params, grid, is_last);
    }

    fn push<P: Params>(
        &mut self,
        choice: KernelChoice,
        bindings: impl IntoIterator<Item = Bound>,
        params: &P,
        grid: Grid,
        is_last: bool,
    ) {
        let mut list = List::new();
        list.extend(bindings.into_iter().map(|bound| bound.binding));
        let step = Step::new((choice, grid), list, params, is_last);
        self.steps.steps.push(step);
    }
}
