// Lanes part: each lane has one accumulator.

alias lane_acc = acc;

fn combine_lanes(x: lane_acc, y: lane_acc) -> lane_acc {
    return combine(x, y);
}
