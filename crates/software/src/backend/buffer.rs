//! Buffers: creation, mapping, destruction.
//!
//! A buffer is mapped or usable by the queue, never both. Mapping is a copy both ways: a view reads
//! the bytes when it is made and, if it was written through, writes them back when it is dropped,
//! which wgpu enforces to happen before `unmap`.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use wgpu::custom::{BufferInterface, BufferMapCallback, DispatchBuffer, DispatchBufferMappedRange};
use wgpu::{BufferUsages, MapMode};

use super::errors::Kind;
use super::mapped::{Mapped, refusal, view_len};
use super::object::{Object, ObjectError, debug_by_name, own};
use super::state::{Reservation, State};
use crate::engine::Storage;

/// Alignment of a mapped range's start.
const MAP_ALIGNMENT: u64 = wgpu::MAP_ALIGNMENT;
/// Alignment of offsets and sizes of copies.
pub(super) const COPY_ALIGNMENT: u64 = wgpu::COPY_BUFFER_ALIGNMENT;

/// Why a buffer cannot be made, mapped or unmapped.
#[derive(Debug, thiserror::Error)]
pub(super) enum BufferError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("buffer size {bytes} is greater than the limit max_buffer_size, {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("usage {usage:?} is empty or has unknown bits")]
    InvalidUsage { usage: BufferUsages },
    #[error(
        "usage {usage:?} is not allowed: MAP_READ goes only with COPY_DST, MAP_WRITE only with \
         COPY_SRC, unless the feature MAPPABLE_PRIMARY_BUFFERS is enabled"
    )]
    UsageMismatch { usage: BufferUsages },
    #[error("size {bytes} of a buffer mapped at creation is not a multiple of {COPY_ALIGNMENT}")]
    UnalignedMappedSize { bytes: u64 },
    #[error("usage {missing:?} of buffer '{label}' is required, but it has only {usage:?}")]
    MissingUsage {
        label: String,
        missing: BufferUsages,
        usage: BufferUsages,
    },
    #[error("start {start} of the mapped range is not a multiple of {MAP_ALIGNMENT}")]
    UnalignedMapStart { start: u64 },
    #[error("size {bytes} of the mapped range is not a multiple of {COPY_ALIGNMENT}")]
    UnalignedMapSize { bytes: u64 },
    #[error("range {start}..{end} is not within the buffer's {bytes} bytes")]
    OutOfRange { start: u64, end: u64, bytes: u64 },
    #[error("buffer '{label}' is already mapped")]
    AlreadyMapped { label: String },
    #[error("a mapping of buffer '{label}' is already pending")]
    MapPending { label: String },
    #[error("buffer '{label}' is not mapped")]
    NotMapped { label: String },
    #[error("buffer '{label}' is still mapped")]
    StillMapped { label: String },
}

/// More memory wanted than the profile's budget leaves.
#[derive(Debug, thiserror::Error)]
#[error("{requested} bytes wanted, {used} of {budget} bytes in use")]
pub(super) struct OutOfMemory {
    requested: u64,
    used: u64,
    budget: u64,
}

impl OutOfMemory {
    pub(super) fn new(state: &State, requested: u64) -> Self {
        Self {
            requested,
            used: state.memory_used(),
            budget: state.profile.memory_budget,
        }
    }
}

enum MapState {
    Idle,
    /// Mapped from its creation until the first `unmap`.
    Initial,
    Waiting {
        request: u64,
        range: Range<u64>,
        callback: BufferMapCallback,
    },
    Active(Range<u64>),
}

struct Memory {
    storage: Arc<Storage>,
    _reservation: Reservation,
}

/// A buffer, shared by its handles, bind groups and recorded commands.
pub(super) struct BufferData {
    state: Arc<State>,
    label: String,
    pub(super) id: u64,
    pub(super) usage: BufferUsages,
    pub(super) bytes: u64,
    valid: bool,
    /// `None` once destroyed, and for an invalid buffer.
    memory: Mutex<Option<Memory>>,
    map: Mutex<MapState>,
}

/// wgpu's handle.
pub(super) struct Buffer(pub(super) Arc<BufferData>);

debug_by_name!(Buffer, BufferData);

impl Object for Buffer {
    const KIND: &'static str = "Buffer";
    fn state(&self) -> &Arc<State> {
        &self.0.state
    }
    fn label(&self) -> &str {
        &self.0.label
    }
    fn is_valid(&self) -> bool {
        self.0.valid
    }
}

/// The buffer behind a handle, if it is `state`'s and valid.
pub(super) fn own_buffer<'a>(
    state: &Arc<State>,
    buffer: &'a DispatchBuffer,
) -> Result<&'a Arc<BufferData>, ObjectError> {
    own(state, buffer.as_custom::<Buffer>()).map(|buffer| &buffer.0)
}

impl Buffer {
    /// Makes a buffer; an invalid one, with an error reported, if the descriptor breaks a rule.
    pub(super) fn create(state: &Arc<State>, desc: &wgpu::BufferDescriptor<'_>) -> Self {
        let label = desc.label.unwrap_or_default();
        let memory = match check(state, desc) {
            Err(error) => {
                state.invalid("Device::create_buffer", label, error);
                None
            }
            Ok(()) => allocate(state, label, desc.size),
        };
        let map = if desc.mapped_at_creation && memory.is_some() {
            MapState::Initial
        } else {
            MapState::Idle
        };
        Self(Arc::new(BufferData {
            state: Arc::clone(state),
            label: label.to_owned(),
            id: state.next_id(),
            usage: desc.usage,
            bytes: desc.size,
            valid: memory.is_some(),
            memory: Mutex::new(memory),
            map: Mutex::new(map),
        }))
    }
}

fn check(state: &State, desc: &wgpu::BufferDescriptor<'_>) -> Result<(), BufferError> {
    use BufferUsages as U;
    let usage = desc.usage;
    let limit = state.limits.max_buffer_size;
    if desc.size > limit {
        return Err(BufferError::TooLarge {
            bytes: desc.size,
            limit,
        });
    }
    if usage.intersects(U::BLAS_INPUT | U::TLAS_INPUT) {
        state.require(wgpu::Features::EXPERIMENTAL_RAY_QUERY)?;
    }
    if usage.is_empty() || U::from_bits(usage.bits()).is_none() {
        return Err(BufferError::InvalidUsage { usage });
    }
    let read_mismatch = usage.contains(U::MAP_READ) && !(U::MAP_READ | U::COPY_DST).contains(usage);
    let write_mismatch =
        usage.contains(U::MAP_WRITE) && !(U::MAP_WRITE | U::COPY_SRC).contains(usage);
    let mappable = wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
    if (read_mismatch || write_mismatch) && !state.features.contains(mappable) {
        return Err(BufferError::UsageMismatch { usage });
    }
    if desc.mapped_at_creation && !desc.size.is_multiple_of(COPY_ALIGNMENT) {
        return Err(BufferError::UnalignedMappedSize { bytes: desc.size });
    }
    Ok(())
}

/// Memory within the budget; otherwise reports and gives none. A lost device gives none either.
fn allocate(state: &Arc<State>, label: &str, bytes: u64) -> Option<Memory> {
    if state.is_lost() {
        return None;
    }
    let padded = bytes
        .div_ceil(COPY_ALIGNMENT)
        .saturating_mul(COPY_ALIGNMENT);
    let memory = state.reserve(padded).and_then(|reservation| {
        Some(Memory {
            storage: Arc::new(Storage::new(padded).ok()?),
            _reservation: reservation,
        })
    });
    if memory.is_none() {
        let error = OutOfMemory::new(state, bytes);
        state.report(
            Kind::OutOfMemory,
            "Device::create_buffer",
            label,
            Box::new(error),
        );
    }
    memory
}

impl BufferData {
    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn require_usage(&self, wanted: BufferUsages) -> Result<(), BufferError> {
        if self.usage.contains(wanted) {
            return Ok(());
        }
        Err(BufferError::MissingUsage {
            label: self.label.clone(),
            missing: wanted - self.usage,
            usage: self.usage,
        })
    }

    /// The bytes, unless the buffer has been destroyed.
    pub(super) fn storage(&self) -> Result<Arc<Storage>, ObjectError> {
        let memory = self.memory.lock();
        memory
            .as_ref()
            .map(|memory| Arc::clone(&memory.storage))
            .ok_or_else(|| ObjectError::Destroyed {
                kind: Buffer::KIND,
                label: self.label.clone(),
            })
    }

    /// The bytes, if the queue may use them now: not destroyed, not mapped, no mapping pending.
    pub(super) fn available(&self) -> Result<Arc<Storage>, BufferError> {
        let storage = self.storage()?;
        if matches!(*self.map.lock(), MapState::Idle) {
            Ok(storage)
        } else {
            Err(BufferError::StillMapped {
                label: self.label.clone(),
            })
        }
    }

    fn check_map(&self, mode: MapMode, range: &Range<u64>) -> Result<(), BufferError> {
        self.check_range(range)?;
        self.require_usage(match mode {
            MapMode::Read => BufferUsages::MAP_READ,
            MapMode::Write => BufferUsages::MAP_WRITE,
        })?;
        self.storage()?;
        match *self.map.lock() {
            MapState::Idle => Ok(()),
            MapState::Waiting { .. } => Err(BufferError::MapPending {
                label: self.label.clone(),
            }),
            MapState::Initial | MapState::Active(_) => Err(BufferError::AlreadyMapped {
                label: self.label.clone(),
            }),
        }
    }

    fn check_range(&self, range: &Range<u64>) -> Result<(), BufferError> {
        let Range { start, end } = *range;
        let bytes = end.saturating_sub(start);
        if !start.is_multiple_of(MAP_ALIGNMENT) {
            return Err(BufferError::UnalignedMapStart { start });
        }
        if !bytes.is_multiple_of(COPY_ALIGNMENT) {
            return Err(BufferError::UnalignedMapSize { bytes });
        }
        if start > end || end > self.bytes {
            return Err(BufferError::OutOfRange {
                start,
                end,
                bytes: self.bytes,
            });
        }
        Ok(())
    }

    /// Resolves the mapping `request`, if it is still the one that waits.
    pub(super) fn finish_mapping(&self, request: u64) {
        let mut map = self.map.lock();
        if !matches!(&*map, MapState::Waiting { request: waiting, .. } if *waiting == request) {
            return;
        }
        let MapState::Waiting {
            range, callback, ..
        } = std::mem::replace(&mut *map, MapState::Idle)
        else {
            return;
        };
        let result = if self.state.is_lost() {
            Err(wgpu::BufferAsyncError)
        } else {
            *map = MapState::Active(range);
            Ok(())
        };
        drop(map);
        callback(result);
    }

    /// A copy of a part of the mapped range.
    fn view(&self, range: Range<u64>) -> Result<Mapped, BufferError> {
        self.check_range(&range)?;
        let mapped = match &*self.map.lock() {
            MapState::Initial => 0..self.bytes,
            MapState::Active(mapped) => mapped.clone(),
            MapState::Idle | MapState::Waiting { .. } => {
                return Err(BufferError::NotMapped {
                    label: self.label.clone(),
                });
            }
        };
        if range.start < mapped.start || range.end > mapped.end {
            return Err(BufferError::OutOfRange {
                start: range.start,
                end: range.end,
                bytes: self.bytes,
            });
        }
        Ok(Mapped::new(self.storage()?, range))
    }

    /// Ends a mapping or a request for one. Whether there was any.
    fn end_mapping(&self) -> bool {
        let before = std::mem::replace(&mut *self.map.lock(), MapState::Idle);
        match before {
            MapState::Idle => false,
            MapState::Initial | MapState::Active(_) => true,
            MapState::Waiting { callback, .. } => {
                callback(Err(wgpu::BufferAsyncError));
                true
            }
        }
    }
}

impl BufferInterface for Buffer {
    fn map_async(&self, mode: MapMode, range: Range<u64>, callback: BufferMapCallback) {
        let data = &self.0;
        let checked = own(&data.state, Some(self))
            .map_err(BufferError::from)
            .and_then(|_| data.check_map(mode, &range));
        match checked {
            Ok(()) if !data.state.is_lost() => {
                let request = data.state.next_id();
                *data.map.lock() = MapState::Waiting {
                    request,
                    range,
                    callback,
                };
                data.state.map_when_polled(Arc::clone(data), request);
            }
            Ok(()) => callback(Err(wgpu::BufferAsyncError)),
            Err(error) => {
                callback(Err(wgpu::BufferAsyncError));
                data.state.invalid("Buffer::map_async", &data.label, error);
            }
        }
    }

    fn get_mapped_range(
        &self,
        range: Range<u64>,
    ) -> Result<DispatchBufferMappedRange, wgpu::MapRangeError> {
        let mapped = match self.0.view(range.clone()) {
            Ok(mapped) => mapped,
            Err(_) => match refusal() {
                Some(refused) => return Err(refused),
                None => Mapped::detached(view_len(&range)),
            },
        };
        Ok(DispatchBufferMappedRange::custom(mapped))
    }

    fn unmap(&self) {
        let data = &self.0;
        let mapped = data.end_mapping();
        let error = match (self.is_valid(), data.storage()) {
            (false, _) => ObjectError::Invalid {
                kind: Self::KIND,
                label: data.label.clone(),
            }
            .into(),
            (true, _) if mapped => return,
            (true, Ok(_)) => BufferError::NotMapped {
                label: data.label.clone(),
            },
            (true, Err(destroyed)) => destroyed.into(),
        };
        data.state.invalid("Buffer::unmap", &data.label, error);
    }

    fn destroy(&self) {
        self.0.end_mapping();
        *self.0.memory.lock() = None;
    }
}
