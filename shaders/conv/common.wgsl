// Shared by the convolution kernels, in up to three dimensions. x is [batch, groups * channels, extent], out is contiguous
// [batch, groups * filters, result].

override WG: u32 = 256u;
// 1: the depth is more than 1 somewhere.
override VOLUME: u32 = 0u;

alias acc = elem;

// Workgroup number in a grid that was folded over x, y and z.
fn folded(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + (group.y + group.z * groups.y) * groups.x;
}
