//! Which kernels of the catalogue ran.
//!
//! A kernel is its text without the part that says where parameters come from: immediates and uniforms differ in one
//! keyword. Constants are not compared: sizes of workgroups follow the device, and ranks follow the call.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_device::ziggurat_software::{Program, Report};
use ziggurat_kernels::catalogue;
use ziggurat_pipeline::{IMMEDIATE_PART, ShaderSource, UNIFORM_PART};

use crate::failure::{Failure, Outcome};

/// Kernels that no run reaches, with the reason.
const NOT_RUN: [(&str, &str); 1] = [(
    "fused/",
    "the catalogue's fused kernels stand for those that tests make of random expressions",
)];

/// A line for each kernel that did not run, and for each excuse that is none.
pub(super) fn missing(report: &Report) -> Outcome<Vec<String>> {
    let ran: BTreeSet<u64> = report.programs().map(|program| program.text).collect();
    let variants = catalogue().map_err(|error| Failure::new(error.to_string()))?;
    let mut kernels: BTreeMap<String, bool> = BTreeMap::new();
    for variant in &variants {
        let source = &variant.descriptor.source;
        let hashes = [IMMEDIATE_PART, UNIFORM_PART].map(|part| hash(source, part));
        let here = hashes.iter().any(|hash| ran.contains(hash));
        *kernels.entry(source.name().to_owned()).or_default() |= here;
    }
    let missed: Vec<&String> = kernels
        .iter()
        .filter(|(_, ran)| !**ran)
        .map(|(name, _)| name)
        .collect();
    println!(
        "{} of {} kernels of the catalogue ran",
        kernels.len() - missed.len(),
        kernels.len()
    );
    let excuse = |name: &str| NOT_RUN.iter().find(|(prefix, _)| name.starts_with(prefix));
    let mut problems: Vec<String> = missed
        .iter()
        .filter(|name| excuse(name).is_none())
        .map(|name| format!("{name} did not run"))
        .collect();
    for (prefix, _) in NOT_RUN {
        if !missed.iter().any(|name| name.starts_with(prefix)) {
            problems.push(format!("all of {prefix} ran, but it is excused"));
        }
    }
    Ok(problems)
}

/// The hash of a kernel's text with its parameters declared as in `part`.
fn hash(source: &ShaderSource, part: (&'static str, &'static str)) -> u64 {
    let mut other = ShaderSource::new(source.name().to_owned());
    for old in source.parts() {
        let is_params = [IMMEDIATE_PART.0, UNIFORM_PART.0].contains(&&*old.file);
        other = if is_params {
            other.part(part.0, part.1)
        } else {
            other.part(old.file.clone(), old.text.clone())
        };
    }
    Program::hash(&other.text())
}
