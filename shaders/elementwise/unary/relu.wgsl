// max(x, 0), keeping NaN and -0.0: by bits, because `max` may drop a NaN.

fn apply(x: elem) -> elem {
    let bits = bitcast<u32>(x);
    return select(x, 0.0, bits > 0x80000000u && bits <= 0xff800000u);
}
