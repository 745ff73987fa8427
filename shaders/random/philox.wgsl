// Philox4x32-10: four random words from a counter and a key, by integer arithmetic alone, so the same on every adapter.
// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
// Requires: wide_product.

fn philox(first_counter: vec4<u32>, first_key: vec2<u32>) -> vec4<u32> {
    var counter = first_counter;
    var round_key = first_key;
    for (var round_number = 0u; round_number < 10u; round_number++) {
        let p = wide_product(0xd2511f53u, counter.x);
        let q = wide_product(0xcd9e8d57u, counter.z);
        counter = vec4<u32>(q.y ^ counter.y ^ round_key.x, q.x, p.y ^ counter.w ^ round_key.y, p.x);
        round_key += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter;
}
