// Scores with cap and bias, -inf where a key is hidden. Requires capped (cap part), bias_at (mask part), seen_by_any.

// Whose scores they are.
struct Query {
    batch: u32,
    head: u32,
    query: u32,
    position: i32,
}

fn seen_score(s: f32, at: Query, key: u32, keys: u32) -> f32 {
    let seen = seen_by_any(at.position, at.position, keys);
    if key < seen.x || key >= seen.y {
        return -inf_f32();
    }
    let bias = bias_at(at.batch, at.head, at.query, key);
    if bitcast<u32>(bias) == HIDDEN {
        return bias;
    }
    return capped(s) + bias;
}

// Of four neighbouring keys.
fn seen_scores(s: vec4<f32>, at: Query, first: u32, keys: u32) -> vec4<f32> {
    return vec4<f32>(
        seen_score(s.x, at, first, keys),
        seen_score(s.y, at, first + 1u, keys),
        seen_score(s.z, at, first + 2u, keys),
        seen_score(s.w, at, first + 3u, keys),
    );
}
