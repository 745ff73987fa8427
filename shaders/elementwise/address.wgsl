// Where the operands' elements lie: from a linear index to one element index per operand.
// Requires: Params of strided_params.wgsl.

override RANK: u32 = 1u;

// Element indices of a, b and c at linear index `i`, which must be less than `params.len`.
fn address(i: u32) -> vec3<u32> {
    var rest = i;
    var at = vec3<u32>(params.offset_a, params.offset_b, params.offset_c);
    for (var d = RANK - 1u; d > 0u; d--) {
        let axis = params.axes[d];
        let outer = rest / axis.x;
        at += vec3<u32>(rest - outer * axis.x) * axis.yzw;
        rest = outer;
    }
    return at + vec3<u32>(rest) * params.axes[0].yzw;
}
