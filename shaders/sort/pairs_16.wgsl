const PER: u32 = 16u;
