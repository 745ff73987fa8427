// Directive: atomics on f32. naga knows them without one.
