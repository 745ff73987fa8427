// Operand part: a convolution with kernels of one element and nothing skipped or padded: one matrix product per image and
// group, columns are the positions. Fetches and stores are up to pointwise_word.wgsl and pointwise_vec4.wgsl.

struct Operands {
    w: u32,
    x: u32,
}

fn batches() -> u32 {
    return params.batch * params.groups;
}

fn operands(batch: u32, row: u32, col: u32) -> Operands {
    let group = batch % params.groups;
    return Operands(
        params.w_offset + group * params.w_group + row * params.w_filter,
        params.x_offset + (batch / params.groups) * params.x_batch + group * params.x_group,
    );
}
