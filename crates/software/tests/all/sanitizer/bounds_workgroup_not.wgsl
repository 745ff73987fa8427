struct Row { cells: array<u32, 8> }
var<workgroup> rows: array<Row, 8>;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
    rows[i].cells[0] = i;
    rows[7u - i].cells[(i % 7u) + 1u] = i;
    workgroupBarrier();
    data[i] = rows[(i + 1u) % 8u].cells[0];
}
