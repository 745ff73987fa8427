//! Safetensors: named tensors in one file.

use std::collections::BTreeMap;
use std::future::Future;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use ziggurat_core::DType;

use super::wide::Wide;
use crate::{Device, Error, Tensor, read_many};

/// The tensors of a safetensors file, by name.
///
/// # Errors
/// If the bytes are no safetensors file, or a tensor has a dtype or values that cannot be held.
///
/// ```
/// # use ziggurat_tensor::{doc, io, Tensor};
/// # let Some(device) = doc::device() else { return Ok(()) };
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
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        let tensor = tensor_from_view(device, &view).map_err(|error| {
            if error.is_format() {
                Error::format(format!("tensor `{name}`: {error}"))
            } else {
                error
            }
        })?;
        tensors.insert(name.to_owned(), tensor);
    }
    Ok(tensors)
}

fn tensor_from_view(device: &Device, view: &TensorView<'_>) -> Result<Tensor, Error> {
    match held(view.dtype()) {
        Held::Same(dtype) => Tensor::from_bytes(device, view.data(), view.shape(), dtype),
        Held::Converted(wide) => Tensor::from_bytes(
            device,
            &wide.convert(view.data())?,
            view.shape(),
            wide.dtype(),
        ),
        Held::Not => Err(Error::format(format!(
            "dtype {:?} is not supported",
            view.dtype()
        ))),
    }
}

enum Held {
    Same(DType),
    Converted(Wide),
    Not,
}

fn held(dtype: Dtype) -> Held {
    match dtype {
        Dtype::F32 => Held::Same(DType::F32),
        Dtype::F16 => Held::Same(DType::F16),
        Dtype::BF16 => Held::Same(DType::BF16),
        Dtype::I32 => Held::Same(DType::I32),
        Dtype::U32 => Held::Same(DType::U32),
        Dtype::U8 => Held::Same(DType::U8),
        Dtype::I8 => Held::Same(DType::I8),
        Dtype::BOOL => Held::Same(DType::Bool),
        Dtype::F64 => Held::Converted(Wide::F64),
        Dtype::I64 => Held::Converted(Wide::I64),
        Dtype::U64 => Held::Converted(Wide::U64),
        Dtype::I16 => Held::Converted(Wide::I16),
        Dtype::U16 => Held::Converted(Wide::U16),
        _ => Held::Not,
    }
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
/// If two names are equal, the tensors are not on one device, or something recorded before failed on it.
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
    async move {
        let values = values.await?;
        let mut views = BTreeMap::new();
        for ((name, (dtype, dims)), bytes) in names.iter().zip(kinds).zip(&values) {
            let view = TensorView::new(dtype, dims, bytes).map_err(refused)?;
            if views.insert(name.as_str(), view).is_some() {
                return Err(Error::argument(
                    "safetensors",
                    format!("names must differ: `{name}` is given twice"),
                ));
            }
        }
        safetensors::serialize(views, None).map_err(refused)
    }
}

fn refused(error: safetensors::SafeTensorError) -> Error {
    Error::format(format!("not a valid safetensors file: {error}"))
}
