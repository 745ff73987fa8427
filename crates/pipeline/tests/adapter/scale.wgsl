struct Params {
    factor: f32,
    size: vec2<u32>,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> image: array<f32>;
@group(0) @binding(2) var<uniform> offset: f32;

@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.size.x * params.size.y {
        image[id.x] = image[id.x] * params.factor + offset;
    }
}

@compute @workgroup_size(4)
fn add(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&image) {
        image[id.x] += offset;
    }
}
