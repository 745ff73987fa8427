//! Where a model comes from: one GGUF file, or a folder of safetensors and descriptions.

#[cfg(not(target_arch = "wasm32"))]
use std::path::{Path, PathBuf};

use ziggurat_tensor::Device;
#[cfg(not(target_arch = "wasm32"))]
use ziggurat_tensor::io::SafetensorsFile;
use ziggurat_tensor::{BlockFormat, QuantizedTensor, Tensor};

use crate::decoder::DecoderConfig;
use crate::gguf::{BlockType, GgufFile, TensorInfo};
use crate::{Error, Tokenizer};

/// An open model: its descriptions are known, the data of tensors is read when it is asked for.
///
/// Tensors have the names that GGUF files give them (`blk.0.attn_q.weight`), also in a folder.
///
/// ```no_run
/// use ziggurat_models::{LoadOptions, Model, ModelFile};
/// use ziggurat_tensor::{Device, DeviceOptions};
///
/// let device = Device::open_blocking(DeviceOptions::default())?;
/// let file = ModelFile::open("SmolLM2-135M-Instruct")?; // or a GGUF file
/// let model = Model::load(&device, &file, LoadOptions::default())?;
/// # Ok::<(), ziggurat_models::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelFile {
    /// All in one file.
    Gguf(GgufFile),
    /// A folder with `config.json`, `tokenizer.json` and safetensors.
    #[cfg(not(target_arch = "wasm32"))]
    Folder(ModelFolder),
}

impl From<GgufFile> for ModelFile {
    fn from(file: GgufFile) -> Self {
        Self::Gguf(file)
    }
}

impl ModelFile {
    /// Opens a GGUF file, or a folder with `config.json`, `tokenizer.json`, and `model.safetensors` or
    /// `model.safetensors.index.json`.
    ///
    /// # Errors
    /// If a file cannot be read, or is malformed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        if path.is_dir() {
            return ModelFolder::open(path).map(Self::Folder);
        }
        GgufFile::open(path).map(Self::Gguf)
    }

    /// What it says about the model.
    ///
    /// # Errors
    /// As [`DecoderConfig::from_gguf`] and [`DecoderConfig::from_json`].
    pub fn config(&self) -> Result<DecoderConfig, Error> {
        match self {
            Self::Gguf(file) => DecoderConfig::from_gguf(file.head()),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(folder) => DecoderConfig::from_json(&folder.read("config.json")?),
        }
    }

    /// Its tokenizer.
    ///
    /// # Errors
    /// As [`Tokenizer::from_gguf`] and [`Tokenizer::from_json`].
    pub fn tokenizer(&self) -> Result<Tokenizer, Error> {
        match self {
            Self::Gguf(file) => Tokenizer::from_gguf(file.head()),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(folder) => Tokenizer::from_json(&folder.read("tokenizer.json")?),
        }
    }

    /// The extents of a tensor; `None` if there is none of this name.
    pub fn dims(&self, name: &str) -> Option<&[usize]> {
        match self {
            Self::Gguf(file) => file.head().tensor(name).map(TensorInfo::dims),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(folder) => folder.tensors.dims(&folder_name(name)),
        }
    }

    /// Bytes of a tensor if its elements are quantised; `None` if they are numbers, or there is none of this name.
    pub(crate) fn block_bytes(&self, name: &str) -> Option<u64> {
        match self {
            Self::Gguf(file) => {
                let info = file.head().tensor(name)?;
                matches!(info.block(), BlockType::Blocks(_)).then(|| info.bytes())
            }
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(_) => None,
        }
    }

    /// How a tensor's blocks are stored, if it has some.
    pub(crate) fn block_format(&self, name: &str) -> Option<BlockFormat> {
        match self {
            Self::Gguf(file) => match file.head().tensor(name)?.block() {
                BlockType::Blocks(format) => Some(format),
                _ => None,
            },
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(_) => None,
        }
    }

    /// The name that an error about a tensor has: that of the file.
    pub(crate) fn name_of(&self, name: &str) -> String {
        match self {
            Self::Gguf(_) => name.to_owned(),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(_) => folder_name(name),
        }
    }

    /// A tensor on a device, as numbers.
    ///
    /// # Errors
    /// If there is none of this name, the file cannot be read, or the device has no memory for it.
    pub fn load(&self, device: &Device, name: &str) -> Result<Tensor, Error> {
        match self {
            Self::Gguf(file) => file.load(device, name),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(folder) => {
                let name = folder_name(name);
                if folder.tensors.dims(&name).is_none() {
                    return Err(Error::MissingTensor { name });
                }
                Ok(folder.tensors.load(device, &name)?)
            }
        }
    }

    /// A matrix on a device whose elements stay quantised as they are in the file.
    ///
    /// # Errors
    /// As [`GgufFile::load_blocks`]; elements of safetensors are not quantised.
    pub fn load_blocks(&self, device: &Device, name: &str) -> Result<QuantizedTensor, Error> {
        self.load_joined_blocks(device, &[name])
    }

    /// The same of several matrices, the rows of one behind those of the other.
    ///
    /// # Errors
    /// As [`GgufFile::load_joined_blocks`]; elements of safetensors are not quantised.
    pub fn load_joined_blocks(
        &self,
        device: &Device,
        names: &[&str],
    ) -> Result<QuantizedTensor, Error> {
        match self {
            Self::Gguf(file) => file.load_joined_blocks(device, names),
            #[cfg(not(target_arch = "wasm32"))]
            Self::Folder(_) => {
                let text = format!("the tensors {names:?} as blocks: they are in safetensors");
                Err(Error::Unsupported(text))
            }
        }
    }
}

/// A folder with a model as Hugging Face's programs keep it.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Debug)]
pub struct ModelFolder {
    path: PathBuf,
    tensors: SafetensorsFile,
}

#[cfg(not(target_arch = "wasm32"))]
impl ModelFolder {
    fn open(path: &Path) -> Result<Self, Error> {
        let one = path.join("model.safetensors");
        let index = path.join("model.safetensors.index.json");
        let file = if index.exists() && !one.exists() {
            index
        } else {
            one
        };
        Ok(Self {
            tensors: SafetensorsFile::open(file)?,
            path: path.to_path_buf(),
        })
    }

    /// The tensors, by the names that they have in the files.
    pub const fn tensors(&self) -> &SafetensorsFile {
        &self.tensors
    }

    /// A file of the folder.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.path.join(name);
        std::fs::read(&path).map_err(|source| Error::Io {
            action: "read",
            path,
            source,
        })
    }

    /// A JSON file of the folder, if it is there.
    pub(crate) fn json(&self, name: &str) -> Result<Option<serde_json::Value>, Error> {
        if !self.path.join(name).exists() {
            return Ok(None);
        }
        let json = serde_json::from_slice(&self.read(name)?);
        json.map(Some)
            .map_err(|error| Error::Unsupported(format!("`{name}` is not valid ({error})")))
    }
}

/// Parts of names: in GGUF files, and in safetensors.
#[cfg(not(target_arch = "wasm32"))]
const NAMES: [[&str; 2]; 14] = [
    ["token_embd", "model.embed_tokens"],
    ["output_norm", "model.norm"],
    ["output", "lm_head"],
    ["attn_norm", "input_layernorm"],
    ["attn_q", "self_attn.q_proj"],
    ["attn_k", "self_attn.k_proj"],
    ["attn_v", "self_attn.v_proj"],
    ["attn_output", "self_attn.o_proj"],
    ["attn_q_norm", "self_attn.q_norm"],
    ["attn_k_norm", "self_attn.k_norm"],
    ["ffn_norm", "post_attention_layernorm"],
    ["ffn_gate", "mlp.gate_proj"],
    ["ffn_up", "mlp.up_proj"],
    ["ffn_down", "mlp.down_proj"],
];

/// The name in safetensors of the tensor that has this one in GGUF files.
#[cfg(not(target_arch = "wasm32"))]
fn folder_name(name: &str) -> String {
    let (layer, rest) = match name
        .strip_prefix("blk.")
        .and_then(|rest| rest.split_once('.'))
    {
        Some((at, rest)) => (format!("model.layers.{at}."), rest),
        None => (String::new(), name),
    };
    let (part, end) = rest.rsplit_once('.').unwrap_or((rest, ""));
    let known = NAMES.iter().find(|[gguf, _]| *gguf == part);
    let part = known.map_or(part, |[_, folder]| folder);
    format!("{layer}{part}.{end}")
}
