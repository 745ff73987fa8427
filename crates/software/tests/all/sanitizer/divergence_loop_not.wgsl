// Trip counts that differ, a return before the barrier, a switch, and a call.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn meet() {
    storageBarrier();
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    for (var k = 0u; k < data[3] % 5u; k++) {
        workgroupBarrier();
    }
    switch data[5] % 4u {
        case 1u: {
            workgroupBarrier();
        }
        default: {
            meet();
        }
    }
    workgroupBarrier();
    if i == 5u {
        return;
    }
    out[i] = i;
}
