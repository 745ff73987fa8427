//! What the operands of a product hold, and what is written.

use ziggurat_core::DType;

use super::OP;
use crate::run::error::KernelError;

/// The dtypes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DTypes {
    pub(crate) a: DType,
    pub(crate) b: DType,
    pub(crate) out: DType,
}

impl DTypes {
    /// The dtype that both operands are read as: their own, or f32 for floats that differ, whose values it all has.
    pub(crate) fn read(self) -> DType {
        self.a.promote(self.b)
    }

    /// Refuses what has no product.
    pub(crate) fn check(self) -> Result<(), KernelError> {
        let refused = |operand, rule, got| {
            Err(KernelError::Dtype {
                op: OP,
                operand,
                rule,
                got,
            })
        };
        if self.a.is_bool() {
            return refused("a", "it must be a number", self.a);
        }
        if !self.reads() {
            let rule = "it must have the dtype of a, or both must be floats";
            return refused("b", rule, self.b);
        }
        if !self.writes() {
            let rule = "it must have the dtype of the operands (of a, if b is f32), or the one that sums are kept in";
            return refused("out", rule, self.out);
        }
        Ok(())
    }

    fn reads(self) -> bool {
        self.a == self.b || self.a.is_float() && self.b.is_float()
    }

    /// The same dtype, or the one that sums are kept in; also that of a where b has decoded numbers of f32.
    fn writes(self) -> bool {
        let read = self.read();
        let as_a = self.b == DType::F32 && self.out == self.a;
        self.out == read || self.out == read.compute() || as_a
    }

    /// All that have products; the first ones have operands of one dtype.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let inputs = DType::ALL.map(|input| (input, input)).into_iter();
        let floats = || DType::ALL.into_iter().filter(|dtype| dtype.is_float());
        let mixed = floats().flat_map(move |a| floats().map(move |b| (a, b)));
        let inputs = inputs.chain(mixed.filter(|(a, b)| a != b));
        let all = inputs.flat_map(|(a, b)| DType::ALL.map(|out| Self { a, b, out }));
        all.filter(|dtypes| dtypes.check().is_ok())
    }
}
