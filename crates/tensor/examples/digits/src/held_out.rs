//! The held-out images and what is known about them.

use std::error::Error;
use std::path::Path;

use ziggurat_tensor::{DType, Device, Tensor, io};

/// The images as read and as the network wants them, with what is known about them.
pub(crate) struct HeldOut {
    pub(crate) pixels: Vec<u8>,
    pub(crate) labels: Vec<u8>,
    pub(crate) reference: Tensor,
    pub(crate) inputs: Tensor,
}

impl HeldOut {
    /// Reads `images.npy`, `labels.npy` and `logits.npy`; a wrong shape is an error that names the file.
    pub(crate) async fn load(device: &Device, directory: &Path) -> Result<Self, Box<dyn Error>> {
        let images = io::load_npy(device, directory.join("images.npy"))?;
        let labels = io::load_npy(device, directory.join("labels.npy"))?;
        let reference = io::load_npy(device, directory.join("logits.npy"))?;
        let count = images.shape().dims().first().copied().unwrap_or(0);
        for (file, tensor, shape) in [
            ("images.npy", &images, vec![count, 8, 8]),
            ("labels.npy", &labels, vec![count]),
            ("logits.npy", &reference, vec![count, 10]),
        ] {
            if tensor.shape().dims() != shape {
                let got = tensor.shape();
                return Err(format!(
                    "{}: shape is {got}, expected {shape:?}",
                    directory.join(file).display()
                )
                .into());
            }
        }
        let inputs = (images.to_dtype(DType::F32)?.reshape([-1, 1, 8, 8])? / 16.0)?;
        Ok(Self {
            pixels: images.to_vec().await?,
            labels: labels.to_vec().await?,
            reference,
            inputs,
        })
    }
}
