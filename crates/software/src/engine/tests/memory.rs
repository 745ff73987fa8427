//! Memory: layouts, bounds, address spaces.

use super::{LIMITS, bits, compile, compile_for, run, run_with};
use crate::profile::Profile;

#[test]
fn structs_lie_as_the_host_lays_them() {
    let source = "
        struct Inner { v: vec3<f32>, w: f32, m: mat3x2<f32> }
        struct All { n: u32, inner: array<Inner, 2>, tail: array<vec3<u32>> }
        @group(0) @binding(0) var<storage, read_write> a: All;
        @group(0) @binding(1) var<storage, read_write> out: array<f32>;
        @compute @workgroup_size(1) fn main() {
            let copy = a.inner[1]; out[0] = copy.v.z; out[1] = a.inner[0].m[2].y; out[2] = f32(arrayLength(&a.tail));
            out[3] = f32(a.tail[1].z); a.inner[0] = copy; a.inner[a.n].w = 5.0;
        }";
    // n at 0; inner from 16, 48 bytes each (v 0, w 12, m 16 in three columns of 8, padding); tail from 112.
    let mut words: Vec<u32> = (0..36).map(|i| (i as f32).to_bits()).collect();
    words[0] = 1;
    words[28 + 4 + 2] = 77;
    let got = run(source, &[&words, &[0; 4]], 1);
    assert_eq!(got[1], bits(&[18.0, 4.0 + 4.0 + 5.0, 2.0, 77.0]));
    assert_eq!(got[0][4], words[16]);
    assert_eq!(got[0][13], words[25]);
    assert_eq!(got[0][14], words[14], "padding stays");
    assert_eq!(f32::from_bits(got[0][19]), 5.0);
}

#[test]
fn outside_reads_are_zero_and_outside_writes_are_dropped() {
    let source = "
        struct Two { a: array<u32, 4>, b: array<u32, 4> }
        @group(0) @binding(0) var<storage, read_write> two: Two;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        var<workgroup> w: array<u32, 4>;
        @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
            var p = array<u32, 4>(1u, 2u, 3u, 4u);
            w[i] = 9u; workgroupBarrier();
            p[i + 2u] = 50u;
            out[i] = two.a[i] + p[min(i, 3u)] * 100u;
            out[i + 4u + i * 0x40000000u] += 0u;
            two.a[i] = 7u;
        }";
    let got = run(source, &[&[1, 2, 3, 4, 5, 6, 7, 8], &[0; 8]], 1);
    assert_eq!(
        got[0],
        [7, 7, 7, 7, 5, 6, 7, 8],
        "the neighbour array stays"
    );
    assert_eq!(got[1][..2], [1 + 100, 2 + 200]);
    assert_eq!(got[1][2] % 100, 3);
    assert_eq!(got[1][5] % 100, 0);
}

#[test]
fn indices_far_outside_do_not_wrap_around() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> a: array<u32>;
        @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
            a[i * 0x40000000u] = 5u + i; a[0x40000001u] = 9u;
        }";
    assert_eq!(run(source, &[&[0, 0, 0]], 1)[0], [5, 0, 0]);
}

#[test]
fn dynamic_indices_of_private_arrays() {
    let source = "
        struct S { t: array<vec2<u32>, 3>, u: u32 }
        var<private> table: array<S, 3>;
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(27) fn main(@builtin(local_invocation_index) i: u32) {
            let a = i / 9u; let b = (i / 3u) % 3u;
            table[a].t[b][i % 2u] = i; table[2].u = 3u; table[i % 3u].u += 1u;
            var local = table;
            out[i] = local[a].t[b][i % 2u] * 100u + local[2].u + table[(a + 1u) % 3u].t[b].x;
            for (var k = 0u; k < 3u; k++) { local[k].u = k; }
            out[i] += local[1].u * 10000u;
        }";
    let got = run(source, &[&[0; 27]], 1).remove(0);
    for (i, value) in (0u32..).zip(&got) {
        assert_eq!(*value, i * 100 + 3 + u32::from(i % 3 == 2) + 10000, "{i}");
    }
}

#[test]
fn uniforms_immediates_and_overrides() {
    let source = "
        struct P { scale: vec4<f32>, list: array<vec4<u32>, 2> }
        var<immediate> im: vec2<u32>;
        override FACTOR: u32 = 3u;
        override SIZE: u32 = 16u;
        @group(0) @binding(0) var<uniform> p: P;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        var<workgroup> tile: array<u32, SIZE>;
        @compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_id) l: vec3<u32>, @builtin(workgroup_id) w: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
            tile[l.x] = l.x * FACTOR; workgroupBarrier();
            out[w.x * SIZE + l.x] = tile[SIZE - 1u - l.x] + p.list[l.x % 2u][l.x % 4u] + im.y + u32(p.scale.z) + n.x * 1000u;
        }";
    let program = compile_for(
        source,
        &Profile::nvidia(),
        &[("FACTOR", 2.0), ("SIZE", 8.0)],
    )
    .unwrap();
    assert_eq!(program.workgroup_size(), [8, 1, 1]);
    let mut uniform = bits(&[0.0, 0.0, 6.0, 0.0]);
    uniform.extend([10, 11, 12, 13, 20, 21, 22, 23]);
    let immediates = [0, 0, 0, 0, 100, 0, 0, 0];
    let got = run_with(
        &program,
        &[&uniform, &[0; 16]],
        &immediates,
        [2, 1, 1],
        &LIMITS,
    )
    .unwrap();
    for i in 0..16u32 {
        let l = i % 8;
        let list = [[10, 11, 12, 13], [20, 21, 22, 23]];
        let expected = (7 - l) * 2 + list[(l % 2) as usize][(l % 4) as usize] + 100 + 6 + 2000;
        assert_eq!(got[1][i as usize], expected, "{i}");
    }
}

#[test]
fn workgroup_memory_starts_as_zeros_and_is_shared() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> sums: array<u32, 64>;
        var<workgroup> flag: bool;
        @compute @workgroup_size(8, 4, 2) fn main(@builtin(local_invocation_index) i: u32, @builtin(local_invocation_id) l: vec3<u32>, @builtin(workgroup_id) w: vec3<u32>) {
            if flag { out[w.x] = 1u; }
            sums[i] += l.x + l.y * 8u + l.z * 32u; if i == 5u { flag = true; }
            workgroupBarrier();
            for (var s = 32u; s > 0u; s /= 2u) { if i < s { sums[i] += sums[i + s]; } workgroupBarrier(); }
            if i == 0u && flag { out[w.x] = sums[0]; }
        }";
    assert_eq!(run(source, &[&[0; 3]], 3)[0], [2016; 3]);
}

#[test]
fn workgroup_uniform_load_gives_one_value_to_all() {
    let source = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        var<workgroup> n: u32;
        @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
            if i == 7u { n = 5u; }
            let times = workgroupUniformLoad(&n);
            for (var k = 0u; k < times; k++) { out[i] += i; workgroupBarrier(); }
        }";
    let got = run(source, &[&[0; 32]], 1).remove(0);
    assert!((0u32..).zip(got).all(|(i, v)| v == i * 5));
}

#[test]
fn vectors_at_every_offset() {
    for width in [2u32, 3, 4] {
        let source = format!(
            "@group(0) @binding(0) var<storage, read_write> a: array<vec{width}<u32>>;
             @group(0) @binding(1) var<storage, read_write> b: array<vec{width}<u32>>;
             @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
                if id.x + 1u < arrayLength(&a) {{ b[id.x] = a[id.x + 1u] + a[0]; }} else {{ b[id.x].y = 3u; }}
             }}"
        );
        let stride = if width == 2 { 2 } else { 4 };
        let words: Vec<u32> = (0..100 * stride).collect();
        let zeros = vec![0; words.len()];
        let got = run(&source, &[&words, &zeros], 2).remove(1);
        for i in 0..99u32 {
            for c in 0..width {
                assert_eq!(
                    got[(i * stride + c) as usize],
                    (i + 1) * stride + c + c,
                    "{i} {c}"
                );
            }
        }
        assert_eq!(got[99 * stride as usize..][..2], [0, 3]);
    }
}

/// Keeps `compile` in use where only errors matter.
#[test]
fn an_empty_entry_point_does_nothing() {
    let program = compile("@compute @workgroup_size(1) fn main() {}");
    assert!(run_with(&program, &[], &[], [5, 5, 5], &LIMITS).is_ok());
    assert!(run_with(&program, &[], &[], [0, 5, 5], &LIMITS).is_ok());
}
