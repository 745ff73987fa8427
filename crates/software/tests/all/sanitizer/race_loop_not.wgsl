// The next turn of a loop overwrites what others still read.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
var<workgroup> tile: array<u32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32) {
    var sum = 0u;
    for (var k = 0u; k < 3u; k++) {
        tile[i] = data[i + k];
        workgroupBarrier();
        sum += tile[63u - i];
        workgroupBarrier();
    }
    out[i] = sum;
}
