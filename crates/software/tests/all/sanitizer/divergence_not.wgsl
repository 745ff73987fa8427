@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    if i <= 60u {
        data[i] = 4u;
    }
    workgroupBarrier();
    for (var k = 0u; k < 4u; k++) {
        storageBarrier();
    }
}
