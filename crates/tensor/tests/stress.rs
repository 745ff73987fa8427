//! Many threads on one device mixing operations, reads and drops: each gets the results that one thread gets.
//!
//! `cargo xtask threads` runs it under the thread sanitizer.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::{Barrier, Mutex};
use std::thread;

use ziggurat_tensor::{DType, Device, Error, FusionPolicy, Tensor, read_many_blocking};

const THREADS: u32 = 8;
const STEPS: u32 = 32;
/// Values that a script juggles.
const VALUES: usize = 6;

/// A small generator of its own, so that a script is the same on every thread and in every run.
struct Dice(u32);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // xorshift
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 as usize % sides
    }
}

/// Runs a script of random steps and returns everything it read, as bits.
fn script(device: &Device, seed: u32, shared: &Tensor) -> Result<Vec<u32>, Error> {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9) | 1);
    let mut read = Vec::new();
    let fresh = |dice: &mut Dice| {
        let values: Vec<f32> = (0..48).map(|_| dice.roll(64) as f32 / 8.0 - 4.0).collect();
        Tensor::from_slice(device, &values, [6, 8])
    };
    let mut values = Vec::new();
    for _ in 0..VALUES {
        values.push(fresh(&mut dice)?);
    }
    let keep = |read: &mut Vec<u32>, floats: Vec<f32>| {
        read.extend(floats.into_iter().map(f32::to_bits));
    };
    for _ in 0..STEPS {
        let (a, b) = (
            values[dice.roll(VALUES)].clone(),
            values[dice.roll(VALUES)].clone(),
        );
        // Only steps whose values stay small and exact enough to be the same bits on every thread.
        let next = match dice.roll(14) {
            0 => a.add(&b)?.mul(0.5)?,
            1 => a.sub(&b)?.abs()?,
            2 => a.maximum(&b)?,
            3 => a.mul(&b)?.tanh()?,
            4 => a.add(shared)?.relu()?.mul(0.25)?,
            5 => a.matmul(&b.transpose(0, 1)?)?.tanh()?.matmul(&b)?.tanh()?,
            6 => a.softmax(-1)?,
            7 => a.sum([0], true)?.mul(0.125)?.broadcast_to([6, 8])?,
            8 => FusionPolicy::Unfused.scope(|| a.add(1.0)?.mul(0.5))?,
            9 => {
                keep(&mut read, a.to_vec_blocking::<f32>()?);
                fresh(&mut dice)?
            }
            10 => {
                let bytes = read_many_blocking(&[&a, &b])?;
                read.extend(bytes.iter().flatten().map(|&byte| u32::from(byte)));
                a.to_dtype(DType::F16)?.to_dtype(DType::F32)?
            }
            11 => a.square()?.mean([-1], true)?.sqrt()?.sub(&b)?.tanh()?,
            12 => (a.rms_norm([8], None, 1e-5)? * &b)?.tanh()?,
            _ => {
                // Recorded, and dropped before anybody looks.
                drop(a.exp()?.sum_all()?.eval());
                b.neg()?
            }
        };
        let place = dice.roll(VALUES);
        values[place] = next;
    }
    for value in values {
        keep(&mut read, value.to_vec_blocking::<f32>()?);
    }
    Ok(read)
}

#[test]
fn eight_threads_get_the_results_of_one() {
    let device = common::device();
    let shared = Tensor::full(&device, [6, 8], 0.5, DType::F32).unwrap();
    let alone: Vec<Vec<u32>> = (0..THREADS)
        .map(|seed| script(&device, seed + 1, &shared).unwrap())
        .collect();
    assert!(alone.iter().all(|read| read.len() > 300));
    assert!(
        alone[0] != alone[1],
        "scripts differ, so mixing them up is seen"
    );
    // Pending when the threads start: one of them computes it for all.
    let shared = shared.sub(1.0).unwrap().add(1.0).unwrap();
    let together = Mutex::new(vec![Vec::new(); THREADS as usize]);
    thread::scope(|scope| {
        for seed in 0..THREADS {
            let (device, shared, together) = (&device, &shared, &together);
            scope.spawn(move || {
                let read = script(device, seed + 1, shared).unwrap();
                together.lock().unwrap()[seed as usize] = read;
            });
        }
    });
    let together = together.into_inner().unwrap();
    for (seed, (alone, together)) in alone.iter().zip(&together).enumerate() {
        let differs = alone.iter().zip(together).position(|(a, b)| a != b);
        assert_eq!(alone.len(), together.len(), "script {seed}");
        assert_eq!(differs, None, "script {seed}");
    }
}

/// What the thread sanitizer must find where it runs: whether it is on cannot be told from its silence.
#[test]
#[ignore = "a race on purpose: `cargo xtask threads` runs it and expects a report"]
#[allow(unsafe_code, reason = "safe code has no data races")]
fn a_race_that_the_thread_sanitizer_must_report() {
    struct Racy(std::cell::UnsafeCell<u32>);
    // SAFETY: not upheld, which is the point: both threads write without an order between them.
    unsafe impl Sync for Racy {}
    let racy = Racy(std::cell::UnsafeCell::new(0));
    // Without it one thread may be over before the other starts, which can put them in an order.
    let start = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (racy, start) = (&racy, &start);
            scope.spawn(move || {
                start.wait();
                for i in 0..1000 {
                    // SAFETY: as above. The memory is valid and outlives the threads.
                    unsafe { racy.0.get().write_volatile(i) };
                }
            });
        }
    });
}
