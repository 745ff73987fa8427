//! What can be recorded: copies, clears, dispatches, and hooks around the submission.
//!
//! The recorder does not check what the layers above already know (alignment, bounds, binding
//! types); wgpu does, and what it finds poisons the device. Empty copies and dispatches of zero
//! workgroups are legal and record nothing.

use std::sync::atomic::Ordering;

use crate::Submission;
use crate::encode::Encoding;
use crate::late::{Command, LatePipeline, Launch};
use crate::queue::Locked;
use crate::timestamps::Profiler;

/// A bind group other than group 0.
#[derive(Clone, Debug)]
pub struct BoundGroup {
    /// The group's number.
    pub index: u32,
    /// What it binds.
    pub group: wgpu::BindGroup,
    /// Offsets of its dynamic bindings.
    pub dynamic_offsets: Vec<u32>,
}

/// How many workgroups a launch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workgroups<B> {
    /// So many along x, y and z.
    Counts([u32; 3]),
    /// As many as the first three words of this buffer say when the launch runs. Its usages have `INDIRECT`, and no count is
    /// above the device's limit.
    Indirect(B),
}

impl<B> Workgroups<B> {
    /// The same with a reference to the buffer.
    pub const fn as_ref(&self) -> Workgroups<&B> {
        match self {
            Self::Counts(counts) => Workgroups::Counts(*counts),
            Self::Indirect(buffer) => Workgroups::Indirect(buffer),
        }
    }
}

impl Workgroups<&wgpu::Buffer> {
    /// The same with the buffer.
    pub(crate) fn cloned(self) -> Workgroups<wgpu::Buffer> {
        match self {
            Self::Counts(counts) => Workgroups::Counts(counts),
            Self::Indirect(buffer) => Workgroups::Indirect(buffer.clone()),
        }
    }
}

impl<B> From<[u32; 3]> for Workgroups<B> {
    fn from(counts: [u32; 3]) -> Self {
        Self::Counts(counts)
    }
}

/// What a dispatch does, as profiles show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes that it reads.
    pub read: u64,
    /// Bytes that it writes.
    pub written: u64,
    /// Arithmetic operations, of which a multiply-add is two; 0 if nobody said how many there are.
    pub operations: u64,
}

/// One kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct Dispatch<'a, P = wgpu::ComputePipeline> {
    /// Name in profiles and in the driver's tools.
    pub label: &'a str,
    /// The kernel.
    pub pipeline: &'a P,
    /// What it works on, bound as group 0.
    pub bind_group: Option<&'a wgpu::BindGroup>,
    /// Offsets of the group's dynamic bindings.
    pub dynamic_offsets: &'a [u32],
    /// What is bound as other groups than 0.
    pub more_groups: &'a [BoundGroup],
    /// Immediates, from offset 0; a multiple of four bytes.
    pub immediates: &'a [u8],
    /// Workgroups along x, y and z.
    pub workgroups: Workgroups<&'a wgpu::Buffer>,
    /// What it does, for profiles; only looked at while one is made.
    pub work: Work,
}

/// A box of texels of one level of a texture, and where the same texels lie in a buffer, from its beginning.
#[derive(Clone, Debug)]
pub struct TextureCopy {
    /// Into the texture, or out of it.
    pub into_texture: bool,
    /// The texture.
    pub texture: wgpu::Texture,
    /// Its level.
    pub level: u32,
    /// The first layer of a 2D texture.
    pub layer: u32,
    /// Columns, rows, and layers or slices.
    pub size: wgpu::Extent3d,
    /// The buffer.
    pub buffer: wgpu::Buffer,
    /// Bytes from one row to the next: a multiple of 256.
    pub bytes_per_row: u32,
}

impl TextureCopy {
    pub(crate) fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let texture = wgpu::TexelCopyTextureInfo {
            texture: &self.texture,
            mip_level: self.level,
            origin: wgpu::Origin3d {
                x: 0,
                y: 0,
                z: self.layer,
            },
            aspect: wgpu::TextureAspect::All,
        };
        let buffer = wgpu::TexelCopyBufferInfo {
            buffer: &self.buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(self.bytes_per_row),
                rows_per_image: Some(self.size.height),
            },
        };
        if self.into_texture {
            encoder.copy_buffer_to_texture(buffer, texture, self.size);
        } else {
            encoder.copy_texture_to_buffer(texture, buffer, self.size);
        }
    }
}

/// The open batch, for as long as one [`Device::record`](crate::Device::record) lasts.
pub struct Recorder<'a> {
    pub(crate) locked: Locked<'a>,
    pub(crate) device: &'a wgpu::Device,
    pub(crate) profiler: &'a Profiler,
    pub(crate) labels: bool,
}

impl std::fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("submission", &self.submission())
            .finish_non_exhaustive()
    }
}

impl<'a> Recorder<'a> {
    /// The number this work will have.
    #[must_use]
    pub fn submission(&self) -> Submission {
        self.locked.number()
    }

    /// Copies `bytes` bytes between buffers. Offsets and length are multiples of 4.
    pub fn copy_buffer(
        &mut self,
        src: &wgpu::Buffer,
        src_offset: u64,
        dst: &wgpu::Buffer,
        dst_offset: u64,
        bytes: u64,
    ) {
        if bytes == 0 {
            return;
        }
        self.profiler.host.moved(bytes);
        self.copy(
            |encoder| encoder.copy_buffer_to_buffer(src, src_offset, dst, dst_offset, bytes),
            || Command::Copy {
                src: src.clone(),
                src_offset,
                dst: dst.clone(),
                dst_offset,
                bytes,
            },
        );
    }

    /// Fills `bytes` bytes with zeros. Offset and length are multiples of 4.
    pub fn clear_buffer(&mut self, buffer: &wgpu::Buffer, offset: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.copy(
            |encoder| encoder.clear_buffer(buffer, offset, Some(bytes)),
            || Command::Clear {
                buffer: buffer.clone(),
                offset,
                bytes,
            },
        );
    }

    /// Copies texels between a buffer and a texture. Empty copies record nothing.
    pub fn copy_texture(&mut self, copy: &TextureCopy) {
        let size = copy.size;
        if [size.width, size.height, size.depth_or_array_layers].contains(&0) {
            return;
        }
        self.copy(
            |encoder| copy.encode(encoder),
            || Command::Texture(Box::new(copy.clone())),
        );
    }

    /// Says that the first `bytes` bytes hold nothing from here on, and the rest is padding: a
    /// sanitizer then finds kernels that read them before they are written. Does nothing without
    /// one ([`Device::is_checked`](crate::Device::is_checked)).
    pub fn mark_undefined(&mut self, buffer: &wgpu::Buffer, bytes: u64) {
        self.copy(
            |encoder| crate::software::mark_undefined(encoder, buffer, 0..bytes),
            || Command::Undefined {
                buffer: buffer.clone(),
                bytes,
            },
        );
    }

    /// Launches a kernel.
    pub fn dispatch(&mut self, dispatch: Dispatch<'_>) {
        let timed = self.profiler.is_on();
        if !self.counts(dispatch.workgroups) {
            return;
        }
        let encoding = self.encoding();
        let batch = self.locked.batch();
        if batch.late.is_empty() {
            encoding.dispatch(batch, dispatch, timed);
        } else {
            let pipeline = LatePipeline::ready(dispatch.pipeline.clone());
            let launch = Launch::new(&dispatch, pipeline, timed);
            batch.late.push_back(Command::Dispatch(Box::new(launch)));
        }
    }

    /// Launches a kernel whose pipeline another thread may still be making: this and what is recorded after it is
    /// kept and encoded when the pipeline is there. The submission waits for it; if it cannot be made, the device
    /// fails with [`DeviceError::Kernel`](crate::DeviceError::Kernel).
    pub fn dispatch_late(&mut self, dispatch: Dispatch<'_, LatePipeline>) {
        if let Some(pipeline) = dispatch.pipeline.get() {
            return self.dispatch(Dispatch {
                label: dispatch.label,
                pipeline,
                bind_group: dispatch.bind_group,
                dynamic_offsets: dispatch.dynamic_offsets,
                more_groups: dispatch.more_groups,
                immediates: dispatch.immediates,
                workgroups: dispatch.workgroups,
                work: dispatch.work,
            });
        }
        if self.counts(dispatch.workgroups) {
            let timed = self.profiler.is_on();
            let launch = Launch::new(&dispatch, dispatch.pipeline.clone(), timed);
            let late = &mut self.locked.batch().late;
            late.push_back(Command::Dispatch(Box::new(launch)));
        }
    }

    /// Notes the time at which the GPU has done all that was recorded before, for
    /// [`Device::take_marks`](crate::Device::take_marks). Nothing on a device without timestamps.
    pub fn mark_time(&mut self) {
        if !self.profiler.is_available() {
            return;
        }
        let encoding = self.encoding();
        let batch = self.locked.batch();
        batch.commands = batch.commands.saturating_add(1);
        if batch.late.is_empty() {
            encoding.mark(batch);
        } else {
            batch.late.push_back(Command::Mark);
        }
    }

    /// Counts a dispatch; false if it has no work.
    fn counts(&mut self, workgroups: Workgroups<&wgpu::Buffer>) -> bool {
        if matches!(workgroups, Workgroups::Counts(counts) if counts.contains(&0)) {
            return false;
        }
        self.locked
            .counters()
            .dispatches
            .fetch_add(1, Ordering::Relaxed);
        let batch = self.locked.batch();
        batch.commands = batch.commands.saturating_add(1);
        true
    }

    /// Runs `hook` just before this batch is submitted, in the order of registration: the place
    /// for queue writes that this batch reads. It runs under the queue's lock and must not record,
    /// nor take a lock that is held while recording. The hooks of a batch that is never submitted
    /// (the device failed) are dropped without being run.
    pub fn before_submit(&mut self, hook: impl FnOnce(&wgpu::Queue) + Send + 'static) {
        self.locked.batch().before.push(Box::new(hook));
    }

    /// Runs `hook` right after this batch was submitted, before the call that submitted it
    /// returns: the place for `map_async`. It must neither record nor flush, so that it cannot
    /// make submissions nest. Dropped without being run like
    /// [`before_submit`](Self::before_submit)'s.
    pub fn after_submit(&mut self, hook: impl FnOnce(Submission) + Send + 'static) {
        self.locked.batch().after.push(Box::new(hook));
    }

    /// Counts a copy and encodes it with `now`, or keeps it where commands before it are kept.
    fn copy(
        &mut self,
        now: impl FnOnce(&mut wgpu::CommandEncoder),
        late: impl FnOnce() -> Command,
    ) {
        self.locked
            .counters()
            .copies
            .fetch_add(1, Ordering::Relaxed);
        let encoding = self.encoding();
        let batch = self.locked.batch();
        batch.commands = batch.commands.saturating_add(1);
        if batch.late.is_empty() {
            now(encoding.command(batch));
        } else {
            batch.late.push_back(late());
        }
    }

    fn encoding(&self) -> Encoding<'a> {
        Encoding {
            device: self.device,
            profiler: self.profiler,
            labels: self.labels,
        }
    }
}
