//! How a call runs: the [`Executor`](executor::Executor), views, launches, capture, completion, errors.

pub(crate) mod call;
pub(crate) mod call_text;
pub(crate) mod capture;
pub(crate) mod checks;
pub(crate) mod completion;
pub(crate) mod ends;
pub(crate) mod error;
pub(crate) mod executor;
mod family;
pub(crate) mod launch;
pub(crate) mod plan;
pub(crate) mod program;
mod runner;
#[cfg(all(feature = "software", not(target_arch = "wasm32")))]
mod sanitize;
pub(crate) mod view;
mod work;
