//! The network: two convolutions with pooling, two dense layers.

use std::collections::BTreeMap;

use ziggurat_tensor::{Conv2dOptions, Error, PoolOptions, Tensor};

/// Trained weights on a device.
pub(crate) struct Digits {
    conv1: Affine,
    conv2: Affine,
    dense1: Affine,
    dense2: Affine,
}

struct Affine {
    weight: Tensor,
    bias: Tensor,
}

impl Digits {
    /// The network with the tensors of `weights.safetensors`; the error names one that is missing or has a wrong shape.
    pub(crate) fn new(tensors: &BTreeMap<String, Tensor>) -> Result<Self, String> {
        let take = |name: &str, shape: &[usize]| -> Result<Tensor, String> {
            let tensor = tensors
                .get(name)
                .ok_or_else(|| format!("there is no tensor `{name}`"))?;
            if tensor.shape().dims() != shape {
                let got = tensor.shape();
                return Err(format!("`{name}` has shape {got}, expected {shape:?}"));
            }
            Ok(tensor.clone())
        };
        let affine = |layer: &str, shape: &[usize]| -> Result<Affine, String> {
            Ok(Affine {
                weight: take(&format!("{layer}.weight"), shape)?,
                bias: take(&format!("{layer}.bias"), &shape[..1])?,
            })
        };
        Ok(Self {
            conv1: affine("conv1", &[16, 1, 3, 3])?,
            conv2: affine("conv2", &[32, 16, 3, 3])?,
            dense1: affine("dense1", &[64, 128])?,
            dense2: affine("dense2", &[10, 64])?,
        })
    }

    /// Logits [N, 10] of images [N, 1, 8, 8] with values from 0 to 1.
    pub(crate) fn logits(&self, images: &Tensor) -> Result<Tensor, Error> {
        let same = Conv2dOptions::default().padding([1, 1]);
        let halve = PoolOptions::square(2);
        let x = images
            .conv2d(&self.conv1.weight, Some(&self.conv1.bias), &same)?
            .relu()?;
        let x = x.max_pool2d(&halve)?;
        let x = x
            .conv2d(&self.conv2.weight, Some(&self.conv2.bias), &same)?
            .relu()?;
        let x = x.max_pool2d(&halve)?.flatten(1, -1)?;
        let x = x
            .linear(&self.dense1.weight, Some(&self.dense1.bias))?
            .relu()?;
        x.linear(&self.dense2.weight, Some(&self.dense2.bias))
    }
}
