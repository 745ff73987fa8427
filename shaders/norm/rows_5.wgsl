// Rows part: the accumulators of the rows' chunks, behind the bindings of a weight and a bias.
// The name is that of no input of a fused expression.

@group(0) @binding(5) var<storage, read> in_99: array<acc>;
