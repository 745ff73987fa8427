// Directive: 16-bit floats as a type.
enable f16;
