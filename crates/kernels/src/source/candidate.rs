//! A kernel variant as the catalogue lists it.

use std::borrow::Cow;

use ziggurat_pipeline::KernelDescriptor;

use crate::run::error::KernelError;
use crate::source::choice::{CATALOGUE_WG, KernelChoice};
use crate::source::params::ParamField;

/// One kernel as a device would compile it.
#[derive(Clone, Debug)]
pub struct Variant {
    /// A unique name: the label the kernel has in profiles, its constants, and where its parameters come from.
    pub name: String,
    /// The shader's parts, entry point and constants.
    pub descriptor: KernelDescriptor,
    /// The host's idea of the shader's `Params`.
    pub params: Cow<'static, [ParamField]>,
}

/// A variant before it is decided where its parameters come from.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) choice: KernelChoice,
    pub(crate) params: &'static [ParamField],
}

impl Candidate {
    pub(crate) fn new(choice: KernelChoice, params: &'static [ParamField]) -> Self {
        Self { choice, params }
    }

    pub(crate) fn variant(
        &self,
        part: (&'static str, &'static str),
        suffix: &str,
    ) -> Result<Variant, KernelError> {
        let constants: String = self
            .choice
            .constants()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        Ok(Variant {
            name: format!("{}{constants} {suffix}", self.choice.label()),
            descriptor: self.choice.descriptor(part, CATALOGUE_WG)?,
            params: Cow::Borrowed(self.params),
        })
    }
}
