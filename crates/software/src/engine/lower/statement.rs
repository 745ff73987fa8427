//! Statements that are not control flow.

use naga::{Statement, TypeInner};

use super::{Lower, Result};
use crate::engine::ir::Op;

impl<'a> Lower<'a> {
    pub(super) fn statement(&mut self, statement: &'a Statement) -> Result<()> {
        match statement {
            Statement::Emit(range) => {
                for handle in range.clone() {
                    self.evaluate(handle)?;
                }
                Ok(())
            }
            Statement::Block(block) => {
                let inner = super::control::statements(block);
                self.run(&inner)
            }
            Statement::If {
                condition,
                accept,
                reject,
            } => self.branch(*condition, accept, reject),
            Statement::Switch { selector, cases } => self.switch(*selector, cases),
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => self.repeat(body, continuing, *break_if),
            // All invocations run in lockstep: every write is seen by the operation after it.
            Statement::ControlBarrier(barrier) => self.check_barrier(*barrier, "barrier"),
            Statement::MemoryBarrier(_) => Ok(()),
            Statement::Store { pointer, value } => {
                if let Some(variable) = self.printed(*pointer, *value) {
                    return self.print(variable, *value);
                }
                let value = self.value(*value)?;
                let pointer = self.pointer(*pointer)?;
                if matches!(pointer.ty, TypeInner::Atomic(_)) && pointer.is_binding() {
                    self.code.ordered = true;
                }
                self.store(&pointer, &value)
            }
            Statement::Atomic {
                pointer,
                fun,
                value,
                result,
            } => self.atomic(*pointer, fun, *value, *result),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let pointer = self.pointer(*pointer)?;
                self.check_uniform_load(&pointer)?;
                let mut value = Vec::new();
                for a in self.load(&pointer)? {
                    let d = self.register();
                    self.emit(Op::First { d, a })?;
                    value.push(d);
                }
                self.check_uniform_load_end()?;
                self.set(*result, value);
                Ok(())
            }
            Statement::Call {
                function,
                arguments,
                result,
            } => {
                let value = self.inline(*function, arguments)?;
                if let Some(result) = result {
                    self.set(*result, value);
                }
                Ok(())
            }
            Statement::SubgroupBallot { result, predicate } => self.ballot(*result, *predicate),
            Statement::SubgroupGather {
                mode,
                argument,
                result,
            } => self.gather(*mode, *argument, *result),
            Statement::SubgroupCollectiveOperation {
                op,
                collective_op,
                argument,
                result,
            } => self.collective(*op, *collective_op, *argument, *result),
            Statement::CooperativeStore { target, data } => self.matrix_store(*target, data),
            Statement::Return { .. } | Statement::Break | Statement::Continue => {
                self.refuse("jump", "it is in an unexpected place")
            }
            Statement::Kill => self.refuse("discard", "compute shaders have none"),
            Statement::ImageStore {
                image,
                coordinate,
                array_index,
                value,
            } => self.texture_store(*image, *coordinate, *array_index, *value),
            Statement::ImageAtomic {
                image,
                coordinate,
                array_index,
                fun,
                value,
            } => self.texture_atomic((*image, *coordinate, *array_index), fun, *value),
            Statement::RayQuery { .. } | Statement::RayPipelineFunction(_) => {
                self.refuse("ray query", "the software device has no ray tracing")
            }
        }
    }
}
