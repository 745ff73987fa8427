//! Checking and recording dispatches.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ziggurat_device::{Recorder, Stage, Work};

use super::{Inner, Pipelines};
use crate::arguments::{Arg, arrange};
use crate::bind::{Entries, Groups};
use crate::dispatch::{self, check_kinds, check_ranges};
use crate::error::{LimitError, PipelineError};
use crate::grid::Grid;
use crate::indirect::Workgroups;
use crate::kernel::Kernel;
use crate::launch::Launch;
use crate::observe::{self, ObservedWorkgroups};

impl Pipelines {
    /// Records a dispatch in order with all other work of the device.
    ///
    /// `args` are the buffers for the kernel's storage bindings and the bytes of its uniforms, each kind by group and
    /// binding index unless [`Arg::at`] says otherwise. `params` are the bytes of its immediate variable, or of its only
    /// uniform; or empty. Without work (a zero in the grid) nothing is recorded, and buffers may be too small.
    ///
    /// # Errors
    ///
    /// Any mismatch between kernel and arguments, before anything is recorded; errors of device or memory.
    pub fn dispatch(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u8],
        grid: Grid,
    ) -> Result<(), PipelineError> {
        let inner = &*self.inner;
        let span = inner.device.span(Stage::Plan);
        let arranged = arrange(kernel, args, params)?;
        let (args, params) = arranged.parts(args, params);
        let mut entries = Entries::default();
        let Some(workgroups) = self.check(kernel, args, params, grid, &mut entries)? else {
            return Ok(());
        };
        if kernel.pipeline().get().is_none() {
            inner.refuse_failed(kernel)?;
        }
        if observe::is_on() {
            observe::tell(kernel, args, params, ObservedWorkgroups::Counts(workgroups));
        }
        dispatch::carry_marks(dispatch::buffers(args).map(|arg| (arg.buffer, arg.writes())));
        drop(span);
        self.record_or_tape(
            kernel,
            args,
            entries,
            params,
            Workgroups::Counts(workgroups),
        )
    }

    /// Records a dispatch that was checked, or puts it onto the tape of this handle or thread.
    pub(crate) fn record_or_tape(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        mut entries: Entries<'_>,
        params: &[u8],
        workgroups: Workgroups,
    ) -> Result<(), PipelineError> {
        if let Some(tape) = self.taping_now() {
            return tape.push(self, kernel, args, &entries, params, workgroups);
        }
        let inner = &*self.inner;
        let work = if inner.device.is_profiling() {
            dispatch::work(kernel.reflection(), args)
        } else {
            Work::default()
        };
        self.record_checked(kernel, &mut entries, params, (&workgroups, work))
    }

    /// All checks of a dispatch whose arguments are arranged: the workgroups, `None` if there is no work, and what is
    /// bound.
    pub(crate) fn check<'a>(
        &self,
        kernel: &Kernel,
        args: &[Arg<'a>],
        params: &[u8],
        grid: Grid,
        entries: &mut Entries<'a>,
    ) -> Result<Option<[u32; 3]>, PipelineError> {
        self.check_use(kernel, args, params)?;
        let (inner, reflection) = (&*self.inner, kernel.reflection());
        let caps = inner.device.caps();
        let planned = grid
            .plan(reflection.workgroup_size, caps.max_workgroups)
            .map_err(|overflow| {
                PipelineError::Limit(LimitError::GridTooLarge {
                    kernel: kernel.name().to_owned(),
                    place: Arc::clone(&reflection.place),
                    wanted: overflow.wanted,
                    limit: overflow.limit,
                })
            })?;
        let Some(workgroups) = planned else {
            inner.empty_dispatches.fetch_add(1, Ordering::Relaxed);
            return Ok(None);
        };
        dispatch::check_fold(reflection, grid, workgroups, caps.max_workgroups)?;
        check_ranges(reflection, args, caps, entries)?;
        Ok(Some(workgroups))
    }

    /// All checks of a dispatch but those of its grid.
    pub(crate) fn check_bound<'a>(
        &self,
        kernel: &Kernel,
        args: &[Arg<'a>],
        params: &[u8],
        entries: &mut Entries<'a>,
    ) -> Result<(), PipelineError> {
        self.check_use(kernel, args, params)?;
        let caps = self.inner.device.caps();
        check_ranges(kernel.reflection(), args, caps, entries)?;
        if kernel.pipeline().get().is_none() {
            self.inner.refuse_failed(kernel)?;
        }
        Ok(())
    }

    /// The kernel is of this device, and its arguments are of the right kinds.
    fn check_use(
        &self,
        kernel: &Kernel,
        args: &[Arg<'_>],
        params: &[u8],
    ) -> Result<(), PipelineError> {
        if kernel.owner() != self.inner.id {
            return Err(PipelineError::ForeignKernel {
                kernel: kernel.name().to_owned(),
            });
        }
        self.touch(kernel);
        check_kinds(kernel, &self.inner.memory, args, params)
    }

    /// Notes a use, so that the kernel is not forgotten soon.
    #[inline]
    pub(crate) fn touch(&self, kernel: &Kernel) {
        kernel.touch(self.inner.now());
    }

    /// Records what was checked.
    pub(crate) fn record_checked(
        &self,
        kernel: &Kernel,
        entries: &mut Entries<'_>,
        params: &[u8],
        sizes: (&Workgroups, Work),
    ) -> Result<(), PipelineError> {
        let pipeline = self.compiled(kernel)?;
        self.inner
            .record(kernel, pipeline, entries, params, sizes)?;
        self.count_dispatches(1);
        Ok(())
    }

    /// The pipeline of a kernel, `None` while it may still be compiled.
    #[inline]
    pub(crate) fn compiled<'a>(
        &self,
        kernel: &'a Kernel,
    ) -> Result<Option<&'a wgpu::ComputePipeline>, PipelineError> {
        let pipeline = kernel.pipeline().get();
        if pipeline.is_none() {
            self.inner.refuse_failed(kernel)?;
        }
        Ok(pipeline)
    }
}

impl Inner {
    fn record(
        &self,
        kernel: &Kernel,
        pipeline: Option<&wgpu::ComputePipeline>,
        entries: &mut Entries<'_>,
        params: &[u8],
        (workgroups, work): (&Workgroups, Work),
    ) -> Result<(), PipelineError> {
        let launch = |groups: &Groups, offset, immediates: &[u8], recorder: &mut Recorder<'_>| {
            Launch {
                kernel,
                pipeline,
                bound: groups.into(),
                offset,
                immediates,
                workgroups,
                work,
            }
            .record(recorder);
        };
        let joined = kernel.param_bytes();
        let (immediates, uniforms) = joined.split(params);
        if joined.uniforms().is_empty() {
            let groups = self.groups(kernel, entries, 0);
            self.device
                .record(|recorder| launch(&groups, 0, immediates, recorder))?;
            return Ok(());
        }
        // Uniform memory belongs to the batch that is open now: everything happens under the queue's lock.
        self.device
            .record(|recorder| -> Result<(), PipelineError> {
                let slice = self.memory.write_uniform(recorder, uniforms)?;
                let mut entries = entries.clone();
                joined.entries(&slice).for_each(|entry| entries.push(entry));
                let groups = self.groups(kernel, &entries, slice.offset);
                launch(&groups, slice.offset, immediates, recorder);
                Ok(())
            })?
    }

    pub(super) fn groups(&self, kernel: &Kernel, entries: &Entries<'_>, offset: u32) -> Groups {
        let device = self.device.wgpu();
        let layouts = kernel.layouts();
        let mut groups = self.binds.groups(device, layouts, entries, offset);
        if let (Some(debug), Some(debugged)) = (&self.debug, kernel.debugged()) {
            groups.more.extend(debug.bound(debugged));
        }
        groups
    }
}
