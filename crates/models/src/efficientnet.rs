//! EfficientNet-Lite: what is in a picture.

use std::path::Path;

use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{Device, Error as TensorError, Tensor};

use crate::blocks::{BatchNorm, Conv2d, InvertedBottleneck, Linear};
use crate::load::{Loader, Tensors, f32_bytes};
use crate::torch::TorchFile;
use crate::{Error, memory};

/// A classifier of images on a device, EfficientNet-Lite0 to 4: EfficientNet without squeeze and excitation, with ReLU6.
///
/// ```no_run
/// use ziggurat_models::{EfficientNetLite, Picture};
/// use ziggurat_tensor::{Device, DeviceOptions};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let model = EfficientNetLite::open(&device, "efficientnet-lite0.pth")?;
/// # #[cfg(feature = "jpeg")]
/// let picture = Picture::from_jpeg(&std::fs::read("flower.jpg").unwrap_or_default())?;
/// # #[cfg(not(feature = "jpeg"))]
/// # let picture = Picture { pixels: vec![0; 3], width: 1, height: 1 };
/// let scores = model.forward(&picture.seen(&device, 224)?)?;
/// println!("class {}", scores.argmax(-1, false)?);
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
pub struct EfficientNetLite {
    stem: Conv2d,
    blocks: Vec<InvertedBottleneck>,
    head: Conv2d,
    classes: Linear,
}

/// Strides of the first block of each stage.
const STRIDES: [usize; 7] = [1, 2, 2, 2, 1, 2, 1];

impl EfficientNetLite {
    /// Loads a model, as f32, from a file of PyTorch with the names of `efficientnet_pytorch` (`_blocks.0._bn1.weight`), or from
    /// safetensors with the same names. The extents are those of the tensors.
    ///
    /// # Errors
    /// If the file cannot be read or is malformed, a tensor is missing or has other extents, or the device has no memory.
    pub fn open(device: &Device, path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.extension().is_some_and(|end| end == "safetensors") {
            return Self::load(device, &SafetensorsFile::open(path)?);
        }
        Self::load(device, &TorchFile::open(path)?)
    }

    fn load(device: &Device, file: &dyn Tensors) -> Result<Self, Error> {
        const SQUEEZE: &str = "_blocks.0._se_reduce.weight";
        if file.dims(SQUEEZE).is_some() {
            let text = "squeeze and excitation, which models other than Lite have";
            return Err(Error::Unsupported(text.to_owned()));
        }
        memory::check(device, file.bytes())?;
        let source = Source(Loader {
            device,
            file,
            prefix: "",
            eps: 1e-3,
        });
        let (stem, mut channels) = source.conv(["_conv_stem", "_bn0"], 3, 2)?;
        let (mut blocks, mut stage) = (Vec::new(), None);
        while blocks.is_empty() || source.has(&format!("_blocks.{}._bn1.weight", blocks.len())) {
            let name = |what: &str| format!("_blocks.{}.{what}", blocks.len());
            let (mut expand, mut wide) = (None, channels);
            if source.has(&name("_expand_conv.weight")) {
                let (conv, out) =
                    source.conv([&name("_expand_conv"), &name("_bn0")], channels, 1)?;
                (expand, wide) = (Some(conv), out);
            }
            let (project, out) = source.conv([&name("_project_conv"), &name("_bn2")], wide, 1)?;
            // A stage has the same channels throughout, and others than the one before.
            let begins = blocks.is_empty() || out != channels;
            let stride = if begins {
                let next = stage.map_or(0, |stage: usize| stage + 1);
                stage = Some(next);
                let stride = STRIDES.get(next).copied();
                stride.ok_or_else(|| Error::Unsupported("more than seven stages".to_owned()))?
            } else {
                1
            };
            let names = [name("_depthwise_conv"), name("_bn1")];
            blocks.push(InvertedBottleneck {
                expand,
                depthwise: source.depthwise(names.each_ref().map(String::as_str), wide, stride)?,
                project,
                residual: stride == 1 && out == channels,
            });
            channels = out;
        }
        let (head, features) = source.conv(["_conv_head", "_bn1"], channels, 1)?;
        let [classes, _] = source.extents("_fc.weight")?;
        Ok(Self {
            stem,
            blocks,
            head,
            classes: source.0.linear("_fc", classes, features)?,
        })
    }

    /// Scores of all classes, `[batch, classes]`, for images `[batch, 3, height, width]` ([`crate::Picture::seen`]). Lite0 was trained on
    /// 224 pixels, the others on 240, 260, 280 and 300.
    ///
    /// # Errors
    /// If the images are of another shape.
    pub fn forward(&self, images: &Tensor) -> Result<Tensor, TensorError> {
        let mut x = self.stem.forward(images)?.relu6()?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        let features = self.head.forward(&x)?.relu6()?;
        self.classes.forward(&features.mean([2, 3], false)?)
    }
}

/// Reads convolutions together with the norms behind them.
struct Source<'a>(Loader<'a>);

impl Source<'_> {
    fn has(&self, name: &str) -> bool {
        self.0.file.dims(name).is_some()
    }

    /// The extents of a tensor of so many axes, whatever they are.
    fn extents<const N: usize>(&self, name: &str) -> Result<[usize; N], Error> {
        let dims = self.0.file.dims(name).ok_or_else(|| Error::MissingTensor {
            name: name.to_owned(),
        })?;
        dims.as_slice().try_into().map_err(|_| {
            let rank = dims.len();
            Error::Unsupported(format!("`{name}` of rank {rank}, where {N} is known"))
        })
    }

    /// A convolution of so many channels, and how many come out.
    fn conv(
        &self,
        [conv, norm]: [&str; 2],
        channels: usize,
        stride: usize,
    ) -> Result<(Conv2d, usize), Error> {
        let name = format!("{conv}.weight");
        let [out, _, height, width] = self.extents(&name)?;
        let weight = self.0.tensor(&name, &[out, channels, height, width])?;
        let plain = Conv2d {
            weight,
            bias: None,
            stride,
            groups: 1,
        };
        Ok((self.normed(plain, norm, out)?, out))
    }

    /// A convolution of each of so many channels by itself.
    fn depthwise(
        &self,
        [conv, norm]: [&str; 2],
        channels: usize,
        stride: usize,
    ) -> Result<Conv2d, Error> {
        let name = format!("{conv}.weight");
        let [_, _, height, width] = self.extents(&name)?;
        let plain = Conv2d {
            weight: self.0.tensor(&name, &[channels, 1, height, width])?,
            bias: None,
            stride,
            groups: channels,
        };
        self.normed(plain, norm, channels)
    }

    fn normed(&self, conv: Conv2d, norm: &str, channels: usize) -> Result<Conv2d, Error> {
        let tensor = |what: &str| self.0.tensor(&format!("{norm}.{what}"), &[channels]);
        Ok(conv.with_batch_norm(&BatchNorm {
            scale: tensor("weight")?,
            shift: tensor("bias")?,
            mean: tensor("running_mean")?,
            var: tensor("running_var")?,
            eps: self.0.eps,
        })?)
    }
}

impl Tensors for TorchFile {
    fn dims(&self, name: &str) -> Option<Vec<usize>> {
        Self::dims(self, name).map(<[usize]>::to_vec)
    }

    fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        Self::load(self, device, name)
    }

    fn bytes(&self) -> u64 {
        self.names()
            .map(|name| f32_bytes(Self::dims(self, name)))
            .sum()
    }
}
