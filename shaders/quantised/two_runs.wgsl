// Run part of products with blocks: two runs of a unit without a loop, for NVIDIA's compiler unrolls none that holds another. Requires
// plus_run.

fn plus_runs(sums: Sums, place: At, lane: u32, near: Units, far: Units) -> Sums {
    let first = plus_run(sums, place, lane, near, far, 0u);
    return plus_run(first, place, lane, near, far, 1u);
}
