// Window part: the sum of the elements by the number of counted positions (0 where none is counted).

alias acc = f32;

fn start() -> acc {
    return 0.0;
}

fn combine(x: acc, y: elem) -> acc {
    return x + y;
}

fn finish(v: acc, count: u32) -> out_elem {
    return v / f32(max(count, 1u));
}
