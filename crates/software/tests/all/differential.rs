//! The software device against the machine's Vulkan driver: one small shader for each construct of
//! naga's, and random programs.
//!
//! Both read WGSL through naga, so what naga itself gets wrong is not seen here. Without a Vulkan
//! adapter the comparisons are skipped, which is shown; `ZIGGURAT_REQUIRE_VULKAN=1` makes that a
//! failure. `ZIGGURAT_PROGRAMS=5000` compares that many programs, `ZIGGURAT_PROGRAM_SEED` others.

pub(crate) mod gpu;
mod program;
pub(crate) mod rows;

use crate::random::Random;
use gpu::{Gpu, Outcome};
use program::{GROUPS, TOTALS, WORKGROUP, program};
use rows::{Row, rows};

impl Row {
    /// The first word in which the outputs differ by more than the row allows.
    fn difference(&self, ours: &Outcome, theirs: &Outcome) -> Option<String> {
        for (i, (a, b)) in ours.out.iter().zip(&theirs.out).enumerate() {
            let (x, y) = (f32::from_bits(*a), f32::from_bits(*b));
            let near = i % 8 >= 4 && self.near(x, y);
            if a != b && !near {
                let (invocation, word) = (i / 8, i % 8);
                return Some(format!(
                    "invocation {invocation}, word {word}: {a:#x} ({x}) and {b:#x} ({y})"
                ));
            }
        }
        (ours.totals != theirs.totals)
            .then(|| format!("totals {:?} and {:?}", ours.totals, theirs.totals))
    }

    fn near(&self, x: f32, y: f32) -> bool {
        if x.is_nan() && y.is_nan() || x == y {
            return true;
        }
        // On a line of integers neighbouring floats are neighbours.
        let line = |x: f32| {
            let bits = i64::from(x.to_bits() & 0x7fff_ffff);
            if x.is_sign_negative() { -bits } else { bits }
        };
        x.is_finite()
            && y.is_finite()
            && ((x - y).abs() <= self.absolute
                || line(x).abs_diff(line(y)) <= u64::from(self.units))
    }
}

/// Words for inputs of `len` invocations: floats from -4 to 4, and integers of all sizes.
fn inputs(len: u32, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let mut random = Random::new(seed);
    let floats = (0..len * 4).map(|i| match i {
        0 => 0.0_f32.to_bits(),
        1 => 1.0_f32.to_bits(),
        2 => (-0.5_f32).to_bits(),
        _ => (random.below(8001) as f32 / 1000.0 - 4.0).to_bits(),
    });
    let floats = floats.collect();
    let mut random = Random::new(seed + 1);
    let integers = (0..len * 4).map(|i| match i % 7 {
        0 => random.below(20) as u32,
        1 => (random.below(20) as u32).wrapping_neg(),
        _ => random.next() as u32 >> random.below(24),
    });
    (floats, integers.collect())
}

fn both() -> Option<(Gpu, Gpu)> {
    let Some(vulkan) = Gpu::vulkan() else {
        let required = std::env::var("ZIGGURAT_REQUIRE_VULKAN").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "ZIGGURAT_REQUIRE_VULKAN is set, but there is no Vulkan adapter"
        );
        println!("SKIPPED: no Vulkan adapter to compare with");
        return None;
    };
    Some((Gpu::software(&vulkan), vulkan))
}

#[test]
fn each_construct_gives_the_drivers_values() {
    let Some((software, vulkan)) = both() else {
        return;
    };
    let (floats, integers) = inputs(128, 3);
    let (mut same, mut skipped, mut failures) = (0, Vec::new(), Vec::new());
    for row in rows() {
        if !vulkan.device.features().contains(row.needs) {
            skipped.push(row.name);
            continue;
        }
        let buffers = [
            floats.clone(),
            integers.clone(),
            vec![0; 128 * 8],
            vec![0; 8],
            vec![0; 256],
        ];
        let text = row.text();
        let run = |gpu: &Gpu| gpu.run(&text, &buffers, [2, 3], 2);
        match (run(&software), run(&vulkan)) {
            (Ok(ours), Ok(theirs)) => match row.difference(&ours, &theirs) {
                Some(difference) => failures.push(format!("{}: {difference}", row.name)),
                None => same += 1,
            },
            (ours, theirs) => {
                let errors: Vec<String> =
                    [ours.err(), theirs.err()].into_iter().flatten().collect();
                failures.push(format!("{}: {}", row.name, errors.join("; ")));
            }
        }
    }
    println!(
        "{same} constructs agree with {}; not offered there: {skipped:?}",
        vulkan.name
    );
    assert!(
        failures.is_empty(),
        "{} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(same > 90, "only {same} were compared");
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Runs a program; both outputs.
fn run_program(gpu: &Gpu, text: &str, seed: u64) -> Result<Outcome, String> {
    let invocations = WORKGROUP * GROUPS;
    let (_, data) = inputs(invocations.div_ceil(4), seed);
    let buffers = [
        data,
        vec![0; invocations as usize * 8],
        vec![0; TOTALS as usize],
    ];
    gpu.run(text, &buffers, [1, 2], GROUPS)
}

#[test]
fn random_programs_give_the_drivers_values() {
    let Some((software, vulkan)) = both() else {
        return;
    };
    let (count, seed) = (
        number("ZIGGURAT_PROGRAMS", 300),
        number("ZIGGURAT_PROGRAM_SEED", 1),
    );
    let mut failures = Vec::new();
    let mut changed = 0;
    for i in 0..count {
        let text = program(&mut Random::new(seed * 1_000_003 + i));
        let (ours, theirs) = (
            run_program(&software, &text, i),
            run_program(&vulkan, &text, i),
        );
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                changed += usize::from(ours.out.iter().any(|word| *word != ours.out[0]));
                if ours != theirs {
                    let at = ours.out.iter().zip(&theirs.out).position(|(a, b)| a != b);
                    failures.push(format!("program {i} of seed {seed}: word {at:?} differs, totals {:?} and {:?}\n{text}", ours.totals, theirs.totals));
                }
            }
            (ours, theirs) => {
                let errors: Vec<String> =
                    [ours.err(), theirs.err()].into_iter().flatten().collect();
                failures.push(format!(
                    "program {i} of seed {seed}: {}\n{text}",
                    errors.join("; ")
                ));
            }
        }
        if failures.len() > 2 {
            break;
        }
        if (i + 1) % 500 == 0 {
            println!("{} programs, {} differ", i + 1, failures.len());
        }
    }
    println!(
        "{count} programs, seed {seed}, against {}: {} differ",
        vulkan.name,
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(
        changed as u64 > count * 9 / 10,
        "{changed} programs do anything"
    );
}

#[test]
fn the_comparison_sees_one_wrong_bit_and_no_more_than_is_allowed() {
    let outcome = |out: &[u32]| Outcome {
        out: out.to_vec(),
        totals: vec![1],
    };
    let one = 1.0_f32.to_bits();
    let base = outcome(&[5, 0, 0, 0, one, 0, 0, 0]);
    let exact = Row::default();
    assert!(exact.difference(&base, &base).is_none());
    assert!(
        exact
            .difference(&base, &outcome(&[4, 0, 0, 0, one, 0, 0, 0]))
            .is_some()
    );
    assert!(
        exact
            .difference(&base, &outcome(&[5, 0, 0, 0, one + 1, 0, 0, 0]))
            .is_some()
    );
    let totals = Outcome {
        totals: vec![2],
        ..outcome(&base.out)
    };
    assert!(exact.difference(&base, &totals).is_some());
    let loose = Row {
        units: 2,
        ..Row::default()
    };
    assert!(
        loose
            .difference(&base, &outcome(&[5, 0, 0, 0, one + 2, 0, 0, 0]))
            .is_none()
    );
    assert!(
        loose
            .difference(&base, &outcome(&[5, 0, 0, 0, one + 3, 0, 0, 0]))
            .is_some()
    );
    assert!(
        loose
            .difference(&base, &outcome(&[7, 0, 0, 0, one, 0, 0, 0]))
            .is_some()
    );
    assert!(
        loose
            .difference(&base, &outcome(&[5, 0, 0, 0, f32::NAN.to_bits(), 0, 0, 0]))
            .is_some()
    );
}

#[test]
fn two_different_programs_do_not_agree() {
    let Some((software, vulkan)) = both() else {
        return;
    };
    let mut apart = 0;
    for i in 0..8 {
        let (first, second) = (
            program(&mut Random::new(i)),
            program(&mut Random::new(i + 100)),
        );
        let ours = run_program(&software, &first, 0).unwrap();
        apart += u32::from(ours != run_program(&vulkan, &second, 0).unwrap());
    }
    assert_eq!(apart, 8);
}
