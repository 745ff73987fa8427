//! [`QuantizedTensor`]: a matrix whose elements stay quantised on the device.
//!
//! It is no [`Tensor`]: it has no dtype, no views and no arithmetic, only what weights are needed for. Its products, rows and numbers are tensors.
//!
//! Invariants: all parts have the same format and the same extent of a row; each but the last has as many rows as one binding holds.

mod linear;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ziggurat_core::{BlockFormat, DType, QuantizeError, Shape};
use ziggurat_kernels::{BlockShape, Call, CallKind};

pub use linear::QuantizedLinearOptions;

use crate::once::once;
use crate::tensor::new_shape;
use crate::{Device, Error, Tensor};

/// A matrix in blocks of few bits per element that share scales, in one of GGUF's formats.
///
/// Kernels decode blocks where they read them: a product takes the memory, and the time, of the blocks and not of their numbers.
///
/// ```
/// use ziggurat_tensor::{BlockFormat, DType, Device, DeviceOptions, Tensor};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let numbers: Vec<f32> = (0..64).map(|i| i as f32 / 64.0).collect();
/// let weight = Tensor::from_slice(&device, &numbers, [2, 32])?.quantize_blocking(BlockFormat::Q8_0)?;
/// assert_eq!(weight.dims(), [2, 32]);
/// assert_eq!(weight.bytes(), 80);
/// let x = Tensor::ones(&device, [1, 32], DType::F32)?;
/// let y = weight.linear(&x, None)?.to_vec_blocking::<f32>()?;
/// // Each number is off by half a step at most, of 127 up to the greatest of its row.
/// assert!((y[0] - 7.75).abs() < 0.07 && (y[1] - 23.75).abs() < 0.13);
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct QuantizedTensor {
    device: Device,
    format: BlockFormat,
    dims: [usize; 2],
    parts: Arc<[Part]>,
}

/// Rows that one binding holds.
struct Part {
    words: Tensor,
    shape: BlockShape,
    /// The first of them in the matrix.
    first: usize,
}

impl QuantizedTensor {
    /// A matrix of blocks as GGUF files hold them, row by row.
    ///
    /// ```
    /// use ziggurat_tensor::{BlockFormat, DType, Device, DeviceOptions, QuantizedTensor};
    ///
    /// let device = Device::open_blocking(DeviceOptions::default())?;
    /// // A scale of 0.5, and 32 integers.
    /// let mut block = vec![0x00, 0x38];
    /// block.extend(0..32u8);
    /// let rows = QuantizedTensor::from_blocks(&device, &block, [1, 32], BlockFormat::Q8_0)?;
    /// let numbers = rows.dequantize(DType::F32)?.to_vec_blocking::<f32>()?;
    /// assert_eq!(numbers[..4], [0.0, 0.5, 1.0, 1.5]);
    /// let error = QuantizedTensor::from_blocks(&device, &block, [1, 33], BlockFormat::Q8_0).unwrap_err();
    /// assert!(error.is_shape());
    /// # Ok::<(), ziggurat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rank is not 2, a row is no whole blocks, the bytes are not as many as the shape says, a row alone is more than the
    /// device binds, or the device has no memory.
    pub fn from_blocks(
        device: &Device,
        bytes: &[u8],
        shape: impl AsRef<[usize]>,
        format: BlockFormat,
    ) -> Result<Self, Error> {
        const OP: &str = "from_blocks";
        let fail = |error| Error::from_kernel(OP, error);
        let shape = new_shape(OP, shape.as_ref())?;
        let dims = matrix(OP, &shape)?;
        let [rows, cols] = dims;
        let whole = BlockShape::new(format, dims).map_err(fail)?;
        if whole.bytes() != bytes.len() as u64 {
            let (expected, got) = (whole.bytes(), bytes.len());
            let detail = format!("{shape} of {format} must have {expected} bytes: {got} given");
            return Err(Error::shape(OP, detail));
        }
        let row = BlockShape::new(format, [1, cols]).map_err(fail)?;
        let limit = device.caps().max_binding_bytes;
        if row.device_bytes() > limit {
            return Err(Error::too_large(OP, row.device_bytes(), limit));
        }
        // At the end of each of up to four planes there may be some bytes of no use.
        let most = limit.saturating_sub(64) / row.bytes().max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let row_bytes = usize::try_from(row.bytes()).unwrap_or(usize::MAX);
        let part = |first: usize| {
            let len = most.min(rows - first);
            let shape = BlockShape::new(format, [len, cols]).map_err(fail)?;
            let own = first * row_bytes..(first + len) * row_bytes;
            let own = bytes.get(own).unwrap_or_default();
            let blocks = device.executor().upload_blocks(shape, own).map_err(fail)?;
            Ok(Part {
                words: Tensor::from_view(device, blocks.words),
                shape: blocks.shape,
                first,
            })
        };
        let firsts = (0..rows.max(1)).step_by(most);
        Ok(Self {
            device: device.clone(),
            format,
            dims,
            parts: firsts.map(part).collect::<Result<_, Error>>()?,
        })
    }

    /// Rows and elements of a row.
    pub const fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// How elements are stored.
    pub const fn format(&self) -> BlockFormat {
        self.format
    }

    /// The device that holds the blocks.
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes of memory on the device.
    pub fn bytes(&self) -> u64 {
        self.parts
            .iter()
            .map(|part| part.shape.device_bytes())
            .sum()
    }

    /// The numbers of the blocks, as f32, f16 or bf16. In f32 they are those that the format says in every bit.
    ///
    /// # Errors
    /// If the dtype is no float, or the device has no memory.
    pub fn dequantize(&self, dtype: DType) -> Result<Tensor, Error> {
        const OP: &str = "dequantize";
        float(OP, dtype)?;
        let rows = self.parts.iter().map(|part| {
            let shape = new_shape(OP, &part.shape.dims())?;
            let [rows, _] = part.shape.dims();
            let call = Call::new(CallKind::Dequantize {
                blocks: part.shape,
                rows: [0, rows],
            });
            part.words.produce_call(OP, (shape, dtype), call, &[], None)
        });
        joined(rows, 0)
    }

    /// The rows that the indices name, as f32, f16 or bf16: `[N, D]` by `[..]` gives `[.., D]`.
    ///
    /// # Errors
    /// If the indices are no integers, there are no rows, the dtype is no float, or the device has no memory.
    pub fn embedding(&self, indices: &Tensor, dtype: DType) -> Result<Tensor, Error> {
        const OP: &str = "embedding";
        float(OP, dtype)?;
        let [rows, cols] = self.dims;
        let Some(any) = self.parts.first() else {
            return Err(Error::internal(OP, "a quantised tensor without parts"));
        };
        let indices = any.words.indices_of(OP, indices)?;
        let checked = any.words.check_indices(OP, indices.stored()?, &[rows])?;
        let shape = new_shape(OP, &[indices.dims(), &[cols]].concat())?;
        let rows_of = |part: &Part, indices: &Tensor| {
            let call = Call::new(CallKind::QuantizedEmbedding { table: part.shape });
            indices.produce_call(OP, (shape, dtype), call, &[&part.words], None)
        };
        if self.parts.len() == 1 {
            return checked.of(rows_of(any, &indices)?);
        }
        // Positions in the whole matrix: each part is asked for its own, and for any row where it has none.
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let indices = indices.as_i32(OP)?;
        let from_end = indices.add(count(rows))?;
        let positions = indices.lt(0)?.where_(&from_end, &indices)?;
        let positions = positions.clamp(0, count(rows) - 1)?;
        let mut all = rows_of(any, &positions)?;
        for part in self.parts.iter().skip(1) {
            let own = positions.sub(count(part.first))?.clamp(0, i32::MAX)?;
            let here = positions.ge(count(part.first))?.unsqueeze(-1)?;
            all = here.where_(&rows_of(part, &own)?, &all)?;
        }
        checked.of(all)
    }

    /// The blocks as GGUF files hold them, row by row.
    ///
    /// # Errors
    /// If something recorded before failed on the device.
    pub fn to_blocks(&self) -> impl Future<Output = Result<Vec<u8>, Error>> + Send + use<> {
        let parts = self.parts.iter();
        let reads: Vec<_> = parts
            .map(|part| (part.shape, part.words.to_bytes()))
            .collect();
        once(async move {
            let mut all = Vec::new();
            for (shape, read) in reads {
                let planes = read.await?;
                let blocks = shape.from_planes(&planes);
                all.extend(blocks.ok_or_else(|| {
                    Error::internal("to_blocks", "memory is not as large as its blocks")
                })?);
            }
            Ok(all)
        })
    }

    /// [`QuantizedTensor::to_blocks`], waiting for the device.
    ///
    /// # Errors
    /// As [`QuantizedTensor::to_blocks`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn to_blocks_blocking(&self) -> Result<Vec<u8>, Error> {
        self.device.block_on(self.to_blocks())
    }
}

/// Format, extents and device; never reads values.
impl fmt::Debug for QuantizedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuantizedTensor")
            .field("format", &self.format)
            .field("dims", &self.dims)
            .field("device", &self.device.name())
            .finish()
    }
}

impl Tensor {
    /// This matrix in blocks, made on the host as the reference of the format makes them: Q4_0, Q4_1, Q5_0, Q5_1 or Q8_0. Numbers so
    /// small that the scale of their block is less than f16 has become 0.
    ///
    /// # Errors
    /// If the rank is not 2, a row is no whole blocks, the format is only read, an element is no finite number, a scale is beyond
    /// f16, or something recorded before failed on the device.
    pub fn quantize(
        &self,
        format: BlockFormat,
    ) -> impl Future<Output = Result<QuantizedTensor, Error>> + Send + use<> {
        const OP: &str = "quantize";
        let (device, shape) = (self.device().clone(), *self.shape());
        let values = matrix(OP, &shape).and_then(|[_, cols]| {
            if !format.is_written() {
                return Err(refused(QuantizeError::ReadOnly(format)));
            }
            if !cols.is_multiple_of(format.elements()) {
                let elements = format.elements();
                let detail = format!(
                    "rows of {format} are blocks of {elements} elements: the shape is {shape}"
                );
                return Err(Error::shape(OP, detail));
            }
            Ok(self.converted(OP, DType::F32)?.to_vec::<f32>())
        });
        once(async move {
            let blocks = format.quantize(&values?.await?).map_err(refused)?;
            QuantizedTensor::from_blocks(&device, &blocks, shape.dims(), format)
        })
    }

    /// [`Tensor::quantize`], waiting for the device.
    ///
    /// # Errors
    /// As [`Tensor::quantize`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn quantize_blocking(&self, format: BlockFormat) -> Result<QuantizedTensor, Error> {
        self.device().block_on(self.quantize(format))
    }
}

fn refused(error: QuantizeError) -> Error {
    Error::argument("quantize", error.to_string())
}

/// The extents of a matrix.
fn matrix(op: &'static str, shape: &Shape) -> Result<[usize; 2], Error> {
    match *shape.dims() {
        [rows, cols] => Ok([rows, cols]),
        _ => Err(Error::shape(
            op,
            format!("only matrices are quantised: the shape is {shape}"),
        )),
    }
}

fn float(op: &'static str, dtype: DType) -> Result<(), Error> {
    if dtype.is_float() {
        return Ok(());
    }
    Err(Error::dtype(
        op,
        format!("the numbers of blocks are floats: {dtype} asked for"),
    ))
}

/// What the parts give, as one tensor.
fn joined(
    parts: impl Iterator<Item = Result<Tensor, Error>>,
    axis: isize,
) -> Result<Tensor, Error> {
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    match &parts[..] {
        [one] => Ok(one.clone()),
        _ => Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis),
    }
}
