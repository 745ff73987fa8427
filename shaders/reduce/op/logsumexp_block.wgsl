// Block part for logsumexp.wgsl: sixteen elements beside the greatest of them.
// Requires: weight.

fn greatest4(x: vec4<elem>) -> i32 {
    return max(max(to_key(x.x), to_key(x.y)), max(to_key(x.z), to_key(x.w)));
}

fn weights4(x: vec4<elem>, greatest: f32) -> f32 {
    return (weight(x.x, greatest) + weight(x.y, greatest)) + (weight(x.z, greatest) + weight(x.w, greatest));
}

fn block(x: vec4<elem>, y: vec4<elem>, z: vec4<elem>, w: vec4<elem>) -> acc {
    let top = max(max(greatest4(x), greatest4(y)), max(greatest4(z), greatest4(w)));
    if top == LOWEST || top >= HIGHEST {
        return acc(top, 1.0);
    }
    let greatest = from_key(top);
    let sum = (weights4(x, greatest) + weights4(y, greatest)) + (weights4(z, greatest) + weights4(w, greatest));
    return acc(top, sum);
}
