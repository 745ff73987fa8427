//! Values that may differ between the invocations of a workgroup.

use naga::{AddressSpace, Expression, Handle, LocalVariable, StorageAccess};

use super::Analysis;

fn is_set(all: &[bool], index: usize) -> bool {
    all.get(index).copied().unwrap_or(true)
}

impl Analysis<'_, '_> {
    /// The local variable that a pointer leads to, and whether it picks a different element per invocation.
    pub(super) fn place(
        &self,
        pointer: Handle<Expression>,
    ) -> (Option<Handle<LocalVariable>>, bool) {
        let (mut at, mut is_divergent) = (pointer, false);
        loop {
            at = match self.function.expressions[at] {
                Expression::LocalVariable(local) => return (Some(local), is_divergent),
                Expression::Access { base, index } => {
                    is_divergent |= self.is_divergent(index);
                    base
                }
                Expression::AccessIndex { base, .. } => base,
                _ => return (None, is_divergent),
            };
        }
    }

    /// Whether the expression's value may differ between invocations.
    pub(super) fn is_divergent(&self, expression: Handle<Expression>) -> bool {
        is_set(&self.divergent, expression.index())
    }

    /// Judges all expressions: each stands behind those that it is made of.
    pub(super) fn find_expressions(&mut self) {
        self.known.step(self.function.expressions.len());
        self.divergent.clear();
        for (handle, expression) in self.function.expressions.iter() {
            let is_divergent = self.judge(handle, expression);
            self.divergent.push(is_divergent);
        }
    }

    fn judge(&self, handle: Handle<Expression>, expression: &Expression) -> bool {
        let is = |handle: &Handle<Expression>| self.is_divergent(*handle);
        match expression {
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::Override(_)
            | Expression::ZeroValue(_) => false,
            Expression::ArrayLength(_) | Expression::WorkGroupUniformLoadResult { .. } => false,
            Expression::FunctionArgument(index) => {
                let index = usize::try_from(*index).unwrap_or(usize::MAX);
                is_set(&self.arguments, index)
            }
            Expression::GlobalVariable(global) => {
                match self.module.global_variables[*global].space {
                    AddressSpace::Uniform | AddressSpace::Immediate => false,
                    AddressSpace::Storage { access } => access.contains(StorageAccess::STORE),
                    _ => true,
                }
            }
            Expression::LocalVariable(local) => is_set(&self.locals, local.index()),
            Expression::Load { pointer } => is(pointer),
            Expression::Compose { components, .. } => components.iter().any(is),
            Expression::Access { base, index } => is(base) || is(index),
            Expression::AccessIndex { base, .. } => is(base),
            Expression::Splat { value, .. } => is(value),
            Expression::Swizzle { vector, .. } => is(vector),
            Expression::Unary { expr, .. } | Expression::As { expr, .. } => is(expr),
            Expression::Binary { left, right, .. } => is(left) || is(right),
            Expression::Select {
                condition,
                accept,
                reject,
            } => is(condition) || is(accept) || is(reject),
            Expression::Relational { argument, .. } => is(argument),
            Expression::Math {
                arg,
                arg1,
                arg2,
                arg3,
                ..
            } => is(arg) || [arg1, arg2, arg3].into_iter().flatten().any(is),
            Expression::CallResult(_) => is_set(&self.results, handle.index()),
            _ => true,
        }
    }
}
