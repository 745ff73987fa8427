//! Reflection: what a kernel binds, how large its workgroups are, and what it needs from a device.
//!
//! Everything is read from naga's view of the whole shader after overrides got their values, so that sizes driven by
//! an `override` are the real ones; drivers find such mistakes late or never. Needs no device: checks of the source
//! tree use [`reflect`] and [`check_limits`] as they are. A program for the web may be built without naga (the feature
//! of that name): then `plain` reads the declarations, and leaves the rest to the browser.
//!
//! A shader's *bindings* are those of its only entry point: all that are declared, used or not. With several entry
//! points they are those that the chosen one uses.

#[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
mod by_naga;
mod entry;
mod grid_inputs;
mod limits;
#[cfg(any(
    test,
    debug_assertions,
    not(any(feature = "naga", not(target_arch = "wasm32")))
))]
mod plain;
mod resources;
mod texts;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ziggurat_core::DType;
#[cfg(not(target_arch = "wasm32"))]
use ziggurat_core::large_stack::{self, LargeStackError};
use ziggurat_core::text::shortened;
use ziggurat_core::wgsl::Extent;

use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::feature::ShaderFeatures;
use crate::place::{Assembled, Place};
use crate::shader_limits::ShaderLimits;

#[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
use by_naga as reader;
#[cfg(not(any(feature = "naga", not(target_arch = "wasm32"))))]
use plain as reader;
use reader::Valid;

#[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
pub use by_naga::divergent_barriers;
pub use grid_inputs::GridInputs;
pub use limits::check_limits;
pub use resources::Resource;

pub(crate) use resources::{check_formats, dimension, format_name};

pub(crate) use texts::{Read, Text, Texts};

/// How a shader, or an argument, uses a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `var<storage>`, `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    ReadWrite,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read-only",
            Self::ReadWrite => "read_write",
        })
    }
}

/// The scalars that a binding is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scalar {
    /// `f16`
    F16,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `i64`
    I64,
    /// `u64`
    U64,
    /// A struct of different scalars, or something else.
    Mixed,
}

impl Scalar {
    /// Whether a buffer of this dtype may be bound here. Types narrower than 32 bits are packed into `u32` words.
    pub fn holds(self, dtype: DType) -> bool {
        match self {
            Self::Mixed => true,
            Self::F16 => dtype == DType::F16,
            Self::F32 => dtype == DType::F32,
            Self::I32 => dtype == DType::I32,
            Self::U32 => dtype == DType::U32 || dtype.lanes() > 1,
            Self::F64 | Self::I64 | Self::U64 => false,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::Mixed => "mixed types",
        })
    }
}

/// A storage buffer of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The bind group.
    pub group: u32,
    /// The binding index in the group.
    pub binding: u32,
    /// The variable's name.
    pub name: String,
    /// Where it is declared.
    pub place: Arc<Place>,
    /// Whether the shader may write.
    pub access: Access,
    /// What it holds.
    pub scalar: Scalar,
    /// Bytes from one element to the next if it is a runtime-sized array.
    pub stride: Option<u32>,
    /// Bytes that must be bound at least: the type, or one element of a runtime-sized array.
    pub min_bytes: u64,
}

/// Where the parameter bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParamSpace {
    /// `var<immediate>`
    Immediate,
    /// `var<uniform>` at this binding.
    Uniform {
        /// The bind group.
        group: u32,
        /// The binding index in the group.
        binding: u32,
    },
}

/// The parameters of a shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Their address space.
    pub space: ParamSpace,
    /// The variable's name.
    pub name: String,
    /// Where it is declared.
    pub place: Arc<Place>,
    /// Bytes of the variable's type.
    pub bytes: u32,
    /// The members, if the type is a struct.
    pub members: Vec<Member>,
}

/// A member of a parameter struct, for comparison with the host's struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its offset in bytes.
    pub offset: u32,
    /// Its bytes.
    pub bytes: u32,
    /// What it is made of.
    pub scalar: Scalar,
}

/// A pipeline-overridable constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The name, or the number for those with `@id`: how a constant refers to it.
    pub name: String,
    /// Where it is declared.
    pub place: Arc<Place>,
    /// Whether it has a default.
    pub has_default: bool,
}

/// A variable in workgroup memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkgroupVariable {
    /// Its name.
    pub name: String,
    /// Where it is declared.
    pub place: Arc<Place>,
    /// Its bytes, rounded up to 16 as WebGPU counts them.
    pub bytes: u64,
}

/// All that is known about a kernel before a device compiles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reflection {
    /// The shader's name.
    pub kernel: String,
    /// The entry point.
    pub entry: String,
    /// Where it is.
    pub place: Arc<Place>,
    /// The workgroup size after overrides.
    pub workgroup_size: [u32; 3],
    /// Storage buffers, by group and binding index.
    pub bindings: Vec<Binding>,
    /// The immediate variable; where there is none, the uniform if it is the only one.
    pub params: Option<Params>,
    /// The uniforms, by group and binding index.
    pub uniforms: Vec<Params>,
    /// Textures and samplers, by group and binding index.
    pub resources: Vec<Resource>,
    /// Workgroup memory that the entry point uses.
    pub workgroup_memory: Vec<WorkgroupVariable>,
    /// What the entry point looks at of its place in the grid.
    pub grid_inputs: GridInputs,
    /// Barriers that some invocations of a workgroup may not reach, which browsers refuse: see [`KernelWarning`](crate::KernelWarning).
    pub divergent_barriers: Vec<Arc<Place>>,
    /// All overrides of the shader, in its order.
    pub overrides: Vec<Override>,
    /// What it needs beyond plain WGSL.
    pub features: ShaderFeatures,
}

impl Reflection {
    /// Bytes of workgroup memory in all.
    pub fn workgroup_bytes(&self) -> u64 {
        self.workgroup_memory
            .iter()
            .map(|variable| variable.bytes)
            .sum()
    }

    /// The textures and samplers: none, and no code for any, where naga is missing, which alone reads their declarations.
    #[inline]
    pub(crate) fn resources(&self) -> &[Resource] {
        match cfg!(any(feature = "naga", not(target_arch = "wasm32"))) {
            true => &self.resources,
            false => &[],
        }
    }

    /// Bytes of parameters; 0 without.
    pub fn params_bytes(&self) -> u32 {
        self.params.as_ref().map_or(0, |params| params.bytes)
    }

    /// Invocations of one workgroup.
    pub fn invocations(&self) -> u64 {
        self.workgroup_size.iter().fold(1, |product: u64, &size| {
            product.saturating_mul(u64::from(size))
        })
    }
}

/// Reads a kernel with naga, for a device that has `available`.
///
/// In a program for the web without the feature `naga` only declarations are read: what is no WGSL is then found by the
/// browser's compiler, later, and the reflection tells of no workgroup memory, no barriers and no feature without a directive.
///
/// # Errors
///
/// Text that is no valid WGSL or larger than the default [`ShaderLimits`], an entry point or constant that does not exist,
/// a binding of an unsupported kind, or a feature that is not available; each with its file and line. Without naga also
/// [`PipelineError::NeedsNaga`].
pub fn reflect(
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
) -> Result<Reflection, PipelineError> {
    reflect_within(descriptor, available, &ShaderLimits::default())
}

/// [`reflect`](reflect()) with limits of one's own.
///
/// # Errors
///
/// Those of [`reflect`](reflect()), and [`PipelineError::ShaderLimit`] for limits that cannot be.
pub fn reflect_within(
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
    limits: &ShaderLimits,
) -> Result<Reflection, PipelineError> {
    limits.check()?;
    let (text, extent) = limits.check_text(descriptor)?;
    let limits = *limits;
    read(
        descriptor,
        text,
        &extent,
        &limits,
        move |text, descriptor| {
            let valid = reader::read(text, descriptor, available, &limits)?;
            let specialised = specialise(text, descriptor, available, &valid, &limits)?;
            Ok(specialised.reflection)
        },
    )
}

/// One kernel of a text.
#[derive(Debug)]
struct Specialised {
    reflection: Reflection,
    /// Whether compiling it takes more time and stack than a thread has to spare.
    is_large: bool,
}

/// One kernel of a text that was read: its entry point, with values for the overrides.
fn specialise(
    text: &Assembled<'_>,
    descriptor: &KernelDescriptor,
    available: ShaderFeatures,
    valid: &Valid,
    limits: &ShaderLimits,
) -> Result<Specialised, PipelineError> {
    #[cfg(any(feature = "naga", not(target_arch = "wasm32")))]
    {
        let found = by_naga::specialise(text, descriptor, valid, limits)?;
        #[cfg(debug_assertions)]
        plain::compare(text, descriptor, available, &found.reflection)?;
        #[cfg(not(debug_assertions))]
        let _ = available;
        Ok(found)
    }
    #[cfg(not(any(feature = "naga", not(target_arch = "wasm32"))))]
    {
        let _ = (valid, limits);
        plain::specialise(text, descriptor, available)
    }
}

/// Reads a text of that extent: here if it is small, else with a large stack and for a limited time.
fn read<R: Send + 'static>(
    descriptor: &KernelDescriptor,
    text: Assembled<'_>,
    extent: &Extent,
    limits: &ShaderLimits,
    work: impl FnOnce(&Assembled<'_>, &KernelDescriptor) -> Result<R, PipelineError> + Send + 'static,
) -> Result<R, PipelineError> {
    let kernel = descriptor.source.name();
    #[cfg(not(target_arch = "wasm32"))]
    if !extent.is_small() {
        drop(text);
        let owned = descriptor.clone();
        let done = large_stack::run(limits.time, move || {
            guarded(owned.source.name(), || {
                work(&Assembled::new(&owned.source), &owned)
            })
        });
        return done.unwrap_or_else(|error| Err(too_slow(kernel, "reading", error)));
    }
    #[cfg(target_arch = "wasm32")]
    let _ = (extent, limits);
    guarded(kernel, || work(&text, descriptor))
}

/// The error of work on a large stack that did not end.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn too_slow(kernel: &str, stage: &'static str, error: LargeStackError) -> PipelineError {
    match error {
        LargeStackError::Time { limit } => PipelineError::ShaderTooSlow {
            kernel: kernel.to_owned(),
            stage,
            limit,
        },
        LargeStackError::Thread { message } => PipelineError::Compile {
            kernel: kernel.to_owned(),
            place: Place::whole(kernel),
            message: format!("the system gives no thread for {stage} it: {message}"),
        },
    }
}

/// naga is not ours, and what it reads is a user's: a panic in it is an error of that text, with the panic's words.
pub(crate) fn guarded<R>(
    kernel: &str,
    read: impl FnOnce() -> Result<R, PipelineError>,
) -> Result<R, PipelineError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let words = shortened(text.unwrap_or("a panic without words"), 400);
        Err(PipelineError::Compile {
            kernel: kernel.to_owned(),
            place: Place::whole(kernel),
            message: format!("the WGSL compiler (naga) panicked on this text: {words}"),
        })
    })
}

#[cfg(test)]
mod tests;
