// Computes: of each slot's row, which is its queries, keys and values behind each other, rotated queries; rotated keys and values go
//           to their caches, at the position of the slot. Pairs of the first `rotary` elements of each head are rotated by the angle of
//           the position, whose cosine and sine are in tables; the other elements are copied.
// Bindings: params, a (rows of heads of whole vectors), 2 out (queries, contiguous), 3 out_0 and 4 out_1 (keys and values, contiguous),
//           5 b: cosines, 6 c: sines (f32, contiguous rows of rotary / 2), 7 in_3: positions (i32, contiguous).
// Grid: one invocation per vector of four elements, folded.
// Requires: words, unpack, out_words, pack; position.
// Accuracy: 16 ε for values up to 4, then one rounding to the dtype.

override WG: u32 = 256u;
override INTERLEAVED: bool = false;

@group(0) @binding(1) var<storage, read> a: array<words>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;
@group(0) @binding(3) var<storage, read_write> out_0: array<out_words>;
@group(0) @binding(4) var<storage, read_write> out_1: array<out_words>;
@group(0) @binding(5) var<storage, read> b: array<f32>;
@group(0) @binding(6) var<storage, read> c: array<f32>;
@group(0) @binding(7) var<storage, read> in_3: array<i32>;

// Four elements from `at` on of a table.
fn cosines(at: u32) -> vec4<f32> {
    return vec4<f32>(b[at], b[at + 1u], b[at + 2u], b[at + 3u]);
}

fn sines(at: u32) -> vec4<f32> {
    return vec4<f32>(c[at], c[at + 1u], c[at + 2u], c[at + 3u]);
}

// Vector `i` of a head that begins with vector `first`, rotated.
fn rotated(first: u32, i: u32, table_row: u32) -> vec4<f32> {
    let x = unpack(a[first + i]);
    let half = params.rotary / 2u;
    let row = table_row * half;
    if INTERLEAVED {
        let pair = row + i * 2u;
        let cosine = vec2<f32>(b[params.cos_offset + pair], b[params.cos_offset + pair + 1u]).xxyy;
        let sine = vec2<f32>(c[params.sin_offset + pair], c[params.sin_offset + pair + 1u]).xxyy;
        return cosine * x + sine * vec4<f32>(-x.y, x.x, -x.w, x.z);
    }
    let vectors = half / 4u;
    let second = i >= vectors;
    let at = row + (i % vectors) * 4u;
    let other = sines(params.sin_offset + at) * unpack(a[first + select(i + vectors, i - vectors, second)]);
    return cosines(params.cos_offset + at) * x + select(-other, other, second);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.vectors {
        let i = id % params.width;
        let all = params.heads + 2u * params.key_heads;
        let slot = id / params.width / all;
        let head = id / params.width % all;
        let first = (params.offset + slot * params.slot_step + head * params.head_step) / 4u;
        let index = in_3[params.positions_offset + slot];
        var y = vec4<out_elem>(unpack(a[first + i]));
        if head < params.heads + params.key_heads && i * 4u < params.rotary {
            y = rotated(first, i, min(u32(max(index, 0)), params.table_rows - 1u));
        }
        if head < params.heads {
            out[params.out_offset / 4u + (slot * params.heads + head) * params.width + i] = pack(y);
        } else {
            let own = (head - params.heads) % params.key_heads;
            let row = (slot * params.key_heads + own) * params.capacity + position(bitcast<u32>(index), params.capacity);
            let at = row * params.width + i;
            if head < params.heads + params.key_heads {
                out_0[params.keys_offset / 4u + at] = pack(y);
            } else {
                out_1[params.values_offset / 4u + at] = pack(y);
            }
        }
    }
}
