// Reductions over a workgroup of 256 invocations, in one fixed tree, so that the same values give the same bits on every run:
// workgroup_sum(value, local_invocation_index), workgroup_max. All invocations call them together and all get the result.
// The largest of values among which is a NaN is NaN. Requires prelude/float.wgsl.

var<workgroup> reduced_256: array<f32, 256>;

fn workgroup_sum(value: f32, local: u32) -> f32 {
    reduced_256[local] = value;
    for (var half = 128u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if local < half {
            reduced_256[local] += reduced_256[local + half];
        }
    }
    let total = workgroupUniformLoad(&reduced_256[0]);
    return total;
}

fn larger_or_nan(a: f32, b: f32) -> f32 {
    let largest = select(max(a, b), b, is_nan(b));
    return select(largest, a, is_nan(a));
}

fn workgroup_max(value: f32, local: u32) -> f32 {
    reduced_256[local] = value;
    for (var half = 128u; half > 0u; half >>= 1u) {
        workgroupBarrier();
        if local < half {
            reduced_256[local] = larger_or_nan(reduced_256[local], reduced_256[local + half]);
        }
    }
    let largest = workgroupUniformLoad(&reduced_256[0]);
    return largest;
}
