//! Parameters that a call was given, and which variable of the shader each is for.

use std::borrow::Cow;

use ziggurat_pipeline::typed::{KernelParams, ParamField};
use ziggurat_pipeline::{Arg, Kernel, PipelineError};

/// The methods by which a call, or a step, whose field is `uniforms` takes its parameters; the comment given is that of `params`.
macro_rules! takes_parameters {
    ($(#[$params:meta])*) => {
        /// The bytes of the shader's `var<uniform>` or `var<immediate>`. Of several the first call is for the immediate
        /// variable, if there is one, and the others are for the uniforms in the order of their groups and bindings.
        pub fn uniform(mut self, bytes: &'a [u8]) -> Self {
            self.uniforms.push(Given::new(bytes));
            self
        }

        $(#[$params])*
        pub fn params<P: KernelParams>(mut self, params: &P) -> Self {
            self.uniforms.push(Given::of(params));
            self
        }

        /// The bytes of the `var<uniform>` at this group and binding.
        pub fn uniform_at(mut self, group: u32, binding: u32, bytes: &'a [u8]) -> Self {
            self.uniforms.push(Given::new(bytes).at(group, binding));
            self
        }
    };
}
pub(crate) use takes_parameters;

/// The bytes of one variable.
#[derive(Clone, Debug)]
pub(crate) struct Given<'a> {
    bytes: Cow<'a, [u8]>,
    /// Group and binding index.
    place: Option<(u32, u32)>,
    /// The fields that the bytes are made of, if that is known.
    fields: Option<&'static [ParamField]>,
}

impl<'a> Given<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: Cow::Borrowed(bytes),
            place: None,
            fields: None,
        }
    }

    /// A struct's bytes.
    pub(crate) fn of<P: KernelParams>(params: &P) -> Self {
        Self {
            bytes: Cow::Owned(params.to_bytes()),
            place: None,
            fields: Some(P::FIELDS),
        }
    }

    pub(crate) fn at(mut self, group: u32, binding: u32) -> Self {
        self.place = Some((group, binding));
        self
    }

    fn arg(&self) -> Arg<'_> {
        let arg = Arg::uniform(&self.bytes);
        match self.place {
            Some((group, binding)) => arg.at(group, binding),
            None => arg,
        }
    }
}

/// Adds the arguments; the first bytes are the parameters of the dispatch, and not an argument, for an immediate variable or
/// where there are not several uniforms to choose from.
pub(crate) fn bind<'a>(
    kernel: &Kernel,
    given: &'a [Given<'_>],
    args: &mut Vec<Arg<'a>>,
) -> Result<&'a [u8], PipelineError> {
    let reflection = kernel.reflection();
    let unplaced = given.iter().filter(|one| one.place.is_none());
    for (number, one) in unplaced.enumerate() {
        if let Some(fields) = one.fields {
            reflection.check_params_at(number, fields)?;
        }
    }
    let single = reflection.params.is_some() || reflection.uniforms.is_empty();
    match given.split_first() {
        Some((first, others)) if single && first.place.is_none() => {
            args.extend(others.iter().map(Given::arg));
            Ok(&first.bytes)
        }
        _ => {
            args.extend(given.iter().map(Given::arg));
            Ok(&[])
        }
    }
}
