// Directive: exchange between the invocations of a subgroup. naga knows it without `enable subgroups;`, and does not take that yet.
