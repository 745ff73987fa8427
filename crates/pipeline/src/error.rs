//! What can go wrong between WGSL text and a recorded dispatch.
//!
//! Every variant is raised before anything is recorded, carries values instead of prepared sentences, and names the
//! [`Place`] in the WGSL that it is about. Errors are `Clone`, because all callers that waited for one pipeline creation get the
//! same one.

pub(crate) mod shown;

use std::fmt;
use std::sync::Arc;

use ziggurat_core::DType;
use ziggurat_core::text::{self, at_most_error_bytes};
use ziggurat_device::DeviceError;
use ziggurat_memory::MemoryError;

use crate::place::{Assembled, Place};
use crate::reflect::{Access, Scalar};
use crate::source::ShaderSource;

/// What follows as one text of an error, of at most 1 KiB: what is longer ends in ` [...]`.
macro_rules! short {
    ($($text:tt)*) => { Short(format_args!($($text)*)) };
}

/// [`short!`], with the line of code of a place below.
macro_rules! marked {
    ($place:ident, $($text:tt)*) => { short!("{}{}", format_args!($($text)*), Code($place)) };
}

struct Short<'a>(fmt::Arguments<'a>);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        at_most_error_bytes(f, |out| out.write_fmt(self.0))
    }
}

/// The line of code of a place, as further lines of a text.
struct Code<'a>(&'a Place);

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.snippet.as_str() {
            "" => Ok(()),
            snippet => write!(f, "\n{snippet}"),
        }
    }
}

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
    /// The shader needs something that the device does not have.
    #[error("{}", marked!(place, "{kernel}: {place}: needs {feature}, which this device does not have (or which was switched off)"))]
    MissingFeature {
        /// The kernel's name.
        kernel: String,
        /// The place of the first use.
        place: Arc<Place>,
        /// What is missing.
        feature: &'static str,
    },
    /// The shader declares a binding that is not a buffer, a texture or a sampler, or whose index is of no use.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {what}; only buffers, textures and samplers with one legal index each can be bound"))]
    UnsupportedBinding {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// A binding in a group that the device does not have.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is in group {group}; the device has groups 0 to {}", limit.saturating_sub(1)))]
    BindingGroup {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Its group.
        group: u32,
        /// How many groups there are.
        limit: u32,
    },
    /// More uniform buffers than the device binds at once.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is uniform buffer number {count}; the device binds at most {limit}"))]
    TooManyUniforms {
        /// The kernel's name.
        kernel: String,
        /// The place of the last uniform.
        place: Arc<Place>,
        /// The last uniform's name.
        name: String,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// More storage buffers than the device binds at once.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is storage buffer number {count}; the device binds at most {limit}"))]
    TooManyStorageBuffers {
        /// The kernel's name.
        kernel: String,
        /// The place of the last binding.
        place: Arc<Place>,
        /// The last binding's name.
        name: String,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// More textures or samplers of a kind than the device binds at once.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {what} number {count}; the device binds at most {limit}"))]
    TooManyResources {
        /// The kernel's name.
        kernel: String,
        /// The place of the last of them.
        place: Arc<Place>,
        /// Its name.
        name: String,
        /// Sampler, sampled texture or storage texture.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: u32,
    },
    /// The parameters are larger than the device takes.
    #[error("{}", marked!(place, "{kernel}: {place}: the parameters `{name}` take {bytes} bytes; the device takes at most {limit}"))]
    ParamsTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Its bytes.
        bytes: u32,
        /// The device's limit for its address space.
        limit: u64,
    },
    /// The workgroup has more invocations than the device runs, or none.
    #[error("{}", marked!(place, "{kernel}: {place}: workgroup size {size:?} ({} invocations) is over the device's limits {limit:?} and {max_invocations} invocations in all, or zero",
        size.iter().map(|&n| u64::from(n)).product::<u64>()))]
    WorkgroupTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// The workgroup size after overrides.
        size: [u32; 3],
        /// The device's limit per dimension.
        limit: [u32; 3],
        /// The device's limit of the product.
        max_invocations: u32,
    },
    /// The workgroup's shared memory is larger than the device has.
    #[error("{}", marked!(place, "{kernel}: {place}: {bytes} bytes of workgroup memory; the device has {limit} (`{name}` is the largest)"))]
    WorkgroupMemory {
        /// The kernel's name.
        kernel: String,
        /// The place of the largest variable.
        place: Arc<Place>,
        /// Its name.
        name: String,
        /// Bytes of all variables that the entry point uses.
        bytes: u64,
        /// The device's limit.
        limit: u32,
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
    /// A buffer belongs to another memory than the pipelines'.
    #[error("{}", marked!(place, "{kernel}: {place}: the buffer for `{name}` (binding {binding}) belongs to another memory or device"))]
    ForeignBuffer {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
    },
    /// The number of buffers is not the number of the shader's storage bindings.
    #[error("{}", marked!(place, "{kernel}: {place}: expected {expected} buffers for {}, got {got}",
        list(declared)))]
    BindingCount {
        /// The kernel's name.
        kernel: String,
        /// The place of the first variable without an argument, or of the last variable.
        place: Arc<Place>,
        /// Storage bindings of the shader.
        expected: usize,
        /// Buffers given.
        got: usize,
        /// The bindings, each with file and line.
        declared: Vec<String>,
    },
    /// The uniform arguments are not as many as the shader's uniforms.
    #[error("{}", marked!(place, "{kernel}: {place}: expected {expected} uniforms for {}, got {got}; give the bytes of each as `Arg::uniform`",
        list(declared)))]
    UniformCount {
        /// The kernel's name.
        kernel: String,
        /// The place of the first variable without an argument, or of the last variable.
        place: Arc<Place>,
        /// Uniforms of the shader.
        expected: usize,
        /// Uniforms given.
        got: usize,
        /// The uniforms, each with file and line.
        declared: Vec<String>,
    },
    /// The texture and sampler arguments are not as many as the shader's textures and samplers.
    #[error("{}", marked!(place, "{kernel}: {place}: expected {expected} textures and samplers for {}, got {got}; give each as `Arg::texture` or `Arg::sampler`",
        list(declared)))]
    ResourceCount {
        /// The kernel's name.
        kernel: String,
        /// The place of the first variable without an argument, or of the last variable.
        place: Arc<Place>,
        /// Textures and samplers of the shader.
        expected: usize,
        /// Textures and samplers given.
        got: usize,
        /// Those of the shader, each with file and line.
        declared: Vec<String>,
    },
    /// A texture or sampler that its variable cannot be bound to.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {detail}"))]
    ResourceMismatch {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// The type that the shader declares, what was given, and why it does not fit.
        detail: String,
    },
    /// A storage texture whose format and access do not go together on this device.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` is {declared}, which this device does not have; r32float, r32uint and r32sint are read and written at once everywhere, other formats with the feature TEXTURE_ADAPTER_SPECIFIC_FORMAT_FEATURES"))]
    StorageTexture {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Its type.
        declared: String,
    },
    /// A struct of parameters of Rust is not that of the shader.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}`: {detail}"))]
    ParamsLayout {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// The first field that differs.
        detail: String,
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
    /// An argument was given for a place where the shader has nothing of its kind.
    #[error("{}", short!("{kernel}: the shader has no {kind} at group {group}, binding {binding}; it has {}", list(declared)))]
    NoSuchBinding {
        /// The kernel's name.
        kernel: String,
        /// What was given.
        kind: &'static str,
        /// The group asked for.
        group: u32,
        /// The binding index asked for.
        binding: u32,
        /// What the shader has, each with its place.
        declared: Vec<String>,
    },
    /// An argument was given for a variable that the shader does not have among those of its kind.
    #[error("{}", short!("{kernel}: the shader has no {kind} `{name}`; it has {}", list(declared)))]
    NoSuchVariable {
        /// The kernel's name.
        kernel: String,
        /// What was given.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// What the shader has, each with its place.
        declared: Vec<String>,
    },
    /// Two arguments were given for one variable.
    #[error("{}", marked!(place, "{kernel}: {place}: {name} was given twice"))]
    BoundTwice {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name, with its group and binding index.
        name: String,
    },
    /// A buffer's elements are not what the binding reads.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}) holds {expected}, got a buffer of {got}"))]
    BindingType {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// What the shader declares.
        expected: Scalar,
        /// What was given.
        got: DType,
    },
    /// A buffer was given for reading where the shader may write, or the other way round.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}) is {expected}, the argument is {got}"))]
    BindingAccess {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// What the shader declares.
        expected: Access,
        /// What was given.
        got: Access,
    },
    /// A range reaches past its buffer.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}): {bytes} bytes at {offset} are not inside a buffer of {capacity} bytes"))]
    RangeOutOfBounds {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// The range's first byte.
        offset: u64,
        /// The range's length.
        bytes: u64,
        /// The buffer's capacity.
        capacity: u64,
    },
    /// A range starts, or ends, where the device cannot bind it.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}): {bytes} bytes at {offset}: the offset must be a multiple of {alignment} and the length of 4"))]
    MisalignedOffset {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// The range's first byte.
        offset: u64,
        /// The range's length.
        bytes: u64,
        /// The device's alignment of storage offsets.
        alignment: u32,
    },
    /// A range is longer than the device binds.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}): {bytes} bytes; the device binds at most {limit}"))]
    BindingTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// The range's length.
        bytes: u64,
        /// The device's limit.
        limit: u64,
    },
    /// A range is shorter than the declared type (for a runtime array: than one element).
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}) needs at least {needed} bytes, got {bytes}"))]
    BindingTooSmall {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// The range's length.
        bytes: u64,
        /// The type's bytes.
        needed: u64,
    },
    /// A range ends inside an element, which the shader would never see.
    #[error("{}", marked!(place, "{kernel}: {place}: `{name}` (binding {binding}) has elements of {stride} bytes, {bytes} bytes end inside one"))]
    PartialElement {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The binding index.
        binding: u32,
        /// The variable's name.
        name: String,
        /// The range's length.
        bytes: u64,
        /// The element's bytes.
        stride: u32,
    },
    /// Memory that is written is bound a second time in the same dispatch.
    #[error("{}", short!("{kernel}: `{first}` ({first_place}) and `{second}` ({second_place}) are the same memory and one is written; use one `read_write` binding{}{}", Code(first_place), Code(second_place)))]
    Aliased {
        /// The kernel's name.
        kernel: String,
        /// One variable's name.
        first: String,
        /// Its declaration.
        first_place: Arc<Place>,
        /// The other variable's name.
        second: String,
        /// Its declaration.
        second_place: Arc<Place>,
    },
    /// The parameter bytes are not as many as the shader declares.
    #[error("{}", marked!(place, "{kernel}: {place}: the parameters `{name}` take {expected} bytes, got {got}"))]
    ParamsSize {
        /// The kernel's name.
        kernel: String,
        /// The place of the declaration.
        place: Arc<Place>,
        /// The variable's name.
        name: String,
        /// Bytes that the shader declares; 0 if it has no parameters.
        expected: u32,
        /// Bytes given.
        got: usize,
    },
    /// No three numbers of workgroups can lie there.
    #[error("{}", marked!(place, "{kernel}: {place}: the three numbers of workgroups lie {offset} bytes behind the beginning of a buffer of {capacity}: they are 12 bytes of whole words"))]
    IndirectRange {
        /// The kernel.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// Where the counts were said to begin.
        offset: u64,
        /// Bytes of the buffer.
        capacity: u64,
    },
    /// The buffer with the number of workgroups belongs to another device or memory.
    #[error("{}", marked!(place, "{kernel}: {place}: the buffer with the numbers of workgroups belongs to another device or memory"))]
    IndirectForeign {
        /// The kernel.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
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
    /// A kernel with `debug_print` or `assert` has no room for the buffer that those need. Only on devices opened with
    /// [`DeviceOptions::debug_kernels`](ziggurat_device::DeviceOptions::debug_kernels).
    #[error("{}", marked!(place, "{kernel}: {place}: with the buffer for `debug_print` and `assert` the kernel needs {count} {what}; the device has {limit}: take a binding away, or open the device without `debug_kernels`"))]
    DebugBinding {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// What there are too few of.
        what: &'static str,
        /// How many are needed.
        count: u64,
        /// How many there are.
        limit: u32,
    },
    /// The work needs more workgroups than the device dispatches.
    #[error("{}", marked!(place, "{kernel}: {place}: {wanted:?} workgroups; the device dispatches at most {limit} per dimension"))]
    GridTooLarge {
        /// The kernel's name.
        kernel: String,
        /// The place of the entry point.
        place: Arc<Place>,
        /// Workgroups wanted.
        wanted: [u64; 3],
        /// The limit per dimension.
        limit: u32,
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

/// A list for a message: `a, b` or `none`; of many the first eight, and how many more there are.
fn list(items: &[String]) -> String {
    text::list(items, 9)
}
