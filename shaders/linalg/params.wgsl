// Shared by the small linear algebra kernels: batches of n x n matrices and right sides n x columns, dense f32.

struct Params {
    batch: u32,
    n: u32,
    columns: u32,
    a_offset: u32,
    b_offset: u32,
    c_offset: u32,
    upper: u32,
    unit: u32,
    // The columns (of a factorisation) or rows (of a substitution) that this dispatch works through.
    first: u32,
    end: u32,
}

override WG: u32 = 64u;

// Workgroup number in a grid that was folded over x, y and z.
fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
