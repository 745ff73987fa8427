//! The lines of `cases.jsonl`.

#[cfg(not(target_arch = "wasm32"))]
use std::{fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value};
use ziggurat_tensor::DType;

/// One op with everything needed to judge it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) op: String,
    pub(crate) attrs: Map<String, Value>,
    pub(crate) file: String,
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) tolerance: Tolerance,
}

/// An operand: stored or generated data, and how it is to be seen.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) tensor: Option<String>,
    #[serde(rename = "gen")]
    pub(crate) generated: Option<Generator>,
    #[serde(default)]
    pub(crate) view: Vec<ViewStep>,
    pub(crate) view_shape: Option<Vec<usize>>,
}

/// A result: all of it, or a sample.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) tensor: Option<String>,
    pub(crate) samples: Option<Samples>,
}

/// Names of the tensors with flat positions and the values there.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Samples {
    pub(crate) count: usize,
    pub(crate) indices: String,
    pub(crate) values: String,
}

/// How to make input data from a hash of the position.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Generator {
    HashF32 { seed: u32, scale: f32 },
    HashI32 { seed: u32, modulo: u32, offset: i32 },
}

/// One step from the stored tensor to what the op sees.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(crate) enum ViewStep {
    Permute {
        perm: Vec<isize>,
    },
    Slice {
        starts: Vec<usize>,
        steps: Vec<isize>,
        sizes: Vec<usize>,
    },
    Expand {
        shape: Vec<usize>,
    },
}

/// How far a float may be off.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Tolerance {
    Exact,
    Ulp { ulp: f64 },
    Close { rtol: f64, atol: f64 },
}

/// A dtype by its name in the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dtype {
    F32,
    F16,
    I32,
    U32,
    Bool,
    U8,
    I8,
}

impl Dtype {
    pub(crate) const fn stored(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F16 => DType::F16,
            Self::I32 => DType::I32,
            Self::U32 => DType::U32,
            Self::Bool => DType::Bool,
            Self::U8 => DType::U8,
            Self::I8 => DType::I8,
        }
    }
}

/// All cases of a folder.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn read(folder: &Path) -> Result<Vec<Case>, String> {
    let path = folder.join("cases.jsonl");
    let text = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    parse(&path.display().to_string(), &text)
}

/// The cases of a text, one in each line.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("{name}:{}: {error}", number + 1))
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(parse)
        .collect()
}
