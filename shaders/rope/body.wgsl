// Computes: rotary embedding: pairs of the first `rotary` elements of each head are rotated by the angle of their position,
//           whose cosine and sine are in tables; the other elements are copied.
// Bindings: params, a (rank 4, any strides, positions along axis SEQUENCE; declared by the value part), out (contiguous), b: cosines, c: sines (f32, contiguous
//           rows of rotary / 2), those of the position part.
// Grid: one invocation per element, folded.
// Requires: load_value (value part), table_row (position part).
// Accuracy: 16 ε for values up to 4, then one rounding to the dtype.

override WG: u32 = 256u;
override SEQUENCE: u32 = 2u;
override INTERLEAVED: u32 = 0u;

@group(0) @binding(2) var<storage, read_write> out: array<cell>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read> c: array<f32>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = (group.x + (group.y + group.z * groups.y) * groups.x) * WG + lid;
    if id < params.elements {
        let d = id % params.dims.w;
        let rest = id / params.dims.w;
        let i2 = rest % params.dims.z;
        let i1 = (rest / params.dims.z) % params.dims.y;
        let i0 = rest / params.dims.z / params.dims.y;
        let line = params.offset + i0 * params.strides.x + i1 * params.strides.y + i2 * params.strides.z;
        var y = load_value(line + d * params.strides.w);
        if d < params.rotary {
            let half = params.rotary / 2u;
            var pair = d % half;
            var second = d >= half;
            var partner = select(d + half, d - half, second);
            if INTERLEAVED == 1u {
                pair = d / 2u;
                second = (d & 1u) == 1u;
                partner = d ^ 1u;
            }
            let at = table_row(i0, select(i1, i2, SEQUENCE == 2u)) * half + pair;
            let other = load_value(line + partner * params.strides.w);
            let turned = c[params.sin_offset + at] * other;
            y = b[params.cos_offset + at] * y + select(-turned, turned, second);
        }
        store1(params.out_offset + id, y);
    }
}
