// The numbers of a run of a unit. Requires ZERO, HAS_LEAST, scales_of: the scale, and what is added over MULTIPLE (format part); Run (planes.wgsl); integers_of.

// The numbers as the format defines them.
fn run_of(unit: Unit, run: u32) -> Run {
    let scales = scales_of(unit, run);
    let n = integers_of(unit, run, ZERO);
    let least = scales.y * MULTIPLE;
    if HAS_LEAST {
        return Run(
            scales.x * n.v0 + least,
            scales.x * n.v1 + least,
            scales.x * n.v2 + least,
            scales.x * n.v3 + least,
        );
    }
    return Run(scales.x * n.v0, scales.x * n.v1, scales.x * n.v2, scales.x * n.v3);
}
