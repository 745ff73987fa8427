//! Which variants of the catalogue ran.
//!
//! A variant is its text and its constants, with two exceptions: the text's part that says where parameters come from
//! (immediates and uniforms differ in one keyword), and constants that follow the device's limits or a call's sizes.

use std::collections::{BTreeMap, BTreeSet};

use ziggurat_device::ziggurat_software::{Program, Report};
use ziggurat_kernels::{Variant, catalogue};
use ziggurat_pipeline::{IMMEDIATE_PART, ShaderSource, UNIFORM_PART};

use crate::failure::{Failure, Outcome};

/// Variants that no run reaches, by the beginning of their name, with the reason.
const NOT_RUN: [(&str, &str); 1] = [(
    "fused/",
    "the catalogue's fused kernels stand for those that tests make of random expressions",
)];

/// Constants that are not compared, with the reason.
const SIZES: [(&str, &str); 4] = [
    (
        "WG",
        "invocations of a workgroup follow the device and the row",
    ),
    ("RANK", "the dimensions of a call"),
    ("BATCH_AXES", "likewise"),
    ("STEPS", "turns of a loop, by the row's length"),
];

/// A variant as far as it is compared: text and constants.
type Key = (u64, String);

/// Says which variants have run; gives a line for each that has not, and for each excuse that is none.
pub(super) fn missing(report: &Report) -> Outcome<Vec<String>> {
    let variants = catalogue().map_err(|error| Failure::new(error.to_string()))?;
    let (line, problems) = compare(&variants, report, &NOT_RUN);
    println!("{line}");
    Ok(problems)
}

fn compare(
    variants: &[Variant],
    report: &Report,
    excused: &[(&str, &str)],
) -> (String, Vec<String>) {
    let ran: BTreeSet<Key> = report
        .programs()
        .map(|program| {
            (
                program.text,
                compared(program.constants.split(' ').map(str::to_owned)),
            )
        })
        .collect();
    let mut all: BTreeMap<String, bool> = BTreeMap::new();
    for variant in variants {
        let descriptor = &variant.descriptor;
        let constants = descriptor.constants.iter();
        let constants = compared(constants.map(|(name, value)| format!("{name}={value}")));
        let texts = [IMMEDIATE_PART, UNIFORM_PART].map(|part| hash(&descriptor.source, part));
        let name = format!("{} {constants}", descriptor.source.name());
        let here = texts
            .iter()
            .any(|text| ran.contains(&(*text, constants.clone())));
        // One of those that differ in sizes is enough.
        *all.entry(name.trim_end().to_owned()).or_default() |= here;
    }
    let missed: Vec<&String> = all
        .iter()
        .filter(|(_, ran)| !**ran)
        .map(|(name, _)| name)
        .collect();
    let excuse = |name: &str| excused.iter().any(|(prefix, _)| name.starts_with(prefix));
    let unexcused = missed.iter().filter(|name| !excuse(name));
    let mut problems: Vec<String> = unexcused
        .map(|name| format!("{name} did not run"))
        .collect();
    for (prefix, _) in excused {
        if !missed.iter().any(|name| name.starts_with(prefix)) {
            problems.push(format!("all of {prefix} ran, but it is excused"));
        }
    }
    let line = format!(
        "{} of {} variants of the catalogue ran",
        all.len() - missed.len(),
        all.len()
    );
    (line, problems)
}

/// `name=value` of the constants that are compared, by name.
fn compared(constants: impl Iterator<Item = String>) -> String {
    let sizes = |constant: &String| {
        let name = constant.split('=').next().unwrap_or_default();
        SIZES.iter().any(|(size, _)| *size == name)
    };
    let mut all: Vec<String> = constants
        .filter(|constant| !constant.is_empty() && !sizes(constant))
        .collect();
    all.sort();
    all.join(" ")
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
