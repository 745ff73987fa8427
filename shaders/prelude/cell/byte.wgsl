// Writing one 8-bit element anywhere in `out`: atomics keep the neighbours that other invocations write.
// Comes after a store part.

alias cell = atomic<u32>;

fn store1(i: u32, v: out_elem) {
    let shift = (i & 3u) * 8u;
    atomicAnd(&out[i >> 2u], ~(0xffu << shift));
    atomicOr(&out[i >> 2u], out_bits(v) << shift);
}
