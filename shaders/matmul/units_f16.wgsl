// Part of the kernels of tiles on matrix units: operands are f16, and multiplied as they are. Requires elements_f16.wgsl.

struct Scales {
    a: u32,
    b: u32,
    sums: f32,
}

// Before a part of the operands is put into workgroup memory.
fn observe(next_a: ptr<function, array<loaded, LOADS>>, next_b: ptr<function, array<loaded, LOADS>>, lid: u32) {}

fn scales_of_step() -> Scales {
    return Scales(0u, 0u, 1.0);
}

fn halves(v: loaded, scale: u32) -> vec4<f16> {
    return v;
}
