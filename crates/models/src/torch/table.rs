//! The tensors of either layout, checked against their memory.

use std::collections::BTreeMap;

use super::value::{Described, Dicts, Places, Value};
use super::{Stop, Stored, TorchProblem, legacy, wrong, zip};
use crate::content::Content;
use crate::cursor::Cursor;

/// The tensors of a file of so many bytes.
pub(super) fn read(content: &Content, total: u64) -> Result<BTreeMap<String, Stored>, Stop> {
    let mut start = Cursor::new(content, 0, total);
    let begins = start.take("the first bytes", total.min(legacy::MAGIC.len() as u64))?;
    let (dicts, places) = if begins == legacy::MAGIC {
        legacy::read(content, total)?
    } else if begins.starts_with(b"PK\x03\x04") {
        zip::read(content, total)?
    } else {
        return Err(wrong(0, TorchProblem::Magic));
    };
    tensors(&dicts, &places)
}

/// Tensors by name. Each dictionary is read once, however often it is in others.
fn tensors(dicts: &Dicts, places: &Places) -> Result<BTreeMap<String, Stored>, Stop> {
    let mut out = BTreeMap::new();
    let mut seen = vec![false; dicts.all.len()];
    let mut waiting = vec![(String::new(), dicts.first)];
    while let Some((prefix, at)) = waiting.pop() {
        match seen.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        for (key, value) in dicts.all.get(at).map_or(&[][..], Vec::as_slice) {
            let name = format!("{prefix}{key}");
            match value {
                Value::Dict(inner) => waiting.push((format!("{name}."), *inner)),
                Value::Tensor(tensor) => {
                    let stored = checked(&name, tensor, places)?;
                    if out.insert(name.clone(), stored).is_some() {
                        return Err(wrong(0, TorchProblem::Duplicate(name)));
                    }
                }
                _ => {}
            }
        }
    }
    Ok(out)
}

/// Where a tensor is; an error if it goes beyond its memory.
fn checked(name: &str, tensor: &Described, places: &Places) -> Result<Stored, Stop> {
    let memory = &tensor.memory;
    let width = memory.kind.bytes();
    let fail = |offset: u64, detail: String| {
        let name = name.to_owned();
        wrong(offset, TorchProblem::Memory { name, detail })
    };
    let Some(&[start, bytes]) = places.get(&memory.key) else {
        return Err(fail(
            0,
            format!("the file has none of the key `{}`", memory.key),
        ));
    };
    if memory.elements.checked_mul(width) != Some(bytes) {
        let elements = memory.elements;
        let detail = format!("{elements} elements of {width} bytes, and {bytes} bytes in the file");
        return Err(fail(start, detail));
    }
    let (dims, strides) = (&tensor.dims, &tensor.strides);
    // The last element's number, if there are elements.
    let last = dims
        .iter()
        .zip(strides)
        .try_fold(tensor.offset, |last, (&extent, &stride)| {
            last.checked_add(extent.saturating_sub(1).checked_mul(stride)?)
        });
    let fits = dims.contains(&0) || last.is_some_and(|last| last < memory.elements);
    let elements = dims
        .iter()
        .try_fold(1u64, |product, &extent| product.checked_mul(extent));
    // A stride of 0 makes more of memory than is there.
    if !fits || elements.is_none_or(|elements| elements > memory.elements) {
        let elements = memory.elements;
        let rest = format!("with the strides {strides:?} from {} on", tensor.offset);
        return Err(fail(
            start,
            format!("{dims:?} {rest}, and {elements} elements"),
        ));
    }
    let dims = dims.iter().map(|&extent| usize::try_from(extent));
    let dims: Result<Vec<_>, _> = dims.collect();
    Ok(Stored {
        dims: dims.map_err(|_| fail(start, "beyond this machine".to_owned()))?,
        strides: strides.clone(),
        kind: memory.kind,
        start: start + tensor.offset.min(memory.elements) * width,
    })
}
