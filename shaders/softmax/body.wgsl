// Computes: out = exp(x - max) / sum(exp(x - max)), or its logarithm, along one axis, in f32. A row whose maximum is NaN, +inf or -inf is all NaN.
// Bindings: params, a (any strides; declared by the value part), out (contiguous; `count` is the number of elements after the axis).
// Grid: ceil(outputs / ROWS) workgroups, folded; a row is one position of the other axes.
// Requires: load_value, share, weight, to_key, from_key; params.identity is the key of -inf.
// Accuracy: (8 + 2 √n) ε of the share for rows of n elements, then one rounding to the dtype; logarithms (12 + 2 √n + 4 max|x|) ε.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;

var<workgroup> partial_key: array<i32, WG>;
var<workgroup> partial_sum: array<f32, WG>;

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = (lid / ROW_STEP) % ROWS;
    let lane = (lid / LANE_STEP) % LANES;
    let first = lid - lane * LANE_STEP;
    let output = folded(group, groups) * ROWS + row;
    let live = output < params.outputs;
    var base = 0u;
    if live {
        base = kept_offset(output);
    }

    var top = bitcast<i32>(params.identity);
    if live {
        for (var r = lane; r < params.len; r += LANES) {
            top = max(top, to_key(load_value(base + reduced_offset(r))));
        }
    }
    partial_key[lid] = top;
    workgroupBarrier();
    for (var s = LANES / 2u; s > 0u; s /= 2u) {
        if lane < s {
            partial_key[lid] = max(partial_key[lid], partial_key[lid + s * LANE_STEP]);
        }
        workgroupBarrier();
    }
    let greatest = from_key(partial_key[first]);
    let finite = (bitcast<u32>(greatest) & 0x7f800000u) != 0x7f800000u;

    var total = 0.0;
    if live && finite {
        for (var r = lane; r < params.len; r += LANES) {
            total += weight(load_value(base + reduced_offset(r)), greatest);
        }
    }
    partial_sum[lid] = total;
    workgroupBarrier();
    for (var s = LANES / 2u; s > 0u; s /= 2u) {
        if lane < s {
            partial_sum[lid] += partial_sum[lid + s * LANE_STEP];
        }
        workgroupBarrier();
    }
    let sum = partial_sum[first];

    if live {
        let inner = params.count;
        let out_base = params.out_offset + (output / inner) * params.len * inner + output % inner;
        for (var r = lane; r < params.len; r += LANES) {
            var y = nan_f32();
            if finite {
                y = share(load_value(base + reduced_offset(r)), greatest, sum);
            }
            store1(out_base + r * inner, y);
        }
    }
}
