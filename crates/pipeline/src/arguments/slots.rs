//! Which argument is for which variable of the shader.

use std::sync::Arc;

use super::{Arg, Target, What};
use crate::dispatch::{binding_count, params_size, place_of_missing};
use crate::error::{ArgumentError, PipelineError};
use crate::kernel::Kernel;
use crate::place::Place;
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
    let plain = kernel.param_bytes().is_plain() && reflection.resources().is_empty();
    let mut bindings = reflection.bindings.iter();
    if plain && args.iter().all(|arg| arg.is_in_order(bindings.next())) {
        return Ok(Arranged::AsGiven);
    }
    let mut all = Arguments::new(reflection);
    let (placed, others): (Vec<&Arg<'a>>, Vec<&Arg<'a>>) =
        args.iter().partition(|arg| arg.is_placed());
    for arg in placed.into_iter().chain(others) {
        all.take(*arg)?;
    }
    all.finish(kernel, params)
}

/// A variable of the shader, as errors name it. Immediates have no place.
struct Variable<'r> {
    name: &'r str,
    place: Option<(u32, u32)>,
    at: &'r Arc<Place>,
}

impl Variable<'_> {
    fn text(&self) -> String {
        let name = self.name;
        self.place.map_or(format!("`{name}`"), |(group, binding)| {
            format!("`{name}` (group {group}, binding {binding})")
        })
    }
}

/// The variables of a kind, with the arguments found so far.
struct Slots<'r, T> {
    kind: &'static str,
    variables: Vec<Variable<'r>>,
    given: Vec<Option<T>>,
    /// How many arguments were given; some may be for no variable.
    count: usize,
}

impl<'r, T: Clone> Slots<'r, T> {
    fn new(kind: &'static str, variables: impl Iterator<Item = Variable<'r>>) -> Self {
        let variables: Vec<_> = variables.collect();
        Self {
            kind,
            given: vec![None; variables.len()],
            variables,
            count: 0,
        }
    }

    /// The first variable without an argument; as many as there are, if all have one.
    fn missing(&self) -> usize {
        let at = self.given.iter().position(Option::is_none);
        at.unwrap_or(self.given.len())
    }

    /// Gives an argument to its variable.
    fn put(&mut self, kernel: &str, target: Target<'_>, argument: T) -> Result<(), PipelineError> {
        self.count += 1;
        let (kind, owner) = (self.kind, || kernel.to_owned());
        let declared = || self.variables.iter().map(Variable::text).collect();
        let index = match target {
            Target::Next => self.given.iter().position(Option::is_none),
            Target::At(group, binding) => {
                let is_there = |variable: &Variable<'_>| variable.place == Some((group, binding));
                Some(self.free(kernel, is_there, || {
                    PipelineError::Argument(ArgumentError::NoSuchBinding {
                        kernel: owner(),
                        kind,
                        group,
                        binding,
                        declared: declared(),
                    })
                })?)
            }
            Target::Named(name) => {
                let has_name = |variable: &Variable<'_>| variable.name == name;
                Some(self.free(kernel, has_name, || {
                    PipelineError::Argument(ArgumentError::NoSuchVariable {
                        kernel: owner(),
                        kind,
                        name: name.to_owned(),
                        declared: declared(),
                    })
                })?)
            }
        };
        if let Some(slot) = index.and_then(|index| self.given.get_mut(index)) {
            *slot = Some(argument);
        }
        Ok(())
    }

    /// The number of the first such variable, if it has no argument.
    fn free(
        &self,
        kernel: &str,
        is_meant: impl Fn(&Variable<'_>) -> bool,
        missing: impl FnOnce() -> PipelineError,
    ) -> Result<usize, PipelineError> {
        let mut all = self.variables.iter().zip(&self.given).enumerate();
        match all.find(|(_, (variable, _))| is_meant(variable)) {
            Some((index, (_, None))) => Ok(index),
            Some((_, (variable, Some(_)))) => {
                Err(PipelineError::Argument(ArgumentError::BoundTwice {
                    kernel: kernel.to_owned(),
                    place: Arc::clone(variable.at),
                    name: variable.text(),
                }))
            }
            None => Err(missing()),
        }
    }
}

/// The arguments found so far, by the kind of their variables.
struct Arguments<'r, 'a> {
    reflection: &'r Reflection,
    buffers: Slots<'r, Arg<'a>>,
    uniforms: Slots<'r, &'a [u8]>,
    resources: Slots<'r, Arg<'a>>,
}

impl<'r, 'a> Arguments<'r, 'a> {
    fn new(reflection: &'r Reflection) -> Self {
        let buffers = reflection.bindings.iter().map(|b| Variable {
            name: &b.name,
            place: Some((b.group, b.binding)),
            at: &b.place,
        });
        let uniforms = reflection.uniforms.iter().map(|p| Variable {
            name: &p.name,
            place: match p.space {
                ParamSpace::Uniform { group, binding } => Some((group, binding)),
                ParamSpace::Immediate => None,
            },
            at: &p.place,
        });
        let resources = reflection.resources().iter().map(|r| Variable {
            name: &r.name,
            place: Some((r.group, r.binding)),
            at: &r.place,
        });
        Self {
            reflection,
            buffers: Slots::new("storage buffer", buffers),
            uniforms: Slots::new("uniform", uniforms),
            resources: Slots::new("texture or sampler", resources),
        }
    }

    fn take(&mut self, arg: Arg<'a>) -> Result<(), PipelineError> {
        let kernel = &self.reflection.kernel;
        match arg.what {
            What::Resource(_) => self.resources.put(kernel, arg.target, arg),
            What::Buffer(_) => self.buffers.put(kernel, arg.target, arg),
            What::Uniform(bytes) => self.uniforms.put(kernel, arg.target, bytes),
        }
    }

    /// All variables with their arguments. `params` go to the immediate variable, or to the only uniform that is left.
    fn finish(mut self, kernel: &Kernel, params: &[u8]) -> Result<Arranged<'a>, PipelineError> {
        let reflection = self.reflection;
        let missing = self.buffers.missing();
        let mut args: Vec<Arg<'a>> = self.buffers.given.drain(..).flatten().collect();
        if args.len() != reflection.bindings.len() || self.buffers.count != args.len() {
            return Err(binding_count(reflection, self.buffers.count, missing));
        }
        let before = args.len();
        let missing = self.resources.missing();
        args.extend(self.resources.given.drain(..).flatten());
        let expected = reflection.resources().len();
        if args.len() - before != expected || self.resources.count != expected {
            let declared = |r: &Resource| format!("`{}` ({})", r.name, r.place);
            let places = reflection.resources().iter().map(|r| &r.place);
            return Err(PipelineError::Argument(ArgumentError::ResourceCount {
                kernel: reflection.kernel.clone(),
                place: place_of_missing(reflection, places, missing),
                expected,
                got: self.resources.count,
                declared: reflection.resources().iter().map(declared).collect(),
            }));
        }
        let immediate = reflection.params.as_ref();
        let immediate = immediate.filter(|declared| declared.space == ParamSpace::Immediate);
        let mut left = self.uniforms.given.iter().filter(|given| given.is_none());
        let takes_params = immediate.is_none()
            && left.next().is_some()
            && left.next().is_none()
            && !params.is_empty();
        let given: Vec<&[u8]> = self
            .uniforms
            .given
            .iter()
            .filter_map(|given| given.or(takes_params.then_some(params)))
            .collect();
        if given.len() != reflection.uniforms.len() || self.uniforms.count > given.len() {
            let declared = |p: &Params| format!("`{}` ({})", p.name, p.place);
            let places = reflection.uniforms.iter().map(|p| &p.place);
            let missing = self.uniforms.missing();
            return Err(PipelineError::Argument(ArgumentError::UniformCount {
                kernel: reflection.kernel.clone(),
                place: place_of_missing(reflection, places, missing),
                expected: reflection.uniforms.len(),
                got: self.uniforms.count,
                declared: reflection.uniforms.iter().map(declared).collect(),
            }));
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
