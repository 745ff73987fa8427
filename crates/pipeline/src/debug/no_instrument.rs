//! In place of `instrument.rs` where there is no naga: kernels that print are refused.

use super::report::Site;
use crate::descriptor::KernelDescriptor;
use crate::error::PipelineError;
use crate::place::Place;
use crate::reflect::Text;

pub(super) struct Instrumented {
    pub(super) text: String,
    pub(super) sites: Vec<Site>,
}

pub(super) fn free_group(descriptor: &KernelDescriptor, _: &Text) -> Result<u32, PipelineError> {
    Err(refused(descriptor))
}

pub(super) fn instrument(
    descriptor: &KernelDescriptor,
    _: &Text,
    _: u32,
    _: usize,
) -> Result<Instrumented, PipelineError> {
    Err(refused(descriptor))
}

fn refused(descriptor: &KernelDescriptor) -> PipelineError {
    let name = descriptor.source.name();
    PipelineError::NeedsNaga {
        kernel: name.to_owned(),
        place: Place::whole(name),
        what: "a kernel with `assert` or `debug_print`",
    }
}
