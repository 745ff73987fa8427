//! Barriers that some invocations of a workgroup may not reach.
//!
//! Browsers refuse a barrier in control flow that may differ between invocations; naga lets it through and a GPU may hang or
//! compute nonsense. The analysis is a simple form of the WGSL specification's (section 15.2): a value is *divergent* if it
//! comes from an invocation's id, from memory that others write, or from a variable that was ever set to such a value or under
//! such a condition. Control flow is divergent under a divergent condition, and after a divergent `return`, or in a loop that
//! some invocations may leave early.
//!
//! It runs whenever a kernel with barriers is created, on any text. Invariant: its time and stack are bounded ([`STEPS`],
//! [`DEPTH`]); of a text that needs more nothing is said.

mod values;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr;

use naga::{Binding, Block, BuiltIn, Expression, Function, Handle, Module, Span, Statement};

/// Statements and expressions that are looked at, each as often as it is looked at.
const STEPS: u64 = 1_000_000;
/// Blocks and calls within each other.
const DEPTH: usize = 200;

/// Places of the barriers of an entry point that some invocations of a workgroup may not reach, in the order of the text.
///
/// `module` has passed naga's validation. Of a text so large or nested that the analysis would take more than 1,000,000 steps
/// none are found.
#[must_use]
pub fn divergent_barriers(module: &Module, main: &Function) -> Vec<Span> {
    let arguments = main.arguments.iter();
    let arguments = arguments.map(|argument| !is_uniform_input(argument.binding.as_ref()));
    let mut known = Known::default();
    let mut analysis = Analysis::new(module, main, arguments.collect(), &mut known);
    analysis.find_divergent();
    analysis.pass(false, true);
    if known.is_exhausted {
        return Vec::new();
    }
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

/// Sets one of them; whether it was not set before.
fn raise(all: &mut [bool], index: usize) -> bool {
    all.get_mut(index)
        .is_some_and(|one| !std::mem::replace(one, true))
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
    steps: u64,
    depth: usize,
    /// Whether the limits were reached, and nothing more is looked at.
    is_exhausted: bool,
}

impl Known {
    fn step(&mut self, steps: usize) {
        self.steps = self
            .steps
            .saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        self.is_exhausted |= self.steps > STEPS || self.depth > DEPTH;
    }
}

/// One function under given arguments.
struct Analysis<'a, 'k> {
    module: &'a Module,
    function: &'a Function,
    /// Per argument: divergent?
    arguments: Vec<bool>,
    /// By local variable: may it hold a divergent value?
    locals: Vec<bool>,
    /// By expression: is it the result of a call that may be divergent?
    results: Vec<bool>,
    /// Whether another one of either was found in this pass.
    has_found: bool,
    /// By expression: divergent, as far as variables and results were known when the pass began?
    divergent: Vec<bool>,
    /// How bodies of loops leave that were looked at in this pass, in uniform or divergent control flow, reporting or not.
    left: HashMap<(*const Block, bool, bool), Leaves>,
    /// The value that the function returns is divergent.
    returns_divergent: bool,
    reporting: bool,
    known: &'k mut Known,
}

impl<'a, 'k> Analysis<'a, 'k> {
    fn new(
        module: &'a Module,
        function: &'a Function,
        arguments: Vec<bool>,
        known: &'k mut Known,
    ) -> Self {
        Self {
            module,
            function,
            arguments,
            locals: vec![false; function.local_variables.len()],
            results: vec![false; function.expressions.len()],
            has_found: false,
            divergent: Vec::new(),
            left: HashMap::new(),
            returns_divergent: false,
            reporting: false,
            known,
        }
    }

    /// Passes until no further variable or result becomes divergent; each pass can only add.
    fn find_divergent(&mut self) {
        loop {
            self.pass(false, false);
            if !self.has_found || self.known.is_exhausted {
                break;
            }
        }
    }

    /// Looks at the whole function, which is called in such control flow.
    fn pass(&mut self, divergent: bool, reporting: bool) {
        self.left.clear();
        self.has_found = false;
        self.reporting = reporting;
        self.find_expressions();
        self.block(&self.function.body, divergent);
    }

    fn block(&mut self, block: &'a Block, divergent: bool) -> Leaves {
        self.known.depth += 1;
        self.known.step(1 + block.len());
        let mut inside = divergent;
        let mut leaves = Leaves::default();
        for (statement, span) in block.span_iter() {
            if self.known.is_exhausted {
                break;
            }
            let left = self.statement(statement, *span, inside);
            leaves = leaves.or(left);
            inside |= left.any();
        }
        self.known.depth -= 1;
        leaves
    }

    /// The same for a part of a loop, which is asked for several times.
    fn part_of_loop(&mut self, block: &'a Block, divergent: bool) -> Leaves {
        let key = (ptr::from_ref(block), divergent, self.reporting);
        if let Some(leaves) = self.left.get(&key) {
            return *leaves;
        }
        let leaves = self.block(block, divergent);
        self.left.insert(key, leaves);
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
                let inside = divergent || self.is_divergent(*condition);
                return self.block(accept, inside).or(self.block(reject, inside));
            }
            Statement::Switch { selector, cases } => {
                let inside = divergent || self.is_divergent(*selector);
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
                    divergent || value.is_some_and(|value| self.is_divergent(value));
                return Leaves {
                    within_loop: false,
                    function: divergent,
                };
            }
            Statement::ControlBarrier(_) | Statement::WorkGroupUniformLoad { .. } => {
                self.barrier(span, divergent);
            }
            Statement::Store { pointer, value } => {
                let (local, place_is_divergent) = self.place(*pointer);
                if (divergent || self.is_divergent(*value) || place_is_divergent)
                    && let Some(local) = local
                {
                    self.has_found |= raise(&mut self.locals, local.index());
                }
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
            .part_of_loop(body, divergent)
            .or(self.part_of_loop(continuing, divergent));
        self.reporting = reporting;
        // If some invocations leave early, the next round is run by the others only.
        let inside = divergent
            || leaves.any()
            || break_if.is_some_and(|condition| self.is_divergent(condition));
        let after = self
            .part_of_loop(body, inside)
            .or(self.part_of_loop(continuing, inside));
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
            .map(|argument| self.is_divergent(*argument))
            .collect();
        let any_divergent = divergences.contains(&true);
        let called = (function, divergences);
        let returned = self.known.returned.get(&called).copied();
        let reports = self.reporting && self.known.reported.insert((called.clone(), divergent));
        let returned = match returned {
            Some(returned) if !reports => returned,
            _ => self.look_into(called, divergent, reports),
        };
        if let Some(result) = result.filter(|_| returned) {
            self.has_found |= raise(&mut self.results, result.index());
        }
        // What the callee writes through a pointer counts as divergent if anything about the call is.
        if divergent || returned || any_divergent {
            for argument in arguments {
                if let Some(local) = self.place(*argument).0 {
                    self.has_found |= raise(&mut self.locals, local.index());
                }
            }
        }
    }

    /// Whether the value that a function returns is divergent; barriers in it are reported where that is asked for.
    fn look_into(&mut self, called: Called, divergent: bool, reports: bool) -> bool {
        self.known.depth += 1;
        let (function, divergences) = called.clone();
        let callee = &self.module.functions[function];
        let mut analysis = Analysis::new(self.module, callee, divergences, &mut *self.known);
        analysis.find_divergent();
        // The value of a call under a divergent condition is judged by its arguments alone.
        analysis.returns_divergent = false;
        analysis.pass(false, false);
        let returned = analysis.returns_divergent;
        if reports {
            analysis.pass(divergent, true);
        }
        self.known.depth -= 1;
        self.known.returned.insert(called, returned);
        returned
    }
}
