//! Which argument is for which variable of the shader.

use super::{Arg, What};
use crate::dispatch::{binding_count, params_size};
use crate::error::PipelineError;
use crate::kernel::Kernel;
use crate::reflect::{ParamSpace, Params, Reflection, Resource};

/// The arguments of a dispatch in the order of the shader's variables.
#[derive(Debug)]
pub(crate) enum Arranged<'a> {
    /// As they were given.
    AsGiven,
    /// Buffers, then textures and samplers, each by group and binding index; and the joined parameters.
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
    let reflection = kernel.reflection();
    let plain = kernel.param_bytes().is_plain() && reflection.resources.is_empty();
    if plain && args.iter().all(Arg::is_plain) {
        return Ok(Arranged::AsGiven);
    }
    let mut slots = Slots {
        reflection,
        buffers: vec![None; reflection.bindings.len()],
        uniforms: vec![None; reflection.uniforms.len()],
        resources: vec![None; reflection.resources.len()],
        counts: [0; 2],
        resource_count: 0,
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
    resources: Vec<Option<Arg<'a>>>,
    /// How many buffers and uniforms were given.
    counts: [usize; 2],
    resource_count: usize,
}

impl<'a> Slots<'_, 'a> {
    fn take(&mut self, arg: Arg<'a>) -> Result<(), PipelineError> {
        let [buffers, uniforms] = &mut self.counts;
        match arg.what {
            What::Resource(_) => {
                self.resource_count += 1;
                let index = match arg.place {
                    None => self.resources.iter().position(Option::is_none),
                    Some(place) => Some(self.resource_at(place)?),
                };
                if let Some(slot) = index.and_then(|index| self.resources.get_mut(index)) {
                    *slot = Some(arg);
                }
            }
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

    fn resource_at(&self, (group, binding): (u32, u32)) -> Result<usize, PipelineError> {
        let all = &self.reflection.resources;
        let found = all
            .iter()
            .position(|r| (r.group, r.binding) == (group, binding));
        let (Some(index), Some(declared)) = (found, found.and_then(|i| all.get(i))) else {
            let place = |r: &Resource| place_text(&r.name, r.group, r.binding);
            return Err(PipelineError::NoSuchBinding {
                kernel: self.reflection.kernel.clone(),
                kind: "texture or sampler",
                group,
                binding,
                declared: all.iter().map(place).collect(),
            });
        };
        match self.resources.get(index) {
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
        let mut args: Vec<Arg<'a>> = self.buffers.drain(..).flatten().collect();
        if args.len() != reflection.bindings.len() || buffers != args.len() {
            return Err(binding_count(reflection, buffers));
        }
        let before = args.len();
        args.extend(self.resources.drain(..).flatten());
        let expected = reflection.resources.len();
        if args.len() - before != expected || self.resource_count != expected {
            let declared = |r: &Resource| format!("`{}` ({}:{})", r.name, r.file, r.line);
            return Err(PipelineError::ResourceCount {
                kernel: reflection.kernel.clone(),
                expected,
                got: self.resource_count,
                declared: reflection.resources.iter().map(declared).collect(),
            });
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
