//! Pipelines that another thread is still making, and what was recorded behind the first of them.
//!
//! A dispatch of such a pipeline cannot be encoded yet, and what is recorded after it must stay after it. From the
//! first such dispatch on a batch therefore keeps owned commands; they are encoded, in order, as soon as their
//! pipelines are there: by whoever records next, and at the latest by the submission, which waits for them.
//!
//! Invariants: commands are encoded in the order of recording; while a batch keeps commands, nothing is encoded
//! before them; a pipeline that could not be made fails the device with [`DeviceError::Kernel`] before anything that
//! was recorded after its dispatch is submitted, so that no result is silently missing.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex};

use crate::DeviceError;
use crate::encode::Encoding;
use crate::queue::Batch;
use crate::recorder::{BoundGroup, Dispatch, TextureCopy, Work, Workgroups};

/// A compute pipeline that may still be being made. Clones stand for the same pipeline.
#[derive(Clone, Debug, Default)]
pub struct LatePipeline(Arc<Late>);

#[derive(Debug, Default)]
struct Late {
    made: OnceLock<Result<wgpu::ComputePipeline, DeviceError>>,
    /// Guards the wait only.
    turn: Mutex<()>,
    completed: Condvar,
}

impl LatePipeline {
    /// One that somebody will [complete](Self::complete). Whoever makes one must do so whatever happens: submissions wait
    /// for it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One that is there.
    #[must_use]
    pub fn ready(pipeline: wgpu::ComputePipeline) -> Self {
        let late = Self::new();
        late.complete(Ok(pipeline));
        late
    }

    /// Says what became of it. Only the first call counts.
    pub fn complete(&self, made: Result<wgpu::ComputePipeline, DeviceError>) {
        let turn = self.0.turn.lock();
        // A second result is of no use to anybody.
        let _ = self.0.made.set(made);
        drop(turn);
        self.0.completed.notify_all();
    }

    /// The pipeline, if it is there.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<&wgpu::ComputePipeline> {
        match self.0.made.get() {
            Some(Ok(pipeline)) => Some(pipeline),
            _ => None,
        }
    }

    /// Whether it is there or will never be.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.0.made.get().is_some()
    }

    /// Why it will never be there, if that is known.
    #[must_use]
    pub fn failure(&self) -> Option<&DeviceError> {
        self.0.made.get()?.as_ref().err()
    }

    /// Waits until it is complete.
    ///
    /// # Errors
    /// Why it could not be made.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&self) -> Result<&wgpu::ComputePipeline, DeviceError> {
        if !self.is_complete() {
            let mut turn = self.0.turn.lock();
            while !self.is_complete() {
                self.0.completed.wait(&mut turn);
            }
        }
        self.outcome()
    }

    fn outcome(&self) -> Result<&wgpu::ComputePipeline, DeviceError> {
        match self.0.made.get() {
            Some(Ok(pipeline)) => Ok(pipeline),
            Some(Err(error)) => Err(error.clone()),
            None => Err(DeviceError::Kernel {
                kernel: String::new(),
                message: "the pipeline was dropped before its compilation finished".to_owned(),
            }),
        }
    }

    /// Waits, where threads can wait: in a browser nothing is ever late.
    fn completed(&self) -> Result<&wgpu::ComputePipeline, DeviceError> {
        #[cfg(not(target_arch = "wasm32"))]
        return self.wait();
        #[cfg(target_arch = "wasm32")]
        return self.outcome();
    }
}

/// A recorded command that is not encoded yet.
#[derive(Debug)]
pub(crate) enum Command {
    Copy {
        src: wgpu::Buffer,
        src_offset: u64,
        dst: wgpu::Buffer,
        dst_offset: u64,
        bytes: u64,
    },
    Clear {
        buffer: wgpu::Buffer,
        offset: u64,
        bytes: u64,
    },
    Undefined {
        buffer: wgpu::Buffer,
        bytes: u64,
    },
    Texture(Box<TextureCopy>),
    Mark,
    Dispatch(Box<Launch>),
}

/// An owned [`Dispatch`].
#[derive(Debug)]
pub(crate) struct Launch {
    label: String,
    pipeline: LatePipeline,
    bind_group: Option<wgpu::BindGroup>,
    dynamic_offsets: Vec<u32>,
    more_groups: Vec<BoundGroup>,
    immediates: Vec<u8>,
    workgroups: Workgroups<wgpu::Buffer>,
    work: Work,
    timed: bool,
}

impl Launch {
    pub(crate) fn new<P>(dispatch: &Dispatch<'_, P>, pipeline: LatePipeline, timed: bool) -> Self {
        Self {
            label: dispatch.label.to_owned(),
            pipeline,
            bind_group: dispatch.bind_group.cloned(),
            dynamic_offsets: dispatch.dynamic_offsets.to_vec(),
            more_groups: dispatch.more_groups.to_vec(),
            immediates: dispatch.immediates.to_vec(),
            workgroups: dispatch.workgroups.cloned(),
            work: dispatch.work,
            timed,
        }
    }
}

/// The commands that a batch keeps.
pub(crate) type Commands = VecDeque<Command>;

/// The pipelines that commands still wait for.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn incomplete(commands: &Commands) -> Vec<LatePipeline> {
    let pipelines = commands.iter().filter_map(|command| match command {
        Command::Dispatch(launch) if !launch.pipeline.is_complete() => {
            Some(launch.pipeline.clone())
        }
        _ => None,
    });
    pipelines.collect()
}

/// Encodes the commands whose turn it is: all that come before the first pipeline that is not there, or, with `wait`,
/// all.
///
/// # Errors
/// Why a pipeline could not be made: the batch must not be submitted then.
pub(crate) fn encode(
    batch: &mut Batch,
    encoding: &Encoding<'_>,
    wait: bool,
) -> Result<(), DeviceError> {
    loop {
        if let Some(Command::Dispatch(launch)) = batch.late.front()
            && !wait
            && !launch.pipeline.is_complete()
        {
            return Ok(());
        }
        match batch.late.pop_front() {
            None => return Ok(()),
            Some(Command::Mark) => encoding.mark(batch),
            Some(Command::Dispatch(launch)) => {
                let dispatch = Dispatch {
                    label: &launch.label,
                    pipeline: launch.pipeline.completed()?,
                    bind_group: launch.bind_group.as_ref(),
                    dynamic_offsets: &launch.dynamic_offsets,
                    more_groups: &launch.more_groups,
                    immediates: &launch.immediates,
                    workgroups: launch.workgroups.as_ref(),
                    work: launch.work,
                };
                encoding.dispatch(batch, dispatch, launch.timed);
            }
            Some(Command::Copy {
                src,
                src_offset,
                dst,
                dst_offset,
                bytes,
            }) => encoding
                .command(batch)
                .copy_buffer_to_buffer(&src, src_offset, &dst, dst_offset, bytes),
            Some(Command::Clear {
                buffer,
                offset,
                bytes,
            }) => encoding
                .command(batch)
                .clear_buffer(&buffer, offset, Some(bytes)),
            Some(Command::Texture(copy)) => copy.encode(encoding.command(batch)),
            Some(Command::Undefined { buffer, bytes }) => {
                crate::software::mark_undefined(encoding.command(batch), &buffer, 0..bytes);
            }
        }
    }
}
