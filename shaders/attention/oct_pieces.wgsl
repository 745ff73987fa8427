// Pieces of keys and values for few.wgsl and lanes.wgsl: nothing behind the last key, and behind the end of a head. Requires key_oct,
// value_oct (operand part).

fn key_piece(base: u32, key: u32, end: u32, d: u32) -> Packed {
    var piece = Packed();
    if key < end && d < params.head_dim {
        piece = key_oct(base + key * params.k_strides.z + d);
    }
    return piece;
}

fn value_piece(base: u32, key: u32, end: u32, column: u32) -> Packed {
    var piece = Packed();
    if key < end && column < params.value_dim {
        piece = value_oct(base + key * params.v_strides.z + column);
    }
    return piece;
}

fn any_zero(x: vec4<f32>) -> bool {
    return any(bitcast<vec4<u32>>(x) == vec4<u32>(0u));
}
