//! Parameters that a call was given, and which variable of the shader each is for.

use std::borrow::Cow;

use ziggurat_pipeline::typed::{KernelParams, ParamField};
use ziggurat_pipeline::{Arg, Kernel, PipelineError};

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
