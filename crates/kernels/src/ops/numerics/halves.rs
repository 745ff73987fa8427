//! [`Halves`]: whether an adapter's own conversions between f16 and f32 do what our integer code does.
//!
//! Plain WGSL has `pack2x16float` and `unpack2x16float`, but does not say how the first rounds, nor what becomes of subnormal
//! numbers. So the first read behind a kernel with f16 sends a test of them to the device before itself, and kernels use them from
//! when the answer is there and is yes. Until then, and where it is no, they convert by integer code. Both give the same bits, which is
//! what was tested (every NaN is made the same one), so nobody sees when it happens. Nothing waits for the answer.
//!
//! An adapter is asked once per process.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use ziggurat_core::{DType, Shape};
use ziggurat_pipeline::{Grid, KernelDescriptor};

use crate::run::completion::Download;
use crate::run::error::KernelError;
use crate::run::executor::Executor;
use crate::run::program::unnoted;
use crate::source::candidate::Candidate;
use crate::source::choice::KernelChoice;
use crate::source::params::{Params, params};
use crate::source::prelude;

const OP: &str = "halves";

params! {
    /// Parameters of the test.
    pub(crate) struct HalvesParams {
        len: u32,
    }
}

/// Every f16.
const ALL: u32 = 1 << 16;

/// The override constant that has kernels use the adapter's conversions.
const CONSTANT: &str = "NATIVE_HALVES";

/// What is known of an adapter's conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Answer {
    /// Nobody converts.
    Unknown,
    /// There is a kernel that converts.
    Wanted,
    Asked,
    No,
    Yes,
}

/// What is known of the adapter's conversions between f16 and f32.
#[derive(Debug, Default)]
pub(crate) struct Halves {
    /// An [`Answer`].
    answer: AtomicU8,
    /// The answer on its way.
    read: Mutex<Option<Download>>,
}

impl Halves {
    fn set(&self, answer: Answer) {
        self.answer.store(answer as u8, Ordering::Release);
    }

    fn is(&self, answer: Answer) -> bool {
        self.answer.load(Ordering::Acquire) == answer as u8
    }

    /// Says that a kernel converts.
    pub(crate) fn want(&self) {
        self.change(Answer::Unknown, Answer::Wanted);
    }

    fn change(&self, old: Answer, new: Answer) -> bool {
        let (old, new) = (old as u8, new as u8);
        let swap = self
            .answer
            .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire);
        swap.is_ok()
    }

    /// Whether kernels may use the adapter's conversions.
    #[inline]
    pub(crate) fn are_proved(&self) -> bool {
        if self.is(Answer::Asked) {
            self.look();
        }
        self.is(Answer::Yes)
    }

    /// Takes the answer, if it is there. Does not wait, not even for another thread that looks.
    fn look(&self) {
        let Ok(mut read) = self.read.try_lock() else {
            return;
        };
        let Some(download) = read.as_mut() else {
            return;
        };
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(bytes) = Pin::new(download).poll(&mut context) {
            *read = None;
            let right = ALL.to_le_bytes();
            let proved = bytes.is_ok_and(|bytes| bytes == right);
            self.set(if proved { Answer::Yes } else { Answer::No });
        }
    }
}

/// Whether a kernel converts between f16 and f32.
fn converts(descriptor: &KernelDescriptor) -> bool {
    let of_halves = [prelude::load(DType::F16), prelude::store(DType::F16)];
    let mut parts = descriptor.source.parts().iter();
    parts.any(|part| of_halves.contains(&&*part.file))
}

/// The kernel, by the adapter's conversions; and whether that makes a difference.
pub(crate) fn natively(descriptor: KernelDescriptor, proved: bool) -> (KernelDescriptor, bool) {
    match (converts(&descriptor), proved) {
        (true, true) => (descriptor.constant(CONSTANT, 1.0), true),
        (converts, _) => (descriptor, converts),
    }
}

fn choice() -> KernelChoice {
    KernelChoice::new(OP)
        .part(prelude::FLOAT)
        .load(DType::F16)
        .store(DType::F16)
        .part("elementwise/halves.wgsl")
}

/// Catalogue entries.
pub(crate) fn variants() -> Vec<Candidate> {
    vec![Candidate::new(choice(), HalvesParams::FIELDS)]
}

impl Executor {
    /// Sends the test to the device, if a kernel converts and nobody did. A device that cannot run it keeps to integer code.
    pub(crate) fn prove_halves(&self, halves: &Halves) {
        if !halves.is(Answer::Wanted) || !halves.change(Answer::Wanted, Answer::Asked) {
            return;
        }
        match unnoted(|| self.test_halves()) {
            Ok(download) => {
                *halves.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(download);
            }
            Err(_) => halves.set(Answer::No),
        }
    }

    fn test_halves(&self) -> Result<Download, KernelError> {
        let shape = Shape::new([1]).map_err(KernelError::shape(OP))?;
        let count = self.upload(&[0_u32], &shape)?;
        let target = self.bind_write(OP, &count)?;
        let params = HalvesParams { len: ALL };
        let grid = Grid::elements(u64::from(ALL), 1);
        self.launch(&choice(), &[target.arg], &params, grid)?;
        self.download(&count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use ziggurat_pipeline::device::DeviceOptions;

    #[test]
    fn every_f16_is_tested_once_however_the_grid_is_folded() {
        let count = |max_workgroups, workgroup_size| {
            let exec = Executor::open_blocking(DeviceOptions {
                max_workgroups,
                workgroup_size,
                ..DeviceOptions::default()
            });
            let read = exec.unwrap().test_halves().unwrap();
            u32::from_le_bytes(read.wait().unwrap().try_into().unwrap())
        };
        let whole = count(None, None);
        assert!((1..=ALL).contains(&whole), "{whole} of {ALL}");
        for most in [24, 32, 512] {
            assert_eq!(count(Some(most), Some(8)), whole, "rows of {most}");
        }
    }

    #[test]
    fn only_kernels_with_halves_depend_on_the_answer() {
        let part = ("params/uniform.wgsl", "");
        let of = |dtype| {
            let choice = KernelChoice::new("x").part(prelude::FLOAT).load(dtype);
            choice
                .part("elementwise/identity.wgsl")
                .descriptor(part, 64)
                .unwrap()
        };
        let (halves, floats) = (of(DType::F16), of(DType::F32));
        assert!(!natively(floats.clone(), true).1 && !natively(floats.clone(), false).1);
        assert_eq!(natively(floats.clone(), true).0, floats);
        let (native, depends) = natively(halves.clone(), true);
        assert!(depends && native != halves);
        assert_eq!(natively(halves.clone(), false), (halves, true));
    }

    #[test]
    fn nothing_is_proved_before_it_is_asked() {
        let halves = Halves::default();
        assert!(!halves.are_proved());
        halves.want();
        assert!(halves.is(Answer::Wanted) && !halves.are_proved());
        halves.set(Answer::Asked);
        halves.want();
        assert!(!halves.are_proved(), "there is no answer to look at");
        halves.set(Answer::Yes);
        assert!(halves.are_proved());
    }
}
