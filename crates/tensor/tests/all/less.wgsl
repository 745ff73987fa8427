@group(0) @binding(1) var<storage, read> whole: array<f32>;
@group(0) @binding(0) var<storage, read> part: array<f32>;
@group(0) @binding(2) var<storage, read_write> rest: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&rest) {
        rest[id.x] = whole[id.x] - part[id.x];
    }
}
