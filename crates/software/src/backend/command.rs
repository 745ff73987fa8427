//! Recorded commands and the running of them.

use std::ops::Range;
use std::sync::Arc;

use super::buffer::BufferData;
use super::errors::Kind;
use super::object::ObjectError;
use super::pipeline::PipelineData;
use super::query::QueryData;
use super::state::State;
use super::texture::{TextureCopy, ViewData};
use crate::engine::{Bound, BoundHandle, Handle, RunLimits, Sampler, Stop, Storage, Trap, Watch};
use crate::sanitize::Program;

/// A part of a buffer bound for one dispatch.
#[derive(Clone)]
pub(super) struct Binding {
    pub(super) group: u32,
    pub(super) binding: u32,
    pub(super) buffer: Arc<BufferData>,
    pub(super) range: Range<u64>,
}

/// A texture or sampler bound for one dispatch.
pub(super) struct HandleBinding {
    pub(super) group: u32,
    pub(super) binding: u32,
    pub(super) what: BoundHandleData,
}

/// See [`HandleBinding`].
pub(super) enum BoundHandleData {
    View(Arc<ViewData>),
    Sampler(Sampler),
}

/// The size of a dispatch: known, or read from a buffer when it runs.
#[derive(Clone)]
pub(super) enum Workgroups {
    Direct([u32; 3]),
    Indirect {
        buffer: Arc<BufferData>,
        offset: u64,
    },
}

/// A kernel with everything that it runs on.
pub(super) struct Dispatch {
    pub(super) pipeline: Arc<PipelineData>,
    pub(super) bindings: Vec<Binding>,
    pub(super) handles: Vec<HandleBinding>,
    pub(super) immediates: Vec<u8>,
    pub(super) workgroups: Workgroups,
}

/// One checked command.
pub(super) enum Command {
    Copy {
        source: Arc<BufferData>,
        source_offset: u64,
        target: Arc<BufferData>,
        target_offset: u64,
        bytes: u64,
    },
    Clear {
        buffer: Arc<BufferData>,
        offset: u64,
        bytes: u64,
    },
    /// Nobody has written these bytes.
    Undefine {
        buffer: Arc<BufferData>,
        range: Range<u64>,
    },
    Dispatch(Dispatch),
    /// From a buffer into a texture.
    WriteTexture {
        copy: TextureCopy,
        source: Arc<BufferData>,
    },
    /// From a texture into a buffer.
    ReadTexture {
        copy: TextureCopy,
        target: Arc<BufferData>,
    },
    Timestamp {
        set: Arc<QueryData>,
        index: u32,
    },
    Resolve {
        set: Arc<QueryData>,
        first: u32,
        count: u32,
        target: Arc<BufferData>,
        offset: u64,
    },
}

/// Why a command stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("kernel '{kernel}' was stopped at {place} in workgroup {workgroup:?}: {stop}")]
    Stopped {
        kernel: String,
        /// File and line, with the line's text.
        place: String,
        workgroup: [u32; 3],
        stop: Stop,
    },
}

impl RunError {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Object(_) => Kind::Validation,
            Self::Stopped {
                stop: Stop::Shadow(_),
                ..
            } => Kind::OutOfMemory,
            Self::Stopped { .. } => Kind::Internal,
        }
    }
}

impl Command {
    /// Calls `f` with every buffer that the command touches.
    pub(super) fn for_each_buffer<E>(
        &self,
        mut f: impl FnMut(&BufferData) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Copy { source, target, .. } => {
                f(source)?;
                f(target)
            }
            Self::Clear { buffer, .. } => f(buffer),
            Self::WriteTexture { source, .. } => f(source),
            Self::ReadTexture { target, .. } => f(target),
            // No use of the buffer: it may be mapped or gone by then.
            Self::Undefine { .. } => Ok(()),
            Self::Resolve { target, .. } => f(target),
            Self::Timestamp { .. } => Ok(()),
            Self::Dispatch(dispatch) => {
                for binding in &dispatch.bindings {
                    f(&binding.buffer)?;
                }
                match &dispatch.workgroups {
                    Workgroups::Indirect { buffer, .. } => f(buffer),
                    Workgroups::Direct(_) => Ok(()),
                }
            }
        }
    }

    /// The query set that the command touches.
    pub(super) fn query_set(&self) -> Option<&QueryData> {
        match self {
            Self::Timestamp { set, .. } | Self::Resolve { set, .. } => Some(set),
            _ => None,
        }
    }

    pub(super) fn run(&self, state: &State) -> Result<(), RunError> {
        match self {
            Self::Copy {
                source,
                source_offset,
                target,
                target_offset,
                bytes,
            } => {
                let from = source.storage()?;
                target
                    .storage()?
                    .copy(&from, *source_offset, *target_offset, *bytes);
            }
            Self::Clear {
                buffer,
                offset,
                bytes,
            } => buffer.storage()?.fill(*offset, *bytes, 0),
            Self::Undefine { buffer, range } => {
                if let Ok(storage) = buffer.storage() {
                    let bytes = range.end.saturating_sub(range.start);
                    storage.mark_undefined(range.start, bytes, buffer.bytes);
                }
            }
            Self::Dispatch(dispatch) => dispatch.run(state)?,
            Self::WriteTexture { copy, source } => copy.write_from(&*source.storage()?)?,
            Self::ReadTexture { copy, target } => copy.read_into(&*target.storage()?)?,
            Self::Timestamp { set, index } => set.stamp(*index),
            Self::Resolve {
                set,
                first,
                count,
                target,
                offset,
            } => target.storage()?.write(*offset, &set.bytes(*first, *count)),
        }
        Ok(())
    }
}

impl Workgroups {
    /// The counts; none where an indirect count is beyond the limit, as wgpu has it.
    fn resolve(&self, state: &State) -> Result<[u32; 3], ObjectError> {
        let (buffer, offset) = match self {
            Self::Direct(workgroups) => return Ok(*workgroups),
            Self::Indirect { buffer, offset } => (buffer, offset),
        };
        let storage = buffer.storage()?;
        let mut workgroups = [0; 3];
        for (axis, at) in workgroups.iter_mut().zip([0_u64, 4, 8]) {
            let mut word = [0; 4];
            storage.read(offset + at, &mut word);
            *axis = u32::from_le_bytes(word);
        }
        let limit = state.limits.max_compute_workgroups_per_dimension;
        if workgroups.iter().any(|&count| count > limit) {
            return Ok([0; 3]);
        }
        Ok(workgroups)
    }
}

impl Dispatch {
    fn run(&self, state: &State) -> Result<(), RunError> {
        let workgroups = self.workgroups.resolve(state)?;
        if workgroups.contains(&0) {
            return Ok(());
        }
        let storages: Vec<Arc<Storage>> = self
            .bindings
            .iter()
            .map(|binding| binding.buffer.storage())
            .collect::<Result<_, _>>()?;
        let bound: Vec<Bound<'_>> = self
            .bindings
            .iter()
            .zip(&storages)
            .map(|(binding, storage)| Bound {
                group: binding.group,
                binding: binding.binding,
                storage,
                offset: binding.range.start,
                bytes: binding.range.end - binding.range.start,
            })
            .collect();
        let limits = RunLimits {
            threads: state.profile.threads,
            steps: state.profile.steps,
            workgroup_steps: state.profile.workgroup_steps,
        };
        let handle = |bound: &HandleBinding| {
            let what = match &bound.what {
                BoundHandleData::View(view) => Handle::View(Arc::new(view.view()?)),
                BoundHandleData::Sampler(sampler) => Handle::Sampler(*sampler),
            };
            Ok(BoundHandle {
                group: bound.group,
                binding: bound.binding,
                what,
            })
        };
        let handles: Result<Vec<_>, ObjectError> = self.handles.iter().map(handle).collect();
        let outcome = self.execute(state, (&bound, &handles?), workgroups, &limits);
        state.collect_prints(&self.pipeline);
        outcome.map_err(|trap| RunError::Stopped {
            kernel: self.pipeline.label.clone(),
            place: self.pipeline.text().described(trap.line),
            workgroup: trap.workgroup,
            stop: trap.stop,
        })
    }

    fn execute(
        &self,
        state: &State,
        bound: (&[Bound<'_>], &[BoundHandle]),
        workgroups: [u32; 3],
        limits: &RunLimits,
    ) -> Result<(), Trap> {
        let PipelineData {
            program,
            label,
            module,
            ..
        } = &*self.pipeline;
        let Some(sanitizer) = &state.profile.sanitizer else {
            return program.run(bound, &self.immediates, workgroups, limits);
        };
        let watch = Watch::new(sanitizer.checks(), workgroups, state.profile.shadow_bytes);
        let outcome = program.run_checked(bound, &self.immediates, workgroups, limits, &watch);
        let text = self.pipeline.text();
        if sanitizer.checks().uninitialized && outcome.is_ok() {
            program.find_unwritten(bound.0, &watch, |line| text.promises(line));
        }
        let ran = Program {
            kernel: label.clone(),
            text: module.hash,
            constants: self.pipeline.constants.clone(),
        };
        sanitizer.add(ran, &text, watch.into_found());
        outcome
    }
}
