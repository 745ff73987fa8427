//! A fixed sequence of dispatches, checked and planned once, recorded again as often as wanted.
//!
//! [`Pipelines::taping`] gives a handle whose dispatches go through all checks and then onto a tape instead of into
//! the device's queue; [`Pipelines::tape_thread`] does that to everything that a thread dispatches, for layers whose
//! values carry their own handles. [`Tape::replay`] records them: no lookup, no planning, no allocation of ours; only what wgpu
//! itself does per dispatch remains. Contents of buffers are not part of a tape: whoever wants other inputs writes
//! them into the same buffers before a replay.
//!
//! Memory allocated meanwhile ([`Pipelines::arena`]) is used for several purposes where lifetimes do not overlap, as the
//! order of dispatches is the same in every replay.
//!
//! Invariants: a tape holds every buffer that its dispatches touch, so that the pool cannot hand them to somebody
//! else; the dispatches of one replay are not interleaved with another replay of the same tape.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use ziggurat_device::{Recorder, Work};
use ziggurat_memory::{Arena, ArenaUsage, Buffer, Memory};

use crate::arguments::{Arg, OwnedResource, ResourceEntry};
use crate::bind::{Entries, Entry, Groups};
use crate::descriptor::KernelDescriptor;
use crate::dispatch;
use crate::error::PipelineError;
use crate::indirect::Workgroups;
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::pipelines::Pipelines;

/// One dispatch on a tape.
#[derive(Debug)]
struct Step {
    kernel: Kernel,
    /// Complete; nothing if parameters go through uniform memory, which differs from batch to batch.
    groups: Option<Groups>,
    params: Range<usize>,
    workgroups: Workgroups,
    work: Work,
    bound: Box<[Bound]>,
    resources: Box<[OwnedResource]>,
}

/// A binding that keeps its memory.
#[derive(Debug)]
struct Bound {
    group: u32,
    binding: u32,
    buffer: wgpu::Buffer,
    id: u64,
    offset: u64,
    bytes: u64,
    /// Nothing for memory of the tape's arena, which may be used for something else behind the last handle to it.
    _held: Option<Buffer>,
}

#[derive(Debug, Default)]
struct Steps {
    steps: Vec<Step>,
    /// The parameters of all steps.
    params: Vec<u8>,
}

thread_local! {
    /// The device whose dispatches on this thread go onto a tape; 0 for none.
    static TAPED: Cell<usize> = const { Cell::new(0) };
    /// That tape.
    static TAPE: RefCell<Option<Arc<Taping>>> = const { RefCell::new(None) };
}

/// Where the dispatches of a taping handle go; `None` once the tape was taken.
#[derive(Debug)]
pub(crate) struct Taping {
    steps: Mutex<Option<Steps>>,
    arena: Arena,
}

impl Taping {
    pub(crate) fn start(memory: &Memory) -> Arc<Self> {
        Arc::new(Self {
            steps: Mutex::new(Some(Steps::default())),
            arena: memory.arena(),
        })
    }

    /// Appends a checked dispatch.
    pub(crate) fn push(
        &self,
        pipelines: &Pipelines,
        kernel: &Kernel,
        args: &[Arg<'_>],
        entries: &Entries<'_>,
        params: &[u8],
        workgroups: Workgroups,
    ) -> Result<(), PipelineError> {
        let is_complete = kernel.param_bytes().uniforms().is_empty();
        let groups = is_complete.then(|| pipelines.groups(kernel, entries, 0));
        let mut taken = self.steps.lock();
        let Some(all) = taken.as_mut() else {
            return Err(PipelineError::TapeEnded {
                kernel: kernel.name().to_owned(),
            });
        };
        let start = all.params.len();
        all.params.extend_from_slice(params);
        let args_bound = entries.iter().zip(dispatch::buffers(args));
        let bound = args_bound.map(|(entry, arg)| Bound {
            group: entry.group,
            binding: entry.binding,
            buffer: entry.buffer.clone(),
            id: entry.id,
            offset: entry.offset,
            bytes: entry.bytes,
            _held: (!self.arena.has(arg.buffer)).then(|| arg.buffer.clone()),
        });
        all.steps.push(Step {
            kernel: kernel.clone(),
            groups,
            params: start..all.params.len(),
            workgroups,
            work: dispatch::work(kernel.reflection(), args),
            bound: bound.collect(),
            resources: entries.resources.iter().map(ResourceEntry::owned).collect(),
        });
        Ok(())
    }
}

/// A sequence of dispatches to be recorded again and again. See [`Pipelines::taping`].
#[derive(Debug)]
pub struct Tape {
    pipelines: Pipelines,
    content: Steps,
    /// The memory between the dispatches.
    arena: Arena,
    /// Held while replaying, so that replays do not mix.
    turn: Mutex<()>,
}

impl Tape {
    /// Dispatches on the tape.
    pub fn len(&self) -> usize {
        self.content.steps.len()
    }

    /// Whether there is nothing on the tape.
    pub fn is_empty(&self) -> bool {
        self.content.steps.is_empty()
    }

    /// The memory that was allocated for it while it was recorded: what has a handle no more is used again by dispatches
    /// behind.
    #[must_use]
    pub fn memory(&self) -> ArenaUsage {
        self.arena.usage()
    }

    /// What is dispatched, in order.
    pub fn dispatches(&self) -> impl Iterator<Item = TapedDispatch<'_>> {
        self.content.steps.iter().map(TapedDispatch)
    }

    /// Records all dispatches, in order with all other work of the device.
    ///
    /// # Errors
    ///
    /// Errors of the device; [`PipelineError::Memory`] where parameters go through uniform memory.
    pub fn replay(&self) -> Result<(), PipelineError> {
        let device = self.pipelines.device();
        let batch = usize::try_from(device.options().submit_after.max(1)).unwrap_or(usize::MAX);
        let turn = self.turn.lock();
        for steps in self.content.steps.chunks(batch) {
            device.record(|recorder| -> Result<(), PipelineError> {
                for step in steps {
                    self.record(recorder, step)?;
                }
                Ok(())
            })??;
        }
        drop(turn);
        self.pipelines.count_dispatches(self.len());
        Ok(())
    }

    fn record(&self, recorder: &mut Recorder<'_>, step: &Step) -> Result<(), PipelineError> {
        let params = self.content.params.get(step.params.clone());
        let params = params.ok_or_else(|| PipelineError::Internal {
            kernel: step.kernel.name().to_owned(),
            what: "the parameters of a taped dispatch lie on the tape",
        })?;
        let kernel = &step.kernel;
        let launch = |groups: &Groups, offset, immediates: &[u8], recorder: &mut Recorder<'_>| {
            Launch {
                kernel,
                pipeline: kernel.pipeline().get(),
                bound: groups.into(),
                offset,
                immediates,
                workgroups: &step.workgroups,
                work: step.work,
            }
            .record(recorder);
        };
        let joined = kernel.param_bytes();
        let (immediates, uniforms) = joined.split(params);
        if let Some(groups) = &step.groups {
            launch(groups, 0, immediates, recorder);
            return Ok(());
        }
        let slice = self.pipelines.memory().write_uniform(recorder, uniforms)?;
        let mut entries = Entries::default();
        for bound in &step.bound {
            entries.push(Entry {
                group: bound.group,
                binding: bound.binding,
                buffer: &bound.buffer,
                id: bound.id,
                offset: bound.offset,
                bytes: bound.bytes,
            });
        }
        entries.resources = step.resources.iter().map(OwnedResource::entry).collect();
        joined.entries(&slice).for_each(|entry| entries.push(entry));
        let groups = self.pipelines.groups(kernel, &entries, slice.offset);
        launch(&groups, slice.offset, immediates, recorder);
        Ok(())
    }
}

/// One dispatch of a [`Tape`], to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct TapedDispatch<'a>(&'a Step);

impl<'a> TapedDispatch<'a> {
    /// The kernel's name, text and constants.
    #[must_use]
    pub fn descriptor(&self) -> &'a KernelDescriptor {
        self.0.kernel.descriptor()
    }

    /// Bytes that it reads, and that it writes: of each operand the elements that it has, each once. What is changed in
    /// place counts as written.
    #[must_use]
    pub fn bytes(&self) -> [u64; 2] {
        [self.0.work.read, self.0.work.written]
    }
}

/// Puts what this thread dispatches on a tape until it is finished or dropped. See [`Pipelines::tape_thread`].
#[derive(Debug)]
pub struct TapeScope {
    pipelines: Pipelines,
    taping: Arc<Taping>,
    thread: PhantomData<*const ()>,
}

impl TapeScope {
    /// Ends the scope: what this thread dispatched within it.
    #[must_use]
    pub fn finish(self) -> Tape {
        let content = self.taping.steps.lock().take().unwrap_or_default();
        Tape {
            pipelines: self.pipelines.clone(),
            content,
            arena: self.taping.arena.clone(),
            turn: Mutex::new(()),
        }
    }
}

impl Drop for TapeScope {
    fn drop(&mut self) {
        TAPED.set(0);
        TAPE.set(None);
    }
}

/// Restores what this thread tapes.
struct Untaped(usize);

impl Drop for Untaped {
    fn drop(&mut self) {
        TAPED.set(self.0);
    }
}

impl Pipelines {
    /// Puts everything that this thread dispatches on the device, through whichever handle, on a tape instead of into
    /// the queue. `None` if the thread does that already, for this device or another. What other threads dispatch, and
    /// uploads and reads, are not part of it.
    pub fn tape_thread(&self) -> Option<TapeScope> {
        if TAPED.get() != 0 {
            return None;
        }
        let taping = Taping::start(self.memory());
        TAPED.set(self.number());
        TAPE.set(Some(Arc::clone(&taping)));
        Some(TapeScope {
            pipelines: self.without_taping(),
            taping,
            thread: PhantomData,
        })
    }

    /// Calls `f` with this thread's dispatches going into the queue, also within a [`TapeScope`].
    pub fn untaped<R>(&self, f: impl FnOnce() -> R) -> R {
        let _restored = Untaped(TAPED.replace(0));
        f()
    }

    /// The tape that dispatches on this handle and thread go onto.
    pub(crate) fn taping_now(&self) -> Option<Arc<Taping>> {
        if let Some(handle) = self.tape() {
            return Some(Arc::clone(handle));
        }
        if TAPED.get() != self.number() {
            return None;
        }
        TAPE.with_borrow(Clone::clone)
    }

    /// Where memory for what this handle and thread dispatch comes from, while that goes onto a tape.
    #[must_use]
    pub fn arena(&self) -> Option<Arena> {
        self.taping_now().map(|taping| taping.arena.clone())
    }

    /// A handle that shares everything with this one, but whose dispatches are put on a tape instead of being
    /// recorded. [`Self::take_tape`] ends it.
    #[must_use]
    pub fn taping(&self) -> Self {
        self.with_taping(Taping::start(self.memory()))
    }

    /// Whether dispatches of this handle on this thread go onto a tape (or went, before it was taken).
    #[inline]
    pub fn is_taping(&self) -> bool {
        self.tape().is_some() || TAPED.get() == self.number()
    }

    /// Ends taping: what was dispatched on this handle and its clones, `None` if the handle is not
    /// [taping](Self::taping) or its tape was taken before. Dispatches that follow are errors.
    pub fn take_tape(&self) -> Option<Tape> {
        let taping = self.tape()?;
        let content = taping.steps.lock().take()?;
        Some(Tape {
            pipelines: self.without_taping(),
            content,
            arena: taping.arena.clone(),
            turn: Mutex::new(()),
        })
    }
}
