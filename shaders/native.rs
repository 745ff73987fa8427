//! Which files a program for the web leaves out, asked by `build.rs`: those for matrix units alone, which WebGPU has not, and
//! two in whose place others do the same a little slower, for their size.

/// Whether only kernels that are not in programs for the web have this file in them.
pub(crate) fn is_for_native_programs(path: &str) -> bool {
    FILES.contains(&path) || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Where all files are for them.
pub(crate) const FOLDERS: [&str; 1] = ["conv/packed/"];
/// Those in other folders.
pub(crate) const FILES: [&str; 43] = [
    "attention/bases.wgsl",
    "attention/blocks.wgsl",
    "attention/careful.wgsl",
    "attention/exponents.wgsl",
    "attention/flagged_heads.wgsl",
    "attention/halves.wgsl",
    "attention/halves_byte.wgsl",
    "attention/lanes_rows.wgsl",
    "attention/matrix.wgsl",
    "attention/pieces.wgsl",
    "attention/range_bf16.wgsl",
    "attention/range_f32.wgsl",
    "attention/ranges.wgsl",
    "attention/scaled.wgsl",
    "attention/scales.wgsl",
    "attention/two_halves.wgsl",
    "enable/cooperative_matrix.wgsl",
    "enable/subgroup_barriers.wgsl",
    "matmul/cooperative.wgsl",
    "matmul/doubt.wgsl",
    "matmul/flagged_tiles.wgsl",
    "matmul/lower_f32.wgsl",
    "matmul/no_doubts.wgsl",
    "matmul/out_columns.wgsl",
    "matmul/running.wgsl",
    "matmul/share_depth.wgsl",
    "matmul/split_lines.wgsl",
    "matmul/stray.wgsl",
    "matmul/streamed.wgsl",
    "matmul/tile_cooperative.wgsl",
    "matmul/tile_cooperative_64.wgsl",
    "matmul/tile_pieces.wgsl",
    "matmul/tile_split.wgsl",
    "matmul/tile_streamed.wgsl",
    "matmul/units_bf16.wgsl",
    "matmul/units_f16.wgsl",
    "matmul/units_f32.wgsl",
    "matmul/whole_depth.wgsl",
    "quantised/cooperative.wgsl",
    "quantised/four_runs.wgsl",
    "quantised/packed_rows.wgsl",
    "quantised/settled_tiles.wgsl",
    "quantised/two_runs.wgsl",
];
