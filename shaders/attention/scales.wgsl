// What the operands of a head are multiplied by to become f16, by their exponents. Requires exponent_of (exponents.wgsl), Factors.

fn factors_of(share: Share) -> Factors {
    let q = exponent_of(share, QUERIES);
    let k = exponent_of(share, KEYS_OF_HEAD);
    let v = exponent_of(share, VALUES_OF_HEAD);
    if q == UNFIT || k == UNFIT || v == UNFIT {
        return Factors(0.0, 0.0, 0.0, 0.0, 0.0, true);
    }
    return Factors(power_of(-q), power_of(-k), power_of(-v), params.scale * power_of(q) * power_of(k), power_of(v), false);
}
