//! What measurements on this adapter have chosen: [`TuningStore`], and how kernels are measured.
//!
//! Nothing is measured unless somebody asks, and an empty store leaves every choice as it is.

#[cfg(not(target_arch = "wasm32"))]
mod file;
mod kernel;
mod store;
mod times;

pub use kernel::{CandidateTime, KernelCandidate, KernelTimes, KernelWork};
pub use store::{Tuned, TuningKey, TuningRejected, TuningStore};
pub use times::{Patience, RunTime, interleaved};
