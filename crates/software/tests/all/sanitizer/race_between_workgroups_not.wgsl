// workgroups: 4
@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) wid: vec3<u32>) {
    if i == 0u {
        data[wid.x] = wid.x;
    }
}
