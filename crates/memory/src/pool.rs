//! The buffer pool: the inventory's policy applied to real buffers.
//!
//! A buffer is handed out again as soon as its last handle is dropped, even while work that uses it
//! is still queued: the queue runs in order, so whatever is recorded later runs later.
//! Released buffers are only dropped, never destroyed; wgpu keeps them until queued work is done.
//!
//! Invariants: nothing is dropped, created or called back while the inventory's lock is held.

use crate::buffer::{Buffer, Idle};
use crate::create::create;
use crate::error::{DriverError, MemoryError};
use crate::inventory::{Bounds, Inventory, Refusal};
use crate::ledger::Ledger;
use crate::options::MemoryOptions;
use crate::usage::Usage;
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use ziggurat_device::Device;

/// A wgpu buffer and its identity.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) buffer: wgpu::Buffer,
    pub(crate) id: u64,
}

type ReleaseListener = Arc<dyn Fn(&[u64]) + Send + Sync>;
type PressureListener = Arc<dyn Fn() + Send + Sync>;

/// Buffers in use and idle.
pub(crate) struct Pool {
    device: Device,
    limit: Option<u64>,
    inventory: Mutex<Inventory<Idle>>,
    on_release: Mutex<Vec<ReleaseListener>>,
    on_pressure: Mutex<Vec<PressureListener>>,
    /// What stands for memory in placeholders.
    stub: OnceLock<wgpu::Buffer>,
    ledger: Ledger,
}

const USAGES: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

impl Pool {
    pub(crate) fn new(device: &Device, options: &MemoryOptions) -> Self {
        Self {
            device: device.clone(),
            limit: options.limit,
            inventory: Mutex::new(Inventory::new(Bounds {
                limit: options.limit,
                max_cached: options.max_cached,
                max_buffer_bytes: device.caps().max_buffer_bytes,
                max_binding_bytes: device.caps().max_binding_bytes,
            })),
            on_release: Mutex::default(),
            on_pressure: Mutex::default(),
            stub: OnceLock::new(),
            ledger: Ledger::default(),
        }
    }

    /// Who holds how much.
    #[inline]
    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) const fn device(&self) -> &Device {
        &self.device
    }

    /// A number that no other buffer of the process has: also those of other pools can meet in one cache.
    #[allow(
        clippy::unused_self,
        reason = "numbers are given to a pool's buffers only"
    )]
    pub(crate) fn new_id(&self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// A buffer without memory, to plan with.
    pub(crate) fn placeholder(self: &Arc<Self>, bytes: u64) -> Result<Buffer, MemoryError> {
        let stub = match self.stub.get() {
            Some(stub) => stub,
            None => {
                // Too small and too useless for anything but to be refused.
                let stub = self.create_now("placeholder", 4, wgpu::BufferUsages::STORAGE)?;
                self.stub.get_or_init(|| stub)
            }
        };
        Ok(Buffer::placeholder(stub.clone(), bytes, self))
    }

    /// A buffer of at least `bytes` with unspecified contents.
    pub(crate) fn alloc(self: &Arc<Self>, bytes: u64) -> Result<Buffer, MemoryError> {
        self.device.status()?;
        let granted = self.inventory.lock().claim(bytes);
        let grant = granted.map_err(|refusal| match refusal {
            Refusal::TooLarge { limit } => MemoryError::TooLarge {
                requested: bytes,
                limit,
            },
            Refusal::OverLimit => self.out_of_memory(bytes, None),
        })?;
        self.release(grant.evicted);
        let buffer = match grant.item {
            Some(idle) => idle.lend(bytes, self),
            None => match self.create("pool", grant.capacity, USAGES, false) {
                Ok(buffer) => {
                    let id = self.new_id();
                    Buffer::pooled(Block { buffer, id }, bytes, grant.capacity, self)
                }
                Err(error) => {
                    self.inventory.lock().cancel(grant.capacity, bytes);
                    return Err(match error {
                        // The failed request itself is not in use: count without it.
                        MemoryError::OutOfMemory { source, .. } => {
                            self.out_of_memory(bytes, source)
                        }
                        error => error,
                    });
                }
            },
        };
        if self.ledger.is_on() {
            self.ledger.take(buffer.id(), grant.capacity);
        }
        Ok(buffer)
    }

    /// Takes back the memory of a pooled buffer whose last handle is gone.
    pub(crate) fn give_back(&self, block: Idle, capacity: u64, bytes: u64) {
        if self.ledger.is_on() {
            self.ledger.give_back(block.id());
        }
        let evicted = self.inventory.lock().give_back(capacity, bytes, block);
        self.release(evicted);
    }

    /// Releases idle buffers until at most `target` bytes are cached; returns the bytes released.
    pub(crate) fn trim(&self, target: u64) -> u64 {
        let (bytes, evicted) = self.inventory.lock().trim(target);
        self.release(evicted);
        bytes
    }

    pub(crate) fn usage(&self) -> Usage {
        self.inventory.lock().usage()
    }

    /// Creates a buffer of any kind; when the driver has no memory, makes room and tries once more.
    ///
    /// Waits for the device on native, so it must not be called while commands are being recorded.
    pub(crate) fn create(
        &self,
        label: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
        mapped: bool,
    ) -> Result<wgpu::Buffer, MemoryError> {
        if let Ok(buffer) = create(&self.device, label, bytes, usage, mapped) {
            return Ok(buffer);
        }
        self.device.status()?;
        self.trim(0);
        let listeners = self.on_pressure.lock().clone();
        for listener in listeners {
            listener();
        }
        // Released buffers are freed once the work that uses them is done.
        #[cfg(not(target_arch = "wasm32"))]
        self.device.synchronize().wait()?;
        #[cfg(target_arch = "wasm32")]
        self.device.flush()?;
        create(&self.device, label, bytes, usage, mapped)
            .map_err(|error| self.out_of_memory(bytes, Some(error)))
    }

    /// Creates a buffer without making room: usable while commands are being recorded.
    pub(crate) fn create_now(
        &self,
        label: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, MemoryError> {
        create(&self.device, label, bytes, usage, false)
            .map_err(|error| self.out_of_memory(bytes, Some(error)))
    }

    /// Calls `listener` with the ids of buffers that are given back to the driver.
    pub(crate) fn on_release(&self, listener: ReleaseListener) {
        self.on_release.lock().push(listener);
    }

    /// Calls `listener` when the driver is out of memory and idle memory should be released.
    pub(crate) fn on_pressure(&self, listener: PressureListener) {
        self.on_pressure.lock().push(listener);
    }

    /// Tells the listeners about buffers that are about to be dropped, then drops them.
    #[inline]
    pub(crate) fn release(&self, blocks: Vec<Idle>) {
        if !blocks.is_empty() {
            self.tell(blocks);
        }
    }

    #[cold]
    fn tell(&self, blocks: Vec<Idle>) {
        let listeners = self.on_release.lock().clone();
        if listeners.is_empty() {
            return;
        }
        let ids: Vec<u64> = blocks.iter().map(Idle::id).collect();
        for listener in listeners {
            listener(&ids);
        }
    }

    /// Why mapped memory could not be reached: a lost device takes its mappings away, and then the loss is the reason.
    pub(crate) fn reason(&self, error: MemoryError) -> MemoryError {
        match error {
            // wgpu answers for mappings before it tells of the loss.
            MemoryError::Map { .. } => match self.device.check_alive() {
                Err(lost) => lost.into(),
                Ok(()) => error,
            },
            error => error,
        }
    }

    fn out_of_memory(&self, requested: u64, source: Option<DriverError>) -> MemoryError {
        let inventory = self.inventory.lock();
        let in_use = inventory.live();
        MemoryError::OutOfMemory {
            requested,
            in_use,
            reserved: inventory.reserved(),
            limit: self.limit,
            available: self.limit.map(|limit| limit.saturating_sub(in_use)),
            source,
        }
    }

    /// Lets peaks be measured from now on.
    pub(crate) fn reset_peaks(&self) {
        self.inventory.lock().reset_peaks();
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("usage", &self.usage())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
