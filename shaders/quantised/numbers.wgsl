// The numbers of a run of a unit. Requires ZERO, HAS_LEAST, scale_of, least_of (format part); Run (planes.wgsl); integers_of.

// The numbers as the format defines them.
fn run_of(unit: Unit, run: u32) -> Run {
    let scale = scale_of(unit, run);
    let n = integers_of(unit, run, ZERO);
    if HAS_LEAST {
        let least = least_of(unit, run);
        return Run(scale * n.v0 + least, scale * n.v1 + least, scale * n.v2 + least, scale * n.v3 + least);
    }
    return Run(scale * n.v0, scale * n.v1, scale * n.v2, scale * n.v3);
}
