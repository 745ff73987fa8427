//! Shaders changed at random: whatever naga accepts compiles or is refused, and runs or is stopped.

use std::collections::HashMap;

use super::super::{Bound, Program, RunLimits, Storage};
use crate::profile::Profile;

fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// The text with a few tokens replaced by others of it, or dropped.
fn mutate(source: &str, state: &mut u64) -> String {
    let mut tokens: Vec<&str> = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        tokens.push(&rest[..len]);
        rest = &rest[len..];
    }
    let kind = |token: &str| {
        let first = token.chars().next().unwrap_or(' ');
        (
            first.is_numeric(),
            first.is_alphabetic(),
            first.is_whitespace(),
        )
    };
    for _ in 0..1 + next(state) % 3 {
        let at = next(state) % tokens.len();
        let other = tokens[next(state) % tokens.len()];
        if kind(other) == kind(tokens[at]) {
            tokens[at] = other;
        }
    }
    tokens.concat()
}

/// Whether naga took it and it ran to its end.
fn survives(source: &str) -> Option<bool> {
    let module = naga::front::wgsl::parse_str(source).ok()?;
    let capabilities = naga::valid::Capabilities::all();
    let flags = naga::valid::ValidationFlags::all();
    let info = naga::valid::Validator::new(flags, capabilities)
        .validate(&module)
        .ok()?;
    let entry = module.entry_points.first()?.name.clone();
    let profile = Profile::nvidia();
    let made = Program::compile(&module, &info, source, &entry, &HashMap::new(), &profile);
    let Ok(program) = made else {
        return Some(false);
    };
    if program.code.invocations() > 1024 {
        return Some(false);
    }
    let storages: Vec<Storage> = program
        .code
        .bindings
        .iter()
        .map(|_| Storage::new(4096).unwrap())
        .collect();
    for (i, storage) in (0u32..).zip(&storages) {
        // Small numbers, so that most loops over sizes and counts end soon.
        let words = (0..1024u32).flat_map(|k| ((k * 7 + i) % 9).to_le_bytes());
        let bytes: Vec<u8> = words.collect();
        storage.write(0, &bytes);
    }
    let bound: Vec<Bound<'_>> = program
        .code
        .bindings
        .iter()
        .zip(&storages)
        .map(|((group, binding), storage)| Bound {
            group: *group,
            binding: *binding,
            storage,
            offset: 0,
            bytes: 4096,
        })
        .collect();
    let limits = RunLimits {
        threads: 2,
        steps: Some(100_000),
    };
    Some(
        program
            .run(&bound, &[3, 0, 0, 0].repeat(32), [3, 2, 1], &limits)
            .is_ok(),
    )
}

#[test]
fn mutated_kernels_never_panic() {
    let rounds: usize = std::env::var("ZIGGURAT_MUTATIONS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(400);
    let sources: Vec<String> = ziggurat_kernels::catalogue()
        .unwrap()
        .iter()
        .step_by(7)
        .map(|variant| variant.descriptor.source.text())
        .collect();
    let mut state = 7;
    let (mut ran, mut stopped, mut refused_by_naga) = (0, 0, 0);
    for round in 0..rounds {
        let source = mutate(&sources[round % sources.len()], &mut state);
        let caught = std::panic::catch_unwind(|| survives(&source));
        match caught {
            Ok(Some(true)) => ran += 1,
            Ok(Some(false)) => stopped += 1,
            Ok(None) => refused_by_naga += 1,
            Err(_) => panic!("round {round} panics:\n{source}"),
        }
    }
    assert!(
        ran > rounds / 20 && refused_by_naga > rounds / 20,
        "{ran} {stopped} {refused_by_naga}"
    );
}
