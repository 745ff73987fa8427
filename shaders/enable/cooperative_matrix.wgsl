// Directive: matrices that the invocations of a subgroup hold together.
enable wgpu_cooperative_matrix;
