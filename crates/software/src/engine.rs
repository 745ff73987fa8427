//! Compiles and runs one entry point over buffers.
//!
//! The validated module (after its overrides are resolved) is *lowered* to a tree of operations on
//! virtual 32-bit registers: calls are inlined, composites are split into scalars, structured
//! control flow stays. *Passes* over the tree remove copies, find which registers are uniform (one
//! value for all invocations, computed once), and give the others slots. Execution runs all
//! invocations of a workgroup in lockstep, one operation at a time over all of them, with a mask of
//! those that are active; so barriers cost nothing and loops over lanes vectorise.
//!
//! Invariants: nothing here panics on any validated module, and nothing is `unsafe`; what is not
//! supported is a [`CompileError`] that names the construct and its line. Out-of-bounds reads give
//! zero or a clamped element, out-of-bounds writes are dropped. Results do not depend on the number
//! of threads: a program that can see the order of workgroups through atomics runs on one.

mod check;
mod exec;
mod ir;
mod layout;
mod lower;
mod pass;
mod print;
mod scalar;
mod shadow;
mod storage;
#[cfg(test)]
mod tests;
mod texture;

pub(crate) use check::{Party, Raw, Watch};
pub(crate) use print::Line;
pub(crate) use storage::Storage;
pub(crate) use texture::{Axes, BoundHandle, Filter, Handle, Level, Sampler, Texel, View, Wrap};

use crate::profile::Profile;
use crate::sanitize::Kind;

/// A construct that the engine does not run, found when a pipeline is made.
#[derive(Clone, Debug, thiserror::Error)]
#[error("line {line}: {construct}: {message}")]
pub(crate) struct CompileError {
    /// What it is, in WGSL's words.
    pub(crate) construct: String,
    /// Line in the WGSL text, from 1; 0 if it has none.
    pub(crate) line: u32,
    /// Why it is refused.
    pub(crate) message: String,
}

/// Why a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error(
        "one workgroup took more than {0} steps, so this loop probably never ends \
         (the limit is `Profile::workgroup_steps`)"
    )]
    WorkgroupSteps(u64),
    #[error("the dispatch took more than {0} steps (the limit is `Profile::steps`)")]
    Steps(u64),
    #[error(
        "the sanitizer would need more than {0} bytes to follow the memory that this dispatch uses \
         (the limit is `Profile::shadow_bytes`); run it with smaller buffers"
    )]
    Shadow(u64),
    #[error("nothing is bound to @group({group}) @binding({binding})")]
    Unbound { group: u32, binding: u32 },
    #[error("another workgroup of the dispatch was stopped")]
    Elsewhere,
}

/// A run that was stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    /// Why.
    pub(crate) stop: Stop,
    /// Line in the WGSL text, from 1; 0 if it has none.
    pub(crate) line: u32,
    /// The workgroup that was running.
    pub(crate) workgroup: [u32; 3],
}

/// A part of a buffer bound to `@group(group) @binding(binding)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound<'a> {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    pub(crate) storage: &'a Storage,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLimits {
    /// Threads that run workgroups; 0 takes as many as the machine has.
    pub(crate) threads: usize,
    /// Steps of all workgroups; more is a [`Trap`].
    pub(crate) steps: Option<u64>,
    /// Steps of one workgroup, likewise.
    pub(crate) workgroup_steps: Option<u64>,
}

/// A compiled entry point.
#[derive(Debug)]
pub(crate) struct Program {
    code: ir::Code,
}

impl Program {
    /// Compiles `entry` of a validated module whose overrides have their values. `zeroed`: workgroup memory is to start as
    /// zero.
    pub(crate) fn compile(
        module: &naga::Module,
        info: &naga::valid::ModuleInfo,
        source: &str,
        entry: &str,
        profile: &Profile,
        zeroed: bool,
    ) -> Result<Self, CompileError> {
        let mut code = lower::lower(module, info, source, entry, profile)?;
        code.zeroed = zeroed;
        pass::optimise(&mut code);
        Ok(Self { code })
    }

    /// Invocations of a workgroup along x, y and z.
    #[cfg(test)]
    pub(crate) fn workgroup_size(&self) -> [u32; 3] {
        self.code.workgroup
    }

    /// What it printed since the last time, and how many prints more were not kept.
    pub(crate) fn take_printed(&self) -> (Vec<Line>, u64) {
        self.code.prints.take()
    }

    /// Runs `workgroups` workgroups.
    pub(crate) fn run(
        &self,
        bindings: (&[Bound<'_>], &[BoundHandle]),
        immediates: &[u8],
        workgroups: [u32; 3],
        limits: &RunLimits,
    ) -> Result<(), Trap> {
        exec::run(&self.code, bindings, immediates, workgroups, limits, None)
    }

    /// [`Program::run`] under a sanitizer.
    pub(crate) fn run_checked(
        &self,
        bindings: (&[Bound<'_>], &[BoundHandle]),
        immediates: &[u8],
        workgroups: [u32; 3],
        limits: &RunLimits,
        watch: &Watch,
    ) -> Result<(), Trap> {
        if watch.checks.aliasing {
            self.find_aliases(bindings.0, watch);
        }
        let outcome = exec::run(
            &self.code,
            bindings,
            immediates,
            workgroups,
            limits,
            Some(watch),
        );
        for bound in bindings.0 {
            bound.storage.end_dispatch();
        }
        outcome
    }

    /// Buffers that are bound, each with the variable that names it.
    fn bound_variables<'a>(
        &'a self,
        bindings: &'a [Bound<'a>],
    ) -> impl Iterator<Item = (&'a Bound<'a>, &'a check::Variable)> {
        let pairs = self.code.bindings.iter().zip(&self.code.variables);
        pairs.filter_map(|((group, binding), variable)| {
            let place = (*group, *binding);
            let bound = bindings.iter().find(|b| (b.group, b.binding) == place)?;
            Some((bound, variable))
        })
    }

    /// Reports memory that nobody has written of buffers whose declarations promise that the program writes all; `promises`
    /// answers for a line.
    pub(crate) fn find_unwritten(
        &self,
        bindings: &[Bound<'_>],
        watch: &Watch,
        promises: impl Fn(u32) -> bool,
    ) {
        for (bound, variable) in self.bound_variables(bindings) {
            if !promises(variable.line) {
                continue;
            }
            let Some((first, count)) = bound.storage.unwritten(bound.offset, bound.bytes) else {
                continue;
            };
            let (kind, line) = (Kind::UnwrittenOutput, variable.line);
            watch.find(kind, line, || Raw {
                kind,
                line,
                party: None,
                other: None,
                message: format!(
                    "nobody has written {count} bytes of {}, the first at byte {}",
                    variable.name,
                    first - bound.offset
                ),
                with: None,
                count: 1,
            });
        }
    }

    /// Reports bindings that overlap, one of which the program writes.
    fn find_aliases(&self, bindings: &[Bound<'_>], watch: &Watch) {
        let used: Vec<_> = self.bound_variables(bindings).collect();
        for (i, (a, first)) in used.iter().enumerate() {
            for (b, second) in used.iter().skip(i + 1) {
                let (start, end) = (
                    a.offset.max(b.offset),
                    (a.offset + a.bytes).min(b.offset + b.bytes),
                );
                let apart = !std::ptr::eq(a.storage, b.storage) || start >= end;
                if apart || !(first.written || second.written) {
                    continue;
                }
                let (kind, line) = (Kind::Aliasing, second.line);
                watch.find(kind, line, || Raw {
                    kind,
                    line,
                    party: None,
                    other: None,
                    message: format!(
                        "{} and {} share {} bytes of a buffer",
                        second.name,
                        first.name,
                        end - start
                    ),
                    with: Some((first.name.clone(), first.line)),
                    count: 1,
                });
            }
        }
    }
}
