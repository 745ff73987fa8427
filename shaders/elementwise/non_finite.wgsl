// Computes: out[0] += NaNs, out[1] += infinities of a; out[2] = the least position of one, if it is below out[2].
// Bindings: params, 1 a (its words), 2 out (three words).
// Grid: one row of workgroups, looping; one element per invocation and step.
// Requires: nothing: it looks at the bits, which no compiler may think away.
// Accuracy: exact.

struct Params {
    len: u32,
    offset: u32,
    offset_out: u32,
    first: u32,
}

override WG: u32 = 256u;
/// Whether elements have 16 bits.
override IS_HALF: u32 = 0u;
/// The bits of infinity.
override INFINITY: u32 = 0x7f800000u;

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<atomic<u32>>;

/// An element without its sign.
fn size(i: u32) -> u32 {
    if IS_HALF == 0u {
        return a[i] & 0x7fffffffu;
    }
    return (a[i / 2u] >> (16u * (i % 2u))) & 0x7fffu;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * WG;
    var i = id.x;
    while i < params.len {
        let bits = size(params.offset + i);
        if bits >= INFINITY {
            atomicAdd(&out[params.offset_out + u32(bits == INFINITY)], 1u);
            atomicMin(&out[params.offset_out + 2u], params.first + i);
        }
        if params.len - i <= step {
            break;
        }
        i += step;
    }
}
