//! Values back on the host.
//!
//! A read is recorded when the method is called and resolves when the device has done everything before it; the future
//! may be dropped, joined with others, or awaited on any runtime. The `_blocking` forms wait in place and do not exist on
//! `wasm32`, where waiting is impossible.
//!
//! Invariant: a dtype is never converted silently; [`Tensor::to_f64_vec`] is the one reader that takes any.

use std::future::Future;

use ziggurat_core::{Element, decode};

use crate::display::{self, Printed};
use crate::once::once;
use crate::{Error, Tensor};

/// The most vectors without elements that a read gives.
const MOST_EMPTY_ROWS: usize = 1 << 20;

/// Vectors nested as deep as the rank, outermost axis first.
pub type Nested<T> = Vec<Vec<Vec<T>>>;

impl Tensor {
    /// The values in row-major order.
    ///
    /// ```
    /// use ziggurat_tensor::{Device, DeviceOptions, Tensor};
    ///
    /// # async fn run() -> Result<(), ziggurat_tensor::Error> {
    /// let device = Device::open(DeviceOptions::default()).await?;
    /// let a = Tensor::from_slice(&device, &[1.0f32, -2.0], [2])?;
    /// assert_eq!(a.abs()?.to_vec::<f32>().await?, [1.0, 2.0]);
    /// assert!(a.to_vec::<i32>().await.is_err_and(|error| error.is_dtype()));
    /// # Ok(()) }
    /// # futures::executor::block_on(run())?;
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `T` is not the tensor's dtype, or something recorded before failed on the device.
    #[doc(alias = "tolist", alias = "numpy")]
    pub fn to_vec<T: Element>(
        &self,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + Send + use<T> {
        let bytes = self.typed::<T>("to_vec").map(|()| self.to_bytes());
        once(async move { Ok(T::read_bytes(&bytes?.await?)) })
    }

    /// The values of a rank-1 tensor.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`], or if the rank is not 1.
    pub fn to_vec1<T: Element>(
        &self,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + Send + use<T> {
        let values = self.of_rank("to_vec1", 1).map(|_| self.to_vec());
        once(async move { values?.await })
    }

    /// The rows of a rank-2 tensor.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`], or if the rank is not 2, or there are no elements in more than 2^20 rows.
    pub fn to_vec2<T: Element>(
        &self,
    ) -> impl Future<Output = Result<Vec<Vec<T>>, Error>> + Send + use<T> {
        let values = self.nested("to_vec2", 2).map(|dims| (self.to_vec(), dims));
        once(async move {
            let (values, dims) = values?;
            let flat = values.await?;
            Ok(rows(&flat, extent(&dims, 0), extent(&dims, 1)))
        })
    }

    /// The matrices of a rank-3 tensor.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`], or if the rank is not 3, or there are no elements in more than 2^20 rows.
    pub fn to_vec3<T: Element>(
        &self,
    ) -> impl Future<Output = Result<Nested<T>, Error>> + Send + use<T> {
        let values = self.nested("to_vec3", 3).map(|dims| (self.to_vec(), dims));
        once(async move {
            let (values, dims) = values?;
            let flat: Vec<T> = values.await?;
            let (outer, middle, inner) = (extent(&dims, 0), extent(&dims, 1), extent(&dims, 2));
            let matrix = middle * inner;
            let matrices =
                (0..outer).map(|i| rows(flat.get(i * matrix..).unwrap_or(&[]), middle, inner));
            Ok(matrices.collect())
        })
    }

    /// The value of a tensor with one element.
    ///
    /// # Errors
    /// As [`Tensor::to_vec`], or if there is not exactly one element.
    pub fn item<T: Element>(&self) -> impl Future<Output = Result<T, Error>> + Send + use<T> {
        let one = (self.len() == 1)
            .then(|| self.to_vec::<T>())
            .ok_or_else(|| {
                Error::shape(
                    "item",
                    format!(
                        "the tensor must have one element: shape is {}",
                        self.shape()
                    ),
                )
            });
        once(async move {
            let values = one?.await?;
            values
                .first()
                .copied()
                .ok_or_else(|| Error::internal("item", "the device returned no element"))
        })
    }

    /// The values of any dtype as f64, in row-major order; false is 0, true is 1.
    ///
    /// # Errors
    /// If something recorded before failed on the device.
    pub fn to_f64_vec(&self) -> impl Future<Output = Result<Vec<f64>, Error>> + Send + use<> {
        let (dtype, bytes) = (self.dtype(), self.to_bytes());
        once(async move { Ok(decode(dtype, &bytes.await?)) })
    }

    /// The values as little-endian bytes in row-major order; a bool is one byte.
    ///
    /// # Errors
    /// If something recorded before failed on the device.
    pub fn to_bytes(&self) -> impl Future<Output = Result<Vec<u8>, Error>> + Send + use<> {
        let fail = |error| Error::from_kernel("read", error);
        let read = self.stored().and_then(|view| {
            let (executor, checks) = (self.device().executor(), self.device().index_checks());
            let download = executor.download(view).map_err(fail)?;
            Ok((download, checks.of_views(executor, &[view])))
        });
        once(async move {
            let (download, indices) = read?;
            let bytes = download.await.map_err(fail)?;
            indices.await?;
            Ok(bytes)
        })
    }

    /// The values as text; only what is shown is read. See [`Printed`].
    ///
    /// # Errors
    /// If something recorded before failed on the device.
    pub fn display(&self) -> impl Future<Output = Result<Printed, Error>> + Send + use<> {
        let (shape, dtype) = (*self.shape(), self.dtype());
        let corner = self.corner().map(|pieces| {
            let views: Vec<&Self> = pieces.iter().map(|piece| &piece.tensor).collect();
            let reads = read_many(&views);
            (
                pieces
                    .into_iter()
                    .map(|piece| piece.places)
                    .collect::<Vec<_>>(),
                reads,
            )
        });
        once(async move {
            let (places, reads) = corner?;
            let bytes = reads.await?;
            let mut values = vec![0.0; places.iter().map(Vec::len).sum()];
            for (places, bytes) in places.iter().zip(&bytes) {
                for (&place, value) in places.iter().zip(decode(dtype, bytes)) {
                    if let Some(slot) = values.get_mut(place) {
                        *slot = value;
                    }
                }
            }
            Ok(display::print(shape.dims(), dtype, &values))
        })
    }

    /// The parts of the tensor that its text shows.
    fn corner(&self) -> Result<Vec<Piece>, Error> {
        if self.is_empty() {
            // However long its axes are.
            let (tensor, places) = (self.clone(), Vec::new());
            return Ok(vec![Piece { tensor, places }]);
        }
        let summarised = display::is_summarised(self.dims());
        let mut pieces = vec![Piece {
            tensor: self.clone(),
            places: vec![0],
        }];
        for (axis, &extent) in self.dims().iter().enumerate() {
            let ranges = display::corner_pieces(extent, summarised);
            let shown: usize = ranges.iter().map(|range| range.1).sum();
            let mut next = Vec::with_capacity(pieces.len() * ranges.len());
            for piece in &pieces {
                let mut before = 0;
                for &(start, len) in &ranges {
                    let along = before..before + len;
                    let places = piece
                        .places
                        .iter()
                        .flat_map(|&place| along.clone().map(move |i| place * shown + i));
                    let tensor = match len == extent {
                        true => piece.tensor.clone(),
                        false => piece.tensor.narrow(axis as isize, start, len)?,
                    };
                    next.push(Piece {
                        tensor,
                        places: places.collect(),
                    });
                    before += len;
                }
            }
            pieces = next;
        }
        Ok(pieces)
    }

    fn typed<T: Element>(&self, op: &'static str) -> Result<(), Error> {
        if self.dtype() == T::DTYPE {
            return Ok(());
        }
        Err(Error::wrong_dtype(op, T::DTYPE, self.dtype()))
    }

    /// As [`Tensor::of_rank`], with an error if there would be more rows than elements could be read: rows without elements
    /// take memory too.
    fn nested(&self, op: &'static str, rank: usize) -> Result<Vec<usize>, Error> {
        let dims = self.of_rank(op, rank)?;
        let rows = (dims.iter().take(rank - 1))
            .try_fold(1_usize, |rows, &dim| rows.checked_mul(dim.max(1)));
        if self.is_empty() && rows.is_none_or(|rows| rows > MOST_EMPTY_ROWS) {
            let rule = format!("at most {MOST_EMPTY_ROWS} rows may be without elements");
            return Err(Error::shape(
                op,
                format!("{rule}: shape is {}", self.shape()),
            ));
        }
        Ok(dims)
    }

    fn of_rank(&self, op: &'static str, rank: usize) -> Result<Vec<usize>, Error> {
        if self.rank() == rank {
            return Ok(self.dims().to_vec());
        }
        Err(Error::shape(
            op,
            format!("the rank must be {rank}: shape is {}", self.shape()),
        ))
    }
}

/// A view of a part, and where its elements stand in the corner.
struct Piece {
    tensor: Tensor,
    places: Vec<usize>,
}

/// Reads several tensors with one submission; the bytes of each are as [`Tensor::to_bytes`] gives them.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Element, Tensor, read_many};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let a = Tensor::from_slice(&device, &[1.0f32], [1])?;
/// let b = Tensor::from_slice(&device, &[7u8, 8], [2])?;
/// let bytes = futures::executor::block_on(read_many(&[&a, &b]))?;
/// assert_eq!(f32::read_bytes(&bytes[0]), [1.0]);
/// assert_eq!(bytes[1], [7, 8]);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
///
/// # Errors
/// If the tensors are not on one device, or something recorded before failed on it.
pub fn read_many(
    tensors: &[&Tensor],
) -> impl Future<Output = Result<Vec<Vec<u8>>, Error>> + Send + use<> {
    let read = tensors.first().map(|first| {
        let views = views_of(first, tensors)?;
        let (executor, checks) = (first.device().executor(), first.device().index_checks());
        let download = executor
            .download_many(&views)
            .map_err(|error| Error::from_kernel("read_many", error))?;
        Ok((download, checks.of_views(executor, &views)))
    });
    once(async move {
        let Some((download, indices)) = read.transpose()? else {
            return Ok(Vec::new());
        };
        let bytes = download
            .await
            .map_err(|error| Error::from_kernel("read_many", error))?;
        indices.await?;
        Ok(bytes)
    })
}

fn views_of<'a>(
    first: &Tensor,
    tensors: &[&'a Tensor],
) -> Result<Vec<&'a ziggurat_kernels::View>, Error> {
    let mut views = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        first.same_device("read_many", tensor)?;
    }
    Tensor::evaluate_all(tensors)?;
    for tensor in tensors {
        views.push(tensor.stored()?);
    }
    Ok(views)
}

fn extent(dims: &[usize], axis: usize) -> usize {
    dims.get(axis).copied().unwrap_or(0)
}

fn rows<T: Copy>(flat: &[T], count: usize, len: usize) -> Vec<Vec<T>> {
    (0..count)
        .map(|i| flat.get(i * len..(i + 1) * len).unwrap_or(&[]).to_vec())
        .collect()
}

/// The forms that wait in place.
#[cfg(not(target_arch = "wasm32"))]
mod blocking {
    use ziggurat_device::block_on;

    use super::{Element, Error, Nested, Printed, Tensor, read_many};

    macro_rules! blocking {
        ($($(#[$doc:meta])* $name:ident, $waits_for:ident -> $output:ty;)*) => {
            impl Tensor {
                $($(#[$doc])*
                ///
                /// # Errors
                /// As the form that does not block.
                pub fn $name<T: Element>(&self) -> Result<$output, Error> {
                    self.device().block_on(self.$waits_for::<T>())
                })*
            }
        };
    }

    blocking! {
        /// [`Tensor::to_vec`], waiting in place.
        to_vec_blocking, to_vec -> Vec<T>;
        /// [`Tensor::to_vec1`], waiting in place.
        to_vec1_blocking, to_vec1 -> Vec<T>;
        /// [`Tensor::to_vec2`], waiting in place.
        to_vec2_blocking, to_vec2 -> Vec<Vec<T>>;
        /// [`Tensor::to_vec3`], waiting in place.
        to_vec3_blocking, to_vec3 -> Nested<T>;
        /// [`Tensor::item`], waiting in place.
        item_blocking, item -> T;
    }

    impl Tensor {
        /// [`Tensor::to_f64_vec`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn to_f64_vec_blocking(&self) -> Result<Vec<f64>, Error> {
            self.device().block_on(self.to_f64_vec())
        }

        /// [`Tensor::to_bytes`], waiting in place.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn to_bytes_blocking(&self) -> Result<Vec<u8>, Error> {
            self.device().block_on(self.to_bytes())
        }

        /// [`Tensor::display`], waiting in place; what `{}` prints.
        ///
        /// # Errors
        /// As the form that does not block.
        pub fn display_blocking(&self) -> Result<Printed, Error> {
            self.device().block_on(self.display())
        }
    }

    /// [`read_many`], waiting in place.
    ///
    /// # Errors
    /// As the form that does not block.
    pub fn read_many_blocking(tensors: &[&Tensor]) -> Result<Vec<Vec<u8>>, Error> {
        let reads = read_many(tensors);
        match tensors.first() {
            Some(first) => first.device().block_on(reads),
            None => block_on(reads),
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub use blocking::read_many_blocking;
