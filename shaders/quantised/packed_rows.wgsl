// Computes: rows of x as cooperative.wgsl takes them: blocks of 16 rows and 16 of k, of each first the higher f16 and, with SPLIT, then the lower ones, 2^11 times as large; each row multiplied by a power of two, so that its largest magnitude lies in [2^14, 2^15). Rows behind the last are 0.
// Bindings: params (units: 16 of k each), a (the rows of x), out_0 (vectors of f16), out_1 (of each row the exponent of 2 that it is to be multiplied by; how many elements f16 has no room for, or in the uppermost bit that it is to be left out: something is not finite, or all are tiny).
// Grid: a workgroup of 256 invocations for each row, up to a multiple of 16, folded.
// Requires: words, unpack; scaled, magnitude, strays_of (units_f32.wgsl).
// Accuracy: an element is off by 2^-22 of itself at most; those that are counted by 2^-50 of the largest one.

override WG: u32 = 256u;
// 1: elements become two f16 each; 0: one, as bf16 and f16 need no more.
override SPLIT: u32 = 1u;

struct Scale {
    factor: f32,
    // The bits of the least magnitude above 0 that f16 has room for.
    least: u32,
}

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out_0: array<vec4<f16>>;
@group(0) @binding(3) var<storage, read_write> out_1: array<u32>;

var<workgroup> tile_top: atomic<u32>;
var<workgroup> tile_strays: atomic<u32>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = group.x + (group.y + group.z * groups.y) * groups.x;
    let vectors = select(0u, params.units * 4u, row < (params.m + 15u) / 16u * 16u);
    let given = select(0u, vectors, row < params.m);
    let first = (params.x_offset + min(row, params.m - 1u) * params.x_row) / 4u;
    if lid == 0u {
        atomicStore(&tile_top, 0u);
        atomicStore(&tile_strays, 0u);
    }
    workgroupBarrier();
    var top = 0u;
    for (var i = lid; i < given; i += WG) {
        top = max(top, magnitude(unpack(a[first + i])));
    }
    top = subgroupMax(top);
    if lid % 32u == 0u {
        atomicMax(&tile_top, top);
    }
    workgroupBarrier();
    let exponent = atomicLoad(&tile_top) >> 23u;
    let fits = exponent > RANGE && exponent < 255u;
    // Rows of nothing but 0 need no scale.
    let known = select(141u, exponent, fits);
    let scale = Scale(bitcast<f32>((268u - known) << 23u), (known - RANGE) << 23u);
    let end = select(0u, given, fits);
    var strays = 0u;
    for (var i = lid; i < vectors; i += WG) {
        var high = vec4<f16>();
        var low = vec4<f16>();
        if i < end {
            let v = unpack(a[first + i]);
            strays += strays_of(v, scale);
            high = scaled(v, scale);
            low = vec4<f16>((v * scale.factor - vec4<f32>(high)) * 2048.0);
        }
        let to = (row / 16u * params.units + i / 4u) * 128u + row % 16u * 4u + i % 4u;
        out_0[to] = high;
        if SPLIT == 1u {
            out_0[to + 64u] = low;
        }
    }
    strays = subgroupAdd(strays);
    if lid % 32u == 0u && strays > 0u {
        atomicAdd(&tile_strays, strays);
    }
    workgroupBarrier();
    if lid == 0u && vectors > 0u {
        out_1[2u * row] = known - 141u;
        out_1[2u * row + 1u] = select(0x80000000u, atomicLoad(&tile_strays), fits || atomicLoad(&tile_top) == 0u);
    }
}
