//! A device that is destroyed while threads compute and read: each thread gets the loss as an error, and none hangs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ziggurat_tensor::{Device, DeviceOptions, Error, Tensor};

const THREADS: usize = 6;

/// Computes and reads until the device fails; a wrong value ends the test.
fn work(device: &Device, rounds: &AtomicUsize) -> Error {
    let values: Vec<f32> = (0..1000_u16).map(f32::from).collect();
    loop {
        let round = || -> Result<Vec<f32>, Error> {
            let a = Tensor::from_slice(device, &values, [1000])?;
            (&a + &a)?.to_vec_blocking()
        };
        match round() {
            Ok(sums) => {
                assert!(
                    sums.iter()
                        .zip(&values)
                        .all(|(sum, value)| *sum == value + value),
                    "wrong values"
                );
                rounds.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => return error,
        }
    }
}

#[test]
fn threads_that_compute_while_the_device_is_destroyed_all_see_the_loss() {
    for round in 0..3 {
        let device = Device::open_blocking(DeviceOptions::default()).unwrap();
        let rounds = AtomicUsize::new(0);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|_| scope.spawn(|| work(&device, &rounds)))
                .collect();
            let started = Instant::now();
            while rounds.load(Ordering::Relaxed) < 2 * THREADS
                && started.elapsed() < Duration::from_secs(20)
            {
                thread::sleep(Duration::from_millis(1));
            }
            device.executor().device().destroy();
            for thread in threads {
                let error = thread.join().unwrap();
                assert!(error.is_device_lost(), "round {round}: {error:?}");
            }
        });
        assert!(
            rounds.load(Ordering::Relaxed) >= THREADS,
            "the threads worked before the loss"
        );
        let late = Tensor::ones(&device, [1], ziggurat_tensor::DType::F32)
            .and_then(|t| t.to_vec_blocking::<f32>());
        assert!(late.err().is_some_and(|error| error.is_device_lost()));
    }
}
