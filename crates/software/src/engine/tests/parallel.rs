//! Atomics, subgroups, cooperative matrices.

use super::{LIMITS, bits, compile_for, run, run_with};
use crate::profile::Profile;

#[test]
fn atomics_of_all_kinds() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> a: array<atomic<u32>, 8>;
        @group(0) @binding(1) var<storage, read_write> s: array<atomic<i32>, 2>;
        @group(0) @binding(2) var<storage, read_write> out: array<u32>;
        var<workgroup> w: atomic<u32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) i: u32) {
            atomicAdd(&a[0], id.x); atomicSub(&a[1], 1u); atomicAnd(&a[2], ~(1u << (i % 32u))); atomicOr(&a[3], 1u << (i % 32u));
            atomicXor(&a[4], id.x); atomicMax(&a[5], id.x); atomicMin(&a[6], id.x + 3u);
            atomicMin(&s[0], -i32(id.x)); atomicMax(&s[1], -i32(id.x) - 1);
            atomicAdd(&w, 1u); workgroupBarrier();
            if i == 0u { atomicStore(&a[7], atomicLoad(&w)); }
            let swap = atomicCompareExchangeWeak(&a[7], 64u, 65u);
            if swap.exchanged { out[0] = i + swap.old_value; }
            if i == 9u { out[1] = atomicExchange(&a[7], 70u); }
        }";
    let got = run(
        source,
        &[
            &[0, 1000, !0, 0, 0, 0, 99, 0],
            &[0, (-5i32) as u32],
            &[0, 0],
        ],
        2,
    );
    let all: u32 = (0..128).sum();
    let xor = (0..128).fold(0, |x, i| x ^ i);
    assert_eq!(got[0], [all, 1000 - 128, 0, !0, xor, 127, 3, 70]);
    assert_eq!(got[1], [(-127i32) as u32, (-1i32) as u32]);
    assert_eq!(got[2], [64, 65]);
}

fn subgroups(size: u32, body: &str) -> Vec<u32> {
    let source = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(80) fn main(@builtin(local_invocation_index) i: u32, @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32, @builtin(subgroup_id) sg: u32) {{ {body} }}"
    );
    let profile = Profile {
        subgroup_size: size,
        ..Profile::nvidia()
    };
    let program = compile_for(&source, &profile, &[]).unwrap();
    run_with(&program, &[&[0; 80]], &[], [1, 1, 1], &LIMITS)
        .unwrap()
        .remove(0)
}

/// For each size: `expected(i, lanes of i's subgroup)`.
fn check(body: &str, expected: impl Fn(u32, &[u32]) -> u32) {
    for size in [4, 8, 16, 32, 64, 128] {
        let got = subgroups(size, body);
        for i in 0..80u32 {
            let start = i / size * size;
            let lanes: Vec<u32> = (start..(start + size).min(80)).collect();
            assert_eq!(
                got[i as usize],
                expected(i, &lanes),
                "{body}: size {size}, invocation {i}"
            );
        }
    }
}

#[test]
fn subgroup_reductions_and_scans() {
    check("out[i] = subgroupAdd(i);", |_, lanes| lanes.iter().sum());
    check(
        "out[i] = subgroupMax(i ^ 5u) - subgroupMin(i ^ 5u);",
        |_, lanes| {
            let of = lanes.iter().map(|l| l ^ 5);
            of.clone().max().unwrap() - of.min().unwrap()
        },
    );
    check("out[i] = subgroupInclusiveAdd(i);", |i, lanes| {
        lanes.iter().filter(|l| **l <= i).sum()
    });
    check("out[i] = subgroupExclusiveMul(i % 3u + 1u);", |i, lanes| {
        lanes
            .iter()
            .filter(|l| **l < i)
            .fold(1u32, |p, l| p.wrapping_mul(l % 3 + 1))
    });
    check(
        "out[i] = subgroupOr(1u << (i % 32u)) ^ subgroupAnd(i) ^ subgroupXor(i);",
        |_, lanes| {
            let or = lanes.iter().fold(0, |x, l| x | 1 << (l % 32));
            or ^ lanes.iter().fold(!0, |x, l| x & l) ^ lanes.iter().fold(0, |x, l| x ^ l)
        },
    );
    check(
        "if i % 3u == 0u { out[i] = subgroupAdd(1u); }",
        |i, lanes| {
            if i % 3 == 0 {
                lanes.iter().filter(|l| **l % 3 == 0).count() as u32
            } else {
                0
            }
        },
    );
    check(
        "out[i] = u32(subgroupAdd(f32(i)) + subgroupAdd(vec2<f32>(1.0, 2.0)).y);",
        |_, lanes| lanes.iter().sum::<u32>() + 2 * lanes.len() as u32,
    );
}

#[test]
fn subgroup_votes_and_shuffles() {
    check(
        "let b = subgroupBallot(i % 3u == 0u); out[i] = b[lane / 32u] * 2u ;",
        |i, lanes| {
            let start = lanes[0];
            let word = (i - start) / 32;
            let bits = lanes
                .iter()
                .filter(|l| (**l - start) / 32 == word && **l % 3 == 0)
                .fold(0u32, |b, l| b | 1 << ((l - start) % 32));
            bits.wrapping_mul(2)
        },
    );
    check(
        "out[i] = u32(subgroupAll(i < 77u)) + u32(subgroupAny(i == 40u)) * 2u;",
        |_, lanes| u32::from(lanes.iter().all(|l| *l < 77)) + u32::from(lanes.contains(&40)) * 2,
    );
    check(
        "out[i] = subgroupBroadcastFirst(i) + subgroupBroadcast(i, 2u) * 100u;",
        |_, lanes| lanes[0] + lanes[2] * 100,
    );
    check(
        "out[i] = subgroupShuffleXor(i, 1u) + subgroupShuffle(i, lane ^ 2u) * 100u;",
        |i, _| (i ^ 1) + (i ^ 2) * 100,
    );
    check(
        "out[i] = subgroupShuffleDown(i, 1u) + subgroupShuffleUp(i, 1u) * 100u;",
        |i, lanes| {
            let down = if lanes.contains(&(i + 1)) { i + 1 } else { 0 };
            let up = if i > lanes[0] { i - 1 } else { 0 };
            down + up * 100
        },
    );
    check(
        "out[i] = quadBroadcast(i, 3u) + quadSwapX(i) * 100u + quadSwapDiagonal(i) * 10000u;",
        |i, _| (i | 3) + (i ^ 1) * 100 + (i ^ 3) * 10000,
    );
}

#[test]
fn subgroup_built_in_values() {
    for size in [4, 8, 16, 32, 64, 128] {
        let got = subgroups(size, "out[i] = sg * 10000u + lane * 1000u + size;");
        for i in 0..80u32 {
            assert_eq!(got[i as usize], i / size * 10000 + i % size * 1000 + size);
        }
    }
}

fn product(size: usize, half: bool, subgroup: u32) {
    let (ty, enable) = if half {
        ("f16", "enable f16;")
    } else {
        ("f32", "")
    };
    let source = format!(
        "{enable} enable wgpu_cooperative_matrix;
         @group(0) @binding(0) var<storage, read> a: array<{ty}>;
         @group(0) @binding(1) var<storage, read> b: array<{ty}>;
         @group(0) @binding(2) var<storage, read_write> out: array<f32>;
         var<workgroup> tile: array<vec4<{ty}>, 64>;
         @compute @workgroup_size({subgroup}) fn main(@builtin(local_invocation_index) i: u32) {{
            for (var k = i; k < {quads}u; k += {subgroup}u) {{ tile[k] = vec4(b[k * 4u], b[k * 4u + 1u], b[k * 4u + 2u], b[k * 4u + 3u]); }}
            workgroupBarrier();
            let x = coopLoadT<coop_mat{size}x{size}<{ty}, A>>(&a[0], {size}u);
            let y = coopLoadT<coop_mat{size}x{size}<{ty}, B>>(&tile[0], {pitch}u);
            var sum = coop_mat{size}x{size}<f32, C>();
            for (var k = 0u; k < 2u; k++) {{ sum = coopMultiplyAdd(x, y, sum); }}
            coopStoreT(sum, &out[0], {size}u);
            coopStore(sum, &out[{total}u], {size}u);
         }}",
        quads = size * size / 4,
        pitch = size / 4,
        total = size * size,
    );
    let profile = Profile {
        subgroup_size: subgroup,
        ..Profile::nvidia()
    };
    let program = compile_for(&source, &profile, &[]).unwrap();
    let value = |i: usize, seed: usize| ((i * seed) % 11) as f32 - 5.0;
    let matrix = |seed: usize| {
        (0..size * size)
            .map(|i| value(i, seed))
            .collect::<Vec<f32>>()
    };
    let (a, b) = (matrix(3), matrix(7));
    let words = |m: &[f32]| -> Vec<u32> {
        if half {
            let h = |v: f32| u32::from(half::f16::from_f32(v).to_bits());
            m.chunks(2).map(|p| h(p[0]) | h(p[1]) << 16).collect()
        } else {
            bits(m)
        }
    };
    let out = vec![0; 2 * size * size];
    let got = run_with(
        &program,
        &[&words(&a), &words(&b), &out],
        &[],
        [1, 1, 1],
        &LIMITS,
    )
    .unwrap()
    .remove(2);
    for row in 0..size {
        for column in 0..size {
            let sum: f32 = (0..size)
                .map(|k| a[row * size + k] * b[k * size + column])
                .sum();
            assert_eq!(
                f32::from_bits(got[row * size + column]),
                2.0 * sum,
                "{row} {column}"
            );
            assert_eq!(
                f32::from_bits(got[size * size + column * size + row]),
                2.0 * sum
            );
        }
    }
}

#[test]
fn cooperative_products() {
    for subgroup in [8, 32, 64, 128] {
        for half in [false, true] {
            product(8, half, subgroup);
            product(16, half, subgroup);
        }
    }
}
