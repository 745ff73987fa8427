//! `debug_print` calls, which come as variables that are set to themselves: see
//! [`ziggurat_core::debug_print`].

use naga::common::wgsl::TypeContext as _;
use naga::{Expression, Handle, LocalVariable};
use ziggurat_core::debug_print::{VARIABLE, numbers};

use super::{Lower, Result};
use crate::engine::ir::Op;
use crate::engine::layout::Layout;
use crate::engine::print::Site;

impl Lower<'_> {
    /// The variable of a print, if a store is one.
    pub(super) fn printed(
        &self,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
    ) -> Option<Handle<LocalVariable>> {
        let function = self.frame.function;
        let variable = |handle: Handle<Expression>| match function.expressions[handle] {
            Expression::LocalVariable(variable) => Some(variable),
            _ => None,
        };
        let Expression::Load { pointer: source } = function.expressions[value] else {
            return None;
        };
        let target = variable(pointer).filter(|target| variable(source) == Some(*target))?;
        let name = function.local_variables[target].name.as_deref();
        name.is_some_and(|name| name.starts_with(VARIABLE))
            .then_some(target)
    }

    /// One value of a statement; they come one behind the other.
    pub(super) fn print(
        &mut self,
        variable: Handle<LocalVariable>,
        value: Handle<Expression>,
    ) -> Result<()> {
        let leaves = self.types.leaves(self.inner(value), Layout::Flat);
        let Some(leaves) = leaves else {
            return self.refuse("debug_print", "the value has a type that cannot be printed");
        };
        let mut ty = String::new();
        let handle = self.frame.function.local_variables[variable].ty;
        // Writing into a string does not fail.
        let _ = self.module.to_ctx().write_type(handle, &mut ty);
        let v = self.value(value)?;
        let name = self.frame.function.local_variables[variable]
            .name
            .as_deref();
        let (statement, behind) = name.and_then(numbers).unwrap_or_default();
        let scalars = leaves.into_iter().map(|leaf| leaf.scalar).collect();
        self.said.0.push((ty, scalars));
        self.said.1.extend(v);
        if behind > 0 {
            return Ok(());
        }
        let (values, v) = std::mem::take(&mut self.said);
        let site = Site {
            line: self.line(),
            statement,
            values,
        };
        // What a run prints comes in the order of its workgroups.
        self.code.ordered = true;
        let sites = &mut self.code.prints.sites;
        let number = sites.len() as u32;
        sites.push(site);
        self.emit(Op::Print { site: number, v })
    }
}
