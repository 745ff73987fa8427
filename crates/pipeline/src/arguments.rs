//! What a dispatch is given.

use ziggurat_core::{DType, Layout};
use ziggurat_memory::{Buffer, Sampler, Texture};

use crate::reflect::{Access, Binding};

pub(crate) mod resources;
mod slots;

pub(crate) use resources::{OwnedResource, ResourceArg, ResourceEntry};
pub(crate) use slots::arrange;

/// What one variable of the shader is bound to: a buffer, the bytes of a uniform, a texture or a sampler.
///
/// Buffers go to storage bindings, bytes to uniforms, textures and samplers (together) to theirs, each kind in the order of
/// group and binding index; [`Arg::named`] and [`Arg::at`] say otherwise. Of two variables of one type nothing but their names
/// tells which is which.
///
/// ```no_run
/// use ziggurat_pipeline::{Arg, Grid, Kernel, PipelineError, Pipelines, memory::Buffer};
///
/// # fn example(pipelines: &Pipelines, kernel: &Kernel, x: &Buffer, y: &Buffer) -> Result<(), PipelineError> {
/// // @group(0) @binding(0) var<uniform> size: vec2<u32>;
/// // @group(0) @binding(1) var<uniform> gain: f32;
/// // @group(1) @binding(0) var<storage, read> x: array<f32>;
/// // @group(1) @binding(1) var<storage, read_write> y: array<f32>;
/// let size: Vec<u8> = [640u32, 480].into_iter().flat_map(u32::to_le_bytes).collect();
/// let gain = 0.5f32.to_le_bytes();
/// let args = [
///     Arg::uniform(&size),
///     Arg::uniform(&gain).at(0, 1),
///     Arg::write(y).named("y"),
///     Arg::read(x).named("x"),
/// ];
/// pipelines.dispatch(kernel, &args, &[], Grid::elements(640 * 480, 1))
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    what: What<'a>,
    target: Target<'a>,
}

/// Which variable of the shader an argument is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target<'a> {
    /// The first of its kind that has none.
    Next,
    /// That of this group and binding index.
    At(u32, u32),
    Named(&'a str),
}

#[derive(Clone, Copy, Debug)]
enum What<'a> {
    Buffer(BufferArg<'a>),
    Uniform(&'a [u8]),
    Resource(ResourceArg<'a>),
}

/// A buffer for a storage binding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferArg<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) access: Access,
    range: Option<(u64, u64)>,
    pub(crate) element: Option<DType>,
    elements: Option<(&'a Layout, DType)>,
}

impl<'a> Arg<'a> {
    /// For a binding that the shader only reads.
    pub fn read(buffer: &'a Buffer) -> Self {
        Self::new(buffer, Access::Read)
    }

    /// For a `read_write` binding.
    pub fn write(buffer: &'a Buffer) -> Self {
        Self::new(buffer, Access::ReadWrite)
    }

    /// The bytes of a `var<uniform>`, as many as it declares. They are copied when the dispatch is recorded.
    pub fn uniform(bytes: &'a [u8]) -> Self {
        Self {
            what: What::Uniform(bytes),
            target: Target::Next,
        }
    }

    /// For a `texture_…` variable, sampled or storage. Format, dimension and usages must be those that the shader declares.
    ///
    /// ```no_run
    /// use ziggurat_pipeline::memory::{Sampler, Texture};
    /// use ziggurat_pipeline::{Arg, Grid, Kernel, PipelineError, Pipelines};
    ///
    /// # fn example(pipelines: &Pipelines, kernel: &Kernel, from: &Texture, smooth: &Sampler, to: &Texture)
    /// #     -> Result<(), PipelineError> {
    /// // @group(0) @binding(0) var photo: texture_2d<f32>;
    /// // @group(0) @binding(1) var smooth: sampler;
    /// // @group(0) @binding(2) var half: texture_storage_2d<rgba8unorm, write>;
    /// let args = [Arg::texture(from), Arg::sampler(smooth), Arg::texture(to)];
    /// pipelines.dispatch(kernel, &args, &[], Grid::Workgroups([40, 30, 1]))
    /// # }
    /// ```
    pub fn texture(texture: &'a Texture) -> Self {
        Self {
            what: What::Resource(ResourceArg::Texture(texture)),
            target: Target::Next,
        }
    }

    /// For a `sampler` or `sampler_comparison`.
    pub fn sampler(sampler: &'a Sampler) -> Self {
        Self {
            what: What::Resource(ResourceArg::Sampler(sampler)),
            target: Target::Next,
        }
    }

    fn new(buffer: &'a Buffer, access: Access) -> Self {
        Self {
            what: What::Buffer(BufferArg {
                buffer,
                access,
                range: None,
                element: None,
                elements: None,
            }),
            target: Target::Next,
        }
    }

    /// For the variable of this group and binding index; the arguments without a place or name go to the others, in order.
    #[must_use]
    pub fn at(mut self, group: u32, binding: u32) -> Self {
        self.target = Target::At(group, binding);
        self
    }

    /// For the variable of this name, wherever it is bound.
    #[must_use]
    pub fn named(mut self, name: &'a str) -> Self {
        self.target = Target::Named(name);
        self
    }

    /// Binds only these bytes of a buffer. The range may extend past the buffer's length into its capacity, as kernels do
    /// that read whole words; without a range all of the buffer is bound, rounded up to 4 bytes. Of a uniform all bytes
    /// that are given are bound.
    #[must_use]
    pub fn range(self, offset_bytes: u64, bytes: u64) -> Self {
        self.map(|arg| arg.range = Some((offset_bytes, bytes)))
    }

    /// Says what a buffer holds; the shader's declaration must agree.
    #[must_use]
    pub fn element(self, dtype: DType) -> Self {
        self.map(|arg| arg.element = Some(dtype))
    }

    /// Says which elements of a buffer are meant, so that profiles count their bytes instead of the range's.
    #[must_use]
    pub fn elements(self, layout: &'a Layout, dtype: DType) -> Self {
        self.map(|arg| arg.elements = Some((layout, dtype)))
    }

    fn map(mut self, change: impl FnOnce(&mut BufferArg<'a>)) -> Self {
        if let What::Buffer(arg) = &mut self.what {
            change(arg);
        }
        self
    }

    /// The buffer, if it is one.
    pub fn buffer(&self) -> Option<&'a Buffer> {
        self.as_buffer().map(|arg| arg.buffer)
    }

    /// The bytes, if it is a uniform.
    pub fn bytes(&self) -> Option<&'a [u8]> {
        match self.what {
            What::Uniform(bytes) => Some(bytes),
            What::Buffer(_) | What::Resource(_) => None,
        }
    }

    /// Whether [`Arg::at`] or [`Arg::named`] says for which variable it is.
    pub fn is_placed(&self) -> bool {
        self.target != Target::Next
    }

    pub(crate) fn as_buffer(&self) -> Option<&BufferArg<'a>> {
        match &self.what {
            What::Buffer(arg) => Some(arg),
            What::Uniform(_) | What::Resource(_) => None,
        }
    }

    fn as_resource(&self) -> Option<ResourceArg<'a>> {
        match self.what {
            What::Resource(resource) => Some(resource),
            What::Buffer(_) | What::Uniform(_) => None,
        }
    }

    /// Whether it is a buffer for this storage binding, if the others are for theirs.
    fn is_in_order(&self, binding: Option<&Binding>) -> bool {
        let in_order = match self.target {
            Target::Next => true,
            Target::At(..) => false,
            Target::Named(name) => binding.is_some_and(|binding| binding.name == name),
        };
        in_order && matches!(self.what, What::Buffer(_))
    }
}

impl<'a> BufferArg<'a> {
    /// Which elements are meant, if the caller said so.
    pub(crate) fn elements(&self) -> Option<(&'a Layout, DType)> {
        self.elements
    }

    /// Bytes that a kernel reads or writes of it, each once.
    pub(crate) fn touched(&self) -> u64 {
        let (_, bound) = self.span();
        // What is bound may be padding beyond the buffer's own end.
        let bound = bound.min(self.buffer.bytes());
        let Some((layout, dtype)) = self.elements else {
            return bound;
        };
        let axes = layout.dims().iter().zip(layout.strides());
        let distinct = axes.map(|(&dim, &stride)| if stride == 0 { dim.min(1) } else { dim });
        let elements = distinct.fold(1, |all: u64, dim| all.saturating_mul(dim as u64));
        elements.saturating_mul(dtype.bytes() as u64).min(bound)
    }

    /// Whether the kernel writes it.
    pub(crate) fn writes(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Offset and length of what is bound.
    pub(crate) fn span(&self) -> (u64, u64) {
        self.range.unwrap_or_else(|| {
            let bytes = self.buffer.bytes();
            let padded = bytes.checked_next_multiple_of(4).unwrap_or(bytes);
            (0, padded.min(self.buffer.capacity()))
        })
    }
}
