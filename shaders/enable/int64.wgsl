// Directive: 64-bit integers. naga knows them without one.
