// Computes: copies of matrices of f16 whose lines (rows of a and columns of b along k; with A_ACROSS and B_ACROSS the other way) begin at multiples of four elements, with zeros behind their ends: of chunk_len along k, and chunks columns of b.
// Bindings: params, a, b (declared by the operand parts), out_0, out_1 (the copies). tiles_m and tiles_n are vectors of each copy, 0 where there is none.
// Grid: an invocation for each vector of four, those of a first, folded.
// Requires: origin, folded, fetch_a4, fetch_b4 (0 outside).
// Accuracy: exact.

// 0: lines of a lie along k; 1: along the rows.
override A_ACROSS: u32 = 0u;
override B_ACROSS: u32 = 1u;

@group(0) @binding(3) var<storage, read_write> out_0: array<vec4<f16>>;
@group(0) @binding(4) var<storage, read_write> out_1: array<vec4<f16>>;

// Matrix, line in it, and first element of vector `i` of copies with so many lines of a length.
fn vector_at(i: u32, lines: u32, len: u32) -> vec3<u32> {
    let pitch = (len + 3u) / 4u;
    let line = i / pitch;
    return vec3<u32>(line / lines, line % lines, (i % pitch) * 4u);
}

@compute @workgroup_size(WG)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = folded(group, groups) * WG + lid;
    if i < params.tiles_m {
        if A_ACROSS == 1u {
            let at = vector_at(i, params.chunk_len, params.m);
            out_0[i] = fetch_a4(origin(at.x).a, at.z, at.y);
        } else {
            let at = vector_at(i, params.m, params.chunk_len);
            out_0[i] = fetch_a4(origin(at.x).a, at.y, at.z);
        }
    } else if i - params.tiles_m < params.tiles_n {
        let j = i - params.tiles_m;
        if B_ACROSS == 1u {
            let at = vector_at(j, params.chunk_len, params.chunks);
            out_1[j] = fetch_b4(origin(at.x).b, at.y, at.z);
        } else {
            let at = vector_at(j, params.chunks, params.chunk_len);
            out_1[j] = fetch_b4(origin(at.x).b, at.z, at.y);
        }
    }
}
