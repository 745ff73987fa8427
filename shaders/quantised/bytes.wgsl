// Format part: the integers of a run are bytes without a sign. Requires bytes_of (format part); Run, numbers_of (planes.wgsl).

// The bytes of a run less `zero`, exactly.
fn integers_of(unit: Unit, run: u32, zero: f32) -> Run {
    let bytes = bytes_of(unit, run);
    return Run(numbers_of(bytes.x, zero), numbers_of(bytes.y, zero), numbers_of(bytes.z, zero), numbers_of(bytes.w, zero));
}
