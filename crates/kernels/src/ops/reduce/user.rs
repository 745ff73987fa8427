//! [`UserReduce`]: a reduction whose combination is a user's own WGSL, on the kernels of the library's reductions.
//!
//! The text becomes an operator part: its functions under a prefix, and the four that every operator has. Invariant: it has
//! no loops and no indices, because kernels of reductions are compiled without wgpu's checks of those.

use std::collections::HashMap;
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::fused::user::{prefix, text};
use crate::run::call::{F32Bits, ReduceOp};
use crate::run::error::KernelError;

use super::op::Reduce;

/// Definitions of one process.
const MOST: usize = 1 << 12;

/// A reduction of f32 by a user's own function `combine`, known by its name and part.
///
/// Equal names and texts are one definition, which is kept until the process ends.
///
/// ```
/// use ziggurat_kernels::{Call, UserReduce};
///
/// let product = UserReduce::define("product", "fn combine(a: f32, b: f32) -> f32 { return a * b; }")?;
/// assert_eq!(Call::reduce(product.with_identity(1.0), &[0]).name(), "product");
/// # Ok::<(), ziggurat_kernels::KernelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UserReduce {
    name: &'static str,
    path: &'static str,
}

#[derive(Debug, Default)]
struct Table {
    known: HashMap<(String, String), UserReduce>,
    texts: HashMap<&'static str, &'static str>,
}

static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(RwLock::default);

impl UserReduce {
    /// The reduction of a text with `fn combine(a: f32, b: f32) -> f32`, and perhaps `lift` and `finish` of one f32; `name`
    /// stands in errors, explanations and profiles.
    ///
    /// # Errors
    /// [`KernelError::Pipeline`] with line and column if the text is refused; [`KernelError::TooManyUserOps`] for one
    /// definition too many.
    pub fn define(name: &str, text: &str) -> Result<Self, KernelError> {
        let key = (name.to_owned(), text.to_owned());
        {
            let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = table.known.get(&key) {
                return Ok(*known);
            }
        }
        let read = text::read_reduction(name, text)?;
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
        };
        let _new = table.texts.insert(op.path, String::leak(part));
        let _new = table.known.insert(key, op);
        Ok(op)
    }

    /// The reduction that begins with this value, which changes nothing that it is combined with.
    #[must_use]
    pub fn with_identity(self, identity: f32) -> ReduceOp {
        ReduceOp {
            argument: F32Bits::from(identity),
            user: Some(self),
            // The row that says how many words are accumulated, of which dtypes.
            op: Reduce::Sum,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
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
