// Parameters of the kernels that sort pairs of a key and a place by one digit of the keys.

struct Params {
    len: u32,
    // Elements per workgroup, and how many workgroups that makes.
    span: u32,
    blocks: u32,
    // Where the digit begins.
    shift: u32,
}

override WG: u32 = 256u;

const BINS: u32 = 256u;

fn digit_of(ordered: u32) -> u32 {
    return (ordered >> params.shift) & (BINS - 1u);
}

// Workgroup number in a grid that was folded over x, y and z.
fn block_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
