// Writing one 16-bit element anywhere in `out`: atomics keep the neighbour that another invocation writes.
// Comes after a store part.

alias cell = atomic<u32>;

fn store1(i: u32, v: out_elem) {
    let shift = (i & 1u) * 16u;
    atomicAnd(&out[i >> 1u], ~(0xffffu << shift));
    atomicOr(&out[i >> 1u], out_bits(v) << shift);
}
