// The kernel's parameters as a uniform at binding 0; storage bindings start at 1 either way.
// The body declares `struct Params`.
@group(0) @binding(0) var<uniform> params: Params;
