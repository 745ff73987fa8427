// Sums of four rows, for few.wgsl and lanes_rows.wgsl. Requires rows.wgsl, oct_pieces.wgsl, oct_of (operand part).

// Sums of the rows for eight columns.
struct Sums {
    lo: Rows,
    hi: Rows,
}

fn add_value(sums: ptr<function, Sums>, x: vec4<f32>, packed: Packed) {
    let v = oct_of(packed);
    if any_zero(x) {
        (*sums).lo = plus_odd((*sums).lo, x, v.lo);
        (*sums).hi = plus_odd((*sums).hi, x, v.hi);
    } else {
        (*sums).lo = plus((*sums).lo, x, v.lo);
        (*sums).hi = plus((*sums).hi, x, v.hi);
    }
}

// Scales the sums of each row; those that fade to nothing are nothing, whatever they are.
fn fade(sums: ptr<function, Sums>, x: vec4<f32>) {
    if any_zero(x) {
        *sums = Sums(times_odd((*sums).lo, x), times_odd((*sums).hi, x));
    } else {
        *sums = Sums(times((*sums).lo, x), times((*sums).hi, x));
    }
}

fn element(v: vec4<f32>, i: u32) -> f32 {
    return select(select(v.w, v.z, i == 2u), select(v.y, v.x, i == 0u), i < 2u);
}

fn row_of(rows: Rows, i: u32) -> vec4<f32> {
    return select(select(rows.d, rows.c, i == 2u), select(rows.b, rows.a, i == 0u), i < 2u);
}
