//! Kinds of findings, and which of them are looked for.

use std::fmt;
use std::str::FromStr;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// An access outside of a variable, a part of it, or the bound range of a buffer.
    OutOfBounds,
    /// Two invocations of a workgroup use one place, one of them writes, and nothing orders them.
    Race,
    /// The same between two workgroups, which nothing ever orders.
    RaceBetweenWorkgroups,
    /// A read of memory that nobody has written.
    Uninitialized,
    /// A barrier or a uniform load that not all invocations of a workgroup reach together.
    Divergence,
    /// A subgroup operation that not all invocations of the subgroup reach together.
    SubgroupDivergence,
    /// An integer divided by zero, or a remainder by it.
    DivisionByZero,
    /// The least integer divided by -1.
    DivisionOverflow,
    /// A shift by as many bits as the number has, or more.
    Shift,
    /// A float that the integer type which it is converted to cannot hold.
    Conversion,
    /// An infinity or a NaN from operands that are neither.
    NonFinite,
    /// Two bindings that overlap, one of which is written.
    Aliasing,
    /// A kernel that says it writes all of a buffer, and leaves memory that nobody has written.
    UnwrittenOutput,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::OutOfBounds,
        Self::Race,
        Self::RaceBetweenWorkgroups,
        Self::Uninitialized,
        Self::Divergence,
        Self::SubgroupDivergence,
        Self::DivisionByZero,
        Self::DivisionOverflow,
        Self::Shift,
        Self::Conversion,
        Self::NonFinite,
        Self::Aliasing,
        Self::UnwrittenOutput,
    ];

    /// Its name in reports and in lists of suppressions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out-of-bounds",
            Self::Race => "race",
            Self::RaceBetweenWorkgroups => "race-between-workgroups",
            Self::Uninitialized => "uninitialized",
            Self::Divergence => "divergence",
            Self::SubgroupDivergence => "subgroup-divergence",
            Self::DivisionByZero => "division-by-zero",
            Self::DivisionOverflow => "division-overflow",
            Self::Shift => "shift",
            Self::Conversion => "conversion",
            Self::NonFinite => "non-finite",
            Self::Aliasing => "aliasing",
            Self::UnwrittenOutput => "unwritten-output",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No kind has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no kind of finding '{0}'")]
pub struct UnknownKind(pub String);

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

/// What a sanitizer looks for.
///
/// The default is everything but the last two, which many correct programs would not pass: `exp`
/// overflows on purpose, and WGSL promises that workgroup memory starts as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checks {
    /// [`Kind::OutOfBounds`].
    pub bounds: bool,
    /// [`Kind::Race`] and [`Kind::RaceBetweenWorkgroups`].
    pub races: bool,
    /// [`Kind::Uninitialized`]: workgroup memory of pipelines that do not zero it, and buffer
    /// memory marked by [`mark_undefined`](crate::mark_undefined). [`Kind::UnwrittenOutput`].
    pub uninitialized: bool,
    /// [`Kind::Divergence`] and [`Kind::SubgroupDivergence`].
    pub uniformity: bool,
    /// [`Kind::DivisionByZero`], [`Kind::DivisionOverflow`], [`Kind::Shift`] and
    /// [`Kind::Conversion`].
    pub integers: bool,
    /// [`Kind::Aliasing`].
    pub aliasing: bool,
    /// [`Kind::NonFinite`].
    pub non_finite: bool,
    /// [`Kind::Uninitialized`] also for workgroup memory that starts as zero.
    pub zeroed_workgroup_memory: bool,
}

impl Checks {
    /// Every check.
    #[must_use]
    pub fn all() -> Self {
        Self {
            non_finite: true,
            zeroed_workgroup_memory: true,
            ..Self::default()
        }
    }

    /// No check: the starting point for a choice of a few.
    #[must_use]
    pub fn none() -> Self {
        Self {
            bounds: false,
            races: false,
            uninitialized: false,
            uniformity: false,
            integers: false,
            aliasing: false,
            non_finite: false,
            zeroed_workgroup_memory: false,
        }
    }

    /// These checks and non-finite results.
    #[must_use]
    pub fn with_non_finite(self) -> Self {
        Self {
            non_finite: true,
            ..self
        }
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            bounds: true,
            races: true,
            uninitialized: true,
            uniformity: true,
            integers: true,
            aliasing: true,
            non_finite: false,
            zeroed_workgroup_memory: false,
        }
    }
}
