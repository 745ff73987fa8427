#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - a folder or a file against classes of adapters: [`Checker`], [`Report`], [`Class`]
//! - one kernel through naga's back ends: [`Language`]
//! - barriers that some invocations may not reach: [`divergent_barriers`]
//! - operands that need parentheses, which naga does not miss: [`missing_parentheses`]
//! - for build scripts: [`build`]
//!
//! Invariants: no device is opened but the software device, and that only where it is asked for; every problem has its file, and its line where there is one; a text of any size or depth
//! ends in a problem, not in a panic.

pub mod build;
mod checker;
mod class;
mod file;
mod lints;
mod parentheses;
mod report;
mod software;
mod translate;

pub use checker::Checker;
pub use class::Class;
pub use parentheses::missing_parentheses;
pub use report::{Level, Problem, Report};
pub use translate::Language;
pub use ziggurat_pipeline::divergent_barriers;
