// Output part: the second binding.

@group(0) @binding(2) var<storage, read_write> out: array<cell>;
