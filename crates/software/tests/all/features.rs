//! What only own profiles offer, or no driver here: atomics of floats and of 64 bits, rarer functions of
//! 16 bits.

use crate::differential::gpu::Gpu;
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
fn functions_of_sixteen_bits_are_those_of_the_type() {
    let samples: [i16; 10] = [0, 1, -1, 2, -2, 0x1234, i16::MIN, i16::MAX, 0x0ff0, -0x0ff0];
    let list = samples.map(|x| x.to_string()).join(", ");
    let text = format!(
        "enable wgpu_int16;
        @group(0) @binding(0) var<storage, read_write> out: array<array<u32, 16>, {count}>;
        fn word(x: i16) -> u32 {{ return u32(i32(x)); }}
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
            if id.x >= {count}u {{ return; }}
            var samples = array<i32, {count}>({list});
            let a = i16(samples[id.x]); let b = u16(a);
            let o = &out[id.x];
            (*o)[0] = word(countOneBits(a)); (*o)[1] = u32(countOneBits(b));
            (*o)[2] = word(countLeadingZeros(a)); (*o)[3] = u32(countLeadingZeros(b));
            (*o)[4] = word(countTrailingZeros(a)); (*o)[5] = u32(countTrailingZeros(b));
            (*o)[6] = word(reverseBits(a)); (*o)[7] = u32(reverseBits(b));
            (*o)[8] = word(firstLeadingBit(a)); (*o)[9] = u32(firstLeadingBit(b));
            (*o)[10] = word(firstTrailingBit(a)); (*o)[11] = u32(firstTrailingBit(b));
            (*o)[12] = u32(a); (*o)[13] = u32(i32(b));
            (*o)[14] = word(a / i16(-1)); (*o)[15] = word(abs(a));
        }}",
        count = samples.len(),
    );
    let out = run(Features::SHADER_I16, &text, samples.len() * 16).unwrap();
    for (a, found) in samples.into_iter().zip(out.chunks(16)) {
        let b = a as u16;
        let word = |x: i16| i32::from(x) as u32;
        let short = |x: u16| u32::from(x);
        let leading = |x: u32| {
            if x == 0 {
                -1
            } else {
                15 - (x << 16).leading_zeros() as i16
            }
        };
        let trailing = if a == 0 {
            -1
        } else {
            a.trailing_zeros() as i16
        };
        let folded = short((a ^ (a >> 15)) as u16);
        let expected = [
            a.count_ones(),
            b.count_ones(),
            a.leading_zeros(),
            b.leading_zeros(),
            a.trailing_zeros(),
            b.trailing_zeros(),
            word(a.reverse_bits()),
            short(b.reverse_bits()),
            word(leading(folded)),
            short(leading(short(b)) as u16),
            word(trailing),
            short(trailing as u16),
            word(a),
            short(b),
            word(a.wrapping_div(-1)),
            word(a.wrapping_abs()),
        ];
        assert_eq!(found, expected, "of {a}");
    }
}

#[test]
fn subgroups_add_sixteen_bits_and_wrap() {
    let text = "enable wgpu_int16;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) w: vec3<u32>) {
            let all = subgroupAdd(i16(3000)); let below = subgroupExclusiveAdd(u16(3000)); let most = subgroupMax(i16(lane) - i16(7));
            if w.x == 0u { out[3u * lane] = u32(i32(all)); out[3u * lane + 1u] = u32(below); out[3u * lane + 2u] = u32(i32(most)); }
        }";
    let features = Features::SHADER_I16 | Features::SUBGROUP;
    let out = run(features, text, 96).unwrap();
    for (lane, found) in (0_u32..).zip(out.chunks(3)) {
        let all = i32::from((3000 * 32) as u16 as i16) as u32;
        assert_eq!(found, [all, (lane * 3000) & 0xffff, 24], "lane {lane}");
    }
}

#[test]
fn without_the_feature_sixteen_bits_are_refused() {
    let text = "enable wgpu_int16;
        @group(0) @binding(0) var<storage, read_write> a: array<u32>;
        @compute @workgroup_size(1) fn main() { a[0] = u32(u16(a[0])) + 1u; }";
    let refused = run(Features::empty(), text, 4).unwrap_err();
    assert!(
        refused.contains("wgpu_int16") || refused.contains("INT16"),
        "{refused}"
    );
}
