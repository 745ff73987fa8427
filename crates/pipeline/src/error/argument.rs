//! What is wrong with the arguments of a dispatch.

use std::sync::Arc;

use ziggurat_core::DType;

use super::text::{Code, Short, list};
use crate::place::Place;
use crate::reflect::{Access, Scalar};

/// An argument that the shader, or its dispatch, cannot take.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
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
}

impl ArgumentError {
    /// Where in the WGSL it is; of two places the latter.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::ForeignBuffer { place, .. }
            | Self::BindingCount { place, .. }
            | Self::UniformCount { place, .. }
            | Self::ResourceCount { place, .. }
            | Self::ResourceMismatch { place, .. }
            | Self::ParamsLayout { place, .. }
            | Self::BoundTwice { place, .. }
            | Self::BindingType { place, .. }
            | Self::BindingAccess { place, .. }
            | Self::RangeOutOfBounds { place, .. }
            | Self::MisalignedOffset { place, .. }
            | Self::BindingTooLarge { place, .. }
            | Self::BindingTooSmall { place, .. }
            | Self::PartialElement { place, .. }
            | Self::ParamsSize { place, .. }
            | Self::IndirectRange { place, .. }
            | Self::IndirectForeign { place, .. } => Some(place),
            Self::Aliased { second_place, .. } => Some(second_place),
            Self::NoSuchBinding { .. } | Self::NoSuchVariable { .. } => None,
        }
    }
}
