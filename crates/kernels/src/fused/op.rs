//! The ops that a fused kernel may call: rows of the elementwise tables, `where` and casts.

use ziggurat_core::DType;

use crate::fused::user::UserOp;
use crate::ops::elementwise::binary::Binary;
use crate::ops::elementwise::compare::Compare;
use crate::ops::elementwise::predicate::Predicate;
use crate::ops::elementwise::row::CodeFacts;
use crate::ops::elementwise::unary::Unary;
use crate::run::error::KernelError;

/// One op of a fused expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FusedOp {
    /// A row of the unary table: one operand, whose dtype the result has.
    Unary(Unary),
    /// A row of the binary table: two operands of one dtype, which the result has too.
    Binary(Binary),
    /// A comparison of two operands of one dtype; the result is bool.
    Compare(Compare),
    /// A question about one operand; the result is bool.
    Predicate(Predicate),
    /// The second operand where the first, a bool, is true; else the third, of the same dtype.
    Where,
    /// A cast of one operand to this dtype.
    Cast(DType),
    /// A function of a user's WGSL.
    User(UserOp),
}

impl FusedOp {
    /// The op's name, as the catalogue has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unary(op) => op.spec().name,
            Self::Binary(op) => op.spec().name,
            Self::Compare(op) => op.spec().name,
            Self::Predicate(op) => op.spec().name,
            Self::Where => "where",
            Self::Cast(_) => "cast",
            Self::User(op) => op.name(),
        }
    }

    /// What code generation and fusion plans must know of the op.
    pub(crate) fn code_facts(self) -> CodeFacts {
        match self {
            Self::Unary(op) => op.spec().code,
            Self::Binary(op) => op.spec().code,
            Self::Compare(_) | Self::Predicate(_) | Self::Where => CodeFacts::SELECTION,
            Self::Cast(_) => CodeFacts::EXACT,
            Self::User(op) => op.code_facts(),
        }
    }

    /// As how many ops it counts where an expression's size is limited.
    #[inline]
    #[must_use]
    pub fn weight(self) -> u32 {
        match self {
            Self::User(op) => op.weight(),
            _ => 1,
        }
    }

    /// The op, if it is a user's.
    pub(crate) const fn user(self) -> Option<UserOp> {
        match self {
            Self::User(op) => Some(op),
            _ => None,
        }
    }

    /// How many operands the op has.
    #[must_use]
    pub const fn arity(self) -> usize {
        match self {
            Self::Unary(_) | Self::Predicate(_) | Self::Cast(_) => 1,
            Self::Binary(_) | Self::Compare(_) => 2,
            Self::Where => 3,
            Self::User(op) => op.arity(),
        }
    }

    /// The dtype of the result for operands of these dtypes.
    ///
    /// # Errors
    /// [`KernelError::Option`] for a wrong number of operands, [`KernelError::Dtype`] if the op does not exist for
    /// the dtypes.
    #[inline]
    pub fn dtype(self, operands: &[DType]) -> Result<DType, KernelError> {
        match (self, operands) {
            (Self::Unary(op), &[a]) => self.listed(op.spec().dtypes, a),
            (Self::Binary(op), &[a, b]) => {
                self.same("b", b, a)?;
                self.listed(op.spec().dtypes, a)
            }
            (Self::Compare(_), &[a, b]) => {
                self.same("b", b, a)?;
                Ok(DType::Bool)
            }
            (Self::Predicate(op), &[a]) => {
                self.listed(op.spec().dtypes, a)?;
                Ok(DType::Bool)
            }
            (Self::Where, &[condition, a, b]) => {
                if condition != DType::Bool {
                    return Err(self.refuse("cond", "it must be bool", condition));
                }
                self.same("b", b, a)?;
                Ok(a)
            }
            (Self::Cast(to), &[_]) => Ok(to),
            (Self::User(op), operands) if operands.len() == op.arity() => op.dtype(operands),
            _ => Err(KernelError::option(
                self.name(),
                "the number of operands",
                "must be the op's own",
                i64::try_from(operands.len()).unwrap_or(i64::MAX),
            )),
        }
    }

    /// Whether it exists for operands of this dtype and its result has that dtype too: only asked of unary and binary ops,
    /// others answer no.
    #[inline]
    #[must_use]
    pub fn keeps(self, dtype: DType) -> bool {
        match self {
            Self::Unary(op) => op.spec().dtypes.contains(&dtype),
            Self::Binary(op) => op.spec().dtypes.contains(&dtype),
            _ => false,
        }
    }

    fn refuse(self, operand: &'static str, rule: &'static str, got: DType) -> KernelError {
        KernelError::dtype(self.name(), operand, rule, got)
    }

    fn same(self, operand: &'static str, got: DType, first: DType) -> Result<(), KernelError> {
        if got == first {
            return Ok(());
        }
        Err(self.refuse(operand, "it must have the dtype of the first input", got))
    }

    fn listed(self, dtypes: &[DType], got: DType) -> Result<DType, KernelError> {
        if dtypes.contains(&got) {
            return Ok(got);
        }
        Err(self.refuse("a", "the op does not exist for this dtype", got))
    }

    /// A number below 2¹⁶ that tells ops apart. Only for keys within one run of a program: it changes with the tables.
    #[must_use]
    pub const fn code(self) -> u64 {
        match self {
            Self::Unary(op) => op as u64,
            Self::Binary(op) => 0x100 + op as u64,
            Self::Compare(op) => 0x200 + op as u64,
            Self::Where => 0x300,
            Self::Predicate(op) => 0x500 + op as u64,
            Self::Cast(to) => 0x400 + to as u64,
            Self::User(op) => op.code(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::ops::elementwise::row::ResultKind;
    use crate::ops::elementwise::tolerance::Tolerance;
    use crate::source::shaders;

    /// The rows that compute in floats or integers: facts, tolerance, shader files.
    fn rows() -> Vec<(&'static str, CodeFacts, Tolerance, Vec<&'static str>)> {
        let unary = Unary::ALL.iter().map(|op| {
            let s = op.spec();
            (
                s.name,
                s.code,
                s.tolerance,
                s.dtypes,
                s.functions,
                s.snippets,
            )
        });
        let binary = Binary::ALL.iter().map(|op| {
            let s = op.spec();
            (
                s.name,
                s.code,
                s.tolerance,
                s.dtypes,
                s.functions,
                s.snippets,
            )
        });
        let row = |(name, code, tolerance, dtypes, functions, snippets): (
            _,
            _,
            _,
            &'static [DType],
            &'static [&'static str],
            crate::ops::elementwise::row::Snippets,
        )| {
            let mut files: Vec<&str> = functions.to_vec();
            files.extend(dtypes.iter().map(|dtype| snippets.of(*dtype)));
            (name, code, tolerance, files)
        };
        unary.chain(binary).map(row).collect()
    }

    #[test]
    fn ops_that_are_not_exact_say_that_they_round() {
        for (name, code, tolerance, _) in rows() {
            assert!(
                tolerance == Tolerance::EXACT || code.result == ResultKind::Rounded,
                "{name} is allowed an error, so its result is rounded"
            );
        }
        for op in [Binary::Add, Binary::Sub, Binary::Mul] {
            let code = FusedOp::Binary(op).code_facts();
            assert_eq!((code.result, code.cost), (ResultKind::Rounded, 1), "{op:?}");
        }
    }

    #[test]
    fn what_keeps_a_dtype_gives_it() {
        let unary = Unary::ALL.iter().map(|op| FusedOp::Unary(*op));
        let binary = Binary::ALL.iter().map(|op| FusedOp::Binary(*op));
        let others = [FusedOp::Where, FusedOp::Cast(DType::F32)];
        let (mut kept, mut refused) = (0, 0);
        for op in unary.chain(binary).chain(others) {
            for dtype in DType::ALL {
                let operands = vec![dtype; op.arity()];
                if op.keeps(dtype) {
                    assert_eq!(op.dtype(&operands).unwrap(), dtype, "{op:?}");
                    kept += 1;
                } else if matches!(op, FusedOp::Unary(_) | FusedOp::Binary(_)) {
                    assert!(op.dtype(&operands).is_err(), "{op:?} of {dtype}");
                    refused += 1;
                }
            }
        }
        assert!(kept > 100 && refused > 20, "{kept} {refused}");
    }

    #[test]
    fn ops_count_iterations_if_their_shaders_loop() {
        for (name, code, _, files) in rows() {
            let loops = files.iter().any(|file| {
                let lines = shaders::text(file).unwrap().lines();
                let code = lines.filter_map(|line| line.split("//").next());
                code.into_iter().any(|line| {
                    ["for (", "while ", "loop {"]
                        .iter()
                        .any(|word| line.contains(word))
                })
            });
            assert_eq!(code.loop_iterations > 0, loops, "{name}");
        }
    }
}
