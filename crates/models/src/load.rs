//! Tensors of a file with the extents that they must have, as blocks of f32.

use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{DType, Device, Tensor};

use crate::Error;
use crate::blocks::{LayerNorm, Linear};

/// A file of tensors with names.
pub(crate) trait Tensors {
    /// The extents of a tensor; `None` if there is none of this name.
    fn dims(&self, name: &str) -> Option<Vec<usize>>;

    /// A tensor on a device, of any float dtype.
    fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error>;

    /// Bytes that all of them take as f32.
    fn bytes(&self) -> u64;
}

impl Tensors for SafetensorsFile {
    fn dims(&self, name: &str) -> Option<Vec<usize>> {
        Self::dims(self, name).map(<[usize]>::to_vec)
    }

    fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        Ok(Self::load(self, device, name)?)
    }

    fn bytes(&self) -> u64 {
        self.names()
            .map(|name| f32_bytes(Self::dims(self, name)))
            .sum()
    }
}

/// Bytes of a tensor as f32.
pub(crate) fn f32_bytes(dims: Option<&[usize]>) -> u64 {
    let extents = dims.unwrap_or_default().iter().map(|&extent| extent as u64);
    extents.fold(DType::F32.bytes() as u64, u64::saturating_mul)
}

/// Reads tensors of the extents that they must have.
pub(crate) struct Loader<'a> {
    pub(crate) device: &'a Device,
    pub(crate) file: &'a dyn Tensors,
    /// What may be in front of all names.
    pub(crate) prefix: &'static str,
    /// What norms add to variances.
    pub(crate) eps: f32,
}

impl Loader<'_> {
    pub(crate) fn tensor(&self, name: &str, dims: &[usize]) -> Result<Tensor, Error> {
        let names = [name.to_owned(), format!("{}{name}", self.prefix)];
        let mut found = names
            .iter()
            .filter_map(|name| Some((name, self.file.dims(name)?)));
        let Some((name, found)) = found.next() else {
            return Err(Error::MissingTensor {
                name: name.to_owned(),
            });
        };
        if found != dims {
            return Err(Error::WrongTensor {
                name: name.clone(),
                expected: dims.to_vec(),
                found,
            });
        }
        Ok(self.file.load(self.device, name)?.to_dtype(DType::F32)?)
    }

    pub(crate) fn linear(&self, name: &str, out: usize, within: usize) -> Result<Linear, Error> {
        Ok(Linear {
            bias: Some(self.tensor(&format!("{name}.bias"), &[out])?),
            ..self.linear_without_bias(name, out, within)?
        })
    }

    pub(crate) fn linear_without_bias(
        &self,
        name: &str,
        out: usize,
        within: usize,
    ) -> Result<Linear, Error> {
        let weight = self.tensor(&format!("{name}.weight"), &[out, within])?;
        Ok(Linear {
            weight: weight.into(),
            bias: None,
        })
    }

    pub(crate) fn norm(&self, name: &str, width: usize) -> Result<LayerNorm, Error> {
        Ok(LayerNorm {
            weight: self.tensor(&format!("{name}.weight"), &[width])?,
            bias: self.tensor(&format!("{name}.bias"), &[width])?,
            eps: self.eps,
        })
    }
}
