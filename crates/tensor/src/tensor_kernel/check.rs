//! What is checked of a kernel's declarations, once, and of every call.

use std::collections::HashSet;

use ziggurat_core::text::{list, shortened};
use ziggurat_core::wgsl;
use ziggurat_kernels::SHADER_NAMES;

use super::{InputType, OP, Param, TensorKernel};
use crate::{Device, Error, Tensor};

/// What of an input a text may use.
const OF_INPUTS: [&str; 5] = ["at", "load", "len", "rank", "shape"];
/// How a text may write an output.
const OF_OUTPUTS: [&str; 2] = ["store", "store_at"];
/// Axes that an index of four numbers reaches.
const INDEXED: usize = 4;

/// Checks names, and that the text defines `kernel` and uses what is declared.
pub(super) fn check(kernel: &TensorKernel) -> Result<(), Error> {
    let refuse = |detail: String| Err(kernel.error(&detail));
    if kernel.outputs.is_empty() && kernel.updates.is_empty() {
        return refuse("it has no output: add .output(\"y\", dtype)".to_owned());
    }
    let inputs = kernel.inputs.iter().map(|(name, _)| name);
    let outputs = kernel.outputs.iter().map(|(name, _)| name);
    let outputs = outputs.chain(kernel.updates.iter().map(|(name, _)| name));
    let params = kernel.params.iter().map(|param| &param.name);
    let mut seen = HashSet::new();
    for name in inputs.clone().chain(outputs.clone()).chain(params) {
        let shown = shortened(name, 64);
        if !is_identifier(name) {
            return refuse(format!(
                "{shown:?} is no name for a tensor or parameter: letters, digits and single underscores, not first a digit or underscore"
            ));
        }
        if SHADER_NAMES.contains(&name.as_str()) || name.starts_with("kit_") {
            return refuse(format!("the name `{shown}` is taken by what is generated"));
        }
        if !seen.insert(name) {
            return refuse(format!("the name `{shown}` is declared twice"));
        }
    }
    for (name, ty) in &kernel.outputs {
        if let Some(wanted) = ty.name()
            && ty.input(&kernel.inputs).is_none()
        {
            let wanted = shortened(wanted, 64);
            return refuse(format!("`{name}` is like `{wanted}`, which is no input"));
        }
    }
    let mut two = wgsl::words(&kernel.text).zip(wgsl::words(&kernel.text).skip(1));
    if !two.any(|two| two == ("fn", "kernel")) {
        return refuse("its text has no `fn kernel(i: u32)`".to_owned());
    }
    if let Some(name) = unused(&kernel.text, inputs, &OF_INPUTS) {
        return refuse(format!(
            "its text does not use the input `{name}`: call `{name}_at(i)` or `{name}_load(index)`, or do not declare it"
        ));
    }
    if let Some(name) = unused(&kernel.text, outputs, &OF_OUTPUTS) {
        return refuse(format!(
            "its text does not write the output `{name}`: call `{name}_store(i, value)` or `{name}_store_at(index, value)`"
        ));
    }
    Ok(())
}

/// The first of the names of which a text has no function. It is read as far as it takes to find all.
fn unused<'a>(
    text: &str,
    names: impl Iterator<Item = &'a String>,
    functions: &[&str],
) -> Option<&'a String> {
    let mut left: Vec<&String> = names.collect();
    let mut words = wgsl::words(text);
    while !left.is_empty() {
        let Some(word) = words.next() else {
            break;
        };
        left.retain(|name| {
            let rest = word.strip_prefix(name.as_str());
            let function = rest.and_then(|rest| rest.strip_prefix('_'));
            !function.is_some_and(|function| functions.contains(&function))
        });
    }
    left.first().copied()
}

/// Whether a name can be part of WGSL names with one underscore behind it.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.contains("__")
        && name.len() <= 64
}

/// Checks number, dtypes, ranks and devices of the inputs, or of what is changed in place.
pub(super) fn check_inputs(
    kernel: &TensorKernel,
    (what, declared): (&str, &[(String, InputType)]),
    inputs: &[&Tensor],
    device: &Device,
) -> Result<(), Error> {
    if inputs.len() != declared.len() {
        let names: Vec<String> = declared.iter().map(|(name, _)| name.clone()).collect();
        let (names, wanted) = (list(&names, 9), names.len());
        return Err(kernel.error(&format!(
            "it {what} {wanted} tensors ({names}), got {}",
            inputs.len()
        )));
    }
    for ((name, ty), input) in declared.iter().zip(inputs) {
        let place = format!("`{}`: the tensor `{name}`", kernel.name);
        if !input.device().same(device) {
            let detail = format!("{place} is on another device than the call");
            return Err(Error::argument(OP, detail));
        }
        if !ty.dtypes().contains(&input.dtype()) {
            let wanted: Vec<String> = ty.dtypes().iter().map(ToString::to_string).collect();
            let (wanted, got) = (wanted.join(" or "), input.dtype());
            return Err(Error::dtype(
                OP,
                format!("{place} must be {wanted}, got {got}"),
            ));
        }
        if let Some(rank) = ty.wanted_rank()
            && rank != input.rank()
        {
            let dims = input.dims();
            return Err(Error::shape(
                OP,
                format!("{place} must have {rank} axes, got {dims:?}"),
            ));
        }
        if input.rank() > INDEXED && unused(&kernel.text, [name].into_iter(), &["load"]).is_none() {
            let dims = input.dims();
            return Err(Error::shape(
                OP,
                format!(
                    "{place} is read by `{name}_load`, which takes up to {INDEXED} axes, got {dims:?}"
                ),
            ));
        }
    }
    Ok(())
}

/// Checks that shapes are given for outputs, and such that the text can write.
pub(super) fn check_shapes(
    kernel: &TensorKernel,
    shapes: &[(String, Vec<usize>)],
) -> Result<(), Error> {
    for (name, _) in shapes {
        if !kernel.outputs.iter().any(|(output, _)| output == name) {
            let name = shortened(name, 64);
            return Err(kernel.error(&format!("it has no output `{name}` to give a shape")));
        }
    }
    Ok(())
}

/// The words of every parameter: those given, else those declared.
pub(super) fn values(kernel: &TensorKernel, given: &[Param]) -> Result<Vec<[u32; 4]>, Error> {
    for param in given {
        let declared = kernel.params.iter().find(|own| own.name == param.name);
        let name = shortened(&param.name, 64);
        match declared {
            None => return Err(kernel.error(&format!("it has no parameter `{name}`"))),
            Some(own) if own.ty != param.ty => {
                let (own, got) = (own.ty, param.ty);
                return Err(kernel.error(&format!("the parameter `{name}` is {own}, got {got}")));
            }
            Some(_) => {}
        }
    }
    let value = |own: &Param| {
        let last = given.iter().rev().find(|param| param.name == own.name);
        last.unwrap_or(own).words
    };
    Ok(kernel.params.iter().map(value).collect())
}
