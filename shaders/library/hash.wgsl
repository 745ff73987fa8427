// Hashes of integers, in which every bit of the result depends on every bit of the argument: hash_u32(x), hash2_u32(x).
// Source: Wellons, "lowbias32". For random numbers that tests of randomness pass, take philox.

fn hash_u32(x: u32) -> u32 {
    var h = x;
    h ^= h >> 16u;
    h *= 0x7feb352du;
    h ^= h >> 15u;
    h *= 0x846ca68bu;
    h ^= h >> 16u;
    return h;
}

fn hash2_u32(x: vec2<u32>) -> u32 {
    return hash_u32(x.x ^ hash_u32(x.y + 0x9e3779b9u));
}
