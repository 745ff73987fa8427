//! Command encoders and command buffers.
//!
//! Commands are checked when they are recorded. The first error of an encoder or of its passes is
//! kept and reported by `finish`, as WebGPU wants it; the command buffer is then invalid.

use std::error::Error;
use std::sync::Arc;

use parking_lot::Mutex;
use wgpu::custom::{
    CommandBufferInterface, CommandEncoderInterface, DispatchBuffer, DispatchCommandBuffer,
    DispatchComputePass, DispatchQuerySet, DispatchRenderPass, DispatchTexture,
};
use wgpu::{BufferUsages, TextureUsages};

use super::buffer::{Buffer, BufferData, BufferError, COPY_ALIGNMENT, own_buffer};
use super::command::Command;
use super::graphics::Absent;
use super::object::{Object, ObjectError, debug_by_name, own};
use super::pass::ComputePass;
use super::query::{QueryError, own_query_set};
use super::state::State;
use super::texture::{TextureCopy, TextureError, copy_of};

/// Why a command cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub(super) enum EncodeError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Buffer(#[from] BufferError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    Texture(#[from] TextureError),
    #[error("source and target of a copy are the same buffer, '{label}'")]
    SameBuffer { label: String },
    #[error("{what} {value} is not a multiple of {alignment}")]
    Unaligned {
        what: &'static str,
        value: u64,
        alignment: u64,
    },
    #[error("{bytes} bytes from {offset} exceed the {buffer_bytes} bytes of buffer '{label}'")]
    OutOfRange {
        offset: u64,
        bytes: u64,
        label: String,
        buffer_bytes: u64,
    },
    #[error("a pass of the encoder is still open")]
    PassOpen,
    #[error("the encoder has been finished")]
    Finished,
    #[error("a debug group is popped that was not pushed")]
    NoDebugGroup,
    #[error("{open} debug groups are not popped")]
    OpenDebugGroups { open: u32 },
}

/// The first error with the call that it belongs to.
#[derive(Debug, thiserror::Error)]
#[error("In {call}")]
struct Failed {
    call: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

#[derive(Default)]
struct Recording {
    commands: Vec<Command>,
    failed: Option<Failed>,
    pass_open: bool,
    finished: bool,
    debug_groups: u32,
}

/// What an encoder shares with its open pass.
pub(super) struct EncoderData {
    pub(super) state: Arc<State>,
    label: String,
    recording: Mutex<Recording>,
}

impl EncoderData {
    /// Keeps an error for `finish`, if it is the first one.
    pub(super) fn fail(&self, call: &'static str, error: impl Error + Send + Sync + 'static) {
        let source = Box::new(error);
        self.recording
            .lock()
            .failed
            .get_or_insert(Failed { call, source });
    }

    /// Adds a command of the open pass.
    pub(super) fn record(&self, command: Command) {
        self.recording.lock().commands.push(command);
    }

    pub(super) fn end_pass(&self) {
        self.recording.lock().pass_open = false;
    }

    /// Runs `f` and records its command, unless the encoder cannot take any now.
    fn encode(&self, call: &'static str, f: impl FnOnce() -> Result<Option<Command>, EncodeError>) {
        let ready = {
            let recording = self.recording.lock();
            match (recording.finished, recording.pass_open) {
                (true, _) => Err(EncodeError::Finished),
                (_, true) => Err(EncodeError::PassOpen),
                _ => Ok(()),
            }
        };
        match ready.and_then(|()| f()) {
            Ok(command) => self.recording.lock().commands.extend(command),
            Err(error) => self.fail(call, error),
        }
    }

    fn unsupported(&self, call: &'static str, what: &'static str) {
        self.fail(call, ObjectError::Unsupported { what });
    }
}

/// wgpu's handle.
pub(super) struct CommandEncoder(pub(super) Arc<EncoderData>);

/// Finished commands; taken out by the submit that runs them.
pub(super) struct CommandBuffer {
    state: Arc<State>,
    label: String,
    valid: bool,
    pub(super) commands: Mutex<Vec<Command>>,
}

debug_by_name!(CommandEncoder, EncoderData, CommandBuffer);

impl Object for CommandBuffer {
    const KIND: &'static str = "CommandBuffer";
    fn state(&self) -> &Arc<State> {
        &self.state
    }
    fn label(&self) -> &str {
        &self.label
    }
    fn is_valid(&self) -> bool {
        self.valid
    }
}

impl CommandBufferInterface for CommandBuffer {}

impl CommandEncoder {
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::CommandEncoderDescriptor<'_>) -> Self {
        Self(Arc::new(EncoderData {
            state: Arc::clone(state),
            label: desc.label.unwrap_or_default().to_owned(),
            recording: Mutex::default(),
        }))
    }
}

fn aligned(what: &'static str, value: u64, alignment: u64) -> Result<(), EncodeError> {
    if value.is_multiple_of(alignment) {
        Ok(())
    } else {
        Err(EncodeError::Unaligned {
            what,
            value,
            alignment,
        })
    }
}

fn within(buffer: &BufferData, offset: u64, bytes: u64) -> Result<(), EncodeError> {
    if offset
        .checked_add(bytes)
        .is_some_and(|end| end <= buffer.bytes)
    {
        return Ok(());
    }
    Err(EncodeError::OutOfRange {
        offset,
        bytes,
        label: buffer.label().to_owned(),
        buffer_bytes: buffer.bytes,
    })
}

impl CommandEncoder {
    fn copy(
        &self,
        source: (&DispatchBuffer, u64),
        target: (&DispatchBuffer, u64),
        bytes: Option<u64>,
    ) -> Result<Option<Command>, EncodeError> {
        let (source, source_offset) = (own_buffer(&self.0.state, source.0)?, source.1);
        let (target, target_offset) = (own_buffer(&self.0.state, target.0)?, target.1);
        if Arc::ptr_eq(source, target) {
            return Err(EncodeError::SameBuffer {
                label: source.label().to_owned(),
            });
        }
        source.require_usage(BufferUsages::COPY_SRC)?;
        target.require_usage(BufferUsages::COPY_DST)?;
        within(source, source_offset, 0)?;
        let bytes = bytes.unwrap_or(source.bytes - source_offset);
        aligned("copy size", bytes, COPY_ALIGNMENT)?;
        aligned("source offset", source_offset, COPY_ALIGNMENT)?;
        aligned("target offset", target_offset, COPY_ALIGNMENT)?;
        within(source, source_offset, bytes)?;
        within(target, target_offset, bytes)?;
        Ok((bytes > 0).then(|| Command::Copy {
            source: Arc::clone(source),
            source_offset,
            target: Arc::clone(target),
            target_offset,
            bytes,
        }))
    }

    /// A checked copy between a buffer and a texture.
    fn texture_copy(
        &self,
        buffer: &wgpu::TexelCopyBufferInfo<'_>,
        texture: &wgpu::TexelCopyTextureInfo<'_>,
        size: wgpu::Extent3d,
        (in_buffer, in_texture): (BufferUsages, TextureUsages),
    ) -> Result<(Arc<BufferData>, TextureCopy), EncodeError> {
        let state = &self.0.state;
        let data = &own(state, buffer.buffer.as_custom::<Buffer>())?.0;
        data.require_usage(in_buffer)?;
        let alignment = u64::from(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let bytes = data.bytes;
        let layout = &buffer.layout;
        let copy = copy_of(state, texture, layout, size, in_texture, bytes, alignment)?;
        Ok((Arc::clone(data), copy))
    }

    fn clear(
        &self,
        buffer: &DispatchBuffer,
        offset: u64,
        bytes: Option<u64>,
    ) -> Result<Option<Command>, EncodeError> {
        let buffer = own_buffer(&self.0.state, buffer)?;
        buffer.require_usage(BufferUsages::COPY_DST)?;
        aligned("offset", offset, COPY_ALIGNMENT)?;
        let bytes = bytes.unwrap_or(buffer.bytes.saturating_sub(offset));
        aligned("size", bytes, COPY_ALIGNMENT)?;
        within(buffer, offset, bytes)?;
        Ok((bytes > 0).then(|| Command::Clear {
            buffer: Arc::clone(buffer),
            offset,
            bytes,
        }))
    }

    fn resolve(
        &self,
        set: &DispatchQuerySet,
        first: u32,
        count: u32,
        target: &DispatchBuffer,
        offset: u64,
    ) -> Result<Option<Command>, EncodeError> {
        aligned("offset", offset, wgpu::QUERY_RESOLVE_BUFFER_ALIGNMENT)?;
        let set = own_query_set(&self.0.state, set)?;
        let target = own_buffer(&self.0.state, target)?;
        target.require_usage(BufferUsages::QUERY_RESOLVE)?;
        set.check_end(u64::from(first) + u64::from(count))?;
        within(
            target,
            offset,
            u64::from(count) * u64::from(wgpu::QUERY_SIZE),
        )?;
        Ok(Some(Command::Resolve {
            set,
            first,
            count,
            target: Arc::clone(target),
            offset,
        }))
    }
}

impl CommandEncoderInterface for CommandEncoder {
    fn copy_buffer_to_buffer(
        &self,
        source: &DispatchBuffer,
        source_offset: u64,
        destination: &DispatchBuffer,
        destination_offset: u64,
        copy_size: Option<u64>,
    ) {
        self.0.encode("CommandEncoder::copy_buffer_to_buffer", || {
            self.copy(
                (source, source_offset),
                (destination, destination_offset),
                copy_size,
            )
        });
    }

    fn copy_buffer_to_texture(
        &self,
        source: wgpu::TexelCopyBufferInfo<'_>,
        destination: wgpu::TexelCopyTextureInfo<'_>,
        size: wgpu::Extent3d,
    ) {
        self.0.encode("CommandEncoder::copy_buffer_to_texture", || {
            let usages = (BufferUsages::COPY_SRC, TextureUsages::COPY_DST);
            let (buffer, copy) = self.texture_copy(&source, &destination, size, usages)?;
            Ok(Some(Command::WriteTexture {
                copy,
                source: buffer,
            }))
        });
    }

    fn copy_texture_to_buffer(
        &self,
        source: wgpu::TexelCopyTextureInfo<'_>,
        destination: wgpu::TexelCopyBufferInfo<'_>,
        size: wgpu::Extent3d,
    ) {
        self.0.encode("CommandEncoder::copy_texture_to_buffer", || {
            let usages = (BufferUsages::COPY_DST, TextureUsages::COPY_SRC);
            let (buffer, copy) = self.texture_copy(&destination, &source, size, usages)?;
            Ok(Some(Command::ReadTexture {
                copy,
                target: buffer,
            }))
        });
    }

    fn copy_texture_to_texture(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        self.0.unsupported(
            "CommandEncoder::copy_texture_to_texture",
            "copies between textures",
        );
    }

    fn begin_compute_pass(&self, desc: &wgpu::ComputePassDescriptor<'_>) -> DispatchComputePass {
        let mut begun = false;
        self.0.encode("CommandEncoder::begin_compute_pass", || {
            begun = true;
            Ok(None)
        });
        if begun {
            self.0.recording.lock().pass_open = true;
        }
        DispatchComputePass::custom(ComputePass::begin(&self.0, desc, begun))
    }

    fn begin_render_pass(&self, _: &wgpu::RenderPassDescriptor<'_>) -> DispatchRenderPass {
        self.0
            .unsupported("CommandEncoder::begin_render_pass", "render passes");
        DispatchRenderPass::custom(Absent)
    }

    fn finish(&mut self) -> DispatchCommandBuffer {
        let data = &self.0;
        let mut recording = data.recording.lock();
        if recording.pass_open {
            recording.failed.get_or_insert(Failed {
                call: "CommandEncoder::finish",
                source: Box::new(EncodeError::PassOpen),
            });
        }
        let open = recording.debug_groups;
        if open > 0 {
            recording.failed.get_or_insert(Failed {
                call: "CommandEncoder::finish",
                source: Box::new(EncodeError::OpenDebugGroups { open }),
            });
        }
        let Recording {
            commands, failed, ..
        } = std::mem::take(&mut *recording);
        recording.finished = true;
        drop(recording);
        let valid = failed.is_none();
        if let Some(failed) = failed {
            data.state
                .invalid("CommandEncoder::finish", &data.label, failed);
        }
        DispatchCommandBuffer::custom(CommandBuffer {
            state: Arc::clone(&data.state),
            label: data.label.clone(),
            valid,
            commands: Mutex::new(commands),
        })
    }

    fn clear_texture(&self, _: &DispatchTexture, _: &wgpu::ImageSubresourceRange) {
        self.0
            .unsupported("CommandEncoder::clear_texture", "clears of textures");
    }

    fn clear_buffer(&self, buffer: &DispatchBuffer, offset: u64, size: Option<u64>) {
        self.0.encode("CommandEncoder::clear_buffer", || {
            self.clear(buffer, offset, size)
        });
    }

    fn insert_debug_marker(&self, _: &str) {}

    fn push_debug_group(&self, _: &str) {
        self.0.encode("CommandEncoder::push_debug_group", || {
            self.0.recording.lock().debug_groups += 1;
            Ok(None)
        });
    }

    fn pop_debug_group(&self) {
        self.0.encode("CommandEncoder::pop_debug_group", || {
            let mut recording = self.0.recording.lock();
            let left = recording.debug_groups.checked_sub(1);
            recording.debug_groups = left.ok_or(EncodeError::NoDebugGroup)?;
            Ok(None)
        });
    }

    fn write_timestamp(&self, query_set: &DispatchQuerySet, query_index: u32) {
        self.0.encode("CommandEncoder::write_timestamp", || {
            let state = &self.0.state;
            state.require(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)?;
            let set = own_query_set(state, query_set)?;
            set.check_index(query_index)?;
            Ok(Some(Command::Timestamp {
                set,
                index: query_index,
            }))
        });
    }

    fn resolve_query_set(
        &self,
        query_set: &DispatchQuerySet,
        first_query: u32,
        query_count: u32,
        destination: &DispatchBuffer,
        destination_offset: u64,
    ) {
        self.0.encode("CommandEncoder::resolve_query_set", || {
            self.resolve(
                query_set,
                first_query,
                query_count,
                destination,
                destination_offset,
            )
        });
    }

    fn mark_acceleration_structures_built<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::Blas>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        self.0.unsupported(
            "CommandEncoder::mark_acceleration_structures_built",
            "acceleration structures",
        );
    }

    fn build_acceleration_structures<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::BlasBuildEntry<'a>>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        self.0.unsupported(
            "CommandEncoder::build_acceleration_structures",
            "acceleration structures",
        );
    }

    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTexture>>,
    ) {
    }
}
