// Lanes part: each lane has the accumulators of four outputs.

alias lane_acc = array<acc, 4>;

fn combine_lanes(x: lane_acc, y: lane_acc) -> lane_acc {
    return lane_acc(combine(x[0], y[0]), combine(x[1], y[1]), combine(x[2], y[2]), combine(x[3], y[3]));
}
