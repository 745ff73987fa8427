// Format part: blocks whose numbers are a scale times integers, with nothing added.

const HAS_LEAST: bool = false;

fn least_of(unit: Unit, run: u32) -> f32 {
    return 0.0;
}
