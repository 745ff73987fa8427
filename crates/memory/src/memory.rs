//! The face of the crate: allocate, write, copy, read.

use crate::arena::Arena;
use crate::buffer::Buffer;
use crate::error::MemoryError;
use crate::ledger::{Ledger, MemoryKind};
use crate::options::MemoryOptions;
use crate::pool::Pool;
use crate::readback::Slots;
use crate::span::{SharedWord, WORD, ceil, checked, plan_write};
use crate::uniform::{UniformSlice, Uniforms};
use crate::upload::{Ring, Target};
use crate::usage::Usage;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use wgpu::BufferUsages;
use ziggurat_device::{Device, Recorder, once};

mod poison;
mod reads;
mod typed;

pub use typed::ReadSlice;

/// The memory of one device. Clones share it.
///
/// All methods may be called from many threads, but (except [`write_uniform`](Self::write_uniform)) not
/// from within [`Device::record`], whose lock they take.
#[derive(Clone)]
pub struct Memory {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    options: MemoryOptions,
    pool: Arc<Pool>,
    ring: Arc<Ring>,
    slots: Arc<Slots>,
    uniforms: Arc<Uniforms>,
    poison: Mutex<Option<wgpu::Buffer>>,
    /// Held from reading a shared word to recording its new value.
    shared_words: Mutex<()>,
}

impl Memory {
    /// The memory of `device`, all of it unallocated.
    #[must_use]
    pub fn new(device: &Device, mut options: MemoryOptions) -> Self {
        options.limit = options.limit.or(device.options().memory_limit);
        let pool = Arc::new(Pool::new(device, &options));
        let ring = Arc::new(Ring::new(
            &pool,
            options.staging_chunk,
            options.staging_limit,
        ));
        let slots = Arc::new(Slots::new(
            &pool,
            options.staging_chunk,
            options.staging_limit,
        ));
        let (weak_ring, weak_slots) = (Arc::downgrade(&ring), Arc::downgrade(&slots));
        pool.on_pressure(Arc::new(move || {
            if let Some(ring) = weak_ring.upgrade() {
                ring.release_idle();
            }
            if let Some(slots) = weak_slots.upgrade() {
                slots.release_idle();
            }
        }));
        Self {
            inner: Arc::new(Inner {
                device: device.clone(),
                options,
                uniforms: Arc::new(Uniforms::new(&pool)),
                pool,
                ring,
                slots,
                poison: Mutex::default(),
                shared_words: Mutex::default(),
            }),
        }
    }

    /// The device whose memory this is.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.inner.pool
    }

    /// The options given to [`new`](Self::new), with the limit that holds.
    #[must_use]
    pub fn options(&self) -> &MemoryOptions {
        &self.inner.options
    }

    /// A buffer of `bytes` (zero is fine) with unspecified contents.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TooLarge`] above the device's limit for one buffer, [`MemoryError::OutOfMemory`]
    /// when neither the driver nor the limit has room even after idle memory was released,
    /// [`MemoryError::Device`] when the device is lost or poisoned.
    #[inline]
    pub fn alloc(&self, bytes: u64) -> Result<Buffer, MemoryError> {
        let buffer = self.inner.pool.alloc(bytes)?;
        self.without_contents(&buffer)?;
        Ok(buffer)
    }

    /// An [`Arena`] over this memory.
    #[must_use]
    pub fn arena(&self) -> Arena {
        Arena::new(&self.inner.pool)
    }

    /// As [`alloc`](Self::alloc), from an arena: for a computation that is repeated as a whole.
    ///
    /// ```
    /// # use ziggurat_device::{Device, DeviceOptions};
    /// # use ziggurat_memory::{Memory, MemoryOptions};
    /// # let device = Device::noop(DeviceOptions::default(), None)?;
    /// let memory = Memory::new(&device, MemoryOptions::default());
    /// let arena = memory.arena();
    /// let first = memory.alloc_in(&arena, 1000)?;
    /// let id = first.id();
    /// drop(first);
    /// assert_ne!(memory.alloc(1000)?.id(), id, "the arena keeps it");
    /// assert_eq!(memory.alloc_in(&arena, 1000)?.id(), id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc).
    pub fn alloc_in(&self, arena: &Arena, bytes: u64) -> Result<Buffer, MemoryError> {
        let buffer = arena.alloc(bytes)?;
        self.without_contents(&buffer)?;
        Ok(buffer)
    }

    /// Makes it seen, where that is wished for, if somebody reads what nobody has written.
    #[inline]
    fn without_contents(&self, buffer: &Buffer) -> Result<(), MemoryError> {
        if self.inner.options.poison || self.device().is_checked() {
            return self.show_unwritten(buffer);
        }
        Ok(())
    }

    #[cold]
    fn show_unwritten(&self, buffer: &Buffer) -> Result<(), MemoryError> {
        if self.inner.options.poison {
            self.fill_with_poison(buffer)?;
        }
        if self.device().is_checked() {
            let bytes = buffer.bytes();
            self.device()
                .record(|recorder| recorder.mark_undefined(buffer.wgpu(), bytes))?;
        }
        Ok(())
    }

    /// A buffer that is like one of `bytes`, without memory: to plan with, before there is any. No kernel can bind it, and
    /// nothing can be written to it or read.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Device`] when the device is lost or poisoned.
    pub fn placeholder(&self, bytes: u64) -> Result<Buffer, MemoryError> {
        self.device().status()?;
        self.inner.pool.placeholder(bytes)
    }

    /// A buffer of `bytes`, all zero up to its capacity.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc).
    pub fn alloc_zeroed(&self, bytes: u64) -> Result<Buffer, MemoryError> {
        let buffer = self.inner.pool.alloc(bytes)?;
        self.device().record(|recorder| {
            recorder.clear_buffer(buffer.wgpu(), 0, buffer.capacity());
        })?;
        Ok(buffer)
    }

    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc) and [`write`](Self::write).
    pub fn upload(&self, data: &[u8]) -> Result<Buffer, MemoryError> {
        let alloc = || self.alloc(data.len() as u64);
        let buffer = self.labelled(MemoryKind::Upload, "", alloc)?;
        self.write(&buffer, 0, data)?;
        Ok(buffer)
    }

    /// Records the writing of `data` at byte `offset`, ordered with all recorded work. The data is
    /// copied before this returns.
    ///
    /// Any offset and length will do and no byte outside the range changes. Where a range starts or
    /// ends within a word of four bytes (other than at the end of the buffer), native waits for the
    /// device to read that word back first; the web cannot and refuses.
    ///
    /// # Errors
    ///
    /// [`MemoryError::ForeignBuffer`], [`MemoryError::OutOfRange`], [`MemoryError::Misaligned`] for a range that starts or ends within
    /// a word on the web or ends within the last, incomplete word of a wrapped buffer,
    /// [`MemoryError::MissingUsage`] for a wrapped buffer, otherwise as [`alloc`](Self::alloc) for
    /// staging memory.
    pub fn write(&self, buffer: &Buffer, offset: u64, data: &[u8]) -> Result<(), MemoryError> {
        let bytes = data.len() as u64;
        self.own("write", buffer)?;
        let range = checked(offset, bytes, buffer.bytes())?;
        need("write", buffer, BufferUsages::COPY_DST)?;
        if data.is_empty() {
            return Ok(self.device().status()?);
        }
        if ceil(range.end) > buffer.wgpu().size() {
            return Err(misaligned("write", offset, bytes));
        }
        let plan = plan_write(offset, data.len(), buffer.bytes());
        if plan.front.is_none() && plan.back.is_none() {
            return self.write_words(buffer, offset, data);
        }
        let words: Vec<SharedWord> = plan.front.into_iter().chain(plan.back).collect();
        let sharing = self.inner.shared_words.lock();
        self.write_shared_words(buffer, &words, offset, data)?;
        drop(sharing);
        let body = data.get(plan.body).ok_or(MemoryError::Internal {
            what: "the body of a write lies in its data",
        })?;
        self.write_words(buffer, plan.body_offset, body)
    }

    /// Records a copy of `bytes` from one buffer to another, or within one.
    ///
    /// Within one buffer the ranges may overlap: the bytes are those before the copy.
    /// This is the driver's copy; on large data a kernel can be several times faster.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Misaligned`] unless both offsets are multiples of four and so is `bytes`, or the
    /// range ends where the destination ends; [`MemoryError::OutOfRange`]; [`MemoryError::ForeignBuffer`];
    /// [`MemoryError::MissingUsage`] for wrapped buffers; as [`alloc`](Self::alloc) within one buffer.
    pub fn copy(
        &self,
        source: &Buffer,
        source_offset: u64,
        destination: &Buffer,
        destination_offset: u64,
        bytes: u64,
    ) -> Result<(), MemoryError> {
        self.own("copy", source)?;
        self.own("copy", destination)?;
        let from = checked(source_offset, bytes, source.bytes())?;
        let to = checked(destination_offset, bytes, destination.bytes())?;
        need("copy", source, BufferUsages::COPY_SRC)?;
        need("copy", destination, BufferUsages::COPY_DST)?;
        for offset in [source_offset, destination_offset] {
            if !offset.is_multiple_of(WORD) {
                return Err(misaligned("copy", offset, bytes));
            }
        }
        let to_the_end = to.end == destination.bytes()
            && ceil(from.end) <= source.wgpu().size()
            && ceil(to.end) <= destination.wgpu().size();
        if !bytes.is_multiple_of(WORD) && !to_the_end {
            return Err(misaligned("copy", destination_offset, bytes));
        }
        if bytes == 0 {
            return Ok(self.device().status()?);
        }
        let words = ceil(bytes);
        let (source, destination) = (source.clone(), destination.clone());
        let between = if source.same_memory(&destination) {
            Some(self.inner.pool.alloc(words)?)
        } else {
            None
        };
        self.device().record(|recorder| {
            let (from, to) = (source.wgpu(), destination.wgpu());
            match &between {
                None => {
                    recorder.copy_buffer(from, source_offset, to, destination_offset, words);
                }
                Some(between) => {
                    recorder.copy_buffer(from, source_offset, between.wgpu(), 0, words);
                    recorder.copy_buffer(between.wgpu(), 0, to, destination_offset, words);
                }
            }
        })?;
        Ok(())
    }

    /// Puts parameter bytes into uniform memory for the batch being recorded.
    ///
    /// The slice holds for dispatches recorded into this batch, within the same call of
    /// [`Device::record`]. The bytes of several bindings may lie in one slice.
    ///
    /// # Errors
    ///
    /// [`MemoryError::TooLarge`] for more than the device's largest buffer; [`MemoryError::OutOfMemory`].
    pub fn write_uniform(
        &self,
        recorder: &mut Recorder<'_>,
        bytes: &[u8],
    ) -> Result<UniformSlice, MemoryError> {
        self.inner.uniforms.write(recorder, bytes)
    }

    /// A buffer of its own, not of the pool, from which a dispatch takes its number of workgroups, and into which kernels write
    /// it. It is not counted.
    ///
    /// # Errors
    ///
    /// [`MemoryError::OutOfMemory`], and errors of the device.
    pub fn create_indirect(&self) -> Result<Buffer, MemoryError> {
        self.device().status()?;
        let usage = BufferUsages::STORAGE | BufferUsages::INDIRECT;
        let buffer = self.inner.pool.create_now("indirect", 16, usage)?;
        Ok(Buffer::wrapped(buffer, &self.inner.pool))
    }

    /// A handle to a buffer made elsewhere with the same wgpu device. It is not pooled and not counted.
    ///
    /// A buffer of another device of the same `wgpu::Instance` is refused, if it has the usage `COPY_DST`; one of another
    /// instance cannot be told apart, because wgpu does not say where a buffer comes from.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Wrap`] for a buffer of another device, and for one that is mapped.
    pub fn wrap(&self, buffer: wgpu::Buffer) -> Result<Buffer, MemoryError> {
        self.device().status()?;
        crate::create::check(self.device(), &buffer)?;
        Ok(Buffer::wrapped(buffer, &self.inner.pool))
    }

    /// Who holds how much.
    #[inline]
    pub(crate) fn ledger(&self) -> &Ledger {
        self.inner.pool.ledger()
    }

    /// What is live, cached and staged right now.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            staging: self.inner.ring.bytes() + self.inner.slots.bytes(),
            uniform: self.inner.uniforms.bytes(),
            ..self.inner.pool.usage()
        }
    }

    /// Lets the peaks of [`usage`](Self::usage) count from now on.
    pub fn reset_peaks(&self) {
        self.inner.pool.reset_peaks();
    }

    /// Memory with the same options on a device that is opened anew: see [`Device::reopen`]. Buffers of this memory cannot
    /// be used with it.
    ///
    /// # Errors
    ///
    /// As [`Device::reopen`].
    pub fn reopen(&self) -> impl Future<Output = Result<Self, MemoryError>> {
        let reopened = async {
            Ok(Self::new(
                &self.device().reopen().await?,
                self.inner.options,
            ))
        };
        once(reopened, || MemoryError::Finished)
    }

    /// Gives idle buffers back to the driver, least recently used first, until at most
    /// `target_cached_bytes` are cached; returns the bytes given back. With a target of zero idle
    /// staging memory goes too (and is not counted in the result).
    ///
    /// The driver frees a buffer when queued work that uses it is done.
    pub fn trim(&self, target_cached_bytes: u64) -> u64 {
        if target_cached_bytes == 0 {
            self.inner.ring.release_idle();
            self.inner.slots.release_idle();
        }
        self.inner.pool.trim(target_cached_bytes)
    }

    /// Calls `listener` with the [ids](Buffer::id) of buffers whose memory is given back to the driver.
    ///
    /// Whoever keeps objects that keep a buffer alive (bind groups) drops them then. The listener may
    /// run wherever a buffer is dropped or allocated, also while commands are being recorded, and must
    /// not call back into this memory or its device. It lives as long as the memory: capture weakly.
    pub fn on_release(&self, listener: impl Fn(&[u64]) + Send + Sync + 'static) {
        self.inner.pool.on_release(Arc::new(listener));
    }

    /// Whether the buffer was allocated or wrapped by this memory. Only such buffers can be used with it, and with the
    /// pipelines over it.
    #[inline]
    #[must_use]
    pub fn owns(&self, buffer: &Buffer) -> bool {
        buffer.is_of(&self.inner.pool)
    }

    fn own(&self, operation: &'static str, buffer: &Buffer) -> Result<(), MemoryError> {
        if self.owns(buffer) {
            Ok(())
        } else {
            Err(MemoryError::ForeignBuffer { operation })
        }
    }

    fn write_words(&self, buffer: &Buffer, offset: u64, data: &[u8]) -> Result<(), MemoryError> {
        let target = Target {
            buffer: buffer.wgpu(),
            offset,
        };
        self.inner.ring.write(target, data)
    }

    /// Merges the ends of a write into the words they share with their neighbours.
    #[cfg(not(target_arch = "wasm32"))]
    fn write_shared_words(
        &self,
        buffer: &Buffer,
        words: &[SharedWord],
        _offset: u64,
        data: &[u8],
    ) -> Result<(), MemoryError> {
        need("write within a word", buffer, BufferUsages::COPY_SRC)?;
        let reads: Vec<_> = words
            .iter()
            .map(|word| {
                (
                    buffer,
                    word.offset..(word.offset + WORD).min(buffer.bytes()),
                )
            })
            .collect();
        let old = self.read_many(&reads)?.wait()?;
        for (word, mut merged) in words.iter().zip(old) {
            let lanes = merged.get_mut(word.lanes.clone());
            let (Some(lanes), Some(new)) = (lanes, data.get(word.data.clone())) else {
                return Err(MemoryError::Internal {
                    what: "the ends of a write lie in whole words",
                });
            };
            lanes.copy_from_slice(new);
            self.write_words(buffer, word.offset, &merged)?;
        }
        Ok(())
    }

    #[cfg(target_arch = "wasm32")]
    fn write_shared_words(
        &self,
        _buffer: &Buffer,
        _words: &[SharedWord],
        offset: u64,
        data: &[u8],
    ) -> Result<(), MemoryError> {
        Err(misaligned("write", offset, data.len() as u64))
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("options", &self.inner.options)
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}

fn need(operation: &'static str, buffer: &Buffer, needs: BufferUsages) -> Result<(), MemoryError> {
    let have = buffer.wgpu().usage();
    if have.contains(needs) {
        Ok(())
    } else {
        Err(MemoryError::MissingUsage {
            operation,
            have,
            needs,
        })
    }
}

const fn misaligned(operation: &'static str, offset: u64, bytes: u64) -> MemoryError {
    MemoryError::Misaligned {
        operation,
        offset,
        bytes,
        alignment: WORD,
    }
}
