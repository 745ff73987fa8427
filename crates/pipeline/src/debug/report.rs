//! From words that a kernel wrote to what it said.

use std::sync::Arc;

use ziggurat_core::debug_print::{
    DebugPrint, DebugValue, SAID_WORDS, StatementKind, Value, read_values,
};

use super::HEADER;
use crate::place::Place;

/// A statement of a kernel.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) kind: StatementKind,
    pub(super) kernel: String,
    pub(super) place: Arc<Place>,
    pub(super) label: Option<String>,
    /// By value: its type in WGSL's words, and samples of its scalars.
    pub(super) values: Vec<(String, Vec<Value>)>,
}

/// Words of a scalar.
pub(super) fn words(scalar: &Value) -> usize {
    match scalar {
        Value::I64(_) | Value::U64(_) | Value::F64(_) => 2,
        _ => 1,
    }
}

impl Site {
    /// Words of its values.
    pub(super) fn words(&self) -> usize {
        let scalars = self.values.iter().flat_map(|(_, scalars)| scalars);
        scalars.map(words).sum()
    }
}

/// What a part of the buffer says, by workgroup and invocation, and how much more there was.
pub(super) fn read(sites: &[Site], bytes: &[u8]) -> (Vec<DebugPrint>, u64) {
    let (words, _) = bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let header = usize::try_from(HEADER / 4).unwrap_or(0);
    let (Some(&used), Some(&dropped), Some(words)) =
        (words.first(), words.get(1), words.get(header..))
    else {
        return (Vec::new(), 0);
    };
    let mut rest = words.get(..used as usize).unwrap_or(words);
    let mut said = Vec::new();
    // Behind the last that fits there is a number that is no statement's.
    while let Some((head, after)) = rest.split_first_chunk::<SAID_WORDS>()
        && let [site, gx, gy, gz, x, y, z] = *head
        && let Some(site) = sites.get(site as usize)
        && let Some((mut own, after)) = after.split_at_checked(site.words())
    {
        rest = after;
        let values = site.values.iter().map(|(ty, scalars)| {
            let count = scalars.iter().map(self::words).sum();
            let (value, after) = own.split_at_checked(count).unwrap_or((own, &[]));
            own = after;
            DebugValue::new(ty.clone(), read_values(scalars, value))
        });
        said.push(DebugPrint {
            kind: site.kind,
            values: values.collect(),
            kernel: site.kernel.clone(),
            file: site.place.file.clone(),
            line: site.place.line,
            workgroup: [gx, gy, gz],
            invocation: [x, y, z],
            label: site.label.clone(),
        });
    }
    let place = |[x, y, z]: [u32; 3]| (z, y, x);
    said.sort_by_key(|said| (place(said.workgroup), place(said.invocation)));
    (said, u64::from(dropped))
}
