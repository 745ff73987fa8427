// Cap part: scores as they are.

fn capped(s: f32) -> f32 {
    return s;
}
