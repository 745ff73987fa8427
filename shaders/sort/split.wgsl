// Computes: out[i] = a[i] / by, or a[i] % by with REMAINDER: the row of a place, or the place within its row.
// Bindings: params, 1 a, 2 out.
// Grid: one row of workgroups, looping; one element per invocation and step.
// Requires: nothing.
// Accuracy: exact.

struct Params {
    len: u32,
    by: u32,
    offset_out: u32,
}

override WG: u32 = 256u;
override REMAINDER: bool = false;

@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < params.len; i += groups.x * WG) {
        var part = a[i] / params.by;
        if REMAINDER {
            part = a[i] - part * params.by;
        }
        out[params.offset_out + i] = part;
    }
}
