//! The engine on its own: WGSL in, words out.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::indexing_slicing, reason = "tests")]

mod control;
mod functions;
mod fusion;
mod memory;
mod parallel;
mod refusals;

use super::{Bound, CompileError, Program, RunLimits, Stop, Storage, Trap};
use crate::profile::Profile;

pub(super) const LIMITS: RunLimits = RunLimits {
    threads: 2,
    steps: Some(1 << 36),
    workgroup_steps: None,
};

pub(super) fn compile_for(
    source: &str,
    profile: &Profile,
    constants: &[(&str, f64)],
) -> Result<Program, CompileError> {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)));
    let flags = naga::valid::ValidationFlags::all();
    let mut validator = naga::valid::Validator::new(flags, naga::valid::Capabilities::all());
    validator
        .subgroup_operations(naga::valid::SubgroupOperationSet::all())
        .subgroup_stages(naga::valid::ShaderStages::all());
    let info = validator
        .validate(&module)
        .unwrap_or_else(|e| panic!("{}", e.emit_to_string(source)));
    let constants = constants.iter().map(|(k, v)| ((*k).to_owned(), *v));
    let entry = module.entry_points[0].name.clone();
    let stage = Some((naga::ShaderStage::Compute, &*entry));
    let (module, info) = naga::back::pipeline_constants::process_overrides(
        &module,
        &info,
        stage,
        &constants.collect(),
    )
    .unwrap();
    Program::compile(&module, &info, source, &entry, profile, true)
}

pub(super) fn compile(source: &str) -> Program {
    compile_for(source, &Profile::nvidia(), &[]).unwrap()
}

pub(super) fn storage(words: &[u32]) -> Storage {
    let storage = Storage::new(words.len() as u64 * 4).unwrap();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    storage.write(0, &bytes);
    storage
}

pub(super) fn words(storage: &Storage) -> Vec<u32> {
    let mut bytes = vec![0; storage.bytes() as usize];
    storage.read(0, &mut bytes);
    bytes
        .chunks(4)
        .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

/// Runs with `buffers` bound to group 0 in order; gives their contents.
pub(super) fn run_with(
    program: &Program,
    buffers: &[&[u32]],
    immediates: &[u8],
    workgroups: [u32; 3],
    limits: &RunLimits,
) -> Result<Vec<Vec<u32>>, Trap> {
    let storages: Vec<Storage> = buffers.iter().map(|words| storage(words)).collect();
    let bound: Vec<Bound<'_>> = (0u32..)
        .zip(&storages)
        .map(|(binding, storage)| Bound {
            group: 0,
            binding,
            storage,
            offset: 0,
            bytes: storage.bytes(),
        })
        .collect();
    program.run((&bound, &[]), immediates, workgroups, limits)?;
    Ok(storages.iter().map(words).collect())
}

pub(super) fn run(source: &str, buffers: &[&[u32]], workgroups: u32) -> Vec<Vec<u32>> {
    run_with(&compile(source), buffers, &[], [workgroups, 1, 1], &LIMITS).unwrap()
}

/// Bits of floats.
pub(super) fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// What `body` writes to `out[i]`, for 64 invocations `i`, from `a[i]` and `b[i]`.
pub(super) fn map(element: &str, body: &str, a: &[u32], b: &[u32]) -> Vec<u32> {
    let source = format!(
        "@group(0) @binding(0) var<storage> a: array<{element}>;
         @group(0) @binding(1) var<storage> b: array<{element}>;
         @group(0) @binding(2) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(64)
         fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x; if i >= arrayLength(&a) {{ return; }}
            let x = a[i]; let y = b[i];
            {body}
         }}"
    );
    let out = vec![0u32; a.len()];
    run(&source, &[a, b, &out], (a.len() as u32).div_ceil(64).max(1)).remove(2)
}
