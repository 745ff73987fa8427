//! [`Step`]: one dispatch of a plan.

use ziggurat_pipeline::Grid;

use super::{Binding, Place};
use crate::fused::Operand;
use crate::fused::ends::{Generated, OwnParams};
use crate::run::ends::Ends;
use crate::source::choice::KernelChoice;
use crate::source::list::List;
use crate::source::params::{ParamField, Params};

/// The most 32-bit words of a kernel's own parameters.
const MAX_WORDS: usize = 64;

/// One dispatch.
#[derive(Debug)]
pub(in crate::run) struct Step {
    pub(in crate::run) choice: KernelChoice,
    pub(in crate::run) bindings: List<Binding, 6>,
    words: [u32; MAX_WORDS],
    len: usize,
    fields: &'static [ParamField],
    pub(in crate::run) grid: Grid,
    /// Whether it writes through the sink's expression, if there is one.
    is_last: bool,
}

impl Step {
    pub(in crate::run) fn new<P: Params>(
        (choice, grid): (KernelChoice, Grid),
        bindings: List<Binding, 6>,
        params: &P,
        is_last: bool,
    ) -> Self {
        const { assert!(size_of::<P>() <= 4 * MAX_WORDS) };
        let own: &[u32] = bytemuck::cast_slice(std::slice::from_ref(params));
        let mut words = [0; MAX_WORDS];
        for (slot, word) in words.iter_mut().zip(own) {
            *slot = *word;
        }
        Self {
            choice,
            bindings,
            words,
            len: own.len(),
            fields: P::FIELDS,
            grid,
            is_last,
        }
    }

    pub(in crate::run) fn own(&self) -> OwnParams<'_> {
        OwnParams {
            words: self.words.get(..self.len).unwrap_or(&self.words),
            fields: self.fields,
        }
    }

    /// What is generated of its kernel.
    pub(in crate::run) fn generated<'a>(&self, ends: &Ends<'a>) -> Generated<'a> {
        let mut bindings = self.bindings.iter();
        let reads_first = bindings.any(|binding| binding.place == Place::First);
        Generated {
            reads: match ends.a {
                Operand::Fused(prologue) if reads_first => Some(prologue),
                _ => None,
            },
            writes: ends.epilogue.filter(|_| self.is_last),
        }
    }
}
