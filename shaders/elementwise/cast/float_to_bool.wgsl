// x != 0, by bits: NaN and subnormals are true, -0.0 is false.

fn apply(x: elem) -> out_elem {
    return (bitcast<u32>(x) & 0x7fffffffu) != 0u;
}
