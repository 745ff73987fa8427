//! A recorded list of kernels, and its plain file format.
//!
//! A trace holds the complete text of each kernel, so that it can be replayed by a program that has not yet run the
//! code that would assemble it, and so that a kernel edited since is not taken for the old one (the old one is then
//! compiled in vain, and never used).
//!
//! The file is a first line `ziggurat trace 1` and then records `tag length payload`, each ended by a line break; the
//! length in bytes makes escapes unnecessary. `text` records hold shader parts and are numbered from 0. A `kernel`
//! starts a kernel (payload: its name); `part` (number of the text, blank, file), `constant` (16 hex digits of the
//! f64, blank, name), `entry` (name) and `garbage` (workgroup memory need not start as zeros; empty) belong to the
//! kernel before them. Invariants: what is written reads back equal; anything else is an error, never a panic.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::descriptor::{Checks, KernelDescriptor};
use crate::source::ShaderSource;

const MAGIC: &str = "ziggurat trace 1\n";

/// Larger files are not read: no real trace comes near it.
#[cfg(not(target_arch = "wasm32"))]
const MAX_BYTES: u64 = 256 << 20;

/// What is wrong with a trace or its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read or written.
    #[error("trace {path}: {message}")]
    File {
        /// The file.
        path: String,
        /// What the operating system says.
        message: String,
    },
    /// The text is no trace of this version.
    #[error("not a trace: {rule} (at byte {at})")]
    Format {
        /// Offset of the record.
        at: usize,
        /// The rule that is broken.
        rule: &'static str,
    },
}

/// The kernels that a program compiled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    kernels: Vec<KernelDescriptor>,
}

impl Trace {
    /// A trace of these kernels, in an order that depends only on what they are.
    pub fn new(kernels: impl IntoIterator<Item = KernelDescriptor>) -> Self {
        let mut kernels: Vec<_> = kernels.into_iter().collect();
        let key = |kernel: &KernelDescriptor| {
            let constants: Vec<_> = kernel
                .constants
                .iter()
                .map(|(name, value)| (name.clone(), value.to_bits()))
                .collect();
            let texts: Vec<_> = kernel
                .source
                .parts()
                .iter()
                .map(|part| (part.file.clone(), part.text.clone()))
                .collect();
            let name = kernel.source.name().to_owned();
            let flags = (
                kernel.zero_workgroup_memory,
                kernel.ordered_loads,
                kernel.checks,
            );
            (name, kernel.entry.clone(), constants, flags, texts)
        };
        kernels.sort_by_cached_key(key);
        kernels.dedup();
        Self { kernels }
    }

    /// The kernels.
    pub fn kernels(&self) -> &[KernelDescriptor] {
        &self.kernels
    }

    /// The trace in its file format.
    pub fn to_text(&self) -> String {
        let mut out = MAGIC.to_owned();
        let mut texts: HashMap<&str, usize> = HashMap::new();
        for part in self.kernels.iter().flat_map(|k| k.source.parts()) {
            let next = texts.len();
            texts.entry(&part.text).or_insert_with(|| {
                record(&mut out, "text", &part.text);
                next
            });
        }
        for kernel in &self.kernels {
            record(&mut out, "kernel", kernel.source.name());
            for part in kernel.source.parts() {
                let number = texts.get(&*part.text).copied().unwrap_or_default();
                record(&mut out, "part", &format!("{number} {}", part.file));
            }
            if let Some(entry) = &kernel.entry {
                record(&mut out, "entry", entry);
            }
            for (name, value) in &kernel.constants {
                let bits = value.to_bits();
                record(&mut out, "constant", &format!("{bits:016x} {name}"));
            }
            if !kernel.zero_workgroup_memory {
                record(&mut out, "garbage", "");
            }
            if kernel.ordered_loads {
                record(&mut out, "ordered", "");
            }
            match kernel.checks {
                Checks::All => {}
                Checks::Divisions => record(&mut out, "unchecked", "loops"),
                Checks::None => record(&mut out, "unchecked", "all"),
            }
        }
        out
    }

    /// A trace from its file format.
    ///
    /// # Errors
    ///
    /// [`TraceError::Format`] for anything that [`to_text`](Self::to_text) did not write.
    pub fn from_text(text: &str) -> Result<Self, TraceError> {
        let fault = |at, rule| TraceError::Format { at, rule };
        let mut rest = text
            .strip_prefix(MAGIC)
            .ok_or(fault(0, "it must start with `ziggurat trace 1`"))?;
        let mut texts: Vec<&str> = Vec::new();
        let mut kernels: Vec<KernelDescriptor> = Vec::new();
        while !rest.is_empty() {
            let at = text.len() - rest.len();
            let (tag, payload, next) =
                split(rest).ok_or(fault(at, "a record is `tag length payload`"))?;
            rest = next;
            match tag {
                "text" => texts.push(payload),
                "kernel" => {
                    kernels.push(KernelDescriptor::new(ShaderSource::new(payload.to_owned())));
                }
                _ => {
                    let kernel = kernels.pop().ok_or(fault(at, "a kernel must come first"))?;
                    let kernel = amend(kernel, tag, payload, &texts)
                        .ok_or(fault(at, "unknown or malformed record"))?;
                    kernels.push(kernel);
                }
            }
        }
        Ok(Self::new(kernels))
    }

    /// Writes the trace to a file, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// [`TraceError::File`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), TraceError> {
        let path = path.as_ref();
        crate::disk::replace(path, self.to_text().as_bytes())
            .map_err(|error| file_error(path, &error.to_string()))
    }

    /// Reads a trace from a file.
    ///
    /// # Errors
    ///
    /// [`TraceError::File`] if it cannot be read or is absurdly large, [`TraceError::Format`] if it is no trace.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn load(path: impl AsRef<std::path::Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let fault = |error: std::io::Error| file_error(path, &error.to_string());
        if std::fs::metadata(path).map_err(fault)?.len() > MAX_BYTES {
            return Err(file_error(path, "it is too large for a trace"));
        }
        Self::from_text(&std::fs::read_to_string(path).map_err(fault)?)
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn file_error(path: &std::path::Path, message: &str) -> TraceError {
    TraceError::File {
        path: path.display().to_string(),
        message: message.to_owned(),
    }
}

fn record(out: &mut String, tag: &str, payload: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{tag} {} {payload}", payload.len());
}

/// Tag and payload of the first record, and what follows it.
fn split(rest: &str) -> Option<(&str, &str, &str)> {
    let (tag, rest) = rest.split_once(' ')?;
    let (length, rest) = rest.split_once(' ')?;
    let (payload, rest) = rest.split_at_checked(length.parse().ok()?)?;
    Some((tag, payload, rest.strip_prefix('\n')?))
}

/// The kernel with one more record, or `None` if the record makes no sense.
fn amend(
    mut kernel: KernelDescriptor,
    tag: &str,
    payload: &str,
    texts: &[&str],
) -> Option<KernelDescriptor> {
    match tag {
        "part" => {
            let (number, file) = payload.split_once(' ')?;
            let text = texts.get(number.parse::<usize>().ok()?)?;
            let (file, text) = (file.to_owned(), (*text).to_owned());
            kernel.source = kernel.source.part(file, text);
        }
        "constant" => {
            let (bits, name) = payload.split_once(' ')?;
            let value = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
            kernel.constants.push((name.to_owned().into(), value));
        }
        "entry" if kernel.entry.is_none() => kernel.entry = Some(payload.to_owned().into()),
        "garbage" if payload.is_empty() => kernel.zero_workgroup_memory = false,
        "ordered" if payload.is_empty() => kernel.ordered_loads = true,
        // Prewarming compiles, and leads to no dispatch: that takes somebody who vouches for the same text.
        "unchecked" if payload == "loops" => kernel.checks = Checks::Divisions,
        "unchecked" if payload == "all" => kernel.checks = Checks::None,
        _ => return None,
    }
    Some(kernel)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn kernels() -> Vec<KernelDescriptor> {
        let shared = "// with a break\nand ünicode ✓\n";
        vec![
            KernelDescriptor::new(
                ShaderSource::new("b\nnamed 3 badly")
                    .part("one.wgsl", shared)
                    .part("two file.wgsl", "kernel 5 trick\n"),
            )
            .constant("WG", 256.0)
            .constant("X", -0.0)
            .constant("NAN", f64::NAN),
            KernelDescriptor::new(ShaderSource::new("a").part("one.wgsl", shared))
                .entry("main")
                .zero_workgroup_memory(false)
                .ordered_loads(true),
            KernelDescriptor {
                checks: Checks::Divisions,
                ..KernelDescriptor::new(ShaderSource::new("a").part("one.wgsl", shared))
            },
            KernelDescriptor {
                checks: Checks::None,
                ..KernelDescriptor::new(ShaderSource::new("a").part("one.wgsl", shared))
            },
            KernelDescriptor::new(ShaderSource::new("")),
        ]
    }

    #[test]
    fn what_is_written_reads_back_equal() {
        let trace = Trace::new(kernels());
        assert_eq!(Trace::from_text(&trace.to_text()).unwrap(), trace);
        assert_eq!(trace.kernels().len(), 5);
        assert_eq!(trace.to_text().matches("with a break").count(), 1);
        let empty = Trace::default();
        assert_eq!(Trace::from_text(&empty.to_text()).unwrap(), empty);
    }

    #[test]
    fn order_and_repeats_of_the_kernels_do_not_matter() {
        let mut other = kernels();
        other.reverse();
        other.extend(kernels());
        assert_eq!(Trace::new(other).to_text(), Trace::new(kernels()).to_text());
    }

    #[test]
    fn no_cut_and_no_changed_byte_panics_or_goes_unnoticed_as_equal() {
        let whole = Trace::new(kernels());
        let text = whole.to_text();
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            // A cut between two records is a shorter trace.
            if let Ok(trace) = Trace::from_text(&text[..end]) {
                assert!(trace != whole, "{end}");
            }
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes)
                && let Ok(trace) = Trace::from_text(&changed)
            {
                assert!(trace != whole, "{at}");
            }
        }
    }

    #[test]
    fn broken_traces_say_what_and_where() {
        let rule = |text: &str| match Trace::from_text(text) {
            Err(TraceError::Format { at, rule }) => (at, rule),
            other => panic!("{other:?}"),
        };
        assert_eq!(rule("#!/bin/sh").0, 0);
        let at = MAGIC.len();
        assert_eq!(
            rule("ziggurat trace 1\nentry 1 x\n"),
            (at, "a kernel must come first")
        );
        assert_eq!(
            rule("ziggurat trace 1\nkernel 99 x\n"),
            (at, "a record is `tag length payload`")
        );
        assert_eq!(
            rule("ziggurat trace 1\nkernel 1 x\npart 3 7 f\n").1,
            "unknown or malformed record"
        );
    }

    #[test]
    #[cfg(not(target_arch = "wasm32"))]
    fn files_come_back_and_missing_ones_are_named() {
        let folder = std::env::temp_dir().join(format!("ziggurat-trace-{}", std::process::id()));
        let path = folder.join("deep").join("kernels.trace");
        let trace = Trace::new(kernels());
        trace.save(&path).unwrap();
        trace.save(&path).unwrap();
        assert_eq!(Trace::load(&path).unwrap(), trace);
        assert_eq!(std::fs::read_dir(folder.join("deep")).unwrap().count(), 1);
        std::fs::remove_dir_all(&folder).unwrap();
        let error = Trace::load(&path).unwrap_err();
        assert!(error.to_string().contains("kernels.trace"), "{error}");
    }
}
