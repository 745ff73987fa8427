var<workgroup> flag: u32;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    if i == 8u {
        flag = 1u;
    }
    let all = workgroupUniformLoad(&flag);
    if i == 9u {
        flag = 2u;
    }
    data[i] = all;
}
