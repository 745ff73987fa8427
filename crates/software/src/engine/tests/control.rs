//! Control flow, against the same written in Rust.

use super::{LIMITS, RunLimits, Stop, compile, map, run, run_with};

fn inputs() -> Vec<u32> {
    (0..100u32)
        .map(|i| i.wrapping_mul(2_654_435_761) % 97)
        .collect()
}

/// Runs `body` over the inputs and compares with `expected(x, y, i)`.
fn check(body: &str, expected: impl Fn(u32, u32, u32) -> u32) {
    let a = inputs();
    let b: Vec<u32> = a.iter().rev().copied().collect();
    let got = map("u32", body, &a, &b);
    for (i, value) in got.iter().enumerate() {
        assert_eq!(
            *value,
            expected(a[i], b[i], i as u32),
            "invocation {i} of {body}"
        );
    }
}

#[test]
fn branches_keep_each_invocations_variables() {
    check(
        "var r = 1u; if x < y { r = x; if x % 2u == 0u { r += 100u; } else { r += 200u; } } else if x == y { r = 7u; }
         out[i] = r;",
        |x, y, _| {
            if x < y { x + if x % 2 == 0 { 100 } else { 200 } } else if x == y { 7 } else { 1 }
        },
    );
}

#[test]
fn loops_end_where_each_invocation_says() {
    check(
        "var n = x + 1u; var steps = 0u; while n != 1u { if n % 2u == 0u { n /= 2u; } else { n = 3u * n + 1u; } steps++; }
         out[i] = steps;",
        |x, _, _| {
            let (mut n, mut steps) = (x + 1, 0);
            while n != 1 {
                n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
                steps += 1;
            }
            steps
        },
    );
}

#[test]
fn continue_reaches_the_continuing_block() {
    check(
        "var s = 0u; for (var k = 0u; k < 20u; k++) { if (k + x) % 3u == 0u { continue; } if k > y { break; } s += k; }
         out[i] = s * 100u + x;",
        |x, y, _| {
            let mut s = 0;
            for k in 0..20 {
                if (k + x) % 3 == 0 {
                    continue;
                }
                if k > y {
                    break;
                }
                s += k;
            }
            s * 100 + x
        },
    );
}

#[test]
fn break_if_is_asked_after_the_body() {
    check(
        "var k = 0u; var s = 0u; loop { s += k; continuing { k++; let done = k > x; break if done; } } out[i] = s + k;",
        |x, _, _| (0..=x).sum::<u32>() + x + 1,
    );
}

#[test]
fn variables_of_a_loop_body_start_again() {
    check(
        "var s = 0u; for (var k = 0u; k < 5u; k++) { var t: u32; t += k; if t > x % 4u { t = 50u; } s = s * 3u + t; }
         out[i] = s;",
        |x, _, _| (0..5).fold(0u32, |s, k| s * 3 + if k > x % 4 { 50 } else { k }),
    );
}

#[test]
fn nested_loops_and_labelled_exits() {
    check(
        "var s = 0u;
         for (var k = 0u; k < x % 7u; k++) { for (var j = 0u; j < y % 5u; j++) { if j == k { continue; } if j + k > 6u { break; } s += j * k + 1u; } }
         out[i] = s;",
        |x, y, _| {
            let mut s = 0;
            for k in 0..x % 7 {
                for j in 0..y % 5 {
                    if j == k {
                        continue;
                    }
                    if j + k > 6 {
                        break;
                    }
                    s += j * k + 1;
                }
            }
            s
        },
    );
}

#[test]
fn switch_takes_its_case_and_break_leaves_it() {
    check(
        "var r = 5u;
         switch x % 6u { case 0u { r = 10u; } case 1u, 2u { if y > 40u { break; } r = 20u; } case 3u, default { r = 30u; } case 4u { r = 40u; } }
         out[i] = r;",
        |x, y, _| match x % 6 {
            0 => 10,
            1 | 2 => if y > 40 { 5 } else { 20 },
            4 => 40,
            _ => 30,
        },
    );
}

#[test]
fn continue_passes_through_a_switch() {
    check(
        "var s = 0u; for (var k = 0u; k < 10u; k++) { switch (k + x) % 4u { case 0u { continue; } case 1u { s += 1u; if y % 2u == 0u { break; } s += 5u; } default { s += 10u; } } s += 100u; }
         out[i] = s;",
        |x, y, _| {
            let mut s = 0;
            for k in 0..10 {
                match (k + x) % 4 {
                    0 => continue,
                    1 => s += if y % 2 == 0 { 1 } else { 6 },
                    _ => s += 10,
                }
                s += 100;
            }
            s
        },
    );
}

#[test]
fn functions_return_from_anywhere() {
    let source = "
        fn early(x: u32) -> u32 { if x < 10u { return 1u; } if x < 20u { return 2u; } else if x == 33u { return 9u; } let y = x * 2u; return y; }
        fn inside(x: u32) -> u32 { for (var k = 0u; k < 50u; k++) { if k * k > x { return k; } switch k { case 7u { if x % 2u == 1u { return 1000u; } } default {} } } return 0u; }
        fn bump(p: ptr<function, u32>, by: u32) { if by == 0u { return; } *p += by; }
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
            var v = early(i); bump(&v, i % 3u); out[i] = v * 10000u + inside(i * 3u);
        }";
    let early = |x: u32| match x {
        0..10 => 1,
        10..20 => 2,
        33 => 9,
        x => x * 2,
    };
    let inside = |x: u32| {
        for k in 0..50 {
            if k * k > x {
                return k;
            }
            if k == 7 && x % 2 == 1 {
                return 1000;
            }
        }
        0
    };
    let got = run(source, &[&[0; 64]], 1).remove(0);
    for (i, value) in (0u32..).zip(&got) {
        assert_eq!(*value, (early(i) + i % 3) * 10000 + inside(i * 3), "{i}");
    }
}

#[test]
fn uniform_counters_in_divergent_branches() {
    check(
        "var r = 0u; if x % 2u == 0u { for (var k = 0u; k < 8u; k++) { r += k * y; } } else { for (var k = 0u; k < 4u; k++) { r += k; } } out[i] = r;",
        |x, y, _| if x % 2 == 0 { 28 * y } else { 6 },
    );
}

#[test]
fn a_runaway_loop_is_stopped_at_its_line() {
    let program = compile(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {
            var k = 0u;
            while out[i] == 0u { k++; }
            out[i] = k + 1u;
         }",
    );
    for (steps, workgroup_steps, stop) in [
        (Some(10_000), None, Stop::Steps(10_000)),
        (None, Some(5_000), Stop::WorkgroupSteps(5_000)),
    ] {
        let limits = RunLimits {
            threads: 2,
            steps,
            workgroup_steps,
        };
        let trap = run_with(&program, &[&[0; 32]], &[], [4, 1, 1], &limits).unwrap_err();
        assert_eq!((trap.line, trap.stop), (4, stop));
        assert!(run_with(&program, &[&[1; 32]], &[], [4, 1, 1], &limits).is_ok());
    }
}

#[test]
fn many_workgroups_may_take_more_steps_than_one() {
    let program = compile(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(1) fn main() {
            for (var k = 0u; k < 100u; k++) { out[0] += k; }
         }",
    );
    let limits = RunLimits {
        threads: 1,
        steps: None,
        workgroup_steps: Some(20_000),
    };
    let out = run_with(&program, &[&[0]], &[], [1000, 1, 1], &limits).unwrap();
    assert_eq!(out[0][0], 1000 * (0..100).sum::<u32>());
}

#[test]
fn results_do_not_depend_on_threads() {
    let program = compile(
        "@group(0) @binding(0) var<storage, read_write> order: atomic<u32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(16) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            out[id.x] = atomicAdd(&order, id.x);
         }",
    );
    let sizes = [1, 2, 7];
    let results = sizes.map(|threads| {
        let limits = RunLimits { threads, ..LIMITS };
        run_with(&program, &[&[0], &[0; 4096]], &[], [256, 1, 1], &limits).unwrap()
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
    assert_eq!(results[0][1][17], (0..17).sum::<u32>());
}

#[test]
fn programs_that_took_long_start_on_all_threads_with_the_same_results() {
    let program = compile(
        "@group(0) @binding(0) var<storage> steps: array<u32>;
         @group(0) @binding(1) var<storage, read_write> out: array<u32>;
         @compute @workgroup_size(16) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
            var x = id.x;
            for (var k = 0u; k < steps[0]; k++) { x = x * 1664525u + 1013904223u; }
            out[id.x] = x;
         }",
    );
    let pace = || program.code.pace.load(std::sync::atomic::Ordering::Relaxed);
    let run_for = |steps: u32| {
        let limits = RunLimits {
            threads: 4,
            ..LIMITS
        };
        let buffers: [&[u32]; 2] = [&[steps], &[0; 512]];
        run_with(&program, &buffers, &[], [32, 1, 1], &limits).unwrap()
    };
    assert_eq!(pace(), 0);
    let first = run_for(20_000);
    let long = pace();
    assert_eq!(run_for(20_000), first);
    // A run may wait for other programs of this machine, but not every one.
    let is_short = || {
        run_for(1);
        pace() < long
    };
    assert!((0..100).any(|_| is_short()), "{} and {long}", pace());
    assert_eq!(run_for(20_000), first);
}
