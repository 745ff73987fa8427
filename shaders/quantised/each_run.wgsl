// Run part of products with blocks: the runs of a unit in a loop. Requires RUNS, plus_run.

fn plus_runs(sums: Sums, place: At, lane: u32, near: Units, far: Units) -> Sums {
    var next = sums;
    for (var run = 0u; run < RUNS; run++) {
        next = plus_run(next, place, lane, near, far, run);
    }
    return next;
}
