//! Random numbers, from a [`Generator`] that says where in the sequence the next ones begin.
//!
//! The same generator gives the same words, uniform numbers and integers on every device; normal numbers agree within a few
//! units in the last place.

use ziggurat_core::DType;
use ziggurat_kernels::{Composite, Random, RandomState};

use super::composite::check_numbers;
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// A place in a sequence of random numbers. Each use moves it on, so that no number is given out twice.
///
/// Philox4x32-10 with the seed as its key: the sequence depends on nothing else.
///
/// ```
/// use ziggurat_tensor::{DType, Device, DeviceOptions, Generator, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let mut generator = Generator::new(42);
/// let a = Tensor::rand(&device, [3], DType::F32, &mut generator)?;
/// let b = Tensor::rand(&device, [3], DType::F32, &mut generator)?;
/// let again = Tensor::rand(&device, [3], DType::F32, &mut Generator::new(42))?;
/// assert_eq!(a.to_vec_blocking::<f32>()?, again.to_vec_blocking::<f32>()?);
/// assert_ne!(a.to_vec_blocking::<f32>()?, b.to_vec_blocking::<f32>()?);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    state: RandomState,
}

impl Generator {
    /// The beginning of a seed's sequence.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self::with_stream(seed, 0)
    }

    /// The beginning of one of a seed's independent sequences.
    #[must_use]
    pub const fn with_stream(seed: u64, stream: u64) -> Self {
        Self {
            state: RandomState {
                seed,
                counter: 0,
                stream,
            },
        }
    }

    /// Where the next numbers begin, to be continued with [`Generator::set_counter`].
    #[must_use]
    pub const fn counter(&self) -> u64 {
        self.state.counter
    }

    /// Continues at a place that [`Generator::counter`] told.
    pub const fn set_counter(&mut self, counter: u64) {
        self.state.counter = counter;
    }

    /// The place for the next `len` numbers, which are then used up.
    fn next(&mut self, len: usize) -> RandomState {
        let state = self.state;
        self.state.counter = state.counter.wrapping_add(len.div_ceil(4) as u64);
        state
    }
}

impl Tensor {
    /// Uniform floats from 0 up to but not including 1.
    ///
    /// # Errors
    /// If the dtype is no float, or the device has no memory.
    pub fn rand(
        device: &Device,
        shape: impl AsRef<[usize]>,
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        Self::drawn(
            "rand",
            device,
            Random::Uniform,
            shape.as_ref(),
            dtype,
            generator,
        )
    }

    /// Floats of the normal distribution with mean 0 and variance 1.
    ///
    /// # Errors
    /// If the dtype is no float, or the device has no memory.
    pub fn randn(
        device: &Device,
        shape: impl AsRef<[usize]>,
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        Self::drawn(
            "randn",
            device,
            Random::Normal,
            shape.as_ref(),
            dtype,
            generator,
        )
    }

    /// Uniform floats from `low` up to but not including `high`.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Generator, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::uniform(&device, [100], -1.0, 1.0, DType::F16, &mut Generator::new(1))?;
    /// assert!(a.to_f64_vec_blocking()?.iter().all(|x| (-1.0..1.0).contains(x)));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the bounds are not finite and in order, the dtype is no float, or the device has no memory.
    #[doc(alias = "uniform_")]
    pub fn uniform(
        device: &Device,
        shape: impl AsRef<[usize]>,
        low: f32,
        high: f32,
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        let op = "uniform";
        let shape = new_shape(op, shape.as_ref())?;
        let state = generator.next(shape.len());
        Self::produce(device, op, shape, dtype, |executor, out| {
            executor.uniform(low, high, state, out)
        })
    }

    /// Floats of the normal distribution with this mean and standard deviation.
    ///
    /// # Errors
    /// If mean or deviation is not finite, the deviation is negative, the dtype is no float, or the device has no memory.
    #[doc(alias = "normal_")]
    pub fn normal(
        device: &Device,
        shape: impl AsRef<[usize]>,
        mean: f32,
        std: f32,
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        let op = "normal";
        let shape = new_shape(op, shape.as_ref())?;
        let state = generator.next(shape.len());
        Self::produce(device, op, shape, dtype, |executor, out| {
            executor.normal(mean, std, state, out)
        })
    }

    /// Integers (i32) from `low` up to but not including `high`. Their probabilities differ by at most
    /// `(high - low) / 2^32` of each.
    ///
    /// # Errors
    /// If the range is empty, or the device has no memory.
    pub fn randint(
        device: &Device,
        shape: impl AsRef<[usize]>,
        low: i32,
        high: i32,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        let op = "randint";
        let count = u32::try_from(i64::from(high) - i64::from(low))
            .ok()
            .filter(|&count| count > 0);
        let Some(count) = count else {
            let detail = format!("low must be less than high: {low} and {high} given");
            return Err(Error::argument(op, detail));
        };
        let kind = Random::Integer {
            low: low.cast_unsigned(),
            count,
        };
        Self::drawn(op, device, kind, shape.as_ref(), DType::I32, generator)
    }

    /// The numbers from 0 to `n - 1` (i32) in a random order: that of as many random words of 32 bits.
    ///
    /// # Errors
    /// If the device has no memory.
    pub fn randperm(device: &Device, n: usize, generator: &mut Generator) -> Result<Self, Error> {
        let words = Self::drawn(
            "randperm",
            device,
            Random::Bits,
            &[n],
            DType::U32,
            generator,
        )?;
        words.argsort(0, false)
    }

    /// 1 with the probability that each element says, else 0, in the same dtype. What is above 1 counts as 1, what is
    /// negative or NaN as 0: to find one would have to wait for the device.
    ///
    /// # Errors
    /// If the dtype is no float, or the device has no memory.
    pub fn bernoulli(&self, generator: &mut Generator) -> Result<Self, Error> {
        let op = "bernoulli";
        self.only_float(op)?;
        let (view, state) = (self.stored()?, generator.next(self.len()));
        let (shape, dtype) = (*self.shape(), self.dtype());
        Self::produce(self.device(), op, shape, dtype, |executor, out| {
            executor.bernoulli(view, state, out)
        })
    }

    /// Each element 0 with probability `p`, else divided by `1 - p`.
    ///
    /// ```
    /// use ziggurat_tensor::{DType, Device, DeviceOptions, Generator, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let a = Tensor::ones(&device, [1000], DType::F32)?;
    /// let kept = a.dropout(0.5, &mut Generator::new(1))?.to_vec_blocking::<f32>()?;
    /// assert!(kept.iter().all(|&x| x == 0.0 || x == 2.0));
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is no float, or `p` is not from 0 to 1.
    pub fn dropout(&self, p: f32, generator: &mut Generator) -> Result<Self, Error> {
        let op = "dropout";
        self.only_float(op)?;
        let numbers = [f64::from(p)];
        check_numbers(op, Composite::Dropout, &numbers)?;
        let uniform = Self::drawn(
            op,
            self.device(),
            Random::Uniform,
            self.dims(),
            DType::F32,
            generator,
        )?;
        self.composed_float(op, Composite::Dropout, &[&uniform], &numbers)
    }

    /// `n` indices (i32) per row of the last axis, each drawn with a probability in proportion to the weights, which must
    /// not be negative. Without replacement no index occurs twice in a row, and those of weight 0 come last. From a row of
    /// weights that are all 0, or of which one is negative, infinite or NaN, some indices are drawn, each one of the row's.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Generator, Tensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// let weights = Tensor::from_slice(&device, &[0.0f32, 1.0, 0.0], [3])?;
    /// let drawn = weights.multinomial(4, true, &mut Generator::new(7))?;
    /// assert_eq!(drawn.to_vec_blocking::<i32>()?, [1; 4]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is no float, the rank is 0, there are no weights, or without replacement fewer than `n`.
    pub fn multinomial(
        &self,
        n: usize,
        replacement: bool,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        let op = "multinomial";
        self.only_float(op)?;
        let Some((&weights, rows)) = self.dims().split_last() else {
            return Err(Error::shape(
                op,
                "the weights must have an axis: their rank is 0",
            ));
        };
        if weights == 0 || (!replacement && n > weights) {
            let detail = format!(
                "{n} indices need as many weights: their shape is {}",
                self.shape()
            );
            return Err(Error::shape(op, detail));
        }
        let shape = new_shape(op, &[rows, &[n]].concat())?;
        let view = self.stored()?;
        let state = generator.next(if replacement { shape.len() } else { self.len() });
        Self::produce(self.device(), op, shape, DType::I32, |executor, out| {
            executor.multinomial(view, replacement, state, out)
        })
    }

    fn drawn(
        op: &'static str,
        device: &Device,
        kind: Random,
        dims: &[usize],
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self, Error> {
        let shape = new_shape(op, dims)?;
        if !kind.accepts(dtype) {
            return Err(Error::dtype(
                op,
                format!("the dtype must be a float: it is {dtype}"),
            ));
        }
        let state = generator.next(shape.len());
        Self::produce(device, op, shape, dtype, |executor, out| {
            executor.random(kind, state, out)
        })
    }

    fn only_float(&self, op: &'static str) -> Result<(), Error> {
        if self.dtype().is_float() {
            return Ok(());
        }
        Err(Error::dtype(
            op,
            format!("the dtype must be a float: it is {}", self.dtype()),
        ))
    }
}
