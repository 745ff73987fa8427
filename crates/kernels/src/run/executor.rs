//! [`Executor`]: every op over buffers and layouts, asynchronous, with no tensor in sight.
//!
//! Calling an op checks its operands, records its dispatches at once and returns a future for their completion,
//! which may be dropped. Outputs are given by the caller. Invariants: an op that returns an error has recorded
//! nothing that writes to the output; nothing here blocks except the `*_blocking` and `wait` functions, which do not
//! exist on the web.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use parking_lot::Mutex;
use ziggurat_core::{DType, Element, Layout, Shape, encode};
use ziggurat_device::{Device, DeviceError, DeviceOptions, once};
use ziggurat_memory::{Memory, MemoryKind, MemoryOptions};
use ziggurat_pipeline::Pipelines;

use crate::limits::ability::Ability;
use crate::ops::matmul::precision::MatmulPrecision;
use crate::ops::numerics::halves::Halves;
use crate::run::completion::{Completion, Download, DownloadMany};
use crate::run::error::KernelError;
use crate::run::program::unnoted;
use crate::run::view::View;
use crate::tune::{Forced, Meetings};

/// Cached scalars beyond this number are made anew each time.
const MAX_SCALARS: usize = 1024;
/// Cached tables beyond this number are made anew each time, as are tables of more words.
const MAX_TABLES: usize = 64;
const MAX_TABLE_WORDS: usize = 1 << 16;

/// Runs ops on one device. Cheap to clone; clones share caches and memory.
#[derive(Clone)]
pub struct Executor(Arc<Inner>);

struct Inner {
    pipelines: Pipelines,
    ability: Ability,
    scalars: Arc<Mutex<HashMap<(DType, u64), View>>>,
    tables: Arc<Mutex<HashMap<Vec<u64>, View>>>,
    /// Whether updates of floats may come in any order.
    any_order: Arc<AtomicBool>,
    precision: Arc<AtomicU8>,
    /// The adapter's conversions of f16.
    halves: Arc<Halves>,
    /// Whether dispatches go to a capture, which is to hold nothing else.
    captures: bool,
    /// Who notes which problems there are.
    meetings: Arc<Meetings>,
    /// The way of one class of problems, for measuring it.
    forced: Option<Forced>,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("adapter", self.device().adapter())
            .finish_non_exhaustive()
    }
}

impl Executor {
    /// An executor over existing pipelines (and their memory and device).
    #[must_use]
    pub fn new(pipelines: &Pipelines) -> Self {
        Self(Arc::new(Inner {
            ability: Ability::of(pipelines.device()),
            pipelines: pipelines.clone(),
            scalars: Arc::default(),
            tables: Arc::default(),
            any_order: Arc::default(),
            precision: Arc::default(),
            halves: Arc::default(),
            captures: false,
            meetings: Arc::default(),
            forced: None,
        }))
    }

    /// An executor whose dispatches go through other pipelines of the same device.
    pub(crate) fn through(&self, pipelines: Pipelines) -> Self {
        Self(Arc::new(Inner {
            captures: true,
            ..self.inner(pipelines)
        }))
    }

    /// An executor like this one that computes a class of problems in one way, whatever the store says.
    pub(crate) fn forced_to(&self, forced: Forced) -> Self {
        Self(Arc::new(Inner {
            forced: Some(forced),
            ..self.inner(self.pipelines().clone())
        }))
    }

    /// What executors of the same device share.
    fn inner(&self, pipelines: Pipelines) -> Inner {
        Inner {
            pipelines,
            ability: self.0.ability,
            scalars: Arc::clone(&self.0.scalars),
            tables: Arc::clone(&self.0.tables),
            any_order: Arc::clone(&self.0.any_order),
            precision: Arc::clone(&self.0.precision),
            halves: Arc::clone(&self.0.halves),
            captures: self.0.captures,
            meetings: Arc::clone(&self.0.meetings),
            forced: self.0.forced,
        }
    }

    pub(crate) fn meetings(&self) -> &Meetings {
        &self.0.meetings
    }

    pub(crate) fn forced(&self) -> Option<Forced> {
        self.0.forced
    }

    /// An executor on the same device whose ops take another one of the ways that they can be computed in, where they have
    /// more than `way`: 0 is what an op takes by itself. For tests and measurements of the others.
    #[cfg(any(test, feature = "catalogue"))]
    #[must_use]
    pub fn in_way(&self, way: u8) -> Self {
        let mut other = Self::new(self.pipelines());
        if let Some(inner) = Arc::get_mut(&mut other.0) {
            inner.ability.way = way;
        }
        other.set_matmul_precision(self.matmul_precision());
        other
    }

    /// Opens a device with default memory options and builds an executor on it.
    ///
    /// # Errors
    /// [`KernelError::Device`] if no adapter fits or the device cannot be opened.
    pub fn open(options: DeviceOptions) -> impl Future<Output = Result<Self, KernelError>> {
        let opened = async move { Ok(Self::on(&Device::open(options).await?)) };
        once(opened, || DeviceError::Finished.into())
    }

    /// Like [`Self::open`], blocking.
    ///
    /// # Errors
    /// [`KernelError::Device`] if no adapter fits or the device cannot be opened.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open_blocking(options: DeviceOptions) -> Result<Self, KernelError> {
        Ok(Self::on(&Device::open_blocking(options)?))
    }

    fn on(device: &Device) -> Self {
        Self::with_memory(device, MemoryOptions::default())
    }

    fn with_memory(device: &Device, options: MemoryOptions) -> Self {
        Self::new(&Pipelines::new(&Memory::new(device, options)))
    }

    /// An executor like this one on a device that is opened anew, for programs that go on after the loss of theirs: see
    /// [`Device::reopen`]. Views of this executor cannot be used with it.
    ///
    /// # Errors
    /// [`KernelError::Device`], as [`Device::reopen`].
    pub fn reopen(&self) -> impl Future<Output = Result<Self, KernelError>> {
        once(self.opened_again(), || DeviceError::Finished.into())
    }

    async fn opened_again(&self) -> Result<Self, KernelError> {
        let device = self.device().reopen().await?;
        let new = Self::with_memory(&device, *self.memory().options());
        new.set_deterministic(self.is_deterministic());
        new.set_matmul_precision(self.matmul_precision());
        Ok(new)
    }

    /// Like [`Self::reopen`], blocking.
    ///
    /// # Errors
    /// [`KernelError::Device`], as [`Device::reopen`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn reopen_blocking(&self) -> Result<Self, KernelError> {
        ziggurat_device::block_on(self.reopen())
    }

    /// What the device can do.
    pub(crate) fn ability(&self) -> Ability {
        self.0.ability
    }

    /// Whether sums and products of floats by [`Executor::scatter`] and its relatives are the same bits on every run, which
    /// they are from the beginning. Off, they are added as they come, rounded after each to the dtype: faster for many
    /// updates, by the sort that an order needs.
    pub fn set_deterministic(&self, on: bool) {
        self.0.any_order.store(!on, Ordering::Relaxed);
    }

    /// What [`Executor::set_deterministic`] said.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        !self.0.any_order.load(Ordering::Relaxed)
    }

    /// How exactly [`Executor::matmul`] reads elements of f32 from now on; as exactly as can be in the beginning. A
    /// [`Call`](crate::Call) says it itself.
    pub fn set_matmul_precision(&self, precision: MatmulPrecision) {
        self.0.precision.store(precision as u8, Ordering::Relaxed);
    }

    /// What [`Executor::set_matmul_precision`] said.
    #[must_use]
    pub fn matmul_precision(&self) -> MatmulPrecision {
        MatmulPrecision::of_number(self.0.precision.load(Ordering::Relaxed))
    }

    /// Whether kernels may use the adapter's own conversions of f16.
    pub(crate) fn has_native_halves(&self) -> bool {
        self.0.halves.are_proved()
    }

    /// Says that a kernel would.
    pub(crate) fn want_native_halves(&self) {
        self.0.halves.want();
    }

    /// Asks the device for that, if a kernel would and nobody did.
    fn ask_for_native_halves(&self) {
        if !self.0.captures {
            self.prove_halves(&self.0.halves);
        }
    }

    /// The device.
    #[inline]
    #[must_use]
    pub fn device(&self) -> &Device {
        self.memory().device()
    }

    /// The memory that views are allocated from.
    #[inline]
    #[must_use]
    pub fn memory(&self) -> &Memory {
        self.pipelines().memory()
    }

    /// The pipelines that ops run.
    #[inline]
    #[must_use]
    pub fn pipelines(&self) -> &Pipelines {
        &self.0.pipelines
    }

    /// A dense view with unspecified contents, for use as an output.
    ///
    /// # Errors
    /// [`KernelError::Memory`] if there is no room.
    pub fn alloc(&self, shape: &Shape, dtype: DType) -> Result<View, KernelError> {
        let bytes = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
        let (memory, arena) = (self.memory(), self.pipelines().arena());
        // Who allocates a result says so.
        let buffer = memory.labelled(MemoryKind::Scratch, "", || match arena {
            Some(arena) => memory.alloc_in(&arena, bytes),
            None => memory.alloc(bytes),
        })?;
        self.note_alloc(&buffer);
        View::new(buffer, Layout::contiguous(*shape), dtype)
    }

    /// A dense view of the given elements, in row-major order.
    ///
    /// # Errors
    /// [`KernelError::DataLength`] if there are not as many as the shape says; [`KernelError::Memory`];
    /// [`KernelError::InCapture`] on a capturing executor.
    pub fn upload<T: Element>(&self, values: &[T], shape: &Shape) -> Result<View, KernelError> {
        self.upload_bytes(T::DTYPE, &T::write_bytes(values), shape)
    }

    /// A dense view of elements given as little-endian bytes, in row-major order. A bool is one byte, 0 or 1.
    ///
    /// # Errors
    /// [`KernelError::DataLength`] if the bytes are not as many as the shape says; [`KernelError::BoolByte`] if one of a bool
    /// is neither 0 nor 1; [`KernelError::Memory`];
    /// [`KernelError::InCapture`] on a capturing executor.
    pub fn upload_bytes(
        &self,
        dtype: DType,
        bytes: &[u8],
        shape: &Shape,
    ) -> Result<View, KernelError> {
        self.refuse_in_capture("upload")?;
        self.upload_now(dtype, bytes, shape)
    }

    fn upload_now(&self, dtype: DType, bytes: &[u8], shape: &Shape) -> Result<View, KernelError> {
        let expected = (shape.len() as u64).saturating_mul(dtype.bytes() as u64);
        if bytes.len() as u64 != expected {
            return Err(KernelError::DataLength {
                shape: *shape,
                expected,
                got: bytes.len() as u64,
            });
        }
        if dtype == DType::Bool
            && let Some((position, &byte)) = bytes.iter().enumerate().find(|(_, byte)| **byte > 1)
        {
            return Err(KernelError::BoolByte { position, byte });
        }
        View::new(
            self.memory().upload(bytes)?,
            Layout::contiguous(*shape),
            dtype,
        )
    }

    /// Reads a view, row-major and dense; a strided view is copied on the device first.
    ///
    /// # Errors
    /// [`KernelError::Memory`] if there is no room for the copy; [`KernelError::OutOfBuffer`];
    /// [`KernelError::InCapture`] on a capturing executor.
    pub fn download(&self, view: &View) -> Result<Download, KernelError> {
        Ok(Download::new(self.download_many(&[view])?))
    }

    /// Reads several views after one submission.
    ///
    /// # Errors
    /// Like [`Self::download`].
    pub fn download_many(&self, views: &[&View]) -> Result<DownloadMany, KernelError> {
        self.refuse_in_capture("download")?;
        self.ask_for_native_halves();
        let mut dense = Vec::with_capacity(views.len());
        for view in views {
            view.check()?;
            dense.push(if view.layout.is_contiguous() {
                (*view).clone()
            } else {
                self.to_dense("download", view)?
            });
        }
        let ranges: Vec<_> = dense
            .iter()
            .map(|view| {
                let element = view.dtype.bytes() as u64;
                let start = if view.is_empty() {
                    0
                } else {
                    view.layout.offset() as u64 * element
                };
                (&view.buffer, start..start + view.len() as u64 * element)
            })
            .collect();
        Ok(DownloadMany::new(self.memory().read_many(&ranges)?))
    }

    /// A view of one element and rank 0, shared by all who ask for the same value: not to be written to.
    ///
    /// # Errors
    /// [`KernelError::Memory`] if there is no room.
    pub fn scalar(&self, dtype: DType, value: f64) -> Result<View, KernelError> {
        let key = (dtype, value.to_bits());
        if let Some(view) = self.0.scalars.lock().get(&key) {
            return Ok(view.clone());
        }
        let view = self.upload_now(dtype, &encode(dtype, &[value]), &Shape::scalar())?;
        let mut scalars = self.0.scalars.lock();
        if scalars.len() < MAX_SCALARS {
            return Ok(scalars.entry(key).or_insert(view).clone());
        }
        Ok(view)
    }

    /// Numbers that a kernel looks up, shared by all who ask with the same key, which must tell apart everything that the
    /// words depend on.
    pub(crate) fn table(
        &self,
        key: Vec<u64>,
        words: &[u32],
        shape: &Shape,
    ) -> Result<View, KernelError> {
        if let Some(view) = self.0.tables.lock().get(&key) {
            return Ok(view.clone());
        }
        let view = unnoted(|| self.upload_now(DType::U32, &u32::write_bytes(words), shape))?;
        let mut tables = self.0.tables.lock();
        if words.len() <= MAX_TABLE_WORDS && tables.len() < MAX_TABLES {
            return Ok(tables.entry(key).or_insert(view).clone());
        }
        Ok(view)
    }

    /// Submits what is recorded and resolves when the device has finished everything.
    pub fn synchronize(&self) -> Completion {
        self.ask_for_native_halves();
        Completion::new(self.device().synchronize())
    }

    /// The completion of everything recorded so far.
    pub(crate) fn completion(&self) -> Completion {
        let device = self.device();
        Completion::new(device.completion(device.pending()))
    }
}
