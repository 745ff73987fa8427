// The combination of what the lanes of a row have, for all of them: always in the same order, with two barriers.
// Requires: lane_acc, combine_lanes (lanes part).

var<workgroup> partial_acc: array<lane_acc, WG>;
var<workgroup> partial_group: array<lane_acc, WG>;

// Accumulators that an invocation combines one after the other.
const FAN: u32 = 16u;

fn over_lanes(lid: u32, lane: u32, v: lane_acc) -> lane_acc {
    var all = v;
    if LANES > 1u {
        let first = lid - lane * LANE_STEP;
        partial_acc[lid] = v;
        workgroupBarrier();
        if LANES <= FAN {
            all = partial_acc[first];
            for (var i = 1u; i < LANES; i++) {
                all = combine_lanes(all, partial_acc[first + i * LANE_STEP]);
            }
            // The next one writes there.
            workgroupBarrier();
        } else {
            if lane < LANES / FAN {
                var some = partial_acc[lid];
                for (var i = 1u; i < FAN; i++) {
                    some = combine_lanes(some, partial_acc[lid + i * (LANES / FAN) * LANE_STEP]);
                }
                partial_group[lid] = some;
            }
            workgroupBarrier();
            all = partial_group[first];
            for (var i = 1u; i < LANES / FAN; i++) {
                all = combine_lanes(all, partial_group[first + i * LANE_STEP]);
            }
        }
    }
    return all;
}
