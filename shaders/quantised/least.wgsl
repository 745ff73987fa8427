// Format part: blocks whose numbers are a scale times integers that are not negative, and something that is added. Requires bytes_of
// (format part); Run, small_of (planes.wgsl).

const HAS_LEAST: bool = true;
// What x is multiplied by where integers are divided by as much.
const MULTIPLE: f32 = 16777216.0;

// The integers of a run, divided by MULTIPLE.
fn factors_of(unit: Unit, run: u32) -> Run {
    let bytes = bytes_of(unit, run);
    return Run(small_of(bytes.x), small_of(bytes.y), small_of(bytes.z), small_of(bytes.w));
}
