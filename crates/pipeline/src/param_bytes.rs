//! How the parameters of one dispatch lie in one piece of memory.
//!
//! A kernel may have an immediate variable and any number of uniforms. Their bytes are joined: the immediates first, then
//! each uniform at an offset where it can be bound. So a dispatch writes uniform memory once, all its uniforms have the same
//! dynamic offset, and their bind groups stay the same from batch to batch.

use crate::bind::Entry;
use crate::reflect::{ParamSpace, Reflection};
use ziggurat_device::Caps;
use ziggurat_memory::UniformSlice;

/// A uniform within the joined bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UniformAt {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    /// From the beginning of what goes to uniform memory.
    offset: u64,
    pub(crate) bytes: u64,
    /// Whether it is bound with a dynamic offset; of those a pipeline has few.
    pub(crate) is_dynamic: bool,
}

/// Where a kernel's parameters are among the joined bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamBytes {
    /// Bytes of the immediate variable, which come first.
    immediate: usize,
    uniforms: Box<[UniformAt]>,
    len: usize,
}

impl ParamBytes {
    pub(crate) fn new(reflection: &Reflection, caps: &Caps) -> Self {
        let immediate = match &reflection.params {
            Some(params) if params.space == ParamSpace::Immediate => params.bytes as usize,
            _ => 0,
        };
        let alignment = u64::from(caps.uniform_alignment).max(16);
        let most = caps.limits.max_dynamic_uniform_buffers_per_pipeline_layout as usize;
        let mut end = 0;
        let mut uniforms = Vec::new();
        for uniform in &reflection.uniforms {
            let ParamSpace::Uniform { group, binding } = uniform.space else {
                continue;
            };
            let offset = u64::next_multiple_of(end, alignment);
            let bytes = u64::from(uniform.bytes);
            uniforms.push(UniformAt {
                group,
                binding,
                offset,
                bytes,
                is_dynamic: uniforms.len() < most,
            });
            end = offset + bytes;
        }
        Self {
            immediate,
            uniforms: uniforms.into(),
            len: immediate.saturating_add(usize::try_from(end).unwrap_or(usize::MAX)),
        }
    }

    /// Whether the bytes of a dispatch's only parameters are all there is to it.
    pub(crate) fn is_plain(&self) -> bool {
        self.uniforms.len() + usize::from(self.immediate > 0) <= 1
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn uniforms(&self) -> &[UniformAt] {
        &self.uniforms
    }

    /// The immediates among the joined bytes, and what goes to uniform memory.
    pub(crate) fn split<'a>(&self, joined: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        joined
            .split_at_checked(self.immediate)
            .unwrap_or((joined, &[]))
    }

    /// The uniforms among the joined bytes.
    pub(crate) fn pieces<'a>(
        &'a self,
        joined: &'a [u8],
    ) -> impl Iterator<Item = (u32, u32, &'a [u8])> {
        let (_, joined) = self.split(joined);
        self.uniforms.iter().filter_map(|at| {
            let start = usize::try_from(at.offset).ok()?;
            let end = start.checked_add(usize::try_from(at.bytes).ok()?)?;
            Some((at.group, at.binding, joined.get(start..end)?))
        })
    }

    /// Joins the immediates and the uniforms, in the order of [`Self::uniforms`].
    pub(crate) fn join(&self, immediate: &[u8], uniforms: &[&[u8]]) -> Vec<u8> {
        let mut joined = Vec::with_capacity(self.len);
        joined.extend_from_slice(immediate);
        for (at, bytes) in self.uniforms.iter().zip(uniforms) {
            joined.resize(self.immediate + usize::try_from(at.offset).unwrap_or(0), 0);
            joined.extend_from_slice(bytes);
        }
        joined
    }

    /// What is bound of a slice of uniform memory.
    pub(crate) fn entries<'a>(&self, slice: &'a UniformSlice) -> impl Iterator<Item = Entry<'a>> {
        self.uniforms.iter().map(|at| Entry {
            group: at.group,
            binding: at.binding,
            buffer: &slice.buffer,
            id: slice.id,
            offset: match at.is_dynamic {
                true => at.offset,
                false => at.offset + u64::from(slice.offset),
            },
            bytes: at.bytes,
        })
    }
}
