// Operand part: the planes of blocks are the first operand.

@group(0) @binding(1) var<storage, read> blocks: array<vec4<u32>>;
