// Cap part: scores as they are.

const CAPPED: bool = false;

fn capped(s: f32) -> f32 {
    return s;
}
