//! Calls, which are inlined: WGSL has no recursion.

use naga::{Expression, Function, Handle, TypeInner};

use super::{Argument, Frame, Lower, Result};
use crate::engine::ir::Reg;

/// Calls within each other above which a program is refused.
const MAX_CALLS: u32 = 60;

impl Lower<'_> {
    /// Runs `function` here; gives its result.
    pub(super) fn inline(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
    ) -> Result<Vec<Reg>> {
        if self.calls >= MAX_CALLS {
            return self.refuse("call", "calls are nested too deeply");
        }
        // What is computed here emits nothing, but takes time all the same.
        self.count_ops(self.module.functions[function].expressions.len())?;
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let inner = self.inner(*argument);
            given.push(match inner {
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                    Argument::Pointer(self.pointer(*argument)?)
                }
                TypeInner::Image { .. } | TypeInner::Sampler { .. } => {
                    Argument::Handle(self.handle(*argument)?)
                }
                _ => Argument::Value(self.value(*argument)?),
            });
        }
        let callee = Frame::new(
            &self.module.functions[function],
            &self.info[function],
            given,
        );
        let caller = std::mem::replace(&mut self.frame, callee);
        let span = self.span;
        self.calls += 1;
        let value = self.body();
        self.calls -= 1;
        self.span = span;
        self.frame = caller;
        value
    }
}
