//! [`MatmulPrecision`]: how exactly products of f32 read their operands.

/// How exactly matrix products of f32 read their operands; PyTorch's `set_float32_matmul_precision`.
///
/// It changes products of f32 that are computed on matrix units for f16 (16 × 16 × 16, sums in f32), which large ones are
/// where an adapter has such units. Everything else is as with [`Highest`](Self::Highest): other dtypes, small products,
/// adapters without units, rows and columns with NaN or infinity, or whose elements differ by more than 2^27.
///
/// With ε = 2^-24, a sum of n terms:
///
/// | | each element is read as | error of a result, of Σ\|term\| | multiplications |
/// | --- | --- | --- | --- |
/// | `Highest` | two f16, off by 2^-23 of itself at most | (n / 16 + 48) ε, no more than a sum of f32 one by one | 3 |
/// | `High`, `Medium` | 11 bits, as TF32 has | 2^-11 + (n + 2) ε | 1 |
///
/// `Medium` permits 8 bits, as bf16 has; no kernel makes use of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MatmulPrecision {
    /// As exact as sums of f32.
    #[default]
    Highest = 0,
    /// 11 bits of each element do.
    High = 1,
    /// 8 bits of each element would do.
    Medium = 2,
}

impl MatmulPrecision {
    /// All of them, the most exact one first.
    pub const ALL: [Self; 3] = [Self::Highest, Self::High, Self::Medium];

    /// PyTorch's name.
    ///
    /// ```
    /// use ziggurat_kernels::MatmulPrecision;
    /// assert_eq!(MatmulPrecision::default().name(), "highest");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Highest => "highest",
            Self::High => "high",
            Self::Medium => "medium",
        }
    }

    /// Whether 11 bits of an element of f32 do.
    pub(super) const fn is_reduced(self) -> bool {
        !matches!(self, Self::Highest)
    }

    /// What was stored as a number.
    pub(crate) const fn of_number(number: u8) -> Self {
        match number {
            0 => Self::Highest,
            1 => Self::High,
            _ => Self::Medium,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_variants() {
        for precision in MatmulPrecision::ALL {
            assert_eq!(MatmulPrecision::of_number(precision as u8), precision);
        }
    }
}
