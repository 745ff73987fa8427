// Computes: out[i] = a[source of i], where each axis of out is that of a shifted by `begin` and continued at both ends:
//           with one value, reflected with or without the edge, by the edge, or circularly. Bare bits.
// Bindings: params, 1 a (any strides), 2 out (contiguous).
// Grid: one row of workgroups, looping; four elements per invocation and step.
// Requires: word, word_index, from_word, elem = u32; out_words, emit. a has elements unless MODE is 0.
// Accuracy: exact.

struct Params {
    len: u32,
    offset_out: u32,
    offset_a: u32,
    value: u32,
    // Outermost first: extent of out, extent of a, stride of a, and where a begins in out (two's complement).
    axes: array<vec4<u32>, 8>,
}

override WG: u32 = 256u;
override RANK: u32 = 1u;
override MODE: u32 = 0u;

const CONSTANT: u32 = 0u;
const REFLECT: u32 = 1u;
const SYMMETRIC: u32 = 2u;
const REPLICATE: u32 = 3u;

@group(0) @binding(1) var<storage, read> a: array<word>;
@group(0) @binding(2) var<storage, read_write> out: array<out_words>;

fn modulo(x: i32, n: i32) -> i32 {
    // Not `%`: GLSL leaves it undefined for negative operands.
    let rest = x - x / n * n;
    return select(rest, rest + n, rest < 0);
}

// The position within n elements that continues them at x.
fn continued(x: i32, n: i32) -> i32 {
    if MODE == REFLECT {
        let period = max(2 * n - 2, 1);
        let at = modulo(x, period);
        return select(at, period - at, at >= n);
    }
    if MODE == SYMMETRIC {
        let at = modulo(x, 2 * n);
        return select(at, 2 * n - 1 - at, at >= n);
    }
    if MODE == REPLICATE {
        return clamp(x, 0, n - 1);
    }
    return modulo(x, n);
}

fn lane(i: u32) -> u32 {
    var rest = min(i, params.len - 1u);
    var at = params.offset_a;
    var inside = true;
    for (var d = RANK; d > 0u; d--) {
        let axis = params.axes[d - 1u];
        let outer = rest / axis.x;
        var place = rest - outer * axis.x - axis.w;
        rest = outer;
        if MODE == CONSTANT {
            inside = inside && place < axis.y;
        } else {
            place = bitcast<u32>(continued(bitcast<i32>(place), bitcast<i32>(axis.y)));
        }
        at += place * axis.z;
    }
    var bits = params.value;
    if inside {
        bits = from_word(a[word_index(at)], at);
    }
    return bits;
}

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let vectors = (params.len + 3u) / 4u;
    for (var vector = id.x; vector < vectors; vector += groups.x * WG) {
        let i = vector * 4u;
        emit(vector, vec4<u32>(lane(i), lane(i + 1u), lane(i + 2u), lane(i + 3u)));
    }
}
