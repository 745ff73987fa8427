//! The one door to wgpu: for applications that share a device with a renderer or their own compute code.
//!
//! Everything here speaks wgpu's types; nothing else in this crate's interface does.
//!
//! Order: commands that tensors record are submitted later than they are recorded. Call [`flush`] before submitting own
//! work that reads a tensor's buffer; own work that fills a buffer must be submitted before a tensor over it is read.

use ziggurat_core::{DType, Layout, Shape};
use ziggurat_device::DeviceOptions;
use ziggurat_kernels::{Executor, View};
use ziggurat_memory::{Memory, MemoryOptions};
use ziggurat_pipeline::Pipelines;

use crate::{Device, Error, Tensor};

/// A device for tensors over one that the application already owns.
pub fn device_from_wgpu(
    adapter: &wgpu::Adapter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    options: DeviceOptions,
) -> Device {
    let device = ziggurat_device::Device::from_wgpu(adapter, device, queue, options);
    let memory = Memory::new(&device, MemoryOptions::default());
    Device::from_executor(&Executor::new(&Pipelines::new(&memory)))
}

/// The wgpu device under a tensor device.
pub fn wgpu_device(device: &Device) -> &wgpu::Device {
    device.executor().device().wgpu()
}

/// The wgpu queue under a tensor device.
pub fn wgpu_queue(device: &Device) -> &wgpu::Queue {
    device.executor().device().wgpu_queue()
}

/// Submits everything recorded so far. Pending values are not recorded yet: [`buffer`] and [`Tensor::eval`] do that.
///
/// # Errors
/// If the device is lost.
pub fn flush(device: &Device) -> Result<(), Error> {
    device
        .executor()
        .device()
        .flush()
        .map(|_| ())
        .map_err(|error| Error::from_device("flush", error))
}

/// A tensor's memory: the buffer, which holds other data around it, and where its elements are.
#[derive(Clone, Debug)]
pub struct TensorBuffer {
    /// The buffer. It goes back to the pool when the tensor and its clones are gone, so keep the tensor alive.
    pub buffer: wgpu::Buffer,
    /// Shape, strides and offset, in elements of `dtype`.
    pub layout: Layout,
    /// The element type.
    pub dtype: DType,
}

/// Where a tensor's values are, to be read. Whoever writes there changes what shares the memory: clones, views, and values
/// that are computed from it later. To write, ask for [`buffer_mut`].
///
/// # Errors
/// If something that the tensor's value depends on failed.
pub fn buffer(tensor: &Tensor) -> Result<TensorBuffer, Error> {
    tensor.stored().map(described)
}

/// Where a tensor's values are, to be written: row-major, and nobody else's. What shares the memory until now (clones,
/// views, pending expressions that read it) keeps the values as they are, because the tensor then gets a copy.
///
/// For kernels of the pipeline layer [`Tensor::storage_mut`] gives the same memory as a buffer that
/// [`Arg::write`](ziggurat_pipeline::Arg::write) takes.
///
/// # Errors
/// If something that the tensor's value depends on failed, or the device has no memory for the copy.
pub fn buffer_mut(tensor: &mut Tensor) -> Result<TensorBuffer, Error> {
    tensor.storage_mut().map(described)
}

fn described(view: &View) -> TensorBuffer {
    TensorBuffer {
        buffer: view.buffer.wgpu().clone(),
        layout: view.layout,
        dtype: view.dtype,
    }
}

/// A tensor over a buffer of the application, without a copy: row-major from its beginning. The buffer needs the usages
/// `STORAGE`, `COPY_SRC` and `COPY_DST`.
///
/// # Errors
/// If the buffer is too small for the shape, lacks a usage, is mapped, or belongs to another device.
pub fn tensor_from_buffer(
    device: &Device,
    buffer: wgpu::Buffer,
    shape: impl AsRef<[usize]>,
    dtype: DType,
) -> Result<Tensor, Error> {
    const OP: &str = "tensor_from_buffer";
    let needed =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    if !buffer.usage().contains(needed) {
        return Err(Error::argument(
            OP,
            format!(
                "the buffer needs the usages {needed:?}: it has {:?}",
                buffer.usage()
            ),
        ));
    }
    let shape = Shape::new(shape.as_ref()).map_err(|error| Error::from_shape(OP, error))?;
    device.check_len(OP, &shape, dtype)?;
    let memory = device.executor().memory().wrap(buffer);
    let memory = memory.map_err(|error| Error::from_memory(OP, error))?;
    let view = View::new(memory, Layout::contiguous(shape), dtype)
        .map_err(|error| Error::from_kernel(OP, error))?;
    Ok(Tensor::from_view(device, view))
}
