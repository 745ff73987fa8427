// Pairs of an invocation.

const PER: u32 = 8u;
