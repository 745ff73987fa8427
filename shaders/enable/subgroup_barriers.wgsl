// Directive: barriers of a subgroup alone. naga knows them without one.
