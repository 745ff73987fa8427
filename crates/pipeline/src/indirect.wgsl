// Computes: out = the three counts from `first` on, or none where one of them is beyond LIMIT.
// Bindings: 0 first, 1 counts, 2 out.
// Grid: one workgroup.
// Requires: nothing.
// Accuracy: exact.

override LIMIT: u32 = 65535u;

@group(0) @binding(0) var<uniform> first: u32;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<u32, 3>;

@compute @workgroup_size(1)
fn main() {
    let x = counts[first];
    let y = counts[first + 1u];
    let z = counts[first + 2u];
    let is_legal = x <= LIMIT && y <= LIMIT && z <= LIMIT;
    out[0] = select(0u, x, is_legal);
    out[1] = select(0u, y, is_legal);
    out[2] = select(0u, z, is_legal);
}
