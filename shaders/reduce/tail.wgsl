// Tail part: what a lane's last elements, `left` of the four or all of them, accumulate to with what it has.
// Requires: lift, combine (operator part).

fn tail(total: acc, x: vec4<elem>, left: u32) -> acc {
    if left > 3u {
        return combine(total, combine(combine(lift(x.x), lift(x.y)), combine(lift(x.z), lift(x.w))));
    }
    var all = combine(total, lift(x.x));
    if left > 1u {
        all = combine(all, lift(x.y));
    }
    if left > 2u {
        all = combine(all, lift(x.z));
    }
    return all;
}
