// Vectors per row of an invocation, and sums of them.

// Four vectors: one per row of an invocation, or one per element.
struct Rows {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

// Eight neighbouring elements.
struct Oct {
    lo: vec4<f32>,
    hi: vec4<f32>,
}

fn plus(to: Rows, x: vec4<f32>, v: vec4<f32>) -> Rows {
    return Rows(to.a + x.x * v, to.b + x.y * v, to.c + x.z * v, to.d + x.w * v);
}

// The same where v may be NaN or infinite: a weight of 0 leaves it out. By bits: NaN must not pass for 0.
fn plus_odd(to: Rows, x: vec4<f32>, v: vec4<f32>) -> Rows {
    let out = bitcast<vec4<u32>>(x) == vec4<u32>(0u);
    let none = vec4<f32>();
    return Rows(
        to.a + x.x * select(v, none, out.x),
        to.b + x.y * select(v, none, out.y),
        to.c + x.z * select(v, none, out.z),
        to.d + x.w * select(v, none, out.w),
    );
}

fn times(rows: Rows, x: vec4<f32>) -> Rows {
    return Rows(rows.a * x.x, rows.b * x.y, rows.c * x.z, rows.d * x.w);
}

// Sums that fade to nothing are nothing, whatever they are.
fn times_odd(rows: Rows, x: vec4<f32>) -> Rows {
    let out = bitcast<vec4<u32>>(x) == vec4<u32>(0u);
    let none = vec4<f32>();
    return Rows(
        select(rows.a * x.x, none, out.x),
        select(rows.b * x.y, none, out.y),
        select(rows.c * x.z, none, out.z),
        select(rows.d * x.w, none, out.w),
    );
}
