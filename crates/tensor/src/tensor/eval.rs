//! Asking for values without reading them, and asking how they will come about.

use std::future::Future;

use crate::lazy;
use crate::{Error, Explanation, Tensor};

impl Tensor {
    /// Computes the values now if they are still pending, and resolves when the device has done so.
    ///
    /// Elementwise operations wait until a value is needed. The kernel is recorded when this method is called; the future
    /// may be dropped.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # async fn run(device: ziggurat_tensor::Device) -> Result<(), ziggurat_tensor::Error> {
    /// let a = Tensor::from_slice(&device, &[1.0f32, 4.0], [2])?;
    /// let b = (&a + &a)?.sqrt()?;
    /// b.eval().await?;
    /// assert!(b.explain()?.kernels().is_empty());
    /// # Ok(()) }
    /// # if let Some(device) = doc::device() { futures::executor::block_on(run(device))?; }
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a kernel could not be recorded (the error stays with the tensor), or something recorded before failed.
    pub fn eval(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let device = self.device().executor().device();
        let done = self.stored().map(|_| device.completion(device.pending()));
        async move {
            done?
                .await
                .map_err(|error| Error::from_device("eval", error))
        }
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
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
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
        lazy::explain(self.device(), &self.node)
    }
}
