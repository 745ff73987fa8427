// Computes: one value per output: combine over accumulators left by an earlier pass, one after the other, where those of neighbouring
//           outputs are neighbours in memory: four outputs at a time, of which four accumulators are loaded at once.
// Bindings: params, a, out (four neighbours in a vector each).
// Grid: ceil(outputs / 4 / WG) workgroups, folded.
// Requires: acc, start, combine, finish (operator part); kept_offset, reduced_offset; store4.
// Accuracy: that of the operator part.

@group(0) @binding(1) var<storage, read> a: array<vec4<acc>>;
@group(0) @binding(2) var<storage, read_write> out: array<cell>;

fn layer(base: u32, r: u32) -> vec4<acc> {
    return a[(base + reduced_offset(min(r, params.len - 1u))) / 4u];
}

fn combine4(x: vec4<acc>, y: vec4<acc>) -> vec4<acc> {
    return vec4<acc>(combine(x.x, y.x), combine(x.y, y.y), combine(x.z, y.z), combine(x.w, y.w));
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let output = 4u * (folded(group, groups) * WG + lid);
    if output < params.outputs {
        let base = kept_offset(output);
        var total = vec4<acc>(start());
        for (var r = 0u; r < params.len; r += 4u) {
            let x = layer(base, r);
            let y = layer(base, r + 1u);
            let z = layer(base, r + 2u);
            let w = layer(base, r + 3u);
            total = combine4(total, x);
            if r + 1u < params.len {
                total = combine4(total, y);
            }
            if r + 2u < params.len {
                total = combine4(total, z);
            }
            if r + 3u < params.len {
                total = combine4(total, w);
            }
        }
        store4(
            params.out_offset + output,
            vec4<out_elem>(finish(total.x), finish(total.y), finish(total.z), finish(total.w)),
        );
    }
}
