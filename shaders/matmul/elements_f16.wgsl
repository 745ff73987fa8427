// Part of the kernels on matrix units that read f16: an element, and four.

alias value = f16;
alias loaded = vec4<f16>;
