//! Every function that takes an extent, a count or a shape, with numbers that no device can hold: an answer or a typed error
//! in short time, never a panic, an abort, or a loop or an allocation in proportion to the number.

mod given;
mod of_tensors;

use given::GIVEN;
use of_tensors::OF_WIDE;

use crate::common;
use std::sync::mpsc;
use std::time::Duration;

use ziggurat_tensor::{DType, Device, Error, Generator, Tensor};

/// More than any of these takes, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

const HUGE: [usize; 6] = [
    1 << 31,
    (1 << 32) + 1,
    1 << 40,
    1 << 61,
    1 << 62,
    isize::MAX.cast_unsigned(),
];

/// The least of them is few enough to be added up, in seconds: these have the kernels of `sum` and `dot`, and are left out with it.
const ADDED_UP_ALIKE: [&str; 4] = ["mean", "max", "var", "matmul"];

/// What the calls are made with.
struct Case {
    device: Device,
    /// The huge number.
    n: usize,
    /// [1].
    one: Tensor,
    /// [2, 3].
    small: Tensor,
    /// [2] of i32.
    index: Tensor,
    /// [1, 1, 4, 4].
    image: Tensor,
    /// [n]: one element seen n times.
    wide: Tensor,
    /// [n, 0].
    hollow: Tensor,
    /// [0, n].
    late: Tensor,
}

impl Case {
    fn new(device: &Device, n: usize) -> Self {
        let zeros = |dims: &[usize]| Tensor::zeros(device, dims, DType::F32).unwrap();
        Self {
            device: device.clone(),
            n,
            one: zeros(&[1]),
            small: zeros(&[2, 3]),
            index: Tensor::zeros(device, [2], DType::I32).unwrap(),
            image: zeros(&[1, 1, 4, 4]),
            wide: zeros(&[1]).broadcast_to([n]).unwrap(),
            hollow: zeros(&[n, 0]),
            late: zeros(&[0, n]),
        }
    }

    fn signed(&self) -> isize {
        self.n.cast_signed()
    }

    fn generator(&self) -> Generator {
        Generator::new(1)
    }
}

type Call = fn(&Case) -> Result<Vec<Tensor>, Error>;
type CallOf = fn(&Case, &Tensor) -> Result<Vec<Tensor>, Error>;
type Run = Box<dyn FnOnce() -> Result<(), Error> + Send>;

fn one(tensor: Tensor) -> Vec<Tensor> {
    vec![tensor]
}

/// The dtype where any would do.
const F: DType = DType::F32;

/// The values of what a call gave, where they are few.
fn look(results: &[Tensor]) -> Result<(), Error> {
    for tensor in results.iter().take(4) {
        assert!(format!("{tensor:?}").len() < 1000);
        tensor.eval_blocking()?;
        if tensor.len() < 1 << 16 {
            tensor.to_bytes_blocking()?;
        }
    }
    Ok(())
}

/// Runs `call` on a thread of its own; what is wrong with it, if anything is.
fn wrong(
    name: String,
    call: impl FnOnce() -> Result<(), Error> + Send + 'static,
) -> Option<String> {
    let (done, wait) = mpsc::channel();
    let thread = std::thread::Builder::new().name(name.clone());
    let thread = thread.spawn(move || {
        let result = call();
        done.send(result).ok();
    });
    match wait.recv_timeout(LIMIT) {
        Ok(Ok(())) => None,
        Ok(Err(error)) if error.is_internal() => Some(format!("{name}: {error}")),
        Ok(Err(_)) => None,
        Err(mpsc::RecvTimeoutError::Timeout) => Some(format!("{name}: does not end")),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let text = thread.unwrap().join().unwrap_err();
            let text = text.downcast_ref::<String>().cloned();
            Some(format!("{name}: panics: {}", text.unwrap_or_default()))
        }
    }
}

fn all(names: impl Fn(usize) -> Vec<(String, Run)>) {
    let mut found = Vec::new();
    for n in HUGE {
        for (name, call) in names(n) {
            // Seen if the process is aborted.
            eprintln!("{name}");
            found.extend(wrong(name, call));
        }
    }
    assert!(
        found.is_empty(),
        "{} calls:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn huge_numbers_are_answered_or_refused() {
    let device = common::device();
    all(|n| {
        let calls = GIVEN.iter().map(|&(name, call)| {
            let device = device.clone();
            let run = move || look(&call(&Case::new(&device, n))?);
            (format!("{name} {n}"), Box::new(run) as Run)
        });
        calls.collect()
    });
}

#[test]
fn tensors_of_huge_extents_are_answered_or_refused() {
    let device = common::device();
    for (kind, of) in [
        ("wide", (|c: &Case| c.wide.clone()) as fn(&Case) -> Tensor),
        ("hollow", |c| c.hollow.clone()),
        ("late", |c| c.late.clone()),
    ] {
        all(|n| {
            let is_long = |name| kind == "wide" && n == 1 << 31 && ADDED_UP_ALIKE.contains(name);
            let calls = OF_WIDE.iter().filter(|(name, _)| !is_long(name));
            let calls = calls.map(|&(name, call)| {
                let device = device.clone();
                let run = move || {
                    let case = Case::new(&device, n);
                    look(&call(&case, &of(&case))?)
                };
                let name = format!("{name} of {kind} {n}");
                (name, Box::new(run) as Run)
            });
            calls.collect()
        });
    }
}
