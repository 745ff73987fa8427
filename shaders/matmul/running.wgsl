// Part of the kernels of tiles on matrix units whose operands become f16 on their way into workgroup memory: each is multiplied by a power of two, so that the largest magnitude of the tile's lines up to here lies in [2^14, 2^15).
// Where later parts have larger ones, sums are scaled to match. NaN and infinities flag the tile, which another kernel computes.
// So do smaller elements than f16 has room for, strays, where they matter. They are known less exactly: a sum of a certain magnitude is
// off by no more than the bound has for one term more, and only smaller sums need the other kernel.
// Bindings: out_1, a flag for each tile.
// Requires: Params, loaded, RANGE, magnitude, strays_of, scaled (units_bf16.wgsl and its like), stray.wgsl, doubt.wgsl, partial_sums, LOADS, SIDE.

@group(0) @binding(4) var<storage, read_write> out_1: array<u32>;

// By what an operand is multiplied, and the bits of the least magnitude above 0 that f16 has room for then.
struct Scale {
    factor: f32,
    least: u32,
}

struct Scales {
    a: Scale,
    b: Scale,
    // By what the sums up to here are multiplied.
    sums: f32,
}

// Sums shrink as exponents grow; beyond this they might lose bits.
const MOST_GROWTH: u32 = 60u;

// Exponents of f32 of the largest magnitudes of a and b: of the first part with others than 0, and up to here.
var<private> first_tops: vec2<u32>;
var<private> tops: vec2<u32>;
var<private> scales: Scales;
// How many strays have been seen, and in the uppermost bit whether the tile is flagged.
var<private> misfits: u32;
const UNFIT: u32 = 0x80000000u;

// The largest magnitudes of the parts that come next; for a barrier.
fn observe(next_a: ptr<function, array<loaded, LOADS>>, next_b: ptr<function, array<loaded, LOADS>>, lid: u32) {
    var top = vec2<u32>();
    for (var i = 0u; i < LOADS; i++) {
        top = max(top, vec2<u32>(magnitude((*next_a)[i]), magnitude((*next_b)[i])));
    }
    top = top >> vec2<u32>(23u);
    // Seldom: others know already, once all have written.
    if subgroupAny(top.x > tops.x || top.y > tops.y || all(tops == vec2<u32>())) {
        let of_all = subgroupMax(top);
        if lid % 32u == 0u {
            // Exponents are exact in f32.
            partial_sums[lid / 32u] = vec4<f32>(vec2<f32>(of_all), 0.0, 0.0);
        }
    }
}

fn scale_of(top: u32) -> Scale {
    let known = clamp(top, RANGE + 1u, 254u);
    return Scale(bitcast<f32>((268u - known) << 23u), (known - RANGE) << 23u);
}

// Behind the barrier.
fn scales_of_step() -> Scales {
    let of_all = max(
        max(partial_sums[0].xy, partial_sums[1].xy),
        max(partial_sums[2].xy, partial_sums[3].xy),
    );
    let before = tops;
    let now = vec2<u32>(of_all);
    scales.sums = 1.0;
    if any(now > before) {
        tops = max(before, now);
        first_tops = select(first_tops, tops, first_tops == vec2<u32>());
        let growth = tops - first_tops;
        // Infinity and NaN, magnitudes whose f16 would be of subnormals, too much growth.
        let fit = (tops < vec2<u32>(255u)) & ((tops > vec2<u32>(RANGE)) | (tops == vec2<u32>()));
        if !all(fit) || growth.x + growth.y > MOST_GROWTH {
            misfits |= UNFIT;
        }
        // As long as one operand was 0, so are the sums.
        let step = select(tops - before, vec2<u32>(), before == vec2<u32>());
        let less = min(step.x + step.y, 126u);
        scales = Scales(scale_of(tops.x), scale_of(tops.y), bitcast<f32>((127u - less) << 23u));
    }
    return scales;
}

fn halves(v: loaded, scale: Scale) -> vec4<f16> {
    misfits += strays_of(v, scale);
    return scaled(v, scale);
}

// The magnitude below which sums may be off because of strays, 0 without any; in uniform control flow. It takes no memory of its own:
// where operands and sums take 24 KiB, four bytes more leave a multiprocessor room for fewer workgroups.
fn doubtful(at: vec3<u32>, lid: u32) -> f32 {
    let strays = subgroupAdd(misfits & ~UNFIT);
    if lid % 32u == 0u {
        partial_sums[lid / 32u] = vec4<f32>(f32(strays));
    }
    workgroupBarrier();
    if lid == 0u {
        partial_sums[0].x = STRAY * (partial_sums[0].x + partial_sums[1].x + partial_sums[2].x + partial_sums[3].x);
    }
    return workgroupUniformLoad(&partial_sums[0]).x;
}

// Whether the sums of a tile are to be written; leaves its flag.
fn fitted(at: vec3<u32>, live: bool, lid: u32) -> bool {
    return kept(at, (misfits & UNFIT) != 0u, lid) && live;
}

// 2^e for e from -126 to 127.
fn power(e: i32) -> f32 {
    return bitcast<f32>(u32(e + 127) << 23u);
}

// Sums without the scales of both operands.
fn restored(batch: u32, row: u32, col: u32, v: vec4<acc>) -> vec4<acc> {
    let known = vec2<i32>(clamp(tops, vec2<u32>(RANGE + 1u), vec2<u32>(254u))) - vec2<i32>(141);
    // In two halves, so that only the result may be too large or too small.
    let half = (known.x + known.y) / 2;
    return v * power(half) * power(known.x + known.y - half);
}
