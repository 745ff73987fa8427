const PER: u32 = 8u;
