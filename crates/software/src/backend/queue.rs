//! The queue: writes and submits take effect before the call returns.

use std::sync::Arc;

use wgpu::BufferUsages;
use wgpu::custom::{
    BoxSubmittedWorkDoneCallback, DispatchBlas, DispatchBuffer, DispatchCommandBuffer,
    DispatchQueueWriteBuffer, DispatchSurfaceOutputDetail, QueueInterface,
};

use super::buffer::{BufferData, BufferError, COPY_ALIGNMENT, own_buffer};
use super::command::Command;
use super::encoder::CommandBuffer;
use super::graphics::Absent;
use super::mapped::Staging;
use super::object::{ObjectError, debug_by_name, own};
use super::state::State;
use super::texture::copy_of;

/// Why a write or a submit is refused.
#[derive(Debug, thiserror::Error)]
enum QueueError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Buffer(#[from] BufferError),
    #[error("{what} {value} is not a multiple of {COPY_ALIGNMENT}")]
    Unaligned { what: &'static str, value: u64 },
    #[error("{bytes} bytes from {offset} exceed the {buffer_bytes} bytes of buffer '{label}'")]
    OutOfRange {
        offset: u64,
        bytes: u64,
        label: String,
        buffer_bytes: u64,
    },
}

/// wgpu's handle.
pub(super) struct Queue {
    state: Arc<State>,
}

debug_by_name!(Queue);

impl Queue {
    pub(super) fn new(state: &Arc<State>) -> Self {
        Self {
            state: Arc::clone(state),
        }
    }

    fn check_write<'a>(
        &self,
        buffer: &'a DispatchBuffer,
        offset: u64,
        bytes: u64,
    ) -> Result<&'a Arc<BufferData>, QueueError> {
        let buffer = own_buffer(&self.state, buffer)?;
        buffer.available()?;
        buffer.require_usage(BufferUsages::COPY_DST)?;
        for (what, value) in [("size", bytes), ("offset", offset)] {
            if !value.is_multiple_of(COPY_ALIGNMENT) {
                return Err(QueueError::Unaligned { what, value });
            }
        }
        if offset
            .checked_add(bytes)
            .is_none_or(|end| end > buffer.bytes)
        {
            return Err(QueueError::OutOfRange {
                offset,
                bytes,
                label: buffer.label().to_owned(),
                buffer_bytes: buffer.bytes,
            });
        }
        Ok(buffer)
    }

    fn write(&self, buffer: &DispatchBuffer, offset: u64, data: &[u8]) -> Result<(), QueueError> {
        let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let buffer = self.check_write(buffer, offset, bytes)?;
        if !self.state.is_lost() {
            let _running = self.state.running.lock();
            buffer.storage()?.write(offset, data);
        }
        Ok(())
    }

    /// Checks all command buffers before any of them runs.
    fn check_submit(&self, buffers: &[DispatchCommandBuffer]) -> Result<Vec<Command>, QueueError> {
        let mut commands = Vec::new();
        for buffer in buffers {
            let buffer = own(&self.state, buffer.as_custom::<CommandBuffer>())?;
            commands.append(&mut buffer.commands.lock());
        }
        for command in &commands {
            command.for_each_buffer(|buffer| buffer.available().map(drop))?;
            if let Some(set) = command.query_set() {
                set.check_alive()?;
            }
        }
        Ok(commands)
    }
}

impl QueueInterface for Queue {
    fn write_buffer(&self, buffer: &DispatchBuffer, offset: u64, data: &[u8]) {
        if let Err(error) = self.write(buffer, offset, data) {
            self.state.invalid("Queue::write_buffer", "", error);
        }
    }

    fn create_staging_buffer(&self, size: wgpu::BufferSize) -> Option<DispatchQueueWriteBuffer> {
        let mut bytes = Vec::new();
        let len = usize::try_from(size.get()).ok()?;
        bytes.try_reserve_exact(len).ok()?;
        bytes.resize(len, 0);
        Some(DispatchQueueWriteBuffer::custom(Staging { bytes }))
    }

    fn validate_write_buffer(
        &self,
        buffer: &DispatchBuffer,
        offset: u64,
        size: wgpu::BufferSize,
    ) -> Option<()> {
        match self.check_write(buffer, offset, size.get()) {
            Ok(_) => Some(()),
            Err(error) => {
                self.state.invalid("Queue::write_buffer_with", "", error);
                None
            }
        }
    }

    fn write_staging_buffer(
        &self,
        buffer: &DispatchBuffer,
        offset: u64,
        staging_buffer: &DispatchQueueWriteBuffer,
    ) {
        let bytes = staging_buffer
            .as_custom::<Staging>()
            .map_or(&[][..], |staging| &staging.bytes);
        if let Err(error) = self.write(buffer, offset, bytes) {
            self.state.invalid("Queue::write_buffer_with", "", error);
        }
    }

    fn write_texture(
        &self,
        texture: wgpu::TexelCopyTextureInfo<'_>,
        data: &[u8],
        layout: wgpu::TexelCopyBufferLayout,
        size: wgpu::Extent3d,
    ) {
        let state = &self.state;
        let usage = wgpu::TextureUsages::COPY_DST;
        let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let written = copy_of(state, &texture, &layout, size, usage, bytes, 1).and_then(|copy| {
            if !state.is_lost() {
                let _running = state.running.lock();
                copy.write(data)?;
            }
            Ok(())
        });
        if let Err(error) = written {
            state.invalid("Queue::write_texture", "", error);
        }
    }

    fn submit(&self, command_buffers: &mut dyn Iterator<Item = DispatchCommandBuffer>) -> u64 {
        let state = &self.state;
        let buffers: Vec<_> = command_buffers.collect();
        if state.is_lost() {
            return state.submitted();
        }
        // The guard must be gone before a handler of errors or of the loss runs.
        let running = state.running.lock();
        let due = state.profile.lose_after_submits;
        if due.is_some_and(|most| state.submitted() >= most) {
            drop(running);
            state.lose("lost after the number of submits that the profile asks for");
            return state.submitted();
        }
        match self.check_submit(&buffers) {
            Ok(commands) => {
                let failed = commands.iter().find_map(|command| command.run(state).err());
                let index = state.count_submit();
                drop(running);
                if let Some(error) = failed {
                    state.report(error.kind(), "Queue::submit", "", Box::new(error));
                }
                index
            }
            Err(error) => {
                drop(running);
                state.invalid("Queue::submit", "", error);
                state.submitted()
            }
        }
    }

    fn get_timestamp_period(&self) -> f32 {
        1.0
    }

    fn on_submitted_work_done(&self, callback: BoxSubmittedWorkDoneCallback) {
        self.state.when_polled(callback);
    }

    fn compact_blas(&self, _: &DispatchBlas) -> (Option<u64>, DispatchBlas) {
        let what = "acceleration structures";
        self.state
            .invalid("Queue::compact_blas", "", ObjectError::Unsupported { what });
        (None, DispatchBlas::custom(Absent))
    }

    fn present(&self, _: &DispatchSurfaceOutputDetail) {}
}
