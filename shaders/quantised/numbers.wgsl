// The numbers of a run of a unit. Requires ZERO, HAS_LEAST, scales_of: the scale and what is added (format part); Run (planes.wgsl); integers_of.

// The numbers as the format defines them.
fn run_of(unit: Unit, run: u32) -> Run {
    let scales = scales_of(unit, run);
    let n = integers_of(unit, run, ZERO);
    if HAS_LEAST {
        return Run(
            scales.x * n.v0 + scales.y,
            scales.x * n.v1 + scales.y,
            scales.x * n.v2 + scales.y,
            scales.x * n.v3 + scales.y,
        );
    }
    return Run(scales.x * n.v0, scales.x * n.v1, scales.x * n.v2, scales.x * n.v3);
}
