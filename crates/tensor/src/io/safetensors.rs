//! Safetensors: named tensors in one file.

use std::collections::BTreeMap;
use std::future::Future;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use ziggurat_core::DType;

use super::wide::{Numbers, Wide};
use crate::once::once;
use crate::{Device, Error, Tensor, read_many};

/// The key of a header that is no tensor.
const METADATA: &str = "__metadata__";

/// The tensors of a safetensors file, by name.
///
/// # Errors
/// If the bytes are no safetensors file, or a tensor has a dtype or values that cannot be represented.
///
/// ```
/// use ziggurat_tensor::{Device, DeviceOptions, Tensor, io};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let weight = Tensor::from_slice(&device, &[1.0f32, 2.0], [2])?;
/// let bytes = futures::executor::block_on(io::safetensors_to_bytes(&[("weight", &weight)]))?;
/// let tensors = io::safetensors_from_bytes(&device, &bytes)?;
/// assert_eq!(tensors["weight"].to_vec_blocking::<f32>()?, [1.0, 2.0]);
/// assert!(io::safetensors_from_bytes(&device, &bytes[..9]).is_err_and(|error| error.is_format()));
/// # Ok::<(), ziggurat_tensor::Error>(())
/// ```
pub fn safetensors_from_bytes(
    device: &Device,
    bytes: &[u8],
) -> Result<BTreeMap<String, Tensor>, Error> {
    let file = SafeTensors::deserialize(bytes).map_err(refused)?;
    let tensors = file.iter().map(|(name, view)| {
        let tensor = tensor_of(device, name, view.dtype(), view.shape(), view.data())?;
        Ok((name.to_owned(), tensor))
    });
    tensors.collect()
}

/// The tensor of this name, with values as a file has them.
pub(super) fn tensor_of(
    device: &Device,
    name: &str,
    dtype: Dtype,
    dims: &[usize],
    data: &[u8],
) -> Result<Tensor, Error> {
    let numbers = numbers(name, dtype)?;
    let values = numbers.values(data);
    values
        .and_then(|values| super::tensor(device, &values, dims, numbers.dtype()))
        .map_err(|error| named(name, error))
}

/// An error about the content of a file, with the name of the tensor that it is about.
pub(super) fn named(name: &str, error: Error) -> Error {
    if error.is_format() {
        Error::format(format!("tensor `{name}`: {error}"))
    } else {
        error
    }
}

/// How the numbers of this tensor are stored.
pub(super) fn numbers(name: &str, dtype: Dtype) -> Result<Numbers, Error> {
    Ok(match dtype {
        Dtype::F32 => Numbers::Same(DType::F32),
        Dtype::F16 => Numbers::Same(DType::F16),
        Dtype::BF16 => Numbers::Same(DType::BF16),
        Dtype::I32 => Numbers::Same(DType::I32),
        Dtype::U32 => Numbers::Same(DType::U32),
        Dtype::U8 => Numbers::Same(DType::U8),
        Dtype::I8 => Numbers::Same(DType::I8),
        Dtype::BOOL => Numbers::Same(DType::Bool),
        Dtype::F64 => Numbers::Converted(Wide::F64),
        Dtype::I64 => Numbers::Converted(Wide::I64),
        Dtype::U64 => Numbers::Converted(Wide::U64),
        Dtype::I16 => Numbers::Converted(Wide::I16),
        Dtype::U16 => Numbers::Converted(Wide::U16),
        _ => {
            let error = Error::format(format!("dtype {dtype:?} is not supported"));
            return Err(named(name, error));
        }
    })
}

const fn stored(dtype: DType) -> Dtype {
    match dtype {
        DType::F32 => Dtype::F32,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::I32 => Dtype::I32,
        DType::U32 => Dtype::U32,
        DType::U8 => Dtype::U8,
        DType::I8 => Dtype::I8,
        DType::Bool => Dtype::BOOL,
    }
}

/// A safetensors file with these tensors, read from the device with one submission.
///
/// # Errors
/// If two names are equal or one is `__metadata__`, which the format keeps for itself, the tensors are not on one device, or
/// something recorded before failed on it.
pub fn safetensors_to_bytes(
    tensors: &[(&str, &Tensor)],
) -> impl Future<Output = Result<Vec<u8>, Error>> + Send + use<> {
    let names: Vec<String> = tensors.iter().map(|(name, _)| (*name).to_owned()).collect();
    let kinds: Vec<(Dtype, Vec<usize>)> = tensors
        .iter()
        .map(|(_, tensor)| (stored(tensor.dtype()), tensor.dims().to_vec()))
        .collect();
    let values = read_many(
        &tensors
            .iter()
            .map(|(_, tensor)| *tensor)
            .collect::<Vec<_>>(),
    );
    once(async move {
        let values = values.await?;
        let mut views = BTreeMap::new();
        for ((name, (dtype, dims)), bytes) in names.iter().zip(kinds).zip(&values) {
            if name == METADATA {
                let text = format!("no tensor may be named `{METADATA}`: the format keeps it");
                return Err(Error::argument("safetensors", text));
            }
            let view = TensorView::new(dtype, dims, bytes).map_err(refused)?;
            if views.insert(name.as_str(), view).is_some() {
                return Err(Error::argument(
                    "safetensors",
                    format!("names must differ: `{name}` is given twice"),
                ));
            }
        }
        safetensors::serialize(views, None).map_err(refused)
    })
}

pub(super) fn refused(error: safetensors::SafeTensorError) -> Error {
    Error::format(format!("not a valid safetensors file: {error}"))
}
