//! [`UserCombine`]: a user's own function `combine`, for the kernels of the library's reductions and scans.
//!
//! The text becomes an operator part: its functions under a prefix, and those that every operator has. Invariant: equal names
//! and texts are one definition, which is never changed or dropped.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use ziggurat_core::DType;

use crate::fused::user::{UserOp, combine, prefix};
use crate::run::call::{F32Bits, ReduceOp};
use crate::run::error::KernelError;

use super::op::Reduce;

/// Definitions of one process.
const MOST: usize = 1 << 12;

/// How a reduction or scan combines, by a user's own function `combine`.
///
/// Equal names and texts are one definition, which is kept until the process ends.
///
/// ```
/// use ziggurat_kernels::{Call, UserCombine};
///
/// let product = UserCombine::define("product", "fn combine(a: f32, b: f32) -> f32 { return a * b; }", false)?;
/// assert_eq!(Call::reduce(product.reduction(1.0f32.to_bits()), &[0]).name(), "product");
/// # Ok::<(), ziggurat_kernels::KernelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserCombine {
    name: &'static str,
    path: &'static str,
    element: DType,
    result: DType,
    number: Option<DType>,
    words: u32,
    lift: Option<UserOp>,
}

#[derive(Debug, Default)]
struct Table {
    known: HashMap<(String, String, bool), UserCombine>,
    texts: HashMap<&'static str, &'static str>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

impl UserCombine {
    /// The combination of a text with `fn combine` of two numbers or of a type of its own, and perhaps `lift` and `finish`; with
    /// `has_identity`, also `fn identity`. `name` stands in errors, explanations and profiles.
    ///
    /// # Errors
    /// [`KernelError::Pipeline`] with line and column if the text is refused; [`KernelError::TooManyUserOps`] for one
    /// definition too many.
    pub fn define(name: &str, text: &str, has_identity: bool) -> Result<Self, KernelError> {
        let key = (name.to_owned(), text.to_owned(), has_identity);
        {
            let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = table.known.get(&key) {
                return Ok(*known);
            }
        }
        let read = combine::read(name, text, has_identity)?;
        let lift = read.lift(name, text)?;
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = table.known.get(&key) {
            return Ok(*known);
        }
        let number = table.texts.len();
        if number >= MOST {
            return Err(KernelError::TooManyUserOps { limit: MOST });
        }
        let mut prefix = prefix(name, text);
        let path = |prefix: &str| format!("user/{name}/{prefix}.wgsl");
        if table.texts.contains_key(path(&prefix).as_str()) {
            prefix = format!("{prefix}n{number}");
        }
        let part = read.operator(name, text, &prefix)?;
        let op = Self {
            name: String::leak(name.to_owned()),
            path: String::leak(path(&prefix)),
            element: read.element(),
            result: read.result(),
            number: read.number(),
            words: read.words(),
            lift,
        };
        let _new = table.texts.insert(op.path, String::leak(part));
        let _new = table.known.insert(key, op);
        Ok(op)
    }

    /// The type of what it reads: f32, i32, u32 or bool.
    #[must_use]
    pub const fn element(self) -> DType {
        self.element
    }

    /// The type of what it gives: f32, i32, u32 or bool.
    #[must_use]
    pub const fn result(self) -> DType {
        self.result
    }

    /// What is combined, if that is f32, i32 or u32.
    #[must_use]
    pub const fn number(self) -> Option<DType> {
        self.number
    }

    /// The elementwise op that gives its elements, where the text's `lift` takes several operands.
    #[must_use]
    pub const fn lift(self) -> Option<UserOp> {
        self.lift
    }

    /// The reduction that begins with the number of these bits, which changes nothing that it is combined with; without a
    /// meaning where the text says its own identity.
    #[must_use]
    pub const fn reduction(self, identity: u32) -> ReduceOp {
        ReduceOp {
            argument: F32Bits::of(identity),
            user: Some(self),
            // The row that says what its kernels are besides the operator.
            op: Reduce::Sum,
        }
    }

    /// Words of one accumulator.
    pub(crate) const fn words(self) -> u32 {
        self.words
    }

    /// Its types are those of the dtypes.
    pub(crate) fn check(self, input: DType, output: DType) -> Result<(), KernelError> {
        let (operand, rule, got) = if input.compute() != self.element {
            (
                "a",
                "it must be of the type that is combined, or that `lift` takes",
                input,
            )
        } else if output.compute() != self.result {
            (
                "out",
                "it must be of the type that is combined, or that `finish` returns",
                output,
            )
        } else {
            return Ok(());
        };
        Err(KernelError::dtype(self.name, operand, rule, got))
    }

    /// The name that it was defined with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// The operator part.
    pub(crate) const fn path(self) -> &'static str {
        self.path
    }
}

/// The text of an operator part, if it is one.
pub(crate) fn part(path: &str) -> Option<&'static str> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.texts.get(path).copied()
}
