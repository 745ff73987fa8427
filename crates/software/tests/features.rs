//! What only own profiles offer: atomics of floats and of 64 bits; and the refusal of 16-bit integers.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "differential/gpu.rs"]
#[allow(dead_code, reason = "only the software device is used here")]
mod gpu;

use gpu::Gpu;
use wgpu::Features;

fn run(features: Features, text: &str, words: usize) -> Result<Vec<u32>, String> {
    let gpu = Gpu::with_features(features);
    gpu.run(text, &[vec![0; words]], [0, 0], 2)
        .map(|outcome| outcome.out)
}

#[test]
fn floats_are_added_and_exchanged_atomically() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> a: array<atomic<f32>, 4>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            atomicAdd(&a[0], 0.5); atomicSub(&a[1], 1.0);
            if id.x == 5u { let old = atomicExchange(&a[2], 7.25); atomicStore(&a[3], old + atomicLoad(&a[2])); }
        }";
    let bits = [64.0_f32, -128.0, 7.25, 7.25].map(f32::to_bits);
    assert_eq!(run(Features::SHADER_FLOAT32_ATOMIC, text, 4).unwrap(), bits);
    let refused = run(Features::empty(), text, 4).unwrap_err();
    assert!(refused.contains("validation"), "{refused}");
}

#[test]
fn wide_integers_are_atomic() {
    let text = "
        @group(0) @binding(0) var<storage, read_write> a: array<atomic<u64>, 5>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            let x = u64(id.x);
            atomicAdd(&a[0], 0x100000001lu); atomicMax(&a[1], x << 33u); atomicOr(&a[2], 1lu << (id.x & 63u));
            atomicXor(&a[3], x * 0x500000003lu);
            if id.x == 9u { let old = atomicExchange(&a[4], 0x700000008lu); atomicAdd(&a[4], old + 1lu); }
        }";
    let features = Features::SHADER_INT64
        | Features::SHADER_INT64_ATOMIC_ALL_OPS
        | Features::SHADER_INT64_ATOMIC_MIN_MAX;
    let out = run(features, text, 10).unwrap();
    let wide: Vec<u64> = out
        .chunks(2)
        .map(|pair| u64::from(pair[1]) << 32 | u64::from(pair[0]))
        .collect();
    let mixed = (0..128_u64).fold(0, |all, x| all ^ (x * 0x5_0000_0003));
    assert_eq!(
        wide,
        [
            128 * 0x1_0000_0001,
            127 << 33,
            u64::MAX,
            mixed,
            0x7_0000_0009
        ]
    );
}

#[test]
fn sixteen_bit_integers_are_refused_by_name_and_line() {
    let text = "enable wgpu_int16;
        @group(0) @binding(0) var<storage, read_write> a: array<u32>;
        @compute @workgroup_size(1) fn main() {
            let x = u16(a[0]);
            a[0] = u32(x) + 1u;
        }";
    let refused = run(Features::SHADER_I16, text, 4).unwrap_err();
    assert!(
        refused.contains("line 4") && refused.contains("16 bits"),
        "{refused}"
    );
}
