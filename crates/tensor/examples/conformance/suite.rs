//! Running conformance vectors: shared by the example `conformance`, the test of that name, and the tests in a browser.
//!
//! A folder of vectors holds `cases.jsonl` (one case per line: one op, its inputs, attributes, expected outputs and
//! tolerance) and the tensors in safetensors files; its README defines every detail. Each case goes through the public
//! `Tensor` interface only.
//!
//! Invariant: a case that was not compared is never counted as passed.

pub(crate) mod attrs;
pub(crate) mod case;
pub(crate) mod compare;
pub(crate) mod corrupt;
pub(crate) mod data;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod folder;
pub(crate) mod ops;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod report;

use std::collections::BTreeMap;

use ziggurat_tensor::{Device, Tensor};

use case::{Case, Dtype, Output};
use compare::Expected;
use corrupt::Corruption;
use data::Files;

/// Why a case did not pass.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no such op (yet).
    Unsupported,
    /// The vectors themselves cannot be read.
    Vectors(String),
    /// The library refused the case or gave another answer.
    Wrong(String),
}

impl From<ziggurat_tensor::Error> for Trouble {
    fn from(error: ziggurat_tensor::Error) -> Self {
        Self::Wrong(format!("error: {error}"))
    }
}

/// Runs one case; with a corruption, against expected values that are wrong on purpose.
pub(crate) async fn run_case(
    device: &Device,
    files: &mut Files,
    case: &Case,
    corruption: Option<Corruption>,
) -> Result<(), Trouble> {
    if !ops::is_built(&case.op) {
        return Err(Trouble::Unsupported);
    }
    let inputs = case
        .inputs
        .iter()
        .map(|input| Ok((input.name.clone(), data::input(device, files, case, input)?)))
        .collect::<Result<BTreeMap<String, Tensor>, Trouble>>()?;
    let outputs = ops::run(device, case, &inputs)?;
    if outputs.len() < case.outputs.len() {
        return Err(Trouble::Wrong(format!(
            "{} outputs, expected {}",
            outputs.len(),
            case.outputs.len()
        )));
    }
    let mut corrupted = false;
    for (expected, actual) in case.outputs.iter().zip(&outputs) {
        let mut wanted = expected_of(files, case, expected)?;
        if let Some(corruption) = corruption {
            corrupted |= corrupt::apply(corruption, &mut wanted);
        }
        let bytes = actual.to_bytes().await?;
        compare::check(
            &wanted,
            actual.dims(),
            actual.dtype(),
            &bytes,
            &case.tolerance,
        )
        .map_err(|text| Trouble::Wrong(format!("output {}: {text}", expected.name)))?;
    }
    match corruption {
        Some(_) if !corrupted => Err(Trouble::Unsupported),
        _ => Ok(()),
    }
}

fn expected_of(files: &mut Files, case: &Case, output: &Output) -> Result<Expected, Trouble> {
    let dtype = output.dtype.stored();
    let (indices, values) = match (&output.tensor, &output.samples) {
        (Some(name), None) => (
            None,
            files.tensor(&case.file, name, output.dtype, &output.shape)?,
        ),
        (None, Some(samples)) => {
            let count = [samples.count];
            let indices = files.tensor(&case.file, &samples.indices, Dtype::U32, &count)?;
            let (words, _) = indices.as_chunks::<4>();
            let indices = words
                .iter()
                .map(|&word| u32::from_le_bytes(word) as usize)
                .collect();
            (
                Some(indices),
                files.tensor(&case.file, &samples.values, output.dtype, &count)?,
            )
        }
        _ => {
            return Err(Trouble::Vectors(format!(
                "output {} needs a tensor or samples",
                output.name
            )));
        }
    };
    Ok(Expected {
        shape: output.shape.clone(),
        dtype,
        indices,
        values,
    })
}
