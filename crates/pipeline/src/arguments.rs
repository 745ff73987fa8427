//! What a dispatch is given, and which argument is for which variable of the shader.

use ziggurat_core::{DType, Layout};
use ziggurat_memory::Buffer;

use crate::dispatch::{binding_count, params_size};
use crate::error::PipelineError;
use crate::kernel::Kernel;
use crate::reflect::{Access, ParamSpace, Params, Reflection};

/// What one variable of the shader is bound to: a buffer, or the bytes of a uniform.
///
/// Buffers go to storage bindings and bytes to uniforms, each kind in the order of group and binding index; [`Arg::at`]
/// says otherwise.
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
///     Arg::read(x),
///     Arg::write(y).at(1, 1),
/// ];
/// pipelines.dispatch(kernel, &args, &[], Grid::elements(640 * 480, 1))
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    what: What<'a>,
    /// Group and binding index.
    place: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
enum What<'a> {
    Buffer(BufferArg<'a>),
    Uniform(&'a [u8]),
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
            place: None,
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
            place: None,
        }
    }

    /// For the variable of this group and binding index; the arguments without a place go to the others, in order.
    #[must_use]
    pub fn at(mut self, group: u32, binding: u32) -> Self {
        self.place = Some((group, binding));
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
            What::Buffer(_) => None,
            What::Uniform(bytes) => Some(bytes),
        }
    }

    /// Whether [`Arg::at`] says for which variable it is.
    pub fn is_placed(&self) -> bool {
        self.place.is_some()
    }

    pub(crate) fn as_buffer(&self) -> Option<&BufferArg<'a>> {
        match &self.what {
            What::Buffer(arg) => Some(arg),
            What::Uniform(_) => None,
        }
    }

    /// Whether it is a buffer for the next storage binding.
    fn is_plain(&self) -> bool {
        self.place.is_none() && matches!(self.what, What::Buffer(_))
    }
}

impl BufferArg<'_> {
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

/// The arguments of a dispatch in the order of the shader's variables.
#[derive(Debug)]
pub(crate) enum Arranged<'a> {
    /// As they were given.
    AsGiven,
    /// Buffers by group and binding index, and the joined parameters.
    Anew(Vec<Arg<'a>>, Vec<u8>),
}

impl<'a> Arranged<'a> {
    /// Buffers and parameters, of which the first are those that were given.
    pub(crate) fn parts<'b>(
        &'b self,
        args: &'b [Arg<'a>],
        params: &'b [u8],
    ) -> (&'b [Arg<'a>], &'b [u8]) {
        match self {
            Self::AsGiven => (args, params),
            Self::Anew(args, params) => (args, params),
        }
    }
}

/// Finds the variable of each argument; allocates nothing for buffers in order and one variable of parameters.
pub(crate) fn arrange<'a>(
    kernel: &Kernel,
    args: &[Arg<'a>],
    params: &[u8],
) -> Result<Arranged<'a>, PipelineError> {
    if kernel.param_bytes().is_plain() && args.iter().all(Arg::is_plain) {
        return Ok(Arranged::AsGiven);
    }
    let reflection = kernel.reflection();
    let mut slots = Slots {
        reflection,
        buffers: vec![None; reflection.bindings.len()],
        uniforms: vec![None; reflection.uniforms.len()],
        counts: [0; 2],
    };
    let (placed, others): (Vec<&Arg<'a>>, Vec<&Arg<'a>>) =
        args.iter().partition(|arg| arg.place.is_some());
    for arg in placed.into_iter().chain(others) {
        slots.take(*arg)?;
    }
    slots.finish(kernel, params)
}

/// The shader's variables, with the arguments found so far.
struct Slots<'r, 'a> {
    reflection: &'r Reflection,
    buffers: Vec<Option<Arg<'a>>>,
    uniforms: Vec<Option<&'a [u8]>>,
    /// How many buffers and uniforms were given.
    counts: [usize; 2],
}

impl<'a> Slots<'_, 'a> {
    fn take(&mut self, arg: Arg<'a>) -> Result<(), PipelineError> {
        let [buffers, uniforms] = &mut self.counts;
        match arg.what {
            What::Buffer(_) => {
                *buffers += 1;
                let index = match arg.place {
                    None => self.buffers.iter().position(Option::is_none),
                    Some(place) => Some(self.buffer_at(place)?),
                };
                if let Some(slot) = index.and_then(|index| self.buffers.get_mut(index)) {
                    *slot = Some(arg);
                }
            }
            What::Uniform(bytes) => {
                *uniforms += 1;
                let index = match arg.place {
                    None => self.uniforms.iter().position(Option::is_none),
                    Some(place) => Some(self.uniform_at(place)?),
                };
                if let Some(slot) = index.and_then(|index| self.uniforms.get_mut(index)) {
                    *slot = Some(bytes);
                }
            }
        }
        Ok(())
    }

    fn buffer_at(&self, (group, binding): (u32, u32)) -> Result<usize, PipelineError> {
        let all = &self.reflection.bindings;
        let found = all
            .iter()
            .position(|b| (b.group, b.binding) == (group, binding));
        let (Some(index), Some(declared)) = (found, found.and_then(|i| all.get(i))) else {
            let place = |b: &crate::Binding| place_text(&b.name, b.group, b.binding);
            return Err(PipelineError::NoSuchBinding {
                kernel: self.reflection.kernel.clone(),
                kind: "storage buffer",
                group,
                binding,
                declared: all.iter().map(place).collect(),
            });
        };
        match self.buffers.get(index) {
            Some(None) => Ok(index),
            _ => Err(PipelineError::BoundTwice {
                kernel: self.reflection.kernel.clone(),
                file: declared.file.clone(),
                line: declared.line,
                name: declared.name.clone(),
                group,
                binding,
            }),
        }
    }

    fn uniform_at(&self, (group, binding): (u32, u32)) -> Result<usize, PipelineError> {
        let all = &self.reflection.uniforms;
        let space = ParamSpace::Uniform { group, binding };
        let found = all.iter().position(|uniform| uniform.space == space);
        let (Some(index), Some(declared)) = (found, found.and_then(|i| all.get(i))) else {
            let place = |uniform: &Params| match uniform.space {
                ParamSpace::Uniform { group, binding } => place_text(&uniform.name, group, binding),
                ParamSpace::Immediate => format!("`{}`", uniform.name),
            };
            return Err(PipelineError::NoSuchBinding {
                kernel: self.reflection.kernel.clone(),
                kind: "uniform",
                group,
                binding,
                declared: all.iter().map(place).collect(),
            });
        };
        match self.uniforms.get(index) {
            Some(None) => Ok(index),
            _ => Err(PipelineError::BoundTwice {
                kernel: self.reflection.kernel.clone(),
                file: declared.file.clone(),
                line: declared.line,
                name: declared.name.clone(),
                group,
                binding,
            }),
        }
    }

    /// All variables with their arguments. `params` go to the immediate variable, or to the only uniform that is left.
    fn finish(mut self, kernel: &Kernel, params: &[u8]) -> Result<Arranged<'a>, PipelineError> {
        let reflection = self.reflection;
        let [buffers, uniforms] = self.counts;
        let args: Vec<Arg<'a>> = self.buffers.drain(..).flatten().collect();
        if args.len() != reflection.bindings.len() || buffers != args.len() {
            return Err(binding_count(reflection, buffers));
        }
        let immediate = reflection.params.as_ref();
        let immediate = immediate.filter(|declared| declared.space == ParamSpace::Immediate);
        let mut left = self.uniforms.iter().filter(|given| given.is_none());
        let takes_params = immediate.is_none()
            && left.next().is_some()
            && left.next().is_none()
            && !params.is_empty();
        let given: Vec<&[u8]> = self
            .uniforms
            .iter()
            .filter_map(|given| given.or(takes_params.then_some(params)))
            .collect();
        if given.len() != reflection.uniforms.len() || uniforms > given.len() {
            let declared = |p: &Params| format!("`{}` ({}:{})", p.name, p.file, p.line);
            return Err(PipelineError::UniformCount {
                kernel: reflection.kernel.clone(),
                expected: reflection.uniforms.len(),
                got: uniforms,
                declared: reflection.uniforms.iter().map(declared).collect(),
            });
        }
        for (declared, bytes) in reflection.uniforms.iter().zip(&given) {
            if usize::try_from(declared.bytes) != Ok(bytes.len()) {
                return Err(params_size(reflection, Some(declared), bytes.len()));
            }
        }
        let immediates = if takes_params { &[] } else { params };
        if usize::try_from(immediate.map_or(0, |p| p.bytes)) != Ok(immediates.len()) {
            return Err(params_size(reflection, immediate, immediates.len()));
        }
        let joined = kernel.param_bytes().join(immediates, &given);
        Ok(Arranged::Anew(args, joined))
    }
}

fn place_text(name: &str, group: u32, binding: u32) -> String {
    format!("`{name}` (group {group}, binding {binding})")
}
