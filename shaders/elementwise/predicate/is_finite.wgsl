// Whether x is neither infinite nor NaN, by bits.

fn apply(x: elem) -> out_elem {
    return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u;
}
