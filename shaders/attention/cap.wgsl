// Cap part: scores kept within the cap, smoothly. Requires `apply`: the hyperbolic tangent.

const CAPPED: bool = true;

fn capped(s: f32) -> f32 {
    return params.softcap * apply(s / params.softcap);
}
