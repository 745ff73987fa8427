// Block part: what sixteen elements accumulate to, in a fixed order.
// Requires: lift, combine (operator part).

fn four(x: vec4<elem>) -> acc {
    return combine(combine(lift(x.x), lift(x.y)), combine(lift(x.z), lift(x.w)));
}

fn block(x: vec4<elem>, y: vec4<elem>, z: vec4<elem>, w: vec4<elem>) -> acc {
    return combine(combine(four(x), four(y)), combine(four(z), four(w)));
}
