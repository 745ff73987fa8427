//! Selections whose size depends on the values, and counts of values.
//!
//! How many there are is known on the device only, and read back once: these are futures, with `_blocking` forms on native
//! targets. Places of what is selected come from a stable sort by the condition, so they are in row-major order.

use std::future::Future;

use ziggurat_core::{DType, broadcast_shapes};

use crate::tensor::new_shape;
use crate::{Error, Tensor};

/// The different values of a tensor; see [`Tensor::unique`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// Each value once, ascending; every NaN is a value of its own.
    pub values: Tensor,
    /// For each element which of the values it is (i32), in the tensor's shape.
    pub inverse: Tensor,
    /// How often each value occurs (i32).
    pub counts: Tensor,
}

/// Places of true elements in front, and how many there are.
struct Chosen {
    order: Tensor,
    count: Tensor,
}

impl Chosen {
    fn of(op: &'static str, mask: &Tensor) -> Result<Self, Error> {
        let flat = mask.converted(op, DType::Bool)?.reshape_to([mask.len()])?;
        let count = if flat.is_empty() {
            Tensor::zeros(flat.device(), [], DType::I32)?
        } else {
            flat.sum_all()?
        };
        Ok(Self {
            order: flat.argsort(0, true)?,
            count,
        })
    }

    /// Row-major places (i32).
    async fn places(self) -> Result<Tensor, Error> {
        let count = self.count.item::<i32>().await?;
        self.order.narrow(0, 0, usize::try_from(count).unwrap_or(0))
    }
}

impl Tensor {
    /// The places of all elements that are not 0, as `[count, rank]` (i32), in row-major order.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[0.0f32, 2.0, f32::NAN, 0.0], [2, 2])?;
    /// assert_eq!(a.nonzero_blocking()?.to_vec2_blocking::<i32>()?, [[0, 1], [1, 0]]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory, or something recorded before failed.
    pub fn nonzero(&self) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        let (chosen, dims) = (Chosen::of("nonzero", self), self.dims().to_vec());
        async move {
            let mut rest = chosen?.places().await?;
            let count = rest.len();
            if dims.is_empty() {
                return Self::zeros(rest.device(), [count, 0], DType::I32);
            }
            let mut parts = Vec::with_capacity(dims.len());
            for &dim in dims.iter().skip(1).rev() {
                let step = i32::try_from(dim.max(1)).unwrap_or(i32::MAX);
                let outer = rest.div_trunc(step)?;
                parts.push(rest.sub(&outer.mul(step)?)?);
                rest = outer;
            }
            parts.push(rest);
            parts.reverse();
            Self::stack(&parts.iter().collect::<Vec<_>>(), -1)
        }
    }

    /// The elements where `mask` (bool) is true, as a vector in row-major order; both broadcast.
    ///
    /// # Errors
    /// If the mask is not bool or the shapes do not broadcast.
    pub fn masked_select(
        &self,
        mask: &Self,
    ) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        let prepared = self.masked(mask);
        async move {
            let (source, chosen) = prepared?;
            source.take(&chosen.places().await?)
        }
    }

    fn masked(&self, mask: &Self) -> Result<(Self, Chosen), Error> {
        let op = "masked_select";
        self.same_device(op, mask)?;
        if !mask.dtype().is_bool() {
            let detail = format!("the mask must be bool: it is {}", mask.dtype());
            return Err(Error::dtype(op, detail));
        }
        let shape = broadcast_shapes(&[*self.shape(), *mask.shape()])
            .map_err(|error| Error::from_shape(op, error))?;
        let chosen = Chosen::of(op, &mask.broadcast_to(shape.dims())?)?;
        Ok((self.broadcast_to(shape.dims())?, chosen))
    }

    /// The different values of all elements, which of them each element is, and how often each occurs.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[3i32, 1, 3], [3])?;
    /// let unique = a.unique_blocking()?;
    /// assert_eq!(unique.values.to_vec_blocking::<i32>()?, [1, 3]);
    /// assert_eq!(unique.inverse.to_vec_blocking::<i32>()?, [1, 0, 1]);
    /// assert_eq!(unique.counts.to_vec_blocking::<i32>()?, [1, 2]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device has no memory, or something recorded before failed.
    pub fn unique(&self) -> impl Future<Output = Result<Unique, Error>> + Send + use<> {
        let prepared = self.grouped();
        async move {
            let (sorted, inverse, chosen) = prepared?;
            let starts = chosen.places().await?;
            let device = starts.device().clone();
            let all = Self::full(&device, [1], sorted.len() as f64, DType::I32)?;
            let counts = if starts.is_empty() {
                starts.clone()
            } else {
                let ends = Self::concat(&[&starts.slice(0, 1..)?, &all], 0)?;
                ends.sub(&starts)?
            };
            let values = if starts.is_empty() {
                sorted
            } else {
                sorted.take(&starts)?
            };
            Ok(Unique {
                values,
                inverse,
                counts,
            })
        }
    }

    /// The sorted elements, which group of equals each element is in, and where groups begin.
    fn grouped(&self) -> Result<(Self, Self, Chosen), Error> {
        let op = "unique";
        let flat = self.reshape_to([self.len()])?;
        let (sorted, at) = flat.sort(0, false)?;
        let first = Self::ones(self.device(), [self.len().min(1)], DType::Bool)?;
        let starts = if self.len() > 1 {
            let changes = sorted.slice(0, 1..)?.ne(&sorted.slice(0, (0, -1))?)?;
            Self::concat(&[&first, &changes], 0)?
        } else {
            first
        };
        let groups = starts.cumsum(0)?.sub(1)?;
        let inverse = Self::zeros(self.device(), [self.len()], DType::I32)?
            .scatter(0, &at, &groups)?
            .reshape_to(self.dims())?;
        Ok((sorted, inverse, Chosen::of(op, &starts)?))
    }

    /// How often each of 0, 1, 2, … occurs in a vector of integers (i32), up to its greatest element but at least
    /// `min_length` of them; with weights, their sums in the weights' dtype.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1i32, 3, 1], [3])?;
    /// assert_eq!(a.bincount_blocking(None, 0)?.to_vec_blocking::<i32>()?, [0, 2, 0, 1]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this is no vector of integers, one is negative, or the weights are not as many.
    pub fn bincount(
        &self,
        weights: Option<&Self>,
        min_length: usize,
    ) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        let prepared = self.counted(weights);
        async move {
            let op = "bincount";
            let (places, weights) = prepared?;
            let mut len = min_length;
            if !places.is_empty() {
                let bounds = Self::stack(&[&places.min_all()?, &places.max_all()?], 0)?;
                let bounds = bounds.to_vec::<i32>().await?;
                let (least, most) = (bounds.first().copied(), bounds.get(1).copied());
                if least.is_some_and(|least| least < 0) {
                    let detail = format!(
                        "the elements must not be negative: one is {}",
                        least.unwrap_or(0)
                    );
                    return Err(Error::argument(op, detail));
                }
                len = len.max(
                    most.and_then(|most| usize::try_from(most).ok())
                        .map_or(0, |most| most + 1),
                );
            }
            new_shape(op, &[len])?;
            let none = Self::zeros(places.device(), [len], weights.dtype())?;
            if places.is_empty() {
                return Ok(none);
            }
            none.scatter_add(0, &places, &weights)
        }
    }

    fn counted(&self, weights: Option<&Self>) -> Result<(Self, Self), Error> {
        let op = "bincount";
        if self.rank() != 1 || self.dtype().is_float() || self.dtype().is_bool() {
            let detail = format!(
                "a vector of integers is needed: {} of {} given",
                self.shape(),
                self.dtype()
            );
            return Err(Error::argument(op, detail));
        }
        let weights = match weights {
            Some(weights) if weights.shape() != self.shape() => {
                let detail = format!(
                    "as many weights as elements are needed: {} for {}",
                    weights.shape(),
                    self.shape()
                );
                return Err(Error::shape(op, detail));
            }
            Some(weights) => weights.clone(),
            None => Self::ones(self.device(), [], DType::I32)?.broadcast_to(self.dims())?,
        };
        Ok((self.as_i32(op)?, weights))
    }

    /// How many elements lie in each of `bins` equal parts of `low` to `high` (i32), and the bounds of the parts (f32).
    /// `high` itself belongs to the last part; elements outside and NaN are not counted.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[0.0f32, 0.4, 0.5, 1.0, 7.0], [5])?;
    /// let (counts, edges) = a.histogram(2, 0.0, 1.0)?;
    /// assert_eq!(counts.to_vec_blocking::<i32>()?, [2, 2]);
    /// assert_eq!(edges.to_vec_blocking::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bins, or the bounds are not finite and in order.
    pub fn histogram(&self, bins: usize, low: f32, high: f32) -> Result<(Self, Self), Error> {
        let op = "histogram";
        let count = i32::try_from(bins).ok().filter(|&count| count > 0);
        let (Some(count), true) = (count, low.is_finite() && high.is_finite() && low < high) else {
            let detail = format!(
                "at least one bin and low < high, both finite, are needed: {bins} from {low} to {high} given"
            );
            return Err(Error::argument(op, detail));
        };
        let edges = Self::linspace(self.device(), low, high, bins + 1)?;
        Ok((self.counted_between(op, &edges, count)?, edges))
    }

    /// [`Tensor::histogram`] as PyTorch's `histc` has it: counts alone, in the dtype of `self`; with equal bounds
    /// between the least and the greatest element, or where those are equal from one less to one more.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[1.0f32, 2.0, 1.0, 5.0], [4])?;
    /// assert_eq!(a.histc(4, 0.0, 0.0)?.to_vec_blocking::<f32>()?, [2.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no bins, the bounds are not finite and in order, or the dtype is not a float.
    pub fn histc(&self, bins: usize, low: f32, high: f32) -> Result<Self, Error> {
        let op = "histc";
        self.needs_float(op)?;
        let count = i32::try_from(bins).ok().filter(|&count| count > 0);
        let (Some(count), true) = (count, low.is_finite() && high.is_finite() && low <= high)
        else {
            let detail = format!(
                "at least one bin and low <= high, both finite, are needed: {bins} from {low} to {high} given"
            );
            return Err(Error::argument(op, detail));
        };
        let edges = if low == high {
            let (least, most) = if !self.is_empty() {
                let wide = self.converted(op, DType::F32)?;
                (wide.min_all()?, wide.max_all()?)
            } else {
                let one = Self::full(self.device(), [], low, DType::F32)?;
                (one.clone(), one)
            };
            let same = least.eq(&most)?;
            let least = same.where_(least.sub(1.0)?, &least)?;
            let most = same.where_(most.add(1.0)?, &most)?;
            let shares = Self::linspace(self.device(), 0.0, 1.0, bins + 1)?;
            least.lerp(&most, &shares)?
        } else {
            Self::linspace(self.device(), low, high, bins + 1)?
        };
        self.counted_between(op, &edges, count)?
            .converted(op, self.dtype())
    }

    /// How many elements lie between neighbours of `edges`, f32 in order; the last one belongs to the part before it.
    fn counted_between(&self, op: &'static str, edges: &Self, bins: i32) -> Result<Self, Error> {
        let none = Self::zeros(self.device(), [edges.len().saturating_sub(1)], DType::I32)?;
        if self.is_empty() {
            return Ok(none);
        }
        let values = self.converted(op, DType::F32)?.reshape_to([self.len()])?;
        // By comparison with the bounds, so that no rounding of a quotient moves an element.
        let places = edges
            .searchsorted(&values, true)?
            .sub(1)?
            .minimum(bins - 1)?;
        let (low, high) = (edges.narrow(0, 0, 1)?, edges.narrow(0, edges.len() - 1, 1)?);
        let inside = values.ge(&low)?.logical_and(&values.le(&high)?)?;
        none.scatter_add(0, &places.maximum(0)?, &inside.converted(op, DType::I32)?)
    }

    /// Each position of an axis as often in a row as its element of `repeats` says: a vector of integers, one for all or one
    /// per position. [`Tensor::repeat_interleave`] with one number known on the host needs no answer from the device.
    ///
    /// ```
    /// # use ziggurat_tensor::{doc, Tensor};
    /// # let Some(device) = doc::device() else { return Ok(()) };
    /// let a = Tensor::from_slice(&device, &[7i32, 8, 9], [3])?;
    /// let times = Tensor::from_slice(&device, &[2i32, 0, 1], [3])?;
    /// assert_eq!(a.repeat_interleave_by_blocking(&times, 0)?.to_vec_blocking::<i32>()?, [7, 7, 9]);
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the repeats are no vector of integers, not one nor one per position, or one is negative.
    pub fn repeat_interleave_by(
        &self,
        repeats: &Self,
        axis: isize,
    ) -> impl Future<Output = Result<Self, Error>> + Send + use<> {
        let (source, prepared) = (self.clone(), self.repeat_ends(repeats, axis));
        async move {
            let op = "repeat_interleave_by";
            let Some((ends, least)) = prepared? else {
                return source.narrow(axis, 0, 0);
            };
            let total = ends.narrow(0, ends.len() - 1, 1)?.reshape_to([])?;
            let bounds = Self::stack(&[&least, &total], 0)?.to_vec::<i32>().await?;
            let (least, total) = (bounds.first().copied(), bounds.get(1).copied());
            if let Some(least) = least.filter(|&least| least < 0) {
                let detail = format!("the repeats must not be negative: one is {least}");
                return Err(Error::argument(op, detail));
            }
            let total = Self::arange(source.device(), 0, total.unwrap_or(0), 1, DType::I32)?;
            source.index_select(axis, &ends.searchsorted(&total, true)?)
        }
    }

    /// Where the repeats of each position end, and the least number of repeats; nothing without positions.
    fn repeat_ends(&self, repeats: &Self, axis: isize) -> Result<Option<(Self, Self)>, Error> {
        let op = "repeat_interleave_by";
        self.same_device(op, repeats)?;
        let (_, extent) = self.axis_and_extent(op, axis)?;
        let fits = matches!(repeats.dims(), [1]) || repeats.dims() == [extent];
        if !fits || !repeats.dtype().is_int() {
            let detail = format!(
                "the repeats must be integers, one or {extent} of them: {} of {} given",
                repeats.shape(),
                repeats.dtype()
            );
            return Err(Error::argument(op, detail));
        }
        if extent == 0 {
            return Ok(None);
        }
        let each = repeats.as_i32(op)?.broadcast_to([extent])?;
        Ok(Some((each.cumsum(0)?, each.min_all()?)))
    }
}

/// The forms that wait in place.
#[cfg(not(target_arch = "wasm32"))]
mod blocking {
    use ziggurat_device::block_on;

    use super::{Error, Tensor, Unique};

    impl Tensor {
        /// [`Tensor::nonzero`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn nonzero_blocking(&self) -> Result<Self, Error> {
            block_on(self.nonzero())
        }

        /// [`Tensor::masked_select`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn masked_select_blocking(&self, mask: &Self) -> Result<Self, Error> {
            block_on(self.masked_select(mask))
        }

        /// [`Tensor::unique`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn unique_blocking(&self) -> Result<Unique, Error> {
            block_on(self.unique())
        }

        /// [`Tensor::repeat_interleave_by`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn repeat_interleave_by_blocking(
            &self,
            repeats: &Self,
            axis: isize,
        ) -> Result<Self, Error> {
            block_on(self.repeat_interleave_by(repeats, axis))
        }

        /// [`Tensor::bincount`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn bincount_blocking(
            &self,
            weights: Option<&Self>,
            min_length: usize,
        ) -> Result<Self, Error> {
            block_on(self.bincount(weights, min_length))
        }
    }
}
