// Writing four consecutive elements of a dense output; a partial last vector keeps what lies behind it.
// Requires: Params with len and offset_out; out as array<out_words>; out_elem, out_words, pack, merge.

fn emit(vector: u32, v: vec4<out_elem>) {
    emit_packed(vector, pack(v));
}

fn emit_packed(vector: u32, packed: out_words) {
    let at = params.offset_out / 4u + vector;
    let left = params.len - vector * 4u;
    if left >= 4u {
        out[at] = packed;
    } else {
        out[at] = merge(out[at], packed, left); // sanitizer: allow(uninitialized): keeps what lies behind the output
    }
}
