//! The texts of all kernels that a browser can run, for its compiler.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::time::SystemTime;

use super::Part;
use serde_json::{Map, Value, json};
use xtask::failure::Outcome;
use ziggurat_pipeline::{KernelDescriptor, UNIFORM_PART, copy_kernels};

/// The largest workgroup that WebGPU promises.
const WORKGROUP: u32 = 256;

/// What the browser's WebGPU has not, or wgpu does not ask it for: parts with these names, and parameters as immediates.
const MISSING: [&str; 5] = [
    "enable/f16.wgsl",
    "enable/subgroups.wgsl",
    "enable/cooperative_matrix.wgsl",
    "enable/float_atomics.wgsl",
    "enable/int64.wgsl",
];

/// In so many days the pipeline of every small shader is in one sample.
const DAYS: usize = 20;
/// Bytes of a text whose pipeline may be in a sample.
const SMALL: usize = 8 << 10;

/// The days since 1970.
pub(super) fn today() -> usize {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let days = since.map_or(0, |time| time.as_secs() / 86_400);
    usize::try_from(days).unwrap_or(0)
}

/// Writes one line of JSON for each different pair of text and constants of a part; with a day, pipelines are wanted of a sample
/// of them.
pub(super) fn write(path: &Path, day: Option<usize>, part: Part) -> Outcome {
    let variants = ziggurat_kernels::catalogue()?;
    let copies = copy_kernels(UNIFORM_PART, WORKGROUP);
    let copies = copies.iter().map(|copy| (copy.source.name(), copy));
    let all = variants
        .iter()
        .map(|variant| (variant.name.as_str(), &variant.descriptor))
        .chain(copies);
    let mut seen = BTreeSet::new();
    let mut out = BufWriter::new(fs::File::create(path)?);
    let (mut found, mut left_out) = (0, 0_u32);
    for (name, descriptor) in all {
        if needs_more(descriptor) {
            left_out += 1;
            continue;
        }
        let mut line = line(name, descriptor);
        let same = format!("{}{}", line["wgsl"], line["constants"]);
        if !seen.insert(same) {
            continue;
        }
        found += 1;
        if found % part.of != part.index {
            continue;
        }
        // Texts take milliseconds, and pipelines up to a minute each in a software adapter.
        let small = descriptor.source.text().len() <= SMALL;
        line["pipeline"] = json!(day.is_none_or(|day| small && found % DAYS == day % DAYS));
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    println!("{found} shaders for the browser; {left_out} variants need what it does not have");
    if let Some(day) = day {
        let day = day % DAYS;
        println!("pipelines of one small shader in {DAYS}: `--sample --day {day}` takes the same");
    }
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
