// Control flow, functions, pointers and private memory.
struct Pair { key: u32, value: vec2<f32> }
override LIMIT: u32 = 5u;
@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<Pair>;
var<private> depth: i32 = 3;

fn bump(slot: ptr<function, u32>, by: u32) -> u32 {
    *slot += by;
    if *slot > 40u { return 0u; }
    return *slot;
}

fn walk(start: u32) -> u32 {
    var at = start;
    for (var i = 0u; i < LIMIT; i++) {
        switch data[at % arrayLength(&data)] {
            case 0u, 1u: { continue; }
            case 2u: { at += 3u; break; }
            case 3u, default: { if i == 3u { return at; } at = at * 5u + 1u; }
        }
    }
    loop {
        if at < 9u { break; }
        at /= 2u;
        continuing { depth -= 1; break if depth < -20; }
    }
    while at < 4u { at++; }
    return at;
}

@compute @workgroup_size(32, 2)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) n: vec3<u32>) {
    let i = id.x + id.y * n.x * 32u;
    if i >= arrayLength(&out) { return; }
    var sum = walk(i);
    let again = bump(&sum, i & 7u);
    var parts = array<u32, 4>(again, sum, i, 7u);
    parts[i & 3u] = parts[(i + 1u) & 3u] ^ 0x55u;
    out[i] = Pair(parts[i % 4u], vec2<f32>(f32(again), select(0.5, 1.5, (i & 1u) == 0u)));
}
