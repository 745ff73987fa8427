// Output part: the third binding.

@group(0) @binding(3) var<storage, read_write> out: array<cell>;
