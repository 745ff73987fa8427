//! From a [`Call`] to recorded dispatches: the one place that plans a call and runs its steps.

use ziggurat_core::Shape;
use ziggurat_pipeline::Arg;

use crate::compose::assemble::narrow;
use crate::fused::Operand;
use crate::run::call::{Call, Operands, Sink, Source};
use crate::run::completion::Completion;
use crate::run::ends::Ends;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::plan::{Binding, Body, Place, Plan, Planned, Planner, Step, Steps};
use crate::run::view::View;

impl Executor {
    /// How often the kernels of a call read each element of a first operand of this shape, and how many bindings they need
    /// besides operands and outputs: what it depends on whether they can read an expression.
    #[must_use]
    pub fn reading(&self, call: &Call, shape: &Shape) -> [usize; 2] {
        let ability = self.ability();
        [
            call.reads(shape, &ability),
            call.more_bindings(shape, &ability),
        ]
    }

    /// Decides how a call runs: which kernels, with which parameters, over which grids; with memory of what size between
    /// them. Nothing is allocated, compiled or recorded.
    ///
    /// # Errors
    /// Those of the op for operands, options and outputs; [`KernelError::CannotFuse`] if it cannot read or write the
    /// expression in one kernel.
    pub fn plan(
        &self,
        call: &Call,
        operands: &Operands<'_>,
        sink: Sink<'_>,
    ) -> Result<Plan, KernelError> {
        self.with_ends(call, operands, sink, |ends| {
            let body = self.body(call, ends)?;
            let mut wgsl = String::new();
            if let Body::Steps(steps) = &body {
                for step in &steps.steps {
                    let kernel = (&step.choice, step.generated(ends));
                    let bindings = step.bindings.iter().count();
                    let listing = self.generated_listing(kernel, bindings, step.own())?;
                    if !wgsl.is_empty() {
                        wgsl.push('\n');
                    }
                    wgsl.push_str(&listing);
                }
            }
            Ok(Plan { body, wgsl })
        })
    }

    /// Compiles the kernels of a call, and waits for that: what a driver refuses is an error here, and no failure of the
    /// device. Kernels of calls on parts of operands, and generated ones, are left.
    ///
    /// # Errors
    /// Those of [`Executor::plan`], and of compiling.
    pub(crate) fn compile(
        &self,
        call: &Call,
        operands: &Operands<'_>,
        sink: Sink<'_>,
    ) -> Result<(), KernelError> {
        self.with_ends(call, operands, sink, |ends| {
            let Body::Steps(steps) = self.body(call, ends)? else {
                return Ok(());
            };
            let own = |step: &&Step| {
                let generated = step.generated(ends);
                generated.reads.is_none() && generated.writes.is_none()
            };
            let mut steps = steps.steps.iter().filter(own);
            steps.try_for_each(|step| self.compile_choice(&step.choice, step.own().words))
        })
    }

    /// Plans a call and records it. The methods named like ops do this.
    ///
    /// # Errors
    /// Those of [`Executor::plan`]; [`KernelError::Memory`] if there is no room for memory between dispatches, and the errors
    /// of the layers below.
    pub fn run(
        &self,
        call: &Call,
        operands: &Operands<'_>,
        sink: Sink<'_>,
    ) -> Result<Completion, KernelError> {
        self.with_ends(call, operands, sink, |ends| self.run_ends(call, ends))?;
        Ok(self.completion())
    }

    /// Plans a call whose ends are ready and records it: for calls within calls.
    pub(crate) fn run_ends(&self, call: &Call, ends: &Ends<'_>) -> Result<(), KernelError> {
        match self.body(call, ends)? {
            Body::Nothing => Ok(()),
            Body::Steps(steps) => self.run_steps(call.name(), &steps, ends),
            Body::Parts => (call.family().run_parts)(self, ends, call),
        }
    }

    /// Plans steps and runs them: for calls within calls that have no [`Call`] of their own.
    pub(crate) fn run_planned(
        &self,
        op: &'static str,
        ends: &Ends<'_>,
        plan: impl FnOnce(&mut Planner<'_>) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let mut planner = Planner::new(self, op, ends, None);
        plan(&mut planner)?;
        let steps = planner.steps;
        self.run_steps(op, &steps, ends)
    }

    /// Makes what the call reads and writes ready, as far as that takes no device.
    fn with_ends<R>(
        &self,
        call: &Call,
        operands: &Operands<'_>,
        sink: Sink<'_>,
        f: impl FnOnce(&Ends<'_>) -> Result<R, KernelError>,
    ) -> Result<R, KernelError> {
        let others = operands.others.iter().flatten().count();
        let further = others + 1 + usize::from(sink.also.is_some());
        let prologue;
        let a = match operands.first {
            Source::View(view) => Operand::Memory(view),
            Source::Reader(reader) => Operand::Fused(&reader.0),
            Source::Expression(input) => {
                prologue = self.prologue(&input, further + 1, call)?;
                Operand::Fused(&prologue)
            }
        };
        let refused = |operand, rule, got| KernelError::operand(call.name(), operand, rule, got);
        if matches!(a, Operand::Fused(_)) && !call.reads_expressions() {
            let rule = "must be in memory for this op";
            return Err(refused("the first operand", rule, *a.layout().shape()));
        }
        if sink.through.is_some() && !call.writes_expressions() {
            let rule = "cannot be written through an expression by this op";
            return Err(refused("out", rule, *sink.out.shape()));
        }
        let epilogue = sink
            .through
            .map(|value| self.epilogue(value, sink.out, a.bindings() + further))
            .transpose()?;
        f(&Ends {
            a,
            others: operands.others,
            out: sink.out,
            also: sink.also,
            epilogue: epilogue.as_ref(),
        })
    }

    fn body(&self, call: &Call, ends: &Ends<'_>) -> Result<Body, KernelError> {
        let mut planner = Planner::new(self, call.name(), ends, Some(call));
        let planned = (call.family().plan)(&mut planner, call.kind())?;
        Ok(match planned {
            Planned::Nothing => Body::Nothing,
            Planned::Steps => Body::Steps(planner.steps),
            Planned::Parts => Body::Parts,
        })
    }

    fn run_steps(
        &self,
        op: &'static str,
        steps: &Steps,
        ends: &Ends<'_>,
    ) -> Result<(), KernelError> {
        let mut scratch = Vec::with_capacity(steps.scratch.len());
        for (shape, dtype) in &steps.scratch {
            scratch.push(self.alloc(shape, *dtype)?);
        }
        for step in &steps.steps {
            self.run_step(op, step, ends, &scratch)?;
        }
        for &(from, to) in &steps.copies {
            let (from, to) = (
                memory(op, Place::Scratch(from), ends, &scratch)?,
                memory(op, to, ends, &scratch)?,
            );
            match (from.rank().checked_sub(1), to.dims().last()) {
                (Some(axis), Some(&len)) if from.dims() != to.dims() => {
                    let from = narrow(op, from, axis, 0, len)?;
                    self.copy_into(op, &from, to)?;
                }
                _ => self.copy_into(op, from, to)?,
            }
        }
        Ok(())
    }

    fn run_step(
        &self,
        op: &'static str,
        step: &Step,
        ends: &Ends<'_>,
        scratch: &[View],
    ) -> Result<(), KernelError> {
        let generated = step.generated(ends);
        let mut bindings = step.bindings.iter();
        if generated.reads.is_some() {
            // Bound by the value that is read there, which is the first of every kernel.
            bindings.next();
        }
        let arg = |binding: &Binding| {
            let view = memory(op, binding.place, ends, scratch)?;
            Ok::<_, KernelError>(binding.window.arg(view, binding.writes))
        };
        let Some(binding) = bindings.next() else {
            return Err(KernelError::internal(op, "a step without bindings"));
        };
        let mut args: [Arg<'_>; 8] = [arg(binding)?; 8];
        let mut len = 1;
        for (slot, binding) in args.iter_mut().skip(1).zip(bindings) {
            *slot = arg(binding)?;
            len += 1;
        }
        let args = args.get(..len).unwrap_or(&args);
        if generated.reads.is_none() && generated.writes.is_none() {
            return self.launch_words(&step.choice, args, step.own().words, step.grid);
        }
        let kernel = (&step.choice, generated);
        self.launch_generated(op, kernel, args, step.own(), step.grid)
    }
}

/// The view at a place.
fn memory<'a>(
    op: &'static str,
    place: Place,
    ends: &Ends<'a>,
    scratch: &'a [View],
) -> Result<&'a View, KernelError> {
    let view = match place {
        Place::First => match ends.a {
            Operand::Memory(view) => Some(view),
            Operand::Fused(_) => None,
        },
        Place::Other(at) => ends.others.get(at).copied().flatten(),
        Place::Out => Some(ends.out),
        Place::Also => ends.also,
        Place::Scratch(at) => scratch.get(at),
    };
    view.ok_or(KernelError::internal(
        op,
        "a step binds memory that its call does not have",
    ))
}
