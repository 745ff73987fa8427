// Part of the kernels of tiles of f16 on matrix units: how much of the inner extent is in workgroup memory at a time.

const DEPTH: u32 = 32u;
