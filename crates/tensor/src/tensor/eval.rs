//! Asking for values without reading them, asking how they will come about, and the memory that they are in.

use std::future::Future;

use ziggurat_core::Layout;
use ziggurat_kernels::View;

use crate::lazy;
use crate::once::once;
use crate::{Error, Explanation, Tensor};

impl Tensor {
    /// Computes the values now if they are still pending, and resolves when the device has done so.
    ///
    /// Elementwise operations wait until a value is needed. The kernel is recorded when this method is called; the future
    /// may be dropped.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// # async fn run() -> Result<(), ziggurat_tensor::Error> {
    /// let device = Device::open(DeviceOptions::default()).await?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 4.0], [2])?;
    /// let b = (&a + &a)?.sqrt()?;
    /// b.eval().await?;
    /// assert!(b.explain()?.kernels().is_empty());
    /// # Ok(()) }
    /// # futures::executor::block_on(run())?;
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a kernel could not be recorded (the error stays with the tensor), or something recorded before failed.
    #[doc(alias = "compute")]
    pub fn eval(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let device = self.device().executor().device();
        let done = self.stored().map(|_| device.completion(device.pending()));
        once(async move {
            done?
                .await
                .map_err(|error| Error::from_device("eval", error))
        })
    }

    /// [`Tensor::eval`], waiting in place.
    ///
    /// # Errors
    /// As [`Tensor::eval`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn eval_blocking(&self) -> Result<(), Error> {
        self.device().block_on(self.eval())
    }

    /// The kernels that would compute this tensor now: operations, what they read and write, WGSL, bytes moved. Nothing
    /// is computed, allocated or compiled, and [`FusionPolicy`](crate::FusionPolicy) is not looked at.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 3.0, 4.0], [4])?;
    /// let b = (&a * &a + &a)?.sqrt()?;
    /// let explained = b.explain()?;
    /// assert_eq!(explained.kernels().len(), 1);
    /// assert_eq!(explained.kernels()[0].ops(), ["mul", "add", "sqrt"]);
    /// assert_eq!(explained.bytes_moved(), 32);
    /// println!("{explained}");
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If something that the value depends on failed, or a value between two kernels is larger than a buffer can be.
    pub fn explain(&self) -> Result<Explanation, Error> {
        lazy::explain(self.device(), self.node.node())
    }

    /// The memory with the values, which are computed if they are not yet: for [`Executor`](ziggurat_kernels::Executor)
    /// calls and for reads of [`Memory`](ziggurat_memory::Memory) into a slice or a mapped view. It is not to be written to:
    /// [`Tensor::storage_mut`] is for that.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let doubled = (&a * 2.0)?;
    /// let view = doubled.storage()?;
    /// assert!(view.layout.is_contiguous());
    /// let mut bytes = [0; 8];
    /// let memory = device.executor().memory();
    /// memory.read_into(&view.buffer, 0..8, &mut bytes).unwrap().wait().unwrap();
    /// assert_eq!(bytes, [0, 0, 0, 64, 0, 0, 128, 64]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If something that the value depends on failed.
    #[doc(alias = "data_ptr", alias = "untyped_storage")]
    pub fn storage(&self) -> Result<&View, Error> {
        self.stored()
    }

    /// The memory with the values, to be written to: row-major, and nobody else's. What shares it until now (clones, views,
    /// pending expressions that read it, captures) keeps the values as they are, because this tensor then gets a copy.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Element, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let mut a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let before = (&a + 1.0)?;
    /// let view = a.storage_mut()?.clone();
    /// let memory = device.executor().memory();
    /// memory.write(&view.buffer, 0, &f32::write_bytes(&[7.0, 8.0])).unwrap();
    /// assert_eq!(a.to_vec_blocking::<f32>()?, [7.0, 8.0]);
    /// assert_eq!(before.to_vec_blocking::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// The same memory is an argument of the pipeline layer:
    ///
    /// ```
    /// use ziggurat_pipeline::{Arg, Grid, KernelDescriptor, ShaderSource};
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let mut a = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
    /// let before = (&a + 1.0)?;
    /// let text = "@group(0) @binding(0) var<storage, read_write> a: array<f32>;
    ///     @compute @workgroup_size(2) fn main(@builtin(local_invocation_index) i: u32) { a[i] *= 10.0; }";
    /// let pipelines = device.executor().pipelines();
    /// let kernel = pipelines.kernel(&KernelDescriptor::new(ShaderSource::wgsl("tens", text)))?;
    /// pipelines.dispatch(&kernel, &[Arg::write(&a.storage_mut()?.buffer)], &[], Grid::Workgroups([1, 1, 1]))?;
    /// assert_eq!(a.to_vec_blocking::<f32>()?, [10.0, 20.0]);
    /// assert_eq!(before.to_vec_blocking::<f32>()?, [2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If something that the value depends on failed, or the device has no memory for the copy.
    pub fn storage_mut(&mut self) -> Result<&View, Error> {
        let view = self.stored()?;
        let own = self.node.is_of_one_tensor()
            && view.buffer.is_unique()
            && view.layout == Layout::contiguous(*view.shape());
        if !own {
            *self = self.copied("storage_mut")?;
        }
        self.stored()
    }
}
