// Writing one element of a 32-bit dtype anywhere in `out`. Comes after a store part.

alias cell = out_elem;

fn store1(i: u32, v: out_elem) {
    out[i] = v;
}
