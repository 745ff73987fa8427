// Operand part: the planes of blocks are the second operand.

@group(0) @binding(2) var<storage, read> blocks: array<vec4<u32>>;
