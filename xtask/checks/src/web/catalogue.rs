//! The texts of all kernels that a browser can run, for its compiler.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use serde_json::{Map, Value, json};
use xtask::failure::Outcome;
use ziggurat_pipeline::{KernelDescriptor, UNIFORM_PART, copy_kernels};

/// The largest workgroup that WebGPU promises.
const WORKGROUP: u32 = 256;

/// What the browser's WebGPU has not, or wgpu does not ask it for: parts with these names, and parameters as immediates.
const MISSING: [&str; 3] = [
    "enable/f16.wgsl",
    "enable/subgroups.wgsl",
    "enable/cooperative_matrix.wgsl",
];

/// Writes one line of JSON for each different pair of text and constants.
pub(super) fn write(path: &Path) -> Outcome {
    let variants = ziggurat_kernels::catalogue()?;
    let copies = copy_kernels(UNIFORM_PART, WORKGROUP);
    let copies = copies.iter().map(|copy| (copy.source.name(), copy));
    let all = variants
        .iter()
        .map(|variant| (variant.name.as_str(), &variant.descriptor))
        .chain(copies);
    let mut seen = BTreeSet::new();
    let mut out = BufWriter::new(fs::File::create(path)?);
    let (mut written, mut left_out) = (0_u32, 0_u32);
    for (name, descriptor) in all {
        if needs_more(descriptor) {
            left_out += 1;
            continue;
        }
        let line = line(name, descriptor);
        let same = format!("{}{}", line["wgsl"], line["constants"]);
        if seen.insert(same) {
            writeln!(out, "{line}")?;
            written += 1;
        }
    }
    out.flush()?;
    println!("{written} shaders for the browser; {left_out} variants need what it does not have");
    Ok(())
}

fn needs_more(descriptor: &KernelDescriptor) -> bool {
    let mut parts = descriptor.source.parts().iter();
    parts.any(|part| MISSING.contains(&part.file.as_ref()) || part.text.contains("var<immediate>"))
}

fn line(name: &str, descriptor: &KernelDescriptor) -> Value {
    let constants: Map<String, Value> = descriptor
        .constants
        .iter()
        .map(|(name, value)| (name.to_string(), json!(value)))
        .collect();
    json!({
        "name": name,
        "wgsl": descriptor.source.text(),
        "entry": descriptor.entry,
        "constants": constants,
    })
}
