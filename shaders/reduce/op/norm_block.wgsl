// Block part for norm.wgsl, with its tail: as reduce/block.wgsl and reduce/tail.wgsl, in the same order, in loops. Compilers write
// out every call of a function: with 24 powers in a kernel a browser's software adapter takes minutes for a pipeline.

fn four(x: vec4<elem>) -> acc {
    var elements = x;
    var lifted: array<acc, 4>;
    for (var i = 0u; i < 4u; i++) {
        lifted[i] = lift(elements[i]);
    }
    return combine(combine(lifted[0], lifted[1]), combine(lifted[2], lifted[3]));
}

fn block(x: vec4<elem>, y: vec4<elem>, z: vec4<elem>, w: vec4<elem>) -> acc {
    var groups = array<vec4<elem>, 4>(x, y, z, w);
    var sums: array<acc, 4>;
    for (var i = 0u; i < 4u; i++) {
        sums[i] = four(groups[i]);
    }
    return combine(combine(sums[0], sums[1]), combine(sums[2], sums[3]));
}

fn tail(total: acc, x: vec4<elem>, left: u32) -> acc {
    if left > 3u {
        return combine(total, four(x));
    }
    var elements = x;
    var all = total;
    for (var i = 0u; i < left; i++) {
        all = combine(all, lift(elements[i]));
    }
    return all;
}
