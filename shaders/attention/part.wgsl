// State part: other workgroups see other keys of a row; what this one has of it is left to merge.wgsl. Requires state_at.

@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;

fn finish(share: Share, row: u32, column: u32, sums: vec4<f32>, top: f32, total: f32) {
    let at = state_at(share.split, share.batch, share.kv_head, row - params.row0);
    if column < params.value_dim {
        out[at + column / 4u] = sums;
    }
    if column == 0u {
        out[at + state_pitch() - 1u] = vec4<f32>(top, total, 0.0, 0.0);
    }
}
