//! [`UserOp`]: an elementwise op whose function is a user's own WGSL.
//!
//! A definition is read once, checked by itself, and known by a number from then on, so that expressions, keys and plans
//! hold it as they hold the library's own ops. Its module-scope names get a prefix of their own, on their lines.
//!
//! Invariants: a definition is never changed or dropped; equal name and text are one definition; what it says of its loops
//! and indices is true of the text, because kernels are compiled without wgpu's checks where there are none.

pub(crate) mod combine;
pub(crate) mod text;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, PoisonError, RwLock};

use ziggurat_core::DType;
use ziggurat_core::text::shortened;
use ziggurat_pipeline::{PipelineError, ShaderSource};

use crate::fused::expression::{Expression, Id};
use crate::fused::op::FusedOp;
use crate::ops::elementwise::row::{CodeFacts, ResultKind};
use crate::run::error::KernelError;
use crate::run::view::View;

use text::Facts;

/// Operands that a function may have.
pub const MAX_OPERANDS: usize = 8;
/// Names of operands in errors.
const PLACES: [&str; MAX_OPERANDS] = [
    "the first",
    "the second",
    "the third",
    "the fourth",
    "the fifth",
    "the sixth",
    "the seventh",
    "the eighth",
];
/// Definitions of one process: keys of kernels have 12 bits for them.
const MOST: usize = 1 << 12;
/// Bytes of a name.
const NAME: usize = 64;
/// Work for which one op is counted when kernels are planned.
const WORK_OF_AN_OP: u32 = 8;
/// Bytes of text for which one op is counted.
const TEXT_OF_AN_OP: usize = 1024;

/// An elementwise op of a user's own WGSL: a function `apply` of one to eight numbers.
///
/// Equal names and texts are one op. A definition is kept until the process ends; there can be 4,096 of them.
///
/// ```
/// use ziggurat_kernels::{DType, FusedOp, UserOp};
///
/// let op = UserOp::define("lerp", "fn apply(x: f32, y: f32, k: f32) -> f32 { return x + k * (y - x); }")?;
/// assert_eq!(op.params(), [DType::F32; 3]);
/// let op = FusedOp::User(op.giving(DType::F16));
/// assert_eq!(op.dtype(&[DType::F16, DType::F16, DType::F32])?, DType::F16);
/// # Ok::<(), ziggurat_kernels::KernelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserOp {
    number: u16,
    arity: u8,
    out: DType,
}

#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    /// Under the prefix.
    pub(crate) text: &'static str,
    pub(crate) prefix: &'static str,
    facts: Facts,
}

#[derive(Debug, Default)]
struct Table {
    all: Vec<&'static Definition>,
    known: HashMap<(String, String), u16>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

impl UserOp {
    /// The op of this text; `name` stands in errors, explanations and profiles.
    ///
    /// # Errors
    /// [`KernelError::Pipeline`] with line and column if the text is refused: what WGSL or an elementwise op does not allow, and
    /// what is too large. [`KernelError::TooManyUserOps`] for one definition too many.
    pub fn define(name: &str, text: &str) -> Result<Self, KernelError> {
        let key = (name.to_owned(), text.to_owned());
        {
            let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(number) = table.known.get(&key) {
                return Ok(Self::of(*number, &table));
            }
        }
        check_name(name)?;
        let read = text::read(name, text)?;
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = table.known.get(&key) {
            return Ok(Self::of(*number, &table));
        }
        let number = table.all.len();
        if number >= MOST {
            return Err(KernelError::TooManyUserOps { limit: MOST });
        }
        let mut prefix = prefix(name, text);
        if table.all.iter().any(|other| other.prefix == prefix) {
            prefix = format!("{prefix}n{number}");
        }
        let renamed = read.renamed(text, &prefix);
        let apply = format!("{prefix}_apply");
        text::compile(name, &renamed, &text::call(&apply, &read.facts.params))?;
        let definition = Definition {
            name: String::leak(name.to_owned()),
            text: String::leak(renamed),
            prefix: String::leak(prefix),
            facts: read.facts,
        };
        table.all.push(Box::leak(Box::new(definition)));
        let number = number as u16;
        let _new = table.known.insert(key, number);
        Ok(Self::of(number, &table))
    }

    fn of(number: u16, table: &Table) -> Self {
        let facts = table.all.get(usize::from(number)).map(|known| &known.facts);
        Self {
            number,
            arity: facts.map_or(1, |facts| facts.params.len() as u8),
            out: facts.map_or(DType::F32, |facts| facts.result),
        }
    }

    /// The op with a result of this dtype, rounded or wrapped to it.
    #[must_use]
    pub const fn giving(self, out: DType) -> Self {
        Self { out, ..self }
    }

    pub(crate) fn definition(self) -> Result<&'static Definition, KernelError> {
        let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
        let known = table.all.get(usize::from(self.number)).copied();
        known.ok_or(KernelError::internal(
            "custom",
            "an elementwise op is defined before it is used",
        ))
    }

    /// The name that it was defined with.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.definition().map_or("custom", |known| known.name)
    }

    /// The types of its operands: f32, i32, u32 or bool.
    #[must_use]
    pub fn params(self) -> &'static [DType] {
        self.definition().map_or(&[], |known| &known.facts.params)
    }

    /// The type that its function returns: f32, i32, u32 or bool.
    #[must_use]
    pub fn result(self) -> DType {
        self.definition()
            .map_or(self.out, |known| known.facts.result)
    }

    /// The op over memory, as an expression and its value.
    pub(crate) fn expression(self, operands: &[View]) -> Result<(Expression, Id), KernelError> {
        let mut expression = Expression::new();
        let inputs = operands.iter().map(|view| expression.input(view.clone()));
        let inputs: Vec<Id> = inputs.collect();
        let value = expression.op(FusedOp::User(self), &inputs)?;
        Ok((expression, value))
    }

    /// The error of whoever looks for a kernel outside of expressions.
    pub(crate) fn has_no_kernel(self) -> KernelError {
        KernelError::internal(
            self.name(),
            "a user's op is computed by fused kernels alone",
        )
    }

    pub(crate) const fn arity(self) -> usize {
        self.arity as usize
    }

    /// The result's dtype for operands of these dtypes, whose types must be the parameters'.
    pub(crate) fn dtype(self, operands: &[DType]) -> Result<DType, KernelError> {
        let known = self.definition()?;
        for (place, (param, got)) in known.facts.params.iter().zip(operands).enumerate() {
            if got.compute() != *param {
                return Err(KernelError::dtype(
                    known.name,
                    PLACES.get(place).unwrap_or(&"another"),
                    "it must be of the type that the function takes",
                    *got,
                ));
            }
        }
        if self.out.compute() != known.facts.result {
            return Err(KernelError::dtype(
                known.name,
                "out",
                "it must be of the type that the function returns",
                self.out,
            ));
        }
        Ok(self.out)
    }

    /// A number below 2^16, not below 2^15, that tells ops with their results' dtypes apart.
    pub(crate) const fn code(self) -> u64 {
        0x8000 | (self.number as u64) << 3 | self.out as u64
    }

    pub(crate) fn code_facts(self) -> CodeFacts {
        let facts = self.definition().map(|known| &known.facts);
        let cost = facts.map_or(u32::MAX, |facts| facts.work).min(255) as u8;
        CodeFacts {
            result: match self.out {
                DType::Bool => ResultKind::Selection,
                _ => ResultKind::Rounded,
            },
            cost,
            loop_iterations: if self.has_loops() { u8::MAX } else { 0 },
        }
    }

    /// As how many ops it counts when kernels are planned.
    #[must_use]
    pub fn weight(self) -> u32 {
        self.definition().map_or(1, |known| {
            let text = u32::try_from(known.text.len() / TEXT_OF_AN_OP).unwrap_or(u32::MAX);
            (known.facts.work.div_ceil(WORK_OF_AN_OP))
                .max(1)
                .saturating_add(text)
        })
    }

    /// Whether its text loops, nobody knows how often.
    #[must_use]
    pub fn has_loops(self) -> bool {
        self.definition().is_ok_and(|known| known.facts.loops)
    }

    /// Whether a kernel that calls it needs all of wgpu's checks: its text loops, or has an index.
    pub(crate) fn needs_checks(self) -> bool {
        self.definition()
            .map_or(true, |known| known.facts.loops || known.facts.indexes)
    }
}

/// What the names of a text begin with: the same in every process, so that compiled kernels are found again on disk.
pub(crate) fn prefix(name: &str, text: &str) -> String {
    let mut hash = DefaultHasher::new();
    (name, text).hash(&mut hash);
    format!("user{:016x}", hash.finish())
}

/// Names are files in errors, and parts of labels.
pub(crate) fn check_name(name: &str) -> Result<(), KernelError> {
    let fine = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    if !name.is_empty() && name.len() <= NAME && name.chars().all(fine) {
        return Ok(());
    }
    let shown = shortened(name, NAME).into_owned();
    let message = format!(
        "{shown:?} is no name for an elementwise op: 1 to {NAME} bytes of letters, digits, spaces, `_`, `-` and `.`"
    );
    Err(PipelineError::refused(&ShaderSource::wgsl("custom op", shown), 0..0, message).into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const TWICE: &str = "fn apply(x: f32) -> f32 { return x + x; }";

    #[test]
    fn equal_definitions_are_one_op() {
        let twice = UserOp::define("twice", TWICE).unwrap();
        assert_eq!(twice, UserOp::define("twice", TWICE).unwrap());
        assert_ne!(twice, UserOp::define("two times", TWICE).unwrap());
        assert_ne!(twice.code(), twice.giving(DType::F16).code());
        let again = UserOp::define("twice", &format!("{TWICE} ")).unwrap();
        assert_ne!(twice.code(), again.code());
        let [a, b] = [twice, again].map(|op| op.definition().unwrap().prefix);
        assert_ne!(a, b);
    }

    #[test]
    fn codes_stand_apart_from_those_of_other_ops_and_fit() {
        for dtype in DType::ALL {
            let code = UserOp::define("twice", TWICE).unwrap().giving(dtype).code();
            assert!((0x8000..0x1_0000).contains(&code));
            assert!((dtype as u64) < 8);
        }
    }
}
