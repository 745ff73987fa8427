//! The network: two convolutions with pooling, two dense layers.

use std::path::Path;

use ziggurat_tensor::{Conv2dOptions, Device, Error, PoolOptions, Tensor, io};

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
    /// Reads `weights.safetensors`; a missing tensor or a wrong shape is an error that names it.
    pub(crate) fn load(device: &Device, path: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        let tensors = io::load_safetensors(device, path)?;
        let take = |name: &str, shape: &[usize]| -> Result<Tensor, Box<dyn std::error::Error>> {
            let tensor = tensors
                .get(name)
                .ok_or_else(|| format!("{}: there is no tensor `{name}`", path.display()))?;
            if tensor.shape().dims() != shape {
                let got = tensor.shape();
                return Err(format!(
                    "{}: `{name}` has shape {got}, expected {shape:?}",
                    path.display()
                )
                .into());
            }
            Ok(tensor.clone())
        };
        let affine = |layer: &str, shape: &[usize]| -> Result<Affine, Box<dyn std::error::Error>> {
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
