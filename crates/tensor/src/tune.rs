//! Tuning of what a program computes on this adapter: see [`Device::tune`].

use std::future::Future;

use ziggurat_kernels::{TuneOptions, TuneReport};
use ziggurat_pipeline::TuningStore;

use crate::once::once;
use crate::{Device, Error, Tensor};

const OP: &str = "tune";

impl Device {
    /// Computes what `f` returns, and measures in which of their ways the matrix products, convolutions and attentions in it
    /// are computed fastest on this adapter. From then on they are computed so, by this program, and by others to which
    /// [`Device::tuning`] is saved or exported.
    ///
    /// Never done by itself. `f` runs once, as always; ways are measured on memory of their own, and one whose results are
    /// further from the usual ones than the bound of its op is never taken. With the same choices the same input gives the
    /// same bits on every run; other choices may give other last bits within the same bounds. Call it before
    /// [`Device::capture`]: what is captured stays as it is.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Tensor, TuneOptions};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let (x, w) = (Tensor::ones(&device, [48, 64], DType::F32)?, Tensor::ones(&device, [64, 32], DType::F32)?);
    /// let options = TuneOptions::default().time_limit(Duration::from_secs(5));
    /// let report = device.tune_blocking(options, || Ok([x.matmul(&w)?.relu()?]))?;
    /// println!("{report}");
    /// assert_eq!(report.met, 1);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returns; the device's failure. What goes wrong with one way stands in its row.
    #[doc(alias = "autotune")]
    pub fn tune<R: IntoIterator<Item = Tensor>>(
        &self,
        options: TuneOptions,
        f: impl FnOnce() -> Result<R, Error>,
    ) -> impl Future<Output = Result<TuneReport, Error>> {
        let executor = self.executor();
        let (called, problems) = executor.meet(|| {
            let results: Vec<Tensor> = f()?.into_iter().collect();
            Tensor::evaluate_all(&results.iter().collect::<Vec<_>>())
        });
        let tuned = executor.tune_problems(options, problems);
        once(async move {
            called?;
            tuned.await.map_err(|error| Error::from_kernel(OP, error))
        })
    }

    /// [`Device::tune`], waiting in place.
    ///
    /// # Errors
    /// As [`Device::tune`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn tune_blocking<R: IntoIterator<Item = Tensor>>(
        &self,
        options: TuneOptions,
        f: impl FnOnce() -> Result<R, Error>,
    ) -> Result<TuneReport, Error> {
        self.block_on(self.tune(options, f))
    }

    /// What was measured on this device: empty until something is tuned or loaded. It is saved to files, and exported to
    /// bytes for other machines with the same adapter and driver.
    pub fn tuning(&self) -> &TuningStore {
        self.executor().pipelines().tuning()
    }
}
