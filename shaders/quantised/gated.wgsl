// Gate part of products with blocks: SwiGLU, rows of the first half of w are gates of those of the second. A tile has four of each.
// Requires: times_sigmoid.

const GATED: bool = true;

fn gated(gate: f32, x: f32) -> f32 {
    return times_sigmoid(gate, gate) * x;
}
