//! Every invocation of a workgroup reaches every barrier.
//!
//! Browsers refuse a barrier in control flow that may differ between invocations; naga lets it through
//! and a GPU may hang or compute nonsense. The analysis is a simple form of the WGSL specification's
//! (section 15.2): a value is *divergent* if it comes from an invocation's id, from memory that others
//! write, or from a variable that was ever set to such a value or under such a condition. Control flow is
//! divergent under a divergent condition, and after a divergent `return`, or in a loop that some
//! invocations may leave early.

use std::collections::{BTreeMap, BTreeSet};

use naga::{
    AddressSpace, Binding, Block, BuiltIn, Expression, Function, Handle, LocalVariable, Module,
    Span, Statement, StorageAccess,
};

/// Places of the barriers of an entry point that some invocations may not reach.
#[must_use]
pub fn divergent_barriers(module: &Module, main: &Function) -> Vec<Span> {
    let arguments = main
        .arguments
        .iter()
        .map(|argument| !is_uniform_input(argument.binding.as_ref()))
        .collect();
    let mut known = Known::default();
    let mut walk = Walk::new(module, main, arguments, &mut known);
    walk.settle();
    walk.block(&main.body, false);
    let found = known.found.into_iter();
    found.map(|(start, end)| Span::new(start, end)).collect()
}

fn is_uniform_input(binding: Option<&Binding>) -> bool {
    matches!(
        binding,
        Some(Binding::BuiltIn(
            BuiltIn::WorkGroupId | BuiltIn::NumWorkGroups | BuiltIn::WorkGroupSize
        ))
    )
}

/// How control may leave a block in a divergent way.
#[derive(Clone, Copy, Default)]
struct Leaves {
    /// `break` or `continue` of the loop around it.
    within_loop: bool,
    /// `return` of the function.
    function: bool,
}

impl Leaves {
    fn or(self, other: Self) -> Self {
        Self {
            within_loop: self.within_loop || other.within_loop,
            function: self.function || other.function,
        }
    }

    fn any(self) -> bool {
        self.within_loop || self.function
    }
}

/// A function, and which of its arguments are divergent.
type Called = (Handle<Function>, Vec<bool>);

/// What is known of a kernel's functions. Each is looked at once for each way to call it: a function that calls others
/// several times would else cost the product of its calls and theirs.
#[derive(Default)]
struct Known {
    /// Byte spans of barriers in divergent control flow.
    found: BTreeSet<(u32, u32)>,
    /// Whether the value that is returned is divergent.
    returned: BTreeMap<Called, bool>,
    /// Calls whose barriers were looked at, in uniform or divergent control flow.
    reported: BTreeSet<(Called, bool)>,
}

/// One function under given arguments.
struct Walk<'a, 'f> {
    module: &'a Module,
    function: &'a Function,
    /// Per argument: divergent?
    arguments: Vec<bool>,
    /// Local variables that may hold divergent values.
    locals: BTreeSet<Handle<LocalVariable>>,
    /// Results of calls and atomics, set where the statement stands.
    results: BTreeMap<Handle<Expression>, bool>,
    /// The value that the function returns is divergent.
    returns_divergent: bool,
    known: &'f mut Known,
    reporting: bool,
}

impl<'a, 'f> Walk<'a, 'f> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        arguments: Vec<bool>,
        known: &'f mut Known,
    ) -> Self {
        Self {
            module,
            function,
            arguments,
            locals: BTreeSet::new(),
            results: BTreeMap::new(),
            returns_divergent: false,
            known,
            reporting: true,
        }
    }

    /// Walks until no further variable becomes divergent; each walk can only add.
    fn settle(&mut self) {
        self.reporting = false;
        loop {
            let before = (
                self.locals.len(),
                self.results
                    .values()
                    .filter(|divergent| **divergent)
                    .count(),
            );
            self.block(&self.function.body, false);
            let after = (
                self.locals.len(),
                self.results
                    .values()
                    .filter(|divergent| **divergent)
                    .count(),
            );
            if before == after {
                break;
            }
        }
        self.reporting = true;
    }

    fn block(&mut self, block: &'a Block, divergent: bool) -> Leaves {
        let mut divergent = divergent;
        let mut leaves = Leaves::default();
        for (statement, span) in block.span_iter() {
            let left = self.statement(statement, *span, divergent);
            leaves = leaves.or(left);
            divergent |= left.any();
        }
        leaves
    }

    fn statement(&mut self, statement: &'a Statement, span: Span, divergent: bool) -> Leaves {
        match statement {
            Statement::Block(inner) => return self.block(inner, divergent),
            Statement::If {
                condition,
                accept,
                reject,
            } => {
                let inside = divergent || self.expression(*condition);
                return self.block(accept, inside).or(self.block(reject, inside));
            }
            Statement::Switch { selector, cases } => {
                let inside = divergent || self.expression(*selector);
                let mut leaves = Leaves::default();
                for case in cases {
                    leaves = leaves.or(self.block(&case.body, inside));
                }
                return leaves;
            }
            Statement::Loop {
                body,
                continuing,
                break_if,
            } => return self.repeat(body, continuing, *break_if, divergent),
            Statement::Break | Statement::Continue => {
                return Leaves {
                    within_loop: divergent,
                    function: false,
                };
            }
            Statement::Return { value } => {
                self.returns_divergent |=
                    divergent || value.is_some_and(|value| self.expression(value));
                return Leaves {
                    within_loop: false,
                    function: divergent,
                };
            }
            Statement::ControlBarrier(_) => self.barrier(span, divergent),
            Statement::WorkGroupUniformLoad { result, .. } => {
                self.barrier(span, divergent);
                self.results.insert(*result, false);
            }
            Statement::Store { pointer, value } => {
                if (divergent || self.expression(*value) || self.is_divergent_place(*pointer))
                    && let Some(local) = self.local_behind(*pointer)
                {
                    self.locals.insert(local);
                }
            }
            Statement::Atomic {
                result: Some(result),
                ..
            }
            | Statement::SubgroupBallot { result, .. }
            | Statement::SubgroupGather { result, .. }
            | Statement::SubgroupCollectiveOperation { result, .. } => {
                self.results.insert(*result, true);
            }
            Statement::Call {
                function,
                arguments,
                result,
            } => self.call(*function, arguments, *result, divergent),
            _ => {}
        }
        Leaves::default()
    }

    fn repeat(
        &mut self,
        body: &'a Block,
        continuing: &'a Block,
        break_if: Option<Handle<Expression>>,
        divergent: bool,
    ) -> Leaves {
        let reporting = std::mem::replace(&mut self.reporting, false);
        let leaves = self
            .block(body, divergent)
            .or(self.block(continuing, divergent));
        self.reporting = reporting;
        // If some invocations leave early, the next round is run by the others only.
        let inside = divergent
            || leaves.any()
            || break_if.is_some_and(|condition| self.expression(condition));
        let after = self.block(body, inside).or(self.block(continuing, inside));
        Leaves {
            within_loop: false,
            function: leaves.function || (after.function && divergent),
        }
    }

    fn barrier(&mut self, span: Span, divergent: bool) {
        if divergent && self.reporting {
            let range = span.to_range().unwrap_or_default();
            let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            self.known
                .found
                .insert((byte(range.start), byte(range.end)));
        }
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
        divergent: bool,
    ) {
        let divergences: Vec<bool> = arguments
            .iter()
            .map(|argument| self.expression(*argument))
            .collect();
        let called = (function, divergences);
        let returned = self.known.returned.get(&called).copied();
        let reports = self.reporting && self.known.reported.insert((called.clone(), divergent));
        let returned = match returned {
            Some(returned) if !reports => returned,
            _ => self.look_into(called, divergent, reports),
        };
        if let Some(result) = result {
            self.results.insert(result, returned);
        }
        // What the callee writes through a pointer counts as divergent if anything about the call is.
        let tainted =
            divergent || returned || arguments.iter().any(|argument| self.expression(*argument));
        for argument in arguments {
            if tainted && let Some(local) = self.local_behind(*argument) {
                self.locals.insert(local);
            }
        }
    }

    /// Whether the value that a function returns is divergent; barriers in it are reported where that is asked for.
    fn look_into(&mut self, called: Called, divergent: bool, reports: bool) -> bool {
        let (function, divergences) = called.clone();
        let callee = &self.module.functions[function];
        let mut walk = Walk::new(self.module, callee, divergences, &mut *self.known);
        walk.settle();
        // The value of a call under a divergent condition is judged by its arguments alone.
        walk.reporting = false;
        walk.returns_divergent = false;
        walk.block(&callee.body, false);
        let returned = walk.returns_divergent;
        if reports {
            walk.reporting = true;
            walk.block(&callee.body, divergent);
        }
        self.known.returned.insert(called, returned);
        returned
    }

    /// The local variable that a pointer expression leads to.
    fn local_behind(&self, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match self.function.expressions[pointer] {
            Expression::LocalVariable(local) => Some(local),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                self.local_behind(base)
            }
            _ => None,
        }
    }

    /// True if a pointer picks a different element per invocation.
    fn is_divergent_place(&self, pointer: Handle<Expression>) -> bool {
        match self.function.expressions[pointer] {
            Expression::Access { base, index } => {
                self.expression(index) || self.is_divergent_place(base)
            }
            Expression::AccessIndex { base, .. } => self.is_divergent_place(base),
            _ => false,
        }
    }

    /// True if the expression's value may differ between invocations.
    fn expression(&self, expression: Handle<Expression>) -> bool {
        let is = |handle: Handle<Expression>| self.expression(handle);
        match &self.function.expressions[expression] {
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::Override(_)
            | Expression::ZeroValue(_) => false,
            Expression::ArrayLength(_) | Expression::WorkGroupUniformLoadResult { .. } => false,
            Expression::FunctionArgument(index) => {
                self.arguments.get(*index as usize).copied().unwrap_or(true)
            }
            Expression::GlobalVariable(global) => {
                let readonly = |access: StorageAccess| !access.contains(StorageAccess::STORE);
                match self.module.global_variables[*global].space {
                    AddressSpace::Uniform | AddressSpace::Immediate => false,
                    AddressSpace::Storage { access } => !readonly(access),
                    _ => true,
                }
            }
            Expression::LocalVariable(local) => self.locals.contains(local),
            Expression::Load { pointer } => is(*pointer),
            Expression::Compose { components, .. } => {
                components.iter().any(|component| is(*component))
            }
            Expression::Access { base, index } => is(*base) || is(*index),
            Expression::AccessIndex { base, .. } => is(*base),
            Expression::Splat { value, .. } => is(*value),
            Expression::Swizzle { vector, .. } => is(*vector),
            Expression::Unary { expr, .. } | Expression::As { expr, .. } => is(*expr),
            Expression::Binary { left, right, .. } => is(*left) || is(*right),
            Expression::Select {
                condition,
                accept,
                reject,
            } => is(*condition) || is(*accept) || is(*reject),
            Expression::Relational { argument, .. } => is(*argument),
            Expression::Math {
                arg,
                arg1,
                arg2,
                arg3,
                ..
            } => is(*arg) || [arg1, arg2, arg3].into_iter().flatten().any(|arg| is(*arg)),
            Expression::CallResult(_) => self.results.get(&expression).copied().unwrap_or(false),
            _ => true,
        }
    }
}
