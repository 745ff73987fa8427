// Format part: blocks whose numbers are a scale times integers on both sides of zero, with nothing added: these are multiplied with
// their signs, so that what is zero adds nothing. Requires ZERO (format part); integers_of.

const HAS_LEAST: bool = false;
// What x is multiplied by where integers are divided by as much.
const MULTIPLE: f32 = 1.0;

fn factors_of(unit: Unit, run: u32) -> Run {
    return integers_of(unit, run, ZERO);
}
