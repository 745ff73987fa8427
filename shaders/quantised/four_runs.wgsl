// Run part of products with blocks: the same as two_runs.wgsl of four runs. Requires plus_run.

fn plus_runs(sums: Sums, place: At, lane: u32, near: Units, far: Units) -> Sums {
    let first = plus_run(sums, place, lane, near, far, 0u);
    let second = plus_run(first, place, lane, near, far, 1u);
    let third = plus_run(second, place, lane, near, far, 2u);
    return plus_run(third, place, lane, near, far, 3u);
}
