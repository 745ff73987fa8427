//! The cases of a folder, one after the other, and what becomes of them.

use std::collections::BTreeMap;
use std::path::Path;

use futures::executor::block_on;
use ziggurat_tensor::Device;

use super::case::{self, Case};
use super::corrupt::Corruption;
use super::data::Files;
use super::report::{OpReport, Outcome, Report};
use super::{Trouble, ops, run_case};

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
                    outcome(block_on(run_case(device, &mut files, case, None))),
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
        block_on(run_case(device, &mut files, case, None))
            .map_err(|trouble| format!("{}: {trouble:?}", case.name))?;
        for (&corruption, count) in &mut noticed {
            match block_on(run_case(device, &mut files, case, Some(corruption))) {
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
