struct Line {
    slope: f32,
    start: vec2<f32>,
}
@group(0) @binding(0) var<uniform> line: Line;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) {
        y[id.x] = line.start.x + line.start.y + line.slope * x[id.x];
    }
}
