// Trip counts that differ, a return before the barrier, a switch, and a call.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

fn meet() {
    storageBarrier(); // FINDS divergence
}

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    for (var k = 0u; k < data[i] % 3u; k++) {
        workgroupBarrier(); // FINDS divergence
    }
    switch data[i] % 4u {
        case 1u: {
            workgroupBarrier(); // FINDS divergence
        }
        default: {
            meet();
        }
    }
    if i == 5u {
        return;
    }
    workgroupBarrier(); // FINDS divergence
    out[i] = i;
}
