// x / y of numbers of 16 bits, so that it is correctly rounded when it is stored in as many. Requires functions/divide.wgsl.

fn apply(x: elem, y: elem) -> elem {
    let exponents = vec2<u32>(bitcast<u32>(x) >> 23u, bitcast<u32>(y) >> 23u) & vec2<u32>(0xffu);
    if all(exponents - vec2<u32>(66u) < vec2<u32>(123u)) {
        // Both from 2^-61 to below 2^62. The first 12 bits of the quotient times y are exact in f32, and so is what that leaves of x. With
        // it the quotient is less than 2^-23 of itself off, and no nearer than that to a number halfway between two of 11 bits.
        let reciprocal = 1.0 / y;
        let first = bitcast<f32>(bitcast<u32>(x * reciprocal) & 0xfffff000u);
        return first + (x - first * y) * reciprocal;
    }
    return divide_f32(x, y);
}
