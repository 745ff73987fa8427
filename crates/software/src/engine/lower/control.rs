//! Control flow: branches, loops, and `return` made structured.
//!
//! Where a branch returns, the rest of the function becomes its other branch, so that most early
//! returns need no mask of their own; only returns from within loops and switches leave a scope.

use naga::{Expression, Handle, Span, Statement, SwitchCase, SwitchValue};

use super::{Exit, Lower, Result};
use crate::engine::ir::{Block, Op, Reg};
use crate::engine::scalar::{Bin, Un};

/// Statements with their places.
pub(super) type Statements<'a> = Vec<(&'a Statement, Span)>;

pub(super) fn statements(block: &naga::Block) -> Statements<'_> {
    block
        .span_iter()
        .map(|(statement, span)| (statement, *span))
        .collect()
}

/// Beyond this depth a rest of a function is no longer nested into a branch.
const TAIL_NEST: usize = 40;

fn returns(block: &naga::Block) -> bool {
    block.iter().any(statement_returns)
}

fn statement_returns(statement: &Statement) -> bool {
    match statement {
        Statement::Return { .. } => true,
        Statement::Block(block) => returns(block),
        Statement::If { accept, reject, .. } => returns(accept) || returns(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| returns(&case.body)),
        Statement::Loop {
            body, continuing, ..
        } => returns(body) || returns(continuing),
        _ => false,
    }
}

fn ends_with_return(block: &naga::Block) -> bool {
    match block.last() {
        Some(Statement::Return { .. }) => true,
        Some(Statement::Block(block)) => ends_with_return(block),
        Some(Statement::If { accept, reject, .. }) => {
            ends_with_return(accept) && ends_with_return(reject)
        }
        _ => false,
    }
}

/// Whether a `break` in it leaves the switch around it.
fn breaks(block: &[Statement]) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::Block(block) => breaks(block),
        Statement::If { accept, reject, .. } => breaks(accept) || breaks(reject),
        _ => false,
    })
}

impl<'a> Lower<'a> {
    /// The statements of the current function; gives its result.
    pub(super) fn body(&mut self) -> Result<Vec<Reg>> {
        let function = self.frame.function;
        for (handle, variable) in function.local_variables.iter() {
            self.span = function.local_variables.get_span(handle);
            let init = variable.init.map(|init| self.value(init)).transpose()?;
            let regs = self.variable(self.types.inner(variable.ty), init)?;
            self.frame.locals.push(regs);
        }
        if let Some(value) = self.tail(statements(&function.body), true)? {
            return Ok(value);
        }
        match self.frame.result.clone() {
            Some(result) => result.into_iter().map(|reg| self.copy(reg)).collect(),
            None => Ok(Vec::new()),
        }
    }

    /// Statements after which the function ends. A `return` at the end of them gives its value
    /// back if `direct`, and goes through the frame's result otherwise.
    fn tail(&mut self, list: Statements<'a>, direct: bool) -> Result<Option<Vec<Reg>>> {
        let mut list = list;
        let mut at = 0;
        while let Some((statement, span)) = list.get(at).copied() {
            at += 1;
            self.span = span;
            match statement {
                Statement::Return { value } => {
                    if direct && self.frame.result.is_none() {
                        return value.map(|value| self.value(value)).transpose();
                    }
                    self.set_result(*value)?;
                    return Ok(None);
                }
                Statement::Block(block) if returns(block) => {
                    let mut flat = statements(block);
                    flat.extend(list.drain(at..));
                    list = flat;
                    at = 0;
                }
                Statement::If {
                    condition,
                    accept,
                    reject,
                } if (ends_with_return(accept) || ends_with_return(reject))
                    && self.blocks.len() < TAIL_NEST =>
                {
                    let c = self.word(*condition)?;
                    let rest: Statements<'a> = list.drain(at..).collect();
                    let join = |block: &'a naga::Block| {
                        let mut joined = statements(block);
                        if !ends_with_return(block) {
                            joined.extend(rest.iter().copied());
                        }
                        joined
                    };
                    if let Some(bits) = self.known(c) {
                        list = join(if bits == 0 { reject } else { accept });
                        at = 0;
                        continue;
                    }
                    self.declare_result()?;
                    let then = join(accept);
                    let then = self.nested(|lower| lower.tail(then, false).map(drop))?;
                    let other = join(reject);
                    let other = self.nested(|lower| lower.tail(other, false).map(drop))?;
                    self.emit(Op::If { c, then, other })?;
                    return Ok(None);
                }
                other if statement_returns(other) => {
                    self.declare_result()?;
                    let id = self.enter_nest();
                    self.frame.scope = Some(id);
                    let rest: Statements<'a> = list.drain(at - 1..).collect();
                    let body = self.nested(|lower| lower.run(&rest))?;
                    self.frame.scope = None;
                    self.leave_nest();
                    self.emit(Op::Scope { id, body })?;
                    return Ok(None);
                }
                other => self.statement(other)?,
            }
        }
        Ok(None)
    }

    /// Statements that something follows.
    pub(super) fn run(&mut self, list: &Statements<'a>) -> Result<()> {
        for (statement, span) in list {
            self.span = *span;
            match statement {
                Statement::Return { value } => {
                    self.set_result(*value)?;
                    match self.frame.scope {
                        Some(id) => self.emit(Op::Leave(id))?,
                        None => return self.refuse("return", "it is in an unexpected place"),
                    }
                    return Ok(());
                }
                Statement::Break => {
                    return match self.frame.exits.last() {
                        Some(Exit::Loop(id)) => self.emit(Op::Break(*id)),
                        Some(Exit::Switch(id)) => self.emit(Op::Leave(*id)),
                        None => self.refuse("break", "there is nothing to leave"),
                    };
                }
                Statement::Continue => {
                    let target = self.frame.exits.iter().rev().find_map(|exit| match exit {
                        Exit::Loop(id) => Some(*id),
                        Exit::Switch(_) => None,
                    });
                    return match target {
                        Some(id) => self.emit(Op::Continue(id)),
                        None => self.refuse("continue", "there is no loop"),
                    };
                }
                other => self.statement(other)?,
            }
        }
        Ok(())
    }

    fn declare_result(&mut self) -> Result<()> {
        let function = self.frame.function;
        if let (None, Some(result)) = (&self.frame.result, &function.result) {
            let regs = self.variable(self.types.inner(result.ty), None)?;
            self.frame.result = Some(regs);
        }
        Ok(())
    }

    fn set_result(&mut self, value: Option<Handle<Expression>>) -> Result<()> {
        self.declare_result()?;
        let (Some(value), Some(result)) = (value, self.frame.result.clone()) else {
            return Ok(());
        };
        let value = self.value(value)?;
        for (d, a) in result.into_iter().zip(value) {
            self.emit(Op::Mov {
                d,
                a,
                masked: false,
            })?;
        }
        Ok(())
    }

    fn block(&mut self, block: &'a naga::Block) -> Result<Block> {
        self.nested(|lower| lower.run(&statements(block)))
    }

    pub(super) fn branch(
        &mut self,
        condition: Handle<Expression>,
        accept: &'a naga::Block,
        reject: &'a naga::Block,
    ) -> Result<()> {
        let c = self.word(condition)?;
        if let Some(bits) = self.known(c) {
            // The block is not nested, but what follows a `break` in it is dead all the same.
            let block = self.block(if bits == 0 { reject } else { accept })?;
            for op in block {
                self.emit(op)?;
            }
            return Ok(());
        }
        if let Some(Exit::Loop(id)) = self.frame.exits.last().copied() {
            let only_break = |block: &naga::Block| matches!(block.first(), Some(Statement::Break));
            if only_break(accept) && reject.is_empty() {
                return self.emit(Op::BreakIf { id, c, on: true });
            }
            if accept.is_empty() && only_break(reject) {
                return self.emit(Op::BreakIf { id, c, on: false });
            }
        }
        let then = self.block(accept)?;
        let other = self.block(reject)?;
        self.emit(Op::If { c, then, other })
    }

    pub(super) fn repeat(
        &mut self,
        body: &'a naga::Block,
        continuing: &'a naga::Block,
        break_if: Option<Handle<Expression>>,
    ) -> Result<()> {
        let line = self.line();
        let id = self.enter_nest();
        self.frame.exits.push(Exit::Loop(id));
        let body = self.block(body)?;
        let mut until = None;
        let cont = self.nested(|lower| {
            lower.run(&statements(continuing))?;
            until = break_if.map(|handle| lower.word(handle)).transpose()?;
            Ok(())
        })?;
        self.frame.exits.pop();
        self.leave_nest();
        self.emit(Op::Loop {
            id,
            body,
            cont,
            until,
            line,
        })
    }

    /// One `If` per group of cases, one after another: their conditions exclude each other.
    pub(super) fn switch(
        &mut self,
        selector: Handle<Expression>,
        cases: &'a [SwitchCase],
    ) -> Result<()> {
        let value = self.word(selector)?;
        let scope = cases
            .iter()
            .any(|case| breaks(without_last_break(&case.body)));
        let id = if scope { Some(self.enter_nest()) } else { None };
        let fill = |lower: &mut Self| -> Result<()> {
            let mut any = lower.bits(0);
            let mut group = lower.bits(0);
            let mut is_default = false;
            let mut default: Option<&'a naga::Block> = None;
            for case in cases {
                match case.value {
                    SwitchValue::Default => is_default = true,
                    SwitchValue::I32(_) | SwitchValue::U32(_) => {
                        let bits = match case.value {
                            SwitchValue::I32(bits) => bits as u32,
                            SwitchValue::U32(bits) => bits,
                            SwitchValue::Default => 0,
                        };
                        let bits = lower.bits(bits);
                        let equal = lower.bin(Bin::Eq, value, bits)?;
                        any = lower.bin(Bin::Or, any, equal)?;
                        group = lower.bin(Bin::Or, group, equal)?;
                    }
                }
                if case.fall_through {
                    if case.body.is_empty() {
                        continue;
                    }
                    return lower.refuse("switch", "a case falls through to the next one");
                }
                if is_default {
                    // Selectors that share the default's body go to it as well.
                    let not = lower.un(Un::Not, group)?;
                    any = lower.bin(Bin::And, any, not)?;
                    default = Some(&case.body);
                } else {
                    lower.case(group, &case.body)?;
                }
                group = lower.bits(0);
                is_default = false;
            }
            let none = lower.un(Un::Not, any)?;
            match default {
                Some(body) => lower.case(none, body),
                None => Ok(()),
            }
        };
        let Some(id) = id else {
            // A `break` at the end of a case is all there is, and is not lowered; those of loops
            // around the switch cannot be reached from here.
            return fill(self);
        };
        self.frame.exits.push(Exit::Switch(id));
        let body = self.nested(fill)?;
        self.frame.exits.pop();
        self.leave_nest();
        self.emit(Op::Scope { id, body })
    }

    fn case(&mut self, c: Reg, body: &'a naga::Block) -> Result<()> {
        let kept = without_last_break(body).len();
        let list: Statements<'a> = statements(body).into_iter().take(kept).collect();
        match self.known(c) {
            Some(0) => return Ok(()),
            Some(_) => return self.run(&list),
            None => {}
        }
        let then = self.nested(|lower| lower.run(&list))?;
        self.emit(Op::If {
            c,
            then,
            other: Block::new(),
        })
    }
}

fn without_last_break(block: &naga::Block) -> &[Statement] {
    match block.split_last() {
        Some((Statement::Break, before)) => before,
        _ => block,
    }
}
