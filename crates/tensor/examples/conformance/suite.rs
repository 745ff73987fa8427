//! Running conformance vectors: shared by the example `conformance` and the test of that name.
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
pub(crate) mod ops;
pub(crate) mod report;

use std::collections::BTreeMap;
use std::path::Path;

use ziggurat_tensor::{Device, Tensor};

use case::{Case, Dtype, Output};
use compare::Expected;
use corrupt::Corruption;
use data::Files;
use report::{OpReport, Outcome, Report};

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

/// Whether a case's name or op contains the text; with `!` in front of it, whether neither does.
pub(crate) fn is_named(case: &Case, filter: &str) -> bool {
    let contains = |text: &str| case.name.contains(text) || case.op.contains(text);
    match filter.strip_prefix('!') {
        Some(text) => !contains(text),
        None => contains(filter),
    }
}

/// Runs all cases of a folder whose name or op contains `filter`, telling `progress` each op's result as it is known.
pub(crate) fn run_folder(
    device: &Device,
    folder: &Path,
    filter: Option<&str>,
    mut progress: impl FnMut(&OpReport),
) -> Result<Report, String> {
    let mut by_op: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in case::read(folder)? {
        if filter.is_none_or(|filter| is_named(&case, filter)) {
            by_op.entry(case.op.clone()).or_default().push(case);
        }
    }
    let mut report = Report::new(device.name());
    let mut files = Files::new(folder);
    for (op, cases) in by_op {
        let outcomes = cases
            .iter()
            .map(|case| {
                (
                    case.name.clone(),
                    outcome(run_case(device, &mut files, case, None)),
                )
            })
            .collect();
        let op = OpReport { op, outcomes };
        progress(&op);
        report.ops.push(op);
    }
    Ok(report)
}

fn outcome(result: Result<(), Trouble>) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed,
        Err(Trouble::Unsupported) => Outcome::Unsupported,
        Err(Trouble::Vectors(text)) => Outcome::Failed(format!("bad vectors: {text}")),
        Err(Trouble::Wrong(text)) => Outcome::Failed(text),
    }
}

/// Runs one case; with a corruption, against expected values that are wrong on purpose.
pub(crate) fn run_case(
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
        let bytes = actual.to_bytes_blocking()?;
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

/// Runs cases against expected values that are wrong on purpose; counts how often each corruption was noticed.
///
/// # Errors
/// If a case does not pass as it is, or a corruption goes unnoticed.
pub(crate) fn negative_control(
    device: &Device,
    folder: &Path,
    wanted: impl Fn(&Case) -> bool,
) -> Result<BTreeMap<Corruption, usize>, String> {
    let mut files = Files::new(folder);
    let mut noticed: BTreeMap<Corruption, usize> =
        Corruption::ALL.map(|corruption| (corruption, 0)).into();
    for case in case::read(folder)?
        .iter()
        .filter(|case| ops::is_built(&case.op) && wanted(case))
    {
        run_case(device, &mut files, case, None)
            .map_err(|trouble| format!("{}: {trouble:?}", case.name))?;
        for (&corruption, count) in &mut noticed {
            match run_case(device, &mut files, case, Some(corruption)) {
                Err(Trouble::Wrong(_)) => *count += 1,
                // This case has nothing that could be corrupted so.
                Err(Trouble::Unsupported) => {}
                other => {
                    return Err(format!(
                        "{}: {corruption:?} went unnoticed: {other:?}",
                        case.name
                    ));
                }
            }
        }
    }
    Ok(noticed)
}

fn expected_of(files: &mut Files, case: &Case, output: &Output) -> Result<Expected, Trouble> {
    let dtype = output.dtype.held();
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
