//! What can go wrong between WGSL text and a recorded dispatch.
//!
//! Every variant is raised before anything is recorded, carries values instead of prepared sentences, and names the
//! [`Place`] in the WGSL that it is about. Errors are `Clone`, because all callers that waited for one pipeline creation get the
//! same one.

#[macro_use]
mod text;

mod argument;
mod limit;
pub(crate) mod shown;

use std::sync::Arc;

use ziggurat_device::DeviceError;
use ziggurat_memory::MemoryError;

use crate::place::{Assembled, Place};
use crate::source::ShaderSource;
use text::{Code, Short, list};

pub use argument::ArgumentError;
pub use limit::LimitError;

/// An error of this layer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The text is not WGSL.
    #[error("{}", marked!(place, "{kernel}: {place}: {message}"))]
    Parse {
        /// The kernel's name.
        kernel: String,
        /// Where it is.
        place: Arc<Place>,
        /// What the parser says.
        message: String,
    },
    /// The text parses, but breaks a rule of WGSL.
    #[error("{}", marked!(place, "{kernel}: {place}: {message}"))]
    Validation {
        /// The kernel's name.
        kernel: String,
        /// Where it is.
        place: Arc<Place>,
        /// What the validator says, with its causes.
        message: String,
    },
    /// The text has several mistakes, each [`PipelineError::Parse`], [`PipelineError::Validation`] or what else its compiler
    /// refuses; [`PipelineError::mistakes`] has them.
    #[error("{}", short!("{kernel}: {} mistakes{}", mistakes.len(), shown::Each { kernel, mistakes }))]
    Mistakes {
        /// The kernel's name.
        kernel: String,
        /// In the text's order, at least two.
        mistakes: Arc<[Self]>,
    },
    /// The shader is more than declarations in plain words, and the program was built without the feature `naga`.
    #[error("{}", marked!(place, "{kernel}: {place}: {what} is read by naga alone, which this program is built without: switch on the feature `naga` of the crate of Ziggurat that you use"))]
    NeedsNaga {
        /// The kernel's name.
        kernel: String,
        /// Where it is.
        place: Arc<Place>,
        /// What it is.
        what: &'static str,
    },
    /// The shader is larger than [`ShaderLimits`](crate::ShaderLimits) allow.
    #[error("{}", marked!(place, "{kernel}: {place}: {count} {what}; at most {limit} are allowed (`ShaderLimits::{option}`)"))]
    ShaderTooLarge {
        /// The kernel's name.
        kernel: String,
        /// Where it is.
        place: Arc<Place>,
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        limit: u64,
        /// The limit's field.
        option: &'static str,
    },
    /// Reading or compiling a large shader took longer than [`ShaderLimits::time`](crate::ShaderLimits::time) allows. It goes
    /// on in the background until it is done; nothing waits for it.
    #[error("{}", short!("{kernel}: {stage} the shader took longer than {} s (`ShaderLimits::time`)", limit.as_secs_f64()))]
    ShaderTooSlow {
        /// The kernel's name.
        kernel: String,
        /// What took so long.
        stage: &'static str,
        /// How long it may take.
        limit: std::time::Duration,
    },
    /// A limit of [`ShaderLimits`](crate::ShaderLimits) that cannot be.
    #[error("{}", short!("`ShaderLimits::{option}` is {given}; it must be from 1 to {most}"))]
    ShaderLimit {
        /// The limit's field.
        option: &'static str,
        /// Its value.
        given: u64,
        /// The greatest that it may have.
        most: u64,
    },
    /// The shader has no compute entry point.
    #[error("{}", marked!(place, "{kernel}: {place}: no `@compute` entry point"))]
    NoEntryPoint {
        /// The kernel's name.
        kernel: String,
        /// The place of the last function, or the last file as a whole.
        place: Arc<Place>,
    },
    /// The shader has no compute entry point of the wanted name.
    #[error("{}", marked!(place, "{kernel}: {place}: no entry point `{wanted}`; the shader has {}", list(have)))]
    UnknownEntryPoint {
        /// The kernel's name.
        kernel: String,
        /// The place of the first entry point.
        place: Arc<Place>,
        /// The name asked for.
        wanted: String,
        /// The entry points there are, each with file and line.
        have: Vec<String>,
    },
    /// No entry point was named and the shader has several.
    #[error("{}", marked!(place, "{kernel}: {place}: name one of the entry points {}", list(have)))]
    AmbiguousEntryPoint {
        /// The kernel's name.
        kernel: String,
        /// The place of the second entry point.
        place: Arc<Place>,
        /// The entry points there are, each with file and line.
        have: Vec<String>,
    },
    /// A constant was given that the shader does not declare as an `override`.
    #[error("{}", marked!(place, "{kernel}: {place}: no override `{name}`; the shader has {}", list(have)))]
    UnknownConstant {
        /// The kernel's name.
        kernel: String,
        /// The place of the first override; of a shader without, the last file as a whole.
        place: Arc<Place>,
        /// The constant's name.
        name: String,
        /// The overrides there are.
        have: Vec<String>,
    },
    /// An `override` without a default got no value.
    #[error("{}", marked!(place, "{kernel}: {place}: override `{name}` has no default and got no value"))]
    MissingConstant {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The override's name.
        name: String,
    },
    /// The values of the overrides cannot be used, for example because one does not fit its type.
    #[error("{}", marked!(place, "{kernel}: {place}: {message} (constants: {constants:?})"))]
    ConstantValue {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration or of the entry point.
        place: Arc<Place>,
        /// The rule that was broken.
        message: String,
        /// The values given.
        constants: Vec<(String, f64)>,
    },
    /// The driver, or wgpu's own validation, refused the pipeline.
    #[error("{}", marked!(place, "{kernel}: {place}: cannot compile: {message}"))]
    Compile {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// What the driver or wgpu says.
        message: String,
    },
    /// A structural key was used for two different descriptors.
    #[error("{}", short!("{kernel}: the key {key} already belongs to another descriptor; every variant needs its own key"))]
    KeyMismatch {
        /// The kernel's name.
        kernel: String,
        /// The key, formatted.
        key: String,
    },
    /// A dispatch on a capturing handle whose capture is finished.
    #[error("{}", short!("{kernel}: the capture that this handle records into is already finished"))]
    TapeEnded {
        /// The kernel's name.
        kernel: String,
    },
    /// The kernel was made by another `Pipelines`.
    #[error("{}", short!("{kernel}: the kernel belongs to another device's pipelines"))]
    ForeignKernel {
        /// The kernel's name.
        kernel: String,
    },
    /// A piece of WGSL that a shader imports is not there, imports itself, or declares what another file declares.
    #[error("{}", marked!(place, "{kernel}: {place}: {detail}"))]
    Import {
        /// The kernel's name.
        kernel: String,
        /// The place of the import or declaration.
        place: Arc<Place>,
        /// What is wrong, with the other place.
        detail: String,
    },
    /// An `assert` of a kernel did not hold; the kernel went on. Only on devices opened with
    /// [`DeviceOptions::debug_kernels`](ziggurat_device::DeviceOptions::debug_kernels).
    #[error("{}", marked!(place, "{kernel}: {place}: assertion failed in workgroup {workgroup:?}, invocation {invocation:?}: {message} ({others} more failures)"))]
    AssertionFailed {
        /// The kernel's name.
        kernel: String,
        /// The place of the assertion.
        place: Arc<Place>,
        /// The workgroup of the first for which it did not hold.
        workgroup: [u32; 3],
        /// The invocation in that workgroup.
        invocation: [u32; 3],
        /// The assertion's text and values.
        message: String,
        /// How often assertions failed besides, as far as it was kept.
        others: u64,
    },
    /// The work needs several rows of workgroups, and the entry point does not look at what tells them apart.
    #[error("{}", marked!(place, "{kernel}: {place}: the elements need {workgroups:?} workgroups, since one row has at most {limit}, but the entry point does not compute its index from `num_workgroups` and all dimensions of an id; do that, or loop with the stride of the grid and dispatch with `Grid::stride`"))]
    GridNotFolded {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// The workgroups that would be needed.
        workgroups: [u32; 3],
        /// The device's limit per dimension.
        limit: u32,
    },
    /// A file of the pipeline cache or of tuning could not be written.
    #[error("{}", short!("cannot write the cache {path}: {message}"))]
    CacheFile {
        /// The file.
        path: String,
        /// What the operating system says.
        message: String,
    },
    /// There is neither a timestamp nor a clock to measure a kernel with, as in some browsers.
    #[error("{}", short!("{kernel}: cannot be measured, because the device has no timestamps and the platform no clock"))]
    NotMeasured {
        /// The kernel's name.
        kernel: String,
    },
    /// A rule of this crate was broken by itself.
    #[error("{kernel}: internal error: {what}; this is a bug in Ziggurat")]
    Internal {
        /// The kernel's name.
        kernel: String,
        /// The rule.
        what: &'static str,
    },
    /// An argument that a dispatch cannot take.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// More than the device can do.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Parameter memory failed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl PipelineError {
    /// A text that breaks a rule of whoever takes it: [`PipelineError::Validation`] with the place of these bytes of the text.
    #[must_use]
    pub fn refused(
        source: &ShaderSource,
        bytes: std::ops::Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        let text = Assembled::new(source);
        Self::Validation {
            kernel: text.name(),
            place: text.place_of_written(Some((bytes.start, bytes.end))),
            message: message.into(),
        }
    }
}
