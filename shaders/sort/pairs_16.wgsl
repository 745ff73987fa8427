// Pairs of an invocation.

const PER: u32 = 16u;
