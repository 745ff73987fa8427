//! What kernels of an [`Explanation`] could take on a device, and what they took: the two roofs of bytes and arithmetic.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

#[cfg(not(target_arch = "wasm32"))]
use ziggurat_core::DType;
use ziggurat_device::KernelTime;

use super::explain::{ExplainedKernel, Explanation};
#[cfg(not(target_arch = "wasm32"))]
use crate::{Device, Error, Tensor};

#[cfg(not(target_arch = "wasm32"))]
const OP: &str = "measure_roof";

/// How fast a device can be: stated, or measured by `Device::measure_roof_blocking`, which a browser does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roof {
    /// Bytes read and written per second.
    pub bytes_per_second: f64,
    /// Arithmetic operations per second; a multiply-add is two.
    pub operations_per_second: f64,
    /// What a kernel takes however little it does.
    pub dispatch: Duration,
}

/// What limits a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// Reading and writing.
    Memory,
    /// Arithmetic.
    Arithmetic,
    /// There is too little to do.
    Dispatch,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Arithmetic => "arithmetic",
            Self::Dispatch => "the dispatch",
        })
    }
}

/// Seconds of so much at a rate.
fn seconds(amount: u64, per_second: f64) -> f64 {
    let seconds = amount as f64 / per_second;
    if seconds.is_finite() {
        seconds.max(0.0)
    } else {
        0.0
    }
}

impl Roof {
    /// The least time that so many bytes and operations take, and what takes it.
    #[must_use]
    pub fn time(&self, bytes: u64, operations: u64) -> (Duration, Bottleneck) {
        let memory = seconds(bytes, self.bytes_per_second);
        let arithmetic = seconds(operations, self.operations_per_second);
        let work = memory.max(arithmetic);
        let taken = Duration::try_from_secs_f64(work).unwrap_or(Duration::MAX);
        let by = match (taken < self.dispatch, memory < arithmetic) {
            (true, _) => Bottleneck::Dispatch,
            (false, true) => Bottleneck::Arithmetic,
            (false, false) => Bottleneck::Memory,
        };
        (taken.max(self.dispatch), by)
    }
}

impl Roof {
    /// Each label of a profile below the roof, one dispatch of it on average: one's own kernels as well as built-in operations.
    /// Bytes are those of the profile, and so are arithmetic operations, as a kernel states them
    /// ([`TensorKernel::flops_per_element`](crate::TensorKernel::flops_per_element), [`CustomCall::flops`](crate::CustomCall::flops),
    /// [`with_flops`](ziggurat_pipeline::with_flops)): of one that states none memory and dispatches alone are compared, unless
    /// [`KernelTime::operations`] is set before.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Roof, Tensor, TensorKernel, like};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let cube = TensorKernel::wgsl("cube", "fn kernel(i: u32) { let x = x_at(i); y_store(i, x * x * x); }")
    ///     .input("x", DType::F32)
    ///     .output("y", like("x"))
    ///     .flops_per_element(2);
    /// let x = Tensor::ones(&device, [1000], DType::F32)?;
    /// device.set_profiling(true);
    /// cube.call(&[&x]).run()?.eval_blocking()?;
    /// let roof = Roof { bytes_per_second: 1e11, operations_per_second: 1e12, dispatch: Duration::ZERO };
    /// let times = device.profile_blocking()?;
    /// println!("{}", roof.of_profile(&times));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn of_profile(&self, times: &[KernelTime]) -> Roofline {
        let mut rows = Vec::with_capacity(times.len());
        for time in times {
            let reliable = time.count.saturating_sub(time.unreliable);
            let each = |total: u64| total.checked_div(reliable);
            let bytes = time.bytes_read.saturating_add(time.bytes_written);
            let bytes = each(bytes).unwrap_or(0);
            let operations = each(time.operations).unwrap_or(0);
            let (predicted, by) = self.time(bytes, operations);
            rows.push(RooflineRow {
                ops: vec![Cow::Owned(time.label.clone())],
                bytes,
                operations,
                predicted,
                by,
                measured: each(time.total_ns).map(Duration::from_nanos),
            });
        }
        Roofline { rows }
    }
}

impl ExplainedKernel {
    /// The least time that it takes below a roof, and what takes it.
    #[must_use]
    pub fn predicted(&self, roof: &Roof) -> (Duration, Bottleneck) {
        roof.time(self.bytes_read() + self.bytes_written(), self.operations())
    }

    /// What its dispatches took on average, in a profile ([`Device::profile`]); `None` if one of them is not in it.
    #[must_use]
    pub fn measured(&self, times: &[KernelTime]) -> Option<Duration> {
        let mut all = Duration::ZERO;
        let mut labels = self.labels().peekable();
        labels.peek()?;
        for label in labels {
            let time = times.iter().find(|time| time.label == label)?;
            let reliable = time.count.saturating_sub(time.unreliable);
            all += Duration::from_nanos(time.total_ns.checked_div(reliable)?);
        }
        Some(all)
    }
}

/// A table of kernels: see [`Explanation::roofline`] and [`Roof::of_profile`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Roofline {
    /// A row for each kernel, in order.
    pub rows: Vec<RooflineRow>,
}

/// A kernel below the roof.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RooflineRow {
    /// The operations that it computes; of a profile, its label.
    pub ops: Vec<Cow<'static, str>>,
    /// Bytes that it reads and writes.
    pub bytes: u64,
    /// Arithmetic operations.
    pub operations: u64,
    /// The least time that it takes.
    pub predicted: Duration,
    /// What takes it.
    pub by: Bottleneck,
    /// What it took, if that was measured.
    pub measured: Option<Duration>,
}

impl RooflineRow {
    /// Which part of the measured time is the least that it takes: 1 is at the roof. `None` if it was not measured.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let measured = self.measured?.as_secs_f64();
        (measured > 0.0).then(|| self.predicted.as_secs_f64() / measured)
    }
}

impl Roofline {
    /// The least time that all kernels take, one behind the other.
    #[must_use]
    pub fn predicted(&self) -> Duration {
        self.rows.iter().map(|row| row.predicted).sum()
    }

    /// What all kernels took; `None` if one was not measured.
    #[must_use]
    pub fn measured(&self) -> Option<Duration> {
        self.rows.iter().map(|row| row.measured).sum()
    }
}

impl fmt::Display for Roofline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        writeln!(
            f,
            "{:>12} {:>14} {:>12} {:>12} {:>6}  limited by   kernel",
            "bytes", "operations", "predicted µs", "measured µs", "share"
        )?;
        for row in &self.rows {
            let measured = match row.measured {
                Some(time) => format!("{:.1}", micros(time)),
                None => "-".to_owned(),
            };
            let share = match row.share() {
                Some(share) => format!("{:.0}%", 100.0 * share),
                None => "-".to_owned(),
            };
            let (by, ops) = (row.by.to_string(), row.ops.join(", "));
            writeln!(
                f,
                "{:>12} {:>14} {:>12.1} {measured:>12} {share:>6}  {by:<12} {ops}",
                row.bytes,
                row.operations,
                micros(row.predicted)
            )?;
        }
        Ok(())
    }
}

impl Explanation {
    /// Each kernel below a roof, with what it took in a profile of a run ([`Device::profile`](crate::Device::profile); none, or an empty one, if
    /// there is none).
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_tensor::{Bottleneck, DType, Device, DeviceOptions, Roof, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let x = Tensor::ones(&device, [256, 256], DType::F32)?;
    /// let y = x.matmul(&x)?.relu()?;
    /// let explained = y.explain()?;
    /// let roof = Roof { bytes_per_second: 1e11, operations_per_second: 1e12, dispatch: Duration::from_micros(3) };
    /// let roofline = explained.roofline(&roof, &[]);
    /// let product = &roofline.rows[0];
    /// // Each element of the result takes a relu too.
    /// assert_eq!(product.operations, 2 * 256 * 256 * 256 + 256 * 256);
    /// assert_eq!(product.by, Bottleneck::Arithmetic);
    /// println!("{roofline}");
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    #[must_use]
    pub fn roofline(&self, roof: &Roof, times: &[KernelTime]) -> Roofline {
        let row = |kernel: &ExplainedKernel| {
            let (predicted, by) = kernel.predicted(roof);
            RooflineRow {
                ops: kernel.ops().iter().map(|op| Cow::Borrowed(*op)).collect(),
                bytes: kernel.bytes_read() + kernel.bytes_written(),
                operations: kernel.operations(),
                predicted,
                by,
                measured: kernel.measured(times),
            }
        };
        Roofline {
            rows: self.kernels().iter().map(row).collect(),
        }
    }
}

/// Elements of the tensor that is copied, and extent of the matrices, on a GPU and on a processor.
#[cfg(not(target_arch = "wasm32"))]
const SIZES: [(usize, usize); 2] = [(1 << 25, 2048), (1 << 20, 256)];
/// Runs of which the fastest counts.
#[cfg(not(target_arch = "wasm32"))]
const RUNS: usize = 5;

#[cfg(not(target_arch = "wasm32"))]
impl Device {
    /// Measures how fast this device copies a large tensor and multiplies large f32 matrices, and what an addition of one
    /// element takes: by the device's clock where it has one, else by the host's, waiting included. It takes a moment.
    ///
    /// # Errors
    /// If the device has no memory for it, or is lost.
    pub fn measure_roof_blocking(&self) -> Result<Roof, Error> {
        let is_software = self.adapter().kind == ziggurat_device::AdapterKind::Software;
        let [gpu, processor] = SIZES;
        let (elements, extent) = if is_software { processor } else { gpu };
        let large = Tensor::ones(self, [elements], DType::F32)?;
        let matrix = Tensor::ones(self, [extent, extent], DType::F32)?;
        let one = Tensor::ones(self, [1], DType::F32)?;
        let copied = self.fastest(|| large.add(1.0))?;
        let multiplied = self.fastest(|| matrix.matmul(&matrix))?;
        let dispatch = self.fastest(|| one.add(1.0))?;
        let rate = |amount: f64, time: Duration| amount / time.as_secs_f64().max(1e-9);
        Ok(Roof {
            bytes_per_second: rate(8.0 * elements as f64, copied),
            operations_per_second: rate(2.0 * (extent as f64).powi(3), multiplied),
            dispatch,
        })
    }

    /// The least time of some runs, after one that compiles.
    fn fastest(&self, run: impl Fn() -> Result<Tensor, Error>) -> Result<Duration, Error> {
        let fail = |error| Error::from_device(OP, error);
        let mut least = Duration::MAX;
        run()?.eval_blocking()?;
        let device = self.executor().device();
        let mark = || device.record(|recorder| recorder.mark_time()).map_err(fail);
        for _ in 0..RUNS {
            self.synchronize_blocking()?;
            let _none = device.block_on(device.take_marks()).map_err(fail)?;
            let start = std::time::Instant::now();
            mark()?;
            // Recorded between the marks, and waited for behind them.
            drop(run()?.eval());
            mark()?;
            let marks = device.block_on(device.take_marks()).map_err(fail)?;
            self.synchronize_blocking()?;
            let host = start.elapsed();
            let time = match marks[..] {
                [from, to] if to > from => Duration::from_nanos(to - from),
                _ => host,
            };
            least = least.min(time);
        }
        Ok(least)
    }
}
