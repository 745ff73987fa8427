//! `ziggurat info`: what is in a GGUF file.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use ziggurat_models::gguf::{BlockType, GgufFile, TensorInfo, Value};

use crate::Outcome;

/// Says what is in a file, and how much memory it takes.
pub(crate) fn run(file: &GgufFile, tensors: bool) -> Outcome<()> {
    let head = file.head();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "GGUF version {}, alignment {}",
        head.version(),
        head.alignment()
    )?;
    for (key, value) in head.metadata() {
        let text = match value {
            Value::Array(values) => format!("{} values", values.len()),
            Value::String(text) => format!("{text:?}"),
            other => format!("{other:?}"),
        };
        let text: String = text.chars().take(120).collect();
        writeln!(out, "{key} = {text}")?;
    }
    let mut formats: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for tensor in head.tensors() {
        let (count, bytes) = formats.entry(tensor.block().name()).or_default();
        *count += 1;
        *bytes += tensor.bytes();
        if tensors {
            let (name, dims, block) = (tensor.name(), tensor.dims(), tensor.block());
            writeln!(out, "{name} {dims:?} {block}")?;
        }
    }
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for (format, (count, bytes)) in formats {
        writeln!(out, "{count} tensors of {format}, {:.1} MiB", mib(bytes))?;
    }
    let numbers = |tensor: &TensorInfo| 4 * tensor.elements() as u64;
    let stored = |tensor: &TensorInfo| match (tensor.block(), tensor.dims()) {
        (BlockType::Blocks(_), [_, _]) => tensor.bytes(),
        _ => numbers(tensor),
    };
    let sum = |of: &dyn Fn(&TensorInfo) -> u64| head.tensors().iter().map(of).sum::<u64>();
    writeln!(
        out,
        "{:.1} MiB on a device; {:.1} MiB with --dequantise as f32",
        mib(sum(&stored)),
        mib(sum(&numbers))
    )?;
    Ok(())
}
